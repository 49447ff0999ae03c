// CuTe's divides and products, made of compose() and complement(): see cute.h.
#include <algorithm>

#include "relayout/interop/cute.h"
#include "relayout/interop/cute_modes.h"

namespace relayout::cute {
namespace {

/// The two halves that a divide or a product makes: of each dim, or of the whole layout.
struct Halves {
  std::vector<Modes> first;   // the tiles, or the blocks
  std::vector<Modes> second;  // the rests, or the repetitions
};

std::vector<Modes> concat(std::vector<Modes> a, const std::vector<Modes>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Modes> one_each(const Modes& modes) {
  std::vector<Modes> out;
  for (const Digit& mode : modes) out.push_back({mode});
  if (out.empty()) out.emplace_back();
  return out;
}

/// The modes of one half as dims. A single integer, which compose() may have split, gives a dim for each piece.
std::vector<Modes> unpacked(const std::vector<Modes>& half, bool integer) {
  return integer ? one_each(half.front()) : half;
}

bool is_integer(const Layout& layout) { return layout.ndims() == 1 && layout.digits(0).size() == 1; }

/// a after b and a after the rest, together, because digits of both may meet in one mode of a.
Halves divide(const Layout& a, const Layout& b) {
  check_operand(a, "logical_divide", "a");
  check_operand(b, "logical_divide", "b");
  const std::vector<Modes> all = composed(a, concat(dims_of(b), one_each(complement_of(b, size(a)))));
  return {{all.begin(), all.begin() + b.ndims()}, {all.begin() + b.ndims(), all.end()}};
}

Halves product(const Layout& a, const Layout& b) {
  check_operand(a, "logical_product", "a");
  check_operand(b, "logical_product", "b");
  const Modes repeated = complement_of(a, product_of(size(a), cosize(b), "logical_product"));
  return {dims_of(a), composed(layout_of_modes({repeated}, "logical_product"), dims_of(b))};
}

/// By mode: one half of each dim that has a tiler. `others` are the dims without one.
struct ByMode {
  Halves halves;
  std::vector<Modes> others;
};

template <typename Split>
ByMode by_mode(const Layout& a, std::span<const Layout> tiler, const std::string& operation, const Split& split) {
  check_operand(a, operation, "a");
  if (tiler.size() > static_cast<std::size_t>(a.ndims())) {
    throw Error(ErrorCode::invalid_argument,
                "cute: " + operation + ": " + std::to_string(tiler.size()) + " tilers for " +
                    std::to_string(a.ndims()) + " modes",
                "tiler", std::to_string(tiler.size()), std::to_string(a.ndims()));
  }
  ByMode out;
  const std::vector<Modes> modes = dims_of(a);
  for (int d = 0; d < a.ndims(); ++d) {
    if (static_cast<std::size_t>(d) >= tiler.size()) {
      out.others.push_back(modes[static_cast<std::size_t>(d)]);
      continue;
    }
    const Halves halves =
        split(layout_of_modes({modes[static_cast<std::size_t>(d)]}, operation), tiler[static_cast<std::size_t>(d)]);
    out.halves.first.push_back(joined(halves.first));
    out.halves.second.push_back(joined(halves.second));
  }
  return out;
}

constexpr auto kDivide = [](const Layout& a, const Layout& b) { return divide(a, b); };
constexpr auto kProduct = [](const Layout& a, const Layout& b) { return product(a, b); };

/// ((first,second),(first,second),others...).
Layout paired(const ByMode& split, const std::string& operation) {
  std::vector<Modes> dims;
  for (std::size_t d = 0; d < split.halves.first.size(); ++d)
    dims.push_back(joined({split.halves.first[d], split.halves.second[d]}));
  return layout_of_modes(concat(dims, split.others), operation);
}

/// ((first,first),(second,second,others...)).
Layout zipped(const ByMode& split, const std::string& operation) {
  return layout_of_modes({joined(split.halves.first), joined(concat(split.halves.second, split.others))}, operation);
}

/// ((first,first),second,second,others...).
Layout tiled(const ByMode& split, const std::string& operation) {
  return layout_of_modes(concat(concat({joined(split.halves.first)}, split.halves.second), split.others), operation);
}

/// (first,first,second,second,others...).
Layout flat(const ByMode& split, const std::string& operation) {
  return layout_of_modes(concat(concat(split.halves.first, split.halves.second), split.others), operation);
}

/// Dim d of the block and of the repetition in one dim.
Layout interleaved(const Layout& a, const Layout& b, bool block_first) {
  const int ndims = std::max(a.ndims(), b.ndims());
  Halves halves = product(a, b);
  halves.first.resize(static_cast<std::size_t>(ndims));
  halves.second.resize(static_cast<std::size_t>(ndims));
  std::vector<Modes> dims;
  for (int d = 0; d < ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const Modes &block = halves.first[at], &repetition = halves.second[at];
    dims.push_back(block_first ? joined({block, repetition}) : joined({repetition, block}));
  }
  return layout_of_modes(dims, block_first ? "blocked_product" : "raked_product");
}

}  // namespace

Layout compose(const Layout& a, std::span<const Layout> tiler) {
  const ByMode split = by_mode(a, tiler, "compose", [](const Layout& mode, const Layout& b) {
    return Halves{dims_of(compose(mode, b)), {}};
  });
  return layout_of_modes(split.halves.first, "compose");
}

Layout logical_divide(const Layout& a, const Layout& b) {
  const Halves halves = divide(a, b);
  return layout_of_modes({joined(halves.first), joined(halves.second)}, "logical_divide");
}

Layout logical_divide(const Layout& a, std::span<const Layout> tiler) {
  return paired(by_mode(a, tiler, "logical_divide", kDivide), "logical_divide");
}

Layout zipped_divide(const Layout& a, std::span<const Layout> tiler) {
  return zipped(by_mode(a, tiler, "zipped_divide", kDivide), "zipped_divide");
}

Layout tiled_divide(const Layout& a, std::span<const Layout> tiler) {
  return tiled(by_mode(a, tiler, "tiled_divide", kDivide), "tiled_divide");
}

Layout flat_divide(const Layout& a, std::span<const Layout> tiler) {
  return flat(by_mode(a, tiler, "flat_divide", kDivide), "flat_divide");
}

Layout zipped_divide(const Layout& a, const Layout& b) { return logical_divide(a, b); }

Layout tiled_divide(const Layout& a, const Layout& b) {
  const Halves halves = divide(a, b);
  return layout_of_modes(concat({joined(halves.first)}, unpacked(halves.second, halves.second.size() == 1)),
                         "tiled_divide");
}

Layout flat_divide(const Layout& a, const Layout& b) {
  const Halves halves = divide(a, b);
  return layout_of_modes(
      concat(unpacked(halves.first, is_integer(b)), unpacked(halves.second, halves.second.size() == 1)), "flat_divide");
}

Layout logical_product(const Layout& a, const Layout& b) {
  const Halves halves = product(a, b);
  return layout_of_modes({joined(halves.first), joined(halves.second)}, "logical_product");
}

Layout logical_product(const Layout& a, std::span<const Layout> tiler) {
  return paired(by_mode(a, tiler, "logical_product", kProduct), "logical_product");
}

Layout zipped_product(const Layout& a, std::span<const Layout> tiler) {
  return zipped(by_mode(a, tiler, "zipped_product", kProduct), "zipped_product");
}

Layout tiled_product(const Layout& a, std::span<const Layout> tiler) {
  return tiled(by_mode(a, tiler, "tiled_product", kProduct), "tiled_product");
}

Layout flat_product(const Layout& a, std::span<const Layout> tiler) {
  return flat(by_mode(a, tiler, "flat_product", kProduct), "flat_product");
}

Layout blocked_product(const Layout& a, const Layout& b) { return interleaved(a, b, true); }
Layout raked_product(const Layout& a, const Layout& b) { return interleaved(a, b, false); }

}  // namespace relayout::cute
