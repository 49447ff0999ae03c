// What a plan is expected to take.
//
// Past the caches a reorder takes the time in which memory reads and writes its bytes, times a factor for its shape:
// how far apart rows and columns lie, and whether they start at lines. In the caches each kernel has a rate. Added to
// both are the times to start boxes and blocks, to make the lists of where rows and columns start, and to fetch
// elements one by one. The prices are measured on two machines with AVX-512: a 4th-generation EPYC and, for those that
// differ where the last level is slow and shared, an Intel Xeon. docs/lab has the figures.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "relayout/core/extents.h"
#include "relayout/reorder/axes.h"
#include "relayout/reorder/blocks.h"
#include "relayout/reorder/plan_data.h"

namespace relayout {
namespace {

/// What differs from machine to machine.
struct Prices {
  /// Bytes a nanosecond that one thread writes past the caches, and reads from memory and from the last level.
  double write, read, read_l3;
  /// What the rates of kernels (kernel_rate()) are multiplied by.
  double in_caches;
  /// How many times as long as its bytes alone it takes to put lines together by byte permutations past the caches.
  double permuted;
  /// How many times as long as its bytes alone a transposition past the caches takes. The first index says whether rows
  /// and columns lie pages apart, the second whether rows start anywhere in lines. `small` is for elements of less than
  /// 4 bytes, for which columns that start anywhere count too.
  double large[2][2], small[2][2];
};
/// The prices of the two machines: one with a fast last level, and one whose last level is slow and shared by many
/// cores.
constexpr Prices kFastL3{25, 50, 130, 1, 1.4, {{1.16, 1.4}, {1.33, 1.75}}, {{1.28, 1.8}, {1.4, 2.1}}},
    kSlowSharedL3{23, 23, 35, 0.8, 1.12, {{1.16, 1.4}, {1.33, 1.4}}, {{1.28, 1.28}, {1.28, 1.8}}};
/// Whole lines are fetched, so gaps in the source take as long to read as its elements. Bytes and gaps together count
/// at most kMostSpread times the bytes.
constexpr double kMostSpread = 4;
/// The share of the read rate that is left where nothing is fetched ahead.
constexpr double kUnfetched = 0.6;
/// Bytes a nanosecond, read and written together, of reorders larger than the caches that are written through them: by
/// whole lines, and by partial ones.
constexpr double kWholeLines = 20, kPartialLines = 6;
/// How many times as long as its bytes alone it takes to put tiles together in the cache and write them past it.
constexpr double kByImage = 1.7;
/// A source of at most this many bytes is read from the last level.
constexpr int64_t kLastLevel = 32 << 20;
/// Up to kFullRate bytes on both sides together, a reorder in the caches runs at full rate. Beyond that, each byte also
/// waits ((bytes / kFullRate) ^ kWaits - 1) / kWaited nanoseconds.
constexpr double kFullRate = 3e6, kWaits = 0.8, kWaited = 70;
/// Nanoseconds to start a reorder, a box, and a block; to list where one row or column of several axes starts; and to
/// fetch a line for a single element.
constexpr double kRunNs = 3, kBoxNs = 2, kBlockNs = 3, kListedNs = 0.6, kFetchedNs = 6;
/// Bytes a nanosecond, read and written together, where lines are made by byte permutations in the cache; and the
/// nanoseconds to find out, once a box, which bytes each of these lines has.
constexpr double kPermuted = 36, kDescribedNs = 1000;
/// A box of fewer bytes than this is not done by byte permutations.
constexpr double kLeastPermuted = 1024;
/// Up to kFew rows or columns are (de)interleaved by kernels of their own.
constexpr int64_t kFew = 4;
/// Rows and columns that lie multiples of kSameSets bytes apart compete for few sets of the first-level cache.
constexpr int64_t kSameSets = 1024;

/// The share of a kernel's rate that is left where its rows do not fill all tiles of registers.
double full_tiles(const BoxPlan& box, int64_t piece) {
  const int64_t tile = std::max<int64_t>(1, 16 / piece), rows = box.row_count;
  return static_cast<double>(rows) / static_cast<double>(ceil_div(rows, tile) * tile);
}

bool starts_anywhere(const Axes& axes, Operand side) {
  return std::ranges::any_of(axes, [&](const Axis& a) { return a.stride[side] % kCacheLine != 0; });
}

/// How many times as long as its bytes alone a transposition past the caches takes.
double transposition(const BoxPlan& box, int64_t piece, const Prices& prices) {
  if (interleaved(box.row_count, box.col_count, piece) || interleaved(box.col_count, box.row_count, piece)) return 1.05;
  const int64_t row_bytes = box.col_count * piece;
  const bool small = piece < 4;
  const bool halves = row_bytes == kCacheLine / 2 && box.rows[0].stride[kDst] == row_bytes;
  // Rows (or columns) that lie at least a page apart need an entry of the TLB each.
  const bool far = std::abs(box.cols[0].stride[kSrc]) >= kPage && std::abs(box.rows[0].stride[kDst]) >= kPage;
  const bool anywhere = (starts_anywhere(box.rows, kDst) && !halves) || (small && starts_anywhere(box.cols, kSrc));
  return (small ? prices.small : prices.large)[far][anywhere] / full_tiles(box, piece);
}

/// Bytes a nanosecond, read and written together, of a box's kernel in the caches.
double kernel_rate(const BoxPlan& box, bool converts) {
  static constexpr std::array kTranspose{50.0, 60.0, 88.0, 75.0};  // by log2 of an element's bytes
  const int64_t piece = std::max<int64_t>(1, box.piece[kSrc]), row_bytes = box.col_count * piece;
  if (box.unit_bits[kSrc] == 4 || box.unit_bits[kDst] == 4) return converts ? 4 : 2;
  switch (box.shape) {
    case KernelShape::copy:
      if (converts) return 30;
      return box.long_runs ? 90 : std::min(75.0, 2.0 * static_cast<double>(piece));
    case KernelShape::transpose: {
      if (converts) return 24;
      if (box.row_run > 0) return 15;
      double out = kTranspose[static_cast<std::size_t>(std::countr_zero(static_cast<uint64_t>(piece)))];
      if (std::min(box.row_count, box.col_count) > kFew) {
        out *= full_tiles(box, piece);
        // The kernel that takes lists moves squares of whole lines, which rows of less than a line do not fill.
        if (!box.strided && piece >= 4 && box.row_count * piece < kCacheLine) out *= 0.5;
      }
      if (box.cols[0].stride[kSrc] % kSameSets == 0 && box.rows[0].stride[kDst] % kSameSets == 0) out *= 0.6;
      // Rows of less than 32 bytes that do not follow each other leave most of a store unused.
      const bool rows_follow = box.rows[0].stride[kDst] == row_bytes;
      return out * (rows_follow ? 1 : std::min(1.0, static_cast<double>(row_bytes) / 32));
    }
    case KernelShape::gather: return std::min(30.0, 1.6 * static_cast<double>(piece));
    case KernelShape::fill: break;
  }
  return 30;
}

/// Whether elements are read one by one and lie so far apart that a line has only a few of them.
bool reads_lines(const BoxPlan& box) {
  return box.shape == KernelShape::gather && box.chunk == 0 && !box.dense_rows &&
         std::ranges::any_of(box.cols, [&](const Axis& a) {
           return std::abs(a.stride[kSrc]) >= std::max(kCacheLine / 4, box.piece[kSrc] + 1);
         });
}

/// How many entries the lists of where a box's rows and columns start have, all blocks together. A list of one axis is
/// free; a list of several axes is made anew for a block that starts at another row or column.
double listed(const BoxPlan& box) {
  const auto blocks = static_cast<double>(box.blocks), panels = blocks / static_cast<double>(box.strips);
  double out = 0;
  if (box.rows.size() > 1) out += static_cast<double>(box.block_rows) * (box.strips > 1 ? blocks : 1);
  if (box.cols.size() > 1 && !box.long_runs) out += static_cast<double>(box.block_cols) * (box.panels > 1 ? panels : 1);
  return out;
}

/// Adds up the cost of a plan, box by box.
class Price {
 public:
  Price(const PlanData& plan, const Prices& prices)
      : prices_(prices),
        streams_(plan.streams()),
        converts_(plan.converts()),
        src_bytes_(bits(plan.src().dtype) / 8.0),
        dst_bytes_(bits(plan.dst().dtype) / 8.0),
        old_bytes_(plan.attributes().beta != 0 ? dst_bytes_ : 0),
        spread_(std::min(kMostSpread, static_cast<double>(plan.src().span_bytes()) /
                                          static_cast<double>(plan.src().logical_bytes()))),
        read_(plan.src().span_bytes() <= kLastLevel ? prices.read_l3 : prices.read) {
    const auto both = static_cast<double>(plan.src().span_bytes()) + static_cast<double>(plan.dst().span_bytes());
    if (both > kFullRate) waited_ = (std::pow(both / kFullRate, kWaits) - 1) / kWaited;
  }

