// PyTorch's views, by its formulas for strides, which also say those of dims of extent 0 and 1.
#include <algorithm>

#include "relayout/core/decide.h"
#include "relayout/interop/pytorch.h"
#include "relayout/interop/pytorch_parts.h"

namespace relayout::pytorch {
namespace {

[[noreturn]] void refuse_view(const std::string& why, const std::string& field, int64_t value,
                              const std::string& allowed) {
  throw Error(ErrorCode::invalid_argument, "pytorch: " + why, field, std::to_string(value), allowed);
}

std::string of_dim(int d, const TensorMeta& meta) {
  return " of dim " + std::to_string(d) + ", whose size is " + std::to_string(meta.sizes[d]);
}

/// A dim's number from the front. A scalar has a dim 0 here, as almost everywhere in PyTorch.
int wrapped(const char* operation, int dim, int ndims) {
  const int count = std::max(ndims, 1);
  if (dim >= -count && dim < count) return dim < 0 ? dim + count : dim;
  refuse_view(
      std::string(operation) + ": dim " + std::to_string(dim) + " of a tensor of " + std::to_string(ndims) + " dims",
      "dim", dim, std::to_string(-count) + " to " + std::to_string(count - 1));
}

/// The storage offset `steps` strides of dim d further on.
int64_t moved(const char* operation, const TensorMeta& meta, int d, int64_t steps) {
  const auto out = checked_add(meta.storage_offset, product(operation, meta.strides[d], steps, d));
  if (out) return *out;
  throw Error(ErrorCode::overflow,
              std::string("pytorch: ") + operation + ": the storage offset " + std::to_string(meta.storage_offset) +
                  " and " + std::to_string(steps) + " steps of the stride " + std::to_string(meta.strides[d]) +
                  " of dim " + std::to_string(d) + " overflow 64 bits",
              "storage_offset", std::to_string(meta.storage_offset),
              std::to_string(std::numeric_limits<int64_t>::max()));
}

/// `sizes` with a -1 replaced, so that they hold as many elements as the tensor.
Dims inferred_sizes(const char* operation, const TensorMeta& meta, Dims sizes) {
  const int64_t count = elements(meta);
  int unknown = -1;
  Dims known;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0) {
      known.push_back(sizes[d]);
    } else if (sizes[d] == -1 && unknown < 0) {
      unknown = d;
    } else {
      refuse_view(std::string(operation) + ": size " + std::to_string(d) + " is " + std::to_string(sizes[d]),
                  "sizes[" + std::to_string(d) + "]", sizes[d], "0 or more, and one -1");
    }
  }
  const auto rest = checked_product(known);
  const std::string text = std::string(operation) + ": sizes " + join(sizes);
  if (unknown >= 0 && rest == 0)
    refuse_view(text + " hold no elements, whatever the -1 stands for", "sizes[" + std::to_string(unknown) + "]", -1,
                "a size");
  if (!rest || (unknown < 0 ? *rest != count : count % *rest != 0))
    refuse_view(text + " do not hold the tensor's " + std::to_string(count) + " elements", "sizes", count,
                std::to_string(count) + " elements");
  if (unknown >= 0) sizes[unknown] = count / *rest;
  return sizes;
}

/// The strides of the tensor under other sizes, or nothing where PyTorch copies. Neighbouring dims that continue each
/// other in memory make a run, in which dims of size 1 may have any stride, and each run must hold the elements of some
/// new dims. A new dim of size 1 has the stride that it would have if it were longer.
std::optional<Dims> strides_of_view(const TensorMeta& meta, const Dims& sizes) {
  if (meta.sizes.empty()) return Dims(sizes.size(), 1);
  if (elements(meta) == 0) return sizes == meta.sizes ? meta.strides : row_major(sizes);
  Dims strides(sizes.size(), 0);
  int next = sizes.size() - 1;  // the new dim to be found
  for (int d = meta.sizes.size() - 1; d >= 0; --d) {
    const int64_t step = meta.strides[d];
    int64_t run = meta.sizes[d], found = 1;
    while (d > 0 && (meta.sizes[d - 1] == 1 || checked_mul(run, step) == meta.strides[d - 1])) run *= meta.sizes[--d];
    while (next >= 0 && (found < run || sizes[next] == 1)) {
      strides[next] = product("view", found, step, next);
      found *= sizes[next--];
    }
    if (found != run) return std::nullopt;
  }
  return next < 0 ? std::optional(strides) : std::nullopt;
}

}  // namespace

