// Operations whose instructions are counted: plans are made and run, each once under callgrind.
//
//     valgrind --tool=callgrind --collect-atstart=no ./instructions       one dump for each case, with its name
//
// count.py runs this program and compares the counts. Without valgrind it only does the work.
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/cpu/in_place.h"
#include "relayout/cpu/reorder.h"
#include "tests/support/scoped_isa.h"

namespace {

using namespace relayout;

/// A reorder that is counted: its plan is made, or the plan is run.
struct Case {
  const char* what;
  const char *src, *dst;
  Dims dims;
  DType src_type = DType::f32, dst_type = DType::f32;
  float scale = 0;  // 0 means none

  TensorDesc src_desc() const { return {Format::parse(src).bind(dims), src_type}; }
  TensorDesc dst_desc() const { return {Format::parse(dst).bind(dims), dst_type}; }
  Attributes attributes() const {
    Attributes out;
    if (scale != 0) out.dst_scale = {{scale}, 0};
    return out;
  }
};

constexpr auto f64 = DType::f64, f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, s8 = DType::s8, u8 = DType::u8;

const Case kMake[] = {
    {"copy", "nchw", "nchw", {32, 64, 56, 56}},
    {"nchw to nhwc", "nchw", "nhwc", {32, 64, 56, 56}},
    {"nhwc to nchw, RGB", "nhwc", "nchw", {8, 3, 224, 224}},
    {"nchw to nChw16c, C = 64", "nchw", "nChw16c", {32, 64, 56, 56}},
    {"nchw to nChw16c, C = 67", "nchw", "nChw16c", {32, 67, 56, 56}},
    {"nChw16c to nhwc, C = 67", "nChw16c", "nhwc", {32, 67, 56, 56}},
    {"oihw to OIhw4i16o4i, two tails", "oihw", "OIhw4i16o4i", {67, 35, 3, 3}},
    {"nChw16c to nChw12c", "nChw16c", "nChw12c", {32, 67, 56, 56}},
    {"transposition", "ab", "ba", {4096, 4096}},
    {"6-D permutation", "abcdef", "fcabde", {17, 13, 19, 21, 23, 33}},
    {"f32 nchw to u8 nhwc, scaled", "nchw", "nhwc", {32, 64, 56, 56}, f32, u8, 0.25f},
    {"tiny", "nchw", "nhwc", {1, 8, 4, 4}},
};

const Case kRun[] = {
    {"copy", "ab", "ab", {64, 256}},
    {"copy to padded rows", "ab", "strides:80,1", {64, 67}},
    {"a column in rows", "strides:3,0", "ab", {67, 131}},
    {"pixels in rows, u8", "strides:3,0,1", "abc", {20, 201, 3}, u8, u8},
    {"transposition of 1-byte elements", "ab", "ba", {128, 192}, u8, u8},
    {"transposition of 2-byte elements", "ab", "ba", {128, 96}, bf16, bf16},
    {"transposition of 4-byte elements", "ab", "ba", {96, 80}},
    {"transposition of 8-byte elements", "ab", "ba", {64, 48}, f64, f64},
    {"odd transposition of 1-byte elements", "ab", "ba", {67, 131}, u8, u8},
    {"odd transposition of 4-byte elements", "ab", "ba", {67, 71}},
    {"nchw to nChw16c, C = 64", "nchw", "nChw16c", {1, 64, 14, 14}},
    {"nchw to nChw16c, C = 67", "nchw", "nChw16c", {1, 67, 14, 14}},
    {"nChw16c to nhwc, C = 67", "nChw16c", "nhwc", {1, 67, 14, 14}},
    {"nChw16c to nChw12c", "nChw16c", "nChw12c", {1, 67, 14, 14}},
    {"oihw to OIhw4i16o4i, two tails", "oihw", "OIhw4i16o4i", {35, 19, 3, 3}},
    {"RGB nchw to nhwc", "nchw", "nhwc", {1, 3, 40, 50}},
    {"RGB nhwc to nchw, u8", "nhwc", "nchw", {1, 3, 40, 50}, u8, u8},
    {"6-D permutation", "abcdef", "fcabde", {3, 5, 4, 7, 5, 9}},
    {"f32 to u8, scaled", "a", "a", {8192}, f32, u8, 0.25f},
    {"f32 nchw to u8 nhwc, scaled", "nchw", "nhwc", {1, 64, 14, 14}, f32, u8, 0.25f},
    {"f32 nchw to s8 nChw16c, scaled", "nchw", "nChw16c", {1, 64, 14, 14}, f32, s8, 0.25f},
    {"f32 nchw to bf16 nhwc", "nchw", "nhwc", {1, 64, 14, 14}, f32, bf16},
    {"f32 to f16", "a", "a", {8192}, f32, f16},
    {"u8 nhwc to f32 nchw, RGB", "nhwc", "nchw", {1, 3, 40, 50}, u8, f32},
    {"tiny", "nchw", "nhwc", {1, 8, 4, 4}},
};

/// With these caches, plans write past the caches even for data small enough for callgrind.
constexpr Machine kSmallCaches{4 << 10, 8 << 10, 16 << 10};
const Case kStreamed[] = {
    {"streamed copy", "ab", "strides:272,1", {64, 256}},
    {"streamed column in rows", "strides:3,0", "ab", {67, 131}},
    {"streamed transposition of 1-byte elements", "ab", "ba", {256, 192}, u8, u8},
    {"streamed transposition of 2-byte elements", "ab", "ba", {128, 192}, bf16, bf16},
    {"streamed transposition of 4-byte elements", "ab", "ba", {128, 96}},
    {"streamed transposition of 8-byte elements", "ab", "ba", {64, 96}, f64, f64},
    {"streamed odd transposition of 4-byte elements", "ab", "ba", {101, 113}},
    {"streamed nchw to nhwc", "nchw", "nhwc", {1, 64, 14, 14}},
    {"streamed nhwc to nchw", "nhwc", "nchw", {1, 64, 14, 14}},
    {"streamed nchw to nChw16c, C = 67", "nchw", "nChw16c", {1, 67, 14, 14}},
    {"streamed RGB nhwc to nchw", "nhwc", "nchw", {1, 3, 60, 70}},
    {"streamed f32 nchw to u8 nhwc, scaled", "nchw", "nhwc", {1, 64, 14, 14}, f32, u8, 0.25f},
};

/// Memory that is page-aligned, so that every run of this program takes the same paths.
std::unique_ptr<std::byte, decltype(&std::free)> pages(int64_t bytes) {
  const auto whole = static_cast<std::size_t>(ceil_div(std::max<int64_t>(bytes, 1), 4096) * 4096);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, whole));
  if (!memory) std::abort();
  std::fill(memory, memory + whole, std::byte{0x41});
  return {memory, &std::free};
}

