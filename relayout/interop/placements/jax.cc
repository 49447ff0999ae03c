// JAX: NamedSharding, a mesh of devices with names for its axes and a PartitionSpec, which says of each dim the axes
// that it goes over, several of them with the first outermost. Devices are the mesh by rows. An axis that no dim names
// holds copies. Each device has one block. JAX itself puts only arrays onto devices whose dims divide.
//
//     jax:P('x',None) mesh(x=4,y=2)
//     jax:NamedSharding(mesh=Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto)), spec=P('x', None), memory_kind=device)
//
// Source: JAX 0.10, the documentation of jax.sharding, and what its objects print. The test `placements` of the Python
// package compares with devices_indices_map().
#include <algorithm>

#include "relayout/interop/placements/parts.h"

namespace relayout::placements {
namespace {

using Names = std::vector<std::string>;

/// The axes of one entry of a spec.
Names read_entry(Reader& text) {
  if (text.take_word("None")) return {};
  if (text.peek() != '(') {
    const std::size_t at = text.at();
    Names one{text.name("None, the name of an axis between quotes, or several of them in parentheses")};
    if (one[0] == "UNCONSTRAINED") text.fail(at, "UNCONSTRAINED leaves the axes to the compiler");
    return one;
  }
  Names out;
  text.expect('(');
  while (!text.take(')')) {
    out.push_back(text.name("the name of an axis"));
    if (text.take(')')) break;
    text.expect(',');
  }
  return out;
}

std::vector<Names> read_spec(Reader& text) {
  std::vector<Names> out;
  text.expect('(');
  while (!text.take(')')) {
    if (text.take_word("unreduced") || text.take_word("reduced"))
      refuse("placement: unreduced axes: a partial sum is no placement of elements");
    out.push_back(read_entry(text));
    if (out.size() > kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
    if (text.take(')')) break;
    text.expect(',');
  }
  return out;
}

/// "(x=4, y=2)" or "('x': 4, 'y': 2, axis_types=(Auto, Auto))".
std::vector<MeshAxis> read_jax_mesh(Reader& text) {
  std::vector<MeshAxis> out;
  text.expect('(');
  while (!text.take(')')) {
    if (text.take_word("axis_types")) {
      text.skip_value();
    } else {
      const std::size_t at = text.at();
      MeshAxis axis{text.name("the name of an axis")};
      if (std::ranges::find(out, axis.name, &MeshAxis::name) != out.end())
        text.fail(at, "the mesh has an axis of this name already");
      if (!text.take('=')) text.expect(':');
      axis.extent = text.number("extent of an axis", 1);
      out.push_back(std::move(axis));
    }
    if (text.take(')')) break;
    text.expect(',');
  }
  return out;
}

}  // namespace

PlacementText read_jax(Reader& text) {
  PlacementText out;
  const bool whole = text.take_word("NamedSharding");
  if (whole) text.expect('(');
  bool mesh = false;
  std::optional<std::vector<Names>> spec;
  const std::size_t from = text.at();
  while (!text.done() && text.peek() != ')') {
    const std::size_t at = text.at();
    if (text.take_word("spec") || text.take_word("mesh")) text.take('=');
    if (text.take_word("P") || text.take_word("PartitionSpec")) {
      spec = read_spec(text);
    } else if (text.take_word("Mesh") || text.peek() == '(') {
      out.mesh = read_jax_mesh(text);
      mesh = true;
    } else if (text.take_word("memory_kind")) {
      text.skip_value();
    } else {
      text.fail(at, "expected P(...) and mesh(...), as in P('x',None) mesh(x=4,y=2)");
    }
    text.take(',');
  }
  if (whole) text.expect(')');
  if (!text.done()) text.fail("expected the end");
  if (!spec || !mesh) text.fail(spec ? "expected the mesh, as in mesh(x=4,y=2)" : "expected a spec, as in P('x',None)");
  number_by_rows(out);
  std::vector<bool> used(out.mesh.size());
  for (const Names& names : *spec) {
    PlacedDim& dim = out.dims.emplace_back();
    for (const std::string& name : names) {
      const auto found = std::ranges::find(out.mesh, name, &MeshAxis::name);
      const auto axis = static_cast<std::size_t>(found - out.mesh.begin());
      if (found == out.mesh.end()) text.fail(from, "the mesh has no axis " + escaped(name));
      if (used[axis]) text.fail(from, "two dims go over the axis " + escaped(name));
      used[axis] = true;
      dim.axes.push_back(axis);
    }
  }
  return out;
}

std::string write_jax(const Placement& placement, std::span<const MeshAxis> given) {
  need_one_block(placement, "JAX");
  const Mesh mesh = mesh_of(placement, given);
  Names names;
  for (std::size_t k = 0; k < mesh.axes.size(); ++k) {
    std::string name = mesh.axes[k].name;
    for (std::size_t more = k; name.empty() || std::ranges::find(names, name) != names.end(); ++more)
      name = more < 4 ? std::string(1, "xyzw"[more]) : "x" + std::to_string(more);
    names.push_back(std::move(name));
  }
  std::string spec, axes;
  for (const std::vector<std::size_t>& dim : mesh.of_dims) {
    std::string list;
    for (const std::size_t axis : dim) list += (list.empty() ? "" : ",") + quoted(names[axis]);
    spec += (spec.empty() ? "" : ",") + (dim.empty() ? "None" : dim.size() == 1 ? list : "(" + list + ")");
  }
  for (std::size_t k = 0; k < names.size(); ++k)
    axes += (k == 0 ? "" : ",") + as_word(names[k]) + "=" + std::to_string(mesh.axes[k].extent);
  return "jax:P(" + spec + ") mesh(" + axes + ")";
}

}  // namespace relayout::placements
