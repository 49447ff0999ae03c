// Exchange: what each place sends to each other one so that a tensor goes from one placement to another.
//
// Two placements of a dim cut it into *segments*: indices that have one place on either side, and lie in its memory at
// equal steps. They repeat with the least common multiple of both rounds and, where one side has large blocks, within
// each of these with the round of the other side. So there are mostly few of them, whatever the dim's extent; blocks of
// 999 and of 1000 indices meet anew in each block. A *part* is one segment of each dim: a view of the sender's memory
// and one of the receiver's, both of them layouts, moved by one reorder. A message has all parts of a pair of places,
// behind each other in row-major order.
//
//     const Exchange exchange(from, to);
//     for (const Message& m : exchange.sent_by(rank))
//       for (const Part& part : m.parts) pack(part.src_view(layout_here), part.dense());
#pragma once

#include <vector>

#include "relayout/core/placement.h"

namespace relayout::redistribute {

using relayout::DimPlaces;
using relayout::Placement;

/// Indices `start`, start + step, ... of a dim, each the first of `length` that follow each other, `count` times.
struct Segment {
  int64_t start = 0, length = 0, step = 0, count = 1;
  int64_t src_coordinate = 0, dst_coordinate = 0;
  int64_t src_start = 0, src_step = 0;  // the same in the sender's local indices
  int64_t dst_start = 0, dst_step = 0;
};

/// All segments of dim d. Error{limit}: more than 2^22 of them. Cost: some steps for each segment, of which there are
/// at most about as many as borders between blocks of either side within one period, and as larger blocks times places
/// of the side with smaller ones.
std::vector<Segment> segments_of(const Placement& src, const Placement& dst, int d);

/// One segment of each dim.
struct Part {
  std::vector<Segment> segments;

  int64_t elements() const;
  /// Extents of the part: those of its segments, as one dim each.
  Dims dims() const;
  /// What it is of the memory of a place that has this layout: a tensor of dims(), each with the digits (length, count)
  /// of its segment. Error{needs_copy} where the layout's blocks are cut.
  Layout src_view(const Layout& local) const;
  Layout dst_view(const Layout& local) const;
};

struct Message {
  int64_t from = 0, to = 0;  // places
  std::vector<Part> parts;
  int64_t elements() const;
  /// The parts, halved until none has more than `most` elements, so that each fits a buffer.
  std::vector<Part> parts_of(int64_t most) const;
};

class Exchange {
 public:
  /// Errors: invalid_argument (other dims, another number of places).
  Exchange(const Placement& src, const Placement& dst);

  /// What a place sends, by receivers, and receives, by senders; with itself, where it keeps something. Where the
  /// source has copies, a receiver takes its own one if it has one, and of the others that with its number modulo
  /// theirs.
  /// Cost: that of message(), for each place.
  std::vector<Message> sent_by(int64_t place) const;
  std::vector<Message> received_by(int64_t place) const;
  /// What one place sends to another one; without parts where that is nothing. Error{invalid_argument}: a place that
  /// there is none of. Cost: some steps for each segment of each dim, and for each part.
  Message message(int64_t from, int64_t to) const;
  /// Elements that travel from one place to another one, of all; and what would travel at least with these numbers of
  /// places, which is the same: every element that a place needs and lacks.
  int64_t elements_travelling() const;
  /// For each place of the destination the place that it should be, so that the fewest elements travel: the result at
  /// place p of `dst` belongs to place relabelled()[p]. Found by linear assignment; cost: places cubed.
  std::vector<int64_t> relabelled() const;

  /// The same where place p of the destination is kept by place ranks[p] of the source, as relabelled() says: a place
  /// that holds a copy of what it is to keep takes its own. Messages are still to places of `dst`.
  /// Error{invalid_argument} where `ranks` is no permutation of the places.
  Exchange with_ranks(std::vector<int64_t> ranks) const;

  const Placement& src() const { return src_; }
  const Placement& dst() const { return dst_; }

 private:
  int64_t common(int64_t from, int64_t to) const;
  int64_t sender(int64_t first, int64_t to) const;

  Placement src_, dst_;
  std::vector<int64_t> ranks_;                  // the place of the source that keeps a place of the destination
  std::vector<std::vector<Segment>> segments_;  // of each dim
};

/// The permutation p that makes the sum of gain[i][p[i]] largest, of a square matrix, by rows. Cost: n cubed.
std::vector<int64_t> best_assignment(const std::vector<std::vector<int64_t>>& gain);

}  // namespace relayout::redistribute
