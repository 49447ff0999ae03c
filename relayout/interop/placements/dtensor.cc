// PyTorch's DTensor: a placement for each dim of a mesh of devices. Shard(d) cuts dim d as torch.chunk does, the first
// dim of the mesh first; Replicate() holds copies. _StridedShard(d, sf=k), which FSDP with tensor parallelism makes,
// cuts what later dims of the mesh have cut into k parts already.
//
//     dtensor:[Shard(0),Replicate()] mesh(4,2)                   also S(0) and R
//     dtensor:[Shard(0)] mesh(dp=4,tp=2):(1,4)                   CuTe's shape:stride, as the layout of a mesh is kept:
//                                                                rank = dp + 4 * tp
//     dtensor:DTensor(..., device_mesh=DeviceMesh((dp=4, tp=2), 'cuda', stride=(2, 1)), placements=(Shard(dim=0),
//             Replicate()))
//
// Source: PyTorch 2.9, the documentation of torch.distributed.tensor; torch/distributed/device_mesh.py and
// tensor/placement_types.py for what is printed and what _StridedShard means.
#include <algorithm>

#include "relayout/interop/placements/parts.h"

namespace relayout::placements {
namespace {

/// What a placement does with its dim of the mesh.
struct Cut {
  std::optional<int64_t> dim;  // nothing: copies
  int64_t parts_before = 1;    // that later dims of the mesh have cut
};

Cut read_cut(Reader& text) {
  const std::size_t at = text.at();
  if (text.take_word("None")) return {};
  if (text.take_word("Replicate") || text.take_word("R")) {
    if (text.take('(')) text.expect(')');
    return {};
  }
  const bool strided = text.take_word("_StridedShard") || text.take_word("_S");
  if (strided || text.take_word("Shard") || text.take_word("S")) {
    text.expect('(');
    if (text.take_word("dim")) text.expect('=');
    Cut out{text.number("dim that is cut", 0)};
    if (out.dim >= kMaxDims) text.fail(at, "more than " + std::to_string(kMaxDims) + " dims");
    if (strided) {
      text.expect(',');
      if (text.take_word("sf") || text.take_word("split_factor")) text.expect('=');
      out.parts_before = text.number("split factor", 1);
    }
    text.expect(')');
    return out;
  }
  if (text.take_word("Partial") || text.take_word("P") || text.take_word("_NormPartial") || text.take_word("_Partial"))
    refuse("placement: Partial: a partial sum is no placement of elements");
  text.fail("expected Shard(dim), Replicate() or None");
}

std::vector<Cut> read_cuts(Reader& text) {
  std::vector<Cut> out;
  const char close = text.peek() == '(' ? ')' : ']';
  text.expect(close == ')' ? '(' : '[');
  while (!text.take(close)) {
    out.push_back(read_cut(text));
    if (text.take(close)) break;
    text.expect(',');
  }
  return out;
}

/// "(4, 2)" or "(dp=4, tp=2)", without steps.
std::vector<MeshAxis> read_shape(Reader& text) {
  std::vector<MeshAxis> out;
  text.expect('(');
  while (!text.take(')')) {
    MeshAxis axis;
    if (text.peek() < '0' || text.peek() > '9') {
      axis.name = text.name("extent of a dim of the mesh, or its name");
      text.expect('=');
    }
    axis.extent = text.number("extent of a dim of the mesh", 1);
    out.push_back(std::move(axis));
    if (text.take(')')) break;
    text.expect(',');
  }
  return out;
}

/// "[[0, 1], [2, 3]]", ranks of a mesh in nested lists: its extents, and all ranks by rows.
void read_ranks(Reader& text, std::size_t depth, std::vector<int64_t>& extents, std::vector<int64_t>& ranks) {
  const std::size_t at = text.at();
  text.expect('[');
  int64_t count = 0;
  while (!text.take(']')) {
    if (text.peek() == '[')
      read_ranks(text, depth + 1, extents, ranks);
    else
      ranks.push_back(text.number("a rank", 0));
    ++count;
    if (text.take(']')) break;
    text.expect(',');
  }
  if (extents.size() <= depth) extents.resize(depth + 1, -1);
  if (extents[depth] >= 0 && extents[depth] != count) text.fail(at, "lists of a mesh are as long as their neighbours");
  extents[depth] = count;
}

/// The axes of a mesh of ranks, if these go through it at equal steps from 0 on.
std::vector<MeshAxis> axes_of(Reader& text, const std::vector<int64_t>& extents, const std::vector<int64_t>& ranks) {
  int64_t inside = 1;
  for (const int64_t extent : extents) inside *= extent;
  if (ranks.empty() || static_cast<int64_t>(ranks.size()) != inside) text.fail("a mesh is lists of equal lengths");
  std::vector<MeshAxis> out(extents.size());
  inside = 1;
  for (std::size_t k = extents.size(); k-- > 0; inside *= extents[k]) {
    out[k].extent = extents[k];
    if (extents[k] > 1) out[k].step = ranks.at(static_cast<std::size_t>(inside)) - ranks.at(0);
  }
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    auto left = static_cast<int64_t>(at);
    int64_t rank = 0;
    for (std::size_t k = extents.size(); k-- > 0; left /= extents[k]) rank += left % extents[k] * out[k].step;
    if (rank != ranks[at]) text.fail("the ranks of the mesh do not follow each other at equal steps from 0 on");
  }
  return out;
}

/// Refuses steps by which two coordinates of the mesh would be one rank, or some rank none.
void check_steps(Reader& text, std::vector<MeshAxis> mesh) {
  std::erase_if(mesh, [](const MeshAxis& axis) { return axis.extent == 1; });
  std::ranges::sort(mesh, {}, &MeshAxis::step);
  int64_t ranks = 1;
  for (const MeshAxis& axis : mesh) {
    if (axis.step != ranks)
      text.fail("by these steps two coordinates of the mesh are one rank, or a rank has no coordinate");
    if (__builtin_mul_overflow(ranks, axis.extent, &ranks)) text.fail("the mesh has more ranks than fit 64 bits");
  }
}

/// Reads a mesh behind its word; whether its steps were said.
bool read_device_mesh(Reader& text, bool device_mesh, std::vector<MeshAxis>& mesh) {
  bool stepped = false;
  const auto read_steps = [&] {
    const std::vector<int64_t> steps = text.numbers("step of a dim of the mesh", 1);
    if (steps.size() != mesh.size()) text.fail("the mesh has another number of steps than of dims");
    for (std::size_t k = 0; k < steps.size(); ++k) mesh[k].step = steps[k];
    check_steps(text, mesh);
    stepped = true;
  };
  if (!device_mesh) {
    mesh = read_shape(text);
    if (text.take(':')) read_steps();
    return stepped;
  }
  text.expect('(');
  while (!text.take(')')) {
    if (text.peek() == '(') {
      mesh = read_shape(text);
    } else if (text.take_word("stride")) {
      if (!text.take('=')) text.expect(':');
      read_steps();
    } else if (text.peek() == '[') {
      std::vector<int64_t> extents, ranks;
      read_ranks(text, 0, extents, ranks);
      mesh = axes_of(text, extents, ranks);
      stepped = true;
    } else {
      text.skip_value();  // the device, and what else is said of the mesh
    }
    if (text.take(')')) break;
    text.expect(',');
  }
  return stepped;
}

/// The axes of the mesh that cut each dim, the outermost first.
void order_cuts(PlacementText& out, const std::vector<Cut>& cuts) {
  for (std::size_t axis = cuts.size(); axis-- > 0;) {
    if (!cuts[axis].dim) continue;
    const auto d = static_cast<std::size_t>(*cuts[axis].dim);
    if (out.dims.size() <= d) out.dims.resize(d + 1);
    std::vector<std::size_t>& axes = out.dims[d].axes;
    std::size_t at = 0;
    int64_t parts = 1;
    while (at < axes.size() && parts < cuts[axis].parts_before) parts *= out.mesh[axes[at++]].extent;
    if (parts != cuts[axis].parts_before)
      refuse("placement: _StridedShard(" + std::to_string(d) + ", sf=" + std::to_string(cuts[axis].parts_before) +
             "): the later dims of the mesh cut dim " + std::to_string(d) + " into " + std::to_string(parts) +
             " parts");
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  // Each part of a dim is cut anew, in other places than those of blocks of one size unless all are equal.
  for (PlacedDim& dim : out.dims) {
    int64_t cutting = 0, parts = 1;
    for (const std::size_t axis : dim.axes) {
      cutting += out.mesh[axis].extent > 1 ? 1 : 0;
      parts *= out.mesh[axis].extent;
    }
    if (cutting > 1) dim.divides = parts;
  }
}

}  // namespace

PlacementText read_dtensor(Reader& text) {
  PlacementText out;
  std::optional<std::vector<Cut>> cuts;
  bool mesh = false, stepped = false;
  const bool whole = text.take_word("DTensor");
  if (whole) text.expect('(');
  while (!text.done() && text.peek() != ')') {
    if (text.take_word("placements")) text.expect('=');
    if (text.take_word("device_mesh")) text.expect('=');
    if (const bool device_mesh = text.take_word("DeviceMesh"); device_mesh || text.take_word("mesh")) {
      stepped = read_device_mesh(text, device_mesh, out.mesh);
      mesh = true;
    } else if (!cuts && (text.peek() == '[' || text.peek() == '(')) {
      cuts = read_cuts(text);
    } else if (whole && text.peek() != ',' && text.peek() != ']' && text.peek() != '}') {
      text.skip_value();  // the local tensor
    } else {
      text.fail("expected placements and a mesh, as in [Shard(0),Replicate()] mesh(4,2)");
    }
    text.take(',');
  }
  if (whole) text.expect(')');
  if (!text.done()) text.fail("expected the end");
  if (!cuts || !mesh) text.fail(cuts ? "expected the mesh, as in mesh(4,2)" : "expected placements, as in [Shard(0)]");
  if (cuts->size() != out.mesh.size())
    text.fail("there are " + std::to_string(cuts->size()) + " placements, and the mesh has " +
              std::to_string(out.mesh.size()) + " dims");
  PlacementText by_rows = out;
  number_by_rows(by_rows);
  out.places = by_rows.places;
  if (!stepped) out.mesh = by_rows.mesh;
  order_cuts(out, *cuts);
  return out;
}

std::string write_dtensor(const Placement& placement, std::span<const MeshAxis> given) {
  need_one_block(placement, "DTensor");
  const Mesh mesh = mesh_of(placement, given);
  std::vector<std::string> cuts(mesh.axes.size(), "Replicate()");
  for (std::size_t d = 0; d < mesh.of_dims.size(); ++d) {
    const std::vector<std::size_t>& axes = mesh.of_dims[d];
    int64_t parts = 1;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      int64_t before = 1;  // parts that later dims of the mesh have cut
      for (std::size_t outer = 0; outer < k; ++outer)
        before *= axes[outer] > axes[k] ? mesh.axes[axes[outer]].extent : 1;
      cuts[axes[k]] = before == 1 ? "Shard(" + std::to_string(d) + ")"
                                  : "_StridedShard(" + std::to_string(d) + ",sf=" + std::to_string(before) + ")";
      parts *= mesh.axes[axes[k]].extent;
    }
    const int64_t extent = placement.dims()[static_cast<int>(d)];
    if (axes.size() > 1 && extent % parts != 0)
      refuse("DTensor cuts each part of a dim anew: dim " + std::to_string(d) + " of " + std::to_string(extent) +
             " goes over several dims of the mesh and does not divide by their " + std::to_string(parts) + " parts");
  }
  std::string list, shape;
  const bool named = std::ranges::none_of(mesh.axes, [](const MeshAxis& axis) { return axis.name.empty(); });
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    list += (k == 0 ? "" : ",") + cuts[k];
    shape +=
        (k == 0 ? "" : ",") + (named ? as_word(mesh.axes[k].name) + "=" : "") + std::to_string(mesh.axes[k].extent);
  }
  return "dtensor:[" + list + "] mesh(" + shape + ")";
}

}  // namespace relayout::placements
