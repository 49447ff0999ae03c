// Chooses the grid of parts by halving, and converts one part.
#include "tools/slabs.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "relayout/core/view.h"

namespace relayout::tools {
namespace {

/// How many indices of dim d one block has: the capacity without the outermost digit.
int64_t block_of(const Layout& layout, int d) {
  const int64_t outer = layout.digits(d).back().extent;
  return outer == 0 ? 1 : layout.capacity(d) / outer;
}

/// Parts may be cut at multiples of this index of dim d, where no side has a border inside a block. The whole extent if
/// there is no such index.
int64_t alignment(std::span<const SlabSide> sides, int d, int64_t extent) {
  int64_t out = 1;
  for (const SlabSide& side : sides) {
    const int64_t block = block_of(side.desc->layout, d);
    const std::optional<int64_t> next = checked_mul(out / std::gcd(out, block), block);
    if (!next || *next > extent) return extent;
    out = *next;
  }
  return out;
}

}  // namespace

SlabGrid::SlabGrid(const Dims& dims, const Dims& step, double part_bytes)
    : dims_(dims), step_(step), part_bytes_(part_bytes) {
  for (int d = 0; d < dims.size(); ++d)
    count_ *= std::max<int64_t>(1, ceil_div(dims[d], std::max<int64_t>(1, step[d])));
}

Slab SlabGrid::slab(int64_t i) const {
  Slab out{Dims(dims_.size(), 0), Dims(dims_.size(), 0)};
  for (int d = dims_.size(); d-- > 0;) {
    const int64_t step = std::max<int64_t>(1, step_[d]);
    const int64_t parts = std::max<int64_t>(1, ceil_div(dims_[d], step));
    out.offsets[d] = i % parts * step;
    out.dims[d] = std::min(step, dims_[d] - out.offsets[d]);
    i /= parts;
  }
  return out;
}

double touched_bytes(const TensorDesc& desc, const Dims& slab_dims, int64_t granule) {
  struct SlabDigit {
    double stride, extent;
  };
  const double item = bits(desc.dtype) / 8.0, grain = static_cast<double>(granule);
  std::vector<SlabDigit> slab_digits;
  double range = item;
  for (int d = 0; d < slab_dims.size(); ++d) {
    const auto digits = desc.layout.digits(d);
    for (std::size_t k = 0; k < digits.size(); ++k) {
      const int64_t extent =
          k + 1 < digits.size() ? digits[k].extent : ceil_div(slab_dims[d], block_of(desc.layout, d));
      if (extent <= 1 || digits[k].stride == 0) continue;
      slab_digits.push_back({std::abs(static_cast<double>(digits[k].stride)) * item, static_cast<double>(extent)});
      range += (slab_digits.back().extent - 1) * slab_digits.back().stride;
    }
  }
  std::ranges::sort(slab_digits, {}, &SlabDigit::stride);
  // From the smallest stride to the largest: a digit either extends the run of touched pages or repeats it elsewhere.
  double run = item, pieces = 1;
  for (const SlabDigit& digit : slab_digits) {
    if (pieces == 1 && digit.stride <= run + grain) {
      run += (digit.extent - 1) * digit.stride;
    } else {
      pieces *= digit.extent;
    }
  }
  return std::min(pieces * (run + grain), range + 2 * grain);
}

SlabGrid make_slabs(const Dims& dims, std::span<const SlabSide> sides, int64_t scratch_bytes, int64_t cap) {
  const auto estimate = [&](const Dims& step) {
    double elements = 1, total = 0;
    for (int64_t extent : step) elements *= static_cast<double>(extent);
    for (const SlabSide& side : sides) {
      if (side.granule > 0) total += touched_bytes(*side.desc, step, side.granule);
    }
    return total + elements * static_cast<double>(scratch_bytes);
  };
  Dims step = dims, align = dims;
  for (int d = 0; d < dims.size(); ++d) align[d] = alignment(sides, d, dims[d]);
  double size = estimate(step);
  while (size > static_cast<double>(cap)) {
    Dims best;
    double best_size = 0;
    for (int d = 0; d < dims.size(); ++d) {
      Dims candidate = step;
      candidate[d] = ceil_div(ceil_div(step[d], 2), std::max<int64_t>(1, align[d])) * align[d];
      if (candidate[d] >= step[d]) continue;
      const double candidate_size = estimate(candidate);
      if (!best.empty() && candidate_size >= best_size) continue;
      best = candidate;
      best_size = candidate_size;
    }
    if (best.empty()) break;
    step = best;
    size = best_size;
  }
  return SlabGrid(dims, step, size);
}

void check_cap(const SlabGrid& grid, int64_t max_memory, int64_t held) {
  const double need = grid.part_bytes() + static_cast<double>(held);
  if (need <= static_cast<double>(max_memory)) return;
  throw Failure(
      kUsage,
      Error(ErrorCode::limit,
            fmt::format("--max-memory {}: the smallest part takes {:.0f} bytes{}; {:.0f}M is enough", max_memory, need,
                        held > 0 ? " together with what is held in memory anyway" : "", std::ceil(need / (1 << 20))),
            "--max-memory", std::to_string(max_memory), fmt::format("{:.0f}", need)));
}

void map_small_pages(std::span<const std::byte> mapped_bytes, bool written) {
#if defined(MADV_NOHUGEPAGE)
  if (mapped_bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(mapped_bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(mapped_bytes.data()) + mapped_bytes.size();
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_NOHUGEPAGE);
  if (written) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_RANDOM);
#else
  (void)mapped_bytes;
  (void)written;
#endif
}

TensorDesc slab_view(const TensorDesc& desc, const Slab& slab) {
  if (slab.dims == desc.layout.dims()) return desc;
  return TensorDesc(submemory(desc.layout, slab.dims, slab.offsets), desc.dtype);
}

void release_slab(const TensorDesc& view, std::span<const std::byte> mapped_bytes) {
  // A page fault may map the whole large page of the page cache around the byte that was touched.
  static constexpr int64_t kLargePage = 2 << 20;
  const auto [low, high] = view.layout.offset_range();
  if (high < low || mapped_bytes.empty()) return;
  const int width = bits(view.dtype);
  const int64_t first = width >= 8 ? low * (width / 8) : low / 2;
  const int64_t last = width >= 8 ? (high + 1) * (width / 8) : high / 2 + 1;
  const int64_t begin = std::max<int64_t>(0, first - kLargePage);
  const int64_t end = std::min<int64_t>(static_cast<int64_t>(mapped_bytes.size()), last + kLargePage);
  release_pages(mapped_bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

void convert_slab(const TensorInput& input, const Slab& slab, const TensorDesc& dst, std::span<std::byte> dst_bytes,
                  const Attributes& attributes, int threads, std::vector<std::byte>& scratch) {
  const cpu::RunOptions run{.threads = threads};
  const TensorDesc src = slab_view(input.desc, slab);
  if (input.swap_item_bytes <= 1) {
    cpu::reorder(src, input.bytes, dst, dst_bytes, attributes, run);
    return;
  }
  // The bytes are in foreign order: collect the elements in dense memory, swap their bytes there, and convert from
  // there.
  const TensorDesc packed(Layout::contiguous(slab.dims), src.dtype);
  scratch.resize(static_cast<std::size_t>(packed.span_bytes()));
  cpu::reorder(src, input.bytes, packed, scratch, {}, run);
  swap_bytes(scratch, input.swap_item_bytes);
  cpu::reorder(packed, scratch, dst, dst_bytes, attributes, run);
}

}  // namespace relayout::tools
