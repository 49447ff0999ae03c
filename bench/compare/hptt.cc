// HPTT, the tensor transposition library: permutations of dense f32 and f64 arrays and of parts of larger ones.
//
// Each block of a layout is a dim of its own. HPTT chooses its plan by estimate: with its measuring modes it sometimes
// chooses a plan that does not write all of the result.
#include <hptt.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "bench/compare/axes.h"
#include "bench/compare/entries.h"

namespace relayout::bench {
namespace {

/// HPTT's arguments, its dims fastest first.
struct Permutation {
  std::vector<int> sizes, src_sizes, dst_sizes, perm;
};

bool to_ints(const std::vector<int64_t>& extents, std::vector<int>& out) {
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    if (*extent > std::numeric_limits<int>::max()) return false;
    out.push_back(static_cast<int>(*extent));
  }
  return true;
}

template <typename T>
std::function<void()> plan(const Permutation& p, const TensorDesc& src, const void* src_data, const TensorDesc& dst,
                           void* dst_data, int threads) {
  const T* from = static_cast<const T*>(src_data) + src.layout.offset0();
  T* to = static_cast<T*>(dst_data) + dst.layout.offset0();
  const auto made = hptt::create_plan(p.perm, static_cast<int>(p.perm.size()), T{1}, from, p.sizes, p.src_sizes, T{0},
                                      to, p.dst_sizes, hptt::ESTIMATE, threads);
  return [made] { made->execute(); };
}

std::function<void()> prepare(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                              const Attributes& attributes, int threads, std::string* why) try {
  if (src.dtype != dst.dtype || (src.dtype != DType::f32 && src.dtype != DType::f64)) {
    *why = "f32 and f64 only";
    return {};
  }
  if (attributes.arithmetic()) {
    *why = "no attributes";
    return {};
  }
  const auto axes = common_axes(src.layout, dst.layout, attributes.padding, why);
  if (!axes) return {};
  const auto from = dense_side(*axes, &CommonAxis::src_stride, why);
  if (!from) return {};
  const auto to = dense_side(*axes, &CommonAxis::dst_stride, why);
  if (!to) return {};
  if (axes->size() > 2 && has_gaps(*axes, *to)) {
    *why = "gaps in a destination of over two axes, whose rows it misses";
    return {};
  }
  Permutation p;
  std::vector<int64_t> sizes;
  for (const int axis : from->order) sizes.push_back((*axes)[static_cast<std::size_t>(axis)].extent);
  if (!to_ints(sizes, p.sizes) || !to_ints(from->extents, p.src_sizes) || !to_ints(to->extents, p.dst_sizes)) {
    *why = "an extent over 2^31";
    return {};
  }
  const std::vector<int> fastest_first(from->order.rbegin(), from->order.rend());
  for (auto axis = to->order.rbegin(); axis != to->order.rend(); ++axis) {
    p.perm.push_back(
        static_cast<int>(std::find(fastest_first.begin(), fastest_first.end(), *axis) - fastest_first.begin()));
  }
  return src.dtype == DType::f32 ? plan<float>(p, src, src_data, dst, dst_data, threads)
                                 : plan<double>(p, src, src_data, dst, dst_data, threads);
} catch (const std::exception& error) {
  *why = error.what();
  return {};
}

}  // namespace

Competitor hptt_competitor() { return {"hptt", RELAYOUT_HPTT_VERSION, prepare}; }

}  // namespace relayout::bench
