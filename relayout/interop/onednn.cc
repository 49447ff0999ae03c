// Layouts as the fields of oneDNN's blocked descriptors, by their digits: see onednn.h.
#include "relayout/interop/onednn.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/interop/onednn_fields.h"

namespace relayout::onednn {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& operation, const std::string& why, const std::string& field,
                         int64_t value, const std::string& allowed) {
  throw Error(code, operation + ": " + why, field, std::to_string(value), allowed);
}

/// A type and its number in dnnl_data_type_t.
struct TypeRow {
  DType dtype;
  int number;
};
constexpr TypeRow kTypes[] = {{DType::f16, 1},      {DType::bf16, 2},     {DType::f32, 3}, {DType::s32, 4},
                              {DType::s8, 5},       {DType::u8, 6},       {DType::f64, 7}, {DType::boolean, 8},
                              {DType::f8_e5m2, 9},  {DType::f8_e4m3, 10}, {DType::s4, 11}, {DType::u4, 12},
                              {DType::f8_e8m0, 13}, {DType::f4_e2m1, 14}, {DType::s64, 16}};

/// A block of one dim: one of its digits but the outermost.
struct InnerBlock {
  int dim;
  Digit digit;
};

/// All digits but each dim's outermost, outermost first, if they are dense and innermost.
std::optional<std::vector<InnerBlock>> inner_blocks(const Layout& layout) {
  std::vector<InnerBlock> blocks;
  for (int d = 0; d < layout.ndims(); ++d) {
    const std::span<const Digit> digits = layout.digits(d);
    for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
      // A dim's own digits must grow outwards.
      if (k > 0 && digits[k].stride <= digits[k - 1].stride) return std::nullopt;
      if (digits[k].extent > 1) blocks.push_back({d, digits[k]});
    }
  }
  std::ranges::sort(blocks, [](const InnerBlock& a, const InnerBlock& b) { return a.digit.stride > b.digit.stride; });
  int64_t expected = 1;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->digit.stride != expected) return std::nullopt;
    expected *= block->digit.extent;
  }
  return blocks;
}

/// The fields of a layout whose digits are spelled as oneDNN's blocks are, or nothing.
std::optional<BlockedDesc> fields_of(const Layout& layout) {
  const std::optional<std::vector<InnerBlock>> blocks = inner_blocks(layout);
  if (!blocks || static_cast<int>(blocks->size()) > kMaxDims) return std::nullopt;
  BlockedDesc fields{.ndims = layout.ndims(), .offset0 = layout.offset0()};
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    fields.dims[at] = layout.dim(d);
    fields.padded_dims[at] = layout.capacity(d);
    fields.strides[at] = layout.outer_stride(d);
  }
  for (const InnerBlock& block : *blocks) {
    const auto at = static_cast<std::size_t>(fields.inner_nblks++);
    fields.inner_blks[at] = block.digit.extent;
    fields.inner_idxs[at] = block.dim;
  }
  return fields;
}

void check_strides(const Layout& layout) {
  require_plain(layout, "oneDNN's strides and blocks");
  if (layout.empty()) return;  // no stride is walked along
  for (int d = 0; d < layout.ndims(); ++d) {
    const Digit outer = layout.digits(d).back();
    if (outer.extent <= 1 || outer.stride >= 0) continue;
    refuse(ErrorCode::unsupported, "to_onednn",
           "the stride of dim " + std::to_string(d) + " is " + std::to_string(outer.stride) +
               ", and oneDNN has no negative strides",
           entry("strides", d), outer.stride, "0 or more");
  }
}

/// Takes what the padded offsets add to the offset out of offset0.
void begin_at(BlockedDesc& fields, const Layout& layout, const Dims& padded_offsets) {
  if (padded_offsets.size() != layout.ndims()) {
    refuse(ErrorCode::invalid_argument, "to_onednn",
           "there are " + std::to_string(padded_offsets.size()) + " padded offsets for " +
               std::to_string(layout.ndims()) + " dims",
           "padded_offsets", padded_offsets.size(), std::to_string(layout.ndims()));
  }
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const int64_t offset = padded_offsets[d], block = layout.block(d);
    if (offset < 0 || (block > 0 && offset % block != 0)) {
      refuse(ErrorCode::invalid_argument, "to_onednn",
             "padded_offsets[" + std::to_string(d) + "] is " + std::to_string(offset) +
                 ", and it must be a multiple of the dim's block of " + std::to_string(block),
             entry("padded_offsets", d), offset, "a multiple of " + std::to_string(block));
    }
    const auto padded = checked_add(fields.padded_dims[at], offset);
    const auto moved = checked_mul(block > 0 ? offset / block : 0, fields.strides[at]);
    if (!padded || !moved || *moved > fields.offset0) {
      refuse(ErrorCode::invalid_argument, "to_onednn",
             "padded_offsets[" + std::to_string(d) + "] of " + std::to_string(offset) +
                 " begins before element 0, as " + std::to_string(fields.offset0) + " elements lie before the tensor",
             entry("padded_offsets", d), offset, "at most offset0 in elements");
    }
    fields.padded_offsets[at] = offset;
    fields.padded_dims[at] = *padded;
    fields.offset0 -= *moved;
  }
}

