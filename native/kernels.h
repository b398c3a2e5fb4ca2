// What the native kernels compute, and how they are chosen.
//
// Every kernel is compiled once for each instruction set (see isa.cc); `best_kernels` picks the
// widest that the processor has. Kernels split their work into numbered tasks that write disjoint
// parts of the result, each in a fixed order, so results do not depend on threads or timing.
#pragma once

namespace penstock {

// Runs body(argument, task) for every task in [0, count), on several threads where that pays.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual void run(long count, void (*body)(const void* argument, long task),
                   const void* argument) = 0;
  // Runs body(argument, turn, task) for the tasks of each turn; all of them end before the next
  // turn's begin.
  virtual void run_turns(long turns, long count,
                         void (*body)(const void* argument, long turn, long task),
                         const void* argument) = 0;
  virtual long threads() const = 0;
};

const int NONE = 0, RELU = 1, RELU6 = 2;  // activations

// What is done to each result of a product or convolution before it is stored: the bias of its
// column is added, then what lies beside it; it becomes zero where its gate is not above zero, as in
// the gradient of Relu; then the activation is applied.
struct Finish {
  const float* bias = nullptr;    // [columns], or none
  const float* beside = nullptr;  // as the result, or none
  const float* gate = nullptr;    // as the result, or none
  int activation = NONE;
};

// c[m, n] = sum over k of a(m, k) * b(k, n), once for each entry of the batch. Strides count
// floats; c is dense and row-major, its entries follow each other.
struct Product {
  const float* a;
  const float* b;
  float* c;
  long m, n, k;
  long a_row, a_col, b_row, b_col;  // one of each pair is 1
  long batch;
  const long* a_start;  // for each entry of the batch, where its matrix begins
  const long* b_start;
  Finish finish = {};  // of a batch of one
};

// Sizes along the three axes that a filter slides over; those of images have depth 1.
struct Axes {
  long z, y, x;
  long all() const { return z * y * x; }
};

// A convolution over x[images, size, channels] with w[taps, channels / groups, filters], giving
// y[images, out, filters]; a filter sees the channels of its group alone.
struct Conv {
  long images, channels, filters, groups;
  Axes size, taps, out, stride, dilation, pad;  // pad: before the first pixel
  long inner() const { return channels / groups; }   // channels that a filter sees
  long outer() const { return filters / groups; }    // filters that see a channel
};

// Whether some tap of the filter meets each pixel of the input: else its gradient is just zero.
inline bool all_are_met(const Conv& c) {
  return c.taps.z >= c.stride.z && c.taps.y >= c.stride.y && c.taps.x >= c.stride.x;
}

// Pooling of x[images, height, width, channels] to y[images, out_height, out_width, channels].
struct Pool {
  long images, height, width, channels;
  long rows, cols;
  long out_height, out_width;
  long stride_y, stride_x;
  long pad_top, pad_left;
};

// Where the matrices of [outer, heads, rows, columns] lie; columns follow each other.
struct Place {
  long heads, outer, inner, row;  // inner: from one head to the next
  long start(long entry) const { return entry / heads * outer + entry % heads * inner; }
};

const int MASK_NONE = 0, MASK_CHOOSES = 1, MASK_ADDS = 2;

// out = softmax(masked(scale * q * transposed k)) * v for each entry; q[queries, depth],
// k[keys, depth], v[keys, width]. A mask that chooses holds bytes: scores where it is zero become
// `low`. One that adds holds floats.
struct Attention {
  long entries, queries, keys, depth, width;
  const float *q, *k, *v;
  float* out;
  float* statistics;  // [entries, queries, 2]: the largest score, the inverse of the sum; dense
  Place query_place, key_place, value_place, out_place;
  int masking;
  const void* mask;
  const long* mask_start;  // for each entry, in elements
  long mask_row;           // from a row to the next, in elements: 0 where all are alike
  float scale, low;
};

struct AttentionGrad {  // the gradients lie as what they are of
  const float* d_out;
  float *d_q, *d_k, *d_v;
};

// y = (x - mean) * inverse * gain + bias for each row, where inverse is that of the root of the
// row's variance + epsilon; gain and bias [width], or none.
struct LayerNorm {
  long rows, width;
  const float *x, *gain, *bias;
  float epsilon;
  float *y, *mean, *inverse;  // the last two [rows]
};