TensorMeta view(const TensorMeta& meta, const Dims& sizes) {
  check(meta);
  const Dims wanted = inferred_sizes("view", meta, sizes);
  const auto strides = strides_of_view(meta, wanted);
  if (strides) return {wanted, *strides, meta.storage_offset, meta.dtype};
  const std::string axes = viewable(from_pytorch(meta).layout, wanted).axes;
  throw Error(ErrorCode::needs_copy,
              "pytorch: view: sizes " + join(meta.sizes) + " with strides " + join(meta.strides) + " do not become " +
                  join(wanted) + " without a copy: axes " + axes + " stand in the way; reshape() copies",
              "sizes", axes, "a view");
}

Result reshape(const TensorMeta& meta, const Dims& sizes) {
  check(meta);
  const Dims wanted = inferred_sizes("reshape", meta, sizes);
  if (const auto strides = strides_of_view(meta, wanted)) {
    return {{wanted, *strides, meta.storage_offset, meta.dtype}, false};
  }
  const TensorMeta copy{meta.sizes, row_major(meta.sizes), 0, meta.dtype};
  return {{wanted, strides_of_view(copy, wanted).value(), 0, meta.dtype}, true};
}

Result flatten(const TensorMeta& meta, int start_dim, int end_dim) {
  check(meta);
  const int ndims = meta.sizes.size();
  const int first = wrapped("flatten", start_dim, ndims), last = wrapped("flatten", end_dim, ndims);
  if (first > last)
    refuse_view("flatten: start_dim " + std::to_string(first) + " comes after end_dim " + std::to_string(last),
                "start_dim", start_dim, std::to_string(last));
  if (ndims == 0) return reshape(meta, {1});
  if (first == last) return {meta, false};
  Dims sizes = meta.sizes;
  for (int d = last; d > first; --d) {
    sizes[first] = product("flatten", sizes[first], meta.sizes[d], d);
    sizes.erase(d);
  }
  return reshape(meta, sizes);
}

TensorMeta permute(const TensorMeta& meta, std::span<const int> order) {
  check(meta);
  const int ndims = meta.sizes.size();
  if (static_cast<int>(order.size()) != ndims)
    refuse_view(
        "permute: the order names " + std::to_string(order.size()) + " dims of a tensor of " + std::to_string(ndims),
        "order", static_cast<int64_t>(order.size()), std::to_string(ndims));
  TensorMeta out{{}, {}, meta.storage_offset, meta.dtype};
  std::array<bool, kMaxDims> seen{};
  for (int dim : order) {
    const int d = wrapped("permute", dim, ndims);
    if (std::exchange(seen[static_cast<std::size_t>(d)], true))
      refuse_view("permute: dim " + std::to_string(d) + " stands twice in the order", "order", dim, "each dim once");
    out.sizes.push_back(meta.sizes[d]);
    out.strides.push_back(meta.strides[d]);
  }
  return out;
}

TensorMeta transpose(const TensorMeta& meta, int dim0, int dim1) {
  check(meta);
  const int ndims = meta.sizes.size();
  const int a = wrapped("transpose", dim0, ndims), b = wrapped("transpose", dim1, ndims);
  TensorMeta out = meta;
  if (a == b) return out;
  std::swap(out.sizes[a], out.sizes[b]);
  std::swap(out.strides[a], out.strides[b]);
  return out;
}

