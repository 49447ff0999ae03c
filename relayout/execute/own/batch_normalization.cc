// Batch normalization of f32 in training, forward and backward, at the speed of memory in any layout of activations.
//
// oneDNN's kernels reach that speed only in blocked layouts, and write past the caches although the next primitive
// reads their results. Here a group of channels is summed up and then normalized while it is in the caches. The
// destination may have another layout than the sources, which saves a reorder after it. With d = x - centre of a
// channel, forward and backward are the same two passes:
//
//     forward     sums of d and d d, centre = any element;     dst = a d + c, centre = the mean
//                 (again, from the mean, where that element lies so far from it that digits of the variance are lost)
//     backward    sums of dy and dy d, centre = the mean;      diff_src = a (dy - c) + b d, c = the mean of dy
//
// The mean of dy is subtracted before anything is rounded to a product, because both may be nearly the same: where a
// channel has one element the result is 0, as it should be, and not a rounding error times the inverse deviation.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "relayout/cpu/reorder.h"
#include "relayout/cpu/threads.h"
#include "relayout/execute/own/channel_grid.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Executable;
using graph::kNone;
using graph::Pass;

namespace {

/// The number of channels that are normalized together.
constexpr int64_t kGroup = 16;
/// How many places of a group are processed at once. If groups take turns because more channels than a group lie side
/// by side, few places stay in the first-level cache (kTurnTile). A tile that is moved to another order stays there as
/// well (kMoveTile). Else single precision limits how many can be added up (kLongTile).
constexpr int64_t kTurnTile = 32, kMoveTile = 256, kLongTile = 4096;
/// Elements between the rows of a tile, chosen so that the rows do not compete for the same sets of the cache.
constexpr int64_t kTileRow = kMoveTile + 16;
/// A thread processes at least this many elements.
constexpr int64_t kGrain = 1 << 15;

using Four = float __attribute__((vector_size(16)));

template <int W>
constexpr int kFours = W / 4;

Four load(const float* at) {
  Four out;
  std::memcpy(&out, at, sizeof out);
  return out;
}
void store(float* at, const Four& value) { std::memcpy(at, &value, sizeof value); }

/// Arrays with an entry for each lane: the result is a d + c forward and a (dy - c) + b d backward, with d = x -
/// centre.
struct Factors {
  const float *centre, *a, *b, *c;
};

/// Adds to the sums of W lanes. `diff` is null in the forward pass.
template <int W>
void add_sums(const float* x, const float* diff, int64_t step, int64_t places, const float* centre, double* sum,
              double* product) {
  float sums[2][W] = {};
  if constexpr (W == 1) {
    for (int64_t p = 0; p < places; ++p) {
      const float d = x[p * step] - centre[0], u = diff ? diff[p * step] : d;
      sums[0][0] += u;
      sums[1][0] += u * d;
    }
  } else {
    Four k[kFours<W>], s[kFours<W>] = {}, q[kFours<W>] = {};
    for (int i = 0; i < kFours<W>; ++i) k[i] = load(centre + 4 * i);
    for (int64_t p = 0; p < places; ++p) {
      for (int i = 0; i < kFours<W>; ++i) {
        const Four d = load(x + p * step + 4 * i) - k[i], u = diff ? load(diff + p * step + 4 * i) : d;
        s[i] += u;
        q[i] += u * d;
      }
    }
    std::memcpy(sums[0], s, sizeof s);
    std::memcpy(sums[1], q, sizeof q);
  }
  for (int i = 0; i < W; ++i) {
    sum[i] += sums[0][i];
    product[i] += sums[1][i];
  }
}

template <int W>
void apply(const float* x, const float* diff, int64_t step, float* y, int64_t y_step, int64_t places,
           const Factors& f) {
  if constexpr (W == 1) {
    for (int64_t p = 0; p < places; ++p) {
      const float d = x[p * step] - f.centre[0];
      y[p * y_step] = diff ? f.a[0] * (diff[p * step] - f.c[0]) + f.b[0] * d : f.a[0] * d + f.c[0];
    }
  } else {
    Four k[kFours<W>], a[kFours<W>], b[kFours<W>], c[kFours<W>];
    for (int i = 0; i < kFours<W>; ++i) {
      k[i] = load(f.centre + 4 * i);
      a[i] = load(f.a + 4 * i);
      b[i] = load(f.b + 4 * i);
      c[i] = load(f.c + 4 * i);
    }
    for (int64_t p = 0; p < places; ++p) {
      for (int i = 0; i < kFours<W>; ++i) {
        const Four d = load(x + p * step + 4 * i) - k[i];
        store(y + p * y_step + 4 * i,
              diff ? a[i] * (load(diff + p * step + 4 * i) - c[i]) + b[i] * d : a[i] * d + c[i]);
      }
    }
  }
}

/// Calls f with the largest of 16, 8, 4 and 1 that is not above `lanes`, as a constant, and returns that number.
template <typename F>
int64_t with_width(int64_t lanes, F f) {
  if (lanes >= 16) return f(std::integral_constant<int, 16>()), 16;
  if (lanes >= 8) return f(std::integral_constant<int, 8>()), 8;
  if (lanes >= 4) return f(std::integral_constant<int, 4>()), 4;
  return f(std::integral_constant<int, 1>()), 1;
}

class BatchNormalizationExecutable : public Executable {
 public:
  BatchNormalizationExecutable(const OwnRequest& r, const ChannelGrid& src, const ChannelGrid& dst)
      : src_(src),
        dst_(dst),
        forward_(r.node.forward()),
        diff_first_(forward_ ? 0 : r.src(4).offset0()),
        epsilon_(r.node.as<graph::NormalizationAttributes>().epsilon),
        images_(r.dst().dim(0)),
        channels_(r.dst().dim(1)),
        places_(1),
        threads_(r.threads),
        padding_(r.dst(), DType::f32) {
    for (int d = 2; d < r.dst().ndims(); ++d) places_ *= r.dst().dim(d);
    moved_ = src.lengthwise() != dst.lengthwise() && places_ > 1;
    by_turns_ = src.block > kGroup && !moved_;
    tile_ = by_turns_ ? kTurnTile : moved_ ? kMoveTile : kLongTile;
    const auto count = static_cast<std::size_t>(channels_);
    for (auto* list : {&centre_, &a_, &b_, &c_}) list->resize(count);
    for (auto* list : {&sum_, &product_}) list->resize(count);
    if (moved_) make_moves();
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const auto floats = [](const void* at) { return static_cast<const float*>(at); };
    Call call{this, floats(src[0]) + src_.first, nullptr, static_cast<float*>(dst[0]) + dst_.first, {}, {}};
    for (std::size_t i = 1; i < src.size(); ++i) call.parameters[i - 1] = floats(src[i]);
    for (std::size_t i = 1; i < dst.size(); ++i) call.results[i - 1] = static_cast<float*>(dst[i]);
    if (!forward_) call.diff = floats(src[4]) + diff_first_;
    const int64_t elements = std::max<int64_t>(1, images_ * places_ * kGroup);
    cpu::parallel_for(
        run_options(threads_), ceil_div(channels_, kGroup), std::max<int64_t>(1, kGrain / elements),
        [](void* state, int64_t begin, int64_t end) {
          const Call& of = *static_cast<const Call*>(state);
          of.self->channels(of, begin * kGroup, std::min(end * kGroup, of.self->channels_));
        },
        &call);
    padding_.run(dst[0]);
  }

