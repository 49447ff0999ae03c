// Layouts as oneDNN's descriptors, by their digits: see descriptor.h.
#include "relayout/execute/onednn/descriptor.h"

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/execute/onednn/version.h"

namespace relayout::execute {
namespace {

struct InnerBlock {
  int dim;
  Digit digit;
};

/// All digits except the outermost one of each dim, from the outermost to the innermost. Nothing unless they are dense
/// and lie inside all others.
std::optional<std::vector<InnerBlock>> inner_blocks(const Layout& layout) {
  std::vector<InnerBlock> blocks;
  for (int d = 0; d < layout.ndims(); ++d) {
    const std::span<const Digit> digits = layout.digits(d);
    for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
      // Within a dim, strides must grow from the inner to the outer digits.
      if (k > 0 && digits[k].stride <= digits[k - 1].stride) return std::nullopt;
      if (digits[k].extent > 1) blocks.push_back({d, digits[k]});
    }
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const InnerBlock& a, const InnerBlock& b) { return a.digit.stride > b.digit.stride; });
  int64_t expected = 1;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->digit.stride != expected) return std::nullopt;
    expected *= block->digit.extent;
  }
  return blocks;
}

std::optional<BlockedFields> blocked_fields(const Layout& layout) {
  const std::optional<std::vector<InnerBlock>> blocks = inner_blocks(layout);
  if (!blocks || static_cast<int>(blocks->size()) > kMaxDims) return std::nullopt;
  BlockedFields fields{layout.dims(), layout.padded_dims(), layout.outer_strides(), {}, {}};
  for (const InnerBlock& block : *blocks) {
    fields.inner_blocks.push_back(block.digit.extent);
    fields.inner_dims.push_back(block.dim);
  }
  for (int64_t stride : fields.strides) {
    if (stride < 0) return std::nullopt;
  }
  return fields;
}

/// The layout with a stride for every dim of extent 1 that has none. Kernels take some strides for lengths of rows. So
/// the strides are those of the layout's tag or, if it has no tag, lead beyond all other elements.
Layout with_strides(const Layout& layout) {
  bool free = false;
  int64_t beyond = 1;
  for (int d = 0; d < layout.ndims(); ++d) {
    const Digit outer = layout.digits(d).back();
    free = free || (outer.extent == 1 && outer.stride == 0);
    beyond = std::max(beyond, outer.extent * outer.stride);
  }
  if (!free) return layout;
  if (const std::optional<std::string> tag = tag_of(layout)) return Format::parse(*tag).bind(layout.dims());
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    Digit& outer = digits.back().back();
    if (outer.extent == 1 && outer.stride == 0) outer.stride = beyond;
  }
  return Layout::from_digits(layout.dims(), digits, layout.offset0());
}

/// The tag of this spelling for a rank, with N C spatial as letters a b c ...; empty if there is none.
std::string tag_in(int ndims, Spelling spelling) {
  std::string spatial;
  for (int d = 2; d < ndims; ++d) spatial += static_cast<char>('a' + d);
  switch (spelling) {
    case Spelling::plain: return ndims == 1 ? "a" : "ab" + spatial;
    case Spelling::channels_last: return ndims >= 2 ? "a" + spatial + "b" : "";
    case Spelling::blocked16: return ndims >= 2 ? "aB" + spatial + "16b" : "";
    case Spelling::blocked8: return ndims >= 2 ? "aB" + spatial + "8b" : "";
    case Spelling::blocked4: return ndims >= 2 ? "aB" + spatial + "4b" : "";
    case Spelling::as_given:
    case Spelling::unblocked: break;
  }
  return "";
}

/// The layout without the outer digit of dims that are one full block; nothing if there is no such dim.
std::optional<Layout> unblocked(const Layout& layout) {
  std::vector<Digits> digits;
  bool changed = false;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    Digits& own = digits.back();
    if (own.size() != 2 || own[1].extent != 1 || own[0].extent != layout.dim(d)) continue;
    own = {own[0]};
    changed = true;
  }
  return changed ? std::optional(Layout::from_digits(layout.dims(), digits, layout.offset0())) : std::nullopt;
}

}  // namespace

