// RankPlan: what one rank keeps, sends and receives when an array goes from one placement to another, and how it packs
// and unpacks that. Who carries the bytes is the caller's matter: relayout/redistribute/mpi.h, or Python's mpi4py.
//
//     const RankPlan plan(src, dst, rank);
//     plan.keep(local, from, out, to);
//     for (const Buffer& b : plan.sent()) { plan.pack(b, local, from, bytes); send(b.rank, bytes); }
//     for (const Buffer& b : plan.received()) { receive(b.rank, bytes); plan.unpack(b, bytes, out, to); }
//
// Sizes are in elements; elements are moved by their bits and have 1, 2, 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "relayout/cpu/threads.h"
#include "relayout/redistribute/exchange.h"

namespace relayout::redistribute {

/// Parts that travel together, each dense in row-major order, one behind the other.
struct Buffer {
  int64_t rank = 0;  // the partner
  std::vector<Part> parts;
  int64_t elements = 0;
};

class RankPlan {
 public:
  /// Place p of `src` is rank p. `relabel`: the places of `dst` are dealt anew, so that the fewest elements travel.
  /// Errors: those of Exchange; invalid_argument (a rank that there is none of). Cost: that of segments_of() for each
  /// dim, and some steps for each place; with `relabel`, places cubed.
  RankPlan(const Placement& src, const Placement& dst, int64_t rank, bool relabel = false);

  int64_t ranks() const { return exchange_.src().places(); }
  int64_t rank() const { return rank_; }
  /// The place of `dst` that this rank has in the end.
  int64_t place() const { return place_; }
  /// What this rank holds before and after.
  Dims src_dims() const { return exchange_.src().local_dims(rank_); }
  Dims dst_dims() const { return exchange_.dst().local_dims(place_); }

  /// One buffer a partner, by ascending ranks; only of those with which something is exchanged. Cost: that of
  /// Exchange::message() for each rank.
  std::vector<Buffer> sent() const;
  std::vector<Buffer> received() const;
  /// What goes to a partner, or comes from it, in buffers of at most `most` elements, which is 1 or more. Both sides
  /// make the same ones. Error{invalid_argument}: a rank that there is none of. Cost: that of Exchange::message(), and
  /// some steps for each buffer.
  std::vector<Buffer> sent_to(int64_t rank, int64_t most) const;
  std::vector<Buffer> received_from(int64_t rank, int64_t most) const;

  /// `local`: the layout of src_dims(), `out` that of dst_dims(), of any strides; `buffer` has the elements of `b`.
  /// Errors, here and in keep(): invalid_argument (other dims, or two types), unsupported (elements of other sizes),
  /// needs_copy (a part cuts the layout's blocks).
  void pack(const Buffer& b, const TensorDesc& local, const std::byte* from, std::byte* buffer,
            const cpu::RunOptions& options = {}) const;
  void unpack(const Buffer& b, const std::byte* buffer, const TensorDesc& out, std::byte* to,
              const cpu::RunOptions& options = {}) const;
  /// Moves what the rank has already and keeps.
  void keep(const TensorDesc& local, const std::byte* from, const TensorDesc& out, std::byte* to,
            const cpu::RunOptions& options = {}) const;

 private:
  Exchange exchange_;
  int64_t rank_ = 0, place_ = 0;
  std::vector<int64_t> rank_of_, place_of_;  // of each place of dst; of each rank
};

}  // namespace relayout::redistribute
