// Describing the lines of a run, and making those of a tile.
#include "relayout/cpu/woven_run.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace relayout::cpu {
namespace {

constexpr int64_t kLine = 64;
/// Times that lines are made again, to be worth describing them.
constexpr int64_t kLeastPeriods = 4;

/// The byte that all of the padding is, if it is one.
bool fills_bytes(uint64_t bits, int64_t element) {
  const uint64_t used = ~uint64_t{0} >> (64 - 8 * element);
  return (bits & used) == ((bits & 255) * 0x0101010101010101 & used);
}

}  // namespace

/// Where a byte of the run is read, or RowSource::kPadding.
int64_t WovenRun::source_of(int64_t at) const {
  int64_t in_piece = at % row_bytes_;
  const RowSource* piece = run_->row_sources.data();
  for (; in_piece >= piece->bytes; ++piece) in_piece -= piece->bytes;
  if (piece->from == RowSource::kPadding) return piece->from;
  return piece->from + at / row_bytes_ * run_->row_step + in_piece;
}

/// A line from byte `at` of the run on: stretches start at the first byte that none has yet.
bool WovenRun::plan_line(WovenLine& line, int64_t at, int* stretches) const {
  line = {};
  int64_t sources[kLine];
  uint64_t left = 0;
  for (int64_t i = 0; i < kLine; ++i) {
    sources[i] = source_of(at + i);
    (sources[i] == RowSource::kPadding ? line.filled : left) |= uint64_t{1} << i;
  }
  int count = 0;
  for (; left != 0; ++count) {
    if (count == WovenLine::kStretches) return false;
    int64_t from = std::numeric_limits<int64_t>::max();
    for (uint64_t bits = left; bits != 0; bits &= bits - 1) from = std::min(from, sources[std::countr_zero(bits)]);
    line.from[count] = from;
    for (uint64_t bits = left; bits != 0; bits &= bits - 1) {
      const int i = std::countr_zero(bits);
      const int64_t byte = sources[i] - from;
      if (byte >= kLine) continue;
      left &= ~(uint64_t{1} << i);
      line.mask[count] |= uint64_t{1} << byte;
      line.index[count / 2][i] = static_cast<uint8_t>(byte + count % 2 * kLine);
      if (count >= 2) line.later |= uint64_t{1} << i;
    }
  }
  // Others read nothing, from where something is read.
  for (int k = count; k < WovenLine::kStretches; ++k) line.from[k] = line.from[0];
  *stretches = std::max(*stretches, count);
  return true;
}

bool WovenRun::plan(const RunContext& context, const BoxPlan& run, int64_t tiles, const std::byte* dst,
                    WovenLineList& list) {
  if (!context.kernels.weave || run.row_sources.empty()) return false;
  run_ = &run;
  const int64_t element = std::max(1, bits(context.plan.dst().dtype) / 8);
  row_bytes_ = 0;
  for (const RowSource& piece : run.row_sources) row_bytes_ += piece.bytes;
  const int64_t rows = kLine / std::gcd(kLine, row_bytes_), period = rows * row_bytes_ / kLine;
  if (tiles * run.run_bytes < kLeastPeriods * period * kLine || list.used + period > kMaxRowLines) return false;
  if (!fills_bytes(context.plan.fill_bits(), element)) return false;
  WovenLine* const lines = list.lines + list.used;
  lines_ = {lines, 0, period, 0, rows * run.row_step, 1, static_cast<uint8_t>(context.plan.fill_bits())};
  start_ = head_ = to_line(dst);
  skipped_ = 0;
  for (int64_t i = 0; i < period; ++i) {
    if (!plan_line(lines[i], start_ + i * kLine, &lines_.stretches)) return false;
  }
  list.used += period;
  return true;
}

/// Bytes [begin, end) of a run, one by one.
void WovenRun::make_bytes(const std::byte* src, std::byte* dst, int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end; ++at) {
    const int64_t from = source_of(at);
    dst[at] = from == RowSource::kPadding ? static_cast<std::byte>(lines_.fill) : src[from];
  }
}

bool WovenRun::make(const RunContext& context, const std::byte* src, std::byte* dst) {
  const int64_t head = to_line(dst), bytes = run_->run_bytes;
  if (head != head_) {
    int64_t i = 0;
    while (i < lines_.period && (start_ + i * kLine - head) % row_bytes_ != 0) ++i;
    if (i == lines_.period) return false;
    head_ = head;
    lines_.first = i;
    skipped_ = (head - start_ - i * kLine) / row_bytes_ * run_->row_step;
  }
  lines_.count = std::max<int64_t>(0, bytes - head) / kLine;
  const int64_t begin = std::min(head, bytes), end = begin + lines_.count * kLine;
  make_bytes(src, dst, 0, begin);
  if (lines_.count > 0) context.kernels.weave(src + skipped_, dst + begin, lines_);
  make_bytes(src, dst, end, bytes);
  return true;
}

}  // namespace relayout::cpu
