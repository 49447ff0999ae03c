// Listing the windows of the lines of a unit.
#include "relayout/reorder/boxes/methods/line_program.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "relayout/reorder/price.h"

namespace relayout {
namespace {

/// The most windows and lines of a unit.
constexpr int64_t kMostWindows = 1024;
/// The most bytes that boxes have of their own in a unit.
constexpr int64_t kMostOwnBytes = 16 << 10;
/// A box that takes fewer nanoseconds by another method is not worth the time to list windows.
constexpr double kLeastNs = 200;
double window_ns(int64_t width) { return width == LineProgram::kMostWidth ? price::kWindow : price::kNarrowWindow; }

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
    for (const Piece& piece : unit.pieces) longest_ = std::max(longest_, piece.bytes);
    note_source(0, unit.stretches.back().end);
  }

  /// Adds the lines of further phases, of whole lines; `unit` has the pieces of more than one unit by then.
  bool add_phases(int64_t phases, int64_t bytes) {
    most_ = kMostWindows;
    for (int64_t phase = 1; phase < phases; ++phase) {
      const int64_t begin = phase * kFromMalloc;
      note_source(begin, begin + bytes);
      if (high_ - low_ < out_.width) return false;
      for (int64_t at = begin; at < begin + bytes; at += out_.width) {
        if (!add_line(at, at + out_.width)) return false;
      }
    }
    out_.phases = phases;
    note_windows();
    return true;
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
    note_windows();
    return true;
  }

 private:
  static constexpr std::size_t kTrial = 16;

  struct Part {
    int64_t src;
    int32_t bytes, in_line;
  };

  /// Notes which part of the source has these bytes of the destination. Windows stay within it.
  void note_source(int64_t begin, int64_t end) {
    low_ = std::numeric_limits<int64_t>::max();
    high_ = std::numeric_limits<int64_t>::min();
    for (const Piece& piece : unit_.pieces) {
      const int64_t first = std::max(piece.dst, begin), last = std::min(piece.end(), end);
      if (first >= last) continue;
      low_ = std::min(low_, piece.src + first - piece.dst);
      high_ = std::max(high_, piece.src + last - piece.dst);
    }
  }

  /// Notes how many windows each line has, if that is the same number.
  void note_windows() {
    const auto few = std::ranges::minmax(out_.lines, {}, &LineProgram::Line::windows);
    out_.windows = few.min.windows == few.max.windows && !out_.fills ? few.min.windows : 0;
  }

