// Offsets of all elements on both sides.
#include "relayout/cpu/generated/origins.h"

#include "relayout/core/runs.h"

namespace relayout::cpu {
namespace {

/// The offsets of all indices, row-major, in units of `scale` bytes.
std::vector<int32_t> all_offsets(const Layout& layout, int64_t scale) {
  std::vector<int32_t> out{static_cast<int32_t>(layout.offset0() * scale)};
  for (int d = 0; d < layout.ndims(); ++d) {
    const std::vector<int32_t> outer = std::move(out);
    const auto extent = static_cast<std::size_t>(layout.dim(d));
    std::vector<int32_t> steps(extent);
    for (std::size_t i = 0; i < extent; ++i)
      steps[i] = static_cast<int32_t>(layout.dim_offset(d, static_cast<int64_t>(i)) * scale);
    out.resize(outer.size() * extent);
    int32_t* to = out.data();
    for (const int32_t from : outer) {
      for (std::size_t i = 0; i < extent; ++i) *to++ = from + steps[i];
    }
  }
  return out;
}

}  // namespace

std::optional<Origins> origins_of(const PlanData& plan, int64_t most_bytes) {
  const Layout &src = plan.src().layout, &dst = plan.dst().layout;
  const int element_bits = bits(plan.dst().dtype);
  const Attributes& attributes = plan.attributes();
  if (plan.converts() || attributes.indexed() || element_bits < 8 || element_bits > 64 || dst.ndims() == 0 ||
      src.ndims() == 0 || src.empty() || src.swizzled() || dst.swizzled())
    return std::nullopt;
  const int64_t dst_bytes = plan.dst().span_bytes();
  if (dst_bytes > most_bytes || plan.src_bytes() > most_bytes - dst_bytes || src.elements() > most_bytes)
    return std::nullopt;
  const bool fills = dst.padded() && attributes.padding.kind == Padding::Kind::value;
  if (fills && plan.fill_bits() != 0) return std::nullopt;
  Origins out{element_bits / 8, {}};
  out.at.assign(static_cast<std::size_t>(dst.span()), Origins::kGap);
  if (fills) {
    for_each_padding_run(
        dst, [&](int64_t offset, int64_t length) { std::fill_n(out.at.begin() + offset, length, Origins::kPadding); });
  }
  const std::vector<int32_t> from = all_offsets(src, out.element), to = all_offsets(dst, 1);
  for (std::size_t i = 0; i < from.size(); ++i) out.at[static_cast<std::size_t>(to[i])] = from[i];
  return out;
}

}  // namespace relayout::cpu
