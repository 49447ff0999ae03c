// All readings of a tensor whose strides allow several.
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/interop/pytorch.h"
#include "relayout/interop/pytorch_parts.h"
#include "relayout/interop/strided.h"

namespace relayout::pytorch {
namespace {

constexpr MemoryFormat kMemoryFormats[] = {MemoryFormat::contiguous, MemoryFormat::channels_last,
                                           MemoryFormat::channels_last_3d};

std::string quoted_strides(const Dims& strides) { return "the strides " + join(strides); }

/// "dims 1 and 3", or "" for none.
std::string dim_numbers(const std::vector<int>& dims) {
  if (dims.empty()) return "";
  std::string out = dims.size() == 1 ? "dim " : "dims ";
  for (std::size_t k = 0; k < dims.size(); ++k)
    out += (k == 0 ? "" : k + 1 == dims.size() ? " and " : ", ") + std::to_string(dims[k]);
  return out;
}

/// The dims of one index whose stride is not that of `strides`.
std::vector<int> free_dims(const TensorMeta& meta, const Dims& strides) {
  std::vector<int> out;
  for (int d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] == 1 && meta.strides[d] != strides[d]) out.push_back(d);
  }
  return out;
}

std::string why_it_holds(const TensorMeta& meta, const Dims& strides, const std::string& order) {
  if (elements(meta) == 0) return "the tensor has no elements, so " + quoted_strides(meta.strides) + " are " + order;
  const std::vector<int> free = free_dims(meta, strides);
  std::string out = quoted_strides(meta.strides) + " are " + order;
  if (!free.empty()) out += ", as the stride of " + dim_numbers(free) + " does not count, where there is one index";
  return out;
}

void add_memory_formats(const TensorMeta& meta, std::vector<Interpretation>& out) {
  const MemoryFormat suggested = suggest_memory_format(meta);
  for (MemoryFormat format : kMemoryFormats) {
    const std::string known(name(format));
    if (is_contiguous(meta, format)) {
      TensorMeta wanted = meta;
      wanted.strides = Format::parse(known).bind(meta.sizes).outer_strides();
      out.push_back(
          {known,
           why_it_holds(meta, wanted.strides, format == MemoryFormat::contiguous ? "row-major" : "those of " + known),
           format == suggested});
    } else if (format == suggested && format != MemoryFormat::contiguous) {
      out.push_back({"like " + known,
                     quoted_strides(meta.strides) + " have the order of " + known +
                         " but leave gaps or overlap, so that the tensor is like a part of one",
                     true});
    }
  }
}

/// Other orders of the dims in memory that have a name: "chwn".
void add_named_orders(const TensorMeta& meta, std::vector<Interpretation>& out) {
  const int ndims = meta.sizes.size();
  if (ndims == 0 || elements(meta) == 0) return;
  const Layout layout = from_pytorch(meta).layout;
  std::vector<Layout> seen;  // with strides that tell orders apart
  const Dims longer(ndims, 2);
  for (MemoryFormat format : kMemoryFormats) {
    const Format parsed = Format::parse(name(format));
    if (!parsed.rank() || *parsed.rank() == ndims) seen.push_back(parsed.bind(longer));
  }
  for (const std::string& known : plain_names(ndims)) {
    const Format format = Format::parse(known + "@" + std::to_string(meta.storage_offset));
    const Layout order = Format::parse(known).bind(longer);
    if (std::ranges::find(seen, order) != seen.end()) continue;
    seen.push_back(order);
    const Layout bound = format.bind(meta.sizes);
    if (bound == layout) out.push_back({known, why_it_holds(meta, bound.outer_strides(), "those of " + known), false});
  }
}

}  // namespace

std::vector<Interpretation> interpretations(const TensorMeta& meta) {
  check(meta);
  std::vector<Interpretation> out;
  add_memory_formats(meta, out);
  add_named_orders(meta, out);
  std::vector<int> repeated;
  for (int d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] > 1 && meta.strides[d] == 0) repeated.push_back(d);
  }
  if (!repeated.empty() && elements(meta) > 0)
    out.push_back(
        {"expanded",
         dim_numbers(repeated) + " repeat" + (repeated.size() == 1 ? "s" : "") + " one element along the stride 0",
         false});
  if (out.empty())
    out.push_back(
        {"strided", quoted_strides(meta.strides) + " are those of no memory format and of no named order", false});
  return out;
}

std::vector<Interpretation> interpretations(const Layout& layout) {
  return interpretations(to_pytorch({layout, DType::u8}));
}

}  // namespace relayout::pytorch
