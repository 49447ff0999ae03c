// oneDNN: its reorder primitive, with any scales, zero points and sum that it takes. Versions 2 and 3.
//
// In version 2 the descriptor's blocks are filled in from the digits, so that any dense nest of blocks with any outer
// strides can be said. Version 3 hides them: there it is strides or, where there are blocks, the tag of that name.
#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "bench/compare/entries.h"
#include "relayout/core/format.h"

namespace relayout::bench {
namespace {

using Memory = dnnl::memory;

std::optional<Memory::data_type> data_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return Memory::data_type::f32;
    case DType::f16: return Memory::data_type::f16;
    case DType::bf16: return Memory::data_type::bf16;
    case DType::s32: return Memory::data_type::s32;
    case DType::s8: return Memory::data_type::s8;
    case DType::u8: return Memory::data_type::u8;
#if DNNL_VERSION_MAJOR >= 3
    case DType::f64: return Memory::data_type::f64;
#endif
    default: return std::nullopt;
  }
}

/// The digits inside the outermost of each dim, as blocks: dim, extent and stride, outermost first.
struct Block {
  int dim;
  int64_t extent, stride;
};

/// Nothing, with `*why` set, where the blocks are not dense, as oneDNN assumes they are.
std::optional<std::vector<Block>> dense_blocks(const Layout& layout, std::string* why) {
  std::vector<Block> blocks;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits(d);
    for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
      if (digits[k].extent > 1) blocks.push_back({d, digits[k].extent, digits[k].stride});
    }
    if (digits.back().stride < 0) {
      *why = "a negative stride";
      return std::nullopt;
    }
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.stride > b.stride; });
  int64_t dense = 1;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->stride != dense) {
      *why = "blocks that are not dense";
      return std::nullopt;
    }
    dense *= block->extent;
  }
  if (blocks.size() > DNNL_MAX_NDIMS) {
    *why = "too many blocks";
    return std::nullopt;
  }
  return blocks;
}

#if DNNL_VERSION_MAJOR >= 3
/// The tag of a name in letters a..l, from the names that the library gives its tags.
std::optional<Memory::format_tag> tag_of_name(const std::string& name) {
  static const auto* const tags = [] {
    auto* by_name = new std::map<std::string, Memory::format_tag>;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      const auto value = static_cast<dnnl_format_tag_t>(tag);
      by_name->emplace(dnnl_fmt_tag2str(value), static_cast<Memory::format_tag>(value));
    }
    return by_name;
  }();
  const auto found = tags->find(name);
  return found == tags->end() ? std::nullopt : std::optional(found->second);
}

std::optional<Memory::desc> memory_desc(const TensorDesc& desc, Memory::data_type type, std::string* why) {
  const Layout& layout = desc.layout;
  const auto blocks = dense_blocks(layout, why);
  if (!blocks) return std::nullopt;
  const Memory::dims dims(layout.dims().begin(), layout.dims().end());
  if (blocks->empty()) {
    const Dims strides = layout.outer_strides();
    return Memory::desc(dims, type, Memory::dims(strides.begin(), strides.end()));
  }
  const auto name = tag_of(layout);
  const auto tag = name ? tag_of_name(*name) : std::nullopt;
  if (!tag) {
    *why = "blocks of no tag that oneDNN 3 has";
    return std::nullopt;
  }
  return Memory::desc(dims, type, *tag);
}
#else
std::optional<Memory::desc> memory_desc(const TensorDesc& desc, Memory::data_type type, std::string* why) {
  const Layout& layout = desc.layout;
  const auto blocks = dense_blocks(layout, why);
  if (!blocks) return std::nullopt;
  dnnl_memory_desc_t md{};
  md.ndims = layout.ndims();
  md.data_type = static_cast<dnnl_data_type_t>(type);
  md.format_kind = dnnl_blocked;
  for (int d = 0; d < layout.ndims(); ++d) {
    md.dims[d] = layout.dim(d);
    md.padded_dims[d] = layout.capacity(d);
    md.format_desc.blocking.strides[d] = layout.outer_stride(d);
  }
  for (const Block& block : *blocks) {
    const int at = md.format_desc.blocking.inner_nblks++;
    md.format_desc.blocking.inner_blks[at] = block.extent;
    md.format_desc.blocking.inner_idxs[at] = block.dim;
  }
  return Memory::desc(md);
}
#endif

/// Whether the bits of a mask stand together: version 2 reads other masks wrongly and reports no error.
bool contiguous(uint32_t mask) {
  if (mask == 0) return true;
  while ((mask & 1) == 0) mask >>= 1;
  return (mask & (mask + 1)) == 0;
}

/// What an execution needs besides the two tensors: attribute values that version 3 takes as arguments.
struct Prepared {
  dnnl::primitive_attr attr;
  std::vector<std::pair<int, Memory>> arguments;
};

#if DNNL_VERSION_MAJOR >= 3
template <typename T>
void add_values(const PerMask& values, Memory::data_type type, int argument, const dnnl::engine& engine,
                Prepared& out) {
  Memory memory({{static_cast<int64_t>(values.values.size())}, type, Memory::format_tag::a}, engine);
  std::ranges::transform(values.values, static_cast<T*>(memory.get_data_handle()),
                         [](double value) { return static_cast<T>(value); });
  out.arguments.emplace_back(argument, memory);
}

