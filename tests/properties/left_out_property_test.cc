// Kernels that RELAYOUT_KERNEL may leave out: without any one of them, on every ISA, reorders give the same bytes. And
// each of them is used by these reorders where it is there, as otherwise leaving it out would show nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "random_case.h"
#include "relayout/cpu/kernels/list.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::test {
namespace {

/// A reorder, the ways to run it, and the bytes that the reference gives.
struct Prepared {
  Prepared(const Case& c, std::mt19937_64& rng)
      : text(c.text),
        src(random_bytes(rng, c.src.dtype, c.src.span_bytes())),
        before(random_bytes(rng, c.dst.dtype, c.dst.span_bytes())),
        expected(before) {
    reference_reorder(c.src, src.data(), c.dst, expected.data(), c.attributes);
    plans.push_back(Plan::make(c.src, c.dst, c.attributes));
    plans.push_back(Plan::make(c.src, c.dst, c.attributes, {}, {.stream = Tuning::Stream::always}));
    // On a machine of tiny caches, size decides.
    plans.push_back(Plan::make(c.src, c.dst, c.attributes, {.l3 = 8}));
  }

  /// Calls visit(plan, bytes) after each run: every plan into memory that starts at a line, and elsewhere.
  template <typename Visit>
  void run(Visit visit) const {
    for (const Plan& plan : plans) {
      for (const int64_t slack : {0, 20}) {
        Guarded dst(static_cast<int64_t>(before.size()), Guarded::Side::start, slack);
        std::ranges::copy(before, dst.data());
        cpu::run(plan, src.data(), dst.data(), {1});
        visit(plan, dst.bytes());
        ASSERT_TRUE(dst.intact()) << text;
      }
    }
  }

  std::string text;
  std::vector<std::byte> src, before, expected;
  std::vector<Plan> plans;
};

/// Pairs of layouts, of which each method of the planner has some: transpositions of aligned and odd sizes, channel
/// blocks, few channels, tails; by types that are moved and converted.
std::vector<Prepared> reorders() {
  struct Pair {
    const char *from, *to;
    Dims dims;
  };
  const Pair pairs[] = {{"abcd", "acdb", {2, 64, 8, 16}},
                        {"acdb", "abcd", {2, 64, 8, 16}},
                        {"abcd", "acdb", {2, 67, 7, 13}},
                        {"acdb", "abcd", {2, 67, 7, 13}},
                        {"abcd", "acdb", {3, 3, 17, 32}},
                        {"acdb", "abcd", {3, 3, 16, 32}},
                        {"abcd", "acdb", {33, 16, 3, 3}},
                        {"acdb", "abcd", {17, 16, 3, 3}},
                        {"abcd", "cdba", {16, 16, 3, 3}},
                        {"aBcd16b", "abcd", {2, 64, 8, 16}},
                        {"abcd", "aBcd16b", {2, 64, 8, 16}},
                        {"aBcd8b", "abcd", {2, 64, 8, 16}},
                        {"abcd", "aBcd8b", {2, 64, 8, 16}},
                        {"aBcd8b", "aBcd16b", {2, 64, 8, 16}},
                        {"aBcd16b", "aBcd8b", {2, 64, 8, 16}},
                        {"acdb", "aBcd16b", {2, 67, 7, 13}},
                        {"aBcd16b", "acdb", {2, 67, 7, 13}},
                        {"aBcd12b", "aBcd8b", {2, 67, 7, 13}},
                        {"ab", "ba", {96, 128}},
                        {"ab", "ba", {61, 257}},
                        {"ab", "ab", {96, 128}},
                        {"acdb", "aBcd5b", {2, 23, 9, 11}},
                        {"acdb", "abcd", {1, 32, 17, 19}},
                        {"ab", "ba", {1021, 509}}};
  const std::pair<DType, DType> types[] = {
      {DType::u8, DType::u8},  {DType::bf16, DType::bf16}, {DType::f32, DType::f32}, {DType::f64, DType::f64},
      {DType::f32, DType::u8}, {DType::s8, DType::f32},    {DType::f32, DType::f16}, {DType::bf16, DType::f32}};
  std::mt19937_64 rng(61);
  std::vector<Prepared> out;
  for (const Pair& pair : pairs) {
    for (const auto& [src, dst] : types) {
      Case c{desc(pair.from, pair.dims, src), desc(pair.to, pair.dims, dst), {}, ""};
      c.text = std::string(name(src)) + " " + pair.from + " -> " + std::string(name(dst)) + " " + pair.to + ", " +
               join(pair.dims);
      out.emplace_back(c, rng);
    }
  }
  for (int64_t i = 0, cases = slow_tests() ? 400 : 200; i < cases; ++i)
    out.emplace_back(random_case(rng, i % 4 == 0 ? 3000 : 200), rng);
  const Dims column{9, 700};
  out.emplace_back(Case{desc("strides:1,0", column, DType::f32), desc("ab", column, DType::f32), {}, "a column"}, rng);
  return out;
}

/// Uses a table for as long as the scope lasts.
class ScopedKernels {
 public:
  ScopedKernels(const cpu::Kernels& table, const cpu::Kernels& usual) : usual_(usual) { cpu::use_kernels(table); }
  ~ScopedKernels() { cpu::use_kernels(usual_); }
  ScopedKernels(const ScopedKernels&) = delete;
  ScopedKernels& operator=(const ScopedKernels&) = delete;