void check_runtime(const BlockedDesc& fields, const std::string& operation) {
  const auto check = [&](int64_t value, const std::string& field) {
    if (value != kRuntimeDim) return;
    throw Error(ErrorCode::unsupported,
                operation + ": " + field + " is DNNL_RUNTIME_DIM_VAL, and a layout needs the number itself", field,
                "DNNL_RUNTIME_DIM_VAL", "a number");
  };
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    check(fields.dims[at], entry("dims", d));
    check(fields.padded_dims[at], entry("padded_dims", d));
    check(fields.padded_offsets[at], entry("padded_offsets", d));
    check(fields.strides[at], entry("strides", d));
  }
  check(fields.offset0, "offset0");
}

/// The product of each dim's inner blocks. Errors for everything in which the fields contradict each other.
Dims checked_blocks(const BlockedDesc& fields, const std::string& operation) {
  const auto check = [&](bool good, const std::string& field, int64_t value, const std::string& allowed) {
    if (good) return;
    refuse(ErrorCode::invalid_argument, operation,
           field + " is " + std::to_string(value) + ", and it must be " + allowed, field, value, allowed);
  };
  check(fields.ndims >= 0 && fields.ndims <= kMaxDims, "ndims", fields.ndims, "0 to " + std::to_string(kMaxDims));
  check(fields.inner_nblks >= 0 && fields.inner_nblks <= kMaxDims, "inner_nblks", fields.inner_nblks,
        "0 to " + std::to_string(kMaxDims));
  check_runtime(fields, operation);
  Dims blocks(fields.ndims, 1);
  for (int k = 0; k < fields.inner_nblks; ++k) {
    const int64_t block = fields.inner_blks[static_cast<std::size_t>(k)];
    const int64_t dim = fields.inner_idxs[static_cast<std::size_t>(k)];
    check(block >= 1, entry("inner_blks", k), block, "1 or more");
    check(dim >= 0 && dim < fields.ndims, entry("inner_idxs", k), dim,
          "a dim, 0 to " + std::to_string(fields.ndims - 1));
    const auto product = checked_mul(blocks[static_cast<int>(dim)], block);
    if (!product) throw_blocks_too_large(fields, operation, static_cast<int>(dim));
    blocks[static_cast<int>(dim)] = *product;
  }
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    check(fields.dims[at] >= 0, entry("dims", d), fields.dims[at], "0 or more");
    check(fields.padded_offsets[at] >= 0, entry("padded_offsets", d), fields.padded_offsets[at], "0 or more");
    const auto least = checked_add(fields.dims[at], fields.padded_offsets[at]);
    check(least && fields.padded_dims[at] >= *least, entry("padded_dims", d), fields.padded_dims[at],
          "at least dims + padded_offsets");
    // A submemory inside a block is padded to its own end.
    const bool inside = fields.padded_dims[at] < blocks[d] && fields.padded_dims[at] == least;
    check(inside || fields.padded_dims[at] % blocks[d] == 0, entry("padded_dims", d), fields.padded_dims[at],
          "a multiple of the dim's blocks, " + std::to_string(blocks[d]));
  }
  return blocks;
}

/// The layout of all padded dims, before the padded offsets.
Layout whole_of(const BlockedDesc& fields, const Dims& dims, const Dims& blocks, const Dims& padded_dims) {
  std::vector<Digits> digits(static_cast<std::size_t>(fields.ndims));
  int64_t stride = 1;
  for (int k = fields.inner_nblks - 1; k >= 0; --k) {
    const int64_t block = fields.inner_blks[static_cast<std::size_t>(k)];
    digits[static_cast<std::size_t>(fields.inner_idxs[static_cast<std::size_t>(k)])].push_back({block, stride});
    const auto next = checked_mul(stride, block);
    if (!next) throw_blocks_too_large(fields, "from_onednn", -1);
    stride = *next;
  }
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    digits[at].push_back({padded_dims[d] / blocks[d], fields.strides[at]});
  }
  return Layout::from_digits(dims, digits, fields.offset0);
}