TensorMeta narrow(const TensorMeta& meta, int dim, int64_t start, int64_t length) {
  check(meta);
  if (meta.sizes.empty()) refuse_view("narrow: a scalar has no dim to narrow", "dim", dim, "none");
  const int d = wrapped("narrow", dim, meta.sizes.size());
  const int64_t size = meta.sizes[d];
  const std::string where = std::to_string(length) + " from " + std::to_string(start) + of_dim(d, meta);
  if (length < 0) refuse_view("narrow: a length of " + where, "length", length, "0 or more");
  if (start < -size || start > size)
    refuse_view("narrow: " + where, "start", start, std::to_string(-size) + " to " + std::to_string(size));
  if (start < 0) start += size;
  if (length > size - start) refuse_view("narrow: " + where, "length", length, std::to_string(size - start));
  TensorMeta out = meta;
  out.sizes[d] = length;
  out.storage_offset = moved("narrow", meta, d, start);
  return out;
}

TensorMeta select(const TensorMeta& meta, int dim, int64_t index) {
  check(meta);
  if (meta.sizes.empty()) refuse_view("select: a scalar has no dim to select from", "dim", dim, "none");
  const int d = wrapped("select", dim, meta.sizes.size());
  const int64_t size = meta.sizes[d];
  if (index < -size || index >= size)
    refuse_view("select: index " + std::to_string(index) + of_dim(d, meta), "index", index,
                std::to_string(-size) + " to " + std::to_string(size - 1));
  TensorMeta out = meta;
  out.storage_offset = moved("select", meta, d, index < 0 ? index + size : index);
  out.sizes.erase(d);
  out.strides.erase(d);
  return out;
}

TensorMeta expand(const TensorMeta& meta, const Dims& sizes) {
  check(meta);
  const int added = sizes.size() - meta.sizes.size();
  if (added < 0)
    refuse_view("expand: " + std::to_string(sizes.size()) + " sizes for a tensor of " +
                    std::to_string(meta.sizes.size()) + " dims",
                "sizes", sizes.size(), std::to_string(meta.sizes.size()) + " or more");
  TensorMeta out{sizes, Dims(sizes.size(), 0), meta.storage_offset, meta.dtype};
  for (int d = sizes.size() - 1; d >= 0; --d) {
    const bool is_new = d < added;
    const int64_t size = is_new ? 1 : meta.sizes[d - added];
    if (sizes[d] < (is_new ? 0 : -1))
      refuse_view("expand: size " + std::to_string(d) + " is " + std::to_string(sizes[d]), "sizes", sizes[d],
                  is_new ? "0 or more for a new dim" : "0 or more, or -1");
    if (sizes[d] == -1) out.sizes[d] = size;
    if (out.sizes[d] != size) {
      if (size != 1)
        refuse_view("expand: size " + std::to_string(sizes[d]) + of_dim(d - added, meta), "sizes", sizes[d],
                    std::to_string(size));
    } else if (!is_new) {
      out.strides[d] = meta.strides[d - added];
    } else if (!meta.sizes.empty()) {
      // A new dim of size 1, which repeats nothing, has the stride with which it would continue the dim inside it.
      out.strides[d] = product("expand", out.strides[d + 1], out.sizes[d + 1], d + 1);
    }
  }
  return out;
}

TensorMeta squeeze(const TensorMeta& meta) {
  TensorMeta out = meta;
  for (int d = meta.sizes.size() - 1; d >= 0; --d) out = squeeze(out, d);
  check(out);
  return out;
}

TensorMeta squeeze(const TensorMeta& meta, int dim) {
  check(meta);
  const int d = wrapped("squeeze", dim, meta.sizes.size());
  TensorMeta out = meta;
  if (meta.sizes.empty() || meta.sizes[d] != 1) return out;
  out.sizes.erase(d);
  out.strides.erase(d);
  return out;
}

