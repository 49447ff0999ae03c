// Placement: which places hold an element, and at which index there.
//
// A place is a rank of a mesh of processes, a chunk of an array, a file: what has memory of its own. It is one more
// digit. A dim of 100 indices in blocks of 8 that go round over 4 ranks has the digits
//
//     (8, memory) (4, rank) (4, memory)        innermost first: index 77 = 5 + 8 * (1 + 4 * 2) is at rank 1, index 21
//     there
//
// and a dim in one block a rank has no outermost digit of memory. What systems call shardings are spellings of this:
// PartitionSpec of JAX, placements of PyTorch's DTensor, the block-cyclic descriptors of ScaLAPACK, the chunk grids of
// zarr (interop/placements/placement_text.h). Axes of a mesh that no dim goes over hold copies.
//
//     const Placement p = Placement::of({100, 30}, 4, {{8, {{4, 1}}}, {30, {}}});
//     p.place({77, 3});          // 1
//     p.local_index({77, 3});    // 21, 3
//     p.local_dims(1);           // 24, 30
#pragma once

#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// How the indices of one dim go over places: in blocks of `block` indices, which go round over the digits of places.
struct DimPlaces {
  int64_t block = 1;
  /// Extents, and the step in numbers of places, innermost first; none where every place has the whole dim.
  Digits places{};
  /// The coordinate that has the first block (ScaLAPACK's RSRC and CSRC).
  int64_t first = 0;

  /// The product of the extents. Error{overflow} where it does not fit 63 bits, which no Placement has.
  int64_t count() const;
  friend bool operator==(const DimPlaces&, const DimPlaces&) = default;
};

class Placement {
 public:
  /// `places`: how many there are. Errors: invalid_argument (another number of dims, a block below 1, digits of places
  /// that are no mixed radix of the number of places or are used twice, a first coordinate that there is none of).
  static Placement of(const Dims& dims, int64_t places, const std::vector<DimPlaces>& of_dims);
  /// Chunks of these extents, numbered in row-major order: a place each.
  static Placement chunks(const Dims& dims, const Dims& chunk);

  const Dims& dims() const { return dims_; }
  int64_t places() const { return places_; }
  const std::vector<DimPlaces>& of_dims() const { return of_dims_; }
  /// The digits of places that no dim goes over: each element is at all their steps.
  const Digits& copies() const { return copies_; }
  int64_t copy_count() const;
  /// What is added to the first place of an element for copy k of it.
  int64_t copy_step(int64_t k) const;

  /// The place with the smallest number that holds an element. Error{invalid_argument}: an index out of range.
  int64_t place(const Dims& index) const;
  /// Its index there.
  Dims local_index(const Dims& index) const;
  /// How many indices of each dim a place has; 0 where blocks do not reach it.
  Dims local_dims(int64_t place) const;
  /// Which coordinate of dim d's places a place has.
  int64_t coordinate(int64_t place, int d) const;
  /// The index of the whole tensor that has this index at a place.
  Dims global_index(int64_t place, const Dims& local) const;
  /// The first of the places with these coordinates.
  int64_t place_at(const Dims& coordinates) const;

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  Dims dims_;
  int64_t places_ = 1;
  std::vector<DimPlaces> of_dims_;
  Digits copies_;
};

}  // namespace relayout
