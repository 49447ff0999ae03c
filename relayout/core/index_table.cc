// Index tables: how they are made, and their checks.
#include "relayout/core/index_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/core/extents.h"

namespace relayout {
namespace {

[[noreturn]] void refuse_table(const std::string& what, const std::string& field, const std::string& value,
                               const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "index table: " + what, field, value, limit);
}

/// `starts` are 0, then ascending.
void check_starts(std::span<const int64_t> starts) {
  if (starts.empty() || starts[0] != 0) {
    const std::string first = starts.empty() ? "none" : std::to_string(starts[0]);
    refuse_table("the first of the rows' starts is " + first + "; it must be 0, and the last one is where all rows end",
                 "starts[0]", first, "0");
  }
  for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
    if (starts[r] <= starts[r + 1]) continue;
    const std::string begin = std::to_string(starts[r]), end = std::to_string(starts[r + 1]);
    refuse_table(
        "row " + std::to_string(r) + " starts at " + begin + " and ends at " + end + "; starts must not descend",
        "starts[" + std::to_string(r + 1) + "]", end, begin + "...");
  }
}

/// r * columns + columns - 1 is a number of 63 bits.
void check_product(int64_t rows, int64_t columns, const char* name) {
  if (columns >= 0 && checked_mul(rows, columns)) return;
  const std::string value = std::to_string(columns);
  refuse_table(
      std::string(name) + " is " + value + (columns < 0 ? "; it must be 0 or more" : ", which overflows 63 bits"), name,
      value, "0...");
}

/// Two entries that are equal and below `bound`, but for kNone.
std::optional<std::pair<int64_t, int64_t>> equal_entries(std::span<const int64_t> list, int64_t bound) {
  const auto count = static_cast<int64_t>(list.size());
  /// Entries are sorted where they are fewer than one in so many, and else noted in a bit each.
  constexpr int64_t kFew = 64;
  if (count < bound / kFew) {
    std::vector<std::pair<int64_t, int64_t>> sorted;
    for (int64_t e = 0; e < count; ++e) {
      const int64_t value = list[static_cast<std::size_t>(e)];
      if (value != IndexTable::kNone) sorted.emplace_back(value, e);
    }
    std::ranges::sort(sorted);
    const auto same = std::ranges::adjacent_find(sorted, {}, &std::pair<int64_t, int64_t>::first);
    if (same == sorted.end()) return {};
    return std::pair(same->second, same[1].second);
  }
  std::vector<bool> seen(static_cast<std::size_t>(bound));
  for (int64_t e = 0; e < count; ++e) {
    const int64_t value = list[static_cast<std::size_t>(e)];
    if (value == IndexTable::kNone) continue;
    if (seen[static_cast<std::size_t>(value)]) return std::pair(std::ranges::find(list, value) - list.begin(), e);
    seen[static_cast<std::size_t>(value)] = true;
  }
  return {};
}

}  // namespace

IndexTable::IndexTable(int dim, std::vector<int64_t> entries, int64_t block)
    : dim_(dim), block_(block), entries_(std::make_shared<const std::vector<int64_t>>(std::move(entries))) {
  if (dim < 0 || dim >= kMaxDims) {
    const std::string most = std::to_string(kMaxDims - 1);
    refuse_table("its dim is " + std::to_string(dim) + "; dims are numbered from 0, at most to " + most, "dim",
                 std::to_string(dim), "0.." + most);
  }
  if (block < 1)
    refuse_table("its block is " + std::to_string(block) + "; a block has 1 index or more", "block",
                 std::to_string(block), "1...");
  if (!checked_mul(block, static_cast<int64_t>(entries_->size())))
    refuse_table("blocks of " + std::to_string(block) + " indices overflow 63 bits", "block", std::to_string(block),
                 "");
}

