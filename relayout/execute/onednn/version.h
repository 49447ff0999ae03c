// Version: all that differs between oneDNN 2 and 3, so that no other file asks which one it is compiled with
// (internal to execute/onednn).
//
// In 2 a primitive descriptor is made from an operation descriptor, data tensors of memory-bound primitives share one
// memory descriptor, and a memory descriptor is an open struct. In 3 they are made directly, each tensor has its own,
// and memory descriptors are opaque. Functions here take the arguments of version 3.
#pragma once

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// A primitive descriptor; empty if the library has none.
struct Found {
  dnnl::primitive_desc desc{};
  bool walkable = true;
  /// In version 2 the next implementation is found from the operation descriptor and the hint, which are kept here.
  std::shared_ptr<const void> keeps{};
  /// Whether it was made for Winograd's algorithm.
  bool winograd = false;

  explicit operator bool() const { return desc.get(true) != nullptr; }
  /// Moves on to the next implementation; false where there is none.
  bool next() { return walkable && desc.next_impl(); }
};

/// The arguments with which every primitive is made.
struct Maker {
  dnnl::engine engine;
  dnnl::primitive_attr attr;
  /// The forward primitive of a backward primitive, else null.
  const dnnl::primitive_desc* hint = nullptr;
};

/// Two tensors of equal dims. Version 2 has one descriptor for both.
struct DataPair {
  dnnl::memory::desc first, second;
};

/// oneDNN's algorithm and parameters for an elementwise operation.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

inline dnnl::primitive_desc clone_of(const dnnl::primitive_desc_base& desc) {
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, desc.get()), "could not clone a primitive descriptor");
  dnnl::primitive_desc out;
  out.reset(copy);
  return out;
}
/// A copy, which keeps its implementation when the original moves on to the next.
inline Found copy_of(const Found& found) { return {clone_of(found.desc), false, found.keeps, found.winograd}; }
/// A primitive descriptor of concat or sum, which have only one implementation.
inline Found unwalkable(const dnnl::primitive_desc_base& desc) { return {clone_of(desc), false, {}}; }

#if DNNL_VERSION_MAJOR >= 3

/// Whether the backward pass of a normalization wants the shift as an argument; it does not use it.
inline constexpr bool kBackwardTakesShift = false;

using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;

/// Operations that have another name in the other version, or do not exist there.
inline std::optional<Eltwise> eltwise_by_version(const graph::EltwiseAttributes& a) {
  const auto alpha = static_cast<float>(a.alpha), beta = static_cast<float>(a.beta);
  switch (a.algorithm) {
    case graph::EltwiseAlgorithm::bounded_relu: return Eltwise{dnnl::algorithm::eltwise_clip, 0, alpha};
    case graph::EltwiseAlgorithm::soft_relu: return Eltwise{dnnl::algorithm::eltwise_soft_relu, 1};
    case graph::EltwiseAlgorithm::logsigmoid: return Eltwise{dnnl::algorithm::eltwise_soft_relu, -1};
    case graph::EltwiseAlgorithm::hardswish: return Eltwise{dnnl::algorithm::eltwise_hardswish, 1.0f / 6, 0.5f};
    case graph::EltwiseAlgorithm::hardsigmoid: return Eltwise{dnnl::algorithm::eltwise_hardsigmoid, alpha, beta};
    default: return std::nullopt;
  }
}

inline void append_eltwise(dnnl::post_ops& ops, const Eltwise& e) { ops.append_eltwise(e.algorithm, e.alpha, e.beta); }

/// Whether a zero point is an argument of execution, of type s32, and its attribute says only that there is one.
inline constexpr bool kZeroPointIsArgument = true;
inline void set_src_zero_point(dnnl::primitive_attr& attr, int) { attr.set_zero_points_mask(DNNL_ARG_SRC, 0); }

/// Whether results can be multiplied by scales that are known when the primitive is made, behind its bias.
inline constexpr bool kHasOutputScales = false;
inline void set_output_scales(dnnl::primitive_attr&, int, const std::vector<float>&) {}

