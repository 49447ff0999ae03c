// Listing the windows of the lines of a unit, and choosing the unit.
#include "relayout/reorder/methods/line_program.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "relayout/reorder/axes.h"

namespace relayout {
namespace {

/// The bytes that a unit should have: some lines, so that starting a unit costs little, but no more, because the list
/// of its windows must stay in the first-level cache.
constexpr int64_t kUnitBytes = 512;
/// The most windows of a unit.
constexpr std::size_t kMostWindows = 160;
/// In units with gaps, at least one byte in kLeastWritten must be written.
constexpr int64_t kLeastWritten = 4;
/// A box that takes fewer nanoseconds by another method is not worth the time to list windows.
constexpr double kLeastNs = 200;
/// Nanoseconds to call the kernel, to start a unit and to permute a window.
constexpr double kCallNs = 0.4, kUnitNs = 0.55, kWindowNs = 0.84;

/// Some bytes that follow each other on both sides, from where their unit starts.
struct Piece {
  int64_t dst, src;
};
using Pieces = std::vector<Piece>;

/// A unit: some of the axes, and `steps` of one more.
struct Unit {
  int64_t piece = 0;  // bytes
  int64_t bytes = 0;  // from the first byte of the destination to the last one, gaps included
  bool gaps = false;
  Axes axes;  // the destination's nearest first
  Axis row;   // of extent 1 if no axis is cut
  int64_t steps = 1;
};

/// How many steps of an axis a unit gets whose steps lie `stride` bytes apart: about kUnitBytes, and whole lines where
/// that takes at most twice as few steps.
int64_t steps_of_unit(const Axis& axis, int64_t width) {
  const int64_t stride = axis.stride[kDst], most = std::max<int64_t>(1, kUnitBytes / stride);
  if (axis.extent <= most + most / 2) return axis.extent;
  int64_t best = most, least_waste = width;
  for (int64_t steps = most; steps > most / 2; --steps) {
    const int64_t waste = (width - steps * stride % width) % width;
    if (waste >= least_waste) continue;
    best = steps;
    least_waste = waste;
  }
  return best;
}

/// Takes the axes of a unit out of `axes`.
std::optional<Unit> choose_unit(Axes& axes, int64_t piece, int64_t width) {
  Unit unit;
  unit.piece = unit.bytes = piece;
  int64_t written = piece;
  for (auto next = nearest(axes, kDst); next != axes.end(); next = nearest(axes, kDst)) {
    const int64_t stride = next->stride[kDst];
    if (stride < unit.bytes) return std::nullopt;
    if (stride > unit.bytes) {
      if (stride > width || written * kLeastWritten < stride || width < LineProgram::kMostWidth) break;
      unit.gaps = true;
    }
    const int64_t steps = steps_of_unit(*next, width);
    if (steps == 1) break;
    const Axis taken = take(axes, next);
    unit.bytes += (steps - 1) * stride;
    written *= steps;
    if (steps < taken.extent) {
      unit.row = taken;
      unit.steps = steps;
      break;
    }
    unit.axes.push_back(taken);
  }
  return unit;
}

Pieces pieces_of(const Unit& unit) {
  Pieces out{{0, 0}};
  const auto add = [&](const Axis& axis, int64_t steps) {
    const std::size_t have = out.size();
    out.resize(have * static_cast<std::size_t>(steps));
    for (std::size_t i = have; i < out.size(); ++i)
      out[i] = {out[i - have].dst + axis.stride[kDst], out[i - have].src + axis.stride[kSrc]};
  };
  for (const Axis& axis : unit.axes) add(axis, axis.extent);
  if (unit.steps > 1) add(unit.row, unit.steps);
  return out;
}

/// At least so many windows has a line. If the first axis steps over windows in the source, each of its steps that a
/// line has needs one.
double least_windows(const Unit& unit, int64_t width) {
  const Axis& first = unit.axes.empty() ? unit.row : unit.axes[0];
  if (std::abs(first.stride[kSrc]) < width) return 1;
  return static_cast<double>(std::min(first.extent, width / std::max(unit.piece, first.stride[kDst])));
}

/// Lists the windows of a unit's lines.
class Lister {
 public:
  Lister(const Unit& unit, int64_t width, LineProgram& out) : unit_(unit), pieces_(pieces_of(unit)), out_(out) {
    out_.width = width;
    out_.steps = unit.steps;
    const auto [low, high] = std::ranges::minmax(pieces_, {}, &Piece::src);
    low_ = low.src;
    high_ = high.src + unit.piece;
  }

  /// False if there are too many windows, or the unit has fewer bytes of the source than a window.
  bool run() {
    if (high_ - low_ < out_.width) return false;
    const int64_t width = out_.width;
    for (int64_t at = 0; at < unit_.bytes; at += width) {
      // The last line overlaps the one before it where that saves masking its store.
      if (!add_line(std::max<int64_t>(0, std::min(at, unit_.bytes - width)))) return false;
    }
    const auto few = std::ranges::minmax(out_.lines, {}, &LineProgram::Line::windows);
    out_.windows = few.min.windows == few.max.windows ? few.min.windows : 0;
    return true;
  }

 private:
  struct Part {
    int64_t src, bytes, in_line;
  };

