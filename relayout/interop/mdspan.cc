// What mappings of mdspan say of a layout: its strides, and whether it is unique, exhaustive and strided.
#include "relayout/interop/mdspan.h"

#include <algorithm>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::mdspan_detail {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& field, const std::string& value,
                         const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "mdspan: " + why, field, value, limit);
}

std::string field_of(int d) { return "dims[" + std::to_string(d) + "]"; }

/// What one step of dim d adds to the offset, or nothing where steps differ. 0 where the dim has no step.
std::optional<int64_t> stride_of(const Layout& canonical, int d) {
  const Digit first = canonical.digits(d).front();
  if (canonical.dim(d) <= 1) return 0;
  // The first step into a second digit is another one, else canonical() would have joined the two.
  if (canonical.digits(d).size() > 1 && canonical.dim(d) > first.extent) return std::nullopt;
  return first.stride;
}

/// The largest f_d over 0 ... extent - 1: at the last value of a digit or at its first, and where the index is cut off
/// by the extent, in the digits below it.
int64_t largest(std::span<const Digit> digits, int64_t extent) {
  int64_t place = 1, free = 0, bound = 0;  // over all values of the digits so far, and over those up to the last index
  for (const Digit& digit : digits) {
    const int64_t top = (extent - 1) / place % digit.extent;
    int64_t next = bound + top * digit.stride;
    if (top > 0) next = std::max(next, free + std::max<int64_t>(0, (top - 1) * digit.stride));
    bound = next;
    free += std::max<int64_t>(0, (digit.extent - 1) * digit.stride);
    place *= digit.extent;
  }
  return bound;
}

/// The elements, counting those of dims that only repeat once, and whether no two of these share an offset.
std::pair<int64_t, bool> without_repeats(const Layout& canonical) {
  int64_t out = 1;
  std::vector<Digits> kept;
  Dims dims;
  for (int d = 0; d < canonical.ndims(); ++d) {
    const auto stride = stride_of(canonical, d);
    if (stride && *stride == 0) continue;  // one offset, however long the dim is
    dims.push_back(canonical.dim(d));
    kept.push_back(canonical.digits_of(d));
    out *= canonical.dim(d);
  }
  return {out, Layout::from_digits(dims, kept, canonical.offset0()).injective()};
}

}  // namespace

Properties properties_of(const Layout& layout) {
  Properties out;
  if (layout.swizzled()) {
    out.strides = Dims(layout.ndims(), 0);
    out.required_span_size = layout.span();
    out.is_unique = layout.injective();
    out.is_exhaustive = layout.dense() && layout.offset_range().first == 0;
    return out;
  }
  const Layout canonical = layout.canonical();
  out.is_strided = true;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto stride = stride_of(canonical, d);
    out.is_strided = out.is_strided && stride;
    out.strides.push_back(layout.dim(d) <= 1 || layout.empty() ? layout.digits(d).front().stride : stride.value_or(0));
  }
  if (layout.empty()) {
    out.is_unique = out.is_exhaustive = true;
    return out;
  }
  int64_t last = layout.offset0();
  for (int d = 0; d < layout.ndims(); ++d) last += largest(layout.digits(d), layout.dim(d));
  out.required_span_size = last + 1;
  out.is_unique = layout.injective();
  const auto [offsets, apart] = without_repeats(canonical);
  out.is_exhaustive = apart && offsets == out.required_span_size;
  return out;
}

Dims positive_strides(const Layout& layout) {
  if (layout.offset0() != 0 && !layout.empty()) {
    refuse("layout_stride has no offset, and the layout begins at " + std::to_string(layout.offset0()), "offset0",
           std::to_string(layout.offset0()), "0");
  }
  // Of a layout without elements, and of dims of one, strides do not count, but must be above 0 all the same.
  if (layout.empty()) {
    Dims strides = Layout::contiguous(layout.dims()).outer_strides();
    for (int64_t& stride : strides) stride = std::max<int64_t>(stride, 1);
    return strides;
  }
  const Layout canonical = layout.canonical();
  Dims strides;
  std::vector<int> moving;
  for (int d = 0; d < layout.ndims(); ++d) {
    if (layout.capacity(d) != layout.dim(d)) {
      refuse("layout_stride has no padding, and dim " + std::to_string(d) + " is padded to " +
                 std::to_string(layout.capacity(d)),
             field_of(d), std::to_string(layout.capacity(d)), std::to_string(layout.dim(d)));
    }
    const auto stride = stride_of(canonical, d);
    if (!stride) {
      refuse("layout_stride has one stride a dim, and dim " + std::to_string(d) + " has blocks", field_of(d),
             std::to_string(canonical.digits(d).size()) + " digits", "1 digit");
    }
    strides.push_back(layout.dim(d) == 1 ? 1 : *stride);
    if (strides[d] <= 0) {
      refuse("the stride of dim " + std::to_string(d) + " is " + std::to_string(strides[d]) +
                 ", and those of layout_stride are above 0",
             field_of(d), std::to_string(strides[d]), "1 or more");
    }
    if (layout.dim(d) > 1) moving.push_back(d);
  }
  std::ranges::stable_sort(moving, {}, [&](int d) { return strides[d]; });
  for (std::size_t k = 1; k < moving.size(); ++k) {
    const int before = moving[k - 1], d = moving[k];
    const int64_t least = strides[before] * layout.dim(before);
    if (strides[d] >= least) continue;
    refuse("the stride of dim " + std::to_string(d) + " is " + std::to_string(strides[d]) + ", within what dim " +
               std::to_string(before) + " reaches; layout_stride demands " + std::to_string(least) + " at least",
           field_of(d), std::to_string(strides[d]), std::to_string(least));
  }
  return strides;
}