bool add_attributes(const Attributes& a, const dnnl::engine& engine, Prepared& out, std::string*) {
  const auto scale = [&](const PerMask& values, int argument) {
    if (values.values.empty()) return;
    out.attr.set_scales_mask(argument, static_cast<int>(values.mask));
    add_values<float>(values, Memory::data_type::f32, DNNL_ARG_ATTR_SCALES | argument, engine, out);
  };
  const auto zero_point = [&](const PerMask& values, int argument) {
    if (values.values.empty()) return;
    out.attr.set_zero_points_mask(argument, static_cast<int>(values.mask));
    add_values<int32_t>(values, Memory::data_type::s32, DNNL_ARG_ATTR_ZERO_POINTS | argument, engine, out);
  };
  scale(a.src_scale, DNNL_ARG_FROM);
  scale(a.dst_scale, DNNL_ARG_TO);
  zero_point(a.src_zero_point, DNNL_ARG_FROM);
  zero_point(a.dst_zero_point, DNNL_ARG_TO);
  if (a.beta != 0) {
    dnnl::post_ops sum;
    sum.append_sum(static_cast<float>(a.beta));
    out.attr.set_post_ops(sum);
  }
  return true;
}
#else
/// Version 2 has one scale, of the result: src scale / dst scale, and the sum is added to that.
bool add_attributes(const Attributes& a, const dnnl::engine&, Prepared& out, std::string* why) {
  const auto &up = a.src_scale, &down = a.dst_scale;
  if (!up.values.empty() || !down.values.empty()) {
    const bool by_up = up.values.size() > 1, by_down = down.values.size() > 1;
    if (by_up && by_down && up.mask != down.mask) {
      *why = "scales of two masks";
      return false;
    }
    std::vector<float> scales(std::max({up.values.size(), down.values.size(), std::size_t{1}}), 1);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (!up.values.empty()) scales[i] = static_cast<float>(up.values[by_up ? i : 0]);
      if (!down.values.empty()) scales[i] /= static_cast<float>(down.values[by_down ? i : 0]);
    }
    const uint32_t mask = by_up ? up.mask : by_down ? down.mask : 0;
    out.attr.set_output_scales(static_cast<int>(mask), scales);
  }
  if (a.beta != 0) {
    if (down.values.size() > 1) {
      *why = "a sum divided by several scales";
      return false;
    }
    dnnl::post_ops sum;
    sum.append_sum(static_cast<float>(down.values.empty() ? a.beta : a.beta / down.values[0]));
    out.attr.set_post_ops(sum);
  }
  const auto zero_point = [&](const PerMask& values, int argument) {
    if (values.values.empty()) return;
    const std::vector<int32_t> whole(values.values.begin(), values.values.end());
    out.attr.set_zero_points(argument, static_cast<int>(values.mask), whole);
  };
  zero_point(a.src_zero_point, DNNL_ARG_FROM);
  zero_point(a.dst_zero_point, DNNL_ARG_TO);
  return true;
}
#endif

void* first_element(const TensorDesc& desc, const void* data) {
  return static_cast<char*>(const_cast<void*>(data)) + desc.layout.offset0() * (bits(desc.dtype) / 8);
}

/// Whether oneDNN can do the types and attributes, whatever the layouts.
bool supported(const TensorDesc& src, const TensorDesc& dst, const Attributes& a, int threads, std::string* why) {
  if (src.layout.empty()) *why = "no elements";
  if (src.layout.ndims() == 0) *why = "no dims";
  if (!data_type(src.dtype) || !data_type(dst.dtype)) *why = "no such type";
  if (dst.layout.padded() && (a.padding.kind == Padding::Kind::keep || a.padding.value.real() != 0)) {
    *why = "padding is always set to 0";
  }
  if (!a.mean.values.empty()) *why = "a mean";
  for (const auto* points : {&a.src_zero_point, &a.dst_zero_point}) {
    if (std::ranges::any_of(points->values, [](double value) { return value != std::trunc(value); }))
      *why = "a zero point that is not whole";
  }
  for (const uint32_t mask : {a.src_scale.mask, a.dst_scale.mask, a.src_zero_point.mask, a.dst_zero_point.mask}) {
    if (!contiguous(mask)) *why = "a mask whose bits do not stand together";
  }
#if DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_OMP
  if (DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ || threads > 1) *why = "a build whose threads are not OpenMP's";
#else
  static_cast<void>(threads);
#endif
  return why->empty();
}

std::function<void()> prepare(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                              const Attributes& attributes, int threads, std::string* why) try {
  why->clear();
  if (!supported(src, dst, attributes, threads, why)) return {};
  const auto src_md = memory_desc(src, *data_type(src.dtype), why);
  if (!src_md) return {};
  const auto dst_md = memory_desc(dst, *data_type(dst.dtype), why);
  if (!dst_md) return {};
  omp_set_num_threads(threads);  // the primitive is made for as many
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Prepared prepared;
  if (!add_attributes(attributes, engine, prepared, why)) return {};
  const dnnl::reorder::primitive_desc described(engine, *src_md, engine, *dst_md, prepared.attr, true);
  if (!described) {
    *why = "unimplemented";
    return {};
  }
  const dnnl::reorder reorder(described);
  dnnl::stream stream(engine);
  std::unordered_map<int, Memory> arguments{
      {DNNL_ARG_FROM, Memory(*src_md, engine, first_element(src, src_data))},
      {DNNL_ARG_TO, Memory(*dst_md, engine, first_element(dst, dst_data))},
  };
  for (const auto& [argument, memory] : prepared.arguments) arguments.emplace(argument, memory);
  return [reorder, stream, arguments, threads]() mutable {
    omp_set_num_threads(threads);
    reorder.execute(stream, arguments);
    stream.wait();
  };
} catch (const std::exception& error) {
  *why = error.what();
  return {};
}

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

Competitor onednn_competitor() { return {"onednn", version(), prepare}; }

}  // namespace relayout::bench
