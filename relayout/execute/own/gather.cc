// Gather: rows of a row-major tensor by index.
#include <cstring>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"

namespace relayout::execute {

using graph::Executable;

namespace {

class GatherExecutable : public Executable {
 public:
  explicit GatherExecutable(const OwnRequest& r)
      : name_(r.node.name), wide_(r.src_tensor(1).dtype == DType::s64), size_(bits(r.dst_tensor().dtype) / 8) {
    const Dims& data = r.src_tensor(0).dims;
    const int given = r.node.as<graph::GatherAttributes>().axis;
    const int axis = given < 0 ? given + data.size() : given;
    for (int d = 0; d < axis; ++d) outer_ *= data[d];
    for (int d = axis + 1; d < data.size(); ++d) inner_ *= data[d];
    extent_ = data[axis];
    indices_ = r.src(1).elements();
    data_at_ = r.src(0).offset0() * size_;
    indices_at_ = r.src(1).offset0() * (wide_ ? 8 : 4);
    dst_at_ = r.dst().offset0() * size_;
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const auto* data = static_cast<const std::byte*>(src[0]) + data_at_;
    const auto* indices = static_cast<const std::byte*>(src[1]) + indices_at_;
    auto* to = static_cast<std::byte*>(dst[0]) + dst_at_;
    const int64_t row = inner_ * size_;
    for (int64_t o = 0; o < outer_; ++o) {
      for (int64_t i = 0; i < indices_; ++i, to += row) {
        const auto* from = data + (o * extent_ + index(indices, i)) * row;
        std::memcpy(to, from, static_cast<std::size_t>(row));
      }
    }
  }

 private:
  int64_t index(const std::byte* indices, int64_t i) const {
    int64_t value = 0;
    int32_t narrow = 0;
    if (wide_) {
      std::memcpy(&value, indices + i * 8, 8);
    } else {
      std::memcpy(&narrow, indices + i * 4, 4);
      value = narrow;
    }
    const int64_t at = value < 0 ? value + extent_ : value;
    if (at < 0 || at >= extent_) {
      throw Error(ErrorCode::invalid_argument, "gather '" + escaped(name_) + "': index is out of range", "indices",
                  std::to_string(value), std::to_string(-extent_) + " to " + std::to_string(extent_ - 1));
    }
    return at;
  }

  std::string name_;
  bool wide_;
  int64_t size_, outer_ = 1, inner_ = 1, extent_ = 0, indices_ = 0, data_at_ = 0, indices_at_ = 0, dst_at_ = 0;
};

}  // namespace

std::unique_ptr<Executable> make_gather(const OwnRequest& r) {
  if (!is_row_major(r.src(0)) || !is_row_major(r.src(1)) || !is_row_major(r.dst())) return nullptr;
  if (bits(r.dst_tensor().dtype) < 8) return nullptr;
  return std::make_unique<GatherExecutable>(r);
}

}  // namespace relayout::execute