std::optional<dnnl::memory::data_type> data_type_of(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::f32: return Type::f32;
    case DType::f16: return Type::f16;
    case DType::bf16: return Type::bf16;
    case DType::s32: return Type::s32;
    case DType::s8: return Type::s8;
    case DType::u8: return Type::u8;
    default: return std::nullopt;
  }
}

Layout moved(const Layout& layout, int64_t offset0) {
  if (layout.offset0() == offset0) return layout;
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.dims(), digits, offset0);
}

std::optional<dnnl::memory::desc> descriptor(const Layout& layout, DType dtype) {
  const std::optional<dnnl::memory::data_type> type = data_type_of(dtype);
  if (!type || layout.ndims() == 0) return std::nullopt;
  std::optional<BlockedFields> fields = blocked_fields(with_strides(layout));
  // The layout's tag may spell it with fewer blocks: without one for a dim that fits into its block, or with one for
  // digits that continue each other.
  if (!fields) {
    if (const std::optional<std::string> tag = tag_of(layout)) {
      fields = blocked_fields(Format::parse(*tag).bind(layout.dims()));
    }
  }
  if (!fields) return std::nullopt;
  const std::string tag = fields->inner_blocks.empty() ? "" : tag_of(layout).value_or("");
  std::optional<dnnl::memory::desc> desc = descriptor_of(*fields, *type, tag);
  if (!desc) return std::nullopt;
  // A version of the library that cannot express a layout (blocks with strides of their own) gives another one instead.
  const std::optional<Layout> back = layout_of(*desc);
  return back && *back == moved(layout, 0) ? desc : std::nullopt;
}

std::optional<dnnl::memory::desc> any_descriptor(const Dims& dims, DType dtype) {
  const std::optional<dnnl::memory::data_type> type = data_type_of(dtype);
  if (!type || dims.empty()) return std::nullopt;
  return dnnl::memory::desc(dnnl::memory::dims(dims.begin(), dims.end()), *type, dnnl::memory::format_tag::any);
}

std::optional<Layout> layout_of(const dnnl::memory::desc& desc) {
  const std::optional<BlockedFields> fields = fields_of(desc);
  if (!fields) return std::nullopt;
  const int ndims = fields->dims.size();
  std::vector<Digits> digits(static_cast<std::size_t>(ndims));
  Dims inner(ndims, 1);
  int64_t stride = 1;
  for (int k = fields->inner_blocks.size() - 1; k >= 0; --k) {
    const int d = static_cast<int>(fields->inner_dims[k]);
    digits[static_cast<std::size_t>(d)].push_back({fields->inner_blocks[k], stride});
    inner[d] *= fields->inner_blocks[k];
    stride *= fields->inner_blocks[k];
  }
  for (int d = 0; d < ndims; ++d) {
    digits[static_cast<std::size_t>(d)].push_back({fields->padded_dims[d] / inner[d], fields->strides[d]});
  }
  Layout layout = Layout::from_digits(fields->dims, digits);
  if (has_extra(desc, *fields, layout)) return std::nullopt;
  return layout;
}

std::optional<Layout> layout_in(const Dims& dims, Spelling spelling) {
  const std::string tag = tag_in(dims.size(), spelling);
  if (tag.empty()) return std::nullopt;
  return Format::parse(tag).bind(dims);
}

std::optional<Layout> spelled(const Layout& layout, Spelling spelling) {
  if (spelling == Spelling::as_given) return layout;
  if (spelling == Spelling::unblocked) return unblocked(layout);
  const std::optional<Layout> candidate = layout_in(layout.dims(), spelling);
  if (!candidate) return std::nullopt;
  const Layout there = moved(*candidate, layout.offset0());
  return there == layout ? std::optional(there) : std::nullopt;
}

}  // namespace relayout::execute
