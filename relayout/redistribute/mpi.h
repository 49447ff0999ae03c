// An array whose elements lie in the memories of several processes, moved from one placement to another by MPI.
//
//     using namespace relayout;
//     const Placement src = ..., dst = ...;                   // relayout/core/placement.h
//     redistribute::MpiRedistribution move(MPI_COMM_WORLD, src, dst);
//     std::vector<double> out(...);                           // of dst.local_dims(move.place())
//     move.run({Layout::contiguous(src.local_dims(rank)), DType::f64}, local.data(),
//              {Layout::contiguous(dst.local_dims(move.place())), DType::f64}, out.data());
//
// All code is in this header, because each MPI has an ABI of its own: the library is linked with none, and a program
// compiles this with its own one. In CMake it links relayout::mpi, which find_package(relayout COMPONENTS mpi) makes.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/redistribute/rank_plan.h"

namespace relayout::redistribute {

/// Buffers that stay in the cache of a processor: what is packed is sent, and what arrives unpacked, from there, which
/// is faster than everything at once (docs/lab/larger-than-memory.md).
inline constexpr int64_t kMpiBuffers = 8 << 20;

struct MpiOptions {
  /// The most bytes of buffers at a time: a rank exchanges with one partner after the other. 0: kMpiBuffers where a
  /// rank has more than that to send or to receive, and else one MPI_Alltoallv of everything.
  int64_t max_memory = 0;
  /// The places of the destination are dealt anew, so that the fewest bytes travel.
  bool relabel = false;
  /// Of a rank, to pack and to unpack; ranks usually have one processor each.
  int threads = 1;
};

class MpiRedistribution {
 public:
  /// Called by all ranks of the communicator, with the same placements and options; the communicator must outlive the
  /// object. Errors: invalid_argument (a communicator of another size, a bound of less than two elements of 8 bytes),
  /// and those of RankPlan.
  MpiRedistribution(MPI_Comm comm, const Placement& src, const Placement& dst, const MpiOptions& options = {})
      : comm_(comm), options_(options), plan_(src, dst, rank_in(comm, src.places()), options.relabel) {
    if (options.max_memory != 0 && options.max_memory < 16)
      throw Error(
          ErrorCode::invalid_argument,
          "redistribute: max_memory is " + std::to_string(options.max_memory) + "; two elements may take 16 bytes",
          "max_memory", std::to_string(options.max_memory), "16");
  }

  /// The place of the destination that this rank gets: its own number, unless places are dealt anew.
  int64_t place() const { return plan_.place(); }
  const RankPlan& plan() const { return plan_; }

  /// Moves the array; called by all ranks, as often as there are arrays. `local`, `from`: what this rank has in the
  /// placement `src`; `out`, `to`: where its part in `dst` goes; of any strides, their elements of one size. Errors:
  /// those of RankPlan::pack(), io (what MPI says where its errors return). A rank that throws sends no more, and the
  /// others wait for it, as in any program of MPI.
  void run(const TensorDesc& local, const void* from, const TensorDesc& out, void* to) const {
    const auto* const src = static_cast<const std::byte*>(from);
    auto* const dst = static_cast<std::byte*>(to);
    const int64_t item = std::max(1, bits(local.dtype) / 8);
    plan_.keep(local, src, out, dst, run_options());
    int64_t bytes = options_.max_memory;
    if (bytes == 0 && most_of_a_rank() * item > kMpiBuffers) bytes = kMpiBuffers;
    const Element element(item);
    if (bytes == 0) {
      all_at_once(local, src, out, dst, item, element.type);
    } else {
      constexpr int64_t kMostCount = std::numeric_limits<int>::max();  // of one message of MPI
      by_rounds(local, src, out, dst, item, element.type, std::clamp<int64_t>(bytes / (2 * item), 1, kMostCount));
    }
  }

 private:
  static void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw Error(ErrorCode::io, "redistribute: " + std::string(call) + ": " + text);
  }

