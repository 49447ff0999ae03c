// How the blocks of tiles of registers, line programs and stages name elements.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "relayout/reorder/outline/move_walker.h"
#include "relayout/reorder/refine/axes.h"

namespace relayout {
namespace {

/// The place of a byte in a pattern.
int64_t place_of(const std::array<uint8_t, kRegister>& pattern, int64_t byte) {
  return std::ranges::find(pattern, static_cast<uint8_t>(byte)) - pattern.begin();
}

/// The first index of the tile that index i of a run is in: the last tile of a run starts earlier, so that it is full.
int64_t tile_start(int64_t i, int64_t run, int64_t height) {
  const int64_t begin = i / run * run, in_run = i - begin;
  return begin + std::min(in_run / height * height, std::max<int64_t>(0, run - height));
}

/// Where the elements of a buffer belong in the tensor.
class InTensor {
 public:
  /// `start`: of the chunk's first stretch, in units, of which an element has `units`.
  InTensor(const Stretches& stretches, Operand side, int64_t start, int64_t units)
      : stretches_(stretches), start_(start + stretches.first[side]), units_(units), side_(side) {}

  int64_t stretch(int64_t place) const { return place / stretches_.pitch; }
  int64_t in_stretch(int64_t place) const { return place % stretches_.pitch; }
  int64_t offset(int64_t stretch, int64_t in_stretch) const {
    int64_t at = start_;
    for (const Axis& axis : stretches_.axes) {
      at += stretch % axis.extent * axis.stride[side_];
      stretch /= axis.extent;
    }
    at += stretches_.bases[static_cast<std::size_t>(stretch)];
    return stretches_.swizzle.apply(at / units_ + in_stretch);
  }
  int64_t operator()(int64_t place) const { return offset(stretch(place), in_stretch(place)); }

 private:
  const Stretches& stretches_;
  int64_t start_, units_;
  Operand side_;
};

/// Joins elements that are found one by one and follow each other on both sides.
class Joined {
 public:
  explicit Joined(const MoveWalker::Found& found) : found_(found) {}

  bool add(int64_t src, int64_t dst, bool fill) {
    if (count_ > 0 && fill == fill_ && dst == dst_ + count_ && (fill || src == src_ + count_)) {
      ++count_;
      return true;
    }
    if (!end()) return false;
    src_ = src, dst_ = dst, fill_ = fill, count_ = 1;
    return true;
  }
  /// The elements whose first bit is in these bytes of the destination, of elements of `bits` bits. Elements of less
  /// than a byte are moved as bytes where whole groups of them are.
  bool add_bytes(int64_t src, int64_t dst, int64_t bytes, int64_t bits, bool fill) {
    const int64_t first = ceil_div(8 * dst, bits), last = ceil_div(8 * (dst + bytes), bits);
    const int64_t from = (8 * src + first * bits - 8 * dst) / bits;
    for (int64_t i = 0; i < last - first; ++i) {
      if (!add(fill ? -1 : from + i, first + i, fill)) return false;
    }
    return true;
  }
  /// What follows is not joined to what came before.
  bool end() { return count_ == 0 || found_(src_, dst_, std::exchange(count_, 0), fill_); }

