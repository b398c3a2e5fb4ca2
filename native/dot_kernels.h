// Products and convolutions of 16- and 8-bit numbers: what they compute, and whether there is a
// kernel for this processor. Where there is none, XLA's serve.
#pragma once

#include "kernels.h"

namespace penstock {

// HALVES: bfloat16 on both sides and in the result, summed as floats. UNSIGNED and SIGNED: bytes
// without or with sign on the left, with sign on the right, summed into 32 bits that wrap around.
enum DotKind { HALVES, UNSIGNED, SIGNED };

// One convolution over two axes in one group, or a batch of products: those are convolutions of one
// tap, stride 1 and no pads, whose pixels are the rows of the left side.
struct DotJob {
  DotKind kind;
  Conv conv;
  const void* left;    // [images, size, channels]
  const void* right;   // [taps, channels, filters], as the steps say
  void* to;            // [images, out, filters], dense
  long right_row, right_column;  // numbers from one to the next; one of them is 1
  long batch;
  const long* left_start;  // for each entry of the batch, where its numbers begin
  const long* right_start;
};

struct DotKernels {
  const char* name;
  void (*dot)(const DotJob&, Workers&);
};

// None where the processor, the system or the build has no instructions for it.
const DotKernels* dot_kernels();

inline char* scratch_bytes(int slot, long bytes) {
  return reinterpret_cast<char*>(scratch(slot, bytes / 4 + 1));
}

}  // namespace penstock
