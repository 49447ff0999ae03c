// Finding out where the bytes of each line of a run are read, and making the lines.
#include "relayout/cpu/runners/permuted_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Describing the lines of a period is worth it only if at least kLeastPeriods periods are made.
constexpr int64_t kLeastPeriods = 4;
/// Where a kernel makes only 16 bytes at a time, copying pieces is as fast as permuting if they have this many bytes on
/// average: kShort through the cache, kShortStreamed past it.
constexpr int64_t kShort = 4, kShortStreamed = 16;
/// Runs of fewer bytes are written through the cache: they have too few whole lines.
constexpr int64_t kShortRun = 64 * kCacheLine;

/// Whether the bytes of a padding element are all the same.
bool fills_bytes(uint64_t bits, int64_t element) {
  const uint64_t used = ~uint64_t{0} >> (64 - 8 * element);
  return (bits & used) == ((bits & 255) * 0x0101010101010101 & used);
}

bool reads(const RowSource& piece) { return piece.from != RowSource::kPadding && piece.from != RowSource::kGap; }

uint64_t low_bits(int64_t count) { return count < kCacheLine ? (uint64_t{1} << count) - 1 : ~uint64_t{0}; }

}  // namespace

/// Where byte `at` of a run is read, from where the run's source starts; or kPadding or kGap.
int64_t PermutedRun::source_of(int64_t at) const {
  int64_t in_piece = at % row_bytes_;
  const RowSource* piece = rows_->pieces.data();
  for (; in_piece >= piece->bytes; ++piece) in_piece -= piece->bytes;
  return reads(*piece) ? piece->from + at / row_bytes_ * rows_->step + in_piece : piece->from;
}

/// Notes that the bytes of a line from in_line on are bytes [first, first + bytes) of its stretch k.
void PermutedRun::add_stretch(PermutedLine& line, int k, int64_t first, int64_t bytes, int64_t in_line) const {
  const bool whole = width_ == kCacheLine;
  uint8_t* const index = whole ? line.index[k / 2] + in_line : line.index[0] + k * width_ + in_line;
  const int64_t base = whole ? first + k % 2 * kCacheLine : first;
  for (int64_t b = 0; b < bytes; ++b) index[b] = static_cast<uint8_t>(base + b);
  if (!whole) return;
  line.mask[k] |= low_bits(bytes) << first;
  if (k >= 2) line.later |= low_bits(bytes) << in_line;
}

/// Describes the line that starts at byte `at` of a run. Each stretch of the source starts at the first byte that the
/// line needs and that no stretch has yet. False where that takes too many stretches.
bool PermutedRun::plan_line(PermutedLine& line, int64_t at) {
  constexpr uint8_t kNoByte = 128;
  line = {};
  if (width_ < kCacheLine) std::ranges::fill(line.index[0], kNoByte);
  // The pieces of the line, in the order of the run.
  struct Piece {
    int64_t from, bytes, in_line;
  };
  Piece pieces[kCacheLine];
  int count = 0;
  constexpr int64_t kTop = std::numeric_limits<int64_t>::max();
  int64_t first = kTop;
  int64_t row = at / row_bytes_ * rows_->step, skip = at % row_bytes_;
  const RowSource* next = rows_->pieces.data();
  const RowSource* const end = next + rows_->pieces.size();
  for (; skip >= next->bytes; ++next) skip -= next->bytes;
  for (int64_t i = 0; i < width_; ++next) {
    if (next == end) {
      next = rows_->pieces.data();
      row += rows_->step;
    }
    const int64_t bytes = std::min(next->bytes - skip, width_ - i);
    const uint64_t mask = low_bits(bytes) << i;
    if (next->from != RowSource::kGap) line.written |= mask;
    if (next->from == RowSource::kPadding) {
      line.filled |= mask;
      if (width_ < kCacheLine) std::fill_n(line.index[1] + i, bytes, lines_.fill);
    }
    if (reads(*next)) {
      const int64_t from = next->from + row + skip;
      pieces[count++] = {from, bytes, i};
      first = std::min(first, from);
    }
    i += bytes;
    skip = 0;
  }
  int stretches = 0;
  for (; count > 0; ++stretches) {
    if (stretches == PermutedLine::kStretches) return false;
    const int64_t from = std::exchange(first, kTop);
    line.from[stretches] = from;
    int left = 0;
    for (int p = 0; p < count; ++p) {
      const Piece piece = pieces[p];
      const int64_t at_byte = piece.from - from, bytes = std::clamp<int64_t>(width_ - at_byte, 0, piece.bytes);
      if (bytes > 0) add_stretch(line, stretches, at_byte, bytes, piece.in_line);
      if (bytes == piece.bytes) continue;
      pieces[left++] = {piece.from + bytes, piece.bytes - bytes, piece.in_line + bytes};
      first = std::min(first, piece.from + bytes);
    }
    count = left;
  }
  // The other stretches have no byte of the line. A kernel may read them nevertheless, so they must start at readable
  // memory: where the first stretch starts or, in a line of padding alone, where some piece of its row is read.
  if (stretches == 0) line.from[0] = at / row_bytes_ * rows_->step + std::ranges::find_if(rows_->pieces, reads)->from;
  for (int k = stretches; k < PermutedLine::kStretches; ++k) line.from[k] = line.from[0];
  lines_.stretches = std::max(lines_.stretches, stretches);
  return true;
}