/// The rule, of dims, strides and blocks in numbers.
StrideVerdict verdict_of(const BlockedDesc& fields) {
  StrideVerdict out;
  int64_t blocks_of[kMaxDims];
  std::fill_n(blocks_of, kMaxDims, 1);
  int64_t least = 1;
  for (int k = 0; k < fields.inner_nblks; ++k) {
    const auto at = static_cast<std::size_t>(k);
    least *= fields.inner_blks[at];
    blocks_of[fields.inner_idxs[at]] *= fields.inner_blks[at];
  }
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < static_cast<std::size_t>(fields.ndims); ++d) {
    if (fields.dims[d] == 0) return out;
    if (fields.padded_dims[d] / blocks_of[d] > 1 && fields.strides[d] != 0) order.push_back(d);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(fields.strides[a], fields.padded_dims[a]) < std::pair(fields.strides[b], fields.padded_dims[b]);
  });
  int within = StrideVerdict::kInnerBlocks;
  for (std::size_t d : order) {
    if (fields.strides[d] < least) {
      out.accepted = false;
      out.dim = static_cast<int>(d);
      out.within = within;
      out.stride = fields.strides[d];
      out.least = least;
      const std::string what = within == StrideVerdict::kInnerBlocks ? "the inner blocks cover"
                                                                     : "dim " + std::to_string(within) + " covers";
      out.reason = "the stride of dim " + std::to_string(d) + " is " + std::to_string(out.stride) + ", and " + what +
                   " " + std::to_string(least) + " elements, so that oneDNN demands " + std::to_string(least) +
                   " or more";
      return out;
    }
    least = checked_mul(fields.strides[d], fields.padded_dims[d] / blocks_of[d])
                .value_or(std::numeric_limits<int64_t>::max());
    within = static_cast<int>(d);
  }
  return out;
}

}  // namespace

int data_type_number(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.number;
  }
  throw Error(ErrorCode::unsupported, "oneDNN has no type " + std::string(name(dtype)) + "; it has " + type_names(),
              "dtype", std::string(name(dtype)), type_names());
}

std::string type_name(DType dtype) {
  return dtype == DType::boolean ? "boolean" : dtype == DType::f8_e8m0 ? "e8m0" : std::string(name(dtype));
}

std::string type_names() {
  std::string out;
  for (const TypeRow& row : kTypes) {
    if (row.dtype != DType::boolean) out += (out.empty() ? "" : ", ") + type_name(row.dtype);
  }
  return out;
}

DType data_type_of_number(int number) {
  for (const TypeRow& row : kTypes) {
    if (row.number == number) return row.dtype;
  }
  std::string known;
  for (const TypeRow& row : kTypes) known += (known.empty() ? "" : ", ") + std::to_string(row.number);
  throw Error(ErrorCode::unsupported,
              "data_type " + std::to_string(number) + " of oneDNN has no type here; the numbers " + known + " have one",
              "data_type", std::to_string(number), known);
}

BlockedDesc to_onednn(const TensorDesc& desc, const Dims& padded_offsets) {
  const Layout& layout = desc.layout;
  if (layout.ndims() == 0) {
    refuse(ErrorCode::unsupported, "to_onednn",
           "a tensor of rank 0 has one element, and oneDNN's descriptor of rank 0 has none", "ndims", 0,
           "1 to " + std::to_string(kMaxDims));
  }
  const int type = data_type_number(desc.dtype);
  check_strides(layout);
  Layout spelling = layout;
  std::optional<BlockedDesc> fields = fields_of(spelling);
  // A dim that is all within its block may be spelled without one, and digits apart that continue each other.
  if (!fields) {
    if (const std::optional<std::string> tag = tag_of(layout)) {
      spelling = Format::parse(*tag).bind(layout.dims());
      fields = fields_of(spelling);
      if (fields) fields->offset0 = layout.offset0();
    }
  }
  if (!fields) {
    spelling = layout.canonical();
    fields = fields_of(spelling);
  }
  if (!fields) {
    const auto blocks = inner_blocks(spelling);
    if (const auto count = blocks ? static_cast<int64_t>(blocks->size()) : 0; count > kMaxDims) {
      const std::string most = std::to_string(kMaxDims);
      refuse(ErrorCode::unsupported, "to_onednn", std::to_string(count) + " blocks; a descriptor has at most " + most,
             "inner_nblks", count, most);
    }
    throw Error(ErrorCode::unsupported,
                "to_onednn: the blocks of this layout are not dense and innermost, as oneDNN's inner blocks are",
                "digits", "", "blocks that fill the innermost elements");
  }
  fields->data_type = type;
  if (!padded_offsets.empty()) begin_at(*fields, spelling, padded_offsets);
  return *fields;
}

