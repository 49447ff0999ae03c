// mdspan: layouts as mappings of C++23's std::mdspan, and mappings as layouts.
//
//     std::vector<float> data(960);
//     const Layout nChw8c = Format::parse("nChw8c").bind({2, 17, 5, 4});
//     std::mdspan m(data.data(), mapping<std::dextents<int64_t, 4>>(nChw8c));   // any layout
//     m[0, 16, 2, 3];                                                           // data[408]
//
//     using Strided = std::layout_stride::mapping<std::dextents<int64_t, 4>>;
//     std::mdspan s(data.data(), strided_mapping<Strided>(nhwc));               // one stride a dim, no offset
//     const Layout back = layout_of_mapping(s.mapping());                       // layout_left, _right, _stride, ...
//
// Everything here is a template over the caller's extents and mappings, so this header does not include <mdspan>: it
// works with the standard library's where there is one, and with any other that has the standard's interface.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "relayout/core/layout.h"

namespace relayout {
namespace mdspan_detail {

/// What a mapping says of a layout, by its elements alone: padding is not a part of a multidimensional index space.
struct Properties {
  int64_t required_span_size = 0;
  bool is_unique = false, is_exhaustive = false, is_strided = false;
  /// Where is_strided: what one step of each dim adds to the offset.
  Dims strides;
};
Properties properties_of(const Layout& layout);

/// The strides of a std::layout_stride that is this layout. Errors as in strided_mapping().
Dims positive_strides(const Layout& layout);

/// Error{invalid_argument} where a rank or an extent that the caller's type fixes is another one.
void check_rank(std::size_t rank, const Layout& layout);
void check_extent(std::size_t dim, int64_t fixed, const Layout& layout);
/// Error{overflow} where extents, offsets or strides exceed the largest value of an index type.
void check_index_type(uint64_t largest, const Layout& layout);

template <typename Extents>
Extents extents_of(const Layout& layout) {
  using Index = typename Extents::index_type;
  check_rank(Extents::rank(), layout);
  check_index_type(static_cast<uint64_t>(std::numeric_limits<Index>::max()), layout);
  std::array<Index, Extents::rank()> extents{};
  for (std::size_t r = 0; r < Extents::rank(); ++r) {
    // std::dynamic_extent, which is the largest size_t, stands for an extent that the type does not fix.
    if (Extents::static_extent(r) != std::numeric_limits<std::size_t>::max())
      check_extent(r, static_cast<int64_t>(Extents::static_extent(r)), layout);
    extents[r] = static_cast<Index>(layout.dim(static_cast<int>(r)));
  }
  return Extents(extents);
}

}  // namespace mdspan_detail

/// The tensor as a line of C++23, over `data`, a pointer to its elements: std::mdspan with std::layout_right, _left or
/// _stride where the layout is one of them (an offset is added to `data`), else with relayout::mapping and the layout's
/// digits. Every layout has one. Error{unsupported}: a type of 4 bits, to whose elements there are no pointers.
std::string mdspan_code(const TensorDesc& desc);

/// A LayoutMappingPolicy ([mdspan.layout]) whose mappings are layouts: std::mdspan<T, Extents, MdspanLayout>.
struct MdspanLayout {
  template <typename Extents>
  class mapping;  // in the standard's spelling, as are its members
};

/// The mapping itself. A copy costs some nanoseconds, as copies share one Layout; one that was moved from may only be
/// assigned or destroyed.
template <typename Extents>
class MdspanLayout::mapping {
 public:
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  using size_type = typename Extents::size_type;
  using rank_type = typename Extents::rank_type;
  using layout_type = MdspanLayout;

  /// Errors: invalid_argument (another rank, or an extent that is fixed otherwise by the type), overflow (extents or
  /// offsets that index_type does not hold), limit (as Layout::collision()). Cost: that of Layout::injective().
  explicit mapping(const Layout& layout)
      : extents_(mdspan_detail::extents_of<Extents>(layout)),
        shared_(std::make_shared<const Shared>(Shared{layout, mdspan_detail::properties_of(layout)})) {}

  const Layout& layout() const noexcept { return shared_->layout; }

  const extents_type& extents() const noexcept { return extents_; }
  /// 1 + the largest offset of an element; 0 where there are none. Padding behind the last element is not counted:
  /// Layout::span() counts it.
  index_type required_span_size() const noexcept {
    return static_cast<index_type>(shared_->properties.required_span_size);
  }

