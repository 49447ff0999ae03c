// Array operations that move elements by their bytes: select, gathers, casts of bits. Plain loops over row-major
// operands of any types of whole bytes.
#include "relayout/execute/own/array.h"

#include <algorithm>
#include <array>

namespace relayout::execute {

using graph::ArrayAttributes;
using graph::ArrayOperation;
using graph::Executable;

namespace {

/// Dims of which leading ones are as they are and the last is a run, which every operand of a select reads by one step.
class SelectExecutable : public Executable {
 public:
  explicit SelectExecutable(const OwnRequest& r)
      : dims_(r.dst().dims()),
        size_(bits(r.dst_tensor().dtype) / 8),
        condition_size_(bits(r.src_tensor(0).dtype) / 8),
        dst_at_(r.dst().offset0() * size_) {
    if (dims_.empty()) dims_.push_back(1);
    for (std::size_t i = 0; i < 3; ++i) {
      const int64_t size = i == 0 ? condition_size_ : size_;
      at_[i] = r.src(i).offset0() * size;
      steps_[i] = Dims(dims_.size(), 0);
      int64_t step = size;
      for (int d = r.src(i).ndims() - 1; d >= 0; --d) {
        if (r.src(i).dim(d) != 1) steps_[i][d] = step;
        step *= r.src(i).dim(d);
      }
    }
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    std::array<const std::byte*, 3> from{};
    for (std::size_t i = 0; i < 3; ++i) from[i] = static_cast<const std::byte*>(src[i]) + at_[i];
    auto* to = static_cast<std::byte*>(dst[0]) + dst_at_;
    switch (size_) {
      case 1: return walk<1>(0, from, to);
      case 2: return walk<2>(0, from, to);
      case 4: return walk<4>(0, from, to);
      default: return walk<8>(0, from, to);
    }
  }

 private:
  template <std::size_t E>
  void walk(int d, std::array<const std::byte*, 3> from, std::byte*& to) const {
    for (int64_t i = 0; i < dims_[d]; ++i) {
      if (d + 1 < dims_.size()) {
        walk<E>(d + 1, from, to);
      } else {
        std::memcpy(to, is_true(from[0]) ? from[1] : from[2], E);
        to += E;
      }
      for (std::size_t k = 0; k < 3; ++k) from[k] += steps_[k][d];
    }
  }
  bool is_true(const std::byte* element) const {
    return std::any_of(element, element + condition_size_, [](std::byte b) { return b != std::byte{0}; });
  }

  Dims dims_;
  int64_t size_, condition_size_, dst_at_;
  std::array<int64_t, 3> at_{};
  std::array<Dims, 3> steps_{};
};

class GatherElementsExecutable : public Executable {
 public:
  explicit GatherElementsExecutable(const OwnRequest& r)
      : indices_(r),
        axis_(r.node.as<ArrayAttributes>().axis),
        size_(bits(r.dst_tensor().dtype) / 8),
        data_at_(r.src(0).offset0() * size_),
        dst_at_(r.dst().offset0() * size_),
        data_(r.src(0).dims()),
        dims_(r.dst().dims()) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const auto* data = static_cast<const std::byte*>(src[0]) + data_at_;
    auto* to = static_cast<std::byte*>(dst[0]) + dst_at_;
    for (int64_t i = 0; i < indices_.count(); ++i, to += size_) {
      int64_t at = 0, step = 1, rest = i;
      for (int d = dims_.size() - 1; d >= 0; --d) {
        const int64_t index = d == axis_ ? indices_.at(src[1], i, data_[d]) : rest % dims_[d];
        rest /= dims_[d];
        at += index * step;
        step *= data_[d];
      }
      std::memcpy(to, data + at * size_, static_cast<std::size_t>(size_));
    }
  }

