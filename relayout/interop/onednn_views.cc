// oneDNN's operations on descriptors but reshape, in numbers: see onednn_views.h.
#include "relayout/interop/onednn_views.h"

#include <algorithm>

#include "relayout/interop/onednn_request.h"

namespace relayout::onednn {
namespace {

void check_count(const Request& request, const std::string& list, std::size_t count) {
  const auto ndims = static_cast<std::size_t>(request.fields.ndims);
  if (count == ndims) return;
  const std::string entries = std::to_string(count) + (count == 1 ? " entry" : " entries");
  request.refuse(ErrorCode::invalid_argument, list + " has " + entries + " for " + std::to_string(ndims) + " dims",
                 list, static_cast<int64_t>(count), std::to_string(ndims));
}

/// Refuses a part that is not within the dim.
void check_within(const Request& request, int d, int64_t extent, int64_t offset) {
  const int64_t whole = request.fields.dims[at(d)];
  const std::pair<std::string, int64_t> both[] = {{entry("dims", d), extent}, {entry("offsets", d), offset}};
  for (const auto& [field, value] : both) {
    if (value != kRuntimeDim) continue;
    request.refuse(ErrorCode::unsupported, field + " is " + text(value), field, value, "a number");
  }
  for (const auto& [field, value] : both) {
    if (value < 0) request.refuse(ErrorCode::invalid_argument, field + " is " + text(value), field, value, "0 or more");
  }
  if (extent > whole || offset > whole - extent) {
    request.refuse(ErrorCode::invalid_argument,
                   "the part of dim " + std::to_string(d) + " has the extent " + text(extent) + " at the offset " +
                       text(offset) + ", and the dim has the extent " + text(whole),
                   entry("offsets", d), offset, text(whole));
  }
}

/// Refuses a part whose border oneDNN cannot lay there.
void check_borders(const Request& request, int d, int64_t extent, int64_t offset, int64_t block) {
  const std::string dim = "dim " + std::to_string(d), blocks = "the dim's block of " + text(block);
  const int64_t before = request.fields.padded_offsets[at(d)];
  if (before != 0) {
    request.refuse(ErrorCode::unsupported,
                   dim + " has the padded offset " + text(before) + ", and oneDNN takes no part of such a dim",
                   entry("padded_offsets", d), before, "0");
  }
  if (offset % block != 0) {
    request.refuse(ErrorCode::unsupported,
                   "the part of " + dim + " begins at " + text(offset) + ", which is no multiple of " + blocks,
                   entry("offsets", d), offset, "a multiple of " + text(block));
  }
  const int64_t whole = request.fields.dims[at(d)];
  if (offset + extent != whole && extent > block && extent % block != 0) {
    request.refuse(ErrorCode::unsupported,
                   "the part of " + dim + " has the extent " + text(extent) + ", which is no multiple of " + blocks +
                       ", not within one block, and ends before the extent " + text(whole),
                   entry("dims", d), extent, "a multiple of " + text(block));
  }
}

}  // namespace

void check_fields(const Request& request, ErrorCode runtime, ErrorCode rank_0) {
  const BlockedDesc& fields = request.fields;
  const auto check = [&](bool good, const std::string& field, int64_t value, const std::string& allowed,
                         ErrorCode code = ErrorCode::invalid_argument) {
    if (!good)
      request.refuse(code, field + " is " + text(value) + ", and it must be " + allowed, field, value, allowed);
  };
  check(fields.ndims >= 0 && fields.ndims <= kMaxDims, "ndims", fields.ndims, "1 to " + std::to_string(kMaxDims));
  check(fields.ndims > 0, "ndims", 0, "1 to " + std::to_string(kMaxDims), rank_0);
  const int nblks = fields.inner_nblks;
  check(nblks >= 0 && nblks <= kMaxDims, "inner_nblks", nblks, "0 to " + std::to_string(kMaxDims));
  for (int k = 0; k < nblks; ++k) {
    const int64_t dim = fields.inner_idxs[at(k)];
    check(fields.inner_blks[at(k)] >= 1, entry("inner_blks", k), fields.inner_blks[at(k)], "1 or more");
    check(dim >= 0 && dim < fields.ndims, entry("inner_idxs", k), dim, "below " + std::to_string(fields.ndims));
  }
  try {
    data_type_of_number(fields.data_type);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, request.operation + ": " + error.message(), error.field(), error.value(),
                error.limit());
  }
  for (int d = 0; d < fields.ndims; ++d) {
    const int64_t extent = fields.dims[at(d)];
    check(extent >= 0 || extent == kRuntimeDim, entry("dims", d), extent, "0 or more");
  }
  for (int d = 0; d < fields.ndims; ++d) {
    check(fields.dims[at(d)] != kRuntimeDim, entry("dims", d), kRuntimeDim, "a number", runtime);
    check(fields.strides[at(d)] != kRuntimeDim, entry("strides", d), kRuntimeDim, "a number", runtime);
  }
}