TensorMeta unsqueeze(const TensorMeta& meta, int dim) {
  check(meta);
  const int ndims = meta.sizes.size(), d = wrapped("unsqueeze", dim, ndims + 1);
  TensorMeta out = meta;
  out.sizes.insert(d, 1);
  out.strides.insert(d, d == ndims ? 1 : product("unsqueeze", meta.sizes[d], meta.strides[d], d));
  return out;
}

TensorMeta unfold(const TensorMeta& meta, int dim, int64_t size, int64_t step) {
  check(meta);
  const bool scalar = meta.sizes.empty();
  const int d = wrapped("unfold", dim, meta.sizes.size());
  const int64_t whole = scalar ? 1 : meta.sizes[d];
  if (size < 0 || size > whole)
    refuse_view("unfold: windows of " + std::to_string(size) + " of dim " + std::to_string(d) + ", whose size is " +
                    std::to_string(whole),
                "size", size, "0 to " + std::to_string(whole));
  if (step < 1) refuse_view("unfold: a step of " + std::to_string(step), "step", step, "1 or more");
  TensorMeta out = meta;
  out.sizes.push_back(size);
  out.strides.push_back(scalar ? 1 : meta.strides[d]);
  if (scalar) return out;
  out.sizes[d] = (whole - size) / step + 1;
  out.strides[d] = product("unfold", meta.strides[d], step, d);
  return out;
}

TensorMeta diagonal(const TensorMeta& meta, int64_t offset, int dim1, int dim2) {
  check(meta);
  const int ndims = meta.sizes.size();
  const int rows = wrapped("diagonal", dim1, ndims), columns = wrapped("diagonal", dim2, ndims);
  if (rows == columns)
    refuse_view("diagonal: dim " + std::to_string(rows) + " is given twice", "dim2", dim2, "two dims");
  const int64_t height = meta.sizes[rows], width = meta.sizes[columns];
  const int64_t length =
      std::max<int64_t>(offset >= 0 ? std::min(height, width - offset) : std::min(height + offset, width), 0);
  TensorMeta out = meta;
  if (length > 0)
    out.storage_offset =
        offset >= 0 ? moved("diagonal", meta, columns, offset) : moved("diagonal", meta, rows, -offset);
  const auto stride = checked_add(meta.strides[rows], meta.strides[columns]);
  const int longer = meta.strides[columns] > meta.strides[rows] ? columns : rows;
  if (!stride)
    throw Error(ErrorCode::overflow,
                "pytorch: diagonal: the strides of dims " + std::to_string(rows) + " and " + std::to_string(columns) +
                    ", " + std::to_string(meta.strides[rows]) + " and " + std::to_string(meta.strides[columns]) +
                    ", add up to more than 64 bits hold",
                "strides[" + std::to_string(longer) + "]", std::to_string(meta.strides[longer]),
                std::to_string(std::numeric_limits<int64_t>::max()));
  for (int d : {std::max(rows, columns), std::min(rows, columns)}) {
    out.sizes.erase(d);
    out.strides.erase(d);
  }
  out.sizes.push_back(length);
  out.strides.push_back(*stride);
  return out;
}

TensorMeta as_strided(const TensorMeta& meta, const Dims& sizes, const Dims& strides,
                      std::optional<int64_t> storage_offset, std::optional<int64_t> storage_elements) {
  check(meta);
  const TensorMeta out{sizes, strides, storage_offset.value_or(meta.storage_offset), meta.dtype};
  const Layout layout = from_pytorch(out).layout;
  if (storage_elements && !layout.empty() && layout.span() > *storage_elements)
    refuse_view("as_strided: sizes " + join(sizes) + " with strides " + join(strides) + " from " +
                    std::to_string(out.storage_offset) + " take " + std::to_string(layout.span()) +
                    " elements, and the storage has " + std::to_string(*storage_elements),
                "storage_elements", layout.span(), std::to_string(*storage_elements));
  return out;
}

}  // namespace relayout::pytorch