 private:
  const MoveWalker::Found& found_;
  int64_t src_ = 0, dst_ = 0, count_ = 0;
  bool fill_ = false;
};

}  // namespace

bool MoveWalker::tiles(const BoxPlan& box, const RegisterTiles& method, const Offsets& at, const Part& part) {
  const int64_t piece = box.piece[kDst], height = kRegister / piece;
  const int64_t element = std::max<int64_t>(1, bits_[kDst] / 8);
  const int64_t row_run = std::min(method.row_run, box.along_src.count),
                col_run = std::min(method.col_run, box.along_dst.count);
  Joined joined(found_);
  for (int64_t r = part.row_begin; r < part.row_end; ++r) {
    const int64_t first_row = tile_start(r, row_run, height);
    for (int64_t c = part.col_begin; c < part.col_end; ++c) {
      const int64_t first_col = tile_start(c, col_run, height);
      const int64_t src = at[kSrc] + listed(box.along_src.axes, first_row)[kSrc] + listed(box.along_dst.axes, c)[kSrc];
      const int64_t dst = at[kDst] + listed(box.along_src.axes, r)[kDst] + listed(box.along_dst.axes, first_col)[kDst];
      for (int64_t byte = 0; byte < piece; byte += element) {
        const int64_t from = src + method.src_pattern[static_cast<std::size_t>((r - first_row) * piece + byte)];
        const int64_t to = dst + place_of(method.dst_pattern, (c - first_col) * piece + byte);
        if (!joined.add_bytes(from, to, element, bits_[kDst], false)) return false;
      }
      if (!joined.end()) return false;
    }
  }
  return true;
}

/// One unit of a line program, at these bytes of both sides.
bool MoveWalker::unit(const LineProgram& program, int64_t src, int64_t dst) {
  const int64_t element = std::max<int64_t>(1, bits_[kDst] / 8);
  Joined joined(found_);
  for (const LineProgram::Line& line :
       std::span(program.lines).first(static_cast<std::size_t>(program.lines_of_unit()))) {
    const int64_t first = line.first_window;
    for (int64_t i = 0; i < program.width; i += element) {
      int64_t from = -1;
      for (int64_t w = first; w < first + line.windows; ++w) {
        const uint8_t place = program.index(w)[i];
        if (place & LineProgram::kTaken)
          from = src + program.from[static_cast<std::size_t>(w)] + (place & ~LineProgram::kTaken);
      }
      const bool fill = from < 0 && program.fills && (line.written >> i & 1) != 0;
      if (from < 0 && !fill) continue;
      if (!joined.add_bytes(from, dst + line.dst + i, element, bits_[kDst], fill)) return false;
    }
    if (!joined.end()) return false;
  }
  return true;
}

bool MoveWalker::lines(const BoxPlan& box, const ProgrammedLines& method, const Offsets& at, const Part& part) {
  const LineProgram& program = *method.program;
  const Axis &row = box.along_src.axes[0], &col = box.along_dst.axes[0];
  const int64_t steps = program.steps;
  // The last strip may have fewer steps than a unit. Then the strip before it makes them.
  if (part.row_end - part.row_begin < steps && part.row_begin > 0) return true;
  const int64_t last = box.along_src.count - part.row_end < steps ? box.along_src.count : part.row_end;
  const auto units = [&](int64_t first) {
    for (int64_t c = part.col_begin; c < part.col_end; ++c) {
      if (!unit(program, at[kSrc] + first * row.stride[kSrc] + c * col.stride[kSrc],
                at[kDst] + first * row.stride[kDst] + c * col.stride[kDst]))
        return false;
    }
    return true;
  };
  int64_t first = part.row_begin;
  for (; first + steps <= last; first += steps) {
    if (!units(first)) return false;
  }
  return first == last || units(last - steps);
}

bool MoveWalker::stages(const BoxPlan& box, const Stages& method, const Offsets& base, int64_t number) {
  std::vector<int64_t> index;
  std::vector<Offsets> starts{loops_at(box, base, number, &index)};
  // What is left over at the ends of loops is done by chunks that start later, in the order of a nest of their own.
  for (auto rest = method.rests.rbegin(); rest != method.rests.rend(); ++rest) {
    if (index[rest->loop] + 1 < box.loops[rest->loop].extent) continue;
    for (std::size_t i = 0, count = starts.size(); i < count; ++i) {
      Offsets later = starts[i];
      for (std::size_t k = 0; k < kOperands; ++k) later[k] += rest->shift[k];
      starts.push_back(later);
    }
  }
  return std::ranges::all_of(starts, [&](const Offsets& at) { return chunk(method, at); });
}

bool MoveWalker::chunk(const Stages& method, const Offsets& at) {
  const InTensor in(method.in, kSrc, at[kSrc], relayout::units(plan_.src().dtype)),
      out(method.out, kDst, at[kDst], relayout::units(plan_.dst().dtype));
  const int64_t between = 8 * relayout::units(method.between), run = method.out.run;
  // For each element of the stretches that are written: where it is read.
  std::vector<int64_t> from(method.writes ? static_cast<std::size_t>(method.out.count * run) : 0, -1);
  MoveWalker inside(plan_, {between, between}, [&](int64_t src, int64_t dst, int64_t count, bool) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t read = method.reads ? in(src + i) : src + i;
      if (method.writes)
        from[static_cast<std::size_t>(out.stretch(dst + i) * run + out.in_stretch(dst + i))] = read;
      else if (!found_(read, dst + i, 1, false))
        return false;
    }
    return true;
  });
  Offsets base{};
  if (!method.reads) base[kSrc] = at[kSrc];
  if (!method.writes) base[kDst] = at[kDst];
  for (const BoxPlan& box : method.moves) {
    if (!inside.whole(box, base)) return false;
  }
  Joined joined(found_);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    if (place % run == 0 && !joined.end()) return false;
    const bool fill = from[i] < 0;
    if (fill && !method.fills) continue;
    if (!joined.add(from[i], out.offset(place / run, place % run), fill)) return false;
  }
  return joined.end();
}

}  // namespace relayout
