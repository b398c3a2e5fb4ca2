// The handler of updates: it reads the program that penstock/core/updates.py wrote.
#include <memory>

#include "numbers.h"

namespace {

using Floats = ffi::Buffer<ffi::F32>;
using Flag = ffi::Buffer<ffi::PRED>;

struct Programs {
  std::vector<penstock::UpdateProgram> programs;
  std::vector<std::vector<penstock::Instruction>> steps;
};

// Operands that there are; what is written is a register, or an array that gets new values.
void need_step(const penstock::UpdateProgram& p, const penstock::Instruction& step, bool fills) {
  const long operands = p.arrays + p.numbers + p.registers;
  const auto is_operand = [=](long number) { return number >= 0 && number < operands; };
  need(step.code >= penstock::FILL && step.code <= penstock::SELECT &&
           (!fills || step.code == penstock::FILL),
       "instructions that there are");
  need(is_operand(step.to) && is_operand(step.a) && is_operand(step.b) && is_operand(step.offset),
       "operands that there are");
  need(fills ? step.to >= p.arrays : step.to < p.written || step.to >= p.arrays,
       "arrays that get new values");
}

Programs programs_of(Reader& reader) {
  Programs p;
  p.programs.resize(reader.count());
  for (auto& each : p.programs) {
    for (long* field : {&each.written, &each.arrays, &each.numbers, &each.registers})
      *field = reader.number_to(penstock::MOST_OPERANDS);
    need(each.arrays > 0 && each.written <= each.arrays &&
             each.arrays + each.numbers + each.registers <= penstock::MOST_OPERANDS,
         "operands that the library has a place for");
    each.fills = reader.count();
    each.count = reader.count();
    need(each.fills <= each.count, "steps after those that fill");
    p.steps.push_back(instructions_of(reader, each.count));
    for (long i = 0; i < each.count; ++i) need_step(each, p.steps.back()[i], i < each.fills);
    each.steps = p.steps.back().data();
  }
  return p;
}

struct Groups {
  std::vector<penstock::UpdateGroup> groups;
  std::vector<std::vector<float*>> arrays;
  std::vector<std::vector<const float*>> numbers;
  std::vector<std::unique_ptr<penstock::Product>> products;
  long elements = 0;
};

const long LINE = 16;  // floats of a cache line
const long START = 0;  // of a batch of one

// What gives one of the group's arrays: which one, the two matrices, and whether they are transposed.
void read_product(Reader& reader, ffi::RemainingArgs arguments, Dims dims, Groups& g,
                  penstock::UpdateGroup& group, const penstock::UpdateProgram& program) {
  group.computed = reader.one_of(program.arrays);
  need(group.computed >= program.written, "a gradient that is read alone");
  const Floats a = floats_of(arguments, reader.one_of(arguments.size()));
  const Floats b = floats_of(arguments, reader.one_of(arguments.size()));
  need(a.dimensions().size() == 2 && b.dimensions().size() == 2 && dims.size() == 2 && !has_none(dims),
       "matrices that are not empty");
  const bool adj_a = reader.number() != 0, adj_b = reader.number() != 0;
  g.products.push_back(
      std::make_unique<penstock::Product>(product_of(a, b, dims, adj_a, adj_b)));
  penstock::Product& p = *g.products.back();
  p.c = nullptr;
  p.batch = 1;
  p.a_start = p.b_start = &START;
  group.product = &p;
}

// `updated`: how many of the arguments, the first ones, may get new values.
Groups groups_of(Reader& reader, const Programs& p, ffi::RemainingArgs arguments,
                 std::size_t updated) {
  Groups g;
  g.groups.resize(reader.count());
  for (auto& each : g.groups) {
    each.program = reader.one_of(p.programs.size());
    const penstock::UpdateProgram& program = p.programs[each.program];
    std::vector<float*> arrays;
    std::vector<const float*> numbers;
    Dims dims;
    for (long i = 0; i < program.arrays; ++i) {
      const std::size_t number = i < program.written ? updated : arguments.size();
      const Floats array = floats_of(arguments, reader.one_of(number));
      const long length = static_cast<long>(array.element_count());
      need(i == 0 || length == each.length, "arrays of one size");
      dims = array.dimensions();
      each.length = length;
      arrays.push_back(array.typed_data());
    }
    for (long i = 0; i < program.numbers; ++i) {
      const Floats number = floats_of(arguments, reader.one_of(arguments.size()));
      need(number.element_count() == 1, "numbers");
      numbers.push_back(number.typed_data());
    }
    g.arrays.push_back(std::move(arrays));
    g.numbers.push_back(std::move(numbers));
    each.arrays = g.arrays.back().data();
    each.numbers = g.numbers.back().data();
    each.begin = g.elements;
    if (reader.number() != 0) read_product(reader, arguments, dims, g, each, program);
    if (each.product == nullptr) g.elements += (each.length + LINE - 1) / LINE * LINE;
  }
  return g;
}

// The first argument says whether anything is to be done; results are the arguments after it, as
// many as there are, in their memory.
ffi::Error update(ffi::ThreadPool pool, Flag wanted, ffi::RemainingArgs arguments,
                  ffi::RemainingRets results, Numbers numbers) {
  return guarded([&] {
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto result = results.get<Floats>(i);
      need(result.has_value() && i < arguments.size(), "results of floats, an argument for each");
      const Floats argument = floats_of(arguments, i);
      need((*result)->typed_data() == argument.typed_data() &&
               (*result)->element_count() == argument.element_count(),
           "results in the memory of their variables");
    }
    need(wanted.element_count() == 1, "whether anything is to be done");
    if (!*wanted.typed_data()) return;
    Reader reader(numbers);
    const Programs p = programs_of(reader);
    const Groups g = groups_of(reader, p, arguments, results.size());
    PoolWorkers workers(pool);
    penstock::best_kernels().update({p.programs.data(), g.groups.data(),
                                     static_cast<long>(g.groups.size()), g.elements},
                                    workers);
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_update, update,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Flag>()
                     .RemainingArgs()
                     .RemainingRets()
                     .Attr<Numbers>("program"));