 private:
  struct Call {
    BatchNormalizationExecutable* self;
    const float *x, *diff;
    float* y;
    /// All sources and all destinations after the first one.
    std::array<const float*, 4> parameters;
    std::array<float*, 2> results;
  };

  /// Makes the plans that move a group's tile to the destination, for each number of places and channels that a tile
  /// has.
  void make_moves() {
    for (int64_t places : {std::min(tile_, places_), places_ % tile_}) {
      for (int64_t channels : {std::min(kGroup, channels_), channels_ % kGroup}) {
        if (places == 0 || channels == 0) continue;
        const Dims dims{places, channels};
        const Layout from =
            src_.lengthwise() ? Layout::strided(dims, {1, kTileRow}) : Layout::strided(dims, {kGroup, 1});
        const int64_t block = std::min(dst_.block, channels);
        const Digits digits{{block, 1}, {ceil_div(channels, block), dst_.block_stride}};
        const std::array<Digits, 2> to{Digits{{places, dst_.place}}, digits};
        moves_.try_emplace({places, channels},
                           cpu::make_plan({from, DType::f32}, {Layout::from_digits(dims, to), DType::f32}));
      }
    }
  }

  /// Calls f(image, first place, places, first channel, end of channels) for each tile, in the order in which sources
  /// lie.
  template <typename F>
  void each_tile(int64_t begin, int64_t end, int64_t tile, F f) const {
    for (int64_t n = 0; n < images_; ++n) {
      for (int64_t p = 0; p < places_; p += tile) {
        for (int64_t c = begin; c < end; c += kGroup) {
          f(n, p, std::min(tile, places_ - p), c, std::min(c + kGroup, end));
        }
      }
    }
  }

