// Random placements, and where each element of one lies, said by loops that count blocks round.
#pragma once

#include <numeric>
#include <random>
#include <vector>

#include "relayout/core/placement.h"

namespace relayout::test {

class Drawn {
 public:
  explicit Drawn(uint32_t seed) : rng_(seed) {}
  int64_t from_to(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

  /// A mesh of the given extents, of whose axes each goes to some dim or holds copies.
  Placement placement(const Dims& dims, const std::vector<int64_t>& mesh) {
    std::vector<DimPlaces> of_dims(static_cast<std::size_t>(dims.size()));
    int64_t places = 1;
    for (int64_t extent : mesh) {
      const int64_t d = from_to(0, dims.size());
      if (d < dims.size()) of_dims[static_cast<std::size_t>(d)].places.push_back({extent, places});
      places *= extent;
    }
    for (int d = 0; d < dims.size(); ++d) {
      DimPlaces& dim = of_dims[static_cast<std::size_t>(d)];
      const int64_t whole = ceil_div(std::max<int64_t>(1, dims[d]), dim.count());
      dim.block = from_to(0, 2) == 0 ? whole : from_to(1, whole + 2);
      dim.first = from_to(0, dim.count() - 1);
    }
    return Placement::of(dims, places, of_dims);
  }

 private:
  std::mt19937 rng_;
};

/// The places of an element and its index there, by counting blocks round.
struct Home {
  std::vector<int64_t> places;
  Dims local;
};

inline Home home(const Placement& p, const Dims& index) {
  Home out;
  int64_t first = 0;
  for (int d = 0; d < index.size(); ++d) {
    const DimPlaces& dim = p.of_dims()[static_cast<std::size_t>(d)];
    int64_t turn = 0, round = 0;  // goes from block to block up to that of the index
    for (int64_t at = 0; at + dim.block <= index[d]; at += dim.block) {
      if (++turn == dim.count()) {
        turn = 0;
        ++round;
      }
    }
    out.local.push_back(round * dim.block + index[d] % dim.block);
    int64_t coordinate = (turn + dim.first) % dim.count();
    for (const Digit& digit : dim.places) {
      first += coordinate % digit.extent * digit.stride;
      coordinate /= digit.extent;
    }
  }
  for (int64_t k = 0; k < p.copy_count(); ++k) out.places.push_back(first + p.copy_step(k));
  return out;
}

struct PlacementPair {
  Placement src, dst;
};

inline PlacementPair draw_pair(Drawn& draw) {
  Dims dims;
  for (int64_t d = draw.from_to(1, 3); d > 0; --d) dims.push_back(draw.from_to(dims.empty() ? 1 : 0, 19));
  const std::vector<std::vector<int64_t>> meshes = {{4}, {2, 2}, {6}, {3, 2}, {2, 3}, {1}, {2, 1, 3}};
  std::vector<std::vector<int64_t>> same;
  const auto& mesh = meshes[static_cast<std::size_t>(draw.from_to(0, 6))];
  const auto count = [](const std::vector<int64_t>& m) {
    return std::accumulate(m.begin(), m.end(), int64_t{1}, std::multiplies<>());
  };
  for (const auto& other : meshes) {
    if (count(other) == count(mesh)) same.push_back(other);
  }
  const auto& other = same[static_cast<std::size_t>(draw.from_to(0, std::ssize(same) - 1))];
  return {draw.placement(dims, mesh), draw.placement(dims, other)};
}

}  // namespace relayout::test
