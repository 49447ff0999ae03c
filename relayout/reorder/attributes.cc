// The checks that attributes must pass before a reorder is planned.
#include "relayout/reorder/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "relayout/core/error.h"
#include "relayout/core/overflow.h"
#include "relayout/reorder/cast.h"

namespace relayout {
namespace {

[[noreturn]] void refuse_attribute(const std::string& field, const std::string& what, const std::string& value,
                                   const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "reorder: " + field + " " + what, field, value, limit);
}

/// How many values an attribute needs: the product of the groups of the mask's dims.
int64_t count_for(const PerMask& attribute, const Dims& dims, const std::string& field) {
  Dims masked;
  for (int d = 0; d < dims.size(); ++d) {
    if (attribute.has(d)) masked.push_back(attribute.count(d, dims[d]));
  }
  if (auto count = checked_product(masked)) return *count;
  refuse_attribute(field,
                   "covers dims of " + join(masked, " x ") +
                       " indices, whose product overflows 64 bits; the largest is " +
                       std::to_string(masked[largest_dim(masked)]),
                   join(masked, "x"), "9223372036854775807");
}

void check_groups(const PerMask& attribute, const Dims& dims, const std::string& field) {
  if (attribute.groups.empty()) return;
  if (attribute.groups.size() != dims.size()) {
    refuse_attribute(field + ".groups",
                     "has " + std::to_string(attribute.groups.size()) + " numbers for a tensor of rank " +
                         std::to_string(dims.size()) + "; it has one for each dim",
                     std::to_string(attribute.groups.size()), std::to_string(dims.size()));
  }
  for (int d = 0; d < dims.size(); ++d) {
    const int64_t group = attribute.groups[d];
    if (group == 1 || (group > 1 && attribute.has(d))) continue;
    refuse_attribute(field + ".groups[" + std::to_string(d) + "]",
                     "is " + std::to_string(group) +
                         (attribute.has(d) ? "; a group has 1 index or more"
                                           : ", but the mask does not have dim " + std::to_string(d) +
                                                 ", of which all indices share a value; it must be 1"),
                     std::to_string(group), attribute.has(d) ? "1..." : "1");
  }
}

void check_mask(const PerMask& attribute, const Dims& dims, const std::string& field) {
  if (attribute.mask >> dims.size() != 0) {
    refuse_attribute(field + ".mask",
                     "is " + std::to_string(attribute.mask) + ": it has a bit for a dim that a tensor of rank " +
                         std::to_string(dims.size()) + " does not have",
                     std::to_string(attribute.mask), std::to_string((uint32_t{1} << dims.size()) - 1));
  }
  check_groups(attribute, dims, field);
  if (attribute.values.empty() && attribute.mask == 0) return;
  const int64_t count = count_for(attribute, dims, field);
  const auto have = static_cast<int64_t>(attribute.values.size());
  if (have != count) {
    refuse_attribute(field,
                     "has " + std::to_string(have) + " values; mask " + std::to_string(attribute.mask) + " over dims " +
                         join(dims, "x") +
                         (attribute.groups.empty() ? "" : " in groups of " + join(attribute.groups, "x")) +
                         " asks for " + std::to_string(count),
                     std::to_string(have), std::to_string(count));
  }
}

std::string number_text(double value) {
  char out[32];
  return {out, std::to_chars(std::begin(out), std::end(out), value).ptr};
}

/// Checks the numbers of one attribute.
struct NumberCheck {
  ComputeType compute;
  bool not_zero = false, rounds_wholes = true, wholes_alone = false;
  /// The integer type whose range the numbers must be in.
  std::optional<DType> range = std::nullopt;

  double rounded(double value) const { return compute == ComputeType::f32 ? static_cast<float>(value) : value; }

