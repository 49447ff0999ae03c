// Paged key/value caches as layouts of tags, and their tables: see kv_cache.h.
#include "relayout/interop/kv_cache.h"

#include <map>
#include <string>

#include "relayout/core/format.h"
#include "relayout/core/view.h"

namespace relayout::kv_cache {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& field, int64_t value, const std::string& allowed) {
  throw Error(ErrorCode::invalid_argument, "kv_cache: " + why, field, std::to_string(value), allowed);
}

void check_cache(const Cache& cache) {
  const std::pair<const char*, int64_t> extents[] = {
      {"blocks", cache.blocks}, {"block_size", cache.block_size}, {"heads", cache.heads}, {"dim", cache.dim}};
  for (const auto& [what, extent] : extents) {
    if (extent < 1) refuse(std::string(what) + " is " + std::to_string(extent), what, extent, "1 or more");
  }
  const bool paged_attention = cache.order == Order::key_packed || cache.order == Order::value_transposed;
  if (paged_attention && cache.pairing != Pairing::separate)
    refuse("the keys and the values of PagedAttention lie in different orders, so that they are two tensors", "pairing",
           static_cast<int64_t>(cache.pairing), "separate");
  if (cache.order == Order::key_packed && (cache.packed < 1 || cache.dim % cache.packed != 0))
    refuse("dim is " + std::to_string(cache.dim) + ", which is no multiple of the " + std::to_string(cache.packed) +
               " elements that are packed",
           "dim", cache.dim, "a multiple of " + std::to_string(cache.packed));
}

/// The tag of the dims (block, slot, head, element).
std::string tag_of_blocks(const Cache& cache) {
  switch (cache.order) {
    case Order::nhd: return "abcd";
    case Order::hnd: return "acbd";
    case Order::key_packed: return "acDb" + std::to_string(cache.packed) + "d";
    case Order::value_transposed: return "acdb";
  }
  return "";
}

/// The block of one table entry, checked.
int64_t block_of(const Cache& cache, std::span<const int64_t> table, int64_t position) {
  const int64_t entry = position / cache.block_size;
  if (position < 0) refuse("position " + std::to_string(position), "position", position, "0 or more");
  if (entry >= static_cast<int64_t>(table.size()))
    refuse("position " + std::to_string(position) + " is in entry " + std::to_string(entry) + " of a table of " +
               std::to_string(table.size()),
           "position", position, std::to_string(static_cast<int64_t>(table.size()) * cache.block_size - 1));
  const int64_t block = table[static_cast<std::size_t>(entry)];
  if (block < 0 || block >= cache.blocks)
    refuse("entry " + std::to_string(entry) + " of the table is " + std::to_string(block) +
               ", and the cache has blocks 0 to " + std::to_string(cache.blocks - 1),
           "table[" + std::to_string(entry) + "]", block, "0 to " + std::to_string(cache.blocks - 1));
  return block;
}

/// The part's layout, dims (block, slot, head, element).
Layout part_of(const Cache& cache, Part part) {
  const Layout all = layout_of(cache);
  return cache.pairing == Pairing::separate ? all : select(all, 0, static_cast<int64_t>(part));
}

}  // namespace

Layout layout_of(const Cache& cache) {
  check_cache(cache);
  const Dims dims{cache.blocks, cache.block_size, cache.heads, cache.dim};
  if (cache.pairing == Pairing::separate) return Format::parse(tag_of_blocks(cache)).bind(dims);
  // One dim more, a, before the blocks or behind them; the other letters move up.
  std::string tag = tag_of_blocks(cache);
  for (char& letter : tag) ++letter;
  tag.insert(cache.pairing == Pairing::first ? 0 : 1, "a");
  return Format::parse(tag).bind({2, cache.blocks, cache.block_size, cache.heads, cache.dim});
}

Location locate(const Cache& cache, std::span<const int64_t> table, int64_t position, int64_t head, Part part) {
  check_cache(cache);
  if (head < 0 || head >= cache.heads)
    refuse("head " + std::to_string(head) + " of " + std::to_string(cache.heads), "head", head,
           "0 to " + std::to_string(cache.heads - 1));
  Location out{block_of(cache, table, position), position % cache.block_size, 0};
  out.offset = part_of(cache, part).offset({out.block, out.slot, head, 0});
  return out;
}

std::vector<Run> runs_of(const Cache& cache, std::span<const int64_t> table, int64_t first, int64_t length) {
  check_cache(cache);
  if (first < 0) refuse("position " + std::to_string(first), "position", first, "0 or more");
  if (length < 0) refuse("a length of " + std::to_string(length), "length", length, "0 or more");
  const auto end = checked_add(first, length);
  if (!end)
    refuse("positions from " + std::to_string(first) + " on, " + std::to_string(length) + " of them", "length", length,
           "63 bits");
  std::vector<Run> out;
  std::map<int64_t, int64_t> entry_of_block;
  for (int64_t position = first; position < *end;) {
    const int64_t block = block_of(cache, table, position), slot = position % cache.block_size;
    const int64_t entry = position / cache.block_size;
    const auto [seen, is_new] = entry_of_block.emplace(block, entry);
    if (!is_new)
      refuse("entries " + std::to_string(seen->second) + " and " + std::to_string(entry) +
                 " of the table are both block " + std::to_string(block) + ", so that two positions share memory",
             "table[" + std::to_string(entry) + "]", block, "a block once");
    out.push_back({position, block, slot, std::min(cache.block_size - slot, *end - position)});
    position += out.back().length;
  }
  return out;
}

Layout view_of(const Cache& cache, const Run& run, Part part) {
  const Layout all = part_of(cache, part);
  if (run.block < 0 || run.block >= cache.blocks)
    refuse("block " + std::to_string(run.block) + " of " + std::to_string(cache.blocks), "block", run.block,
           "0 to " + std::to_string(cache.blocks - 1));
  return narrow(select(all, 0, run.block), 0, run.slot, run.length);
}

int64_t sequence_length(const Cache& cache, int64_t pages, int64_t last_page_len) {
  check_cache(cache);
  if (pages == 0 && last_page_len == 0) return 0;
  if (pages < 1) refuse(std::to_string(pages) + " pages", "pages", pages, "0 or more");
  if (last_page_len < 1 || last_page_len > cache.block_size)
    refuse("the last page has " + std::to_string(last_page_len) + " entries, and a page has 1 to " +
               std::to_string(cache.block_size),
           "last_page_len", last_page_len, "1 to " + std::to_string(cache.block_size));
  const auto before = checked_mul(pages - 1, cache.block_size);
  const auto out = before ? checked_add(*before, last_page_len) : std::nullopt;
  if (!out) refuse(std::to_string(pages) + " pages do not fit 63 bits", "pages", pages, "63 bits");
  return *out;
}

}  // namespace relayout::kv_cache