int64_t block_of(const Request& request, int d) {
  int64_t product = 1;
  for (int k = 0; k < request.fields.inner_nblks; ++k) {
    if (request.fields.inner_idxs[at(k)] != d) continue;
    const auto next = checked_mul(product, request.fields.inner_blks[at(k)]);
    if (!next) throw_blocks_too_large(request.fields, request.operation, d);
    product = *next;
  }
  return product;
}

BlockedDesc submemory(const BlockedDesc& parent, const Dims& dims, const Dims& offsets) {
  const Request request{"submemory", parent};
  check_fields(request, ErrorCode::unsupported, ErrorCode::unsupported);
  check_count(request, "dims", std::span(dims).size());
  check_count(request, "offsets", std::span(offsets).size());
  for (int d = 0; d < parent.ndims; ++d) check_within(request, d, dims[d], offsets[d]);
  BlockedDesc out = parent;
  for (int d = 0; d < parent.ndims; ++d) {
    const int64_t block = block_of(request, d);
    check_borders(request, d, dims[d], offsets[d], block);
    const bool right_border = offsets[d] + dims[d] == parent.dims[at(d)];
    out.dims[at(d)] = dims[d];
    out.padded_dims[at(d)] = right_border ? parent.padded_dims[at(d)] - offsets[d] : dims[d];
    const auto moved = checked_mul(offsets[d] / block, parent.strides[at(d)]);
    const auto offset0 = moved ? checked_add(out.offset0, *moved) : std::nullopt;
    if (!offset0) {
      Dims blocks;
      for (int k = 0; k < parent.ndims; ++k) blocks.push_back(block_of(request, k));
      throw_offset_too_far(parent, "submemory", "offsets", offsets, blocks);
    }
    out.offset0 = *offset0;
  }
  return out;
}

BlockedDesc permute_axes(const BlockedDesc& fields, std::span<const int> permutation) {
  const Request request{"permute_axes", fields};
  check_fields(request, ErrorCode::invalid_argument, ErrorCode::invalid_argument);
  check_count(request, "permutation", permutation.size());
  std::array<int, kMaxDims> from;
  from.fill(-1);
  BlockedDesc out = fields;
  for (int d = 0; d < fields.ndims; ++d) {
    const int to = permutation[at(d)];
    if (to < 0 || to >= fields.ndims || from[at(to)] >= 0) {
      const bool again = to >= 0 && to < fields.ndims;
      request.refuse(ErrorCode::invalid_argument,
                     "permutation[" + std::to_string(d) + "] is " + std::to_string(to) +
                         (again ? ", as permutation[" + std::to_string(from[at(to)]) + "] is"
                                : ", and there are " + std::to_string(fields.ndims) + " dims"),
                     entry("permutation", d), to, "each of 0 to " + std::to_string(fields.ndims - 1) + " once");
    }
    from[at(to)] = d;
    out.dims[at(to)] = fields.dims[at(d)];
    out.padded_dims[at(to)] = fields.padded_dims[at(d)];
    out.padded_offsets[at(to)] = fields.padded_offsets[at(d)];
    out.strides[at(to)] = fields.strides[at(d)];
  }
  for (int k = 0; k < fields.inner_nblks; ++k)
    out.inner_idxs[at(k)] = permutation[static_cast<std::size_t>(fields.inner_idxs[at(k)])];
  return out;
}

std::string difference(const BlockedDesc& a, const BlockedDesc& b) {
  if (a.ndims == 0 && b.ndims == 0) return "";
  const auto differ = [](const std::string& field, int64_t x, int64_t y) {
    return field + " is " + text(x) + " and " + text(y);
  };
  const auto first = [&](std::string_view list, const auto& x, const auto& y, int count) -> std::string {
    for (int k = 0; k < std::min(count, kMaxDims); ++k) {
      if (x[at(k)] != y[at(k)]) return differ(entry(list, k), x[at(k)], y[at(k)]);
    }
    return "";
  };
  if (a.ndims != b.ndims) return differ("ndims", a.ndims, b.ndims);
  if (a.data_type != b.data_type) return differ("data_type", a.data_type, b.data_type);
  if (a.offset0 != b.offset0) return differ("offset0", a.offset0, b.offset0);
  if (a.inner_nblks != b.inner_nblks) return differ("inner_nblks", a.inner_nblks, b.inner_nblks);
  for (const std::string& found :
       {first("dims", a.dims, b.dims, a.ndims), first("padded_dims", a.padded_dims, b.padded_dims, a.ndims),
        first("padded_offsets", a.padded_offsets, b.padded_offsets, a.ndims),
        first("inner_blks", a.inner_blks, b.inner_blks, a.inner_nblks),
        first("inner_idxs", a.inner_idxs, b.inner_idxs, a.inner_nblks)}) {
    if (!found.empty()) return found;
  }
  for (int d = 0; d < std::min(a.ndims, kMaxDims); ++d) {
    const bool counts = a.dims[at(d)] != 1 || a.padded_dims[at(d)] != 1;
    if (counts && a.strides[at(d)] != b.strides[at(d)])
      return differ(entry("strides", d), a.strides[at(d)], b.strides[at(d)]);
  }
  return "";
}

bool equal(const BlockedDesc& a, const BlockedDesc& b) { return difference(a, b).empty(); }

}  // namespace relayout::onednn
