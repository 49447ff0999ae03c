// Running boxes by line programs (reorder/boxes/methods/line_program.h).
//
// Past the cache, units start at lines of the destination, and what is left of a region at both ends, less than a line,
// is made in a line by itself and copied: a store to a part of a line that was just written past the cache would wait
// for memory.
#include "relayout/reorder/boxes/methods/line_program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// How many steps of some bytes it takes from each byte of a line to the start of a line.
class StepsToLine {
 public:
  explicit StepsToLine(int64_t stride) : power_(std::countr_zero(static_cast<uint64_t>(stride | kCacheLine))) {
    // An odd number is its own inverse modulo 8; each step of Newton's method doubles the bits that are right.
    const uint64_t odd = static_cast<uint64_t>(stride) >> power_;
    inverse_ = odd * (2 - odd * odd);
  }
  /// Nothing where no step leads to a line.
  std::optional<int64_t> from(const std::byte* at) const {
    const auto bytes = static_cast<uint64_t>(to_line(at));
    const uint64_t steps = bytes >> power_;
    if (steps << power_ != bytes) return std::nullopt;
    return static_cast<int64_t>(steps * inverse_ & ((uint64_t{kCacheLine} >> power_) - 1));
  }

 private:
  int power_;
  uint64_t inverse_;
};

/// Makes the units of a box.
class ProgramRunner {
 public:
  ProgramRunner(const RunContext& context, const Loops& box, const LineProgram& program)
      : context_(context),
        box_(box),
        program_(program),
        kernel_(context.kernels.line_program[program.width == LineProgram::kMostWidth ? 1 : 0]),
        row_(box.along_src.axes[0]),
        col_(box.along_dst.axes[0]),
        to_lines_(row_.stride[kDst]) {}

  /// Makes some rows and columns of a region; both sides start at its first row and the first of the columns.
  void run(const std::byte* src, std::byte* dst, const IndexRange& rows, int64_t cols) const {
    if (!box_.past_cache || !context_.kernels.copy_stream) return make(src, dst, rows, cols);
    for (int64_t c = 0; c < cols; ++c) {
      const std::byte* const from = src + c * col_.stride[kSrc];
      std::byte* const to = dst + c * col_.stride[kDst];
      // (A region has at least two units, and so one from wherever its lines start.)
      if (const auto start = start_of_lines(to))
        make_past_cache(from, to, rows, *start);
      else
        make(from, to, rows, 1);
    }
  }

 private:
  /// Where lines start in a region: at a row, or some bytes after the first one, by the lines of a phase from this on.
  struct Start {
    int64_t row, bytes, first_line;
  };

  std::optional<Start> start_of_lines(const std::byte* dst) const {
    if (const auto row = to_lines_.from(dst)) return Start{*row, 0, 0};
    const int64_t bytes = to_line(dst);
    if (program_.phases == 1 || bytes % kFromMalloc != 0) return std::nullopt;
    return Start{0, bytes, bytes / kFromMalloc * program_.lines_of_unit()};
  }

  void make(const std::byte* src, std::byte* dst, const IndexRange& rows, int64_t cols) const {
    const int64_t steps = program_.steps;
    // The last strip may have fewer steps than a unit. Then the strip before it makes them.
    if (rows.count() < steps && rows.begin > 0) return;
    const int64_t last = rows.total - rows.end() < steps ? rows.total : rows.end();
    const int64_t units = (last - rows.begin) / steps, rest = (last - rows.begin) % steps;
    const auto unit = [&](int64_t row, int64_t count, const Axis& along, int64_t apart) {
      kernel_(row_of(src, kSrc, row), row_of(dst, row), program_,
              {count, apart * along.stride[kSrc], apart * along.stride[kDst], 0, program_.lines_of_unit(), false});
    };
    if (cols == 1) {
      unit(rows.begin, units, row_, steps);
    } else {
      for (int64_t u = 0; u < units; ++u) unit(rows.begin + u * steps, cols, col_, 1);
    }
    if (rest > 0) unit(last - steps, cols, col_, 1);
  }

  /// Makes rows of one column. Strips begin and end at lines; the one that comes up to the end of the region makes all
  /// that is left of it.
  void make_past_cache(const std::byte* src, std::byte* dst, const IndexRange& rows, const Start& start) const {
    const int64_t steps = program_.steps, stride = row_.stride[kDst], first = rows.begin + start.row,
                  begin = first * stride + start.bytes, total = rows.total * stride,
                  end = std::min(total, (rows.end() + start.row) * stride + start.bytes);
    if (rows.begin == 0) make_first(src, dst, start);
    if (begin >= total) return;
    const int64_t units = (end - begin) / (steps * stride), done = first + units * steps;
    kernel_(row_of(src, kSrc, first), row_of(dst, first), program_,
            {units, steps * row_.stride[kSrc], steps * stride, start.first_line, program_.lines_of_unit(), true});
    if (end == total) make_last(src, dst, done, rows.total, start);
  }