TensorDesc from_onednn(const BlockedDesc& fields) {
  const Dims blocks = checked_blocks(fields, "from_onednn");
  if (fields.ndims == 0) {
    refuse(ErrorCode::unsupported, "from_onednn", "a descriptor of rank 0 describes no memory", "ndims", 0,
           "1 to " + std::to_string(kMaxDims));
  }
  const DType dtype = data_type_of_number(fields.data_type);
  // Whole blocks before the tensor move it, and its padding is what is left of the padded dims. Where its first or last
  // index cuts a block, a part is taken of all the dim's blocks.
  BlockedDesc rest = fields;
  Dims dims, padded_dims;
  std::vector<int> cut;
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const int64_t start = fields.padded_offsets[at], padded = fields.padded_dims[at];
    if (start % blocks[d] == 0 && padded % blocks[d] == 0) {
      const auto before = checked_mul(start / blocks[d], fields.strides[at]);
      const auto offset0 = before ? checked_add(rest.offset0, *before) : std::nullopt;
      if (!offset0) {
        const std::span padded_offsets = std::span(fields.padded_offsets).first(static_cast<std::size_t>(fields.ndims));
        throw_offset_too_far(fields, "from_onednn", "padded_offsets", Dims(padded_offsets), blocks);
      }
      rest.offset0 = *offset0;
      dims.push_back(fields.dims[at]);
      padded_dims.push_back(padded - start);
      continue;
    }
    const int64_t whole = ceil_div(padded, blocks[d]) * blocks[d];
    cut.push_back(d);
    dims.push_back(whole);
    padded_dims.push_back(whole);
  }
  Layout part = whole_of(rest, dims, blocks, padded_dims);
  for (int d : cut) {
    const auto at = static_cast<std::size_t>(d);
    part = narrow(part, d, fields.padded_offsets[at], fields.dims[at]);
  }
  return {part, dtype};
}

int64_t size(const BlockedDesc& fields) {
  const Dims blocks = checked_blocks(fields, "size");
  if (fields.ndims == 0 || fields.offset0 != 0) return 0;
  const DType dtype = data_type_of_number(fields.data_type);
  int64_t elements = 0;
  int largest = 0;  // the dim that covers most
  for (int d = 0; d < fields.ndims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (fields.dims[at] == 0) return 0;
    const int64_t count = fields.padded_dims[at] / blocks[d];
    const auto covered = checked_mul(count, count == 1 ? 1 : fields.strides[at]);
    if (!covered) {
      refuse(ErrorCode::overflow, "size",
             "dim " + std::to_string(d) + " covers " + std::to_string(count) + " x " +
                 std::to_string(fields.strides[at]) + " elements, which overflow 64 bits",
             entry("strides", d), fields.strides[at], "a product of 63 bits");
    }
    if (*covered > elements) largest = d;
    elements = std::max(elements, *covered);
  }
  if (elements == 1 && fields.inner_nblks > 0) {
    const auto inside = checked_product(blocks);
    if (!inside) throw_blocks_too_large(fields, "size", -1);
    elements = *inside;
  }
  const auto bytes = bytes_for(dtype, elements);
  if (!bytes) {
    refuse(ErrorCode::overflow, "size",
           std::to_string(elements) + " elements of " + std::string(name(dtype)) + " overflow 64 bits of bytes; dim " +
               std::to_string(largest) + " (" + std::to_string(fields.dims[static_cast<std::size_t>(largest)]) +
               ") covers most",
           entry("strides", largest), fields.strides[static_cast<std::size_t>(largest)], "a size of 63 bits");
  }
  return *bytes;
}

int64_t size(const TensorDesc& desc) { return size(to_onednn(desc)); }

StrideVerdict accepts(const TensorDesc& desc) {
  StrideVerdict out;
  try {
    out = verdict_of(to_onednn(desc));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    out.accepted = false;
    out.reason = error.message();
  }
  out.injective = desc.layout.injective();
  return out;
}

}  // namespace relayout::onednn