/// Runs the operation three times to warm up (lazy binding, the allocator, the choice of kernels), then once counted.
void count(const std::string& name, const std::function<void()>& operation) {
  for (int k = 0; k < 3; ++k) operation();
  CALLGRIND_TOGGLE_COLLECT;
  operation();
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(name.c_str());
}

void count_make(const Case& c) {
  const TensorDesc src = c.src_desc(), dst = c.dst_desc();
  const Attributes attributes = c.attributes();
  count(std::string("make: ") + c.what, [&] { Plan::make(src, dst, attributes); });
}

/// Counts finding a plan among others in the plan cache, and the whole call that finds it and runs it.
void count_hits() {
  const Case many{"nchw to nChw16c", "nchw", "nChw16c", {32, 67, 56, 56}}, tiny{"tiny", "nchw", "nhwc", {1, 8, 4, 4}};
  for (int64_t n = 1; n <= 100; ++n) {
    const Case other{"other", "ab", "ba", {n, 3}};
    cpu::cached_plan(other.src_desc(), other.dst_desc());
  }
  for (const Case& c : {many, tiny}) {
    const TensorDesc src = c.src_desc(), dst = c.dst_desc();
    count(std::string("found in the plan cache: ") + c.what, [&] { cpu::cached_plan(src, dst); });
  }
  const TensorDesc src = tiny.src_desc(), dst = tiny.dst_desc();
  const auto in = pages(src.span_bytes()), out = pages(dst.span_bytes());
  const std::span from(in.get(), static_cast<std::size_t>(src.span_bytes()));
  const std::span to(out.get(), static_cast<std::size_t>(dst.span_bytes()));
  cpu::set_isa("scalar");  // so that the count is the same on every machine
  count("reorder() with a plan from the cache: tiny", [&] { cpu::reorder(src, from, dst, to, {}, {1}); });
}

void count_run(const Case& c, const std::string& isa, const Machine& machine = {}) {
  const Plan plan = Plan::make(c.src_desc(), c.dst_desc(), c.attributes(), machine);
  const auto src = pages(plan.src().span_bytes()), dst = pages(plan.dst().span_bytes());
  count("run " + isa + ": " + c.what, [&] { cpu::run(plan, src.get(), dst.get(), {1}); });
}

void count_in_place(const std::string& isa) {
  const Case square{"square transposition in place", "ab", "ba", {192, 192}};
  const InPlacePlan plan = InPlacePlan::make(square.src_desc(), square.dst_desc());
  const auto buffer = pages(plan.buffer_bytes()), scratch = pages(plan.scratch_bytes());
  const std::span room(scratch.get(), static_cast<std::size_t>(plan.scratch_bytes()));
  count("run " + isa + ": " + square.what, [&] { cpu::run(plan, buffer.get(), room, {1}); });
}

}  // namespace

int main() {
  for (const Case& c : kMake) count_make(c);
  count_hits();
  for (const std::string_view isa : cpu::available_isas()) {
    const test::ScopedIsa isa_scope(isa);
    for (const Case& c : kRun) count_run(c, std::string(isa));
    for (const Case& c : kStreamed) count_run(c, std::string(isa), kSmallCaches);
    count_in_place(std::string(isa));
  }
  std::puts("done");
}