  /// Makes what lies before the first whole unit: the bytes before the first line, and the last lines of a unit that
  /// ends with these rows.
  void make_first(const std::byte* src, std::byte* dst, const Start& start) const {
    const int64_t bytes = start.row * row_.stride[kDst] + start.bytes, first = start.row - program_.steps;
    const bool inside = start.row > 0 && reads_inside(row_of(src, kSrc, first));
    const int64_t before = inside ? to_line(dst) : bytes;
    for (int64_t at = 0; at < before; at += kCacheLine) part(src, dst, at, at, std::min(before, at + kCacheLine));
    const int64_t lines_left = (bytes - before) / program_.width;
    if (lines_left > 0)
      kernel_(row_of(src, kSrc, first), row_of(dst, first), program_,
              {1, 0, 0, program_.lines_of_unit() - lines_left, lines_left, true});
  }

  /// Makes what lies behind the last whole unit, which ends at `row`, or bytes later: the first lines of another unit,
  /// and what is less than a line by the unit that ends where the region does.
  void make_last(const std::byte* src, std::byte* dst, int64_t row, int64_t total, const Start& start) const {
    const int64_t left = (total - row) * row_.stride[kDst] - start.bytes;
    const bool inside = reads_inside(row_of(src, kSrc, row));
    const int64_t after = inside ? left % kCacheLine : left, lines_left = (left - after) / program_.width;
    if (lines_left > 0)
      kernel_(row_of(src, kSrc, row), row_of(dst, row), program_, {1, 0, 0, start.first_line, lines_left, true});
    const int64_t last = total - program_.steps, all = program_.steps * row_.stride[kDst];
    for (int64_t done = 0; done < after; done += kCacheLine) {
      const int64_t end = all - done;
      part(row_of(src, kSrc, last), row_of(dst, last), end - kCacheLine, end - std::min(after - done, kCacheLine), end);
    }
  }

  const std::byte* row_of(const std::byte* src, Operand side, int64_t row) const {
    return src + row * row_.stride[side];
  }
  std::byte* row_of(std::byte* dst, int64_t row) const { return dst + row * row_.stride[kDst]; }

  /// Whether a whole unit that starts here reads nothing outside the source, also where some of its lines are not made.
  bool reads_inside(const std::byte* src) const {
    const std::span<const std::byte> readable = context_.readable;
    return src + program_.reads.begin >= readable.data() &&
           src + program_.reads.end <= readable.data() + readable.size();
  }

  /// Makes bytes [begin, end) of a unit, which lie in the line that starts at byte `line`.
  void part(const std::byte* src, std::byte* dst, int64_t line, int64_t begin, int64_t end) const {
    alignas(kCacheLine) std::byte made[kCacheLine];
    const int64_t lines = kCacheLine / program_.width;
    kernel_(src, made - line, program_, {1, 0, 0, line / program_.width, lines, false});
    std::memcpy(dst + begin, made + (begin - line), static_cast<std::size_t>(end - begin));
  }

  const RunContext& context_;
  const Loops& box_;
  const LineProgram& program_;
  const LineProgramKernel kernel_;
  const Axis &row_, &col_;
  const StepsToLine to_lines_;
};

}  // namespace

void run_program(const RunContext& context, const Loops& box, const ProgrammedLines& method, const Tables& tables,
                 int64_t begin, int64_t end) {
  const ProgramRunner runner(context, box, *method.program);
  const Axis& col = box.along_dst.axes[0];
  each_block(box, tables, begin, end, [&](const Odometer& at, const IndexRange& rows, const IndexRange& cols) {
    runner.run(context.src + at.offsets[kSrc] + cols.begin * col.stride[kSrc],
               context.dst + at.offsets[kDst] + cols.begin * col.stride[kDst], rows, cols.count());
  });
}

void run_all(const RunContext& context, const Loops& box, const ProgrammedLines& method, const Tables& tables,
             int64_t begin, int64_t end) {
  run_program(context, box, method, tables, begin, end);
  if (box.past_cache && context.kernels.flush) context.kernels.flush();
}

}  // namespace relayout::cpu
