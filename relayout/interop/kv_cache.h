// Paged key/value caches of attention: their layouts, where a position of a sequence lies, and a sequence as runs.
//
// A cache is cut into blocks (pages) of `block_size` slots. A sequence owns some blocks, in any order, and its table
// lists them: position p is slot p % block_size of block table[p / block_size].
//
//     const kv_cache::Cache cache{.blocks = 1000, .block_size = 16, .heads = 8, .dim = 128};   // FlashInfer, NHD
//     const std::vector<int64_t> table{7, 3, 42};
//     kv_cache::locate(cache, table, 17);                        // block 3, slot 1
//     kv_cache::runs_of(cache, table, 0, 40);                    // 16 slots of block 7, 16 of block 3, 8 of block 42
//
// Systems differ in the order of the dims in memory and in where keys and values stand. The layouts here all have the
// dims (key or value, block, slot, head, element), or (block, slot, head, element) where keys and values are tensors of
// their own, so that one index means the same in each.
//
// Source: FlashInfer, docs/tutorials/kv_layout.rst; vLLM, vllm/v1/attention/backends (get_kv_cache_shape) and
// vllm/attention/ops/paged_attn.py.
#pragma once

#include <span>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::kv_cache {

/// The order of memory inside a block, outermost first.
enum class Order : uint8_t {
  nhd,              // slot, head, element
  hnd,              // head, slot, element
  key_packed,       // head, element / packed, slot, packed elements: keys of vLLM's PagedAttention
  value_transposed  // head, element, slot: values of vLLM's PagedAttention
};

/// Where keys and values stand.
enum class Pairing : uint8_t {
  in_block,  // [blocks, 2, ...]: FlashInfer, and vLLM with it
  first,     // [2, blocks, ...]: vLLM's FlashAttention
  separate   // a tensor each; key_packed and value_transposed are always apart
};

enum class Part : uint8_t { key = 0, value = 1 };

struct Cache {
  Order order = Order::nhd;
  Pairing pairing = Pairing::in_block;
  int64_t blocks = 0, block_size = 0, heads = 0, dim = 0;
  /// Of key_packed: elements side by side, 16 bytes of them in vLLM.
  int64_t packed = 8;
};

/// The cache's layout, dense: dims (2, blocks, block_size, heads, dim), or without the first where keys and values are
/// separate. Errors: invalid_argument (an extent below 1, a dim that is no multiple of `packed`; key_packed or
/// value_transposed that are not separate), overflow.
Layout layout_of(const Cache& cache);

struct Location {
  int64_t block = 0, slot = 0;
  /// Of the head's first element, in elements of the tensor that holds the part.
  int64_t offset = 0;
};

/// Where a position's key or value of one head lies. Errors: invalid_argument, naming the entry: a position without a
/// table entry, an entry that is no block of the cache (such as -1, with which vLLM fills tables up), a head that there
/// is not; those of layout_of().
Location locate(const Cache& cache, std::span<const int64_t> table, int64_t position, int64_t head = 0,
                Part part = Part::key);

/// Slots of one block that follow each other: positions `position` to position + length - 1.
struct Run {
  int64_t position = 0, block = 0, slot = 0, length = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// Positions first to first + length - 1 of a sequence as runs, one a block. Errors as locate(); also invalid_argument
/// where two of the entries are the same block, so that two positions would share memory.
std::vector<Run> runs_of(const Cache& cache, std::span<const int64_t> table, int64_t first, int64_t length);

/// A run of one part as a view of the cache, dims (length, heads, dim): a reorder from it to the slots `position` on of
/// a dense (sequence, heads, dim) gathers a run, the other way round it scatters one.
Layout view_of(const Cache& cache, const Run& run, Part part);

/// How many positions a sequence of FlashInfer has: its pages and the entries of the last one. Error{invalid_argument}
/// unless 1 <= last_page_len <= block_size, or both are 0.
int64_t sequence_length(const Cache& cache, int64_t pages, int64_t last_page_len);

}  // namespace relayout::kv_cache
