// Texts of placements: how systems write which rank, chunk or file holds an element of a tensor.
//
//     jax:P('x',None) mesh(x=4,y=2)              JAX's NamedSharding; as it prints itself too
//     dtensor:[Shard(0),Replicate()] mesh(4,2)   PyTorch's DTensor; mesh(4,2):(1,4) where ranks go through the mesh in
//                                                another order, which is CuTe's shape:stride
//     scalapack:m=100,n=30,mb=8,nb=4,p=2,q=3     ScaLAPACK's descriptor and its grid of processes; also rsrc, csrc,
//                                                lld, order
//     zarr:chunks=(8,30)                         a chunk of zarr each; order=F
//     hdf5:chunks=(8,30)                         a chunk of HDF5 each
//     places:(8)(4,@1)|*                         any placement, by digits: blocks of 8 go round over 4 places, whose
//                                                numbers are 1 apart; a dim that no place divides
//
// The texts are read and written by each system's own file of this folder, which names its source. To add a system:
// write its file and its line in kPlacementSystems (list.cc). Spaces count nowhere.
//
//     const PlacementText text = PlacementText::parse("jax:P('x',None) mesh(x=4,y=2)");
//     const Placement p = text.bind({100, 30});
//     text.name_of(p, 5);                            // "rank 5 (x=2, y=1)"
//     placement_spelling("dtensor", p).text;         // "dtensor:[Shard(0),Replicate()] mesh(4,2)"
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/placement.h"
#include "relayout/interop/spelling.h"

namespace relayout {

/// An axis of a mesh of places: its name, "" where the text gives none, and its digit of the places' numbers.
struct MeshAxis {
  std::string name{};
  int64_t extent = 1, step = 1;
};

/// What the text says of one dim.
struct PlacedDim {
  /// Axes of the mesh that the dim goes over, the outermost first.
  std::vector<std::size_t> axes{};
  /// How many indices a block has; without it, as many as give each place one block.
  std::optional<int64_t> block{};
  /// The coordinate that has the first block.
  int64_t first = 0;
  /// What the dim must divide by, or the system cuts it where no mixed radix does.
  int64_t divides = 1;
};

struct PlacementText {
  /// Whether a text is one of these by its beginning, so that it is no layout expression.
  static bool is(std::string_view text);
  /// Errors: parse (with a caret under the position), unsupported (a partial sum, which is no placement of elements).
  static PlacementText parse(std::string_view text);

  /// The placement of a tensor. Errors: invalid_argument (another number of dims than the text has; other dims than the
  /// text fixes), unsupported (a dim that the system would cut where no mixed radix does), and those of Placement::of.
  Placement bind(const Dims& dims) const;
  /// "rank 5 (x=2, y=1)", "chunk c/0/3", "part-3.bin".
  std::string name_of(const Placement& placement, int64_t place) const;
  /// The memory of a place: its part of the tensor by rows or, as in ScaLAPACK, by columns. A chunk at the edge has the
  /// strides of a whole one.
  Layout layout_of(const Placement& placement, int64_t place) const;

  std::string text{};         // as it was written
  std::string_view system{};  // "jax"
  std::string_view noun{};    // "rank", "chunk", "file", "place": what a place is called
  std::vector<MeshAxis> mesh{};
  int64_t places = 1;
  /// Missing dims at the end are whole at every place.
  std::vector<PlacedDim> dims{};
  /// Whether a text must say something of each dim.
  bool all_dims = false;
  /// Chunks: each dim goes over as many places as it has blocks, and these are numbered by rows.
  bool chunked = false;
  /// The first dim of the memory of a place is the innermost.
  bool by_columns = false;
  /// ScaLAPACK's LLD, the step from column to column; without it, as many as a place has rows.
  std::optional<int64_t> leading{};
  /// The dims, where the text fixes them.
  std::optional<Dims> extents{};
  /// Names of files, with {} for the place's number.
  std::string files{};
};

/// The systems, in alphabetical order.
std::span<const std::string_view> placement_systems();

/// A placement in the words of one system, or why it cannot say it. `mesh` has axes that the system's mesh should have,
/// where they fit the placement, as a PlacementText of another system has them; without it, each digit of a dim and of
/// the copies is one. Law: where there is a text, parse(text).bind(p.dims()) == p. Error{invalid_argument} lists the
/// systems where there is none of this name.
Spelling placement_spelling(std::string_view system, const Placement& placement, std::span<const MeshAxis> mesh = {});

}  // namespace relayout