  /// Whether a number is right, without its text, which takes long where there are millions.
  bool passes(double value) const {
    const double held = rounded(value);
    return std::isfinite(held) && (value == 0 ? !not_zero : held != 0) &&
           (rounds_wholes || held == value || std::trunc(value) != value) && (!range || in_range(value, *range)) &&
           (!wholes_alone || std::trunc(value) == value);
  }
  void operator()(double value, const std::string& field) const {
    const std::string text = number_text(value), type = compute == ComputeType::f32 ? "f32" : "f64";
    const double held = rounded(value);
    if (!std::isfinite(value)) refuse_attribute(field, "is " + text + "; it must be finite", text, "finite");
    if (not_zero && value == 0) refuse_attribute(field, "is 0; values are divided by it", text, "not 0");
    if (!std::isfinite(held))
      refuse_attribute(field, "is " + text + ", which overflows " + type + ", in which the formula is computed", text,
                       type);
    if (value != 0 && held == 0)
      refuse_attribute(field, "is " + text + ", which becomes 0 in " + type + ", in which the formula is computed",
                       text, type);
    if (!rounds_wholes && std::trunc(value) == value && held != value) {
      refuse_attribute(field,
                       "is " + text + ", which " + type + ", in which the formula is computed, does not hold exactly",
                       text, type);
    }
    if (range && !in_range(value, *range)) {
      const std::string limits = range_text(*range);
      refuse_attribute(field, "is " + text + ", outside of " + std::string(name(*range)) + ", " + limits, text, limits);
    }
    if (wholes_alone && std::trunc(value) != value)
      refuse_attribute(field, "is " + text + "; of an integer destination it is a whole number", text,
                       "a whole number");
  }
  void operator()(const PerMask& attribute, const Dims& dims, const std::string& field) const {
    check_mask(attribute, dims, field);
    for (std::size_t i = 0; i < attribute.values.size(); ++i)
      if (!passes(attribute.values[i])) (*this)(attribute.values[i], field + "[" + std::to_string(i) + "]");
  }
};

/// src_zero_point + mean / src_scale is finite.
void check_mean(const Attributes& attributes, const Dims& dims, const NumberCheck& check) {
  check(attributes.mean, dims, "mean");
  const auto &means = attributes.mean.values, &scales = attributes.src_scale.values;
  if (means.empty() || scales.empty()) return;
  const auto magnitude = [](double value) { return std::fabs(value); };
  const double mean = *std::ranges::max_element(means, {}, magnitude);
  const double scale = *std::ranges::min_element(scales, {}, magnitude);
  if (scale == 0) refuse_attribute("src_scale", "is 0, and a mean is given, which is divided by it", "0", "not 0");
  if (std::isfinite(check.rounded(mean / scale))) return;
  refuse_attribute(
      "mean",
      "is " + number_text(mean) + ", which overflows when it is divided by a src_scale of " + number_text(scale),
      number_text(mean), "a finite quotient");
}

PerMask part_of(const PerMask& whole, const Dims& dims, const Dims& begin, const Dims& extents) {
  if (whole.mask == 0) return whole;
  PerMask out{{}, whole.mask, whole.groups};
  int64_t count = 1;
  for (int d = 0; d < dims.size(); ++d) {
    // A part that begins inside of a group has smaller groups, at the ends of which those of the whole end, too.
    if (!out.groups.empty() && out.has(d)) out.groups[d] = std::gcd(whole.group(d), begin[d]);
    count *= out.count(d, extents[d]);
  }
  out.values.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0, place = 1, rest = i;
    for (int d = dims.size() - 1; d >= 0; --d) {
      if (!whole.has(d)) continue;
      const int64_t part = out.count(d, extents[d]);
      at += (begin[d] + rest % part * out.group(d)) / whole.group(d) * place;
      rest /= part;
      place *= whole.count(d, dims[d]);
    }
    out.values.push_back(whole.values[static_cast<std::size_t>(at)]);
  }
  return out;
}

}  // namespace

