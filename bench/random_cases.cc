// The rule by which cases are drawn: layouts first, then types, a size, and dims of about that size. In all places a
// list or a case of a switch is as likely as the others, unless a number says so. The order of the draws is a part of
// the rule.
#include "bench/random_cases.h"

#include <algorithm>
#include <array>

#include "bench/draw.h"
#include "relayout/core/format.h"

namespace relayout::bench {
namespace {

constexpr std::array<std::string_view, kRandomKindCount> kKindNames = {"permute", "block", "few_channels", "convert",
                                                                       "tails",   "cache", "nibbles",      "scales"};
constexpr RandomKind kLayoutKinds[] = {RandomKind::permute, RandomKind::block, RandomKind::few_channels,
                                       RandomKind::tails};
constexpr int64_t kMallocOffset = 16;
/// How many indices of the input channels share a scale, where scales are given for groups of them.
constexpr int64_t kScaleGroup = 32;

/// What an extent must be.
struct Extent {
  int64_t fixed = 0;  // this number, where it is not 0
  /// Sizes of the dim's blocks on both sides; 1: none.
  int64_t src_block = 1, dst_block = 1;
  bool tail = false;  // not a multiple of its blocks; else of all of them
};

/// Two layouts, and the extents that they ask for.
struct LayoutPair {
  std::string src, dst;
  std::vector<Extent> extents;
};

std::string plain(std::string_view spatial, bool channels_last) {
  return channels_last ? "n" + std::string(spatial) + "c" : "nc" + std::string(spatial);
}
std::string blocked(std::string_view spatial, int64_t block) {
  return "nC" + std::string(spatial) + std::to_string(block) + "c";
}

LayoutPair draw_permutation(Draw& draw) {
  LayoutPair out;
  const int64_t ndims = draw.between(2, 6);
  out.src = std::string("abcdef").substr(0, static_cast<std::size_t>(ndims));
  out.dst = out.src;
  while (out.dst == out.src) draw.shuffle(out.dst);
  out.extents.resize(static_cast<std::size_t>(ndims));
  return out;
}

/// The extents of an image: a batch, which is 1 in one of four, channels, and 1 to 3 spatial dims.
std::vector<Extent> image_extents(Draw& draw, std::string_view spatial, const Extent& channels) {
  std::vector<Extent> out = {{.fixed = draw.one_in(4) ? 1 : 0}, channels};
  out.resize(2 + spatial.size());
  return out;
}

std::string_view draw_spatial(Draw& draw) { return draw.pick(std::array<std::string_view, 4>{"w", "hw", "hw", "dhw"}); }

int64_t draw_block(Draw& draw, bool tail) {
  if (tail && draw.one_in(2)) return draw.pick(std::array<int64_t, 7>{3, 5, 6, 7, 12, 24, 48});
  return draw.pick(std::array<int64_t, 4>{4, 8, 16, 32});
}

/// Weights in blocks of output and input channels: as OIhw16i8o, OIhw16o8i or OIhw4i16o4i, in which the input's block
/// is in two parts.
LayoutPair draw_weights(Draw& draw, bool tail) {
  static constexpr std::array<int64_t, 3> kBlocks = {4, 8, 16};
  const int64_t o = draw.pick(kBlocks), i = draw.pick(kBlocks), inner = draw.between(1, 2) * 2;
  const std::string outputs = std::to_string(o) + "o", inputs = std::to_string(i) + "i";
  LayoutPair out;
  out.src = draw.pick(std::array<std::string, 3>{"oihw", "hwio", "ohwi"});
  const int64_t form = draw.below(3);
  if (form == 0 || inner == i) {
    out.dst = "OIhw" + inputs + outputs;
  } else if (form == 1) {
    out.dst = "OIhw" + outputs + inputs;
  } else {
    out.dst = "OIhw" + std::to_string(i / inner) + "i" + outputs + std::to_string(inner) + "i";
  }
  const int64_t window = draw.pick(std::array<int64_t, 4>{1, 3, 5, 7});
  out.extents = {{.dst_block = o, .tail = tail}, {.dst_block = i, .tail = tail}, {.fixed = window}, {.fixed = window}};
  if (draw.one_in(2)) {
    std::swap(out.src, out.dst);
    for (Extent& extent : out.extents) std::swap(extent.src_block, extent.dst_block);
  }
  return out;
}

/// Channel blocks that divide or, as `tail`, do not.
LayoutPair draw_blocks(Draw& draw, bool tail) {
  const int64_t form = draw.below(4);
  if (form == 3) return draw_weights(draw, tail);
  const std::string_view spatial = draw_spatial(draw);
  const int64_t block = draw_block(draw, tail);
  LayoutPair out{blocked(spatial, block), "", {}};
  Extent channels{.src_block = block, .tail = tail};
  if (form == 2) {
    while (channels.dst_block == 1 || channels.dst_block == block) channels.dst_block = draw_block(draw, tail);
    out.dst = blocked(spatial, channels.dst_block);
  } else {
    out.dst = plain(spatial, draw.one_in(2));
    if (form == 1) {
      std::swap(out.src, out.dst);
      std::swap(channels.src_block, channels.dst_block);
    }
  }
  out.extents = image_extents(draw, spatial, channels);
  return out;
}

LayoutPair draw_few_channels(Draw& draw) {
  const std::string_view spatial = draw_spatial(draw);
  const bool last = draw.one_in(2);
  const Extent channels{.fixed = draw.between(1, 8)};
  return {plain(spatial, last), plain(spatial, !last), image_extents(draw, spatial, channels)};
}

LayoutPair draw_layouts(Draw& draw, RandomKind kind) {
  switch (kind) {
    case RandomKind::permute: return draw_permutation(draw);
    case RandomKind::block: return draw_blocks(draw, false);
    case RandomKind::few_channels: return draw_few_channels(draw);
    case RandomKind::tails: return draw_blocks(draw, true);
    case RandomKind::scales: {
      LayoutPair out = draw_layouts(draw, kLayoutKinds[draw.between(1, 3)]);  // without permutations
      if (draw.one_in(4)) out.dst = out.src;
      return out;
    }
    case RandomKind::convert: {
      LayoutPair out = draw_layouts(draw, kLayoutKinds[draw.below(3)]);  // without tails
      if (draw.one_in(4)) out.dst = out.src;
      return out;
    }
    default: return draw_layouts(draw, draw.pick(kLayoutKinds));
  }
}

/// A type of that many bits, or any of whole bytes for 0.
DType draw_type(Draw& draw, int wanted_bits) {
  std::vector<DType> types;
  for (DType dtype : all_dtypes()) {
    if (wanted_bits == 0 ? bits(dtype) >= 8 : bits(dtype) == wanted_bits) types.push_back(dtype);
  }
  return draw.pick(types);
}

void draw_types(Draw& draw, RandomCase& c) {
  if (c.kind == RandomKind::convert) {
    c.dtype = draw.one_in(2) ? DType::f32 : draw_type(draw, 0);
    c.to_dtype = c.dtype;
    while (c.to_dtype == c.dtype) c.to_dtype = draw_type(draw, 0);
    if (draw.one_in(2)) std::swap(c.dtype, c.to_dtype);
  } else if (c.kind == RandomKind::nibbles) {
    c.dtype = c.to_dtype = draw_type(draw, 4);
    if (draw.one_in(2)) c.to_dtype = draw_type(draw, 0);
    if (draw.one_in(2)) std::swap(c.dtype, c.to_dtype);
  } else if (c.kind == RandomKind::scales) {
    c.dtype = draw.pick(std::array{DType::s8, DType::s8, DType::u8, DType::s32});
    c.to_dtype = draw.pick(std::array{DType::f32, DType::f32, DType::bf16, DType::f16});
    if (draw.one_in(2)) std::swap(c.dtype, c.to_dtype);
  } else {
    c.dtype = c.to_dtype = draw_type(draw, static_cast<int>(int64_t{8} << draw.below(4)));
  }
}

/// Positive scales of no order, each near 1 / 64, for these dims (by bit) in these groups.
PerMask make_scales(const Dims& dims, uint32_t mask, const Dims& groups) {
  PerMask out{{}, mask, groups};
  int64_t count = 1;
  for (int d = 0; d < dims.size(); ++d) count *= out.count(d, dims[d]);
  for (int64_t i = 0; i < count; ++i) out.values.push_back(static_cast<double>(96 + i * 37 % 64) / 8192);
  return out;
}

/// Scales of the side that is quantised: one for all, one for each output channel of weights or channel of images, or
/// one for each output channel (image) and group of channels. And a zero point, in one of two cases.
void draw_attributes(Draw& draw, RandomCase& c) {
  const bool weights = c.src.find_first_of("oO") != std::string::npos, to_quantised = is_integer(c.to_dtype);
  PerMask& scale = to_quantised ? c.attributes.dst_scale : c.attributes.src_scale;
  PerMask& zero_point = to_quantised ? c.attributes.dst_zero_point : c.attributes.src_zero_point;
  const int64_t form = draw.below(4);
  if (form == 0) {
    scale = make_scales(c.dims, 0, {});
  } else if (form < 3) {
    scale = make_scales(c.dims, weights ? 0b01 : 0b10, {});
  } else {
    Dims groups(c.dims.size(), 1);
    groups[1] = kScaleGroup;
    scale = make_scales(c.dims, 0b11, groups);
  }
  if (draw.one_in(2)) zero_point = {{3}, 0};
}

int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

/// An extent near x, which is 1 at least.
int64_t draw_extent(Draw& draw, const Extent& rule, int64_t x) {
  const int64_t most_block = std::max(rule.src_block, rule.dst_block);
  if (rule.tail) {
    const auto divides = [](int64_t block, int64_t extent) { return block > 1 && extent % block == 0; };
    int64_t extent = draw.one_in(2) ? prime_up_to(x) : x | 1;
    while (divides(rule.src_block, extent) || divides(rule.dst_block, extent)) extent += 2;
    return extent;
  }
  if (most_block > 1) return std::max(most_block, x / most_block * most_block);
  switch (draw.below(5)) {
    case 0: return x | 1;
    case 1: return std::max<int64_t>(2, x & ~int64_t{1});
    case 2: return prime_up_to(x);
    case 3: {
      int64_t power = 1;
      while (power * 2 <= x) power *= 2;
      return power;
    }
    default: return x;
  }
}

/// Extents whose product, with padding, is near `elements`.
Dims draw_dims(Draw& draw, const std::vector<Extent>& rules, int64_t elements) {
  static constexpr int64_t kAround = 16;  // an extent is up to so many times its even share, or less
  Dims dims(static_cast<int>(rules.size()), 1);
  std::vector<int> order;
  for (int d = 0; d < dims.size(); ++d) {
    const Extent& rule = rules[static_cast<std::size_t>(d)];
    if (rule.fixed == 0) {
      order.push_back(d);
      continue;
    }
    dims[d] = rule.fixed;
    elements /= rule.fixed;
  }
  draw.shuffle(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Extent& rule = rules[static_cast<std::size_t>(order[i])];
    elements = std::max<int64_t>(elements, 1);
    int64_t x = elements;
    if (i + 1 < order.size()) {
      const int64_t share = integer_root(elements, static_cast<int>(order.size() - i));
      const int64_t most = std::max<int64_t>(2, std::min(share * kAround, elements));
      x = draw.log_uniform(std::max<int64_t>(2, share / kAround), most);
    }
    const int64_t extent = draw_extent(draw, rule, x);
    dims[order[i]] = extent;
    elements /= round_up(extent, std::max(rule.src_block, rule.dst_block));
  }
  return dims;
}

bool in_range(const RandomCase& c) {
  const SizeRange range = size_range(c.kind);
  const int64_t size = c.size_bytes();
  return size >= range.least && size <= range.most;
}

}  // namespace

std::string_view name(RandomKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::span<const std::string_view> random_kind_names() { return kKindNames; }

std::optional<RandomKind> find_random_kind(std::string_view text) {
  const auto found = std::ranges::find(kKindNames, text);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<RandomKind>(found - kKindNames.begin());
}

SizeRange size_range(RandomKind kind) {
  SizeRange out;
  if (kind == RandomKind::cache) out.most = 4'000'000;
  return out;
}

TensorDesc RandomCase::src_desc() const { return {Format::parse(src).bind(dims), dtype}; }
TensorDesc RandomCase::dst_desc() const { return {Format::parse(dst).bind(dims), to_dtype}; }

RandomCase random_case(uint64_t seed, RandomKind kind, int number) {
  Draw draw({seed, static_cast<uint64_t>(kind), static_cast<uint64_t>(number)});
  RandomCase out;
  do {
    out = RandomCase{kind, number, "", "", {}, DType::f32, DType::f32, 0, seed, {}};
    LayoutPair pair = draw_layouts(draw, kind);
    out.src = std::move(pair.src);
    out.dst = std::move(pair.dst);
    draw_types(draw, out);
    const SizeRange range = size_range(kind);
    const int64_t size = draw.log_uniform(range.least, range.most);
    out.dims = draw_dims(draw, pair.extents, size * 8 / (bits(out.dtype) + bits(out.to_dtype)));
    out.misalign = draw.one_in(2) ? kMallocOffset : 0;
    if (kind == RandomKind::scales) draw_attributes(draw, out);
  } while (!in_range(out));
  return out;
}

std::vector<RandomCase> random_cases(uint64_t seed, int count, std::optional<RandomKind> kind) {
  std::vector<RandomCase> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(kind ? random_case(seed, *kind, i)
                       : random_case(seed, static_cast<RandomKind>(i % kRandomKindCount), i / kRandomKindCount));
  }
  return out;
}

std::string name_of(const RandomCase& c) {
  std::string out = std::string(name(c.dtype)) + " " + c.src + " -> ";
  if (c.to_dtype != c.dtype) out += std::string(name(c.to_dtype)) + " ";
  out += c.dst + " " + join(c.dims, "x");
  for (const PerMask* scale : {&c.attributes.src_scale, &c.attributes.dst_scale}) {
    if (scale->values.empty()) continue;
    Dims shape = c.dims;
    for (int d = 0; d < shape.size(); ++d) shape[d] = scale->count(d, shape[d]);
    out += " scales " + join(shape, "x");
  }
  if (!c.attributes.src_zero_point.values.empty() || !c.attributes.dst_zero_point.values.empty()) out += " zero point";
  return out + (c.misalign != 0 ? " +" + std::to_string(c.misalign) : "");
}

std::string command_of(const RandomCase& c) {
  if (c.kind == RandomKind::scales) {
    return "relayout bench --random " + std::to_string(c.seed) + " --kind scales --number " + std::to_string(c.number) +
           " --explain";
  }
  std::string out = "relayout bench --src " + c.src + " --dst " + c.dst + " --dims " + join(c.dims) + " --dtype " +
                    std::string(name(c.dtype));
  if (c.to_dtype != c.dtype) out += " --to-dtype " + std::string(name(c.to_dtype));
  if (c.misalign != 0) out += " --misalign " + std::to_string(c.misalign);
  return out + " --explain";
}

}  // namespace relayout::bench
