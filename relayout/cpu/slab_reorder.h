// reorder_slabs(): a reorder between two files that may be larger than memory, slab by slab (reorder/slabs.h).
//
// It also does what no plan can: it turns the bytes of big-endian elements round, and brings gates into an order that
// is no layout, one gate after the other (core/gates.h). The command and Python's convert_file() both convert by it.
//
//     const SlabSource src{.desc = src_desc, .bytes = file.bytes(0), .mapped = file.mapped(0)};
//     const SlabDestination dst{.desc = dst_desc, .bytes = writer.bytes(), .mapped = writer.mapped()};
//     const SlabGrid grid = slab_grid(src, dst, 64 << 20);        // takes grid.slab_bytes() + held_bytes(src, dst)
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
};

struct SlabDestination {
  TensorDesc desc;
  std::span<std::byte> bytes;
  bool mapped = false;
  std::optional<Format::GateOrder> gates{};
};

/// Whether the layout's order of gates can be had only by copying one gate after the other, with
/// format.without_gates(): no layout has it or, where it is to be written, only one with padding that lies on other
/// gates.
bool gates_are_no_layout(const Format& format, const Dims& dims, bool written);

/// Bytes that are in memory whatever the slabs are: those of sides that are not mapped.
int64_t held_bytes(const SlabSource& src, const SlabDestination& dst);

/// The slabs in which a reorder takes at most `max_memory` bytes, with held_bytes(): the smallest possible ones where
/// even those take more, which grid.slab_bytes() + held_bytes() tells. Without a limit one slab, but where bytes are
/// turned round, which takes 64 MiB, or gates are copied one after the other.
SlabGrid slab_grid(const SlabSource& src, const SlabDestination& dst, std::optional<int64_t> max_memory);

/// Reorders one slab and writes it to `dst_bytes` in the layout `dst`, which is the slab's own. `scratch` is used where
/// bytes are turned round. Errors: those of Plan::make.
void reorder_slab(const SlabSource& src, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, const RunOptions& options, std::vector<std::byte>& scratch);

/// Reorders all slabs, and drops the pages of mapped sides behind them where there are several. `attributes` are those
/// of the whole tensor; beta must be 0 where bytes are turned round. With index tables, there is one slab and no order
/// of gates. `go_on` is called as by run_in_parts(), with slabs or, of one slab, bytes. Returns whether it always
/// answered true. Errors: buffer_too_small, and those of Plan::make.
bool reorder_slabs(const SlabGrid& grid, const SlabSource& src, const SlabDestination& dst,
                   const Attributes& attributes, const RunOptions& options,
                   const std::function<bool(int64_t done, int64_t total)>& go_on);

}  // namespace relayout::cpu
