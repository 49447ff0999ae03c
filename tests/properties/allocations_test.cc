// run() allocates no memory: counted by operator new over random plans of all methods, on every instruction set.
//
// A program of its own, as it replaces operator new. On one thread: dealing blocks to threads is oneTBB's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <set>

#include "random_case.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/testing.h"

namespace {

std::size_t allocations = 0;

void* allocate(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace relayout::test {
namespace {

/// Notes the methods of boxes, and of those inside.
void note(std::span<const BoxPlan> boxes, std::set<std::size_t>& methods) {
  for (const BoxPlan& box : boxes) {
    methods.insert(box.method.index());
    if (const auto* stages = box.as<Stages>()) note(stages->moves, methods);
    if (const auto* tiles = box.as<TileRuns>()) {
      for (const TileRun& run : tiles->runs) note(run.boxes, methods);
    }
  }
}

/// Machines on which small tensors are within the caches, beyond them, and at their edge.
Machine random_machine(std::mt19937_64& rng) {
  constexpr std::array<int64_t, 3> kPermuted{0, 16, 64};
  Machine out;
  out.permuted_bytes = kPermuted[static_cast<std::size_t>(pick(rng, 0, 2))];
  if (pick(rng, 0, 1) == 0) return out;
  out.l1 = int64_t{1} << pick(rng, 6, 12);
  out.l2 = out.l1 << pick(rng, 0, 3);
  out.l3 = pick(rng, 0, 2) == 0 ? int64_t{64} << 20 : out.l2 << pick(rng, 0, 3);
  return out;
}

/// Up to twelve dims of extent 2 or 3, each side in an order of its own: boxes of as many axes, which lists of a few
/// axes do not hold.
Case case_of_many_axes(std::mt19937_64& rng) {
  Case out;
  Dims dims;
  for (int64_t d = pick(rng, 6, 12); d > 0; --d) dims.push_back(pick(rng, 2, dims.size() < 8 ? 3 : 2));
  constexpr std::array kTypes{DType::u8, DType::f16, DType::f32, DType::s8, DType::f64, DType::s4};
  for (TensorDesc* side : {&out.src, &out.dst}) {
    std::vector<int> order(static_cast<std::size_t>(dims.size()));
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
    std::ranges::shuffle(order, rng);
    std::vector<Digits> digits(order.size());
    int64_t next = 1;
    for (const int d : order) {
      digits[static_cast<std::size_t>(d)] = {{dims[d], next}};
      next *= dims[d];
      if (pick(rng, 0, 5) == 0) next += pick(rng, 1, 7);  // a gap
    }
    side->layout = Layout::from_digits(dims, digits);
    side->dtype = kTypes[static_cast<std::size_t>(pick(rng, 0, static_cast<int64_t>(kTypes.size()) - 1))];
  }
  if (pick(rng, 0, 1) == 0) out.dst.dtype = out.src.dtype;
  out.text = "many axes";
  return out;
}

TEST(Allocations, AreNotMadeByRun) {
  std::mt19937_64 rng(20'260'801);
  std::set<std::size_t> methods;
  constexpr int kPlans = 10'000;
  const auto isas = cpu::available_isas();
  for (int i = 0; i < kPlans; ++i) {
    const Case c = i % 4 == 0 ? case_of_many_axes(rng) : random_case(rng, int64_t{1} << pick(rng, 4, 14));
    Tuning tuning;
    tuning.stream = static_cast<Tuning::Stream>(pick(rng, 0, 2));
    tuning.way = static_cast<Tuning::Way>(pick(rng, 0, 3));
    const Plan plan = Plan::make(c.src, c.dst, c.attributes, random_machine(rng), tuning);
    note(plan.data().boxes(), methods);
    note(plan.data().fills(), methods);
    const auto src = random_bytes(rng, c.src.dtype, c.src.span_bytes());
    auto dst = random_bytes(rng, c.dst.dtype, c.dst.span_bytes());
    const ScopedIsa isa(isas[static_cast<std::size_t>(i) % isas.size()]);
    cpu::run(plan, src.data(), dst.data(), {.threads = 1});  // what is looked up once in a program is not counted
    const std::size_t before = allocations;
    cpu::run(plan, src.data(), dst.data(), {.threads = 1});
    ASSERT_EQ(allocations, before) << c.text << "\n" << cpu::isa() << "\n" << plan.explain();
  }
  EXPECT_EQ(methods.size(), std::variant_size_v<Method>) << "not all methods were met";
}

}  // namespace
}  // namespace relayout::test