 private:
  const cpu::Kernels& usual_;
};

/// Stands in for kernels of a type of function: notes that it is called.
bool called = false;
template <typename Kernel>
struct Noting;
template <typename... Parameters>
struct Noting<void (*)(Parameters...)> {
  static void call(Parameters...) { called = true; }
};

/// The names, as RELAYOUT_KERNEL takes them, of all families that are optional and that a table has; in the slow tests
/// also those of each of its kernels.
std::vector<std::string> optional_names(const cpu::Kernels& table) {
  std::vector<std::string> out;
  cpu::each_kernel(table, [&](const cpu::KernelFamily& family, const auto& kernel, auto places) {
    if (!kernel || !family.optional()) return;
    if (out.empty() || std::ranges::find(out, family.name) == out.end()) out.emplace_back(family.name);
    if (slow_tests() && !places.empty()) out.push_back(cpu::kernel_name(family, places));
  });
  return out;
}

TEST(LeftOut, ReordersGiveTheSameBytesWithoutAnyOneKernel) {
  const std::vector<Prepared> cases = reorders();
  int64_t runs = 0, names = 0;
  for (const cpu::Kernels* usual : cpu::all_kernels()) {
    for (const std::string& name : optional_names(*usual)) {
      cpu::Kernels table = *usual;
      cpu::leave_out(table, "-" + name);
      const ScopedKernels scope(table, *usual);
      for (const Prepared& reorder : cases) {
        reorder.run([&](const Plan& plan, std::span<const std::byte> bytes) {
          ASSERT_TRUE(std::ranges::equal(bytes, reorder.expected))
              << usual->isa << " without " << name << ": " << reorder.text << "\n"
              << plan.explain();
          ++runs;
        });
        if (HasFatalFailure()) return;
      }
      ++names;
    }
  }
  std::printf("left out: %lld names, %lld runs\n", static_cast<long long>(names), static_cast<long long>(runs));
}

TEST(LeftOut, TheReordersUseEachKindOfKernel) {
  const std::vector<Prepared> cases = reorders();
  for (const cpu::Kernels* usual : cpu::all_kernels()) {
    cpu::each_family(*usual, [&](const cpu::KernelFamily& family, const auto& member, auto members) {
      cpu::Kernels table = *usual;
      bool has = false;
      cpu::each_kernel(table, [&](const cpu::KernelFamily& of, auto& kernel, auto) {
        using Kernel = std::remove_reference_t<decltype(kernel)>;
        if (of.name != family.name || !kernel) return;
        has = true;
        kernel = &Noting<Kernel>::call;
      });
      static_cast<void>(member), static_cast<void>(members);
      if (!has || !family.optional()) return;
      const ScopedKernels scope(table, *usual);
      called = false;
      for (const Prepared& reorder : cases) {
        if (!called) reorder.run([](const Plan&, auto) {});
      }
      EXPECT_TRUE(called) << family.name << " of " << usual->isa;
    });
  }
}

}  // namespace
}  // namespace relayout::test
