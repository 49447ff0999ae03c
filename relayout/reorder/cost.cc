// What a plan is expected to take: the sum over its boxes of what their methods' files say (methods/), and of what it
// takes to start boxes and blocks.
#include <cmath>

#include "relayout/reorder/answer.h"
#include "relayout/reorder/cached_price.h"

namespace relayout {
namespace {

/// Nanoseconds to start a reorder, a box, and a block; to list where one row or column of several axes starts; and to
/// fetch a line for a single element.
constexpr double kRunNs = 3, kBoxNs = 2, kBlockNs = 3, kListedNs = 0.6, kFetchedNs = 6;

/// How many entries the lists of where a box's rows and columns start have, all blocks together. A list of one axis is
/// free; a list of several axes is made anew for a block that starts at another row or column.
double listed(const BoxPlan& box) {
  const auto blocks = static_cast<double>(box.blocks), panels = blocks / static_cast<double>(box.along_src.blocks);
  double out = 0;
  if (box.along_src.axes.size() > 1)
    out += static_cast<double>(box.along_src.block) * (box.along_src.blocks > 1 ? blocks : 1);
  if (box.along_dst.axes.size() > 1)
    out += static_cast<double>(box.along_dst.block) * (box.along_dst.blocks > 1 ? panels : 1);
  return out;
}

/// The share of memory's time that stages past the cache take at least.
constexpr double kOfMemory = 0.9;

/// What memory takes for a plan's bytes.
Traffic traffic_of(const Request& request) {
  /// Bytes and gaps of the source together count at most kMostSpread times its bytes. Up to kFullRate bytes on both
  /// sides together, a reorder in the caches runs at full rate. Beyond that, each byte also waits ((bytes / kFullRate)
  /// ^ kWaits - 1) / kWaited nanoseconds.
  constexpr double kMostSpread = 4, kFullRate = 3e6, kWaits = 0.8, kWaited = 70;
  const Prices prices = prices_of(request.machine);
  const auto src = static_cast<double>(request.src.span_bytes()), dst = static_cast<double>(request.dst.span_bytes());
  const double waited = src + dst > kFullRate ? (std::pow((src + dst) / kFullRate, kWaits) - 1) / kWaited : 0;
  return {prices, std::min(kMostSpread, src / static_cast<double>(request.src.logical_bytes())),
          request.src.span_bytes() <= Machine::kMaxL3Share ? prices.read_l3 : prices.read, waited};
}

/// Adds up the cost of a plan, box by box.
class Price {
 public:
  Price(const Request& request, bool streams, const Traffic& traffic)
      : traffic_(traffic),
        machine_(request.machine),
        streams_(streams),
        src_bytes_(bits(request.src.dtype) / 8.0),
        dst_bytes_(bits(request.dst.dtype) / 8.0),
        old_bytes_(request.attributes.beta != 0 ? dst_bytes_ : 0) {
    const auto both = static_cast<double>(request.src.span_bytes()) + static_cast<double>(request.dst.span_bytes());
    waited_cached_ = waited_ns(request.machine, both) / std::max(1.0, both);
  }

  /// Adds a box that is done `times` times. With `in_tile`, it writes to an image in the cache.
  void add(const BoxPlan& box, double times = 1, bool in_tile = false) {
    if (!streams_ && !in_tile && has_cached_price(box)) {
      Bytes bytes = count(times * static_cast<double>(box.elements), true);
      if (const auto* lines = box.as<ProgrammedLines>(); lines && lines->program->fills) {
        const double padding = static_cast<double>(lines->written) - bytes.to;
        written_ += padding;
        bytes.to += padding;
      }
      ns_ += times * (kBoxNs + traffic_.prices.kernels * cached_ns(box, machine_)) + bytes.both() * waited_cached_;
      return;
    }
    std::visit([&](const auto& method) { add(box, method, times, in_tile); }, box.method);
  }

  Cost cost() const { return {static_cast<int64_t>(std::ceil(read_)), static_cast<int64_t>(std::ceil(written_)), ns_}; }

