// Shuffle, concat, slice, reshape, transpose, broadcast and pad as reorders between views: see moves.h.
#include "relayout/execute/own/moves.h"

#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Node;

namespace {

using Moves = std::optional<std::vector<Move>>;

/// The layout that a view function returns; nothing if it throws needs_copy.
template <typename View>
std::optional<Layout> tried(View&& view) {
  try {
    return view();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    return std::nullopt;
  }
}

int counted(int axis, int ndims) { return axis < 0 ? axis + ndims : axis; }

/// Adds moves of `count` indices of dim d, from `from_start` on in one layout to `to_start` on in another. A range that
/// cuts blocks is moved in parts: whole blocks of both sides if possible, else up to the next border of a block.
bool add_range(std::vector<Move>& moves, int src, const Layout& from, const Layout& to, int d, int64_t from_start,
               int64_t to_start, int64_t count) {
  for (int64_t done = 0; done < count;) {
    const int64_t a = from_start + done, b = to_start + done, left = count - done;
    const int64_t a_block = from.block(d), b_block = to.block(d);
    int64_t whole = left;
    while (whole > 0 && ((a + whole) % a_block != 0 || (b + whole) % b_block != 0)) --whole;
    const int64_t border = std::min({left, a_block - a % a_block, b_block - b % b_block});
    bool moved = false;
    for (int64_t length : {left, whole, border}) {
      if (length <= 0) continue;
      const auto part = tried([&] { return narrow(from, d, a, length); });
      const auto into = tried([&] { return narrow(to, d, b, length); });
      if (!part || !into) continue;
      moves.push_back({src, *part, *into});
      done += length;
      moved = true;
      break;
    }
    if (!moved) return false;
  }
  return true;
}

Moves concat(const Node& node, const std::vector<Layout>& src, const Layout& dst) {
  const int axis = counted(node.as<graph::ConcatAttributes>().axis, dst.ndims());
  std::vector<Move> moves;
  int64_t start = 0;
  for (std::size_t i = 0; i < src.size(); ++i) {
    const int64_t extent = src[i].dim(axis);
    if (!add_range(moves, static_cast<int>(i), src[i], dst, axis, 0, start, extent)) return std::nullopt;
    start += extent;
  }
  return moves;
}

/// The view that splits dim `axis` into rows x columns and transposes them.
std::optional<Layout> transposed_within(const Layout& layout, int axis, int64_t rows) {
  return tried([&] {
    const Layout parts = split(layout, axis, {rows, layout.dim(axis) / rows});
    return merge(transpose(parts, axis, axis + 1), axis, axis + 1);
  });
}

Moves shuffle(const Node& node, const Layout& src, const Layout& dst) {
  const auto& a = node.as<graph::ShuffleAttributes>();
  const int axis = counted(a.axis, src.ndims());
  const int64_t rest = src.dim(axis) / std::max<int64_t>(a.groups, 1);
  const int64_t rows = node.forward() ? a.groups : rest;
  if (src.dim(axis) == 0) return std::vector<Move>{};
  // The move reads from a view of the source or, if blocks rule that out, writes into a view of the destination.
  if (const auto view = transposed_within(src, axis, rows)) return std::vector<Move>{{0, *view, dst}};
  const auto view = transposed_within(dst, axis, src.dim(axis) / rows);
  if (!view) return std::nullopt;
  return std::vector<Move>{{0, src, *view}};
}

Moves view(const Graph& graph, const Node& node, const Layout& src, const Layout& dst) {
  if (const auto from = tried([&] { return view_of(graph, node, src); })) return std::vector<Move>{{0, *from, dst}};
  if (node.kind == Kind::reshape) {
    // The source has no view with the dims of the destination. The destination may have one with the dims of the
    // source.
    Graph back;
    back.tensors.push_back({.name = {}, .dims = dst.dims()});
    back.tensors.push_back({.name = {}, .dims = src.dims()});
    const Node reshape{.name = node.name,
                       .kind = Kind::reshape,
                       .attributes = graph::ReshapeAttributes{src.dims()},
                       .src = {0},
                       .dst = {1}};
    const auto to = tried([&] { return view_of(back, reshape, dst); });
    if (!to) return std::nullopt;
    return std::vector<Move>{{0, src, *to}};
  }
  if (node.kind != Kind::slice) return std::nullopt;
  // A blocked dim whose range cuts blocks is moved in parts, after all other dims are sliced.
  const auto& a = node.as<graph::SliceAttributes>();
  int cut = kNone;
  for (int d = 0; d < src.ndims(); ++d) {
    if (src.block(d) > 1 && (a.starts[d] != 0 || a.stops[d] != src.dim(d) || a.steps[d] != 1)) {
      if (cut != kNone || a.steps[d] != 1) return std::nullopt;
      cut = d;
    }
  }
  if (cut == kNone) return std::nullopt;
  graph::SliceAttributes others = a;
  others.starts[cut] = 0;
  others.stops[cut] = src.dim(cut);
  Node sliced = node;
  sliced.attributes = others;
  const auto from = tried([&] { return view_of(graph, sliced, src); });
  std::vector<Move> moves;
  if (!from || !add_range(moves, 0, *from, dst, cut, a.starts[cut], 0, dst.dim(cut))) return std::nullopt;
  return moves;
}

/// A segment along one dim of a padded tensor: `count` indices of the destination from `start` on. They take the
/// source's indices first, first + step, ...; a step of 0 repeats one index. If `inside` is false, the segment holds
/// the constant.
struct Segment {
  int64_t start, count;
  int64_t first, step;
  bool inside = true;
};

std::vector<Segment> segments(graph::PadMode mode, int64_t begin, int64_t extent, int64_t end) {
  std::vector<Segment> out{{begin, extent, 0, 1}};
  switch (mode) {
    case graph::PadMode::constant:
      out.push_back({0, begin, 0, 0, false});
      out.push_back({begin + extent, end, 0, 0, false});
      break;
    case graph::PadMode::edge:
      out.push_back({0, begin, 0, 0});
      out.push_back({begin + extent, end, extent - 1, 0});
      break;
    case graph::PadMode::reflect:
      out.push_back({0, begin, begin, -1});
      out.push_back({begin + extent, end, extent - 2, -1});
      break;
  }
  std::erase_if(out, [](const Segment& s) { return s.count == 0; });
  return out;
}

Layout taken(const Layout& src, int d, const Segment& s) {
  if (s.step == 1) return narrow(src, d, s.first, s.count);
  if (s.step == -1) return flip(narrow(src, d, s.first - s.count + 1, s.count), d);
  Dims dims(src.ndims(), -1);
  dims[d] = s.count;
  return expand(narrow(src, d, s.first, 1), dims);
}

/// Adds a move for each combination of segments of dim d and the dims after it.
bool add_pads(std::vector<Move>& moves, const std::vector<std::vector<Segment>>& dims, int d, const Layout& src,
              const Layout& dst, bool inside) {
  if (d == dst.ndims()) {
    const Layout constant = Layout::strided(dst.dims(), Dims(dst.ndims(), 0));
    moves.push_back({inside ? 0 : kNone, inside ? src : constant, dst});
    return true;
  }
  const auto& list = dims[static_cast<std::size_t>(d)];
  for (const Segment& s : list) {
    // A dim without padding is not narrowed, because it may be blocked.
    const bool whole = list.size() == 1 && s.step == 1;
    const auto to = tried([&] { return whole ? dst : narrow(dst, d, s.start, s.count); });
    const auto from = tried([&] { return whole || !s.inside ? src : taken(src, d, s); });
    if (!to || !from || !add_pads(moves, dims, d + 1, *from, *to, inside && s.inside)) return false;
  }
  return true;
}

Moves pad(const Node& node, const Layout& src, const Layout& dst) {
  const auto& a = node.as<graph::PadAttributes>();
  std::vector<std::vector<Segment>> dims;
  for (int d = 0; d < src.ndims(); ++d) dims.push_back(segments(a.mode, a.begin[d], src.dim(d), a.end[d]));
  std::vector<Move> moves;
  if (dst.empty()) return moves;
  if (!add_pads(moves, dims, 0, src, dst, true)) return std::nullopt;
  return moves;
}

}  // namespace

std::optional<std::vector<Move>> moves_of(const Graph& graph, const Node& node, const std::vector<Layout>& src,
                                          const Layout& dst) {
  switch (node.kind) {
    case Kind::concat: return concat(node, src, dst);
    case Kind::shuffle: return shuffle(node, src[0], dst);
    case Kind::reshape:
    case Kind::transpose:
    case Kind::slice:
    case Kind::broadcast: return view(graph, node, src[0], dst);
    case Kind::pad: return pad(node, src[0], dst);
    case Kind::reorder: return std::vector<Move>{{0, src[0], dst}};
    default: return std::nullopt;
  }
}

}  // namespace relayout::execute
