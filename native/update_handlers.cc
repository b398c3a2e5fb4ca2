// The handler of updates: it reads the program that penstock/core/updates.py wrote.
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
  long elements = 0;
};

const long LINE = 16;  // floats of a cache line

Groups groups_of(Reader& reader, const Programs& p, ffi::RemainingArgs arguments) {
  Groups g;
  const auto floats = [&] { return arguments.get<Floats>(reader.number()).value(); };
  g.groups.resize(reader.number());
  for (auto& each : g.groups) {
    each.program = reader.number();
    const penstock::UpdateProgram& program = p.programs[each.program];
    std::vector<float*> arrays;
    std::vector<const float*> numbers;
    for (long i = 0; i < program.arrays; ++i) {
      const Floats array = floats();
      each.length = static_cast<long>(array.element_count());
      arrays.push_back(array.typed_data());
    }
    for (long i = 0; i < program.numbers; ++i) numbers.push_back(floats().typed_data());
    g.arrays.push_back(std::move(arrays));
    g.numbers.push_back(std::move(numbers));
    each.arrays = g.arrays.back().data();
    each.numbers = g.numbers.back().data();
    each.begin = g.elements;
    g.elements += (each.length + LINE - 1) / LINE * LINE;
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