struct LayerNormGrad {
  long rows, width;
  const float *x, *mean, *inverse, *gain;
  const float* grad;                // by y
  const float* beside;              // as x, added to its gradient; or none
  float *by_x, *by_gain, *by_bias;  // the last two [width]
};

// ---- rounds of a recurrence (recurrence.h). What Python says of one is in
// penstock/core/recurrence.py, which states the same numbers of instructions.

enum Code {
  LOAD, LOAD_PRODUCT, STORE, FILL, ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM, NEGATIVE,
  EXPONENTIAL, SIGMOID, TANH, RELU_OF, SIGMOID_GRAD, TANH_GRAD, RELU_GRAD, MOVE, SQUARE_ROOT,
  ABSOLUTE, SIGN, GREATER, SELECT,
};

// Where the part of an array for a round lies: at `edge` for one round, else at
// start + round * step, and `odd` further in odd rounds.
struct Held {
  float* edge;
  float* start;
  long edge_round, edge_row;  // edge_row, row: from a row to the next
  long step, odd, row;
  long column;                // from a column to the next: 1, or 0 where all are alike
};

struct Matrix {  // what products multiply by: element (k, j) at data[k * row + j * column]
  const float* data;
  long depth, row, column;
};

struct RecurrentProduct {  // rows of an array, from column `offset` on, times a matrix
  long held, offset, matrix;
};

// LOAD: of array a, from column `offset` of a piece on; LOAD_PRODUCT: product a of the phase;
// STORE: register a to array b; FILL: with `value`; the others: of registers a and b.
struct Instruction {
  long code, to, a, b, offset;
  float value;
};

struct Phase {
  long first_product, last_product, first_instruction, last_instruction;
};

const long MOST_MATRICES = 64;

struct Recurrence {
  long rounds, batch, width;  // width: of a piece
  long registers;
  const Held* held;
  const Matrix* matrices;
  long matrix_count;
  const RecurrentProduct* products;
  const Instruction* instructions;
  const Phase* phases;
  long phase_count;
};

// ---- updates (update.h). What Python says of one is in penstock/core/updates.py.

// Operands of its steps are numbered: arrays, then numbers, then registers. A step's operands are
// `a`, `b` and, of SELECT, `offset`.
struct UpdateProgram {
  long written, arrays, numbers, registers;  // written: the first arrays, which get new values
  const Instruction* steps;
  long fills, count;  // of the steps the first ones, which fill registers that stay as they are
};

struct UpdateGroup {
  long program, length;
  long begin;  // elements of the groups before it, each rounded up to cache lines; of those without
               // a product alone
  float* const* arrays;
  const float* const* numbers;  // each the same for all elements
  // What gives the array of this number, which is read alone and not in memory; or none. Of a batch of
  // one, without a finish, of as many elements as the others have.
  const Product* product = nullptr;
  long computed = 0;
};

struct Updates {
  const UpdateProgram* programs;
  const UpdateGroup* groups;
  long count, elements;
};

const long MOST_OPERANDS = 64;  // of a program

struct Kernels {
  const char* name;
  void (*product)(const Product&, Workers&);
  void (*conv)(const Conv&, const float* x, const float* w, float* y, const Finish&, Workers&);
  // `finish`: where every pixel is met by a tap (`all_are_met`).
  void (*conv_input_grad)(const Conv&, const float* w, const float* dy, float* dx, const Finish&,
                          Workers&);
  void (*conv_filter_grad)(const Conv&, const float* x, const float* dy, float* dw, Workers&);
  void (*max_pool)(const Pool&, const float* x, float* y, Workers&);
  void (*max_pool_grad)(const Pool&, const float* x, const float* y, const float* dy, float* dx,
                        Workers&);
  void (*avg_pool)(const Pool&, const float* x, float* y, Workers&);
  void (*avg_pool_grad)(const Pool&, const float* dy, float* dx, Workers&);
  void (*attention)(const Attention&, Workers&);
  void (*attention_grad)(const Attention&, const AttentionGrad&, Workers&);
  void (*recurrence)(const Recurrence&, Workers&);
  void (*layer_norm)(const LayerNorm&, Workers&);
  void (*layer_norm_grad)(const LayerNormGrad&, Workers&);
  void (*update)(const Updates&, Workers&);
};

const Kernels& best_kernels();

// Memory of the calling thread, kept for its next call: at least `floats` floats, aligned to a
// cache line. Each slot is a block of its own. Throws std::bad_alloc.
const int SCRATCH_SLOTS = 4;
float* scratch(int slot, long floats);

}  // namespace penstock
