// The generator of random reorders.
#include "random_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/reorder/cast.h"

namespace relayout::test {

int64_t pick(std::mt19937_64& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

namespace {

bool one_in(std::mt19937_64& rng, int n) { return pick(rng, 1, n) == 1; }

/// Extents that are prime, or next to the sizes of blocks, lines and vectors.
constexpr int64_t kEdges[] = {2,  3,  5,  7,  8,  9,  13, 15, 16,  17,  23,  29,  31,  32, 33,
                              37, 47, 48, 49, 61, 63, 64, 65, 127, 128, 129, 255, 256, 257};

/// Several levels of blocks over one to three dims, as in OIhw4i16o4i.
std::string random_levels(std::mt19937_64& rng, std::string& outer) {
  static constexpr int kSizes[] = {2, 2, 3, 4, 4, 5, 7, 8, 16};
  const auto letters = pick(rng, 1, std::min<int64_t>(3, static_cast<int64_t>(outer.size())));
  std::string blocks;
  for (int64_t k = pick(rng, 2, 5); k > 0; --k) {
    char& letter = outer[static_cast<std::size_t>(pick(rng, 0, letters - 1))];
    letter = static_cast<char>(letter & ~0x20);
    blocks += std::to_string(kSizes[pick(rng, 0, std::size(kSizes) - 1)]) + static_cast<char>(letter | 0x20);
  }
  return blocks;
}

/// A tag with its letters in random order and blocks on some dims, whose sizes need not nest with those of other tags.
std::string random_tag(std::mt19937_64& rng, int ndims) {
  std::string outer;
  for (int d = 0; d < ndims; ++d) outer += static_cast<char>('a' + d);
  if (!one_in(rng, 3)) std::shuffle(outer.begin(), outer.end(), rng);
  if (one_in(rng, 4)) {
    const std::string levels = random_levels(rng, outer);
    return outer + levels;
  }
  std::string blocks;
  static constexpr int kSizes[] = {2, 3, 4, 8, 8, 16, 16, 12, 6, 5, 32, 48};
  for (int64_t k = one_in(rng, 2) ? pick(rng, 1, 3) : 0; k > 0; --k) {
    char& letter = outer[static_cast<std::size_t>(pick(rng, 0, ndims - 1))];
    letter = static_cast<char>(letter & ~0x20);
    blocks += std::to_string(kSizes[pick(rng, 0, std::size(kSizes) - 1)]) + static_cast<char>(letter | 0x20);
  }
  return outer + blocks;
}

/// Dense strides in random order, with some gaps; some dims are reversed.
Layout random_strides(std::mt19937_64& rng, const Dims& dims, bool source, std::string* text) {
  std::vector<int> order(static_cast<std::size_t>(dims.size()));
  for (int d = 0; d < dims.size(); ++d) order[static_cast<std::size_t>(d)] = d;
  std::shuffle(order.begin(), order.end(), rng);
  Dims strides(dims.size(), 0);
  int64_t stride = one_in(rng, 4) ? 2 : 1;
  for (int d : order) {
    strides[d] = stride;
    stride = stride * dims[d] + (one_in(rng, 3) ? pick(rng, 1, 5) : 0);
    if (one_in(rng, 5)) strides[d] = -strides[d];
    if (source && one_in(rng, 6)) strides[d] = one_in(rng, 2) ? 0 : pick(rng, 1, 3);
  }
  *text = "strides:" + join(strides);
  return Format::parse(*text).bind(dims);
}

/// Up to three digits for each dim, in any order, with some gaps: layouts that no tag describes.
Layout random_digits(std::mt19937_64& rng, const Dims& dims, std::string* text) {
  static constexpr int64_t kSizes[] = {2, 3, 4, 8, 16};
  std::vector<Digits> digits(static_cast<std::size_t>(dims.size()));
  std::vector<std::pair<std::size_t, int>> order;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const int64_t dim = dims[static_cast<int>(d)];
    int64_t place = 1;
    for (int64_t k = pick(rng, 0, 2); k > 0; --k) {
      const int64_t size = kSizes[pick(rng, 0, std::size(kSizes) - 1)];
      if (place * size > 2 * dim + 4) break;
      digits[d].push_back({size, 0});
      place *= size;
    }
    digits[d].push_back({std::max<int64_t>(1, (dim + place - 1) / place), 0});
    for (int k = 0; k < digits[d].size(); ++k) order.emplace_back(d, k);
  }
  std::shuffle(order.begin(), order.end(), rng);
  int64_t stride = 1;
  *text = "digits";
  for (const auto& [d, k] : order) {
    digits[d][k].stride = stride;
    stride = stride * digits[d][k].extent + (one_in(rng, 8) ? pick(rng, 1, 5) : 0);
    *text += " " + std::to_string(digits[d][k].extent) + static_cast<char>('a' + d) + ":" +
             std::to_string(digits[d][k].stride);
  }
  return Layout::from_digits(dims, digits);
}

/// A part of a larger tensor with the same tag, which begins at whole blocks; the layout itself if there is no such
/// part.
Layout random_submemory(std::mt19937_64& rng, const Layout& layout, std::string* tag) {
  Dims parent = layout.dims(), offsets(parent.size(), 0);
  for (int d = 0; d < parent.size(); ++d) {
    if (one_in(rng, 2)) continue;
    int64_t block = 1;
    for (const Digit& digit : layout.digits(d).first(layout.digits(d).size() - 1)) block *= digit.extent;
    offsets[d] = block * pick(rng, 0, 2);
    parent[d] += offsets[d] + (layout.dim(d) % block == 0 ? pick(rng, 0, 2) : 0);
  }
  try {
    const Layout out = submemory(Format::parse(*tag).bind(parent), layout.dims(), offsets);
    *tag += " at " + join(offsets) + " of " + join(parent, "x");
    return out;
  } catch (const Error&) {  // the sizes of one digit overflow
    return layout;
  }
}

double special(std::mt19937_64& rng) {
  static constexpr double kInf = std::numeric_limits<double>::infinity(),
                          kNan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kValues[] = {
      0,    -0.0,  1,     -1,  0.5, 1.5,   2.5,  -2.5,  127.5, 128,  -128.5,       255.5,         1e-40,    -1e-45,
      3e38, 65504, 65520, 448, 464, 57344, 1e39, -kInf, kInf,  kNan, 2147483648.0, -2147483648.0, 16777217, 1e19};
  return kValues[pick(rng, 0, std::size(kValues) - 1)];
}

PerMask random_values(std::mt19937_64& rng, const Dims& dims, auto value) {
  PerMask out;
  if (one_in(rng, 2)) {
    for (int d = 0; d < dims.size(); ++d) out.mask |= one_in(rng, 3) ? 1u << d : 0u;
  }
  int64_t count = 1;
  for (int d = 0; d < dims.size(); ++d) count *= out.count(d, dims[d]);
  for (int64_t i = 0; i < count; ++i) out.values.push_back(value());
  // The cases that follow are drawn as if there were no groups.
  std::mt19937_64 apart = rng;
  if (out.mask == 0 || !one_in(apart, 3)) return out;
  static constexpr int64_t kGroups[] = {1, 2, 3, 4, 8, 16, 32, 100};
  out.groups = Dims(dims.size(), 1);
  count = 1;
  for (int d = 0; d < dims.size(); ++d) {
    if (out.has(d)) out.groups[d] = kGroups[pick(apart, 0, std::size(kGroups) - 1)];
    count *= out.count(d, dims[d]);
  }
  out.values.resize(static_cast<std::size_t>(count));
  return out;
}

/// A value of the type, sometimes the least or the greatest.
Padding random_padding(std::mt19937_64& rng, DType dtype) {
  static constexpr double kReals[] = {1, -3, 7.5, 0.1, -1e4}, kSmall[] = {1, -3, 0.5, 4}, kPowers[] = {1, 0.25, 8, 64};
  if (dtype == DType::f8_e8m0) return Padding::of(kPowers[pick(rng, 0, 3)]);
  if (is_floating(dtype) && bits(dtype) < 8) return Padding::of(kSmall[pick(rng, 0, 3)]);
  if (is_floating(dtype)) return Padding::of(kReals[pick(rng, 0, bits(dtype) > 8 ? 4 : 3)]);
  return Padding::of(value_of(
      one_in(rng, 3) ? uint64_t{1} << (bits(dtype) - 1) : rng() & (~uint64_t{0} >> (64 - bits(dtype))), dtype));
}

void random_attributes(std::mt19937_64& rng, Case& c) {
  const Dims& dims = c.src.layout.dims();
  // Some are exact in f32, and some only in f64 or not even there.
  const bool exact = one_in(rng, 2);
  const auto scale = [&] {
    const double out = std::ldexp(static_cast<double>(pick(rng, 1, 63)) * (one_in(rng, 8) ? -1 : 1),
                                  static_cast<int>(pick(rng, -8, 2)));
    return exact ? out : out / 3;
  };
  const auto fraction = [&] { return static_cast<double>(pick(rng, -2000, 2000)) / (exact ? 8 : 13); };
  // Of an integer type within its range.
  const auto zero_point = [&](DType dtype, bool whole) {
    return [&, dtype, whole] {
      const double value =
          exact || (whole && !is_floating(dtype)) ? static_cast<double>(pick(rng, -20, 20)) : fraction();
      return is_floating(dtype) || in_range(value, dtype) ? value : 1;
    };
  };
  Attributes& a = c.attributes;
  if (one_in(rng, 2)) a.src_scale = random_values(rng, dims, scale);
  if (one_in(rng, 3)) a.dst_scale = random_values(rng, dims, scale);
  if (one_in(rng, 4)) a.mean = random_values(rng, dims, fraction);
  // A scale may be 0 where nothing is divided by it. The cases that follow are drawn as if there were none of these.
  std::mt19937_64 apart = rng;
  if (a.mean.values.empty() && !a.src_scale.values.empty() && one_in(apart, 4)) a.src_scale.values.front() = 0;
  if (one_in(rng, 3)) a.src_zero_point = random_values(rng, dims, zero_point(c.src.dtype, false));
  if (one_in(rng, 3)) a.dst_zero_point = random_values(rng, dims, zero_point(c.dst.dtype, true));
  if (one_in(rng, 4)) a.beta = scale();
}

}  // namespace

Layout random_layout(std::mt19937_64& rng, const Dims& dims, bool source, std::string* text) {
  for (int attempt = 0;; ++attempt) {
    Layout layout;
    const int64_t kind = pick(rng, 0, 11);
    if (kind < 6 && !dims.empty()) {
      *text = random_tag(rng, dims.size());
      layout = Format::parse(*text).bind(dims);
      if (one_in(rng, 8)) layout = random_submemory(rng, layout, text);
      for (int64_t k = one_in(rng, 6) ? pick(rng, 1, 3) : 0; k > 0; --k) {
        const int d = static_cast<int>(pick(rng, 0, dims.size() - 1));
        if (layout.capacity(d) == layout.dim(d)) layout = flip(layout, d), *text += " flip " + std::to_string(d);
      }
    } else if (kind == 6 && dims.size() == 4) {
      static constexpr const char* kImages[] = {"nh|Cw4c", "nH|cw4h", "nh|cW4w", "Ohw|i4o", "O|hwi4o", "o|hwI4i"};
      *text = kImages[pick(rng, 0, 5)];
      if (one_in(rng, 2))
        *text +=
            ";pitch=" + std::to_string(std::max<int64_t>(Format::parse(*text).image(dims).width, 1) + pick(rng, 0, 3));
      layout = Format::parse(*text).bind(dims);
    } else if (kind > 9 && !dims.empty()) {
      layout = random_digits(rng, dims, text);
    } else {
      layout = random_strides(rng, dims, source, text);
    }
    if (one_in(rng, 5)) {  // an offset
      std::vector<Digits> digits;
      for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
      const int64_t extra = pick(rng, 1, 9);
      layout = Layout::from_digits(dims, digits, layout.offset0() + extra);
      *text += "@+" + std::to_string(extra);
    }
    const bool fits = source ? true : layout.injective_with_padding();
    if (fits && layout.span() < 60'000) return layout;
    if (attempt > 50) return Layout::contiguous(dims);
  }
}

namespace {

/// Blocks of one dim that do not divide each other: 48 and 32, 12 and 16, and chains of them.
void non_nesting_pair(std::mt19937_64& rng, Case& c, DType from, DType to, std::string* src_text,
                      std::string* dst_text) {
  static constexpr const char* kPairs[][2] = {{"Ba48b", "Ba32b"},    {"Ba12b", "BA2a16b"},   {"Ba6b", "BA8b3a"},
                                              {"Ba4b5b", "Ba6b"},    {"Ba2b9b", "BA4b2a3b"}, {"BA16b2a10b", "Ba48b"},
                                              {"Ba15b", "BA6b2a10b"}};
  const auto& pair = kPairs[pick(rng, 0, std::size(kPairs) - 1)];
  const bool swap = one_in(rng, 2);
  *src_text = pair[swap];
  *dst_text = pair[!swap];
  const Dims dims{pick(rng, 1, 5), pick(rng, 1, 220)};
  c.src = TensorDesc(Format::parse(*src_text).bind(dims), from);
  c.dst = TensorDesc(Format::parse(*dst_text).bind(dims), to);
}

}  // namespace

Case random_case(std::mt19937_64& rng, int64_t max_elements) {
  Case c;
  Dims dims;
  const int64_t ndims = one_in(rng, 40) ? 0 : pick(rng, 1, one_in(rng, 10) ? 8 : 5);
  int64_t left = max_elements;
  for (int64_t d = 0; d < ndims; ++d) {
    const int64_t most = std::min<int64_t>(left, one_in(rng, 5) ? 100 : 20);
    const int64_t edge = kEdges[pick(rng, 0, std::size(kEdges) - 1)];
    const int64_t extent = one_in(rng, 60)                  ? 0
                           : one_in(rng, 3) && edge <= left ? edge
                                                            : pick(rng, 1, std::max<int64_t>(1, most));
    dims.push_back(extent);
    left /= std::max<int64_t>(extent, 1);
  }
  std::shuffle(dims.begin(), dims.end(), rng);
  const auto dtype = [&] { return all_dtypes()[static_cast<std::size_t>(pick(rng, 0, kDTypeCount - 1))]; };
  const DType from = dtype(), to = one_in(rng, 2) ? from : dtype();
  std::string src_text, dst_text;
  if (one_in(rng, 12)) {
    non_nesting_pair(rng, c, from, to, &src_text, &dst_text);
  } else {
    c.src = TensorDesc(random_layout(rng, dims, true, &src_text), from);
    c.dst = TensorDesc(random_layout(rng, dims, false, &dst_text), to);
  }
  if (one_in(rng, 3)) random_attributes(rng, c);
  c.attributes.padding = one_in(rng, 4) ? Padding::keep() : one_in(rng, 2) ? Padding::zero() : random_padding(rng, to);
  c.text = "dims " + join(c.src.layout.dims()) + ", " + std::string(name(from)) + " " + src_text + " -> " +
           std::string(name(to)) + " " + dst_text + (c.attributes.arithmetic() ? ", arithmetic" : "") +
           (c.attributes.beta != 0 ? ", sum" : "");
  return c;
}

std::vector<std::byte> random_bytes(std::mt19937_64& rng, DType dtype, int64_t bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::byte& b : out) b = static_cast<std::byte>(rng());
  if (one_in(rng, 3) || bits(dtype) < 8) return out;  // random bits
  const auto size = static_cast<std::size_t>(bits(dtype) / 8);
  for (std::size_t at = 0; at + size <= out.size(); at += size) {
    const double value =
        one_in(rng, 4) ? special(rng) : static_cast<double>(pick(rng, -300, 300)) / (one_in(rng, 2) ? 1 : 8);
    const uint64_t encoded = encode(dtype, value);
    std::memcpy(out.data() + at, &encoded, size);
  }
  return out;
}

}  // namespace relayout::test