template <typename Arg>
std::tuple<const Arg&> expanded(const Arg& arg) {
  return arg;
}
inline std::tuple<const dnnl::memory::desc&, const dnnl::memory::desc&> expanded(const DataPair& pair) {
  return {pair.first, pair.second};
}

/// The primitive descriptor of these arguments, in version 3's order.
template <typename Primitive, typename... Args>
Found make(const Maker& with, const Args&... args) {
  auto create = [&](const auto&... expanded_args) -> Found {
    return {typename Primitive::primitive_desc(with.engine, expanded_args..., with.attr, true)};
  };
  return std::apply(create, std::tuple_cat(expanded(args)...));
}
template <typename Primitive, typename Forward, typename... Args>
Found make_backward(const Maker& with, const Args&... args) {
  const typename Forward::primitive_desc hint(with.hint->get());
  auto create = [&](const auto&... expanded_args) -> Found {
    return {typename Primitive::primitive_desc(with.engine, expanded_args..., hint, with.attr, true)};
  };
  return std::apply(create, std::tuple_cat(expanded(args)...));
}

inline Found make_concat(const Maker& with, const dnnl::memory::desc& dst, int axis,
                         const std::vector<dnnl::memory::desc>& srcs) {
  return unwalkable(dnnl::concat::primitive_desc(with.engine, dst, axis, srcs, with.attr));
}
inline Found make_sum(const Maker& with, const dnnl::memory::desc& dst, const std::vector<float>& scales,
                      const std::vector<dnnl::memory::desc>& srcs) {
  return unwalkable(dnnl::sum::primitive_desc(with.engine, dst, scales, srcs, with.attr));
}
template <typename... Args>
Found make_lrn_backward(const Maker& with, dnnl::algorithm algorithm, const DataPair& diff,
                        const dnnl::memory::desc& src, const Args&... args) {
  return make_backward<dnnl::lrn_backward, dnnl::lrn_forward>(with, algorithm, diff, src, args...);
}
inline Found make_prelu(const Maker& with, dnnl::prop_kind prop, const dnnl::memory::desc& src,
                        const dnnl::memory::desc& weights, const dnnl::memory::desc& dst) {
  return make<dnnl::prelu_forward>(with, prop, src, weights, dst);
}
inline Found make_prelu_backward(const Maker& with, const dnnl::memory::desc& src, const dnnl::memory::desc& weights,
                                 const DataPair& diff, const dnnl::memory::desc& diff_weights) {
  return make_backward<dnnl::prelu_backward, dnnl::prelu_forward>(with, src, weights, diff.first, diff_weights,
                                                                  diff.second);
}

/// The numbers that tell one format from another. Version 3 does not show compensation terms; the size tells whether
/// there are some.
inline std::vector<int64_t> identity_of(const dnnl::memory::desc& desc) {
  std::vector<int64_t> out{static_cast<int64_t>(desc.get_format_kind()), static_cast<int64_t>(desc.get_data_type()),
                           static_cast<int64_t>(desc.get_size())};
  for (const auto& list : {desc.get_dims(), desc.get_padded_dims()}) out.insert(out.end(), list.begin(), list.end());
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return out;
  for (const auto& list : {desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()})
    out.insert(out.end(), list.begin(), list.end());
  return out;
}
inline std::string opaque_name(const dnnl::memory::desc& desc) {
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked ? "compensated" : "packed";
}
/// Whether weights keep their values. Without an instruction for products of signed bytes they may lose a bit, which
/// version 3 does not show.
inline bool keeps_values(const dnnl::memory::desc&) {
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  const auto vnni = static_cast<int>(dnnl::cpu_isa::avx512_core_vnni);
  return (isa & vnni) == vnni;
}

#else

