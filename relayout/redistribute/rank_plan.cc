// Messages as buffers, and parts moved by reorders.
#include "relayout/redistribute/rank_plan.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/error.h"
#include "relayout/cpu/reorder.h"

namespace relayout::redistribute {
namespace {

/// Elements are moved by their bits.
DType bits_of(const TensorDesc& desc) {
  switch (bits(desc.dtype)) {
    case 8: return DType::u8;
    case 16: return DType::u16;
    case 32: return DType::u32;
    case 64: return DType::u64;
    default:
      throw Error(ErrorCode::unsupported,
                  "redistribute: elements of " + std::to_string(bits(desc.dtype)) +
                      " bits; those of 8, 16, 32 and 64 bits are moved",
                  "dtype");
  }
}

void check(const char* what, const TensorDesc& desc, const Dims& dims, int64_t place) {
  if (desc.layout.dims() == dims) return;
  throw Error(ErrorCode::invalid_argument,
              "redistribute: " + std::string(what) + " has the dims " + join(desc.layout.dims()) + ", and place " +
                  std::to_string(place) + " has " + join(dims),
              what, join(desc.layout.dims()), join(dims));
}

void move_bits(const Layout& src, const std::byte* from, const Layout& dst, std::byte* to, DType dtype,
               const cpu::RunOptions& options) {
  cpu::run(cpu::make_plan({src, dtype}, {dst, dtype}), from, to, options);
}

/// As many parts together as a buffer holds.
std::vector<Buffer> buffers_of(const Message& message, int64_t rank, int64_t most) {
  std::vector<Buffer> out;
  for (Part& part : message.parts_of(most)) {
    const int64_t elements = part.elements();
    if (out.empty() || out.back().elements + elements > most) out.push_back({rank, {}, 0});
    out.back().parts.push_back(std::move(part));
    out.back().elements += elements;
  }
  return out;
}

void check_rank(int64_t rank, int64_t ranks) {
  if (rank >= 0 && rank < ranks) return;
  throw Error(ErrorCode::invalid_argument,
              "redistribute: rank " + std::to_string(rank) + " of " + std::to_string(ranks), "rank",
              std::to_string(rank), std::to_string(ranks));
}

}  // namespace

RankPlan::RankPlan(const Placement& src, const Placement& dst, int64_t rank, bool relabel)
    : exchange_(src, dst), rank_(rank) {
  check_rank(rank, src.places());
  rank_of_.resize(static_cast<std::size_t>(src.places()));
  std::iota(rank_of_.begin(), rank_of_.end(), 0);
  if (relabel) rank_of_ = exchange_.relabelled();
  exchange_ = exchange_.with_ranks(rank_of_);
  place_of_.resize(rank_of_.size());
  for (std::size_t p = 0; p < rank_of_.size(); ++p)
    place_of_[static_cast<std::size_t>(rank_of_[p])] = static_cast<int64_t>(p);
  place_ = place_of_[static_cast<std::size_t>(rank)];
}

std::vector<Buffer> RankPlan::sent() const {
  std::vector<Buffer> out;
  for (Message& message : exchange_.sent_by(rank_)) {
    if (message.to == place_) continue;
    const int64_t elements = message.elements();
    out.push_back({rank_of_[static_cast<std::size_t>(message.to)], std::move(message.parts), elements});
  }
  std::ranges::sort(out, {}, &Buffer::rank);
  return out;
}

std::vector<Buffer> RankPlan::received() const {
  std::vector<Buffer> out;
  for (Message& message : exchange_.received_by(place_)) {
    if (message.from == rank_) continue;
    const int64_t elements = message.elements();
    out.push_back({message.from, std::move(message.parts), elements});
  }
  return out;
}

std::vector<Buffer> RankPlan::sent_to(int64_t rank, int64_t most) const {
  check_rank(rank, ranks());
  return buffers_of(exchange_.message(rank_, place_of_[static_cast<std::size_t>(rank)]), rank, most);
}

std::vector<Buffer> RankPlan::received_from(int64_t rank, int64_t most) const {
  check_rank(rank, ranks());
  return buffers_of(exchange_.message(rank, place_), rank, most);
}

void RankPlan::pack(const Buffer& b, const TensorDesc& local, const std::byte* from, std::byte* buffer,
                    const cpu::RunOptions& options) const {
  const DType dtype = bits_of(local);
  check("local", local, src_dims(), rank_);
  for (const Part& part : b.parts) {
    move_bits(part.src_view(local.layout), from, Layout::contiguous(part.dims()), buffer, dtype, options);
    buffer += part.elements() * (bits(dtype) / 8);
  }
}

void RankPlan::unpack(const Buffer& b, const std::byte* buffer, const TensorDesc& out, std::byte* to,
                      const cpu::RunOptions& options) const {
  const DType dtype = bits_of(out);
  check("out", out, dst_dims(), place_);
  for (const Part& part : b.parts) {
    move_bits(Layout::contiguous(part.dims()), buffer, part.dst_view(out.layout), to, dtype, options);
    buffer += part.elements() * (bits(dtype) / 8);
  }
}

void RankPlan::keep(const TensorDesc& local, const std::byte* from, const TensorDesc& out, std::byte* to,
                    const cpu::RunOptions& options) const {
  const DType dtype = bits_of(local);
  if (bits_of(out) != dtype)
    throw Error(ErrorCode::invalid_argument, "redistribute: elements of two sizes, and values are not converted",
                "out");
  check("local", local, src_dims(), rank_);
  check("out", out, dst_dims(), place_);
  for (const Part& part : exchange_.message(rank_, place_).parts)
    move_bits(part.src_view(local.layout), from, part.dst_view(out.layout), to, dtype, options);
}

}  // namespace relayout::redistribute
