// Linear algebra on stacks of small matrices, for penstock/core/native_matrices.py: what LAPACK has
// only for one matrix a call.
//
// Matrices are dense and by rows. Kinds of elements: 0 float, 1 double, 2 complex of floats, 3 complex
// of doubles. A matrix is worked on by one thread in an order that its shape fixes, so results do not
// depend on `threads`. Functions return 0, or -3 where memory runs out.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_matrices.py states the same number.
EXPORT int penstock_matrices_version();

// Solves `count` triangular equations A X = B, of n rows and k right-hand sides each. Matrix i stands at
// a + i * a_step elements, its right-hand sides at b + i * b_step, and its solution, n by k, at x + i * n * k.
// A's lower triangle is read if `lower`, else the upper one; if `adjoint`, the equations are those of its
// conjugate transpose. `unit` takes the diagonal as ones. Zeros on it give infinities and NaN.
EXPORT int64_t penstock_matrices_substitute(int64_t kind, const void *a, int64_t a_step,
                                            const void *b, int64_t b_step, int64_t count, int64_t n,
                                            int64_t k, int64_t lower, int64_t adjoint, int64_t unit,
                                            int64_t threads, void *x);

// Puts the LU decompositions, with the largest pivot of each column, of `count` matrices in their place.
// They have at least as many rows as columns; order[i * rows + r] is the row of matrix i that stands in
// row r. A NaN is no pivot, as in LAPACK, but where the column begins with it.
EXPORT int64_t penstock_matrices_lu(int64_t kind, void *a, int64_t count, int64_t rows,
                                    int64_t columns, int64_t threads, int64_t *order);

// Solves `count` tridiagonal equations of n rows and k right-hand sides each. The diagonals of matrix i are three
// rows of n at diagonals + i * 3 * n: above the main one, whose last element is not read, the main one, and below
// it, whose first is not read; its right-hand sides stand at b + i * n * k, and its solution at x + i * n * k. Rows
// change places for larger pivots if `pivoting`. A pivot of zero makes a solution NaN; if `perturb`, pivots are at
// least the largest element of the diagonals times the precision.
EXPORT int64_t penstock_matrices_tridiagonal(int64_t kind, const void *diagonals, const void *b, int64_t count,
                                             int64_t n, int64_t k, int64_t pivoting, int64_t perturb,
                                             int64_t threads, void *x);

// Solves `count` equations of floats or doubles by lower triangles of n rows of which `diagonals` are not zero, with
// k right-hand sides each. Row by row, bands[n][diagonals] has the main one and those to its left.
EXPORT int64_t penstock_matrices_banded(int64_t kind, const void *bands, const void *b, int64_t count,
                                        int64_t n, int64_t diagonals, int64_t k, void *out);

// Solves `count` equations of n rows with k right-hand sides each. The matrices, at a, are worked on in their
// place; right-hand sides are at b, solutions go to x. Returns 1, or 0 where a pivot is zero.
EXPORT int64_t penstock_matrices_solve(int64_t kind, void *a, const void *b, int64_t count, int64_t n,
                                       int64_t k, void *x);

// The lower Cholesky factors of `count` matrices of n rows, of which the lower triangle is read; all NaN for one
// that is not positive definite. Returns 1.
EXPORT int64_t penstock_matrices_cholesky(int64_t kind, const void *a, int64_t count, int64_t n, void *out);

// The gradients by `count` matrices of floats or doubles, from their Cholesky factors, at l, and the gradients by
// those. Returns 1.
EXPORT int64_t penstock_matrices_cholesky_gradient(int64_t kind, const void *l, const void *grad,
                                                   int64_t count, int64_t n, void *out);

// `count` matrices of floats or doubles as products of orthonormal columns, rows by `inner`, and upper triangular
// matrices, `inner` by columns; `inner` is the number of rows, or of columns where that is smaller. The matrices, at
// a, are worked on in their place. Returns 1.
EXPORT int64_t penstock_matrices_qr(int64_t kind, void *a, int64_t count, int64_t rows, int64_t columns,
                                    int64_t inner, void *q, void *r);
