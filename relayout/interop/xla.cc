// XLA's shapes: the text around a layout, and the tiles of a layout: see xla.h. The layout's own text is read by the
// notation xla: (core/notations/xla.cc).
#include "relayout/interop/xla.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"
#include "relayout/interop/memory_axes.h"
#include "relayout/interop/strided.h"

namespace relayout::xla {
namespace {

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DType::boolean, "pred"},
    {DType::s4, "s4"},
    {DType::s8, "s8"},
    {DType::s16, "s16"},
    {DType::s32, "s32"},
    {DType::s64, "s64"},
    {DType::u4, "u4"},
    {DType::u8, "u8"},
    {DType::u16, "u16"},
    {DType::u32, "u32"},
    {DType::u64, "u64"},
    {DType::f8_e5m2, "f8e5m2"},
    {DType::f8_e4m3, "f8e4m3fn"},
    {DType::f16, "f16"},
    {DType::bf16, "bf16"},
    {DType::f32, "f32"},
    {DType::f64, "f64"},
    {DType::s2, "s2"},
    {DType::u1, "u1"},
    {DType::u2, "u2"},
    {DType::f4_e2m1, "f4e2m1fn"},
    {DType::f8_e8m0, "f8e8m0fnu"},
};
/// XLA's other types of arrays.
constexpr std::string_view kForeignTypes[] = {"s1",     "c64",           "c128",       "f8e3m4",
                                              "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz"};

[[noreturn]] void fail(std::string_view text, std::size_t at, const std::string& why) {
  const std::size_t column = characters(escaped(text.substr(0, at), 400));
  throw Error(ErrorCode::parse,
              "from_xla: " + why + "\n  " + escaped(text, 400) + "\n  " + std::string(column, ' ') + "^", "text",
              escaped(text), "a shape, f32[3,5]{1,0}");
}

/// Takes E and the bits of an element out of a layout's text; nothing where they are not given.
std::optional<int64_t> take_bits(std::string& layout) {
  const std::size_t from = layout.find("E(");
  if (from == std::string::npos) return std::nullopt;
  const std::size_t to = layout.find(')', from);
  if (to == std::string::npos) return std::nullopt;
  const int64_t bits = parse_int(std::string_view(layout).substr(from + 2, to - from - 2), "bits of an element");
  layout.erase(from, to + 1 - from);
  if (from > 0 && layout[from - 1] == ':' && layout.compare(from, 1, "}") == 0) layout.erase(from - 1, 1);
  return bits;
}

// --- from a layout to tiles ------------------------------------------------------------------------------------------

/// The shape's axes before any tile, from the outermost of memory to the innermost, one a dim, and the axes inside.
struct Tiled {
  std::vector<MemoryAxis> outer, inner;
};

/// Where the outer axes of the dims that lie inside tiles as a whole stand among the others.
enum class Place : uint8_t { by_stride, last, first };

/// Outermost axes of memory are the shape's own axes as long as each is the outermost of its dim, and as long as the
/// dim needs. From there on all axes lie inside tiles, and the dims that are left have an outer extent of 1.
Tiled outer_axes(const Layout& layout, const std::vector<MemoryAxis>& axes, Place place) {
  Tiled out;
  std::vector<bool> done(static_cast<std::size_t>(layout.ndims()));
  std::size_t k = 0;
  for (; k < axes.size(); ++k) {
    const MemoryAxis& axis = axes[k];
    const bool outermost = axis.place * axis.extent == layout.capacity(axis.dim);
    if (!outermost || axis.extent != ceil_div(layout.dim(axis.dim), axis.place)) break;
    out.outer.push_back(axis);
    done[static_cast<std::size_t>(axis.dim)] = true;
  }
  out.inner.assign(axes.begin() + static_cast<std::ptrdiff_t>(k), axes.end());
  const auto at_stride = [&](int d) {
    return std::ranges::find_if(out.outer, [&, stride = layout.outer_stride(d)](const MemoryAxis& axis) {
      return axis.stride < stride || (axis.stride == stride && axis.dim > d);
    });
  };
  std::size_t added = 0;
  for (const MemoryAxis& axis : out.inner) {
    const int d = axis.dim;
    if (done[static_cast<std::size_t>(d)]) continue;
    done[static_cast<std::size_t>(d)] = true;
    auto at = out.outer.end();
    if (place == Place::first) at = out.outer.begin() + static_cast<std::ptrdiff_t>(added);
    if (place == Place::by_stride && layout.digits(d).back().extent == 1) at = at_stride(d);
    out.outer.insert(at, {d, layout.capacity(d), 1, place == Place::by_stride ? layout.outer_stride(d) : 0});
    ++added;
  }
  // A dim of one index may stand anywhere.
  for (int d = 0; d < layout.ndims(); ++d) {
    if (!done[static_cast<std::size_t>(d)])
      out.outer.insert(at_stride(d), {d, layout.capacity(d), 1, layout.outer_stride(d)});
  }
  return out;
}

