// The method of line programs: each line of the destination is put together by byte permutations of a few stretches of
// the source (internal to reorder).
//
// Where both sides step by short runs, elements that are moved one by one leave most of each load and store unused. But
// most lines of the destination hold bytes of only a few lines of the source. So the plan lists, for a *unit* of some
// lines of the destination, which *windows* of the source each line needs and which bytes of a window go where. One
// instruction permutes the bytes of a window into their places. The same list serves all units: they differ only by
// where they start on both sides. A window is read as a whole: bytes of it that the line does not need, also in gaps of
// the source, are read and left out, but none before the first or behind the last byte that the unit needs.
//
//     s16 ncw -> nwc with 3 channels of 21: a line has two or three windows of an image of 126 bytes
//
// One program can do all boxes of a reorder and set the padding between them, so that blocks that do not nest, and
// tails, need no boxes of their own. A unit then has all elements that differ from box to box.
//
//     u8 nChw6c -> nChw16c, c = 41: a unit is a few images, of which a line has windows of three blocks of 6
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "relayout/reorder/methods/together.h"
#include "relayout/reorder/price.h"

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
  /// A line starts `dst` bytes after its unit and takes the next `windows` windows.
  struct Line {
    int64_t dst;
    int64_t windows;
    uint64_t written;  // bit i: byte i of the line is of the unit, or padding
    bool operator==(const Line&) const = default;
  };

  int64_t width = 0;  // bytes of a line and of a window: 64 or 16
  std::vector<Line> lines;
  std::vector<int64_t> from;  // where each window starts in the source, from where its unit starts
  std::vector<Indices> indices;
  /// The windows of each line, if all lines have the same number; otherwise 0.
  int64_t windows = 0;
  /// Whether some bytes of the lines are not of the unit, so that stores must be masked.
  bool masked = false;
  /// Whether bytes that are written and of no window are set to 0: padding.
  bool fills = false;
  /// Steps of the row axis that a unit has. A unit that would have fewer starts earlier, and is partly made twice.
  int64_t steps = 1;

  bool operator==(const LineProgram&) const = default;
  const uint8_t* index(std::size_t window) const { return indices.data()->at + static_cast<int64_t>(window) * width; }
};

/// The rows of a box are the axis that is cut into units, its columns an axis along which the kernel goes on from unit
/// to unit.
struct ProgrammedLines {
  std::shared_ptr<const LineProgram> program;
  int64_t written = 0;  // bytes of the destination: elements, and padding or gaps

  bool operator==(const ProgrammedLines& other) const { return written == other.written && *program == *other.program; }
};

/// Plans a simplified box that moves bits, of elements of `element` bytes. Nothing where pieces are as long as a line,
/// or runs of the destination shorter than one; where the machine permutes no bytes; or where the program would take
/// `most_ns` nanoseconds or more.
std::optional<Planned<ProgrammedLines>> plan_line_program(const Box& box, int64_t element, const Machine& machine,
                                                          double most_ns = std::numeric_limits<double>::max());

/// Plans boxes that are moved together, and with `fills` the padding around them as zeros; then the destination has no
/// gaps. Nothing where units would be too large for a program, where the machine permutes no bytes, or where it would
/// take `most_ns` nanoseconds or more.
std::optional<Planned<ProgrammedLines>> plan_line_program(const Together& boxes, int64_t element, bool fills,
                                                          const Machine& machine,
                                                          double most_ns = std::numeric_limits<double>::max());

/// Nanoseconds to make the whole box in the first-level cache.
double line_program_ns(const Loops& loops, const LineProgram& program);

double rate(const Loops& loops, const ProgrammedLines& method);
double streamed(const Loops& loops, const ProgrammedLines& method, const Traffic& traffic, const Bytes& bytes);

}  // namespace relayout
