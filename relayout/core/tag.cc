// Tags as names: the domains' letters and orders, aliases, and the way back from a layout.
#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "relayout/core/format.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

/// A domain: its leading dims in logical order and, if it is spatial, a tail of "dhw". `named` domains give aliases;
/// the others exist so that layouts of images can be written.
struct Domain {
  std::string_view head;
  bool spatial;
  bool named;
};
constexpr Domain kDomains[] = {
    {"nc", true, true},    {"oi", true, true},     {"goi", true, true},   {"tn", false, true},   {"tnc", false, true},
    {"ldnc", false, true}, {"ldigo", false, true}, {"ldio", false, true}, {"ldgo", false, true}, {"mi", true, false},
    {"i", true, false},    {"c", true, false},     {"", true, false},
};

std::string sorted(std::string_view text) {
  std::string out(text);
  std::ranges::sort(out);
  return out;
}

/// All logical orders: each domain with each spatial tail ("", "w", "hw", "dhw").
template <typename Visit>
void each_order(const Visit& visit) {
  for (const Domain& domain : kDomains) {
    for (int spatial = 0; spatial <= (domain.spatial ? 3 : 0); ++spatial) {
      const std::string order =
          std::string(domain.head) + std::string("dhw").substr(static_cast<std::size_t>(3 - spatial));
      if (!order.empty() && order != "i" && order != "c" && order != "goi") visit(order, domain);
    }
  }
}

bool is_spatial(char letter, std::string_view order) {
  return order[0] != 'l' && (letter == 'd' || letter == 'h' || letter == 'w');
}

/// Names of rank `rank` in the letters of domains that are not `named`: those in use. Images and filters without
/// channels have hw and dhw, row-major or column-major, and images outside a batch chw and hwc; MACE's depthwise filter
/// is mihw.
std::vector<std::string> spatial_names(int rank) {
  std::vector<std::string> out;
  each_order([&](const std::string& order, const Domain& domain) {
    if (domain.named || static_cast<int>(order.size()) != rank) return;
    if (!domain.head.empty() && order != "mihw" && order != "chw") return;
    out.push_back(order);
    if (order == "chw") out.emplace_back("hwc");
    if (domain.head.empty() && rank > 1) out.emplace_back(order.rbegin(), order.rend());
  });
  return out;
}

/// The tag of these outer dims and blocks (dim, size), outermost first.
std::string spell(std::span<const int> outer, std::span<const std::pair<int, int64_t>> blocks) {
  std::string out;
  for (int d : outer) {
    const bool blocked = std::ranges::any_of(blocks, [&](const auto& b) { return b.first == d; });
    out += static_cast<char>((blocked ? 'A' : 'a') + d);
  }
  for (const auto& [dim, size] : blocks) out += std::to_string(size) + static_cast<char>('a' + dim);
  return out;
}

}  // namespace

std::optional<std::string> logical_order(std::string_view letters) {
  std::optional<std::string> found;
  const std::string want = sorted(letters);
  each_order([&](const std::string& order, const Domain&) {
    if (!found && sorted(order) == want) found = order;
  });
  return found;
}

std::optional<std::pair<std::size_t, std::string>> misplaced_letter(std::string_view outer, std::string_view order) {
  if (order[0] == 'l') {
    for (std::size_t k = 0; k < 2; ++k) {
      if (outer[k] != order[k]) return std::pair(k, std::string("layers and directions (l, d) come first"));
    }
    return std::nullopt;
  }
  if (order == "tnc" && outer[2] != 'c') return std::pair(outer.find('c'), std::string("c comes last in t, n, c"));
  bool inside = false, over = false;
  for (std::size_t k = 0; k < outer.size(); ++k) {
    const bool spatial = is_spatial(outer[k], order);
    if (spatial && over) return std::pair(k, std::string("the spatial dims (d, h, w) stand together"));
    over = over || (inside && !spatial);
    inside = inside || spatial;
  }
  return std::nullopt;
}

std::vector<std::string> plain_names(int rank) {
  std::vector<std::string> out;
  if (rank == 1) out.push_back("x");
  each_order([&](const std::string& order, const Domain& domain) {
    if (!domain.named || static_cast<int>(order.size()) != rank) return;
    // Units are permuted. A unit is one letter, or all spatial dims together, which keep their order.
    const std::size_t units = domain.head.size() + (order.size() > domain.head.size());
    std::vector<std::size_t> perm(units);
    std::iota(perm.begin(), perm.end(), 0u);
    do {
      std::string text;
      for (std::size_t u : perm) text += u < domain.head.size() ? order.substr(u, 1) : order.substr(domain.head.size());
      if (!misplaced_letter(text, order)) out.push_back(text);
    } while (std::ranges::next_permutation(perm).found);
  });
  for (std::string& text : spatial_names(rank)) out.push_back(std::move(text));
  return out;
}