/// The place where an axis begins once the axes at `to` and behind are taken off: an axis that was taken off from this
/// one is a part of it again.
int64_t place_before(const std::vector<MemoryAxis>& axes, std::size_t to, const MemoryAxis& axis) {
  int64_t place = axis.place;
  for (std::size_t k = to; k < axes.size(); ++k) {
    if (axes[k].dim != axis.dim || axes[k].place * axes[k].extent != place) continue;
    place = axes[k].place;
    k = to - 1;  // which ++ leads to `to`
  }
  return place;
}

/// Which of the axes before `from` each axis in [from, to) continues; nothing unless they do so in order.
std::optional<std::vector<std::size_t>> continued(const std::vector<MemoryAxis>& axes, std::size_t from,
                                                  std::size_t to) {
  std::vector<std::size_t> out;
  for (std::size_t k = from; k < to; ++k) {
    const auto continues = [&](const MemoryAxis& axis) {
      return axis.dim == axes[k].dim && place_before(axes, to, axis) == axes[k].place * axes[k].extent;
    };
    const auto end = axes.begin() + static_cast<std::ptrdiff_t>(from);
    const auto before = static_cast<std::size_t>(std::find_if(axes.begin(), end, continues) - axes.begin());
    if (before == from || (!out.empty() && before <= out.back())) return std::nullopt;
    out.push_back(before);
  }
  return out;
}

/// Where each tile's axes begin, the first tile's first: the fewest tiles. best[k] is the number of tiles up to axis k.
std::vector<std::size_t> tile_borders(const std::vector<MemoryAxis>& axes, std::size_t outer) {
  std::vector<std::size_t> best(axes.size() + 1, axes.size() + 1), before(axes.size() + 1, outer);
  best[outer] = 0;
  for (std::size_t to = outer + 1; to <= axes.size(); ++to) {
    for (std::size_t from = to; from-- > outer;) {
      if (!continued(axes, from, to) || best[from] + 1 >= best[to]) continue;
      best[to] = best[from] + 1;
      before[to] = from;
    }
  }
  std::vector<std::size_t> out;
  for (std::size_t to = axes.size(); to > outer; to = before[to]) out.push_back(before[to]);
  std::ranges::reverse(out);
  return out;
}

/// The tiles, first to last. A tile has an extent for every axis from the first that it cuts to the innermost, and
/// these extents are axes themselves, those of 1 too.
std::vector<std::vector<int64_t>> tiles_of(const Tiled& tiled) {
  std::vector<MemoryAxis> axes = tiled.outer;
  axes.insert(axes.end(), tiled.inner.begin(), tiled.inner.end());
  std::vector<std::size_t> borders = tile_borders(axes, tiled.outer.size());
  std::vector<std::vector<int64_t>> out;
  std::vector<std::optional<std::size_t>> shape;  // which of the axes each axis of the tiled shape is; nothing for 1
  for (std::size_t k = 0; k < tiled.outer.size(); ++k) shape.emplace_back(k);
  borders.push_back(axes.size());
  for (std::size_t t = 0; t + 1 < borders.size(); ++t) {
    const std::size_t from = borders[t], to = borders[t + 1];
    const std::vector<std::size_t> cut = *continued(axes, from, to);
    const auto first = static_cast<std::size_t>(std::ranges::find(shape, std::optional(cut.front())) - shape.begin());
    std::vector<int64_t> tile;
    std::vector<std::optional<std::size_t>> inside;
    for (std::size_t k = first, next = 0; k < shape.size(); ++k) {
      const bool here = next < cut.size() && shape[k] == cut[next];
      const MemoryAxis& axis = axes[here ? from + next : from];
      tile.push_back(here ? axis.place * axis.extent / place_before(axes, to, axis) : 1);
      inside.push_back(here ? std::optional(from + next) : std::nullopt);
      next += here;
    }
    shape.insert(shape.end(), inside.begin(), inside.end());
    out.push_back(tile);
  }
  return out;
}

