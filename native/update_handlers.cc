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

Programs programs_of(Reader& reader) {
  Programs p;
  p.programs.resize(reader.number());
  for (auto& each : p.programs) {
    for (long* field : {&each.written, &each.arrays, &each.numbers, &each.registers, &each.fills,
                        &each.count})
      *field = reader.number();
    p.steps.push_back(instructions_of(reader, each.count));
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
                  penstock::UpdateGroup& group) {
  group.computed = reader.number();
  const Floats a = arguments.get<Floats>(reader.number()).value();
  const Floats b = arguments.get<Floats>(reader.number()).value();
  const bool adj_a = reader.number() != 0, adj_b = reader.number() != 0;
  g.products.push_back(
      std::make_unique<penstock::Product>(product_of(a, b, dims, adj_a, adj_b)));
  penstock::Product& p = *g.products.back();
  p.c = nullptr;
  p.batch = 1;
  p.a_start = p.b_start = &START;
  group.product = &p;
}

Groups groups_of(Reader& reader, const Programs& p, ffi::RemainingArgs arguments) {
  Groups g;
  const auto floats = [&] { return arguments.get<Floats>(reader.number()).value(); };
  g.groups.resize(reader.number());
  for (auto& each : g.groups) {
    each.program = reader.number();
    const penstock::UpdateProgram& program = p.programs[each.program];
    std::vector<float*> arrays;
    std::vector<const float*> numbers;
    Dims dims;
    for (long i = 0; i < program.arrays; ++i) {
      const Floats array = floats();
      dims = array.dimensions();
      each.length = static_cast<long>(array.element_count());
      arrays.push_back(array.typed_data());
    }
    for (long i = 0; i < program.numbers; ++i) numbers.push_back(floats().typed_data());
    g.arrays.push_back(std::move(arrays));
    g.numbers.push_back(std::move(numbers));
    each.arrays = g.arrays.back().data();
    each.numbers = g.numbers.back().data();
    each.begin = g.elements;
    if (reader.number() != 0) read_product(reader, arguments, dims, g, each);
    if (each.product == nullptr) g.elements += (each.length + LINE - 1) / LINE * LINE;
  }
  return g;
}

// The first argument says whether anything is to be done; results are the arguments after it, as
// many as there are, in their memory.
ffi::Error update(ffi::ThreadPool pool, Flag wanted, ffi::RemainingArgs arguments,
                  ffi::RemainingRets results, Numbers numbers) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results.get<Floats>(i).value()->typed_data() != arguments.get<Floats>(i).value().typed_data())
      return ffi::Error(ffi::ErrorCode::kInternal, "an update has memory apart from its variable's");
  if (!*wanted.typed_data()) return ffi::Error::Success();
  return guarded([&] {
    Reader reader(numbers);
    const Programs p = programs_of(reader);
    const Groups g = groups_of(reader, p, arguments);
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