IndexTable IndexTable::ragged(int dim, std::span<const int64_t> starts, int64_t longest) {
  check_starts(starts);
  check_product(static_cast<int64_t>(starts.size()), longest, "longest");
  std::vector<int64_t> entries(static_cast<std::size_t>(starts.back()));
  for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
    const int64_t length = starts[r + 1] - starts[r];
    if (length > longest) {
      refuse_table("row " + std::to_string(r) + " has " + std::to_string(length) +
                       " indices, more than the longest row, " + std::to_string(longest),
                   "starts[" + std::to_string(r + 1) + "]", std::to_string(length), std::to_string(longest));
    }
    const auto first = entries.begin() + starts[r];
    std::iota(first, first + length, static_cast<int64_t>(r) * longest);
  }
  return {dim, std::move(entries)};
}

IndexTable IndexTable::sparse_rows(int dim, std::span<const int64_t> starts, std::span<const int64_t> indices,
                                   int64_t columns) {
  check_starts(starts);
  check_product(static_cast<int64_t>(starts.size()), columns, "columns");
  if (starts.back() != static_cast<int64_t>(indices.size())) {
    const std::string have = std::to_string(indices.size()), want = std::to_string(starts.back());
    refuse_table("there are " + have + " column indices, and the rows' starts end at " + want, "indices", have, want);
  }
  std::vector<int64_t> entries(indices.begin(), indices.end());
  for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
    for (int64_t k = starts[r]; k < starts[r + 1]; ++k) {
      int64_t& entry = entries[static_cast<std::size_t>(k)];
      if (entry < 0 || entry >= columns) {
        refuse_table("entry " + std::to_string(k) + ", of row " + std::to_string(r) + ", is column " +
                         std::to_string(entry) + "; there are " + std::to_string(columns),
                     "indices[" + std::to_string(k) + "]", std::to_string(entry), "0.." + std::to_string(columns - 1));
      }
      entry += static_cast<int64_t>(r) * columns;
    }
  }
  return {dim, std::move(entries)};
}

void IndexTable::check(int64_t indices, int64_t extent, bool distinct, std::string_view name) const {
  const std::span<const int64_t> list = entries();
  const int64_t whole = extent / block_, count = static_cast<int64_t>(list.size());
  int64_t least = kNone, most = kNone;
  for (const int64_t value : list) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least < kNone || most >= whole) {
    for (int64_t e = 0; e < count; ++e) check_entry(e, std::min(block_, indices - e * block_), extent, name);
  }
  if (!distinct) return;
  if (const auto same = equal_entries(list, ceil_div(extent, block_))) {
    const std::string value = std::to_string(list[static_cast<std::size_t>(same->second)]), own(name);
    throw Error(ErrorCode::not_injective,
                "reorder: entries " + std::to_string(same->first) + " and " + std::to_string(same->second) + " of " +
                    own + " are both " + value + "; those of a destination must differ",
                own + "[" + std::to_string(same->second) + "]", value, "entries that differ");
  }
}

void IndexTable::check_entry(int64_t e, int64_t used, int64_t extent, std::string_view name) const {
  // The last block of the layout may be a part of one; then an entry may use that part.
  const int64_t value = entries()[static_cast<std::size_t>(e)], whole = extent / block_;
  const int64_t rest = extent - whole * block_;
  if (value == kNone || (value >= 0 && (value < whole || (value == whole && used <= rest)))) return;
  const std::string own(name), here = std::to_string(value), most = std::to_string(ceil_div(extent, block_) - 1);
  const std::string bound = extent == 0                  ? "; the layout's dim is empty"
                            : value == whole && rest > 0 ? ", of which the layout has only " + std::to_string(rest) +
                                                               " of " + std::to_string(block_) + " indices"
                                                         : "; the layout has 0 to " + most + ", and -1 stands for none";
  throw Error(
      ErrorCode::invalid_argument,
      "reorder: entry " + std::to_string(e) + " of " + own + " is " + (block_ > 1 ? "block " : "index ") + here + bound,
      own + "[" + std::to_string(e) + "]", here, "0.." + most);
}

bool operator==(const IndexTable& a, const IndexTable& b) {
  return a.dim_ == b.dim_ && a.block_ == b.block_ && (a.entries_ == b.entries_ || *a.entries_ == *b.entries_);
}

}  // namespace relayout
