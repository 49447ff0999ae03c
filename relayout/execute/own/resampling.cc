// Resampling of f32 in any layouts, with all coordinates and roundings of ResamplingAttributes: forward, and backward
// by scattering (positions: resampling_positions.h).
//
// Each dim has a table of offsets by index. The innermost loop runs over channels if these follow each other in memory
// on both sides (nhwc, blocks), else over the points of a row (nchw).
#include <algorithm>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/own/resampling_positions.h"

namespace relayout::execute {

using graph::Executable;

namespace {

/// A source element that contributes to an element of the destination, and its weight.
struct Corner {
  int64_t offset;
  float weight;
};
using Corners = InlineVector<Corner, 8>;

/// Channels that follow each other in memory on both sides.
struct ChannelRun {
  int64_t src, dst, count;
};

class ResamplingExecutable : public Executable {
 public:
  explicit ResamplingExecutable(const OwnRequest& r) : forward_(r.node.forward()) {
    const Layout& src = forward_ ? r.src(0) : r.dst();
    const Layout& dst = forward_ ? r.dst() : r.src(0);
    for (int64_t n = 0; n < src.dim(0); ++n) {
      batches_.push_back({src.offset0() + src.dim_offset(0, n), dst.offset0() + dst.dim_offset(0, n)});
    }
    for (int64_t c = 0; c < src.dim(1); ++c) add_channel(src.dim_offset(1, c), dst.dim_offset(1, c));
    // One to three spatial dims are treated as three: the missing ones are outermost and have extent 1.
    const int missing = 5 - src.ndims();
    for (int d = 0; d < 3; ++d) {
      std::vector<DstIndex>& indices = dst_indices_[static_cast<std::size_t>(d)];
      if (d < missing) {
        indices.push_back({0, 1, {{{0, 1}, {0, 0}}}});
        source_offsets_[static_cast<std::size_t>(d)] = {0};
        continue;
      }
      const int dim = d - missing + 2;
      for (int64_t i = 0; i < src.dim(dim); ++i) {
        source_offsets_[static_cast<std::size_t>(d)].push_back(src.dim_offset(dim, i));
      }
      for (int64_t i = 0; i < dst.dim(dim); ++i) {
        const Taps t = taps(r.node.as<graph::ResamplingAttributes>(), i, src.dim(dim), dst.dim(dim));
        indices.push_back(
            {dst.dim_offset(dim, i),
             t.weight[1] == 0 ? 1 : 2,
             {{{src.dim_offset(dim, t.index[0]), t.weight[0]}, {src.dim_offset(dim, t.index[1]), t.weight[1]}}}});
      }
    }
    padding_ = ZeroPadding(r.dst(), DType::f32);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    if (forward_) {
      walk([from = static_cast<const float*>(src[0]), to = static_cast<float*>(dst[0])](
               const ChannelRun& run, const Corners& corners, int64_t src_at, int64_t dst_at) {
        for (int64_t c = 0; c < run.count; ++c) to[dst_at + c] = 0;
        for (const Corner& corner : corners) {
          const float* at = from + src_at + corner.offset;
          for (int64_t c = 0; c < run.count; ++c) to[dst_at + c] += corner.weight * at[c];
        }
      });
    } else {
      auto* diff_src = static_cast<float*>(dst[0]);
      clear(diff_src);
      walk([from = static_cast<const float*>(src[0]), diff_src](const ChannelRun& run, const Corners& corners,
                                                                int64_t src_at, int64_t dst_at) {
        for (const Corner& corner : corners) {
          float* at = diff_src + src_at + corner.offset;
          for (int64_t c = 0; c < run.count; ++c) at[c] += corner.weight * from[dst_at + c];
        }
      });
    }
    padding_.run(dst[0]);
  }

 private:
  /// An index of the destination along one dim: its offset, and the one or two source points that it is made of.
  struct DstIndex {
    int64_t dst;
    int count;
    std::array<Corner, 2> src;
  };

  void add_channel(int64_t src, int64_t dst) {
    if (!channels_.empty()) {
      ChannelRun& last = channels_.back();
      if (last.src + last.count == src && last.dst + last.count == dst) {
        ++last.count;
        return;
      }
    }
    channels_.push_back({src, dst, 1});
  }

  static Corners corners_of(const DstIndex& d, const DstIndex& h, const DstIndex& w) {
    Corners out;
    for (int i = 0; i < d.count; ++i) {
      for (int j = 0; j < h.count; ++j) {
        for (int k = 0; k < w.count; ++k) {
          const Corner &a = d.src[static_cast<std::size_t>(i)], &b = h.src[static_cast<std::size_t>(j)],
                       &c = w.src[static_cast<std::size_t>(k)];
          out.push_back({a.offset + b.offset + c.offset, a.weight * b.weight * c.weight});
        }
      }
    }
    return out;
  }

  /// Calls f(run, corners, offset in the source, offset in the destination) for all points and channels.
  template <typename F>
  void walk(F&& f) const {
    const bool rows_inside = !channels_.empty() && channels_[0].count == 1 && channels_.size() > 1;
    for (const auto& [src, dst] : batches_) {
      for (std::size_t first = 0; first < channels_.size(); first += rows_inside ? 1 : channels_.size()) {
        const std::span<const ChannelRun> runs =
            std::span(channels_).subspan(first, rows_inside ? 1 : channels_.size());
        for (const DstIndex& d : dst_indices_[0]) {
          for (const DstIndex& h : dst_indices_[1]) {
            for (const DstIndex& w : dst_indices_[2]) {
              const Corners corners = corners_of(d, h, w);
              const int64_t to = dst + d.dst + h.dst + w.dst;
              for (const ChannelRun& run : runs) f(run, corners, src + run.src, to + run.dst);
            }
          }
        }
      }
    }
  }

  /// Sets every element of the source's gradient to zero.
  void clear(float* diff_src) const {
    for (const auto& [n, unused] : batches_) {
      for (const ChannelRun& run : channels_) {
        for (int64_t d : source_offsets_[0]) {
          for (int64_t h : source_offsets_[1]) {
            for (int64_t w : source_offsets_[2]) std::fill_n(diff_src + n + run.src + d + h + w, run.count, 0.0f);
          }
        }
      }
    }
  }

  bool forward_;
  std::vector<std::pair<int64_t, int64_t>> batches_{};
  std::vector<ChannelRun> channels_{};
  std::array<std::vector<DstIndex>, 3> dst_indices_{};
  std::array<std::vector<int64_t>, 3> source_offsets_{};
  ZeroPadding padding_{};
};

}  // namespace

std::unique_ptr<Executable> make_resampling(const OwnRequest& r) {
  if (r.src_tensor(0).dtype != DType::f32 || r.dst_tensor().dtype != DType::f32) return nullptr;
  if (!r.dst().injective_with_padding()) return nullptr;
  return std::make_unique<ResamplingExecutable>(r);
}

}  // namespace relayout::execute
