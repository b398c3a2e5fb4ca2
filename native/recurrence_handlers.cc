// The handler of rounds in one call: it reads the program that penstock/core/recurrence.py wrote.
#include "numbers.h"

namespace {

using Floats = ffi::Buffer<ffi::F32>;

const long NOWHERE = 0, ARGUMENT = 1, RESULT = 2;  // else in the call's own memory

// The arrays of a call, and where a program's places in them are.
class Places {
 public:
  Places(ffi::RemainingArgs arguments, ffi::RemainingRets results, float* memory)
      : memory_(memory) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      arguments_.push_back(arguments.get<Floats>(i).value().typed_data());
    for (std::size_t i = 0; i < results.size(); ++i)
      results_.push_back(results.get<Floats>(i).value()->typed_data());
  }

  float* next(Reader& reader) const {  // space, number, offset
    const long space = reader.number(), number = reader.number(), offset = reader.number();
    if (space == NOWHERE) return nullptr;
    if (space == ARGUMENT) return arguments_[number] + offset;
    return (space == RESULT ? results_[number] : memory_) + offset;
  }

 private:
  std::vector<float*> arguments_, results_;
  float* memory_;
};

struct Program {
  std::vector<penstock::Held> held;
  std::vector<penstock::Matrix> matrices;
  std::vector<penstock::RecurrentProduct> products;
  std::vector<penstock::Instruction> instructions;
  std::vector<penstock::Phase> phases;
};

Program program_of(Reader& reader, const Places& places) {
  Program p;
  p.held.resize(reader.number());
  for (auto& each : p.held) {
    each.edge = places.next(reader);
    each.start = places.next(reader);
    for (long* field : {&each.edge_round, &each.edge_row, &each.step, &each.odd, &each.row,
                        &each.column})
      *field = reader.number();
  }
  p.matrices.resize(reader.number());
  for (auto& each : p.matrices) {
    each.data = places.next(reader);
    for (long* field : {&each.depth, &each.row, &each.column}) *field = reader.number();
  }
  p.products.resize(reader.number());
  for (auto& each : p.products)
    for (long* field : {&each.held, &each.offset, &each.matrix}) *field = reader.number();
  const long steps = reader.number();
  p.instructions = instructions_of(reader, steps);
  p.phases.resize(reader.number());
  for (auto& each : p.phases)
    for (long* field : {&each.first_product, &each.last_product, &each.first_instruction,
                        &each.last_instruction})
      *field = reader.number();
  return p;
}

ffi::Error recurrence(ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                      ffi::RemainingRets results, Numbers numbers) {
  return guarded([&] {
    Reader reader(numbers);
    penstock::Recurrence r = {};
    r.rounds = reader.number();
    r.batch = reader.number();
    r.width = reader.number();
    r.registers = reader.number();
    std::vector<float> memory(static_cast<std::size_t>(reader.number()));
    const Places places(arguments, results, memory.data());
    const Program p = program_of(reader, places);
    r.held = p.held.data();
    r.matrices = p.matrices.data();
    r.matrix_count = static_cast<long>(p.matrices.size());
    r.products = p.products.data();
    r.instructions = p.instructions.data();
    r.phases = p.phases.data();
    r.phase_count = static_cast<long>(p.phases.size());
    PoolWorkers workers(pool);
    penstock::best_kernels().recurrence(r, workers);
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_recurrence, recurrence,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .RemainingArgs()
                     .RemainingRets()
                     .Attr<Numbers>("program"));