 private:
  ArrayIndices indices_;
  int axis_;
  int64_t size_, data_at_, dst_at_;
  Dims data_, dims_;
};

class GatherNdExecutable : public Executable {
 public:
  explicit GatherNdExecutable(const OwnRequest& r)
      : indices_(r),
        batch_(static_cast<int>(r.node.as<ArrayAttributes>().count)),
        depth_(r.src(1).dims().back()),
        data_(r.src(0).dims()) {
    const int64_t size = bits(r.dst_tensor().dtype) / 8;
    data_at_ = r.src(0).offset0() * size;
    dst_at_ = r.dst().offset0() * size;
    run_ = size;
    for (auto d = static_cast<int>(batch_ + depth_); d < data_.size(); ++d) run_ *= data_[d];
    for (int d = 0; d + 1 < r.src(1).ndims(); ++d) {
      (d < batch_ ? batches_ : each_) *= r.src(1).dim(d);
    }
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const auto* data = static_cast<const std::byte*>(src[0]) + data_at_;
    auto* to = static_cast<std::byte*>(dst[0]) + dst_at_;
    for (int64_t n = 0; n < batches_ * each_; ++n, to += run_) {
      int64_t at = n / each_;
      for (int64_t k = 0; k < depth_; ++k) {
        const int64_t extent = data_[static_cast<int>(batch_ + k)];
        at = at * extent + indices_.at(src[1], n * depth_ + k, extent);
      }
      std::memcpy(to, data + at * run_, static_cast<std::size_t>(run_));
    }
  }

 private:
  ArrayIndices indices_;
  int batch_;
  int64_t depth_, data_at_ = 0, dst_at_ = 0, run_ = 1, batches_ = 1, each_ = 1;
  Dims data_;
};

/// Copies the low bytes of each element; wider integers get copies of the sign or zeros above them.
class BitsExecutable : public Executable {
 public:
  explicit BitsExecutable(const OwnRequest& r)
      : from_(bits(r.src_tensor(0).dtype) / 8),
        to_(bits(r.dst_tensor().dtype) / 8),
        count_(r.dst().elements()),
        src_at_(r.src(0).offset0() * from_),
        dst_at_(r.dst().offset0() * to_),
        signs_(kind(r.src_tensor(0).dtype) == DTypeKind::signed_integer) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const auto* from = static_cast<const std::byte*>(src[0]) + src_at_;
    auto* to = static_cast<std::byte*>(dst[0]) + dst_at_;
    const auto low = static_cast<std::size_t>(std::min(from_, to_)), high = static_cast<std::size_t>(to_) - low;
    for (int64_t i = 0; i < count_; ++i, from += from_, to += to_) {
      std::memcpy(to, from, low);
      const bool negative = signs_ && (from[from_ - 1] & std::byte{0x80}) != std::byte{0};
      std::memset(to + low, negative ? 0xff : 0, high);
    }
  }

 private:
  int64_t from_, to_, count_, src_at_, dst_at_;
  bool signs_;
};

}  // namespace

std::unique_ptr<Executable> make_array(const OwnRequest& r) {
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (!is_row_major(r.src(i)) || bits(r.src_tensor(i).dtype) < 8) return nullptr;
  }
  for (std::size_t i = 0; i < r.node.dst.size(); ++i) {
    if (!is_row_major(r.dst(i)) || bits(r.dst_tensor(i).dtype) < 8) return nullptr;
  }
  switch (r.node.as<ArrayAttributes>().operation) {
    case ArrayOperation::select: return std::make_unique<SelectExecutable>(r);
    case ArrayOperation::gather_elements: return std::make_unique<GatherElementsExecutable>(r);
    case ArrayOperation::gather_nd: return std::make_unique<GatherNdExecutable>(r);
    case ArrayOperation::bit_cast:
    case ArrayOperation::wrap: return std::make_unique<BitsExecutable>(r);
    case ArrayOperation::scatter_elements:
    case ArrayOperation::scatter_nd: return make_scatter(r);
    case ArrayOperation::arg_max:
    case ArrayOperation::arg_min:
    case ArrayOperation::top_k:
    case ArrayOperation::cumulative: return make_ordered(r);
    case ArrayOperation::grid_sample: return make_grid_sample(r);
  }
  return nullptr;
}

}  // namespace relayout::execute
