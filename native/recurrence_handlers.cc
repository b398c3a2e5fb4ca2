// The handler of rounds in one call: it reads the program that penstock/core/recurrence.py wrote.
#include <algorithm>

#include "numbers.h"

namespace {

using Floats = ffi::Buffer<ffi::F32>;

const long NOWHERE = 0, ARGUMENT = 1, RESULT = 2, MEMORY = 3;
const long MOST = 1l << 40;  // of sizes, and of distances in arrays: their products fit a Wide

typedef __int128 Wide;

// A place in an array, and how many floats there are on both sides of it.
struct Place {
  float* at = nullptr;
  long before = 0, after = 0;
  bool writable = false;

  bool holds(Wide first, Wide last) const { return first >= -before && last < after; }
};

// The arrays of a call, and where a program's places in them are.
class Places {
 public:
  Places(ffi::RemainingArgs arguments, ffi::RemainingRets results, std::vector<float>& memory) {
    spaces_[MEMORY].push_back(place(memory.data(), memory.size(), true));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Floats array = floats_of(arguments, i);
      spaces_[ARGUMENT].push_back(place(array.typed_data(), array.element_count(), false));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto array = results.get<Floats>(i);
      need(array.has_value(), "results of floats");
      spaces_[RESULT].push_back(place((*array)->typed_data(), (*array)->element_count(), true));
    }
  }

  Place next(Reader& reader) const {  // space, number, offset
    const long space = reader.number_to(MEMORY);
    if (space == NOWHERE) {
      reader.number();
      reader.number();
      return {};
    }
    Place found = spaces_[space][reader.one_of(spaces_[space].size())];
    const long offset = reader.number_to(found.after);
    found.at += offset;
    found.before = offset;
    found.after -= offset;
    return found;
  }

 private:
  static Place place(float* data, std::size_t size, bool writable) {
    return {data, 0, static_cast<long>(size), writable};
  }

  std::vector<Place> spaces_[MEMORY + 1];
};

struct Ends {  // of an array that is held
  Place edge, start;
};

struct Program {
  std::vector<Ends> ends;
  std::vector<penstock::Held> held;
  std::vector<penstock::Matrix> matrices;
  std::vector<penstock::RecurrentProduct> products;
  std::vector<penstock::Instruction> instructions;
  std::vector<penstock::Phase> phases;
};

Program program_of(Reader& reader, const Places& places, long width) {
  Program p;
  p.held.resize(reader.count());
  for (auto& each : p.held) {
    p.ends.push_back({places.next(reader), places.next(reader)});
    each.edge = p.ends.back().edge.at;
    each.start = p.ends.back().start.at;
    for (long* field : {&each.edge_round, &each.edge_row, &each.step, &each.odd, &each.row,
                        &each.column})
      *field = reader.number();
  }
  p.matrices.resize(reader.number_to(penstock::MOST_MATRICES));
  for (auto& each : p.matrices) {
    const Place place = places.next(reader);
    each.data = place.at;
    for (long* field : {&each.depth, &each.row, &each.column}) *field = reader.number_to(MOST);
    const Wide last = Wide{each.depth - 1} * each.row + Wide{width - 1} * each.column;
    need(each.depth > 0 && (each.row == 1 || each.column == 1) && place.holds(0, last),
         "matrices within their arrays");
  }
  p.products.resize(reader.count());
  for (auto& each : p.products)
    for (long* field : {&each.held, &each.offset, &each.matrix}) *field = reader.number();
  const long steps = reader.count();
  p.instructions = instructions_of(reader, steps);
  p.phases.resize(reader.count());
  for (auto& each : p.phases)
    for (long* field : {&each.first_product, &each.last_product, &each.first_instruction,
                        &each.last_instruction})
      *field = reader.number();
  return p;
}