/// Describes the lines of one period, from byte `start` of a run on.
bool PermutedRun::plan_lines(int64_t start) {
  start_ = head_ = kNone;
  for (int64_t i = 0; i < lines_.period; ++i) {
    if (!plan_line(list_[i], start + i * width_)) return false;
  }
  start_ = head_ = start;
  lines_.first = skipped_ = 0;
  return true;
}

/// Bytes from an address to the next line.
int64_t PermutedRun::head_of(const std::byte* at) const { return to_line(at) & (width_ - 1); }

bool PermutedRun::plan(const RunContext& context, const RowPattern& rows, int64_t total, bool past_cache,
                       PermutedLineList& list) {
  if (!context.kernels.permute_lines || std::ranges::none_of(rows.pieces, reads)) return false;
  rows_ = &rows;
  const int64_t element = std::max(1, bits(context.plan.dst().dtype) / 8);
  width_ = context.kernels.permuted_bytes;
  row_bytes_ = reach_ = 0;
  for (const RowSource& piece : rows.pieces) {
    row_bytes_ += piece.bytes;
    if (reads(piece)) reach_ = std::max(reach_, piece.from + piece.bytes);
  }
  gaps_ = has_gaps(rows);
  const bool pads =
      std::ranges::any_of(rows.pieces, [](const RowSource& piece) { return piece.from == RowSource::kPadding; });
  const int64_t most = (past_cache ? kShortStreamed : kShort) * static_cast<int64_t>(rows.pieces.size());
  if (width_ < kCacheLine && (gaps_ || row_bytes_ >= most)) return false;
  if (pads && !fills_bytes(context.plan.fill_bits(), element)) return false;
  if (pads && bits(context.plan.dst().dtype) < 8 && !byte_of_equal(context.plan.dst().dtype, context.plan.fill_bits()))
    return false;
  const int64_t alike = width_ / std::gcd(width_, row_bytes_), period = alike * row_bytes_ / width_;
  if (total < kLeastPeriods * period * width_ || list.used + period > RowPattern::kMaxLines) return false;
  list_ = list.lines + list.used;
  const auto fill = static_cast<uint8_t>(context.plan.fill_bits());
  lines_ = {list_, 0, period, 0, alike * rows.step, 1, fill, PermutedLines::Store::whole, nullptr};
  if (!plan_lines(0)) return false;
  first_ = {list_[0], list_[0].written};
  last_ = {list_[period - 1], list_[period - 1].written};
  last_at_ = (period - 1) * width_;
  list.used += period;
  return true;
}

/// Makes bytes [begin, end) of a run one by one.
void PermutedRun::make_bytes(const std::byte* src, std::byte* dst, int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end; ++at) {
    const int64_t from = source_of(at);
    if (from == RowSource::kGap) continue;
    dst[at] = from == RowSource::kPadding ? static_cast<std::byte>(lines_.fill) : src[from];
  }
}

/// Finds the line of the list that has the same pattern as a run's first whole line, which is `head` bytes after the
/// run's start. If there is none, the list is made anew. False where it cannot be made.
bool PermutedRun::seek(int64_t head) {
  if (head == head_) return true;
  if (start_ == kNone) return plan_lines(head);
  // `away` is the distance, modulo the length of a row, from where this line starts to where line i of the list starts.
  // At 0 the two lines have the same pattern.
  int64_t i = 0, away = (start_ - head) % row_bytes_;
  if (away < 0) away += row_bytes_;
  for (const int64_t step = width_ % row_bytes_; i < lines_.period && away != 0; ++i) {
    away += step;
    if (away >= row_bytes_) away -= row_bytes_;
  }
  if (i == lines_.period) return plan_lines(head);
  head_ = head;
  lines_.first = i;
  skipped_ = (head - start_ - i * width_) / row_bytes_ * rows_->step;
  return true;
}

bool PermutedRun::joins(const Offsets& step, int64_t bytes) const {
  return !gaps_ && bytes >= width_ && step[kDst] == bytes && step[kSrc] == bytes / row_bytes_ * rows_->step;
}

