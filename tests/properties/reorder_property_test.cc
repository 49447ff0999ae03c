// Compares the reorder with the reference bit for bit: elements, padding and untouched gaps, on every ISA and number of
// threads.
//
// RELAYOUT_SEED repeats a run, RELAYOUT_CASES sets the number of cases; the slow tests have a million.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "random_case.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/planner/plan_data.h"
#include "relayout/reorder/reference.h"
#include "tests/support/scoped_isa.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout::test {
namespace {

struct Counts {
  int64_t cases = 0, converting = 0, padded = 0, tables = 0, empty = 0, compiled = 0;
};

void expect_bytes(const Case& c, std::span<const std::byte> actual, std::span<const std::byte> expected,
                  std::string_view isa, const Plan& plan) {
  if (std::ranges::equal(actual, expected)) return;
  std::size_t at = 0;
  while (actual[at] == expected[at]) ++at;
  const int64_t offset = static_cast<int64_t>(at) * 8 / bits(c.dst.dtype);
  Dims index;
  const Slot slot = c.dst.layout.inverse(offset, &index);
  FAIL() << c.text << "\n  isa " << isa << (plan.streams() ? ", streamed" : "") << ", byte " << at << ", "
         << (slot == Slot::gap       ? "a gap"
             : slot == Slot::padding ? "padding of "
                                     : "element ")
         << (slot == Slot::gap ? "" : join(index)) << ": " << static_cast<int>(actual[at]) << " instead of "
         << static_cast<int>(expected[at]) << "\n"
         << plan.explain();
}

/// Runs one case by the reference and by each of these ISAs.
void check(const Case& c, std::mt19937_64& rng, std::span<const std::string_view> isas, Counts& counts) {
  const auto src = random_bytes(rng, c.src.dtype, c.src.span_bytes());
  const auto before = random_bytes(rng, c.dst.dtype, c.dst.span_bytes());
  auto expected = before;
  reference_reorder(c.src, src.data(), c.dst, expected.data(), c.attributes);
  // This plan goes through the caches. On machines with a far last level it prefetches next lines.
  const Machine tiny_far{.l1 = 64, .l2 = rng() % 2 == 0 ? 64 : Machine{}.l2, .l3 = int64_t{64} << 20};
  const Plan cached = Plan::make(c.src, c.dst, c.attributes, rng() % 2 == 0 ? Machine{} : tiny_far);
  // This plan is one of large tensors: it writes past the caches, at any address, in blocks small enough that several
  // meet.
  Tuning tuning{.stream = Tuning::Stream::always};
  if (rng() % 2 == 0) tuning.panel = 1 + static_cast<int64_t>(rng() % 48);
  if (rng() % 2 == 0) tuning.strip = 1 + static_cast<int64_t>(rng() % 24);
  const Machine far{.l2 = 4 << 10, .l3 = int64_t{64} << 20};  // has rules of its own for blocks
  const Plan streamed = Plan::make(c.src, c.dst, c.attributes, rng() % 2 == 0 ? Machine{} : far, tuning);
  // On this machine's tiny caches, size decides: the plan writes past them, also by images, or through them in blocks
  // that are prefetched.
  const Plan large = Plan::make(c.src, c.dst, c.attributes, {.l3 = 8});
  // The ways that it does not choose must be right too.
  constexpr Tuning::Way kWays[] = {Tuning::Way::boxes, Tuning::Way::lines, Tuning::Way::stages};
  const Tuning forced{.stream = Tuning::Stream{static_cast<uint8_t>(rng() % 3)}, .way = kWays[rng() % 3]};
  const Plan other = rng() % 2 == 0 ? cpu::make_plan(c.src, c.dst, c.attributes, forced)
                                    : Plan::make(c.src, c.dst, c.attributes, tiny_far, forced);
  const Plan compiled = rng() % 4 == 0 ? cpu::compiled_plan(c.src, c.dst, c.attributes) : cached;
  const std::size_t shift = rng() % 3 == 0 ? 0 : rng() % 64;
  for (std::string_view isa : isas) {
    const ScopedIsa isa_scope(isa);
    for (const Plan* plan : {&cached, &streamed, &large, &other, &compiled}) {
      std::vector<std::byte> memory(before.size() + 128, std::byte{0x5a});
      const std::size_t start = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 + shift;
      std::ranges::copy(before, memory.begin() + static_cast<std::ptrdiff_t>(start));
      cpu::run(*plan, src.data(), memory.data() + start, {.threads = rng() % 4 == 0 ? 3 : 1, .grain_bytes = 1});
      const std::vector<std::byte> actual(memory.begin() + static_cast<std::ptrdiff_t>(start),
                                          memory.begin() + static_cast<std::ptrdiff_t>(start + before.size()));
      expect_bytes(c, actual, expected, isa, *plan);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  ++counts.cases;
  counts.converting += cached.converts();
  counts.padded += c.dst.layout.padded();
  counts.tables += !cached.data().tables().empty();
  counts.empty += c.src.layout.empty();
  counts.compiled += compiled.data().code() != nullptr;
}

TEST(ReorderProperty, EqualsTheReference) {
  const auto seed = static_cast<uint64_t>(number_from("RELAYOUT_SEED", 20261121));
  const int64_t total = number_from("RELAYOUT_CASES", slow_tests() ? 1'000'000 : 25'000);
  const auto isas = cpu::available_isas();
  Counts counts;
  for (int64_t i = 0; i < total && !HasFatalFailure(); ++i) {
    std::mt19937_64 rng(seed * 1'000'003 + static_cast<uint64_t>(i));
    // Most cases are small. Some larger tensors fill whole tiles.
    const Case c = random_case(rng, i % 50 == 0 ? 6000 : i % 10 == 0 ? 800 : 120);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
    // Each case runs on one ISA, in turn; some run on all.
    const auto which = static_cast<std::size_t>(i) % isas.size();
    check(c, rng, i % 16 == 0 ? std::span(isas) : std::span(isas).subspan(which, 1), counts);
  }
  std::printf(
      "reorder against the reference: %lld cases, seed %llu: %lld converting, %lld to padded layouts, %lld with blocks "
      "that do not nest, %lld empty, %lld by generated code; ISAs:",
      static_cast<long long>(counts.cases), static_cast<unsigned long long>(seed),
      static_cast<long long>(counts.converting), static_cast<long long>(counts.padded),
      static_cast<long long>(counts.tables), static_cast<long long>(counts.empty),
      static_cast<long long>(counts.compiled));
  for (auto isa : isas) std::printf(" %.*s", static_cast<int>(isa.size()), isa.data());
  std::printf("\n");
  EXPECT_GT(counts.tables, counts.cases / 200);
}

// All 17 x 17 pairs of types are moved, and computed with, in a transposition with tails.
TEST(ReorderProperty, EveryTypePair) {
  std::mt19937_64 rng(7);
  Counts counts;
  const auto isas = cpu::available_isas();
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      for (int variant = 0; variant < 6 && !HasFatalFailure(); ++variant) {
        Case c;
        const Dims dims{2, 19, 5, 7};
        std::string src_text, dst_text;
        c.src = TensorDesc(random_layout(rng, dims, true, &src_text), from);
        c.dst = TensorDesc(random_layout(rng, dims, false, &dst_text), to);
        if (variant % 2) c.attributes.src_scale = {{0.37f}, 0};
        if (variant == 5) c.attributes.beta = 0.5f;
        c.text = std::string(name(from)) + " " + src_text + " -> " + std::string(name(to)) + " " + dst_text;
        check(c, rng, isas, counts);
      }
    }
  }
  std::printf("type pairs: %lld cases\n", static_cast<long long>(counts.cases));
}

// All pairs of plain permutations of ranks 1 to 4, and of their blocked forms.
TEST(ReorderProperty, AllTagPairsOfARank) {
  Counts counts;
  std::mt19937_64 rng(11);
  const auto isas = cpu::available_isas();
  const Dims shapes[] = {{}, {37}, {19, 33}, {5, 17, 9}, {3, 17, 5, 6}};
  for (int rank = 1; rank <= 4; ++rank) {
    std::vector<std::string> tags;
    std::string letters = std::string("abcd").substr(0, static_cast<std::size_t>(rank));
    do {
      tags.push_back(letters);
      for (char d = 'a'; d < 'a' + rank; ++d) {
        std::string blocked = letters;
        blocked[letters.find(d)] = static_cast<char>(d - 'a' + 'A');
        for (const char* size : {"16", "12"}) tags.push_back(blocked + size + d);
      }
    } while (std::next_permutation(letters.begin(), letters.end()));
    for (const std::string& from : tags) {
      for (const std::string& to : tags) {
        if (rank == 4 && pick(rng, 0, 7) != 0) continue;  // of 46,656 pairs, a sample
        Case c;
        const DType dtype =
            std::array{DType::f32, DType::s8, DType::bf16, DType::f64}[static_cast<std::size_t>(pick(rng, 0, 3))];
        c.src = desc(from, shapes[rank], dtype);
        c.dst = desc(to, shapes[rank], dtype);
        c.text = from + " -> " + to;
        check(c, rng, std::span(isas).last(1), counts);
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("tag pairs: %lld cases\n", static_cast<long long>(counts.cases));
}

// There are more columns than a block has, beside few rows or many. Axes are cut, and their rest becomes loops.
TEST(ReorderProperty, MoreColumnsThanABlockHas) {
  Counts counts;
  std::mt19937_64 rng(13);
  const auto isas = cpu::available_isas();
  const auto run = [&](const char* from, const char* to, const Dims& dims, int i) {
    Case c;
    c.src = desc(from, dims, i % 3 == 2 ? DType::s8 : DType::f32);
    c.dst = desc(to, dims, i % 3 == 1 ? DType::s8 : c.src.dtype);
    if (i % 4 == 3) {  // a scale for each index of one dimension
      const auto d = static_cast<int>(pick(rng, 0, 3));
      c.attributes.src_scale = {{}, 1u << d};
      for (int64_t at = 0; at < dims[d]; ++at) c.attributes.src_scale.values.push_back(0.25f + 0.01f * float(at % 97));
    }
    c.text = std::string(from) + " -> " + to + ", " + join(dims) + ", variant " + std::to_string(i);
    check(c, rng, std::span(isas).last(1), counts);
  };
  const char* const tags[] = {"abcd", "bdac",       "acdb",       "cdba",    "bacd",
                              "dcba", "ABcd16a16b", "ABcd16b16a", "aBcd16b", "Abcd8a"};
  const Dims shapes[] = {{32, 512, 3, 3}, {16, 5, 40, 30}, {8, 25, 40, 28}, {64, 16, 64, 7}, {4, 50, 144, 16}};
  for (const Dims& dims : shapes) {
    for (int i = 0; i < (slow_tests() ? 8 : 4) && !HasFatalFailure(); ++i) {
      run("ABcd16b16a", "abcd", dims, i);
      run("abcd", "bdac", dims, i);
      run(tags[pick(rng, 0, 9)], tags[pick(rng, 0, 9)], dims, i);
    }
  }
  std::printf("more columns than a block has: %lld cases\n", static_cast<long long>(counts.cases));
}

// Every number of threads gives the same bytes, whatever the blocks are that each has.
TEST(ReorderProperty, ThreadsDoNotChangeResults) {
  std::mt19937_64 rng(5);
  int64_t cases = 0;
  for (const auto& [from, to] :
       std::initializer_list<std::pair<const char*, const char*>>{{"abcd", "acdb"},
                                                                  {"acdb", "aBcd16b"},
                                                                  {"aBcd12b", "aBcd8b"},
                                                                  {"abcd", "dcba"},
                                                                  {"abcd", "abcd"},
                                                                  {"strides:0,1,67,1", "ABcd4a4b"}}) {
    for (DType src_type : {DType::f32, DType::u8, DType::s4}) {
      for (DType dst_type : {DType::f32, DType::bf16, DType::u4}) {
        const Dims dims{4, 67, 61, 43};
        const TensorDesc src = desc(from, dims, src_type), dst = desc(to, dims, dst_type);
        const auto bytes = random_bytes(rng, src_type, src.span_bytes());
        const Plan plan = Plan::make(src, dst);
        std::vector<std::byte> one(static_cast<std::size_t>(dst.span_bytes())), many = one;
        cpu::run(plan, bytes.data(), one.data(), {1});
        for (int threads : {0, 2, 3}) {
          std::ranges::fill(many, std::byte{0xaa});
          std::ranges::fill(one, std::byte{0xaa});
          cpu::run(plan, bytes.data(), one.data(), {1});
          cpu::run(plan, bytes.data(), many.data(), {.threads = threads, .grain_bytes = threads});
          ASSERT_EQ(one, many) << from << " -> " << to;
          ++cases;
        }
      }
    }
  }
  std::printf("thread counts: %lld cases\n", static_cast<long long>(cases));
}

}  // namespace
}  // namespace relayout::test
