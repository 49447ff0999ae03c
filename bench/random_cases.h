// Conversions drawn at random, so that speed is also seen on shapes that nobody listed.
//
//     for (const RandomCase& c : random_cases(1, 200, std::nullopt)) measure(c.src_desc(), c.dst_desc(), ...);
//
// A case follows from the seed, its kind and its number within the kind alone: a longer list begins with the shorter
// one, and the cases of one kind are the same whether or not the others are drawn. docs/benchmarks.md has the rule
// ("Random cases"); a change of it changes all cases, so it is to be told there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/reorder/attributes.h"

namespace relayout::bench {

/// What a case is about. In the order in which a list of all kinds has them in turn.
enum class RandomKind : uint8_t {
  permute,       // permutations of 2 to 6 dims
  block,         // plain <-> channel blocks that divide, block <-> block, weights
  few_channels,  // channels first <-> channels last, of 1 to 8 channels
  convert,       // one of the former, or the same layout on both sides, with another type
  tails,         // blocks that do not divide, odd and prime channels
  cache,         // one of permute, block, few_channels and tails, small
  nibbles,       // the same with 4-bit elements on one side or on both
  scales,        // one of block, few_channels and tails, quantised or back, with scales
};
inline constexpr int kRandomKindCount = 8;
std::string_view name(RandomKind kind);
std::span<const std::string_view> random_kind_names();
std::optional<RandomKind> find_random_kind(std::string_view text);

/// The least and the most bytes of source and destination together, with their padding.
struct SizeRange {
  int64_t least = 10'000;
  int64_t most = 200'000'000;
};
SizeRange size_range(RandomKind kind);

struct RandomCase {
  RandomKind kind = RandomKind::permute;
  int number = 0;        // within its kind, from 0
  std::string src, dst;  // tags
  Dims dims;
  DType dtype = DType::f32, to_dtype = DType::f32;
  int64_t misalign = 0;  // as MeasureOptions::misalign: 0 or 16
  uint64_t seed = 0;
  Attributes attributes;  // of scales: those of the side that is quantised

  TensorDesc src_desc() const;
  TensorDesc dst_desc() const;
  /// Of both buffers.
  int64_t size_bytes() const { return src_desc().span_bytes() + dst_desc().span_bytes(); }
};

RandomCase random_case(uint64_t seed, RandomKind kind, int number);
/// Of one kind, or of all in turn.
std::vector<RandomCase> random_cases(uint64_t seed, int count, std::optional<RandomKind> kind);

/// "f32 nchw -> u8 nhwc 3x17x5x4 +16". Attributes are told by the shape of the scales: "s8 oihw -> f32 hwio 64x32x3x3
/// scales 64x1x1x1 zero point".
std::string name_of(const RandomCase& c);
/// The command that measures it alone and says how it is done. One with scales is named by its seed and number.
std::string command_of(const RandomCase& c);

}  // namespace relayout::bench