// Whether a round's part of an array, of these columns, lies in it.
bool holds(const penstock::Recurrence& r, const penstock::Held& held, const Ends& ends, long round,
           long first, long columns) {
  const bool edge = round == held.edge_round;
  const long row = edge ? held.edge_row : held.row;
  const Wide begin = edge ? Wide{0} : Wide{round} * held.step + (round & 1) * held.odd;
  const Wide rows = Wide{r.batch - 1} * row;
  const Wide from = begin + Wide{first} * held.column;
  const Wide last = from + Wide{columns - 1} * held.column;
  return (edge ? ends.edge : ends.start).holds(from + std::min<Wide>(rows, 0),
                                               last + std::max<Wide>(rows, 0));
}

// Parts move by the same in each second round, so the first and last ones say it for all.
void need_held(const penstock::Recurrence& r, const Program& p, long number, long first,
               long columns, bool written) {
  need(number >= 0 && number < static_cast<long>(p.held.size()), "arrays that a program has");
  need(first >= 0 && first <= MOST && columns <= MOST, "columns");
  const penstock::Held& held = p.held[number];
  for (const long field : {held.step, held.odd, held.row, held.edge_row})
    need(field >= -MOST && field <= MOST, "distances in arrays");
  need(held.column == 1 || (held.column == 0 && !written), "columns side by side, or all alike");
  const auto check = [&](long round) {
    if (round < 0 || round >= r.rounds) return;
    const Ends& ends = p.ends[number];
    const Place& place = round == held.edge_round ? ends.edge : ends.start;
    need(holds(r, held, ends, round, first, columns) && (place.writable || !written),
         "rounds within their arrays");
  };
  for (long i = 0; i < 4; ++i) {
    check(i);
    check(r.rounds - 1 - i);
  }
  check(held.edge_round);
}

void need_step(const penstock::Recurrence& r, const Program& p, const penstock::Phase& phase,
               const penstock::Instruction& step) {
  const auto is_register = [&](long number) { return number >= 0 && number < r.registers; };
  need(step.code >= penstock::LOAD && step.code < penstock::SELECT && is_register(step.to),
       "instructions that there are");
  if (step.code == penstock::LOAD) return need_held(r, p, step.a, step.offset, r.width, false);
  need(step.code == penstock::LOAD_PRODUCT
           ? step.a >= 0 && step.a < phase.last_product - phase.first_product
           : is_register(step.a) && (step.code == penstock::STORE || is_register(step.b)),
       "registers and products that there are");
  if (step.code == penstock::STORE) need_held(r, p, step.b, step.offset, r.width, true);
}

void need_product(const penstock::Recurrence& r, const Program& p,
                  const penstock::RecurrentProduct& product) {
  need(product.matrix >= 0 && product.matrix < static_cast<long>(p.matrices.size()),
       "matrices that a program has");
  need_held(r, p, product.held, product.offset, p.matrices[product.matrix].depth, false);
  need(p.held[product.held].column == 1, "columns side by side");
}

// Everything that the kernel will read and write lies within the arrays.
void need_sound(const penstock::Recurrence& r, const Program& p) {
  for (const penstock::RecurrentProduct& product : p.products) need_product(r, p, product);
  const auto is_part = [](long first, long last, std::size_t count) {
    return first >= 0 && first <= last && last <= static_cast<long>(count);
  };
  for (const penstock::Phase& phase : p.phases) {
    need(is_part(phase.first_product, phase.last_product, p.products.size()) &&
             is_part(phase.first_instruction, phase.last_instruction, p.instructions.size()),
         "phases of what a program has");
    for (long i = phase.first_instruction; i < phase.last_instruction; ++i)
      need_step(r, p, phase, p.instructions[i]);
  }
}

ffi::Error recurrence(ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                      ffi::RemainingRets results, Numbers numbers) {
  return guarded([&] {
    Reader reader(numbers);
    penstock::Recurrence r = {};
    r.rounds = reader.number_to(MOST);
    r.batch = reader.number_to(MOST);
    r.width = reader.number_to(MOST);
    r.registers = reader.number_to(MOST);
    std::vector<float> memory(static_cast<std::size_t>(reader.number_to(MOST)));
    const Places places(arguments, results, memory);
    const Program p = program_of(reader, places, r.width);
    if (r.batch == 0 || r.width == 0 || r.rounds == 0) return;
    need_sound(r, p);
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