  static int64_t rank_in(MPI_Comm comm, int64_t places) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    if (size != places)
      throw Error(ErrorCode::invalid_argument,
                  "redistribute: the communicator has " + std::to_string(size) + " ranks, and the placements " +
                      std::to_string(places) + " places",
                  "comm", std::to_string(size), std::to_string(places));
    return rank;
  }

  cpu::RunOptions run_options() const { return {.threads = options_.threads}; }

  /// Elements are MPI's unit, so that its counts reach as far as they can.
  struct Element {
    explicit Element(int64_t item) {
      MpiRedistribution::check(MPI_Type_contiguous(static_cast<int>(item), MPI_BYTE, &type), "MPI_Type_contiguous");
      const int committed = MPI_Type_commit(&type);
      if (committed != MPI_SUCCESS) MPI_Type_free(&type);
      MpiRedistribution::check(committed, "MPI_Type_commit");
    }
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    ~Element() { MPI_Type_free(&type); }
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };

  static int64_t sum(const std::vector<Buffer>& buffers) {
    int64_t out = 0;
    for (const Buffer& buffer : buffers) out += buffer.elements;
    return out;
  }

  /// The most elements that any rank sends or receives; all ranks must agree on the way.
  int64_t most_of_a_rank() const {
    int64_t most = std::max(sum(plan_.sent()), sum(plan_.received())), of_all = 0;
    check(MPI_Allreduce(&most, &of_all, 1, MPI_INT64_T, MPI_MAX, comm_), "MPI_Allreduce");
    return of_all;
  }

  struct Counts {
    Counts(const std::vector<Buffer>& buffers, int64_t ranks)
        : of(static_cast<std::size_t>(ranks), 0), begin(static_cast<std::size_t>(ranks), 0) {
      int at = 0;
      for (const Buffer& buffer : buffers) {
        of[static_cast<std::size_t>(buffer.rank)] = static_cast<int>(buffer.elements);
        begin[static_cast<std::size_t>(buffer.rank)] = at;
        at += static_cast<int>(buffer.elements);
      }
    }
    std::vector<int> of, begin;
  };

  void all_at_once(const TensorDesc& local, const std::byte* from, const TensorDesc& out, std::byte* to, int64_t item,
                   MPI_Datatype element) const {
    const std::vector<Buffer> sent = plan_.sent(), received = plan_.received();
    const Counts there(sent, plan_.ranks()), here(received, plan_.ranks());
    std::vector<std::byte> packed(static_cast<std::size_t>(sum(sent) * item));
    std::vector<std::byte> arrived(static_cast<std::size_t>(sum(received) * item));
    int64_t at = 0;
    for (const Buffer& buffer : sent) {
      plan_.pack(buffer, local, from, packed.data() + at * item, run_options());
      at += buffer.elements;
    }
    check(MPI_Alltoallv(packed.data(), there.of.data(), there.begin.data(), element, arrived.data(), here.of.data(),
                        here.begin.data(), element, comm_),
          "MPI_Alltoallv");
    at = 0;
    for (const Buffer& buffer : received) {
      plan_.unpack(buffer, arrived.data() + at * item, out, to, run_options());
      at += buffer.elements;
    }
  }

  /// In step k a rank sends to the k-th one behind it and receives from the k-th one before it.
  void by_rounds(const TensorDesc& local, const std::byte* from, const TensorDesc& out, std::byte* to, int64_t item,
                 MPI_Datatype element, int64_t most) const {
    std::vector<std::byte> packed, arrived;
    const int64_t ranks = plan_.ranks(), rank = plan_.rank();
    for (int64_t step = 1; step < ranks; ++step) {
      const int64_t target = (rank + step) % ranks, source = (rank - step + ranks) % ranks;
      const std::vector<Buffer> there = plan_.sent_to(target, most), here = plan_.received_from(source, most);
      for (std::size_t k = 0; k < std::max(there.size(), here.size()); ++k) {
        const int64_t sent = k < there.size() ? there[k].elements : 0;
        const int64_t received = k < here.size() ? here[k].elements : 0;
        packed.resize(std::max(packed.size(), static_cast<std::size_t>(sent * item)));
        arrived.resize(std::max(arrived.size(), static_cast<std::size_t>(received * item)));
        // What throws does so before MPI has anything of this step.
        if (sent > 0) plan_.pack(there[k], local, from, packed.data(), run_options());
        check(MPI_Sendrecv(packed.data(), static_cast<int>(sent), element,
                           sent > 0 ? static_cast<int>(target) : MPI_PROC_NULL, 0, arrived.data(),
                           static_cast<int>(received), element, received > 0 ? static_cast<int>(source) : MPI_PROC_NULL,
                           0, comm_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
        if (k < here.size()) plan_.unpack(here[k], arrived.data(), out, to, run_options());
      }
    }
  }

  MPI_Comm comm_;
  MpiOptions options_;
  RankPlan plan_;
};

/// One array, once: as MpiRedistribution does it. Returns the place of `dst` that this rank gets.
inline int64_t redistribute(MPI_Comm comm, const TensorDesc& local, const void* from, const Placement& src,
                            const TensorDesc& out, void* to, const Placement& dst, const MpiOptions& options = {}) {
  const MpiRedistribution move(comm, src, dst, options);
  move.run(local, from, out, to);
  return move.place();
}

}  // namespace relayout::redistribute
