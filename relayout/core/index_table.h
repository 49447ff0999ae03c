// IndexTable: where the indices of one dim stand, as a list, for what no sum of digits says: the pages of a key/value
// cache, the rows of a ragged batch, the rows of weights in the order of activations, the blocks of a sparse matrix.
//
// A table stands in front of a dim of a layout. Index i of the reorder's dim stands at index table[i] of the layout's
// dim; or, where a table lists blocks, at table[i / block] * block + i % block. The layout behind it stays a sum of
// digits, and so does all that is known of it.
//
//     IndexTable rows(0, {7, 7, 2});            // index 0 and 1 stand at 7, index 2 at 2
//     IndexTable pages(0, {5, 3}, 16);          // 0..15 at 80..95, 16..31 at 48..63
//     IndexTable::ragged(0, {0, 3, 3, 8}, 6);   // rows of 3, 0 and 5 indices, each at the start of a row of 6
//
// In a source, a table *gathers*: entries may repeat, and kNone says that there is no such index: what is written is
// padding. In a destination it *scatters*: entries must differ, kNone drops an index, and what no entry names stays.
// Attributes (reorder/attributes.h) take tables for both sides.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout {

class IndexTable {
 public:
  /// The entry of an index that stands nowhere.
  static constexpr int64_t kNone = -1;

  /// Of a dim, with an entry for each index, or for each `block` of them. Copies of a table share the entries.
  /// Error{invalid_argument} unless 0 <= dim < kMaxDims and block >= 1; the entries are checked once their bound is
  /// known, by check().
  IndexTable(int dim, std::vector<int64_t> entries, int64_t block = 1);

  /// A ragged batch: row r has the indices starts[r] to starts[r + 1] - 1, and they stand at r * longest and after it.
  /// `starts` has one number more than rows, the first of them 0. Error{invalid_argument} names the row where they
  /// descend or where a row is longer than `longest`.
  static IndexTable ragged(int dim, std::span<const int64_t> starts, int64_t longest);
  /// A sparse matrix by rows (CSR), also of blocks (BCSR): entry k of row r, starts[r] <= k < starts[r + 1], stands at
  /// r * columns + indices[k]. Errors as for ragged(), also where an index is not in 0..columns-1.
  static IndexTable sparse_rows(int dim, std::span<const int64_t> starts, std::span<const int64_t> indices,
                                int64_t columns);

  int dim() const { return dim_; }
  int64_t block() const { return block_; }
  std::span<const int64_t> entries() const { return *entries_; }
  /// How many indices the table is for.
  int64_t indices() const { return static_cast<int64_t>(entries_->size()) * block_; }

  /// Error{invalid_argument} that names the entry, its value and the bound unless all of the first `indices` indices
  /// stand below `extent` or nowhere; and, where they must be `distinct`, Error{not_injective} with two entries that
  /// are equal. `name` says which table it is ("src_index of dim 0").
  void check(int64_t indices, int64_t extent, bool distinct, std::string_view name) const;

  /// The same entries; copies are found equal at once.
  friend bool operator==(const IndexTable& a, const IndexTable& b);

 private:
  /// The first `used` indices of an entry stand below `extent`.
  void check_entry(int64_t e, int64_t used, int64_t extent, std::string_view name) const;

  int dim_;
  int64_t block_;
  std::shared_ptr<const std::vector<int64_t>> entries_;
};

}  // namespace relayout