void PermutedRun::make(const Kernels& kernels, const std::byte* src, std::byte* dst, int64_t bytes, bool past_cache,
                       Joined joined) {
  int64_t head = head_of(dst);
  const int64_t left = joined.after ? head_of(dst + bytes) : 0, rest = left > 0 ? width_ - left : 0;
  if (joined.before) {
    // This run continues the run before, so it starts with that run's last, incomplete line.
    head += head > 0 ? bytes - width_ : bytes;
    src -= bytes / row_bytes_ * rows_->step;
    dst -= bytes;
    bytes *= 2;
  }
  const int64_t begin = joined.before ? head : 0, end = bytes - rest;
  if (bytes < width_ || !seek(head)) return make_bytes(src, dst, begin, end);
  const int64_t rows = bytes / row_bytes_;
  using Store = PermutedLines::Store;
  lines_.end = src + reach_ + std::max<int64_t>(0, (rows - 1) * rows_->step);
  // Where whole lines are written past the cache, incomplete lines are made on the stack and copied. A masked store in
  // place may touch the line beside its own, even if the mask excludes all of it, and would fetch that line into the
  // cache or displace a line that is being written. Elsewhere, masked stores write in place.
  const auto edge = [&](EdgeLine& edge_line, int64_t from, int64_t to, int64_t in_line, int64_t line_end) {
    const bool apart = past_cache && !gaps_;
    alignas(kCacheLine) std::byte made[kCacheLine];
    edge_line.line.written = edge_line.written & low_bits(line_end) & ~low_bits(in_line);
    const Store store = width_ < kCacheLine || apart ? Store::whole : Store::masked;
    kernels.permute_lines(src + from, apart ? made : dst + to,
                          {&edge_line.line, 0, 1, 1, 0, lines_.stretches, lines_.fill, store, lines_.end});
    if (apart) std::memcpy(dst + to + in_line, made + in_line, static_cast<std::size_t>(line_end - in_line));
  };
  if (head > begin) edge(first_, 0, 0, 0, head);
  lines_.count = (end - head) / width_;
  lines_.store = gaps_ ? Store::masked : past_cache ? Store::past_cache : Store::whole;
  if (lines_.count > 0) kernels.permute_lines(src + skipped_, dst + head, lines_);
  if (const int64_t last = (end - head) % width_; last > 0)
    edge(last_, (bytes - width_ - last_at_) / row_bytes_ * rows_->step, bytes - width_, width_ - last, width_);
}

namespace {

/// Runs blocks [begin, end). False, and nothing is done, where the lines cannot be made by byte permutations.
bool run_permuted(const RunContext& context, const Loops& loops, const PermutedRows& method, const Tables& tables,
                  int64_t begin, int64_t end) {
  if (!context.kernels.permute_lines) return false;
  int64_t row_bytes = 0;
  for (const RowSource& piece : method.rows.pieces) row_bytes += piece.bytes;
  // The rows of a run are those of the region; or they are steps of the last axis of the columns, so that each row of
  // the region has a run of its own.
  const bool of_region = method.of_region;
  const Axis& next = of_region ? loops.along_src.axes[0] : loops.along_dst.axes.back();
  const int64_t steps = of_region ? loops.along_src.count : next.extent,
                region = loops.along_src.blocks * loops.along_dst.blocks;
  const int64_t block_steps =
      of_region ? loops.along_src.block : loops.along_dst.block / (loops.along_dst.count / next.extent);
  const int64_t runs = of_region ? 1 : loops.along_src.block;
  Odometer at(loops, tables);
  at.seek(begin / region);
  PermutedLineList list;
  PermutedRun run;
  // The bytes of all blocks count, not only of those of this thread. Another thread may run blocks that share lines
  // with these, and it must come to the same answer.
  if (!run.plan(context, method.rows, loops.blocks * runs * block_steps * row_bytes, method.past_cache, list))
    return false;
  Starts2 starts(loops.along_src.axes);
  for (int64_t b = begin; b < end;) {
    // Consecutive blocks whose rows are one run are made together.
    const int64_t block = b % region, strip = block % loops.along_src.blocks, panel = block / loops.along_src.blocks;
    const bool one_run = of_region || loops.along_src.count == 1;
    const int64_t blocks = one_run ? std::min(region - block, end - b) : 1;
    const int64_t first = (of_region ? strip : panel) * block_steps;
    const int64_t bytes = std::min(blocks * block_steps, steps - first) * row_bytes;
    const std::byte* const src = context.src + at.offsets[kSrc] + first * next.stride[kSrc];
    std::byte* const dst = context.dst + at.offsets[kDst] + first * next.stride[kDst];
    const bool beyond = method.past_cache && bytes >= kShortRun;
    if (one_run) {
      run.make(context.kernels, src, dst, bytes, beyond);
    } else {
      const IndexRange rows{strip * loops.along_src.block, loops.along_src.block, loops.along_src.count};
      starts.seek(rows.begin, rows.count());
      for (int64_t r = 0; r < rows.count(); ++r)
        run.make(context.kernels, src + starts.first()[kSrc] + starts.of(kSrc)[r],
                 dst + starts.first()[kDst] + starts.of(kDst)[r], bytes, beyond);
    }
    b += blocks;
    if (b % region == 0 && b < end) at.next();
  }
  if (method.past_cache && context.kernels.flush) context.kernels.flush();
  return true;
}

}  // namespace

bool run(const RunContext& context, const Loops& loops, const PermutedRows& method, const Tables& tables, int64_t begin,
         int64_t end) {
  if (run_permuted(context, loops, method, tables, begin, end)) return true;
  BoxPlan otherwise;
  static_cast<Loops&>(otherwise) = loops;
  std::visit([&](const auto& plain) { otherwise.method = plain; }, method.otherwise);
  run_blocks(context, otherwise, tables, begin, end);
  return true;
}

}  // namespace relayout::cpu