void check_rank(std::size_t rank, const Layout& layout) {
  if (rank == static_cast<std::size_t>(layout.ndims())) return;
  refuse("the extents are of rank " + std::to_string(rank) + ", the layout has " + std::to_string(layout.ndims()) +
             " dims",
         "rank", std::to_string(layout.ndims()), std::to_string(rank));
}

void check_extent(std::size_t dim, int64_t fixed, const Layout& layout) {
  const int d = static_cast<int>(dim);
  if (layout.dim(d) == fixed) return;
  refuse("the extent of dim " + std::to_string(d) + " is fixed to " + std::to_string(fixed) + ", the layout has " +
             std::to_string(layout.dim(d)),
         field_of(d), std::to_string(layout.dim(d)), std::to_string(fixed));
}

void check_index_type(uint64_t largest_index, const Layout& layout) {
  const auto check = [&](int64_t value, const std::string& field) {
    if (static_cast<uint64_t>(value) <= largest_index) return;
    throw Error(ErrorCode::overflow,
                "mdspan: the index type ends at " + std::to_string(largest_index) + ", and " + field + " is " +
                    std::to_string(value),
                field, std::to_string(value), std::to_string(largest_index));
  };
  for (int d = 0; d < layout.ndims(); ++d) check(layout.dim(d), field_of(d));
  check(layout.span(), "the span");
}

}  // namespace relayout::mdspan_detail

namespace relayout {
namespace {

/// The strides of a std::layout_stride that is this layout, wherever it begins; nothing where it is none.
std::optional<Dims> strides_of_any(const Layout& layout) {
  try {
    std::vector<Digits> digits;
    for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
    return mdspan_detail::positive_strides(Layout::from_digits(layout.dims(), digits));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The strides of dims of one element do not count.
bool same_strides(const Layout& layout, const Dims& strides, bool left) {
  int64_t stride = 1;
  for (int k = 0; k < layout.ndims(); ++k) {
    const int d = left ? k : layout.ndims() - 1 - k;
    if (layout.dim(d) > 1 && strides[d] != stride) return false;
    stride *= layout.dim(d);
  }
  return true;
}

}  // namespace

std::string mdspan_code(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  if (const int element_bits = bits(desc.dtype); element_bits < 8) {
    const std::string type(name(desc.dtype));
    throw Error(ErrorCode::unsupported,
                "mdspan: elements of " + std::to_string(element_bits) + " bits (" + type +
                    ") have no pointers, so that an mdspan of them needs an accessor of your own",
                "dtype", type, "a type of whole bytes");
  }
  const std::string extents = "std::dextents<int64_t, " + std::to_string(layout.ndims()) + ">";
  const std::string sizes = extents + "(" + join(layout.dims(), ", ") + ")";
  const std::optional<Dims> strides = strides_of_any(layout);
  if (!strides) {
    return "std::mdspan m(data, relayout::mapping<" + extents + ">(relayout::Format::parse(\"" +
           digits_expression(layout) + "\").bind({" + join(layout.dims(), ", ") + "})));";
  }
  const bool begins_later = layout.offset0() != 0 && !layout.empty();
  const std::string data = begins_later ? "data + " + std::to_string(layout.offset0()) : "data";
  if (layout.empty() || same_strides(layout, *strides, false))
    return "std::mdspan m(" + data + ", std::layout_right::mapping(" + sizes + "));";
  if (same_strides(layout, *strides, true))
    return "std::mdspan m(" + data + ", std::layout_left::mapping(" + sizes + "));";
  return "std::mdspan m(" + data + ", std::layout_stride::mapping(" + sizes + ", std::array<int64_t, " +
         std::to_string(layout.ndims()) + ">{" + join(*strides, ", ") + "}));";
}

}  // namespace relayout