std::vector<std::string> aliases_of(std::string_view generic_tag) {
  std::vector<std::string> out;
  std::string outer(generic_tag.substr(0, generic_tag.find_first_of("0123456789")));
  const bool image = std::erase(outer, '|') > 0;
  if (generic_tag == "a") out.push_back("x");
  for (const auto& [mace, tag] : mace_names()) {
    const Format format = Format::parse(mace);
    if (format.generic_tag(*format.rank()) == generic_tag) out.emplace_back(mace);
  }
  each_order([&](const std::string& order, const Domain& domain) {
    if (!domain.named || order.size() != outer.size()) return;
    if (image && !domain.spatial) return;  // images hold activations and filters
    std::string text, lower;
    for (char ch : generic_tag) {
      const bool upper = ch >= 'A' && ch <= 'L', letter = upper || (ch >= 'a' && ch <= 'l');
      if (!letter) {
        text += ch;
        continue;
      }
      const auto d = static_cast<std::size_t>(ch - (upper ? 'A' : 'a'));
      if (d >= order.size()) return;
      if (lower.size() < outer.size()) lower += order[d];
      text += static_cast<char>(upper ? order[d] - 'a' + 'A' : order[d]);
    }
    // No system blocks the layers or directions of a recurrent network's weights, so such tags have no name.
    if (text.starts_with('L') || (order[0] == 'l' && text.find('D') == 1)) return;
    if (lower.size() == outer.size() && (image || !misplaced_letter(lower, order))) out.push_back(text);
  });
  for (std::string& text : spatial_names(static_cast<int>(outer.size()))) {
    if (Format::parse(text).generic_tag(static_cast<int>(outer.size())) == generic_tag) out.push_back(std::move(text));
  }
  return out;
}

namespace {

/// A digit of a layout, and the dim that it belongs to.
struct PlacedDigit {
  int64_t stride;
  int dim;
  int64_t extent;
};

/// A layout's digits, divided into the two parts of a tag: one outer digit for each dim, and blocks inside all of
/// these.
struct OuterAndInner {
  std::vector<PlacedDigit> outer, inner;
};

OuterAndInner deal_digits(const Layout& layout) {
  OuterAndInner out;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits(d);
    int64_t block = 1;
    for (const Digit& digit : digits.first(digits.size() - 1)) {
      block *= digit.extent;
      if (digit.extent > 1) out.inner.push_back({digit.stride, d, digit.extent});
    }
    // A dim has no padding except that of its blocks. So if its outermost digit exceeds the extent, that digit is a
    // block.
    const PlacedDigit last{digits.back().stride, d, digits.back().extent};
    const bool overfull = last.extent > ceil_div(layout.dim(d), block);
    (overfull ? out.inner : out.outer).push_back(last);
  }
  // All blocks lie inside all outer digits. So an outer digit whose stride is smaller than a block's is itself a block.
  for (;;) {
    const auto inside = [&](const PlacedDigit& o) {
      return o.extent > 1 && std::ranges::any_of(out.inner, [&](const PlacedDigit& i) { return i.stride > o.stride; });
    };
    const auto it = std::ranges::find_if(out.outer, inside);
    if (it == out.outer.end()) return out;
    out.inner.push_back(*it), out.outer.erase(it);
  }
}

/// The blocks (dim, size) of these digits, outermost first. Nothing if they leave gaps or exceed a tag's limits.
std::optional<std::vector<std::pair<int, int64_t>>> blocks_of(std::vector<PlacedDigit> inner) {
  std::ranges::stable_sort(inner, {}, &PlacedDigit::stride);
  std::vector<std::pair<int, int64_t>> blocks;
  int64_t size = 1;
  for (const PlacedDigit& digit : inner) {
    const auto next = checked_mul(size, digit.extent);
    if (digit.stride != size || digit.extent > kMaxBlock || !next ||
        blocks.size() == static_cast<std::size_t>(kMaxBlocks))
      return std::nullopt;
    size = *next;
    blocks.insert(blocks.begin(), {digit.dim, digit.extent});
  }
  return blocks;
}

}  // namespace

std::optional<std::string> tag_of(const Layout& layout) {
  if (layout.offset0() != 0 || layout.ndims() == 0 || layout.swizzled()) return std::nullopt;
  const auto [outer, inner] = deal_digits(layout);
  const auto blocks = blocks_of(inner);
  if (!blocks) return std::nullopt;
  const int ndims = layout.ndims();
  std::array<int64_t, kMaxDims> outer_stride{};
  for (const PlacedDigit& o : outer) outer_stride[static_cast<std::size_t>(o.dim)] = o.stride;

  std::vector<int> row_major(static_cast<std::size_t>(ndims));
  std::iota(row_major.begin(), row_major.end(), 0);
  std::vector<int> channels_last = row_major, by_stride = row_major;
  if (ndims > 2) std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
  // Where two dims have the same stride, the one of extent 1 stands inside the other.
  std::ranges::stable_sort(by_stride, [&](int a, int b) {
    const auto stride = [&](int d) { return outer_stride[static_cast<std::size_t>(d)]; };
    const auto repeats = [&](int d) { return layout.digits(d).back().extent > 1; };
    return std::pair(stride(a), repeats(a)) > std::pair(stride(b), repeats(b));
  });
  std::optional<std::string> equal;
  for (const auto& order : {row_major, channels_last, by_stride}) {
    const std::string tag = spell(order, *blocks);
    const Layout bound = Format::parse(tag).bind(layout.dims());
    if (!(bound == layout)) continue;
    if (bound.outer_strides() == layout.outer_strides()) return tag;
    if (!equal) equal = tag;
  }
  return equal;
}

std::span<const std::pair<std::string_view, std::string_view>> mace_names() {
  // MACE "Memory layout", OpenCL image section; the tags restate its formulas (its height- and
  // width-major formulas are misprinted).
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"mace:in_out_channel", "nh|Cw4c"}, {"mace:in_out_height", "nH|cw4h"},    {"mace:in_out_width", "nh|cW4w"},
      {"mace:conv2d_filter", "Ohw|i4o"},  {"mace:dw_conv2d_filter", "I|mhw4i"}, {"mace:argument", "|W4w"},
      {"mace:weight_height", "O|hwi4o"},  {"mace:weight_width", "o|hwI4i"},
  };
  return kNames;
}

}  // namespace relayout
