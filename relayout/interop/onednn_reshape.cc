// oneDNN's reshape of descriptors, in numbers: see onednn_views.h.
#include <algorithm>

#include "relayout/core/overflow.h"
#include "relayout/interop/onednn_request.h"
#include "relayout/interop/onednn_views.h"

namespace relayout::onednn {
namespace {

bool has_blocks(const BlockedDesc& fields, int d) {
  const auto end = fields.inner_idxs.begin() + fields.inner_nblks;
  return std::find(fields.inner_idxs.begin(), end, d) != end;
}

/// The reshape of one descriptor, from the last dim of both sides to the first.
class Reshape {
 public:
  Reshape(const Request& request, const Dims& dims)
      : request_(request), in_(request.fields), dims_(dims), src_end_(in_.ndims), dst_end_(dims.size()), out_(in_) {
    out_.ndims = dims.size();
    for (auto* list : {&out_.dims, &out_.padded_dims, &out_.padded_offsets, &out_.strides}) list->fill(0);
    std::ranges::copy(dims, out_.dims.begin());
  }

  BlockedDesc run() {
    while (src_end_ > 0 || dst_end_ > 0) step();
    check_what_is_lost();
    return out_;
  }

 private:
  int64_t src(int d) const { return in_.dims[at(d)]; }

  void step() {
    const bool dst_is_1 = dst_end_ > 0 && dims_[dst_end_ - 1] == 1;
    if (src_end_ > 0 && src(src_end_ - 1) == 1) {
      if (in_.padded_dims[at(src_end_ - 1)] == 1) {
        --src_end_;
      } else if (dst_is_1) {
        keep();
      } else {
        refuse_padding(src_end_ - 1, "and a dim of 1 with padding can only stay as it is");
      }
    } else if (dst_is_1) {
      put_in_1();
    } else {
      take_group();
    }
  }

  /// A dim of 1 before the dims that are done.
  void put_in_1() {
    int64_t stride = 1;
    if (src_end_ == in_.ndims) {
      for (int k = 0; k < in_.inner_nblks; ++k) stride = multiply(stride, in_.inner_blks[at(k)]);
    } else {
      stride = multiply(in_.strides[at(src_end_)], src(src_end_));
      for (int k = 0; k < in_.inner_nblks; ++k) {
        if (in_.inner_idxs[at(k)] == src_end_) stride /= in_.inner_blks[at(k)];
      }
    }
    put(stride);
  }

  void keep() {
    --src_end_;
    kept_[at(src_end_)] = true;
    put(in_.strides[at(src_end_)]);
    out_.padded_dims[at(dst_end_)] = in_.padded_dims[at(src_end_)];
    out_.padded_offsets[at(dst_end_)] = in_.padded_offsets[at(src_end_)];
    for (int k = 0; k < in_.inner_nblks; ++k) {
      if (in_.inner_idxs[at(k)] == src_end_) out_.inner_idxs[at(k)] = dst_end_;
    }
  }

  /// The smallest group of dims on both sides with as many elements; the last ones of both are not 1.
  void take_group() {
    if (src_end_ == 0 || dst_end_ == 0) refuse_zero();
    int src_begin = src_end_ - 1, dst_begin = dst_end_ - 1;
    int64_t src_volume = src(src_begin), dst_volume = dims_[dst_begin];
    while (src_volume != dst_volume) {
      const bool more_of_src = src_volume < dst_volume;
      // What is left of both sides has the same product, so that only a dim of 0 can make one of them run out.
      if ((more_of_src ? src_begin : dst_begin) == 0) refuse_zero();
      int64_t& volume = more_of_src ? src_volume : dst_volume;
      volume = multiply(volume, more_of_src ? src(--src_begin) : dims_[--dst_begin]);
      if (volume == 0) refuse_zero();
    }
    if (src_begin == src_end_ - 1 && dst_begin == dst_end_ - 1) {
      keep();
      return;
    }
    check_group(src_begin);
    int64_t stride = in_.strides[at(src_end_ - 1)];
    while (true) {
      put(stride);
      if (dst_end_ == dst_begin) break;
      stride = multiply(stride, dims_[dst_end_]);
    }
    src_end_ = src_begin;
  }

  /// Refuses dims that do not continue each other, and blocks and padding among them.
  void check_group(int begin) {
    const std::string group = "dims " + std::to_string(begin) + " to " + std::to_string(src_end_ - 1);
    for (int d = src_end_ - 1; d > begin; --d) {
      const int64_t step = multiply(in_.strides[at(d)], src(d)), stride = in_.strides[at(d - 1)];
      if (step == stride) continue;
      request_.refuse(ErrorCode::invalid_argument,
                      "dim " + std::to_string(d) + " covers " + text(src(d)) + " x " + text(in_.strides[at(d)]) +
                          " = " + text(step) + " elements, and the stride of dim " + std::to_string(d - 1) + " is " +
                          text(stride) + ", so that " + group + " are no single one",
                      entry("strides", d - 1), stride, text(step));
    }
    const std::string split = begin + 1 == src_end_ ? "and it would be split" : "and " + group + " would be joined";
    if (has_blocks(in_, begin)) {
      request_.refuse(
          ErrorCode::invalid_argument,
          "dim " + std::to_string(begin) + " has blocks of " + text(block_of(request_, begin)) + ", " + split,
          entry("dims", begin), src(begin), "a dim without blocks");
    }
    if (in_.padded_dims[at(begin)] != src(begin)) refuse_padding(begin, split);
    if (in_.padded_offsets[at(begin)] != 0) refuse_offset(ErrorCode::invalid_argument, begin, split);
    for (int d = begin + 1; d < src_end_; ++d) {
      if (in_.padded_offsets[at(d)] != 0 && in_.strides[at(d)] != 0) lost_offset_ = d;
    }
  }

