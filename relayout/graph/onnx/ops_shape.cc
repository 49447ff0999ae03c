// ONNX operators that move or view data, and reshapes of models whose batch was replaced.
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// Axes from an attribute, or from source `i` in later opsets; nothing where neither is there.
std::optional<std::vector<int64_t>> axes_of(const Op& op, int i) {
  if (op.has(i)) return op.integers_of(i);
  return op.integers("axes");
}

/// If the batch was replaced, a constant shape in the file may still begin with the file's batch or a multiple of it.
/// That entry is then replaced in proportion, in two cases: the shape does not have the source's number of elements, or
/// its -1 would wrongly take up the factor between the batches.
void replace_batch(const Op& op, const Value& src, std::vector<int64_t>* dims) {
  const int64_t old_batch = op.model.file_batch, batch = op.model.batch;
  if (old_batch == batch || old_batch < 1 || src.constant() || src.rank() == 0 || dims->empty()) return;
  if ((*dims)[0] < 1 || (*dims)[0] % old_batch != 0 || src.dims[0] % batch != 0) return;
  int64_t others = 1;
  bool inferred = false;
  for (const int64_t dim : *dims) {
    inferred = inferred || dim == -1;
    const auto product = checked_mul(others, dim == -1 ? 1 : dim);
    if (!product || dim < -1 || *product == 0) return;
    others = *product;
  }
  const int64_t count = elements_of(src.dims);
  const auto grown = checked_mul((*dims)[0] / old_batch, batch), file_count = checked_mul(count / batch, old_batch);
  if (!grown || !file_count) return;
  // Here the -1 comes out as the new batch. It is taken for the batch unless the first entry is exactly the file's
  // batch, and that is not 1.
  if (inferred && count / batch == others && (old_batch == 1 || (*dims)[0] != old_batch)) return;
  if (!inferred && (count == others || *file_count != others)) return;
  (*dims)[0] = *grown;
}

void reshape_to(Op& op) {
  const Value& src = op.input(0);
  std::vector<int64_t> dims = op.integers_of(1);
  const bool zero_is_zero = op.integer("allowzero", 0) != 0;
  for (std::size_t d = 0; d < dims.size() && !zero_is_zero; ++d) {
    if (dims[d] != 0) continue;
    if (static_cast<int>(d) >= src.rank()) op.corrupt("a shape of " + join(dims) + " for " + join(src.dims, "x"));
    dims[d] = src.dims[static_cast<int>(d)];
  }
  replace_batch(op, src, &dims);
  Dims out, known;
  for (const int64_t dim : dims) {
    if (dim < -1 || (dim == -1 && out.size() != known.size())) op.corrupt("a shape of " + join(dims));
    if (dim != -1) known.push_back(dim);
    out.push_back(dim);
  }
  const int64_t others = elements_of(known), count = elements_of(src.dims);
  for (int64_t& dim : out) {
    if (dim != -1) continue;
    if (others == 0 || count % others != 0) op.corrupt(join(src.dims, "x") + " reshaped to " + join(dims));
    dim = count / others;
  }
  op.set(0, reshape(op, src, out));
}

void flatten(Op& op) {
  const Value& src = op.input(0);
  const int64_t given = op.integer("axis", 1);
  const int axis = given == src.rank() ? src.rank() : op.axis(given, src.rank());
  Dims head, tail;
  for (int d = 0; d < src.rank(); ++d) (d < axis ? head : tail).push_back(src.dims[d]);
  op.set(0, reshape(op, src, {elements_of(head), elements_of(tail)}));
}

void squeeze(Op& op) {
  const Value& src = op.input(0);
  const auto axes = axes_of(op, 1);
  std::vector<bool> drop(static_cast<std::size_t>(src.rank()), false);
  for (const int64_t axis : axes.value_or(std::vector<int64_t>{})) {
    drop[static_cast<std::size_t>(op.axis(axis, src.rank()))] = true;
  }
  Dims dims;
  for (int d = 0; d < src.rank(); ++d) {
    const bool gone = axes ? drop[static_cast<std::size_t>(d)] : src.dims[d] == 1;
    if (gone && src.dims[d] != 1) op.corrupt("dim " + std::to_string(d) + " of " + join(src.dims, "x") + " is not 1");
    if (!gone) dims.push_back(src.dims[d]);
  }
  op.set(0, reshape(op, src, dims));
}

