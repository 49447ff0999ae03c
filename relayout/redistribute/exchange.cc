// Segments of dims, and messages as their products.
#include "relayout/redistribute/exchange.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "relayout/core/error.h"
#include "relayout/core/view.h"

namespace relayout::redistribute {
namespace {

/// Up to so many segments are made in both ways, and the fewer taken.
constexpr int64_t kFewSegments = 1 << 14;
/// More would take hundreds of megabytes.
constexpr int64_t kMostSegments = 1 << 22;

int64_t indices(const Segment& segment) { return segment.length * segment.count; }

/// Makes two equal segments the first and the second half of what they are: of the windows or, where there is one, of
/// its indices.
void halve(Segment& first, Segment& second) {
  if (first.count > 1) {
    first.count /= 2;
    second.count -= first.count;
    second.start += first.count * first.step;
    second.src_start += first.count * first.src_step;
    second.dst_start += first.count * first.dst_step;
    return;
  }
  first.length /= 2;
  second.length -= first.length;
  second.start += first.length;
  second.src_start += first.length;
  second.dst_start += first.length;
}

/// A dim with the blocks of both placements.
struct Dim {
  Dim(const Placement& src, const Placement& dst, int d)
      : from(src.of_dims()[static_cast<std::size_t>(d)]),
        to(dst.of_dims()[static_cast<std::size_t>(d)]),
        extent(src.dims()[d]),
        from_round(from.block * from.count()),
        to_round(to.block * to.count()) {}

  /// The indices from `begin` on that lie in one block of either side, up to `end`.
  Segment run(int64_t begin, int64_t end) const {
    Segment out{.start = begin};
    out.length = std::min({(begin / from.block + 1) * from.block, (begin / to.block + 1) * to.block, end}) - begin;
    out.src_coordinate = (begin / from.block + from.first) % from.count();
    out.dst_coordinate = (begin / to.block + to.first) % to.count();
    out.src_start = begin / from_round * from.block + begin % from.block;
    out.dst_start = begin / to_round * to.block + begin % to.block;
    return out;
  }

  /// The least common multiple of both rounds, or the extent where that is less.
  int64_t period() const {
    const std::optional<int64_t> common = checked_mul(from_round / std::gcd(from_round, to_round), to_round);
    return std::min(common.value_or(extent), extent);
  }

  /// Adds the runs of one period from `first` on, each with how often it repeats, and those that `end` cuts.
  void add_periodic(int64_t first, int64_t end, int64_t period, std::vector<Segment>* out) const {
    const int64_t once = std::min(period, end - first);
    for (int64_t begin = first; begin < first + once;) {
      Segment segment = run(begin, first + once);
      segment.step = period;
      segment.count = (end - begin - segment.length) / period + 1;
      if (segment.count > 1) {
        const Segment second = run(begin + period, end);
        segment.src_step = second.src_start - segment.src_start;
        segment.dst_step = second.dst_start - segment.dst_start;
      }
      const int64_t rest = begin + segment.count * period;
      if (rest < end) {
        Segment cut = run(rest, end);
        cut.length = std::min(cut.length, segment.length);
        out->push_back(cut);
      }
      begin += segment.length;
      out->push_back(segment);
    }
  }

  /// The side of the smaller blocks, and the larger block.
  const DimPlaces& small() const { return from.block <= to.block ? from : to; }
  int64_t large_block() const { return std::max(from.block, to.block); }

  /// About how many segments periodic() and nested() are.
  double periodic_segments() const {
    return static_cast<double>(period()) / static_cast<double>(from.block) +
           static_cast<double>(period()) / static_cast<double>(to.block);
  }
  double nested_segments() const {
    const double blocks = std::ceil(static_cast<double>(extent) / static_cast<double>(large_block()));
    const double runs = static_cast<double>(std::min(large_block(), extent)) / static_cast<double>(small().block);
    return blocks * (2 + std::min(static_cast<double>(small().count()), runs));
  }

  std::vector<Segment> periodic() const {
    std::vector<Segment> out;
    add_periodic(0, extent, period(), &out);
    return out;
  }

  /// In each of the larger blocks the runs of the small ones, which repeat there by their own round. Those that do not
  /// repeat, and follow each other at equal steps with the same places and length, are one.
  std::vector<Segment> nested() const {
    std::vector<Segment> out, single;
    const int64_t large = large_block(), block = small().block;
    for (int64_t begin = 0; begin < extent;) {
      const int64_t end = begin + std::min(large - begin % large, extent - begin);
      if (begin % block != 0) {
        single.push_back(run(begin, end));
        begin += single.back().length;
      }
      std::vector<Segment> inside;
      add_periodic(begin, end, block * small().count(), &inside);
      for (const Segment& segment : inside) (segment.count > 1 ? out : single).push_back(segment);
      begin = end;
    }
    std::ranges::sort(single, {}, &Segment::start);
    std::map<std::array<int64_t, 3>, std::vector<Segment>> groups;
    for (const Segment& next : single) {
      auto& group = groups[{next.src_coordinate, next.dst_coordinate, next.length}];
      if (group.empty() || !continues(group.back(), next)) group.push_back(next);
    }
    for (auto& [key, group] : groups) out.insert(out.end(), group.begin(), group.end());
    return out;
  }

