// view_of: reshape, transpose, slice and broadcast as layout algebra; concat_part: concat as slices of its destination.
#include <algorithm>
#include <limits>

#include "relayout/core/view.h"
#include "relayout/graph/ir/ops_families.h"

namespace relayout::graph {
namespace {

/// The digits of dim d without its padding, if the extent ends between two digits or within the last one. No index of
/// the dim reaches the padding, and dims with padding could not be joined, split or reversed.
Digits trimmed_digits(const Layout& canonical, int d) {
  Digits out;
  int64_t places = 1;
  for (const Digit& digit : canonical.digits(d)) {
    const int64_t left = canonical.dim(d) / places;
    if (canonical.dim(d) % places != 0) return canonical.digits_of(d);
    out.push_back({std::min(digit.extent, left), digit.stride});
    if (digit.extent >= left) break;
    places *= digit.extent;
  }
  return out;
}

Layout trimmed(const Layout& layout, int d) {
  std::vector<Digits> digits;
  for (int k = 0; k < layout.ndims(); ++k) digits.push_back(layout.digits_of(k));
  digits[static_cast<std::size_t>(d)] = trimmed_digits(layout.canonical(), d);
  return Layout::from_digits(layout.dims(), digits, layout.offset0());
}

Layout sliced(const SliceAttributes& a, const Layout& src) {
  Layout out = src;
  for (int d = 0; d < src.ndims(); ++d) {
    if (a.steps[d] > 0) {
      out = slice(out, d, a.starts[d], a.stops[d], a.steps[d]);
    } else {  // a slice of the same indices in ascending order, then reversed
      const int64_t step = -std::max(a.steps[d], -std::numeric_limits<int64_t>::max());
      const int64_t lowest = a.starts[d] - (a.starts[d] - a.stops[d] - 1) / step * step;
      out = flip(trimmed(slice(out, d, lowest, a.starts[d] + 1, step), d), d);
    }
  }
  return out;
}

/// Builds the layout of a reshape. It goes through both lists of dims and pairs the shortest runs with equal products;
/// each run is joined to one dim and split anew. Dims of extent 1 are dropped and added freely. One that stays keeps
/// its blocks.
class Reshape {
 public:
  Reshape(const Layout& src, const Dims& want)
      : src_(src), canonical_(src.canonical()), want_(want), offset0_(src.offset0()) {}

  Layout run() {
    int from = 0, to = 0;
    while (from < src_.ndims() || to < want_.size()) {
      const bool drops = from < src_.ndims() && src_.dim(from) == 1, adds = to < want_.size() && want_[to] == 1;
      if (adds) digits_.push_back(drops ? src_.digits_of(from) : Digits{{1, 1}});
      if (drops || adds) {
        from += drops, to += adds;
      } else {
        run_of_dims(from, to);
      }
    }
    return Layout::from_digits(want_, digits_, offset0_);
  }

 private:
  /// Advances `from` and `to` over the shortest runs of dims that have equal products, and adds the run's digits.
  void run_of_dims(int& from, int& to) {
    const int from_begin = from, to_begin = to;
    int64_t have = src_.dim(from++), asked = want_[to++];
    while (have != asked) {
      if (have < asked) {
        have *= src_.dim(from++);
      } else {
        asked *= want_[to++];
      }
    }
    if (from == from_begin + 1 && to == to_begin + 1) {  // the same dim: its blocks and padding stay
      digits_.push_back(src_.digits_of(from_begin));
      return;
    }
    Dims dims, parts;
    std::vector<Digits> digits;
    for (int d = from_begin; d < from; ++d) {
      if (src_.dim(d) == 1) continue;
      dims.push_back(src_.dim(d));
      digits.push_back(trimmed_digits(canonical_, d));
    }
    for (int d = to_begin; d < to; ++d) parts.push_back(want_[d]);
    Layout run = Layout::from_digits(dims, digits, src_.offset0());
    if (dims.size() > 1) run = merge(run, 0, dims.size() - 1);
    if (parts.size() > 1) run = split(run.canonical(), 0, parts);
    for (int d = 0; d < run.ndims(); ++d) digits_.push_back(run.digits_of(d));
    offset0_ += run.offset0() - src_.offset0();
  }

  const Layout& src_;
  Layout canonical_;
  const Dims& want_;
  std::vector<Digits> digits_{};
  int64_t offset0_;
};

Layout view(const Node& node, const Layout& src) {
  switch (node.kind) {
    case Kind::transpose: return permute(src, node.as<TransposeAttributes>().order);
    case Kind::slice: return sliced(node.as<SliceAttributes>(), src);
    case Kind::broadcast: return expand(src, node.as<BroadcastAttributes>().dims);
    case Kind::reshape:
      return src.dims() == node.as<ReshapeAttributes>().dims ? src
                                                             : Reshape(src, node.as<ReshapeAttributes>().dims).run();
    default: refuse(node, "kind", std::string(name(node.kind)), "reshape, transpose, slice or broadcast");
  }
}

}  // namespace

Layout view_of(const Graph& graph, const Node& node, const Layout& src) {
  const Dims& dims = graph.tensor(node.src.at(0)).dims;
  if (src.dims() != dims) refuse(node, "layout of src", "for dims " + join(src.dims()), "for " + join(dims));
  const Dims& dst = graph.tensor(node.dst.at(0)).dims;
  if (checked_product(dst) == 0) return Layout::strided(dst, Dims(dst.size(), 0), src.offset0());
  try {
    return view(node, src);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::needs_copy) throw;
    throw Error(ErrorCode::needs_copy,
                std::string(name(node.kind)) + " '" + escaped(node.name) + "' of dims " + join(dims) +
                    " is no view: " + error.message(),
                error.field(), error.value(), error.limit());
  }
}

std::optional<Layout> concat_part(const Graph& graph, const Node& node, std::size_t i, const Layout& dst) {
  const int axis = node.as<ConcatAttributes>().axis;
  Dims offsets(dst.ndims(), 0);
  for (std::size_t k = 0; k < i; ++k) offsets[axis] += graph.tensor(node.src[k]).dims[axis];
  try {
    return submemory(dst.canonical(), graph.tensor(node.src[i]).dims, offsets);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return std::nullopt;
  }
}

}  // namespace relayout::graph