void check_attributes(const Attributes& attributes, const TensorDesc& src, const TensorDesc& dst) {
  if (attributes.padding.kind == Padding::Kind::value) (void)padding_bits(attributes.padding.value, dst.dtype);
  const ComputeType compute = compute_type(src.dtype, dst.dtype, true);
  const NumberCheck number{.compute = compute};
  const auto zero_point = [&](DType dtype, bool of_dst) {
    return NumberCheck{.compute = compute,
                       .rounds_wholes = false,
                       .wholes_alone = of_dst && !is_floating(dtype),
                       .range = is_floating(dtype) ? std::nullopt : std::optional(dtype)};
  };
  const Dims dims = reorder_dims(src.layout, dst.layout, attributes);
  number(attributes.src_scale, dims, "src_scale");
  NumberCheck{.compute = compute, .not_zero = true}(attributes.dst_scale, dims, "dst_scale");
  zero_point(src.dtype, false)(attributes.src_zero_point, dims, "src_zero_point");
  zero_point(dst.dtype, true)(attributes.dst_zero_point, dims, "dst_zero_point");
  check_mean(attributes, dims, number);
  number(attributes.beta, "beta");
}

PerMask per_mask_of_shape(std::vector<double> values, const Dims& shape, const Dims& dims, const Dims& groups,
                          const std::string& field) {
  if (!groups.empty() && groups.size() != dims.size()) {
    throw Error(ErrorCode::invalid_argument,
                field + ": groups of " + join(groups, "x") + " for a tensor of " + join(dims, "x") +
                    "; there is one number for each dim",
                field + ".groups", join(groups, "x"), std::to_string(dims.size()));
  }
  // One number is for all indices, whatever rank it has.
  if (values.size() == 1 && std::ranges::all_of(shape, [](int64_t extent) { return extent == 1; }))
    return {std::move(values), 0, {}};
  PerMask out{std::move(values), 0, Dims(dims.size(), 1)};
  bool fits = shape.size() == dims.size(), grouped = false;
  for (int d = 0; d < dims.size() && fits; ++d) {
    if (shape[d] == 1) continue;
    const bool given = !groups.empty() && groups[d] > 1;
    const int64_t group = given ? groups[d] : shape[d] == 0 ? 1 : dims[d] / shape[d];
    fits = group > 0 && (given ? ceil_div(dims[d], group) == shape[d] : group * shape[d] == dims[d]);
    out.mask |= 1u << d;
    out.groups[d] = group;
    grouped = grouped || group > 1;
  }
  if (!fits) {
    throw Error(ErrorCode::invalid_argument,
                field + " of shape " + (shape.empty() ? "()" : join(shape, "x")) + " for a tensor of " +
                    (dims.empty() ? "()" : join(dims, "x")) +
                    (groups.empty() ? "" : " in groups of " + join(groups, "x")) +
                    ": it has the tensor's dims, each with its extent, with 1 where all indices share a value, or with "
                    "the number of groups" +
                    (groups.empty() ? ", which divides the extent unless groups are given" : ""),
                field, join(shape, "x"), join(dims, "x"));
  }
  if (!grouped) out.groups = {};
  return out;
}

Error renamed(const Error& error, std::span<const AttributeName> names) {
  const auto in_word = [](char ch) { return ch == '_' || (ch >= 'a' && ch <= 'z'); };
  const auto rename = [&](std::string text) {
    for (const auto& [theirs, ours] : names) {
      for (std::size_t at = 0; (at = text.find(theirs, at)) != std::string::npos; at += ours.size()) {
        const std::size_t end = at + theirs.size();
        if ((at > 0 && in_word(text[at - 1])) || (end < text.size() && in_word(text[end]))) continue;
        text.replace(at, theirs.size() + (text.substr(end).starts_with("[0]") ? 3 : 0), ours);
      }
    }
    return text;
  };
  return {error.code(), rename(error.message()), rename(error.field()), error.value(), error.limit()};
}

Attributes part_of(const Attributes& attributes, const Dims& dims, const Dims& begin, const Dims& extents) {
  Attributes out = attributes;
  for (auto member : {&Attributes::src_scale, &Attributes::dst_scale, &Attributes::src_zero_point,
                      &Attributes::dst_zero_point, &Attributes::mean})
    out.*member = part_of(attributes.*member, dims, begin, extents);
  return out;
}

}  // namespace relayout