  void add(const BoxPlan& box) {
    if (box.stage > 0) return add_stages(box, 1);
    if (box.nested.empty()) return add_box(box, 1, false);
    const auto tiles = static_cast<double>(box.blocks);
    for (const BoxPlan& run : box.nested) {
      if (!run.row_sources.empty()) {
        add_permuted(tiles * static_cast<double>(run.elements) * src_bytes_,
                     tiles * static_cast<double>(run.run_bytes));
        continue;
      }
      for (const BoxPlan& leaf : run.nested) leaf.stage > 0 ? add_stages(leaf, tiles) : add_box(leaf, tiles, true);
    }
  }

  Cost cost() const {
    return {static_cast<int64_t>(std::ceil(bytes_read_)), static_cast<int64_t>(std::ceil(bytes_written_)), ns_};
  }

 private:
  double rate(const BoxPlan& box, bool converts) const { return kernel_rate(box, converts) * prices_.in_caches; }

  /// Adds a box that is done `times` times. With `in_tile`, it writes to an image in the cache.
  void add_box(const BoxPlan& box, double times, bool in_tile) {
    const double elements = times * static_cast<double>(box.elements), to = elements * dst_bytes_;
    const double from = box.shape == KernelShape::fill ? 0 : elements * (src_bytes_ + old_bytes_);
    if (!in_tile && !box.row_sources.empty() && to >= kLeastPermuted) return add_permuted(from, to);
    bytes_read_ += from;
    bytes_written_ += to;
    start(box, times);
    if (streams_ && reads_lines(box)) ns_ += kFetchedNs * elements * std::max(0.0, 1 - 1 / spread_);
    if (box.by_image)
      ns_ += (from * spread_ / read_ + to / prices_.write) * kByImage;
    else if (box.fill_streams)
      ns_ += to / prices_.write;
    else if (!streams_)
      ns_ += (from + to) * (1 / rate(box, converts_) + waited_);
    else if (in_tile)
      ns_ += from * spread_ / (read_ * kUnfetched) + to / prices_.write + (from + to) / rate(box, converts_);
    else
      ns_ += streamed(box, from, to);
  }

