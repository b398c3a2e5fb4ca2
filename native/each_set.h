// EACH_SET: a function that is compiled once for each instruction set, with all that it calls, as in
// special.cc; but not what other threads call, so such a function does one share of the work.
#pragma once

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_THREAD__)
#define EACH_SET __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define EACH_SET
#endif