  /// The offset of an index, which must be in the extents. Cost: a division for each digit beyond one a dim.
  template <typename... Indices>
  requires(sizeof...(Indices) == Extents::rank() && (std::convertible_to<Indices, index_type> && ...)) index_type
  operator()(Indices... indices) const {
    int64_t offset = layout().offset0();
    [[maybe_unused]] int dim = 0;
    ((offset +=
      digits_offset(layout().digits_under_swizzle(dim++), static_cast<int64_t>(static_cast<index_type>(indices)))),
     ...);
    return static_cast<index_type>(layout().swizzle().apply(offset));
  }

  static constexpr bool is_always_unique() noexcept { return false; }
  static constexpr bool is_always_exhaustive() noexcept { return false; }
  static constexpr bool is_always_strided() noexcept { return false; }
  /// Layout::injective().
  bool is_unique() const noexcept { return shared_->properties.is_unique; }
  /// Whether every offset below required_span_size() is reached. False where that is not known: of layouts in which
  /// dims overlap, other than by a stride of 0, and of swizzled layouts that repeat or pad.
  bool is_exhaustive() const noexcept { return shared_->properties.is_exhaustive; }
  /// Whether each dim has one stride. With it the offset of index (0, 0, ...) is layout().offset0().
  bool is_strided() const noexcept { return shared_->properties.is_strided; }
  /// Only where is_strided(): it may be 0 (broadcast) or, where index_type is signed, negative (flipped).
  index_type stride(rank_type r) const {
    return static_cast<index_type>(shared_->properties.strides[static_cast<int>(r)]);
  }

  friend bool operator==(const mapping& a, const mapping& b) noexcept {
    return a.shared_ == b.shared_ || a.layout() == b.layout();
  }

 private:
  struct Shared {
    Layout layout;
    mdspan_detail::Properties properties;
  };

  Extents extents_;
  std::shared_ptr<const Shared> shared_;
};

/// The mapping of any layout, by its extents: mapping<std::dextents<int64_t, 4>>(layout).
template <typename Extents>
using mapping = MdspanLayout::mapping<Extents>;

/// A layout as a mapping of std::layout_stride: `Mapping` is std::layout_stride::mapping<Extents>. Errors:
/// invalid_argument where it is none, naming the dim: a dim of several digits (blocks), padding, a stride of 0 or
/// below, an offset0, or strides whose dims do not nest (the standard demands that each stride be at least as large as
/// what the dims of smaller strides reach); and the errors of mapping().
template <typename Mapping>
Mapping strided_mapping(const Layout& layout) {
  using Extents = typename Mapping::extents_type;
  using Index = typename Mapping::index_type;
  const auto extents = mdspan_detail::extents_of<Extents>(layout);
  const Dims from = mdspan_detail::positive_strides(layout);
  std::array<Index, Extents::rank()> strides{};
  for (std::size_t r = 0; r < Extents::rank(); ++r) strides[r] = static_cast<Index>(from[static_cast<int>(r)]);
  return Mapping(extents, strides);
}

/// The layout of a mapping that is strided: layout_left, layout_right, layout_stride and others. Errors:
/// invalid_argument (it is not strided), those of Layout::strided().
template <typename Mapping>
Layout layout_of_mapping(const Mapping& mapping) {
  if (!mapping.is_strided()) {
    throw Error(ErrorCode::invalid_argument, "mdspan: the mapping has no stride for each dim", "mapping", "not strided",
                "a strided mapping");
  }
  Dims dims, strides;
  // The standard's layout_left and layout_right have no stride() at all where the rank is 0.
  if constexpr (Mapping::extents_type::rank() > 0) {
    for (std::size_t r = 0; r < Mapping::extents_type::rank(); ++r) {
      dims.push_back(static_cast<int64_t>(mapping.extents().extent(r)));
      strides.push_back(static_cast<int64_t>(mapping.stride(r)));
    }
  }
  return Layout::strided(dims, strides);
}

/// The layout that a mapping was made of.
template <typename Extents>
Layout layout_of_mapping(const MdspanLayout::mapping<Extents>& mapping) {
  return mapping.layout();
}

}  // namespace relayout
