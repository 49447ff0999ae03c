// Fields, groups and tiles of an evaluation: see job.h.
#include "relayout/cpu/evaluate/job.h"

#include <algorithm>
#include <numeric>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

using Affine = ValueExpression::Affine;
using Operation = ValueExpression::Operation;

constexpr int64_t kTileValues = 32 << 10, kTileColumns = 4 << 10;

[[noreturn]] void refuse(const std::string& why, const std::string& field, const std::string& value,
                         const std::string& allowed) {
  throw Error(ErrorCode::invalid_argument, "evaluate: " + why, field, value, allowed);
}

/// The extent of tiles in a dim: a multiple of `unit` that lies inside each group or holds whole ones.
int64_t tile_extent(int64_t extent, int64_t unit, std::span<const int64_t> groups, int64_t wanted) {
  const auto fits = [&](int64_t size) {
    return std::ranges::all_of(groups, [&](int64_t group) { return size % group == 0 || group % size == 0; });
  };
  int64_t out = unit;
  for (const int64_t group : groups) out = fits(out) ? out : std::lcm(out, group);
  while (out * 2 <= wanted && out < extent && fits(out * 2)) out *= 2;
  return std::min(out, extent);
}

void plan_tiles(Job& job) {
  std::array<int64_t, 2> unit{job.dst.layout.block(0), job.dst.layout.block(1)};
  std::array<std::vector<int64_t>, 2> groups;
  for (const Leaf& leaf : job.leaves) {
    for (int d = 0; d < 2; ++d) {
      if (leaf.whole(d) && leaf.extent[d] > 1) continue;
      const int64_t block = leaf.field->desc.layout.block(d);
      unit[d] = std::lcm(unit[d], block > 1 ? block * leaf.group[d] : 1);
      groups[static_cast<std::size_t>(d)].push_back(leaf.group[d]);
    }
  }
  // Rows first as few as may be, so that columns are long; then as many as fill a tile.
  const Dims& dims = job.dst.layout.dims();
  const int64_t least = tile_extent(dims[0], unit[0], groups[0], 1);
  job.tile[1] = tile_extent(dims[1], unit[1], groups[1], std::clamp<int64_t>(kTileValues / least, 512, kTileColumns));
  job.tile[0] = tile_extent(dims[0], unit[0], groups[0], std::max<int64_t>(1, kTileValues / job.tile[1]));
}

/// The dims' groups of a field; they divide the values' dims.
Leaf leaf_of(const ValueField& field, const TensorDesc& dst) {
  Leaf leaf{.field = &field, .bytes = nullptr, .group = {}, .extent = {}, .tile_type = DType::f32};
  check_dims(field, dst.layout.dims());
  for (int d = 0; d < 2; ++d) {
    const int64_t own = field.desc.layout.dim(d), all = dst.layout.dim(d);
    leaf.group[static_cast<std::size_t>(d)] = all / own;
    leaf.extent[static_cast<std::size_t>(d)] = all;
  }
  leaf.bytes = checked_bytes(field.buffer, field.desc, "evaluate", field.name).data();
  return leaf;
}

const ValueField& field_called(std::span<const ValueField> fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &ValueField::name);
  if (found != fields.end()) return *found;
  std::string list;
  for (const ValueField& field : fields) list += (list.empty() ? "" : ", ") + escaped(field.name);
  refuse("the value needs the field " + escaped(name) + ", which is not given; there are " + list, escaped(name), list,
         "all fields of the value");
}

/// The type of codes in a tile: one byte each, or f32 for floating ones.
DType code_type(const Leaf& leaf, bool alone) {
  const DType type = leaf.field->desc.dtype;
  if (alone && is_floating(type)) return DType::f32;
  if (alone && kind(type) == DTypeKind::signed_integer && bits(type) <= 8) return DType::s8;
  if (kind(type) == DTypeKind::unsigned_integer && bits(type) <= 8) return DType::u8;
  refuse("field " + escaped(leaf.field->name) + " is a code of type " + std::string(name(type)) +
             (alone ? "" : ", and planes of a code are unsigned"),
         escaped(leaf.field->name), std::string(name(type)), "an integer of up to 8 bits, or a floating code alone");
}