void unsqueeze(Op& op) {
  const Value& src = op.input(0);
  std::vector<int64_t> axes = axes_of(op, 1).value_or(std::vector<int64_t>{});
  if (axes.size() > kMaxDims) op.corrupt("axes " + join(axes));
  const int rank = src.rank() + static_cast<int>(axes.size());
  std::vector<bool> added(static_cast<std::size_t>(rank), false);
  for (const int64_t axis : axes) {
    const auto d = static_cast<std::size_t>(op.axis(axis, rank));
    if (added[d]) op.corrupt("axes " + join(axes));
    added[d] = true;
  }
  Dims dims;
  for (int d = 0, from = 0; d < rank; ++d) {
    dims.push_back(added[static_cast<std::size_t>(d)] ? 1 : src.dims[from++]);
  }
  op.set(0, reshape(op, src, dims));
}

void transposed(Op& op) {
  const Value& src = op.input(0);
  std::vector<int> order(static_cast<std::size_t>(src.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  if (const auto perm = op.integers("perm")) {
    if (perm->size() != order.size()) op.corrupt("perm " + join(*perm) + " for " + join(src.dims, "x"));
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = op.axis((*perm)[d], src.rank());
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < sorted.size(); ++d) {
      if (sorted[d] != static_cast<int>(d)) op.corrupt("perm " + join(*perm));
    }
  }
  op.set(0, transpose(op, src, order));
}

SliceAttributes whole(const Dims& dims) { return {Dims(dims.size(), 0), dims, Dims(dims.size(), 1)}; }

void sliced(Op& op) {
  const Value& src = op.input(0);
  const bool by_attributes = op.model.opset < 10;
  const auto starts = by_attributes ? op.integers("starts") : op.integers_of(1);
  const auto ends = by_attributes ? op.integers("ends") : op.integers_of(2);
  if (!starts || !ends || starts->size() != ends->size()) op.corrupt("starts and ends of different lengths");
  std::vector<int64_t> axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = by_attributes ? op.integers("axes") : axes_of(op, 3)) axes = *given;
  std::vector<int64_t> steps(starts->size(), 1);
  if (!by_attributes && op.has(4)) steps = op.integers_of(4);
  if (axes.size() != starts->size() || steps.size() != starts->size()) op.corrupt("axes or steps of another length");

  SliceAttributes range = whole(src.dims);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int d = op.axis(axes[i], src.rank());
    const int64_t extent = src.dims[d], step = steps[i];
    if (step == 0) op.corrupt("a step of 0");
    // Negative bounds count from the end. Bounds are then cut to the dim; going backwards, to the last index and -1.
    const auto bounded = [&](int64_t at, int64_t least, int64_t most) {
      return std::clamp(at < 0 ? at + extent : at, least, most);
    };
    range.steps[d] = step;
    range.starts[d] = step > 0 ? bounded((*starts)[i], 0, extent)
                               : bounded((*starts)[i], extent == 0 ? 0 : -1, std::max<int64_t>(extent - 1, 0));
    range.stops[d] = step > 0 ? bounded((*ends)[i], 0, extent) : bounded((*ends)[i], -1, extent - 1);
    // An empty slice is written as 0:0:1, which every reader of the attributes takes.
    if (step > 0 ? range.stops[d] <= range.starts[d] : range.stops[d] >= range.starts[d]) {
      range.starts[d] = range.stops[d] = 0;
      range.steps[d] = 1;
    }
  }
  op.set(0, slice(op, src, range));
}

void split(Op& op) {
  const Value& src = op.input(0);
  const int axis = op.axis(op.integer("axis", 0), src.rank());
  const int64_t extent = src.dims[axis], count = op.outputs();
  std::vector<int64_t> parts;
  if (op.has(1)) {
    parts = op.integers_of(1);
  } else if (const auto given = op.integers("split")) {
    parts = *given;
  } else {
    if (count == 0 || (op.model.opset < 18 && extent % count != 0)) {
      op.corrupt(std::to_string(extent) + " in " + std::to_string(count) + " equal parts");
    }
    if (op.integer("num_outputs", count) != count) {
      op.corrupt("num_outputs " + std::to_string(op.integer("num_outputs", count)) + " and " + std::to_string(count) +
                 " outputs");
    }
    // The last part has what is left.
    const int64_t part = ceil_div(extent, count);
    for (int64_t i = 0; i < count; ++i) parts.push_back(std::clamp<int64_t>(extent - i * part, 0, part));
  }
  if (static_cast<int64_t>(parts.size()) != count) op.corrupt(std::to_string(parts.size()) + " parts");
  int64_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0 || parts[i] > extent - at) op.corrupt("parts " + join(parts) + " of " + std::to_string(extent));
    SliceAttributes range = whole(src.dims);
    range.starts[axis] = at;
    range.stops[axis] = at += parts[i];
    op.set(static_cast<int>(i), slice(op, src, range));
  }
  if (at != extent) op.corrupt("parts " + join(parts) + " of " + std::to_string(extent));
}