struct Parts {
  std::vector<int> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;
};

/// The order and the tiles of a layout that fills memory, by its digits as they stand.
Parts fewest_tiles(const Layout& layout) {
  Parts best;
  const std::vector<MemoryAxis> axes = memory_axes(layout);
  for (const Place place : {Place::by_stride, Place::last, Place::first}) {
    const Tiled tiled = outer_axes(layout, axes, place);
    Parts parts{{}, tiles_of(tiled)};
    for (auto axis = tiled.outer.rbegin(); axis != tiled.outer.rend(); ++axis)
      parts.minor_to_major.push_back(axis->dim);
    if (place == Place::by_stride || parts.tiles.size() < best.tiles.size()) best = parts;
  }
  return best;
}

std::string list_of(const auto& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

/// The order and the tiles, as they stand in braces.
std::string braces(const Parts& parts, std::string properties = {}) {
  for (auto tile = parts.tiles.rbegin(); tile != parts.tiles.rend(); ++tile)
    properties = "(" + list_of(*tile) + ")" + properties;
  if (!parts.tiles.empty()) properties = "T" + properties;
  return "{" + list_of(parts.minor_to_major) + (properties.empty() ? "" : ":" + properties) + "}";
}

/// A layout of one dim more, which is the outermost and has the digits that are padding for every index of their dim: a
/// scalar's padding, or what a tile of more extents than dims adds. Nothing where there are none.
std::optional<Layout> with_padding_apart(const Layout& layout) {
  if (layout.ndims() == 0) return layout.padded() ? std::optional(layout.as_vector()) : std::nullopt;
  if (layout.ndims() == kMaxDims) return std::nullopt;
  Dims dims = layout.dims();
  std::vector<Digits> digits(1);
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.emplace_back();
    int64_t place = 1;
    for (const Digit& digit : layout.digits(d)) {
      (place < layout.dim(d) || digits.back().empty() ? digits.back() : digits.front()).push_back(digit);
      place *= digit.extent;
    }
  }
  if (digits.front().empty()) return std::nullopt;
  std::ranges::sort(digits.front(), {}, &Digit::stride);
  dims.insert(0, 1);
  return Layout::from_digits(dims, digits).canonical();
}

/// The tiles of such a layout for the array without that dim, which is one only where the dim is the outermost.
std::optional<Parts> with_tiles_of_more_extents(const Layout& layout) {
  const std::optional<Layout> lifted = with_padding_apart(layout);
  if (!lifted) return std::nullopt;
  Parts parts = fewest_tiles(*lifted);
  if (parts.minor_to_major.back() != 0) return std::nullopt;
  parts.minor_to_major.pop_back();
  for (int& dim : parts.minor_to_major) --dim;
  try {
    // A text does not say whose padding it is: that of the outermost dim.
    if (Format::parse("xla:" + braces(parts)).bind(layout.dims()) == layout) return parts;
  } catch (const Error&) {  // over the limits of a text
  }
  return std::nullopt;
}

Parts parts_of(const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  if (const auto reason = not_filled(layout.ndims() == 0 ? layout.as_vector() : layout)) {
    throw Error(ErrorCode::unsupported, "to_xla: " + reason->why + ", and XLA's arrays fill memory from offset 0 on",
                reason->field, reason->value, reason->limit);
  }
  Parts best;
  if (layout.empty()) {
    for (int d = layout.ndims(); d-- > 0;) best.minor_to_major.push_back(d);
    return best;
  }
  best = fewest_tiles(layout);
  if (const auto more = with_tiles_of_more_extents(layout);
      more && (layout.ndims() == 0 || more->tiles.size() < best.tiles.size()))
    best = *more;
  if (best.tiles.empty() || layout.ndims() == 0) return best;
  // Digits that continue each other need no tile, but as one they may lose the place that they say for a dim.
  Parts joined = fewest_tiles(layout.canonical());
  return joined.tiles.size() < best.tiles.size() ? joined : best;
}

bool is_packed(DType dtype) { return bits(dtype) < 8; }

std::string text_of(const TensorDesc& desc, const Parts& parts) {
  const std::string packed = is_packed(desc.dtype) ? "E(" + std::to_string(bits(desc.dtype)) + ")" : "";
  const std::string shape = std::string(type_name(desc.dtype)) + "[" + join(desc.layout.dims()) + "]";
  const std::string layout = braces(parts, packed);
  return layout == "{}" ? shape : shape + layout;
}

}  // namespace