void add_leaves(Job& job, std::span<const ValueField> fields) {
  std::vector<std::string> names;
  for (const ValueExpression::Node& node : job.nodes) {
    job.of.emplace_back();
    if (node.operation != Operation::name) continue;
    const auto known = std::ranges::find(names, node.name);
    job.of.back() = static_cast<std::size_t>(known - names.begin());
    if (known != names.end()) continue;
    names.push_back(node.name);
    job.leaves.push_back(leaf_of(field_called(fields, node.name), job.dst));
  }
  for (const Affine::Plane& plane : job.affine.code) {
    job.planes.push_back(static_cast<std::size_t>(std::ranges::find(names, plane.field) - names.begin()));
    Leaf& leaf = job.leaves[job.planes.back()];
    const bool alone = job.affine.code.size() == 1 && plane.shift == 0;
    job.code_type = leaf.tile_type = code_type(leaf, alone);
    if (!alone && bits(leaf.field->desc.dtype) + plane.shift > 8)
      refuse("field " + escaped(plane.field) + " << " + std::to_string(plane.shift) + " has more than 8 bits",
             escaped(plane.field), std::to_string(plane.shift), "a code of up to 8 bits");
  }
  job.group = {job.dst.layout.dim(0), job.dst.layout.dim(1)};
  for (std::size_t k = 0; k < job.leaves.size(); ++k) {
    if (std::ranges::find(job.planes, k) != job.planes.end()) continue;
    for (int d = 0; d < 2; ++d) job.group[d] = std::gcd(job.group[d], job.leaves[k].group[d]);
  }
}

}  // namespace

bool stored_as_computed(const TensorDesc& dst) {
  const DType types[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e5m2, DType::f8_e4m3};
  return std::ranges::find(types, dst.dtype) != std::end(types) && !dst.layout.swizzled();
}

void check_dims(const ValueField& field, const Dims& values) {
  const Dims& own = field.desc.layout.dims();
  bool divides = own.size() == 2;
  for (int d = 0; divides && d < 2; ++d) divides = own[d] > 0 && values[d] % own[d] == 0;
  if (!divides)
    refuse("field " + escaped(field.name) + " has dims " + join(own) + ", which do not divide those of the values, " +
               join(values),
           escaped(field.name), join(own), "dims that divide " + join(values));
}

void check_apart(std::span<const ValueField> fields, const TensorDesc& dst, const std::byte* out) {
  const std::byte* end = out + dst.span_bytes();
  for (const ValueField& field : fields) {
    const std::byte* begin = field.buffer.bytes().data();
    if (begin < end && out < begin + field.desc.span_bytes())
      throw Error(ErrorCode::overlap, "evaluate: field " + escaped(field.name) + " and the destination share memory",
                  escaped(field.name), {}, "buffers of their own");
  }
}

Job make_job(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
             const Elements& out) {
  if (dst.layout.ndims() != 2)
    refuse("the destination has " + std::to_string(dst.layout.ndims()) + " dims", "dims", join(dst.layout.dims()),
           "2 dims");
  const auto is_code = [&](std::string_view name) {
    return field_called(fields, std::string(name)).desc.layout.dims() == dst.layout.dims();
  };
  Job job{.nodes = expression.nodes(), .affine = expression.affine(is_code), .dst = dst};
  job.out = checked_bytes(out, dst, "evaluate", "destination").data();
  // A plan of all values at once checks the destination, and says whether it is written past the caches.
  job.streams = make_plan({Layout::contiguous(dst.layout.dims()), DType::f32}, dst).streams();
  if (dst.layout.empty()) return job;
  add_leaves(job, fields);
  check_apart(fields, dst, job.out);
  job.dense_rows = dst.layout.digits(1).size() == 1 && dst.layout.outer_stride(1) == 1 && dst.layout.block(0) == 1;
  plan_tiles(job);
  return job;
}

}  // namespace relayout::cpu
