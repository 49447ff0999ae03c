// Mixed radices of blocks and places.
#include "relayout/core/placement.h"

#include <algorithm>

#include "relayout/core/error.h"

namespace relayout {
namespace {

[[noreturn]] void refuse_placement(const std::string& what, const std::string& field) {
  throw Error(ErrorCode::invalid_argument, "placement: " + what, field);
}

/// The digits of places that no dim has: what a mixed radix of all places lacks. Refuses digits that do not fit one.
Digits missing(std::vector<Digit> used, int64_t places) {
  Digits out;
  std::ranges::sort(used, {}, &Digit::stride);
  int64_t reached = 1;
  for (const Digit& digit : used) {
    if (digit.extent == 1) continue;
    if (digit.stride < reached || digit.stride % reached != 0)
      refuse_placement("the step " + std::to_string(digit.stride) + " of " + std::to_string(digit.extent) +
                           " places does not follow the " + std::to_string(reached) + " places of the digits below it",
                       "places");
    if (digit.stride > reached) out.push_back({digit.stride / reached, reached});
    reached = digit.stride * digit.extent;
  }
  if (places % reached != 0)
    refuse_placement(
        "the digits have " + std::to_string(reached) + " places, which do not divide " + std::to_string(places),
        "places");
  if (places > reached) out.push_back({places / reached, reached});
  return out;
}

/// Refuses digits of a dim, and blocks over them, that do not fit 64 bits.
void check_fits(const DimPlaces& dim, const std::string& named) {
  std::optional<int64_t> round = dim.block;
  for (const Digit& digit : dim.places) {
    if (round) round = checked_mul(*round, digit.extent);
    if (!round || !checked_mul(digit.extent, digit.stride))
      throw Error(ErrorCode::overflow, "placement: the places of " + named + " overflow 63 bits", "places");
  }
}

/// The digits without those of one place, and neighbours that are one digit as one, so that equal functions are equal.
Digits canonical(const Digits& digits) {
  Digits out;
  for (const Digit& digit : digits) {
    if (digit.extent == 1) continue;
    if (!out.empty() && out.back().stride * out.back().extent == digit.stride)
      out.back().extent *= digit.extent;
    else
      out.push_back(digit);
  }
  return out;
}

}  // namespace

int64_t DimPlaces::count() const {
  std::optional<int64_t> out = 1;
  for (const Digit& digit : places) {
    out = checked_mul(*out, digit.extent);
    if (out) continue;
    Dims extents;
    for (const Digit& each : places) extents.push_back(each.extent);
    throw Error(ErrorCode::overflow, "placement: the product of the places " + join(extents) + " overflows 63 bits",
                "places", join(extents));
  }
  return *out;
}

Placement Placement::of(const Dims& dims, int64_t places, const std::vector<DimPlaces>& of_dims) {
  if (std::ssize(of_dims) != dims.size())
    refuse_placement(
        std::to_string(of_dims.size()) + " dims are placed, and the tensor has " + std::to_string(dims.size()), "dims");
  if (places < 1) refuse_placement(std::to_string(places) + " places", "places");
  Placement out;
  out.dims_ = dims;
  out.places_ = places;
  out.of_dims_ = of_dims;
  std::vector<Digit> used;
  for (int d = 0; d < dims.size(); ++d) {
    DimPlaces& dim = out.of_dims_[static_cast<std::size_t>(d)];
    const std::string named = "dim " + std::to_string(d);
    if (dim.block < 1) refuse_placement(named + " has blocks of " + std::to_string(dim.block) + " indices", "block");
    for (const Digit& digit : dim.places) {
      if (digit.extent < 1 || digit.stride < 1) refuse_placement(named + " goes over no places", "places");
      used.push_back(digit);
    }
    check_fits(dim, named);
    dim.places = canonical(dim.places);
    if (dim.first < 0 || dim.first >= dim.count())
      refuse_placement(
          named + " begins at coordinate " + std::to_string(dim.first) + " of " + std::to_string(dim.count()), "first");
    if (dim.count() == 1) dim.block = std::max<int64_t>(1, dims[d]);
  }
  out.copies_ = missing(std::move(used), places);
  return out;
}

Placement Placement::chunks(const Dims& dims, const Dims& chunk) {
  if (chunk.size() != dims.size())
    refuse_placement(
        "chunks of " + std::to_string(chunk.size()) + " dims, and the tensor has " + std::to_string(dims.size()),
        "chunk");
  std::vector<DimPlaces> of_dims(static_cast<std::size_t>(dims.size()));
  int64_t places = 1;
  for (int d = dims.size(); d-- > 0;) {
    if (chunk[d] < 1) refuse_placement("chunks of " + std::to_string(chunk[d]) + " indices", "chunk");
    const int64_t count = std::max<int64_t>(1, ceil_div(dims[d], chunk[d]));
    of_dims[static_cast<std::size_t>(d)] = {chunk[d], Digits{{count, places}}};
    const std::optional<int64_t> all = checked_mul(places, count);
    if (!all) throw Error(ErrorCode::overflow, "placement: the number of chunks overflows 63 bits", "chunk");
    places = *all;
  }
  return of(dims, places, of_dims);
}

int64_t Placement::copy_count() const {
  int64_t out = 1;
  for (const Digit& digit : copies_) out *= digit.extent;
  return out;
}

int64_t Placement::copy_step(int64_t k) const {
  int64_t out = 0;
  for (const Digit& digit : copies_) {
    out += k % digit.extent * digit.stride;
    k /= digit.extent;
  }
  return out;
}

int64_t Placement::place_at(const Dims& coordinates) const {
  int64_t out = 0;
  for (int d = 0; d < coordinates.size(); ++d) {
    int64_t left = coordinates[d];
    for (const Digit& digit : of_dims_[static_cast<std::size_t>(d)].places) {
      out += left % digit.extent * digit.stride;
      left /= digit.extent;
    }
  }
  return out;
}

int64_t Placement::place(const Dims& index) const {
  Dims coordinates(dims_.size(), 0);
  for (int d = 0; d < dims_.size(); ++d) {
    const DimPlaces& dim = of_dims_[static_cast<std::size_t>(d)];
    if (index[d] < 0 || index[d] >= dims_[d])
      throw Error(ErrorCode::invalid_argument,
                  "placement: index " + std::to_string(index[d]) + " of dim " + std::to_string(d) + ", which has " +
                      std::to_string(dims_[d]),
                  "index[" + std::to_string(d) + "]", std::to_string(index[d]), std::to_string(dims_[d]));
    coordinates[d] = (index[d] / dim.block + dim.first) % dim.count();
  }
  return place_at(coordinates);
}

Dims Placement::local_index(const Dims& index) const {
  Dims out(dims_.size(), 0);
  for (int d = 0; d < dims_.size(); ++d) {
    const DimPlaces& dim = of_dims_[static_cast<std::size_t>(d)];
    out[d] = index[d] / (dim.block * dim.count()) * dim.block + index[d] % dim.block;
  }
  return out;
}

int64_t Placement::coordinate(int64_t place, int d) const {
  int64_t out = 0, radix = 1;
  for (const Digit& digit : of_dims_[static_cast<std::size_t>(d)].places) {
    out += place / digit.stride % digit.extent * radix;
    radix *= digit.extent;
  }
  return out;
}

Dims Placement::local_dims(int64_t place) const {
  Dims out(dims_.size(), 0);
  for (int d = 0; d < dims_.size(); ++d) {
    const DimPlaces& dim = of_dims_[static_cast<std::size_t>(d)];
    const int64_t count = dim.count(), round = dim.block * count;
    const int64_t turn = (coordinate(place, d) - dim.first + count) % count;  // whose blocks come after how many others
    out[d] = dims_[d] / round * dim.block + std::clamp<int64_t>(dims_[d] % round - turn * dim.block, 0, dim.block);
  }
  return out;
}

Dims Placement::global_index(int64_t place, const Dims& local) const {
  Dims out(dims_.size(), 0);
  for (int d = 0; d < dims_.size(); ++d) {
    const DimPlaces& dim = of_dims_[static_cast<std::size_t>(d)];
    const int64_t count = dim.count();
    const int64_t turn = (coordinate(place, d) - dim.first + count) % count;
    out[d] = (local[d] / dim.block * count + turn) * dim.block + local[d] % dim.block;
  }
  return out;
}

}  // namespace relayout
