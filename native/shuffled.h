// Vectors of chosen elements of two others, for compilers that have one of two ways to say so. `Places` is the
// type of a vector of as many integers as large as the elements.
#pragma once

#if defined(__clang__)
#define PENSTOCK_SHUFFLED(Places, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PENSTOCK_SHUFFLED(Places, a, b, ...) __builtin_shuffle(a, b, Places{__VA_ARGS__})
#endif