  bool add_line(int64_t start, int64_t end) {
    const int64_t width = out_.width;
    const auto bits_of = [&](int64_t from, int64_t bytes) { return (~uint64_t{0} >> (64 - bytes)) << from; };
    Part parts[LineProgram::kMostWidth];
    int count = 0;
    LineProgram::Line line{start, static_cast<int64_t>(out_.from.size()), 0, out_.fills ? bits_of(0, end - start) : 0};
    auto piece = std::ranges::upper_bound(unit_.pieces, start - longest_, {}, &Piece::dst);
    for (; piece != unit_.pieces.end() && piece->dst < end; ++piece) {
      if (piece->end() <= start) continue;
      const int64_t from = std::max(piece->dst, start), to = std::min(piece->end(), end);
      parts[count++] = {piece->src + from - piece->dst, static_cast<int32_t>(to - from),
                        static_cast<int32_t>(from - start)};
      line.written |= bits_of(from - start, to - from);
    }
    out_.masked = out_.masked || line.written != bits_of(0, width);
    const auto by_src = [](const Part& a, const Part& b) { return a.src < b.src; };
    if (!std::is_sorted(parts, parts + count, by_src)) std::sort(parts, parts + count, by_src);
    // In the source's order, each window begins at the first byte that is left.
    for (int first = 0; first < count;) {
      if (out_.from.size() == most_) return false;
      const int64_t window = std::min(parts[first].src, high_ - width);
      uint8_t* const index = new_window(window);
      ++line.windows;
      int next = first;
      while (next < count && parts[next].src < window + width) ++next;
      int left = next;  // what goes on in the next window moves up to it
      for (int p = next - 1; p >= first; --p) {
        const Part part = parts[p];
        const auto at = static_cast<int32_t>(part.src - window),
                   bytes = std::min(static_cast<int32_t>(width) - at, part.bytes);
        for (int32_t b = 0; b < bytes; ++b)
          index[part.in_line + b] = static_cast<uint8_t>(LineProgram::kTaken | (at + b));
        if (bytes < part.bytes) parts[--left] = {part.src + bytes, part.bytes - bytes, part.in_line + bytes};
      }
      first = left;
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
  int64_t low_ = 0, high_ = 0, longest_ = 0;
  std::size_t most_ = 0;
};

/// Whether the windows of each line lie within a few lines of the source. Narrow windows leave most of what is farther
/// apart unused, until it has left the caches.
bool reads_near(const LineProgram& program) {
  constexpr int64_t kFewLines = 4 * kCacheLine;
  return std::ranges::all_of(program.lines, [&](const LineProgram::Line& line) {
    const auto first = program.from.begin() + line.first_window;
    return line.windows == 0 || *std::max_element(first, first + line.windows) + program.width -
                                        *std::min_element(first, first + line.windows) <=
                                    kFewLines;
  });
}

/// Plans the units of all steps of `axes`.
std::optional<Planned<ProgrammedLines>> plan_units(Unit unit, const Box& common, int64_t elements, int64_t element,
                                                   ProgramFills fills, const LineRules& rules) {
  const int64_t width = rules.machine.permuted_bytes;
  const double most_ns = rules.most_ns;
  Box rest = common;
  if (!choose_axes(unit, rest.axes, fills, rules) || unit.reach() < width) return std::nullopt;
  if (rules.past_cache && !unit.in_lines()) return std::nullopt;
  const double lines = static_cast<double>(elements * element) / static_cast<double>(width);
  if (lines * least_windows(unit, width) * window_ns(width) >= most_ns) return std::nullopt;
  unit.list();
  auto program = std::make_shared<LineProgram>();
  // More windows than these would take too long.
  const double units = static_cast<double>(ceil_div(unit.row.extent, unit.steps) * count_elements(rest.axes));
  const auto most = static_cast<std::size_t>(std::min<double>(kMostWindows, most_ns / window_ns(width) / units));
  if (!Lister(unit, width, fills != ProgramFills::nothing, *program).run(most)) return std::nullopt;
  if (rules.past_cache && unit.phases() > 1) {
    if (program->masked) return std::nullopt;
    const int64_t bytes = unit.run;
    Axis next = unit.row;
    for (int64_t& stride : next.stride) stride *= unit.steps;
    spread(unit.pieces, 0, next, 2);
    unit.join();
    if (!Lister(unit, width, program->fills, *program).add_phases(unit.phases(), bytes)) return std::nullopt;
  }
  if (program->masked && (width < LineProgram::kMostWidth || rules.past_cache)) return std::nullopt;
  const auto [least, most_from] = std::ranges::minmax(program->from);
  program->reads = {least, most_from + width};
  if (rules.past_cache && width < LineProgram::kMostWidth && !reads_near(*program)) return std::nullopt;
  Loops out;
  out.elements = elements;
  out.past_cache = rules.past_cache;
  out.piece = {unit.piece, unit.piece};
  out.along_src.axes = {unit.row};
  out.along_src.count = unit.row.extent;
  // Windows of which most bytes are of other units: those are made next, while the source's lines are in the cache.
  // Past the cache, where lines come from memory, so are those of which some are.
  const bool sparse = unit.written() < program->windows_of_unit() * width / (rules.past_cache ? 1 : 2);
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

LineProgram swizzled_lines(const Swizzle& swizzle, int element_bits, const Machine& machine) {
  const auto bytes = [&](int64_t elements) { return elements * element_bits / 8; };
  const int64_t run = bytes(swizzle.run()), lines = bytes(swizzle.period()) / kCacheLine,
                moved_by = bytes(int64_t{1} << swizzle.source());
  LineProgram out;
  if (machine.permuted_bytes != kCacheLine || run >= kCacheLine || moved_by < kCacheLine || lines > kPage / kCacheLine)
    return out;
  out.width = kCacheLine;
  out.windows = 1;
  for (int64_t i = 0; i < lines; ++i) {
    // What the offsets of a line are XORed with.
    const int64_t at = i * kCacheLine, other = bytes(swizzle.apply(at / run * swizzle.run())) ^ at;
    out.lines.push_back({at, i, 1, ~uint64_t{0}});
    out.from.push_back(at ^ (other / kCacheLine * kCacheLine));
    LineProgram::Indices& index = out.indices.emplace_back();
    for (int64_t b = 0; b < kCacheLine; ++b)
      index.at[b] = static_cast<uint8_t>(LineProgram::kTaken | (b ^ other % kCacheLine));
  }
  return out;
}

double line_program_ns(const Loops& loops, const LineProgram& program) {
  int64_t calls = ceil_div(loops.along_src.count, program.steps);
  for (const Axis& loop : loops.loops) calls *= loop.extent;
  const auto empty = std::count_if(program.lines.begin(), program.lines.begin() + program.lines_of_unit(),
                                   [](const LineProgram::Line& line) { return line.windows == 0; });
  const double lines = static_cast<double>(program.lines_of_unit()),
               line_ns = program.width < LineProgram::kMostWidth ? price::kNarrowLine : 0;
  const double unit = price::kUnit + window_ns(program.width) * static_cast<double>(program.windows_of_unit()) +
                      line_ns * lines + price::kPaddingLine * static_cast<double>(empty);
  return static_cast<double>(calls) * price::kCall + static_cast<double>(calls * loops.along_dst.count) * unit;
}

std::optional<Planned<ProgrammedLines>> plan_line_program(const Box& box, int64_t element, const LineRules& rules) {
  const int64_t width = rules.machine.permuted_bytes;
  if (width == 0 || rules.most_ns < kLeastNs) return std::nullopt;
  Box rest = box;
  int64_t piece = element;
  if (const auto run = find_run(rest.axes, element, element); run != rest.axes.end())
    piece *= take(rest.axes, run).extent;
  if (piece >= width) return std::nullopt;
  Unit unit{{{0, 0, piece}}, {{0, piece}}, piece, {}, 1, {}, piece, {}};
  return plan_units(std::move(unit), rest, count_elements(box), element, ProgramFills::nothing, rules);
}

std::optional<Planned<ProgrammedLines>> plan_line_program(const Together& boxes, int64_t element, ProgramFills fills,
                                                          const LineRules& rules) {
  const int64_t width = rules.machine.permuted_bytes;
  const Together::Footprint& footprint = boxes.footprints[kDst];
  if (width == 0 || rules.most_ns < kLeastNs || boxes.most * element > kMostOwnBytes) return std::nullopt;
  Unit unit{{}, {}, footprint.length * element, {}, 1, {}, element, {}};
  int64_t elements = 0;
  for (Box own : boxes.own) {
    elements += count_elements(own);
    const auto run = find_run(own.axes, element, element);
    const int64_t piece = run != own.axes.end() ? element * take(own.axes, run).extent : element;
    const std::size_t first = unit.pieces.size();
    if (static_cast<int64_t>(first) + count_elements(own) > most_pieces(rules.most_ns)) return std::nullopt;
    unit.pieces.push_back({own.offset[kDst], own.offset[kSrc], piece});
    for (const Axis& axis : own.axes) spread(unit.pieces, first, axis, axis.extent);
  }
  std::ranges::sort(unit.pieces, {}, &Piece::dst);
  for (const int64_t start : footprint.starts) unit.stretches.push_back({start, start + unit.run});
  unit.join();
  const Box common{boxes.offset, boxes.axes};
  return plan_units(std::move(unit), common, elements * count_elements(common), element, fills, rules);
}

}  // namespace relayout