std::string_view type_name(DType dtype) {
  if (const auto found = std::ranges::find(kTypes, dtype, &TypeName::dtype); found != std::end(kTypes))
    return found->name;
  const std::string ours(relayout::name(dtype));
  throw Error(ErrorCode::unsupported, "xla: " + ours + " is no type of XLA, which has no floats of 6 bits", "dtype",
              ours, "a type of XLA");
}

DType dtype_of(std::string_view name) {
  const std::string small = small_letters(name);
  if (const auto found = std::ranges::find(kTypes, small, &TypeName::name); found != std::end(kTypes))
    return found->dtype;
  std::string known;
  std::vector<std::string_view> names;
  for (const TypeName& type : kTypes) {
    known += (known.empty() ? "" : ", ") + std::string(type.name);
    names.push_back(type.name);
  }
  const bool foreign = std::ranges::find(kForeignTypes, small) != std::end(kForeignTypes);
  throw Error(foreign ? ErrorCode::unsupported : ErrorCode::parse,
              "xla: \"" + escaped(name) + "\" is " + (foreign ? "a type of XLA that is none here" : "no type of XLA") +
                  "; there are " + known + (foreign ? "" : did_you_mean(name, names)),
              "dtype", escaped(name), known);
}

TensorDesc from_xla(std::string_view text) {
  if (text.starts_with('(')) fail(text, 0, "a tuple has no layout of its own: give one of its shapes");
  const std::size_t open = std::min(text.find('['), text.size());
  if (open == text.size()) fail(text, open, "expected a type and its dims in brackets");
  const DType dtype = dtype_of(text.substr(0, open));
  const std::size_t close = std::min(text.find(']'), text.size());
  if (close == text.size()) fail(text, close, "the closing ']' is missing");
  if (const std::size_t bound = text.find("<="); bound < close)
    fail(text, bound, "a dim with a bound has no extent until the program runs");
  std::string layout(text.substr(open));
  if (close + 1 == text.size()) {
    int rank = 0;
    if (close > open + 1) rank = 1 + static_cast<int>(std::ranges::count(text.substr(open, close - open), ','));
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.rbegin(), order.rend(), 0);
    layout += "{" + list_of(order) + "}";
  }
  if (layout.find_first_of(";@") != std::string::npos || layout.find('.') != std::string::npos)
    fail(text, text.find_first_of(";@."), "behind the layout there is nothing more");
  const auto element_bits = take_bits(layout);
  if (element_bits.value_or(is_packed(dtype) ? 8 : bits(dtype)) != bits(dtype)) {
    throw Error(ErrorCode::unsupported,
                "from_xla: " + escaped(text) + " has elements of " + std::to_string(element_bits.value_or(8)) +
                    " bits, and those of " + std::string(type_name(dtype)) + " have " + std::to_string(bits(dtype)) +
                    " here" + (is_packed(dtype) ? "; without E(4), XLA keeps each in a byte of its own" : ""),
                "E", std::to_string(element_bits.value_or(8)), std::to_string(bits(dtype)));
  }
  const Format format = Format::parse("xla:" + layout);
  return {format.bind(format.fixed_dims().value_or(Dims())), dtype};
}

std::string to_xla(const TensorDesc& desc) { return text_of(desc, parts_of(desc)); }

std::string code(const TensorDesc& desc) {
  const Parts parts = parts_of(desc);
  const std::vector<int64_t> order(parts.minor_to_major.rbegin(), parts.minor_to_major.rend());
  std::string jax = "jax.experimental.layout.Layout(major_to_minor=" + python_tuple(order);
  std::vector<std::string> tiles;
  for (const std::vector<int64_t>& tile : parts.tiles) tiles.push_back(python_tuple(tile));
  if (!tiles.empty()) jax += ", tiling=" + python_tuple(tiles);
  if (is_packed(desc.dtype)) jax += ", sub_byte_element_size_in_bits=" + std::to_string(bits(desc.dtype));
  std::string out = text_of(desc, parts) + "\n" + jax + ")";
  if (is_packed(desc.dtype))
    out +=
        "\n# The halves of each byte are swapped: XLA keeps the even element in the high half, this library in the low "
        "one.";
  return out;
}

}  // namespace relayout::xla
