// reorder_slabs(): a reorder between two files, slab by slab (reorder/slabs.h) where it is not one plan.
//
// It does what no plan can: it turns the bytes of big-endian elements round, and brings gates into an order that is no
// layout, one gate after the other (core/gates.h). The command and Python's convert_file() both convert by it, and
// under a bound of memory by redistribute/files/run_tasks.h, which calls reorder_slab().
//
//     const SlabSource src{.desc = src_desc, .bytes = file.bytes(0), .mapped = file.mapped(0)};
//     const SlabDestination dst{.desc = dst_desc, .bytes = writer.bytes(), .mapped = writer.mapped()};
//     const SlabGrid grid = slab_grid(src, dst);
//     reorder_slabs(grid, src, dst, {}, {}, [](int64_t done, int64_t total) { return true; });
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/cpu/threads.h"
#include "relayout/reorder/attributes.h"
#include "relayout/reorder/slabs.h"

namespace relayout::cpu {

struct SlabSource {
  TensorDesc desc;
  std::span<const std::byte> bytes;  // desc.span_bytes() at least
  bool mapped = false;               // bytes are a mapping of a file, whose pages may be dropped and read again
  int swap_item_bytes = 0;           // the size of the items whose bytes stand in foreign order; 0 where none do
  /// An order of gates that `desc` does not have: index j of the dim lies where `desc` has index places[j].
  std::optional<Format::GateOrder> gates{};
  /// The file that is mapped, by which pieces are read, and where `bytes` begin in it; -1 where there is none.
  int descriptor = -1;
  int64_t file_offset = 0;
};

struct SlabDestination {
  TensorDesc desc;
  std::span<std::byte> bytes;
  bool mapped = false;
  std::optional<Format::GateOrder> gates{};
  /// The new file that is mapped, by which ranges are written, and where `bytes` begin in it; -1 where there is none.
  int descriptor = -1;
  int64_t file_offset = 0;
};

/// Whether the layout's order of gates can be had only by copying one gate after the other, with
/// format.without_gates(): no layout has it or, where it is to be written, only one with padding that lies on other
/// gates.
bool gates_are_no_layout(const Format& format, const Dims& dims, bool written);

/// Bytes that are in memory whatever the slabs are: those of sides that are not mapped.
int64_t held_bytes(const SlabSource& src, const SlabDestination& dst);

/// The slabs of a reorder that has no bound of memory: one but where bytes are turned round, which takes 64 MiB, or
/// gates are copied one after the other. With a bound: redistribute/files/run_tasks.h.
SlabGrid slab_grid(const SlabSource& src, const SlabDestination& dst);

/// Bytes of scratch memory that reorder_slab() takes for each element.
int64_t scratch_bytes(const SlabSource& src);

/// Reorders one slab and writes it to `dst_bytes` in the layout `dst`, which is the slab's own. `scratch` is used where
/// bytes are turned round. Errors: those of Plan::make.
void reorder_slab(const SlabSource& src, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, const RunOptions& options, std::vector<std::byte>& scratch);

/// A box of indices as it lies on one side, where the gates stand in another order: it has one gate.
Slab with_gates(Slab box, const std::optional<Format::GateOrder>& gates);

/// Reorders a box of indices of both sides, whose gates may stand in other orders: then it has one gate. `attributes`
/// are those of the whole tensor.
void reorder_box(const SlabSource& src, const SlabDestination& dst, const Slab& box, const Attributes& attributes,
                 const RunOptions& options, std::vector<std::byte>& scratch);

/// Reorders all slabs. `attributes` are those of the whole tensor; beta must be 0 where bytes are turned round. With
/// index tables, there is one slab and no order of gates. `go_on` is called as by run_in_parts(), with slabs or, of one
/// slab, bytes. Returns whether it always answered true. Errors: buffer_too_small, and those of Plan::make.
bool reorder_slabs(const SlabGrid& grid, const SlabSource& src, const SlabDestination& dst,
                   const Attributes& attributes, const RunOptions& options,
                   const std::function<bool(int64_t done, int64_t total)>& go_on);

}  // namespace relayout::cpu
