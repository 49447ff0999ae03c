// Every competitor against the reference, byte for byte, over pairs that show each rule of its description.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>

#include "bench/compare/competitor.h"
#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/reorder/reference.h"

namespace relayout::bench {
namespace {

using Bytes = std::vector<std::byte>;

struct Case {
  std::string_view text;
  TensorDesc src, dst;
  Attributes attributes;
  /// Competitors that must do it, where they are in the build.
  std::vector<std::string_view> able;
};

TensorDesc desc(std::string_view format, const Dims& dims, DType dtype = DType::f32) {
  return {Format::parse(format).bind(dims), dtype};
}

TensorDesc sub(std::string_view format, const Dims& parent, const Dims& dims, const Dims& offsets) {
  return {submemory(Format::parse(format).bind(parent), dims, offsets), DType::f32};
}

Attributes scaled() {
  Attributes a;
  a.src_scale = {{0.5f}, 0};
  a.dst_scale = {{1, 2, 4, 8, 16}, 1u << 1};
  return a;
}

Attributes shifted() {
  Attributes a;
  a.src_scale = {{0.25f}, 0};
  a.src_zero_point = {{3}, 0};
  return a;
}

Attributes summed() {
  Attributes a;
  a.beta = 2;
  a.dst_scale = {{4}, 0};
  return a;
}

Attributes kept() {
  Attributes a;
  a.padding = Padding::keep();
  return a;
}

std::vector<Case> cases() {
  const Dims odd{3, 17, 5, 7}, even{2, 32, 6, 4};
  return {
      {"plain", desc("nchw", odd), desc("nhwc", odd), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"the same layout", desc("nchw", odd), desc("nchw", odd), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"matrix", desc("ab", {37, 91}), desc("ba", {37, 91}), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"f64", desc("ab", {37, 91}, DType::f64), desc("ba", {37, 91}, DType::f64), {}, {"torch", "eigen", "hptt"}},
      {"u16", desc("abc", {3, 7, 9}, DType::u16), desc("cab", {3, 7, 9}, DType::u16), {}, {"torch", "eigen"}},
      {"u8", desc("abc", {3, 7, 9}, DType::u8), desc("cba", {3, 7, 9}, DType::u8), {}, {"onednn", "torch", "eigen"}},
      {"six dims",
       desc("abcdef", {2, 3, 4, 5, 6, 7}),
       desc("fcabde", {2, 3, 4, 5, 6, 7}),
       {},
       {"onednn", "torch", "eigen", "hptt"}},
      {"block", desc("nchw", even), desc("nChw16c", even), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"unblock", desc("nChw16c", even), desc("nhwc", even), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"blocks of blocks",
       desc("oihw", {32, 16, 3, 3}),
       desc("OIhw4i16o4i", {32, 16, 3, 3}),
       {},
       {"onednn", "torch", "eigen", "hptt"}},
      {"block of 16 to 8", desc("nChw16c", even), desc("nChw8c", even), {}, {"onednn", "torch", "eigen", "hptt"}},
      {"a tail", desc("nchw", odd), desc("nChw16c", odd), {}, {"onednn"}},
      {"a tail, padding kept", desc("nchw", odd), desc("nChw16c", odd), kept(), {}},
      {"from a tail", desc("nChw16c", odd), desc("nhwc", odd), {}, {"onednn"}},
      {"a part", sub("nhwc", {3, 20, 9, 9}, odd, {0, 2, 3, 1}), desc("nchw", odd), {}, {"onednn", "torch", "hptt"}},
      {"into a part", desc("nchw", odd), sub("nchw", {4, 20, 9, 9}, odd, {1, 2, 3, 1}), {}, {"onednn", "torch"}},
      {"rows apart",
       {Layout::strided({9, 5}, {1, 16}), DType::f32},
       desc("ab", {9, 5}),
       {},
       {"onednn", "torch", "hptt"}},
      {"repeated", {Layout::strided({4, 9}, {0, 1}), DType::f32}, desc("ba", {4, 9}), {}, {"torch"}},
      {"backwards", {Layout::strided({4, 9}, {9, -1}, 8), DType::f32}, desc("ba", {4, 9}), {}, {}},
      {"blocks that do not divide", desc("aB12b", {4, 48}), desc("aB16b", {4, 48}), {}, {}},
      {"f32 to bf16", desc("nchw", odd), desc("nhwc", odd, DType::bf16), {}, {"onednn", "torch"}},
      {"u8 to f32", desc("nhwc", odd, DType::u8), desc("nchw", odd), {}, {"onednn", "torch"}},
      {"scaled", desc("nchw", {2, 5, 3, 4}), desc("nhwc", {2, 5, 3, 4}, DType::s8), scaled(), {"onednn"}},
      {"shifted", desc("nchw", odd, DType::u8), desc("nhwc", odd), shifted(), {"onednn"}},
      {"summed", desc("nchw", odd), desc("nhwc", odd), summed(), {"onednn"}},
  };
}

/// Whole numbers below 100, which every type holds and every conversion keeps, with padding of zeros.
Bytes numbers(const TensorDesc& desc) {
  const Layout flat = Layout::contiguous(desc.layout.dims());
  std::vector<uint8_t> values(static_cast<std::size_t>(desc.layout.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>((i * 2654435761u >> 7) % 100);
  Bytes out(static_cast<std::size_t>(desc.span_bytes()));
  if (desc.layout.injective()) {
    reference_reorder({flat, DType::u8}, values.data(), desc, out.data());
  } else {  // the elements that are there, wherever they are repeated
    const Layout all = Layout::contiguous({desc.layout.span()});
    values.resize(static_cast<std::size_t>(desc.layout.span()));
    reference_reorder({all, DType::u8}, values.data(), {all, desc.dtype}, out.data());
  }
  return out;
}

TEST(Compare, EachGivesTheReferencesBytes) {
  if (competitors().empty()) GTEST_SKIP() << "no competitor is installed";
  std::map<std::string_view, int> done;
  for (const Case& c : cases()) {
    const Bytes src = numbers(c.src);
    // What is there before: small numbers, as a sum reads them and gaps keep them.
    Bytes before(static_cast<std::size_t>(c.dst.span_bytes()), std::byte{1});
    if (c.attributes.beta != 0) before = numbers(c.dst);
    Bytes expected = before;
    reference_reorder(c.src, src.data(), c.dst, expected.data(), c.attributes);
    for (const Competitor& competitor : competitors()) {
      for (const int threads : {1, 2}) {
        Bytes dst = before;
        std::string why;
        const auto run = competitor.prepare(c.src, src.data(), c.dst, dst.data(), c.attributes, threads, &why);
        const bool able = std::find(c.able.begin(), c.able.end(), competitor.name) != c.able.end();
        EXPECT_TRUE(run || !able) << competitor.name << " cannot do " << c.text << ": " << why;
        if (!run) {
          EXPECT_FALSE(why.empty()) << competitor.name << " says no reason for " << c.text;
          EXPECT_EQ(dst, before) << competitor.name << " wrote in preparing " << c.text;
          if (threads == 1) std::cout << c.text << ": " << competitor.name << " cannot: " << why << "\n";
          continue;
        }
        run();
        EXPECT_TRUE(dst == expected) << competitor.name << ", " << c.text << ", " << threads << " threads";
        if (c.attributes.beta == 0) {  // and again, with nothing left from the first run
          dst = before;
          run();
          EXPECT_TRUE(dst == expected) << competitor.name << ", " << c.text << ", the second run";
        }
        ++done[competitor.name];
      }
    }
  }
  for (const Competitor& competitor : competitors()) {
    std::cout << competitor.name << " " << competitor.version << ": " << done[competitor.name] << " runs compared\n";
    EXPECT_GT(done[competitor.name], 0) << competitor.name;
  }
}

}  // namespace
}  // namespace relayout::bench
