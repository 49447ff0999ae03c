// Listing the windows of the lines of a unit, and choosing the unit.
#include "relayout/reorder/methods/line_program.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "relayout/reorder/refine/axes.h"

namespace relayout {
namespace {

/// The bytes that a unit should have: some lines, so that starting a unit costs little, but no more, so that the list
/// of its windows stays in the first-level cache. A unit of several stretches has kStretchBytes of each, so that most
/// lines are whole; its list is read from the second level.
constexpr int64_t kUnitBytes = 512, kStretchBytes = 256;
/// The most windows and lines of a unit, and the most pieces.
constexpr int64_t kMostWindows = 1024, kMostPieces = 2048;
/// The most bytes that boxes have of their own in a unit.
constexpr int64_t kMostOwnBytes = 16 << 10;
/// In units with gaps, at least one byte in kLeastWritten must be written.
constexpr int64_t kLeastWritten = 4;
/// A box that takes fewer nanoseconds by another method is not worth the time to list windows.
constexpr double kLeastNs = 200;
/// Nanoseconds to call the kernel, to start a unit, to permute a window, and (estimated) to write a line that has none.
constexpr double kCallNs = 0.4, kUnitNs = 0.55, kWindowNs = 0.84, kPaddingLineNs = 0.3;

/// Some bytes that follow each other on both sides, from where their unit starts.
struct Piece {
  int64_t dst, src, bytes;
  int64_t end() const { return dst + bytes; }
};
using Pieces = std::vector<Piece>;

/// Adds the pieces from `first` on once more for each further step of an axis.
void spread(Pieces& pieces, std::size_t first, const Axis& axis, int64_t steps) {
  const std::size_t end = pieces.size();
  pieces.reserve(first + (end - first) * static_cast<std::size_t>(steps));
  for (int64_t i = 1; i < steps; ++i) {
    for (std::size_t p = first; p < end; ++p)
      pieces.push_back({pieces[p].dst + i * axis.stride[kDst], pieces[p].src + i * axis.stride[kSrc], pieces[p].bytes});
  }
}

/// A stretch of the destination. It is written as a whole, or but for gaps between pieces.
struct Stretch {
  int64_t begin, end;
};

/// A unit: the elements that boxes have of their own, at all steps of some of the axes and at `steps` of one more.
struct Unit {
  Pieces pieces;                   // in the destination's order
  std::vector<Stretch> stretches;  // likewise, the first from 0 on
  int64_t run = 0;                 // the bytes of a stretch, if all have the same
  Axis row;                        // of extent 1 if no axis is cut
  int64_t steps = 1;
  /// The axis that was taken first, and the bytes of a piece before.
  Axis first;
  int64_t piece = 0;
  /// The axes whose steps list() still has to add to the pieces.
  Axes listed_later;

  /// Whether all stretches have `run` bytes.
  bool even() const {
    return std::ranges::all_of(stretches, [&](const Stretch& one) { return one.end - one.begin == run; });
  }
  int64_t reach() const { return stretches.back().end; }
  int64_t written() const {
    int64_t out = 0;
    for (const Stretch& stretch : stretches) out += stretch.end - stretch.begin;
    return out;
  }

  /// Lets stretches go on to `longer` bytes, which are padding, unless they would run into each other. The step of the
  /// next axis is such a length: in a destination without gaps, nothing but padding lies before the next step.
  void lengthen(int64_t longer) {
    if (!even()) return;
    for (std::size_t k = 1; k < stretches.size(); ++k) {
      if (stretches[k].begin - stretches[k - 1].begin < longer) return;
    }
    for (Stretch& stretch : stretches) stretch.end = stretch.begin + longer;
    run = longer;
    join();
  }

  /// The most pieces that list() can find: those that follow each other are joined.
  int64_t count_pieces() const { return static_cast<int64_t>(pieces.size()) * count_elements(listed_later); }

  /// Lists all pieces.
  void list() {
    for (const Axis& axis : std::exchange(listed_later, {})) spread(pieces, 0, axis, axis.extent);
    if (!std::ranges::is_sorted(pieces, {}, &Piece::dst)) std::ranges::sort(pieces, {}, &Piece::dst);
    join();
  }