  /// Adds a box whose lines are made by byte permutations.
  void add_permuted(double from, double to) {
    bytes_read_ += from;
    bytes_written_ += to;
    ns_ += kBoxNs + kDescribedNs;
    ns_ += streams_ ? prices_.permuted * (from * spread_ / read_ + to / prices_.write)
                    : (from + to) * (1 / kPermuted + waited_);
  }

  /// Nanoseconds to move a box past the caches, which reads `from` bytes and writes `to` bytes.
  double streamed(const BoxPlan& box, double from, double to) const {
    const double memory = from * spread_ / read_ + to / prices_.write;
    const int64_t piece = std::max<int64_t>(1, box.piece[kDst]);
    if (box.shape == KernelShape::gather || box.unit_bits[kSrc] == 4 || box.unit_bits[kDst] == 4)
      return (from + to) / rate(box, converts_);
    // These boxes write each line in several stores, through the cache.
    if (box.row_run > 0 || box.shape == KernelShape::fill || (!box.dense_cols && piece < kScatteredPiece))
      return (from + to) / (piece >= kCacheLine ? kWholeLines : kPartialLines);
    if (box.shape == KernelShape::transpose) {
      if (converts_) return std::max(memory, (from + to) / rate(box, true));
      return memory * transposition(box, piece, prices_);
    }
    if (converts_) return memory * 1.15;
    // Pieces that do not divide a line, and are no multiple of one, take longer.
    return memory * (box.long_runs ? 1 : piece % kCacheLine == 0 || kCacheLine % piece == 0 ? 1.08 : 1.3);
  }

  /// Adds a conversion by stages: one stage converts, the others move bits within the cache.
  void add_stages(const BoxPlan& box, double times) {
    times *= static_cast<double>(box.blocks);
    const std::size_t converting = box.converts_last ? box.nested.size() - 1 : 0;
    for (std::size_t p = 0; p < box.nested.size(); ++p) {
      const BoxPlan& stage = box.nested[p];
      if (p == converting) {
        add_box(stage, times, streams_);
      } else {
        start(stage, times);
        const double elements = times * static_cast<double>(stage.elements);
        ns_ += 2 * elements * (box.converts_last ? src_bytes_ : dst_bytes_) / rate(stage, false);
      }
    }
  }

  void start(const BoxPlan& box, double times) {
    ns_ += times * (kBoxNs + kBlockNs * static_cast<double>(box.blocks) + kListedNs * listed(box));
  }

  const Prices& prices_;
  const bool streams_, converts_;
  /// Bytes of an element of the source and of the destination, and of the old value that is read from the destination.
  const double src_bytes_, dst_bytes_, old_bytes_;
  const double spread_, read_;
  /// Nanoseconds that each byte waits in the caches, beyond the time of its kernel.
  double waited_ = 0;
  double bytes_read_ = 0, bytes_written_ = 0, ns_ = kRunNs;
};

}  // namespace

Cost PlanData::cost() const {
  Price price(*this, slow_shared_l3_ ? kSlowSharedL3 : kFastL3);
  for (const BoxPlan& box : boxes_) price.add(box);
  for (const BoxPlan& fill : fills_) price.add(fill);
  return price.cost();
}

}  // namespace relayout
