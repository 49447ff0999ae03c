// The method of line programs: each line of the destination is put together by byte permutations of a few stretches of
// the source (internal to reorder).
//
// Where both sides step by short runs, elements that are moved one by one leave most of each load and store unused. But
// most lines of the destination hold bytes of only a few lines of the source. So the plan lists, for a *unit* of some
// lines of the destination, which *windows* of the source each line needs and which bytes of a window go where. One
// instruction permutes the bytes of a window into their places. The same list serves all units: they differ only by
// where they start on both sides. A window is read as a whole: bytes of it that the line does not need, also in gaps of
// the source, are read and left out, but none before the first or behind the last byte that the unit needs
// (LineProgram::reads). Past the cache, some lines of a unit are made that begins before its region or ends behind it,
// if all that the unit reads lies within the source.
//
//     s16 ncw -> nwc with 3 channels of 21: a line has two or three windows of an image of 126 bytes
//
// One program can do all boxes of a reorder and set the padding between them, so that blocks that do not nest, and
// tails, need no boxes of their own. A unit then has all elements that differ from box to box.
//
//     u8 nChw6c -> nChw16c, c = 41: a unit is a few images, of which a line has windows of three blocks of 6
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "relayout/core/swizzle.h"
#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/program_unit.h"
#include "relayout/reorder/boxes/methods/together.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct LineProgram {
  /// A byte of `index` for each byte of a line: kTaken and the place in the window, or 0 if the byte is not of this
  /// window.
  static constexpr uint8_t kTaken = 128;
  static constexpr int64_t kMostWidth = 64;
  struct alignas(kMostWidth) Indices {
    uint8_t at[kMostWidth];
    bool operator==(const Indices&) const = default;
  };
  /// A line starts `dst` bytes after its unit and takes `windows` windows, from `first_window` on.
  struct Line {
    int64_t dst;
    int64_t first_window, windows;
    uint64_t written;  // bit i: byte i of the line is of the unit, or padding
    bool operator==(const Line&) const = default;
  };

  int64_t width = 0;  // bytes of a line and of a window: 64 or 16
  /// The lines of a unit. With several phases, then also those of a unit that begins 16 bytes after its first row, 32,
  /// and 48, and ends as many bytes into the row behind its last one.
  std::vector<Line> lines;
  int64_t phases = 1;
  std::vector<int64_t> from;  // where each window starts in the source, from where its unit starts
  std::vector<Indices> indices;
  /// The windows of each line, if all lines have the same number; otherwise 0.
  int64_t windows = 0;
  /// Whether some bytes of the lines are not of the unit, so that stores must be masked.
  bool masked = false;
  /// Whether bytes that are written and of no window are set to 0: padding.
  bool fills = false;
  /// Steps of the row axis that a unit has. Through the cache, a unit that would have fewer starts earlier, and is
  /// partly made twice. Past it, a region has at least two units, and only some lines of the last one are made.
  int64_t steps = 1;

  bool operator==(const LineProgram&) const = default;
  const uint8_t* index(int64_t window) const { return indices.data()->at + window * width; }
  int64_t lines_of_unit() const { return static_cast<int64_t>(lines.size()) / phases; }
  int64_t windows_of_unit() const {
    return phases == 1 ? static_cast<int64_t>(from.size())
                       : lines[static_cast<std::size_t>(lines_of_unit())].first_window;
  }
  /// What windows take of the source, in bytes from where a unit starts.
  Interval reads{};
};

/// The rows of a box are the axis that is cut into units, its columns an axis along which the kernel goes on from unit
/// to unit.
struct ProgrammedLines {
  static constexpr Told kTold{KernelShape::gather, "line program",
                              "the lines of the destination hold bytes of a few lines of the source, so that each is "
                              "put together by permutations of bytes"};
  std::shared_ptr<const LineProgram> program;
  int64_t written = 0;  // bytes of the destination: elements, and padding or gaps

  bool operator==(const ProgrammedLines& other) const { return written == other.written && *program == *other.program; }
};

/// Plans a simplified box that moves bits, of elements of `element` bytes. Nothing where pieces are as long as a line,
/// or runs of the destination shorter than one; or where the machine permutes no bytes.
std::optional<Planned<ProgrammedLines>> plan_line_program(const Box& box, int64_t element, const LineRules& rules);

/// Plans boxes that are moved together, and padding as zeros. Nothing where units would be too large for a program, or
/// where the machine permutes no bytes.
std::optional<Planned<ProgrammedLines>> plan_line_program(const Together& boxes, int64_t element, ProgramFills fills,
                                                          const LineRules& rules);

/// The lines of one period of a swizzle of elements of so many bits, in either direction, as it is its own inverse.
/// Empty where runs are as long as lines, or the runs of a line move by different distances; where a period has more
/// lines than a page; or where the machine does not permute the bytes of a line.
LineProgram swizzled_lines(const Swizzle& swizzle, int element_bits, const Machine& machine);

/// Nanoseconds to make the whole box in the first-level cache.
double line_program_ns(const Loops& loops, const LineProgram& program);

}  // namespace relayout
