// Slabs of mapped files: which, and one after the other.
#include "relayout/cpu/slab_reorder.h"

#include <algorithm>

#include "relayout/core/elements.h"
#include "relayout/core/error.h"
#include "relayout/cpu/parts.h"
#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

void swap_items(std::span<std::byte> bytes, int item_bytes) {
  const auto item = static_cast<std::size_t>(item_bytes);
  for (std::size_t at = 0; at + item <= bytes.size(); at += item) {
    std::ranges::reverse(bytes.subspan(at, item));
  }
}

/// The grid, where slabs of both sides have the same gates, cut so that each has one gate.
SlabGrid gate_by_gate(const SlabGrid& grid, const SlabSource& src, const SlabDestination& dst) {
  if (!src.gates && !dst.gates) return grid;
  const Dims& dims = dst.desc.layout.dims();
  Dims step = grid.step();
  for (const auto& gates : {src.gates, dst.gates}) {
    if (gates) step[gates->dim] = 1;
  }
  return SlabGrid(dims, step, grid.slab_bytes());
}

}  // namespace

bool gates_are_no_layout(const Format& format, const Dims& dims, bool written) {
  // Views behind the gates may make other dims, in which one gate could not be found.
  if (!format.gates() || format.views().size() > 1) return false;
  try {
    const Layout layout = format.bind(dims);
    return written && !layout.injective_with_padding();
  } catch (const Error& error) {
    return error.code() == ErrorCode::needs_copy;
  }
}

int64_t scratch_bytes(const SlabSource& src) { return src.swap_item_bytes > 1 ? src.swap_item_bytes : 0; }

int64_t held_bytes(const SlabSource& src, const SlabDestination& dst) {
  return (src.mapped ? 0 : static_cast<int64_t>(src.bytes.size())) + (dst.mapped ? 0 : dst.desc.span_bytes());
}

SlabGrid slab_grid(const SlabSource& src, const SlabDestination& dst) {
  constexpr int64_t kSwapBytes = int64_t{64} << 20;
  const Dims& dims = dst.desc.layout.dims();
  if (scratch_bytes(src) == 0) return gate_by_gate(SlabGrid(dims, dims), src, dst);
  const SlabSide sides[] = {{&src.desc, 0}, {&dst.desc, 0}};
  return gate_by_gate(make_slabs(dims, sides, scratch_bytes(src), kSwapBytes), src, dst);
}

void reorder_slab(const SlabSource& src, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, const RunOptions& options, std::vector<std::byte>& scratch) {
  const TensorDesc from = slab_view(src.desc, slab);
  if (scratch_bytes(src) == 0) {
    run(make_plan(from, dst, attributes), src.bytes, dst_bytes, options);
    return;
  }
  // The elements are collected in dense memory, where their bytes are turned round, and converted from there.
  const TensorDesc packed(Layout::contiguous(slab.dims), from.dtype);
  scratch.resize(static_cast<std::size_t>(packed.span_bytes()));
  run(make_plan(from, packed), src.bytes, scratch, options);
  swap_items(scratch, src.swap_item_bytes);
  run(make_plan(packed, dst, attributes), scratch, dst_bytes, options);
}

Slab with_gates(Slab box, const std::optional<Format::GateOrder>& gates) {
  if (gates) box.offsets[gates->dim] = gates->places[static_cast<int>(box.offsets[gates->dim])];
  return box;
}

void reorder_box(const SlabSource& src, const SlabDestination& dst, const Slab& box, const Attributes& attributes,
                 const RunOptions& options, std::vector<std::byte>& scratch) {
  // Scales and their like count gates as the tensor does, and not as a side does.
  const Attributes own = part_of(attributes, dst.desc.layout.dims(), box.offsets, box.dims);
  reorder_slab(src, with_gates(box, src.gates), slab_view(dst.desc, with_gates(box, dst.gates)), dst.bytes, own,
               options, scratch);
}

bool reorder_slabs(const SlabGrid& grid, const SlabSource& src, const SlabDestination& dst,
                   const Attributes& attributes, const RunOptions& options,
                   const std::function<bool(int64_t, int64_t)>& go_on) {
  if (grid.count() == 1 && scratch_bytes(src) == 0) {
    const auto from = checked_bytes(ConstElements(src.bytes), src.desc, "reorder", "source");
    const auto to = checked_bytes(Elements(dst.bytes), dst.desc, "reorder", "destination");
    return run_in_parts(make_plan(src.desc, dst.desc, attributes), from.data(), to.data(), options, {}, go_on);
  }
  if (attributes.indexed()) {  // of bytes in foreign order
    std::vector<std::byte> turned(src.bytes.begin(), src.bytes.end());
    swap_items(turned, src.swap_item_bytes);
    run(make_plan(src.desc, dst.desc, attributes), turned, dst.bytes, options);
    return go_on(1, 1);
  }
  std::vector<std::byte> scratch;
  for (int64_t i = 0; i < grid.count(); ++i) {
    reorder_box(src, dst, grid.slab(i), attributes, options, scratch);
    if (!go_on(i + 1, grid.count())) return false;
  }
  return true;
}

}  // namespace relayout::cpu