  /// Refuses what oneDNN overlooks. The blocks of a dim that does not stay keep its number, so that they belong to
  /// another dim of the result. That is harmless only where the indices of this dim end within blocks further inside.
  void check_what_is_lost() const {
    if (lost_offset_ >= 0) {
      refuse_offset(ErrorCode::needs_copy, lost_offset_, "and it would be joined, for which oneDNN drops the offset");
    }
    for (int k = 0; k < in_.inner_nblks; ++k) {
      const auto d = static_cast<int>(in_.inner_idxs[at(k)]);
      if (kept_[at(d)] || harmless(k, d)) continue;
      const std::string number = std::to_string(d);
      request_.refuse(ErrorCode::needs_copy,
                      "dim " + number + " has blocks of " + text(block_of(request_, d)) +
                          " and does not stay, for which oneDNN leaves the blocks to dim " + number +
                          " of the result, " +
                          (d < out_.ndims ? "of extent " + text(out_.dims[at(d)]) : "which does not exist"),
                      entry("inner_idxs", k), d, "a dim that stays");
    }
  }

  /// Whether inner block k changes nothing in dim d of the result.
  bool harmless(int k, int d) const {
    if (d >= out_.ndims) return false;
    int64_t inside = 1, all = 1;
    for (int j = 0; j < in_.inner_nblks; ++j) {
      if (out_.inner_idxs[at(j)] != d) continue;
      all = multiply(all, in_.inner_blks[at(j)]);
      if (j > k) inside *= in_.inner_blks[at(j)];
    }
    const int64_t padded = out_.padded_dims[at(d)];
    const auto end = checked_add(out_.padded_offsets[at(d)], out_.dims[at(d)]);
    return end && *end <= inside && (padded == *end || padded % all == 0);
  }

  /// The next dim of the result, before those that are done, without padding.
  void put(int64_t stride) {
    --dst_end_;
    out_.padded_dims[at(dst_end_)] = dims_[dst_end_];
    out_.strides[at(dst_end_)] = stride;
  }

  int64_t multiply(int64_t a, int64_t b) const {
    return request_.fit(checked_mul(a, b), text(a) + " x " + text(b), "dims", b);
  }

  [[noreturn]] void refuse_padding(int d, const std::string& why) const {
    request_.refuse(ErrorCode::invalid_argument,
                    "dim " + std::to_string(d) + " has the extent " + text(src(d)) + " padded to " +
                        text(in_.padded_dims[at(d)]) + ", " + why,
                    entry("padded_dims", d), in_.padded_dims[at(d)], text(src(d)));
  }
  [[noreturn]] void refuse_offset(ErrorCode code, int d, const std::string& why) const {
    const int64_t offset = in_.padded_offsets[at(d)];
    request_.refuse(code, "dim " + std::to_string(d) + " has the padded offset " + text(offset) + ", " + why,
                    entry("padded_offsets", d), offset, "0");
  }
  [[noreturn]] void refuse_zero() const {
    const std::string before = join(std::span(in_.dims).first(at(src_end_))),
                      after = join(std::span(dims_).first(at(dst_end_)));
    request_.refuse(ErrorCode::invalid_argument,
                    "a dim of 0 can only stay as it is, and " + before + " would become " + after, "dims", 0, before);
  }

  const Request& request_;
  const BlockedDesc& in_;
  const Dims& dims_;
  /// How many dims of both sides are left.
  int src_end_, dst_end_;
  std::array<bool, kMaxDims> kept_{};
  /// A dim whose padded offset is lost, or -1.
  int lost_offset_ = -1;
  BlockedDesc out_;
};

/// The product of all extents but those of 0.
int64_t volume(const Request& request, std::span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t extent : dims) {
    if (extent == 0) continue;
    const auto next = checked_mul(product, extent);
    if (!next) throw_too_many(request.operation + ": ", Dims(dims), Dims(dims), "elements overflow 64 bits");
    product = *next;
  }
  return product;
}

}  // namespace

BlockedDesc reshape(const BlockedDesc& fields, const Dims& dims) {
  const Request request{"reshape", fields};
  check_fields(request, ErrorCode::invalid_argument, ErrorCode::invalid_argument);
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] >= 0) continue;
    request.refuse(ErrorCode::invalid_argument, entry("dims", d) + " is " + text(dims[d]), entry("dims", d), dims[d],
                   "0 or more");
  }
  const std::span before = std::span(fields.dims).first(at(fields.ndims));
  const int64_t had = volume(request, before), has = volume(request, dims);
  if (had != has) {
    request.refuse(ErrorCode::invalid_argument,
                   "the dims " + join(before, "x") + " have the product " + text(had) + ", and " + join(dims, "x") +
                       " have " + text(has) + ", dims of 0 not counted",
                   "dims", has, text(had));
  }
  return Reshape(request, dims).run();
}

}  // namespace relayout::onednn
