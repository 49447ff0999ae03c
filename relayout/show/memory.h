// Memory in rows of cells, each with the index that lies there: what the pictures of a layout share, in a terminal and
// as a drawing.
//
// A row is as long as whole runs, so that blocks and pixels stand below each other. A cell's label is its index without
// the dims that do not change in what is shown; rows between the first and the last are left out where there are too
// many.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::show {

/// A digit that has more than one value and a stride: index / place % extent, `stride` apart in memory.
struct Level {
  int64_t stride = 0, place = 1, extent = 1;
  int dim = 0;
  bool inner = false;  // inside a block: a digit outside it follows in the same dim

  int64_t of(const Dims& index) const { return index[dim] / place % extent; }
};

/// The digits from the smallest step in memory to the largest. Of a swizzled layout, those under the exclusive or.
std::vector<Level> levels_of(const Layout& layout);

/// How many cells a row of memory has that reaches `span` offsets: whole runs, and at most `fit`.
int64_t columns_of(const std::vector<Level>& levels, int64_t span, int64_t fit);

/// Whether all indices of a dim share an offset.
bool repeats(const Layout& layout, int dim);

struct MemoryCell {
  int64_t offset = 0;
  Slot slot = Slot::gap;
  Dims index;         // of no gap
  std::string label;  // of elements; "" without dims
};
using MemoryRow = std::vector<MemoryCell>;

/// What stands in the cell of an index, in place of the index: its value.
using LabelOf = std::function<std::string(const Dims&)>;

/// Colours of cells by what they belong to, in place of runs: a number of each index, of `count`, or -1 for none; and
/// what has a colour, "box". Empty where runs have them.
struct CellColours {
  std::function<int64_t(const Dims&)> of = {};
  std::string words = {};
  int64_t count = 0;
};

/// How much is shown.
struct MemoryRoom {
  int64_t rows = 7, first_rows = 5, last_rows = 2;  // all rows where there are at most `rows`
  /// How many cells fit a row, with labels of so many letters.
  std::function<int64_t(int64_t letters)> fit;
  LabelOf label = {};  // the index unless it is given
};

class Memory {
 public:
  /// `letters` has one for each dim.
  Memory(Layout layout, std::string letters, const MemoryRoom& room);

  const Layout& layout() const { return layout_; }
  const std::string& letters() const { return letters_; }
  const std::vector<Level>& levels() const { return levels_; }
  /// The first rows, from the first offset that has an index on; and the last, where some between them are left out.
  const std::vector<MemoryRow>& first() const { return first_; }
  const std::vector<MemoryRow>& last() const { return last_; }
  /// Whether a slot is among the cells that are shown.
  bool shows(Slot slot) const;
  /// Whether labels are values rather than indices.
  bool shows_values() const { return static_cast<bool>(room_.label); }
  /// Cells of a whole row, and letters of the longest label, at least 1.
  int64_t columns() const { return columns_; }
  int64_t label_letters() const { return label_letters_; }
  /// The dims whose index is in the labels.
  const std::vector<int>& dims() const { return dims_; }
  /// "n,c".
  std::string names(const std::vector<int>& dims) const;
  /// "n,c = 0,1": the dims that the labels leave out, with their index in the first or the last rows; "".
  std::string fixed_text(bool of_last) const;
  /// "a,b": the dims that the labels leave out because all their indices share an offset; "".
  std::string repeated_names() const;

 private:
  void fill();
  MemoryRow row_at(int64_t begin) const;
  std::vector<int> changing(const std::vector<int>& back) const;
  std::string label_of(const Dims& index) const;

  Layout layout_;
  std::string letters_;
  MemoryRoom room_;
  std::vector<Level> levels_;
  std::vector<int> dims_;
  std::vector<MemoryRow> first_, last_;
  int64_t columns_ = 1, label_letters_ = 1, begin_ = 0;
};

}  // namespace relayout::show