  void channels(const Call& call, int64_t begin, int64_t end) {
    const int64_t step = by_turns_ ? end - begin : kGroup;
    for (int64_t c = begin; c < end; c += step) {
      const int64_t to = std::min(c + step, end);
      prepare(call, c, to);
      const auto sum = [&] {
        each_tile(c, to, by_turns_ ? tile_ : kLongTile,
                  [&](int64_t n, int64_t p, int64_t places, int64_t from, int64_t until) {
                    sum_tile(call, n, p, places, from, until);
                  });
      };
      sum();
      if (forward_ && recentre(c, to)) sum();
      finish(call, c, to);
      each_tile(c, to, tile_, [&](int64_t n, int64_t p, int64_t places, int64_t from, int64_t until) {
        apply_tile(call, n, p, places, from, until);
      });
    }
  }

  void prepare(const Call& call, int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      centre_[at(c)] = forward_ ? call.x[src_.channel(c)] : call.parameters[1][c];
      sum_[at(c)] = product_[at(c)] = 0;
    }
  }

  /// Whether the sums must be computed again, with centres nearer to the means; moves these centres. The variance is
  /// the mean of d d minus the square of the mean of d. If the centre is far from the mean, both are large, and their
  /// difference loses digits.
  bool recentre(int64_t begin, int64_t end) {
    constexpr double kFar = 16;
    const auto count = static_cast<double>(images_ * places_);
    bool again = false;
    for (int64_t c = begin; c < end; ++c) {
      const double shift = sum_[at(c)] / count, variance = product_[at(c)] / count - shift * shift;
      if (!(shift * shift > kFar * variance)) continue;
      centre_[at(c)] += static_cast<float>(shift);
      again = true;
    }
    if (again) {
      for (int64_t c = begin; c < end; ++c) sum_[at(c)] = product_[at(c)] = 0;
    }
    return again;
  }

  void sum_tile(const Call& call, int64_t n, int64_t p, int64_t places, int64_t begin, int64_t end) {
    const int64_t start = n * src_.image + p * src_.place;
    for (int64_t c = begin; c < end;) {
      const int64_t offset = start + src_.channel(c);
      const float *x = call.x + offset, *diff = call.diff ? call.diff + offset : nullptr;
      if (src_.lengthwise()) {
        sum_row(x, diff, places, c++);
        continue;
      }
      c += with_width(std::min(end - c, src_.run(c)), [&](auto width) {
        add_sums<width>(x, diff, src_.place, places, &centre_[at(c)], &sum_[at(c)], &product_[at(c)]);
      });
    }
  }

  /// Sums up one channel whose places lie side by side: each lane adds up every 16th place.
  void sum_row(const float* x, const float* diff, int64_t places, int64_t c) {
    std::array<float, kGroup> centre;
    centre.fill(centre_[at(c)]);
    std::array<double, kGroup> sums{}, products{};
    const int64_t whole = places / kGroup * kGroup;
    add_sums<kGroup>(x, diff, kGroup, whole / kGroup, centre.data(), sums.data(), products.data());
    add_sums<1>(x + whole, diff ? diff + whole : nullptr, 1, places - whole, centre.data(), sums.data(),
                products.data());
    for (double sum : sums) sum_[at(c)] += sum;
    for (double product : products) product_[at(c)] += product;
  }

  void finish(const Call& call, int64_t begin, int64_t end) {
    const auto count = static_cast<double>(images_ * places_);
    const float* scales = call.parameters[0];
    for (int64_t c = begin; c < end; ++c) {
      const double sum = sum_[at(c)], product = product_[at(c)], scale = scales ? scales[c] : 1;
      if (forward_) {
        const double shift = sum / count, difference = product / count - shift * shift;
        const double variance = difference < 0 ? 0 : difference;
        const float* shifts = call.parameters[1];
        centre_[at(c)] += static_cast<float>(shift);
        if (call.results[0]) call.results[0][c] = centre_[at(c)];
        if (call.results[1]) call.results[1][c] = static_cast<float>(variance);
        a_[at(c)] = static_cast<float>(scale / std::sqrt(variance + epsilon_));
        c_[at(c)] = shifts ? shifts[c] : 0;
      } else {
        const double inverse = 1 / std::sqrt(call.parameters[2][c] + epsilon_);
        if (call.results[0]) call.results[0][c] = static_cast<float>(product * inverse);
        if (call.results[1]) call.results[1][c] = static_cast<float>(sum);
        a_[at(c)] = static_cast<float>(scale * inverse);
        b_[at(c)] = static_cast<float>(-scale * inverse * inverse * inverse * product / count);
        c_[at(c)] = static_cast<float>(sum / count);
      }
    }
  }