inline constexpr bool kZeroPointIsArgument = false;
inline void set_src_zero_point(dnnl::primitive_attr& attr, int value) {
  attr.set_zero_points(DNNL_ARG_SRC, 0, {static_cast<int32_t>(value)});
}

inline constexpr bool kHasOutputScales = true;
inline void set_output_scales(dnnl::primitive_attr& attr, int mask, const std::vector<float>& scales) {
  attr.set_output_scales(mask, scales);
}

/// The numbers that tell one format from another.
inline std::vector<int64_t> identity_of(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  std::vector<int64_t> out{data.format_kind, data.data_type, static_cast<int64_t>(desc.get_size())};
  out.insert(out.end(), data.dims, data.dims + data.ndims);
  out.insert(out.end(), data.padded_dims, data.padded_dims + data.ndims);
  const auto& extra = data.extra;
  out.insert(out.end(), {static_cast<int64_t>(extra.flags), extra.compensation_mask, extra.asymm_compensation_mask});
  if (data.format_kind == dnnl_blocked) {
    const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
    out.insert(out.end(), blocking.strides, blocking.strides + data.ndims);
    out.insert(out.end(), blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
    out.insert(out.end(), blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
  } else if (data.format_kind == dnnl_format_kind_rnn_packed) {
    const dnnl_rnn_packed_desc_t& packed = data.format_desc.rnn_packed_desc;
    out.insert(out.end(), {packed.format, packed.n_parts, packed.n, packed.ldb});
    for (int part = 0; part < packed.n_parts; ++part) {
      out.insert(out.end(), {packed.parts[part], static_cast<int64_t>(packed.part_pack_size[part]),
                             static_cast<int64_t>(packed.pack_part[part])});
    }
  } else if (data.format_kind == dnnl_format_kind_wino) {
    const dnnl_wino_desc_t& wino = data.format_desc.wino_desc;
    out.insert(out.end(), {wino.wino_format, wino.r, wino.alpha, wino.ic, wino.oc, wino.ic_block, wino.oc_block,
                           wino.ic2_block, wino.oc2_block});
  }
  return out;
}
inline std::string opaque_name(const dnnl::memory::desc& desc) {
  if (desc.data.format_kind == dnnl_format_kind_rnn_packed) return "rnn_packed";
  if (desc.data.format_kind == dnnl_format_kind_wino) return "winograd";
  const uint64_t flags = desc.data.extra.flags;
  if ((flags & dnnl_memory_extra_flag_compensation_conv_s8s8) != 0) return "s8s8_compensation";
  if ((flags & dnnl_memory_extra_flag_compensation_conv_asymmetric_src) != 0) return "asymmetric_compensation";
  return "compensated";
}
/// Whether weights keep their values. Without an instruction for products of signed bytes they lose a bit, so that the
/// sum of two products fits in 16 bits.
inline bool keeps_values(const dnnl::memory::desc& desc) {
  const auto& extra = desc.data.extra;
  return (extra.flags & dnnl_memory_extra_flag_scale_adjust) == 0 || extra.scale_adjust == 1;
}

/// Whether the backward pass of a normalization wants the shift as an argument; it does not use it.
inline constexpr bool kBackwardTakesShift = true;

using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;

/// Operations that have another name in the other version, or do not exist there.
inline std::optional<Eltwise> eltwise_by_version(const graph::EltwiseAttributes& a) {
  const auto alpha = static_cast<float>(a.alpha);
  switch (a.algorithm) {
    case graph::EltwiseAlgorithm::bounded_relu: return Eltwise{dnnl::algorithm::eltwise_bounded_relu, alpha};
    case graph::EltwiseAlgorithm::soft_relu: return Eltwise{dnnl::algorithm::eltwise_soft_relu};
    case graph::EltwiseAlgorithm::logsigmoid: return Eltwise{dnnl::algorithm::eltwise_logsigmoid};
    case graph::EltwiseAlgorithm::hardswish: return Eltwise{dnnl::algorithm::eltwise_hardswish};
    default: return std::nullopt;
  }
}

inline void append_eltwise(dnnl::post_ops& ops, const Eltwise& e) {
  ops.append_eltwise(1, e.algorithm, e.alpha, e.beta);
}

template <typename Arg>
const Arg& shared(const Arg& arg) {
  return arg;
}
inline const dnnl::memory::desc& shared(const DataPair& pair) {
  return pair.first.data.format_kind == dnnl_format_kind_any ? pair.second : pair.first;
}
template <typename Arg>
bool agrees(const Arg&) {
  return true;
}
inline bool agrees(const DataPair& pair) {
  const bool any =
      pair.first.data.format_kind == dnnl_format_kind_any || pair.second.data.format_kind == dnnl_format_kind_any;
  return pair.first.data.data_type == pair.second.data.data_type && (any || pair.first == pair.second);
}

/// The primitive descriptor of these arguments, in version 3's order; none if the two tensors of a pair need different
/// descriptors.
template <typename Primitive, typename... Args>
Found make(const Maker& with, const Args&... args) {
  using Desc = typename Primitive::primitive_desc;
  if (!(agrees(args) && ...)) return {};
  using Operation = typename Primitive::desc;
  const auto operation = std::make_shared<const Operation>(shared(args)...);
  // Shuffle takes its attributes in another place.
  if constexpr (std::is_constructible_v<Desc, Operation, dnnl::primitive_attr, dnnl::engine, bool>) {
    return {Desc(*operation, with.attr, with.engine, true), true, operation};
  } else {
    return {Desc(*operation, with.engine, with.attr, true), true, operation};
  }
}
template <typename Primitive, typename Forward, typename... Args>
Found make_backward(const Maker& with, const Args&... args) {
  using Desc = typename Primitive::primitive_desc;
  using Hint = typename Forward::primitive_desc;
  if (!(agrees(args) && ...)) return {};
  using Operation = typename Primitive::desc;
  const auto kept =
      std::make_shared<const std::pair<Operation, Hint> >(Operation(shared(args)...), Hint(with.hint->get()));
  const auto& [operation, hint] = *kept;
  if constexpr (std::is_constructible_v<Desc, Operation, dnnl::primitive_attr, dnnl::engine, Hint, bool>) {
    return {Desc(operation, with.attr, with.engine, hint, true), true, kept};
  } else {
    return {Desc(operation, with.engine, hint, with.attr, true), true, kept};
  }
}

inline Found make_concat(const Maker& with, const dnnl::memory::desc& dst, int axis,
                         const std::vector<dnnl::memory::desc>& srcs) {
  return unwalkable(dnnl::concat::primitive_desc(dst, axis, srcs, with.engine, with.attr));
}
inline Found make_sum(const Maker& with, const dnnl::memory::desc& dst, const std::vector<float>& scales,
                      const std::vector<dnnl::memory::desc>& srcs) {
  return unwalkable(dnnl::sum::primitive_desc(dst, scales, srcs, with.engine, with.attr));
}
template <typename... Args>
Found make_lrn_backward(const Maker& with, dnnl::algorithm algorithm, const DataPair& diff,
                        const dnnl::memory::desc& src, const Args&... args) {
  return make_backward<dnnl::lrn_backward, dnnl::lrn_forward>(with, algorithm, src, diff, args...);
}
inline Found make_prelu(const Maker& with, dnnl::prop_kind prop, const dnnl::memory::desc& src,
                        const dnnl::memory::desc& weights, const dnnl::memory::desc& dst) {
  return make<dnnl::prelu_forward>(with, prop, DataPair{src, dst}, weights);
}
inline Found make_prelu_backward(const Maker& with, const dnnl::memory::desc& src, const dnnl::memory::desc& weights,
                                 const DataPair& diff, const dnnl::memory::desc& diff_weights) {
  return make_backward<dnnl::prelu_backward, dnnl::prelu_forward>(with, src, weights, diff, diff_weights);
}

#endif

}  // namespace relayout::execute