  /// Adds the elements of the first `count` steps of an axis.
  void add(const Axis& axis, int64_t count) {
    const int64_t dst = axis.stride[kDst], further = (count - 1) * dst;
    if (stretches.size() == 1) {
      run = stretches[0].end += further;
      listed_later.push_back(axis);
      listed_later.back().extent = count;
      return;
    }
    // Each stretch goes on by itself, and so do its pieces.
    Pieces out;
    out.reserve(pieces.size() * static_cast<std::size_t>(count));
    auto next = pieces.begin();
    for (Stretch& stretch : stretches) {
      const std::size_t begin = out.size();
      for (; next != pieces.end() && next->dst < stretch.end; ++next) out.push_back(*next);
      spread(out, begin, axis, count);
      stretch.end += further;
    }
    pieces = std::move(out);
    run += further;
    join();
  }

  /// Joins pieces and stretches that follow each other.
  void join() {
    if (pieces.size() > 1) {
      std::size_t last = 0;
      for (std::size_t p = 1; p < pieces.size(); ++p) {
        if (pieces[p].dst == pieces[last].end() && pieces[p].src == pieces[last].src + pieces[last].bytes)
          pieces[last].bytes += pieces[p].bytes;
        else
          pieces[++last] = pieces[p];
      }
      pieces.resize(last + 1);
    }
    if (stretches.size() == 1) return;
    std::size_t last = 0;
    for (std::size_t k = 1; k < stretches.size(); ++k) {
      if (stretches[k].begin <= stretches[last].end)
        stretches[last].end = std::max(stretches[last].end, stretches[k].end);
      else
        stretches[++last] = stretches[k];
    }
    stretches.resize(last + 1);
    const int64_t joined = stretches[0].end;
    if (std::ranges::all_of(stretches, [&](const Stretch& one) { return one.end - one.begin == joined; })) run = joined;
  }
};

/// How many steps of an axis a unit gets whose steps lie `stride` bytes apart: about `bytes`, and whole lines where
/// that takes at most twice as few steps.
int64_t steps_of_unit(const Axis& axis, int64_t bytes, int64_t width) {
  const int64_t stride = axis.stride[kDst], most = std::max<int64_t>(1, bytes / stride);
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

/// How many pieces a unit may have. To list one takes some 20 nanoseconds, and so a plan at most some 10 runs.
int64_t most_pieces(double most_ns) { return static_cast<int64_t>(std::min<double>(kMostPieces, most_ns / 2)); }

/// Takes the axes of a unit out of `axes`, over gaps in the destination; with `fills` these are padding. False where
/// axes interleave the unit's stretches.
bool choose_axes(Unit& unit, Axes& axes, int64_t width, bool fills, double most_ns) {
  int64_t written = unit.run;
  for (auto next = nearest(axes, kDst); next != axes.end(); next = nearest(axes, kDst)) {
    const int64_t stride = next->stride[kDst];
    if (fills && stride > unit.run && stride * static_cast<int64_t>(unit.stretches.size()) <= kMostOwnBytes)
      unit.lengthen(stride);
    const auto apart = static_cast<int64_t>(unit.stretches.size());
    if (stride < unit.run || (apart > 1 && !(stride == unit.run && unit.even()) && stride < unit.reach())) return false;
    if (stride > unit.run &&
        (apart > 1 || fills || stride > width || written * kLeastWritten < stride || width < LineProgram::kMostWidth))
      break;
    const int64_t bytes = apart == 1 ? kUnitBytes : std::max(kUnitBytes / apart, kStretchBytes);
    const int64_t most = most_pieces(most_ns) / unit.count_pieces();
    const int64_t steps = std::min(steps_of_unit(*next, bytes, width), most);
    if (steps <= 1) break;
    const Axis taken = take(axes, next);
    if (unit.first.extent == 1) unit.first = taken;
    unit.add(taken, steps);
    written *= steps;
    if (steps < taken.extent) {
      unit.row = taken;
      unit.steps = steps;
      break;
    }
  }
  return true;
}

/// At least so many windows has a line. If the first axis steps over windows in the source, each of its steps that a
/// line has needs one.
double least_windows(const Unit& unit, int64_t width) {
  if (std::abs(unit.first.stride[kSrc]) < width) return 1;
  return static_cast<double>(std::min(unit.first.extent, width / std::max(unit.piece, unit.first.stride[kDst])));
}

/// Lists the windows of a unit's lines.
class Lister {
 public:
  Lister(const Unit& unit, int64_t width, bool fills, LineProgram& out) : unit_(unit), out_(out) {
    out_.width = width;
    out_.steps = unit.steps;
    out_.fills = fills;
    low_ = unit.pieces[0].src;
    for (const Piece& piece : unit.pieces) {
      low_ = std::min(low_, piece.src);
      high_ = std::max(high_, piece.src + piece.bytes);
      longest_ = std::max(longest_, piece.bytes);
    }
  }

  /// False if there are more than `most` windows, or the unit has fewer bytes of the source than a window.
  bool run(std::size_t most) {
    if (high_ - low_ < out_.width) return false;
    most_ = most;
    const int64_t width = out_.width;
    std::size_t lines = 0;
    for (const Stretch& stretch : unit_.stretches)
      lines += static_cast<std::size_t>(ceil_div(stretch.end - stretch.begin, width));
    if (lines > kMostWindows) return false;
    for (const Stretch& stretch : unit_.stretches) {
      for (int64_t at = stretch.begin; at < stretch.end; at += width) {
        // The last line overlaps the one before it where that saves masking its store.
        const int64_t start = std::max(stretch.begin, std::min(at, stretch.end - width));
        if (!add_line(start, std::min(start + width, stretch.end))) return false;
        // Most lines have about as many windows as the first ones have. Listing ends here if all have a quarter more
        // than they may.
        if (out_.lines.size() == kTrial && out_.from.size() * lines > (kTrial + kTrial / 4) * most) return false;
      }
    }
    const auto few = std::ranges::minmax(out_.lines, {}, &LineProgram::Line::windows);
    out_.windows = few.min.windows == few.max.windows && !out_.fills ? few.min.windows : 0;
    return true;
  }

 private:
  static constexpr std::size_t kTrial = 16;

  struct Part {
    int64_t src, bytes, in_line;
  };

  bool add_line(int64_t start, int64_t end) {
    const int64_t width = out_.width;
    const auto bits_of = [&](int64_t from, int64_t bytes) { return (~uint64_t{0} >> (64 - bytes)) << from; };
    Part parts[LineProgram::kMostWidth];
    int count = 0;
    LineProgram::Line line{start, 0, out_.fills ? bits_of(0, end - start) : 0};
    auto piece = std::ranges::upper_bound(unit_.pieces, start - longest_, {}, &Piece::dst);
    for (; piece != unit_.pieces.end() && piece->dst < end; ++piece) {
      if (piece->end() <= start) continue;
      const int64_t from = std::max(piece->dst, start), to = std::min(piece->end(), end);
      parts[count++] = {piece->src + from - piece->dst, to - from, from - start};
      line.written |= bits_of(from - start, to - from);
    }
    out_.masked = out_.masked || line.written != bits_of(0, width);
    while (count > 0) {
      if (out_.from.size() == most_) return false;
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
  LineProgram& out_;
  int64_t low_, high_ = std::numeric_limits<int64_t>::min(), longest_ = 0;
  std::size_t most_ = 0;
};

/// Plans the units of all steps of `axes`.
std::optional<Planned<ProgrammedLines>> plan_units(Unit unit, const Box& common, int64_t elements, int64_t element,
                                                   bool fills, const Machine& machine, double most_ns) {
  const int64_t width = machine.permuted_bytes;
  Box rest = common;
  if (!choose_axes(unit, rest.axes, width, fills, most_ns) || unit.reach() < width) return std::nullopt;
  const double lines = static_cast<double>(elements * element) / static_cast<double>(width);
  if (lines * least_windows(unit, width) * kWindowNs >= most_ns) return std::nullopt;
  unit.list();
  auto program = std::make_shared<LineProgram>();
  // More windows than these would take too long.
  const double units = static_cast<double>(ceil_div(unit.row.extent, unit.steps) * count_elements(rest.axes));
  const auto most = static_cast<std::size_t>(std::min<double>(kMostWindows, most_ns / kWindowNs / units));
  if (!Lister(unit, width, fills, *program).run(most)) return std::nullopt;
  if (program->masked && width < LineProgram::kMostWidth) return std::nullopt;
  Loops out;
  out.elements = elements;
  out.piece = {unit.piece, unit.piece};
  out.along_src.axes = {unit.row};
  out.along_src.count = unit.row.extent;
  // Windows of which most bytes are of other units: those are made next, while the source's lines are in the cache.
  const bool sparse = unit.written() < static_cast<int64_t>(program->from.size()) * width / 2;
  const auto near = nearest(rest.axes, kSrc);
  const bool across =
      near != rest.axes.end() &&
      (unit.row.extent == 1 || (sparse && std::abs(near->stride[kSrc]) < std::abs(unit.row.stride[kSrc] * unit.steps)));
  out.along_dst.axes = {across ? take(rest.axes, near) : Axis{}};
  out.along_dst.count = out.along_dst.axes[0].extent;
  out.along_dst.block = out.along_dst.count;
  out.along_src.block = unit.steps * std::max<int64_t>(1, kHalfL1 / (unit.written() * out.along_dst.count));
  finish(out, std::move(rest));
  sort_few(out.loops, [](const Axis& a) {
    return a.table >= 0 ? std::numeric_limits<int64_t>::min() : -std::abs(a.stride[kSrc]);
  });
  if (line_program_ns(out, *program) >= most_ns) return std::nullopt;
  const int64_t written =
      unit.written() / unit.steps * unit.row.extent * out.along_dst.count * count_elements(out.loops);
  return Planned<ProgrammedLines>{std::move(out), {std::move(program), written}};
}

}  // namespace

double line_program_ns(const Loops& loops, const LineProgram& program) {
  int64_t calls = ceil_div(loops.along_src.count, program.steps);
  for (const Axis& loop : loops.loops) calls *= loop.extent;
  const auto empty = std::ranges::count(program.lines, 0, &LineProgram::Line::windows);
  const double unit =
      kUnitNs + kWindowNs * static_cast<double>(program.from.size()) + kPaddingLineNs * static_cast<double>(empty);
  return static_cast<double>(calls) * kCallNs + static_cast<double>(calls * loops.along_dst.count) * unit;
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
  Unit unit{{{0, 0, piece}}, {{0, piece}}, piece, {}, 1, {}, piece, {}};
  return plan_units(std::move(unit), rest, count_elements(box), element, false, machine, most_ns);
}

std::optional<Planned<ProgrammedLines>> plan_line_program(const Together& boxes, int64_t element, bool fills,
                                                          const Machine& machine, double most_ns) {
  const int64_t width = machine.permuted_bytes;
  const Together::Footprint& footprint = boxes.footprints[kDst];
  if (width == 0 || most_ns < kLeastNs || boxes.most * element > kMostOwnBytes) return std::nullopt;
  Unit unit{{}, {}, footprint.length * element, {}, 1, {}, element, {}};
  int64_t elements = 0;
  for (Box own : boxes.own) {
    elements += count_elements(own);
    const auto run = find_run(own.axes, element, element);
    const int64_t piece = run != own.axes.end() ? element * take(own.axes, run).extent : element;
    const std::size_t first = unit.pieces.size();
    if (static_cast<int64_t>(first) + count_elements(own) > most_pieces(most_ns)) return std::nullopt;
    unit.pieces.push_back({own.offset[kDst], own.offset[kSrc], piece});
    for (const Axis& axis : own.axes) spread(unit.pieces, first, axis, axis.extent);
  }
  std::ranges::sort(unit.pieces, {}, &Piece::dst);
  for (const int64_t start : footprint.starts) unit.stretches.push_back({start, start + unit.run});
  unit.join();
  const Box common{boxes.offset, boxes.axes};
  return plan_units(std::move(unit), common, elements * count_elements(common), element, fills, machine, most_ns);
}

double rate(const Loops& loops, const ProgrammedLines& method) {
  const double bytes = static_cast<double>(2 * loops.elements) * static_cast<double>(loops.piece[kDst]);
  return bytes / line_program_ns(loops, *method.program);
}

double streamed(const Loops& loops, const ProgrammedLines& method, const Traffic& traffic, const Bytes& bytes) {
  return traffic.memory(bytes) + line_program_ns(loops, *method.program);
}

}  // namespace relayout