 private:
  template <typename M>
  void add(const BoxPlan& box, const M& method, double times, bool in_tile) {
    const Bytes bytes = count(times * static_cast<double>(box.elements), !std::is_same_v<M, Fill>);
    start(box, times);
    if constexpr (std::is_same_v<M, Gather> || std::is_same_v<M, ConvertedElements> || std::is_same_v<M, SubByte>) {
      if (streams_ && box.shape() == KernelShape::gather && reads_lines(box))
        ns_ += kFetchedNs * times * static_cast<double>(box.elements) * std::max(0.0, 1 - 1 / traffic_.spread);
    }
    bool past_cache = streams_ && !in_tile;
    if constexpr (std::is_same_v<M, ProgrammedLines>) {
      past_cache = box.past_cache;
      if (method.program->fills) written_ += times * static_cast<double>(method.written) - bytes.to;
    }
    if constexpr (std::is_same_v<M, Fill>) past_cache = past_cache || method.past_cache;
    double in_registers = 0;
    if constexpr (requires { method.each; })
      in_registers = has_cached_price(box) ? times * traffic_.prices.kernels * cached_ns(box, machine_) : 0;
    if (past_cache)
      ns_ += std::max(times * streamed(box, method, traffic_, {bytes.from / times, bytes.to / times}), in_registers);
    else if (streams_)
      ns_ += unfetched(bytes) + traffic_.in_caches(bytes, rate(box, method));
    else
      ns_ += traffic_.in_caches(bytes, rate(box, method)) + bytes.both() * traffic_.waited;
  }

  void add(const BoxPlan& box, const TileRuns& method, double, bool) {
    const auto tiles = static_cast<double>(box.blocks) / static_cast<double>(box.along_src.blocks);
    for (const TileRun& run : method.runs) {
      for (const BoxPlan& leaf : run.boxes) add(leaf, tiles, true);
    }
  }

  void add(const BoxPlan& box, const Stages& method, double times, bool) {
    /// Past the cache, the buffers' stages take some of the time while memory is waited for.
    constexpr double kBesideMemory = 0.5;
    const Bytes bytes = count(times * static_cast<double>(box.elements), true);
    const double cached = times * traffic_.prices.kernels * stages_ns(box, method, machine_);
    ns_ += kBoxNs + (box.past_cache ? kBesideMemory * cached + kOfMemory * traffic_.memory(bytes)
                                    : cached + bytes.both() * waited_cached_);
  }

  /// Counts what so many elements are read and written as.
  Bytes count(double elements, bool reads) {
    const Bytes bytes{reads ? elements * (src_bytes_ + old_bytes_) : 0, elements * dst_bytes_};
    read_ += bytes.from;
    written_ += bytes.to;
    return bytes;
  }

  void start(const BoxPlan& box, double times) {
    ns_ += times * (kBoxNs + kBlockNs * static_cast<double>(box.blocks) + kListedNs * listed(box));
  }

  /// Nanoseconds in which memory reads and writes what a box in a tile needs, of which nothing is fetched ahead.
  double unfetched(const Bytes& bytes) const {
    constexpr double kUnfetched = 0.6;  // the share of the read rate that is left
    return bytes.from * traffic_.spread / (traffic_.read * kUnfetched) + bytes.to / traffic_.prices.write;
  }

  const Traffic& traffic_;
  const Machine& machine_;
  const bool streams_;
  /// Bytes of an element of the source and of the destination, and of the old value that is read from the destination.
  const double src_bytes_, dst_bytes_, old_bytes_;
  /// Nanoseconds that each byte waits in the caches where boxes have a price for the first level.
  double waited_cached_ = 0;
  double read_ = 0, written_ = 0, ns_ = kRunNs;
};

}  // namespace

double least_staged_ns(const Request& request) {
  const auto from = static_cast<double>(request.src.logical_bytes()),
             to = static_cast<double>(request.dst.logical_bytes());
  return kOfMemory * traffic_of(request).memory({from, to});
}

double least_lines_ns(const Request& request) {
  const auto from = static_cast<double>(request.src.logical_bytes()),
             to = static_cast<double>(request.dst.logical_bytes());
  const Traffic traffic = traffic_of(request);
  return traffic.prices.permuted * traffic.memory({from, to});
}

Cost cost_of(const Request& request, const Answer& answer) {
  const Traffic traffic = traffic_of(request);
  Price price(request, answer.streams, traffic);
  for (const BoxPlan& box : answer.boxes) price.add(box);
  for (const BoxPlan& fill : answer.fills) price.add(fill);
  return price.cost();
}

}  // namespace relayout