  bool add_line(int64_t start) {
    const int64_t width = out_.width, end = std::min(start + width, unit_.bytes);
    Part parts[LineProgram::kMostWidth];
    int count = 0;
    LineProgram::Line line{start, 0, 0};
    auto piece = std::ranges::upper_bound(pieces_, start - unit_.piece, {}, &Piece::dst);
    for (; piece != pieces_.end() && piece->dst < end; ++piece) {
      const int64_t from = std::max(piece->dst, start), to = std::min(piece->dst + unit_.piece, end);
      parts[count++] = {piece->src + from - piece->dst, to - from, from - start};
      line.written |= (~uint64_t{0} >> (64 - (to - from))) << (from - start);
    }
    out_.masked = out_.masked || line.written != ~uint64_t{0} >> (64 - width);
    while (count > 0) {
      if (out_.from.size() == kMostWindows) return false;
      const int64_t first = std::ranges::min_element(parts, parts + count, {}, &Part::src)->src;
      const int64_t window = std::min(first, high_ - width);
      uint8_t* const index = new_window(window);
      ++line.windows;
      int left = 0;
      for (int p = 0; p < count; ++p) {
        const Part part = parts[p];
        const int64_t at = part.src - window, bytes = std::clamp<int64_t>(width - at, 0, part.bytes);
        for (int64_t b = 0; b < bytes; ++b)
          index[part.in_line + b] = static_cast<uint8_t>(LineProgram::kTaken | (at + b));
        if (bytes < part.bytes) parts[left++] = {part.src + bytes, part.bytes - bytes, part.in_line + bytes};
      }
      count = left;
    }
    out_.lines.push_back(line);
    return true;
  }

  uint8_t* new_window(int64_t from) {
    const auto used = static_cast<int64_t>(out_.from.size()) * out_.width;
    if (used % LineProgram::kMostWidth == 0) out_.indices.push_back({});
    out_.from.push_back(from);
    return out_.indices.front().at + used;
  }

  const Unit& unit_;
  const Pieces pieces_;
  LineProgram& out_;
  int64_t low_, high_;
};

}  // namespace

double line_program_ns(const Loops& loops, const LineProgram& program) {
  int64_t calls = ceil_div(loops.row_count, program.steps);
  for (const Axis& loop : loops.loops) calls *= loop.extent;
  return static_cast<double>(calls) * kCallNs + static_cast<double>(calls * loops.col_count) *
                                                    (kUnitNs + kWindowNs * static_cast<double>(program.from.size()));
}

std::optional<Planned<ProgrammedLines>> plan_line_program(const Box& box, int64_t element, const Machine& machine,
                                                          double most_ns) {
  const int64_t width = machine.permuted_bytes;
  if (width == 0 || most_ns < kLeastNs) return std::nullopt;
  Box rest = box;
  int64_t piece = element;
  if (const auto run = find_run(rest.axes, element, element); run != rest.axes.end())
    piece *= take(rest.axes, run).extent;
  if (piece >= width) return std::nullopt;
  const auto unit = choose_unit(rest.axes, piece, width);
  if (!unit || unit->bytes < width) return std::nullopt;
  const auto elements = static_cast<double>(count_elements(box));
  if (elements * static_cast<double>(element) / static_cast<double>(width) * least_windows(*unit, width) * kWindowNs >=
      most_ns)
    return std::nullopt;
  auto program = std::make_shared<LineProgram>();
  if (!Lister(*unit, width, *program).run()) return std::nullopt;
  if (program->masked && width < LineProgram::kMostWidth) return std::nullopt;
  Loops out;
  out.elements = count_elements(box);
  out.piece = {piece, piece};
  out.rows = {unit->row};
  out.row_count = unit->row.extent;
  // Windows of which most bytes are of other units: those are made next, while the source's lines are in the cache.
  const bool sparse = unit->bytes < static_cast<int64_t>(program->from.size()) * width / 2;
  const auto near = nearest(rest.axes, kSrc);
  const bool across = near != rest.axes.end() &&
                      (unit->row.extent == 1 ||
                       (sparse && std::abs(near->stride[kSrc]) < std::abs(unit->row.stride[kSrc] * unit->steps)));
  out.cols = {across ? take(rest.axes, near) : Axis{}};
  out.col_count = out.cols[0].extent;
  out.block_cols = out.col_count;
  out.block_rows = unit->steps * std::max<int64_t>(1, kHalfL1 / (unit->bytes * out.col_count));
  finish(out, std::move(rest));
  sort_few(out.loops, [](const Axis& a) {
    return a.table >= 0 ? std::numeric_limits<int64_t>::min() : -std::abs(a.stride[kSrc]);
  });
  if (line_program_ns(out, *program) >= most_ns) return std::nullopt;
  return Planned<ProgrammedLines>{std::move(out), {std::move(program)}};
}

double rate(const Loops& loops, const ProgrammedLines& method) {
  const double bytes = static_cast<double>(2 * loops.elements) * static_cast<double>(loops.piece[kDst]);
  return bytes / line_program_ns(loops, *method.program);
}

double streamed(const Loops& loops, const ProgrammedLines& method, const Traffic& traffic, const Bytes& bytes) {
  return traffic.memory(bytes) + line_program_ns(loops, *method.program);
}

}  // namespace relayout
