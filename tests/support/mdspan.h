// A reference implementation of C++23's std::mdspan, for compilers whose library has none. It has the parts of the
// standard's interface that relayout/interop/mdspan.h needs ([mdspan.extents], [mdspan.layout], [mdspan.mdspan]), under
// the standard's names, in the simplest form. Elements are m(i, j), because m[i, j] needs C++23.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace relayout::test::reference_mdspan {

inline constexpr std::size_t dynamic_extent = std::numeric_limits<std::size_t>::max();

template <typename Index, std::size_t... Fixed>
class extents {
 public:
  using index_type = Index;
  using size_type = std::make_unsigned_t<Index>;
  using rank_type = std::size_t;

  static constexpr rank_type rank() noexcept { return sizeof...(Fixed); }
  static constexpr std::size_t static_extent(rank_type r) noexcept {
    return std::array<std::size_t, sizeof...(Fixed)>{Fixed...}[r];
  }

  constexpr extents() noexcept : extents_{(Fixed == dynamic_extent ? Index{0} : static_cast<Index>(Fixed))...} {}
  template <typename Other>
  constexpr explicit extents(const std::array<Other, sizeof...(Fixed)>& all) noexcept {
    for (rank_type r = 0; r < rank(); ++r) extents_[r] = static_cast<Index>(all[r]);
  }

  constexpr Index extent(rank_type r) const noexcept { return extents_[r]; }

  friend constexpr bool operator==(const extents&, const extents&) = default;

 private:
  std::array<Index, sizeof...(Fixed)> extents_;
};

template <typename Index, typename Sequence>
struct all_dynamic;
template <typename Index, std::size_t... Rank>
struct all_dynamic<Index, std::index_sequence<Rank...>> {
  using type = extents<Index, (static_cast<void>(Rank), dynamic_extent)...>;
};
template <typename Index, std::size_t Rank>
using dextents = typename all_dynamic<Index, std::make_index_sequence<Rank>>::type;

/// What the three layouts of the standard share: one stride for each dim, and offset 0.
template <typename Layout, typename Extents>
class strided_base {
 public:
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  using size_type = typename Extents::size_type;
  using rank_type = typename Extents::rank_type;
  using layout_type = Layout;

  constexpr const Extents& extents() const noexcept { return extents_; }
  /// The standard demands this of layout_left and layout_right; its layout_stride has stride() for rank 0 too.
  constexpr index_type stride(rank_type r) const requires(Extents::rank() > 0) { return strides_[r]; }
  constexpr index_type required_span_size() const noexcept {
    index_type last = 0;
    for (rank_type r = 0; r < Extents::rank(); ++r) {
      if (extents_.extent(r) == 0) return 0;
      last += (extents_.extent(r) - 1) * strides_[r];
    }
    return last + 1;
  }
  template <typename... Indices>
  constexpr index_type operator()(Indices... indices) const {
    index_type out = 0;
    [[maybe_unused]] rank_type r = 0;
    ((out += static_cast<index_type>(indices) * strides_[r++]), ...);
    return out;
  }
  static constexpr bool is_unique() noexcept { return true; }
  static constexpr bool is_strided() noexcept { return true; }

 protected:
  Extents extents_;
  std::array<index_type, Extents::rank()> strides_{};
};

/// Column-major.
struct layout_left {
  template <typename Extents>
  class mapping : public strided_base<layout_left, Extents> {
   public:
    constexpr explicit mapping(const Extents& extents) noexcept {
      this->extents_ = extents;
      typename Extents::index_type stride = 1;
      for (std::size_t r = 0; r < Extents::rank(); ++r) {
        this->strides_[r] = stride;
        stride *= extents.extent(r);
      }
    }
  };
};

/// Row-major.
struct layout_right {
  template <typename Extents>
  class mapping : public strided_base<layout_right, Extents> {
   public:
    constexpr explicit mapping(const Extents& extents) noexcept {
      this->extents_ = extents;
      typename Extents::index_type stride = 1;
      for (std::size_t r = Extents::rank(); r-- > 0;) {
        this->strides_[r] = stride;
        stride *= extents.extent(r);
      }
    }
  };
};

struct layout_stride {
  template <typename Extents>
  class mapping : public strided_base<layout_stride, Extents> {
   public:
    constexpr mapping(const Extents& extents,
                      const std::array<typename Extents::index_type, Extents::rank()>& strides) noexcept {
      this->extents_ = extents;
      this->strides_ = strides;
    }
  };
};

template <typename Element, typename Extents, typename Layout = layout_right>
class mdspan {
 public:
  using extents_type = Extents;
  using layout_type = Layout;
  using mapping_type = typename Layout::template mapping<Extents>;

  mdspan(Element* data, const mapping_type& mapping) : data_(data), mapping_(mapping) {}

  template <typename... Indices>
  Element& operator()(Indices... indices) const {
    return data_[static_cast<std::size_t>(mapping_(indices...))];
  }
  const mapping_type& mapping() const noexcept { return mapping_; }

 private:
  Element* data_;
  mapping_type mapping_;
};

template <typename Element, typename Mapping>
mdspan(Element*, const Mapping&) -> mdspan<Element, typename Mapping::extents_type, typename Mapping::layout_type>;

}  // namespace relayout::test::reference_mdspan