  void apply_tile(const Call& call, int64_t n, int64_t p, int64_t places, int64_t begin, int64_t end) const {
    float* y = call.y + n * dst_.image + p * dst_.place;
    if (!moved_) return apply_to(call, n, p, places, begin, end, y, dst_, 0);
    alignas(64) std::array<float, kTileRow * kGroup> tile;
    const bool rows = src_.lengthwise();
    const ChannelGrid near{.place = rows ? 1 : kGroup, .block = rows ? 1 : kGroup, .block_stride = rows ? kTileRow : 0};
    apply_to(call, n, p, places, begin, end, tile.data(), near, begin);
    cpu::run(moves_.at({places, end - begin}), tile.data(), y + dst_.channel(begin), {.threads = 1});
  }

  /// Normalizes places of some channels. `y` is where channel `first` goes.
  void apply_to(const Call& call, int64_t n, int64_t p, int64_t places, int64_t begin, int64_t end, float* y,
                const ChannelGrid& to, int64_t first) const {
    const int64_t start = n * src_.image + p * src_.place;
    for (int64_t c = begin; c < end;) {
      const int64_t offset = start + src_.channel(c);
      const float *x = call.x + offset, *diff = call.diff ? call.diff + offset : nullptr;
      if (src_.lengthwise()) {
        apply_row(x, diff, y + to.channel(c - first), places, c);
        ++c;
        continue;
      }
      c += with_width(std::min({end - c, src_.run(c), to.run(c - first)}), [&](auto width) {
        apply<width>(x, diff, src_.place, y + to.channel(c - first), to.place, places,
                     {&centre_[at(c)], &a_[at(c)], &b_[at(c)], &c_[at(c)]});
      });
    }
  }

  void apply_row(const float* x, const float* diff, float* y, int64_t places, int64_t c) const {
    std::array<float, kGroup> centre, a, b, d;
    centre.fill(centre_[at(c)]);
    a.fill(a_[at(c)]);
    b.fill(b_[at(c)]);
    d.fill(c_[at(c)]);
    const Factors factors{centre.data(), a.data(), b.data(), d.data()};
    const int64_t whole = places / kGroup * kGroup;
    apply<kGroup>(x, diff, kGroup, y, kGroup, whole / kGroup, factors);
    apply<1>(x + whole, diff ? diff + whole : nullptr, 1, y + whole, 1, places - whole, factors);
  }

  static std::size_t at(int64_t c) { return static_cast<std::size_t>(c); }

  ChannelGrid src_, dst_;
  bool forward_, moved_ = false, by_turns_ = false;
  int64_t diff_first_;
  double epsilon_;
  int64_t images_, channels_, places_, tile_ = kLongTile;
  int threads_;
  ZeroPadding padding_;
  std::map<std::pair<int64_t, int64_t>, Plan> moves_;
  // By channel.
  std::vector<float> centre_, a_, b_, c_;
  std::vector<double> sum_, product_;
};

/// Whether groups of channels and blocks of channels nest, so that no tile begins or ends inside a block.
bool takes_groups(const ChannelGrid& grid, int64_t channels) {
  return grid.block >= channels || grid.block % kGroup == 0 || kGroup % grid.block == 0;
}

}  // namespace

std::unique_ptr<Executable> make_batch_normalization(const OwnRequest& r) {
  if (r.node.pass == Pass::forward_inference || r.node.dst[0] == kNone || r.dst().empty()) return nullptr;
  for (std::size_t i = 0; i < r.layouts.size(); ++i) {
    const bool is_src = i < r.node.src.size();
    const graph::TensorId t = is_src ? r.node.src[i] : r.node.dst[i - r.node.src.size()];
    if (t == kNone) continue;
    const graph::Tensor& tensor = r.graph.tensor(t);
    if (tensor.dtype != DType::f32) return nullptr;
    if (tensor.dims.size() == 1 && !(*r.layouts[i] == Layout::contiguous(tensor.dims))) return nullptr;
  }
  const std::optional<ChannelGrid> src = channel_grid(r.src(0)), dst = channel_grid(r.dst());
  if (src && !r.node.forward() && !src->same_steps(channel_grid(r.src(4)))) return nullptr;
  if (!src || !dst || !takes_groups(*dst, r.dst().dim(1)) || !r.dst().injective_with_padding()) return nullptr;
  return std::make_unique<BatchNormalizationExecutable>(r, *src, *dst);
}

}  // namespace relayout::execute