PadMode pad_mode(const Op& op) {
  const std::string mode = op.text("mode", "constant");
  if (mode == "constant") return PadMode::constant;
  if (mode == "edge") return PadMode::edge;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "wrap") return PadMode::edge;  // pad() takes each index itself
  throw NotExpressible{"mode \"" + escaped(mode) + "\""};
}

/// The source repeated to both sides.
Value wrapped(Op& op, const Value& src, const PadAttributes& pads) {
  Value out = src;
  for (int d = 0; d < src.rank(); ++d) {
    const int64_t extent = src.dims[d];
    if (pads.begin[d] == 0 && pads.end[d] == 0) continue;
    if (extent == 0) op.corrupt("pads for an empty dim");
    charge(op.model, DType::s64, {pads.begin[d] + extent + pads.end[d]});
    std::vector<int64_t> from;
    for (int64_t i = -pads.begin[d]; i < extent + pads.end[d]; ++i) from.push_back((i % extent + extent) % extent);
    out = gather(op, out, integer_constant({static_cast<int64_t>(from.size())}, from), d);
  }
  return out;
}

/// Pad. Negative pads cut elements off.
void pad(Op& op) {
  const Value& src = op.input(0);
  const bool by_attributes = op.model.opset < 11;
  const auto pads = by_attributes ? op.integers("pads") : op.integers_of(1);
  std::vector<int64_t> axes(static_cast<std::size_t>(src.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (!by_attributes && op.has(3)) axes = op.integers_of(3);
  if (!pads || pads->size() != 2 * axes.size()) op.corrupt("pads for " + join(src.dims, "x"));
  PadAttributes attributes{.begin = Dims(src.rank(), 0), .end = Dims(src.rank(), 0), .mode = pad_mode(op)};
  attributes.value = by_attributes ? op.number("value", 0) : 0;
  if (!by_attributes && op.has(2)) {
    const std::vector<double> value = op.numbers_of(2);
    if (value.size() != 1) op.corrupt("a value of " + std::to_string(value.size()) + " numbers");
    attributes.value = value.front();
  }
  SliceAttributes kept = whole(src.dims);
  bool any = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int d = op.axis(axes[i], src.rank());
    const int64_t begin = (*pads)[i], end = (*pads)[i + axes.size()], extent = src.dims[d];
    const auto cut = [&](int64_t entry) { return entry < 0 ? std::min(extent, -std::max(entry, -extent)) : 0; };
    kept.starts[d] = cut(begin);
    kept.stops[d] = extent - cut(end);
    if (kept.starts[d] > kept.stops[d]) op.corrupt("pads " + join(*pads) + " for " + join(src.dims, "x"));
    attributes.begin[d] = std::max<int64_t>(begin, 0);
    attributes.end[d] = std::max<int64_t>(end, 0);
    any = any || begin > 0 || end > 0;
  }
  const Value rest = slice(op, src, kept);
  if (op.text("mode", "constant") == "wrap") return op.set(0, wrapped(op, rest, attributes));
  op.set(0, any ? op.add(Kind::pad, attributes, {rest}) : rest);
}

void expand(Op& op) {
  const Value& src = op.input(0);
  const std::vector<int64_t> shape = op.integers_of(1);
  for (const int64_t dim : shape) {
    if (dim < 0) op.corrupt("a shape of " + join(shape));
  }
  op.set(0, broadcast(op, src, broadcast_dims(op, src.dims, dims_of(shape))));
}

/// Tile. Each dim that repeats is split in two: a dim of extent 1, which is broadcast to the number of repetitions, and
/// the dim itself. Both are then joined again.
void tile(Op& op) {
  const Value& src = op.input(0);
  const std::vector<int64_t> repeats = op.integers_of(1);
  if (static_cast<int>(repeats.size()) != src.rank())
    op.corrupt("repeats " + join(repeats) + " of " + join(src.dims, "x"));
  std::vector<int64_t> split, repeated, whole_dims;
  for (int d = 0; d < src.rank(); ++d) {
    const int64_t count = repeats[static_cast<std::size_t>(d)], extent = src.dims[d];
    if (count < 0) op.corrupt("repeats " + join(repeats));
    const auto all = checked_mul(count, extent);
    if (!all) {
      throw Error(ErrorCode::overflow,
                  "onnx: node \"" + escaped(op.name) + "\": dim " + std::to_string(d) + " of extent " +
                      std::to_string(extent) + ", repeated " + std::to_string(count) + " times, overflows 64 bits",
                  "repeats[" + std::to_string(d) + "]", std::to_string(count),
                  std::to_string(std::numeric_limits<int64_t>::max() / extent));
    }
    whole_dims.push_back(*all);
    if (count != 1 && extent != 1) {
      split.push_back(1);
      repeated.push_back(count);
    }
    split.push_back(extent);
    repeated.push_back(extent == 1 ? count : extent);
  }
  if (split.size() > kMaxDims)
    throw NotExpressible{"more dims than " + std::to_string(kMaxDims) + " with those that repeat"};
  const Value parts = broadcast(op, reshape(op, src, dims_of(split)), dims_of(repeated));
  op.set(0, reshape(op, parts, dims_of(whole_dims)));
}

void concatenated(Op& op) {
  std::vector<Value> parts;
  for (int i = 0; i < op.inputs(); ++i) parts.push_back(op.input(i));
  if (parts.empty()) op.corrupt("no source");
  const int axis = op.axis(op.integer("axis", 1), parts.front().rank());
  op.set(0, concat(op, parts, axis));
}

void gathered(Op& op) {
  const Value& data = op.input(0);
  op.set(0, gather(op, data, op.input(1), op.axis(op.integer("axis", 0), data.rank())));
}

void identity(Op& op) { op.set(0, op.input(0)); }

/// The block size b of DepthToSpace, which turns b * b channels into b x b pixels, and of SpaceToDepth, its inverse.
int64_t block_of(const Op& op) {
  const int64_t block = op.integer("blocksize", 0);
  if (block < 1 || block > (int64_t{1} << 10)) op.corrupt("blocksize " + std::to_string(block));
  const Value& src = op.input(0);
  // If one extent is 0, the others can be so large that their product overflows.
  if (src.rank() != 4 || *std::max_element(src.dims.begin(), src.dims.end()) > (int64_t{1} << 40)) {
    op.corrupt("a source of dims " + join(src.dims, "x"));
  }
  return block;
}

/// Whether a channel's number has the depth as its outer and the place in the block as its inner part (CRD), or the
/// other way round (DCR).
bool is_depth_first(const Op& op) {
  const std::string mode = op.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") op.corrupt("mode \"" + escaped(mode) + "\"");
  return mode == "CRD";
}