  /// Makes a run one more of a segment, if it is.
  static bool continues(Segment& segment, const Segment& next) {
    const int64_t last = segment.count - 1, step = next.start - segment.start - last * segment.step,
                  src_step = next.src_start - segment.src_start - last * segment.src_step,
                  dst_step = next.dst_start - segment.dst_start - last * segment.dst_step;
    if (last > 0 && (step != segment.step || src_step != segment.src_step || dst_step != segment.dst_step))
      return false;
    segment.step = step;
    segment.src_step = src_step;
    segment.dst_step = dst_step;
    ++segment.count;
    return true;
  }

  const DimPlaces &from, &to;
  int64_t extent, from_round, to_round;
};

/// A part of one dim of a layout: `count` windows of `length` indices, as one dim.
Layout windows(const Layout& layout, int d, int64_t start, const Segment& segment, int64_t step) {
  if (segment.count == 1) return slice(layout, d, start, start + segment.length);
  const Layout part = slice(layout, d, start, start + (segment.count - 1) * step + segment.length);
  const Layout unfolded = unfold(part, d, segment.length, step);
  std::vector<int> order;
  for (int k = 0; k < layout.ndims(); ++k) {
    order.push_back(k);
    if (k == d) order.push_back(layout.ndims());
  }
  return merge(permute(unfolded, order), d, d + 1);
}

}  // namespace

std::vector<Segment> segments_of(const Placement& src, const Placement& dst, int d) {
  const Dim dim(src, dst, d);
  const double periodic = dim.periodic_segments(), nested = dim.nested_segments(), least = std::min(periodic, nested);
  if (least > kMostSegments)
    throw Error(ErrorCode::limit,
                "redistribute: dim " + std::to_string(d) + " of " + std::to_string(dim.extent) + ", in blocks of " +
                    std::to_string(dim.from.block) + " over " + std::to_string(dim.from.count()) + " places and of " +
                    std::to_string(dim.to.block) + " over " + std::to_string(dim.to.count()) +
                    ", falls into more segments than " + std::to_string(kMostSegments),
                "dims[" + std::to_string(d) + "]", std::to_string(dim.extent), std::to_string(kMostSegments));
  if (std::max(periodic, nested) > kFewSegments) return periodic <= nested ? dim.periodic() : dim.nested();
  std::vector<Segment> repeated = dim.periodic(), inside = dim.nested();
  return inside.size() < repeated.size() ? inside : repeated;
}

int64_t Part::elements() const {
  int64_t out = 1;
  for (const Segment& segment : segments) out *= indices(segment);
  return out;
}

Dims Part::dims() const {
  Dims out;
  for (const Segment& segment : segments) out.push_back(indices(segment));
  return out;
}

Layout Part::src_view(const Layout& local) const {
  Layout out = local;
  for (int d = 0; d < local.ndims(); ++d) {
    const Segment& segment = segments[static_cast<std::size_t>(d)];
    out = windows(out, d, segment.src_start, segment, segment.src_step);
  }
  return out;
}

Layout Part::dst_view(const Layout& local) const {
  Layout out = local;
  for (int d = 0; d < local.ndims(); ++d) {
    const Segment& segment = segments[static_cast<std::size_t>(d)];
    out = windows(out, d, segment.dst_start, segment, segment.dst_step);
  }
  return out;
}

int64_t Message::elements() const {
  int64_t out = 0;
  for (const Part& part : parts) out += part.elements();
  return out;
}

std::vector<Part> Message::parts_of(int64_t most) const {
  std::vector<Part> out, left(parts.rbegin(), parts.rend());
  while (!left.empty()) {
    Part part = std::move(left.back());
    left.pop_back();
    const auto outer = std::ranges::find_if(part.segments, [](const Segment& s) { return indices(s) > 1; });
    if (part.elements() <= most || outer == part.segments.end()) {
      out.push_back(std::move(part));
      continue;
    }
    Part second = part;
    const auto d = static_cast<std::size_t>(outer - part.segments.begin());
    halve(part.segments[d], second.segments[d]);
    left.push_back(std::move(second));
    left.push_back(std::move(part));
  }
  return out;
}

Exchange::Exchange(const Placement& src, const Placement& dst) : src_(src), dst_(dst) {
  if (src.dims() != dst.dims())
    throw Error(ErrorCode::invalid_argument,
                "redistribute: the source has the dims " + join(src.dims()) + ", the destination " + join(dst.dims()),
                "dims", join(src.dims()), join(dst.dims()));
  if (src.places() != dst.places())
    throw Error(ErrorCode::invalid_argument,
                "redistribute: the source has " + std::to_string(src.places()) + " places, the destination " +
                    std::to_string(dst.places()),
                "places", std::to_string(src.places()), std::to_string(dst.places()));
  for (int d = 0; d < src.dims().size(); ++d) segments_.push_back(segments_of(src, dst, d));
  ranks_.resize(static_cast<std::size_t>(dst.places()));
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

Exchange Exchange::with_ranks(std::vector<int64_t> ranks) const {
  std::vector<int64_t> sorted = ranks, places(static_cast<std::size_t>(dst_.places()));
  std::ranges::sort(sorted);
  std::iota(places.begin(), places.end(), 0);
  if (sorted != places)
    throw Error(ErrorCode::invalid_argument, "redistribute: the ranks are no permutation of the places", "ranks");
  Exchange out = *this;
  out.ranks_ = std::move(ranks);
  return out;
}

/// Which of the places that hold an element sends it: `first` is the one with the smallest number.
int64_t Exchange::sender(int64_t first, int64_t to) const {
  const int64_t copies = src_.copy_count(), keeper = ranks_[static_cast<std::size_t>(to)];
  for (int64_t k = 0; k < copies; ++k) {
    if (first + src_.copy_step(k) == keeper) return keeper;
  }
  return first + src_.copy_step(keeper % copies);
}

int64_t Exchange::common(int64_t from, int64_t to) const {
  int64_t out = 1;
  for (int d = 0; d < src_.dims().size(); ++d) {
    const int64_t here = src_.coordinate(from, d), there = dst_.coordinate(to, d);
    int64_t both = 0;
    for (const Segment& segment : segments_[static_cast<std::size_t>(d)]) {
      if (segment.src_coordinate == here && segment.dst_coordinate == there) both += indices(segment);
    }
    out *= both;
  }
  return out;
}

Message Exchange::message(int64_t from, int64_t to) const {
  for (const int64_t place : {from, to}) {
    if (place < 0 || place >= src_.places())
      throw Error(ErrorCode::invalid_argument,
                  "redistribute: place " + std::to_string(place) + " of " + std::to_string(src_.places()), "place",
                  std::to_string(place), std::to_string(src_.places()));
  }
  Message out{from, to, {}};
  Dims coordinates;
  std::vector<std::vector<Segment>> lists;
  for (int d = 0; d < src_.dims().size(); ++d) {
    const int64_t here = src_.coordinate(from, d), there = dst_.coordinate(to, d);
    coordinates.push_back(here);
    lists.emplace_back();
    for (const Segment& segment : segments_[static_cast<std::size_t>(d)]) {
      if (segment.src_coordinate == here && segment.dst_coordinate == there) lists.back().push_back(segment);
    }
    if (lists.back().empty()) return out;
  }
  if (sender(src_.place_at(coordinates), to) != from) return out;
  std::vector<std::size_t> at(lists.size(), 0);
  for (;;) {
    Part part;
    for (std::size_t d = 0; d < lists.size(); ++d) part.segments.push_back(lists[d][at[d]]);
    out.parts.push_back(std::move(part));
    std::size_t d = lists.size();
    while (d > 0 && ++at[d - 1] == lists[d - 1].size()) at[--d] = 0;
    if (d == 0) return out;
  }
}

std::vector<Message> Exchange::sent_by(int64_t place) const {
  std::vector<Message> out;
  for (int64_t to = 0; to < dst_.places(); ++to) {
    Message sent = message(place, to);
    if (!sent.parts.empty()) out.push_back(std::move(sent));
  }
  return out;
}

std::vector<Message> Exchange::received_by(int64_t place) const {
  std::vector<Message> out;
  for (int64_t from = 0; from < src_.places(); ++from) {
    Message received = message(from, place);
    if (!received.parts.empty()) out.push_back(std::move(received));
  }
  return out;
}

int64_t Exchange::elements_travelling() const {
  int64_t out = 0;
  for (int64_t to = 0; to < dst_.places(); ++to) {
    int64_t held = 1;
    for (int64_t extent : dst_.local_dims(to)) held *= extent;
    out += held - common(ranks_[static_cast<std::size_t>(to)], to);
  }
  return out;
}

std::vector<int64_t> Exchange::relabelled() const {
  std::vector<std::vector<int64_t>> gain(static_cast<std::size_t>(dst_.places()));
  for (int64_t to = 0; to < dst_.places(); ++to) {
    for (int64_t from = 0; from < src_.places(); ++from) gain[static_cast<std::size_t>(to)].push_back(common(from, to));
  }
  return best_assignment(gain);
}

}  // namespace relayout::redistribute
