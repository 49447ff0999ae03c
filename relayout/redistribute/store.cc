// Counts the ranges of a box in a file, and the chunks that a box meets.
#include "relayout/redistribute/store.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "relayout/core/error.h"

namespace relayout::redistribute {
namespace {

double item_bytes(DType dtype) { return bits(dtype) / 8.0; }

double product(const Dims& dims) {
  double out = 1;
  for (int64_t extent : dims) out *= static_cast<double>(extent);
  return out;
}

/// How many indices of dim d one block has.
int64_t block_of(const Layout& layout, int d) {
  const int64_t outer = layout.digits_under_swizzle(d).back().extent;
  return outer == 0 ? 1 : layout.capacity(d) / outer;
}

/// The ranges of a box in a file: how many, and the bytes of each.
struct Ranges {
  double count = 1, bytes = 0;
};

/// From the smallest stride to the largest: a digit lengthens the range where it continues it, and repeats it
/// elsewhere.
Ranges ranges_of(const TensorDesc& desc, const Dims& box) {
  struct Step {
    double stride, extent;
  };
  std::vector<Step> steps;
  const Layout& layout = desc.layout;
  for (int d = 0; d < box.size(); ++d) {
    const auto digits = layout.digits_under_swizzle(d);
    double left = static_cast<double>(box[d]);
    for (std::size_t k = 0; k < digits.size() && left > 1; ++k) {
      const double extent = k + 1 < digits.size() ? std::min(left, static_cast<double>(digits[k].extent)) : left;
      left = std::ceil(left / extent);
      if (digits[k].stride != 0) steps.push_back({std::abs(static_cast<double>(digits[k].stride)), extent});
    }
  }
  std::ranges::sort(steps, {}, &Step::stride);
  Ranges out;
  double run = 1;
  for (const Step& step : steps) {
    if (out.count == 1 && step.stride <= run) {
      run += (step.extent - 1) * step.stride;
    } else {
      out.count *= step.extent;
    }
  }
  out.bytes = run * item_bytes(desc.dtype);
  return out;
}

/// The most chunks of one dim that a box of `extent` indices meets, and how many all boxes of the grid meet together.
struct ChunkCounts {
  double most = 0, all = 0;
};

ChunkCounts chunks_met(int64_t dim, int64_t box, int64_t chunk) {
  ChunkCounts out;
  if (box % chunk == 0 || box >= dim) {  // no chunk is met by two boxes
    out.most = static_cast<double>(ceil_div(std::min(box, dim), chunk));
    out.all = static_cast<double>(ceil_div(dim, chunk));
    return out;
  }
  // Every border between boxes that is none between chunks lets its chunk be met twice.
  const int64_t boxes = ceil_div(dim, box);
  const int64_t period = chunk / std::gcd(box, chunk);
  const int64_t inside = (boxes - 1) - (boxes - 1) / period;
  out.all = static_cast<double>(ceil_div(dim, chunk) + inside);
  out.most = static_cast<double>(ceil_div(box - 1, chunk) + 1);
  if (chunk % box == 0) out.most = 1;
  return out;
}

}  // namespace

Store Store::file(const TensorDesc& desc, int64_t granule) {
  Store out;
  out.desc_ = desc;
  out.granule_ = granule;
  return out;
}

Store Store::chunked(const Dims& dims, DType dtype, const Dims& chunk) {
  if (chunk.size() != dims.size())
    throw Error(ErrorCode::invalid_argument,
                "chunks: " + std::to_string(chunk.size()) + " extents for " + std::to_string(dims.size()) + " dims",
                "chunks", std::to_string(chunk.size()), std::to_string(dims.size()));
  for (int d = 0; d < dims.size(); ++d) {
    if (chunk[d] >= 1) continue;
    throw Error(ErrorCode::invalid_argument,
                "chunks: dim " + std::to_string(d) + " has chunks of " + std::to_string(chunk[d]) + " indices",
                "chunks[" + std::to_string(d) + "]", std::to_string(chunk[d]), "1");
  }
  Store out;
  out.desc_ = TensorDesc(Layout::contiguous(dims), dtype);
  out.chunk_ = chunk;
  return out;
}

Dims Store::unit() const {
  Dims out(dims().size(), 1);
  for (int d = 0; d < dims().size(); ++d) {
    const int64_t unit = in_chunks() ? chunk_[d] : block_of(desc_.layout, d);
    out[d] = std::clamp<int64_t>(unit, 1, std::max<int64_t>(1, dims()[d]));
  }
  return out;
}

Access Store::access(const Dims& box) const {
  if (!in_chunks()) {
    const Ranges ranges = ranges_of(desc_, box);
    return {ranges.count, ranges.count * ranges.bytes};
  }
  Access out{1, product(chunk_) * item_bytes(dtype())};
  for (int d = 0; d < box.size(); ++d) out.count *= chunks_met(dims()[d], box[d], chunk_[d]).most;
  out.bytes *= out.count;
  return out;
}

Access Store::access_of_grid(const Dims& box) const {
  if (!in_chunks()) {
    double boxes = 1;
    for (int d = 0; d < box.size(); ++d) boxes *= static_cast<double>(ceil_div(dims()[d], box[d]));
    return {boxes * ranges_of(desc_, box).count, bytes()};
  }
  Access out{1, product(chunk_) * item_bytes(dtype())};
  for (int d = 0; d < box.size(); ++d) out.count *= chunks_met(dims()[d], box[d], chunk_[d]).all;
  out.bytes *= out.count;
  return out;
}

double Store::bytes() const { return product(dims()) * item_bytes(dtype()); }

double Store::memory(const Dims& box) const {
  if (in_chunks()) return product(box) * item_bytes(dtype());
  const Ranges ranges = ranges_of(desc_, box);
  return ranges.count * (ranges.bytes + static_cast<double>(granule_));
}

}  // namespace relayout::redistribute