void depth_to_space(Op& op) {
  const Value& src = op.input(0);
  const int64_t b = block_of(op), n = src.dims[0], c = src.dims[1], h = src.dims[2], w = src.dims[3];
  const bool depth_first = is_depth_first(op);
  if (c % (b * b) != 0) op.corrupt(std::to_string(c) + " channels in blocks of " + std::to_string(b));
  const int64_t depth = c / (b * b);
  const Value split = reshape(op, src, depth_first ? Dims{n, depth, b, b, h, w} : Dims{n, b, b, depth, h, w});
  const Value moved = transpose(op, split, depth_first ? std::vector{0, 1, 4, 2, 5, 3} : std::vector{0, 3, 4, 1, 5, 2});
  op.set(0, reshape(op, moved, {n, depth, h * b, w * b}));
}

void space_to_depth(Op& op) {
  const Value& src = op.input(0);
  const int64_t b = block_of(op), n = src.dims[0], c = src.dims[1], h = src.dims[2], w = src.dims[3];
  const bool depth_first = is_depth_first(op);
  if (h % b != 0 || w % b != 0) op.corrupt(join(src.dims, "x") + " in blocks of " + std::to_string(b));
  const Value split = reshape(op, src, {n, c, h / b, b, w / b, b});
  const Value moved = transpose(op, split, depth_first ? std::vector{0, 1, 3, 5, 2, 4} : std::vector{0, 3, 5, 1, 2, 4});
  op.set(0, reshape(op, moved, {n, c * b * b, h / b, w / b}));
}

constexpr auto kShapeOperators = std::to_array<Operator>({
    {"Reshape", reshape_to, "allowzero:14-"},
    {"Flatten", flatten, "axis"},
    {"Squeeze", squeeze, "axes:7-12"},
    {"Unsqueeze", unsqueeze, "axes:7-12"},
    {"Transpose", transposed, "perm"},
    {"Slice", sliced, "axes:7-9 ends:7-9 starts:7-9"},
    {"Split", split, "axis num_outputs:18- split:7-12"},
    {"Pad", pad, "mode pads:7-10 value:7-10"},
    {"Expand", expand},
    {"Tile", tile},
    {"Concat", concatenated, "axis"},
    {"Gather", gathered, "axis"},
    {"Identity", identity},
    {"DepthToSpace", depth_to_space, "blocksize mode:11-"},
    {"SpaceToDepth", space_to_depth, "blocksize mode:28-"},
});

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace relayout::graph::importing
