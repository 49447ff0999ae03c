// Views of tensors that are put together: cut, joined and permuted box by box.
#include "relayout/checkpoint/assembly.h"

#include <algorithm>

#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/core/view.h"

namespace relayout::checkpoint {
namespace {

[[noreturn]] void refuse_parts(const std::string& why) { throw Error(ErrorCode::invalid_argument, why); }

Dims without(const Dims& dims, int dim) {
  Dims out;
  for (int d = 0; d < dims.size(); ++d)
    if (d != dim) out.push_back(dims[d]);
  return out;
}

Dims with(const Dims& dims, int dim, int64_t value) {
  Dims out;
  for (int d = 0; d <= dims.size(); ++d) {
    if (d == dim) out.push_back(value);
    if (d < dims.size()) out.push_back(dims[d]);
  }
  return out;
}

/// The extents of Permutation::view, with what -1 stands for.
Dims extents_of(const Permutation& permutation, int64_t extent) {
  Dims out = permutation.view;
  int64_t product = 1;
  int open = -1;
  for (int i = 0; i < out.size(); ++i) {
    if (out[i] == -1 && open < 0) {
      open = i;
    } else {
      if (out[i] < 1) refuse_parts("permute: view has extents from 1 on, and -1 once");
      product *= std::min(out[i], extent + 1);
      if (product > extent) break;
    }
  }
  if (open >= 0 && product > 0 && product <= extent && extent % product == 0) out[open] = extent / product;
  if (open < 0 ? product != extent : out[open] == -1)
    refuse_parts("permute: dim " + std::to_string(permutation.dim) + " of extent " + std::to_string(extent) +
                 " is no array of [" + join(permutation.view) + "]");
  return out;
}

/// One piece that is all of the tensor, with the axes of a dim in another order.
Layout with_axes(const Layout& layout, int dim, const Dims& extents, const std::vector<int>& order) {
  const int axes = extents.size();
  Layout out = split(layout, dim, extents);
  std::vector<int> places(static_cast<std::size_t>(out.ndims()));
  for (int d = 0; d < out.ndims(); ++d) {
    const bool inside = d >= dim && d < dim + axes;
    places[static_cast<std::size_t>(d)] = inside ? dim + order[static_cast<std::size_t>(d - dim)] : d;
  }
  out = permute(out, places);
  return axes > 1 ? merge(out, dim, dim + axes - 1) : out;
}

}  // namespace

int checked_dim(int dim, int rank) {
  const int out = dim < 0 ? dim + rank : dim;
  if (out < 0 || out >= rank) refuse_parts("there is no dim " + std::to_string(dim) + " among " + std::to_string(rank));
  return out;
}

Dims origin(int rank) {
  Dims out;
  for (int d = 0; d < rank; ++d) out.push_back(0);
  return out;
}

Assembly whole(std::size_t source, const Layout& layout) {
  Assembly out{.dims = layout.dims()};
  out.pieces.push_back({source, layout, origin(layout.ndims())});
  return out;
}

Assembly narrowed(const Assembly& all, int dim, int64_t first, int64_t length) {
  Assembly out{.dims = all.dims};
  out.dims[dim] = length;
  for (const Piece& piece : all.pieces) {
    const int64_t begin = std::max(piece.begin[dim], first);
    const int64_t end = std::min(piece.begin[dim] + piece.src.dim(dim), first + length);
    if (begin > end || (begin == end && length > 0)) continue;
    Piece part = piece;
    if (end - begin != piece.src.dim(dim)) part.src = narrow(piece.src, dim, begin - piece.begin[dim], end - begin);
    part.begin[dim] = begin - first;
    out.pieces.push_back(std::move(part));
  }
  return out;
}

Assembly squeezed(const Assembly& all, int dim) {
  Assembly out{.dims = without(all.dims, dim)};
  for (const Piece& piece : all.pieces)
    out.pieces.push_back({piece.source, squeeze(piece.src, dim), without(piece.begin, dim)});
  return out;
}

Assembly unsqueezed(const Assembly& all, int dim) {
  Assembly out{.dims = with(all.dims, dim, 1)};
  for (const Piece& piece : all.pieces)
    out.pieces.push_back({piece.source, unsqueeze(piece.src, dim), with(piece.begin, dim, 0)});
  return out;
}

Assembly joined(std::span<const Assembly> parts, int dim) {
  Assembly out{.dims = parts[0].dims};
  out.dims[dim] = 0;
  for (const Assembly& part : parts) {
    if (part.dims.size() != out.dims.size() || without(part.dims, dim) != without(out.dims, dim))
      refuse_parts("parts of " + join(parts[0].dims, "x") + " and " + join(part.dims, "x") +
                   " cannot follow each other along dim " + std::to_string(dim));
    for (Piece piece : part.pieces) {
      piece.begin[dim] += out.dims[dim];
      out.pieces.push_back(std::move(piece));
    }
    out.dims[dim] += part.dims[dim];
  }
  return out;
}

std::vector<Assembly> unstacked(const Assembly& all, int dim, int join, int parts) {
  const int stacks = checked_dim(dim, all.dims.size()), cut = checked_dim(join, all.dims.size());
  if (stacks == cut || all.dims[cut] % parts != 0)
    refuse_parts("dim " + std::to_string(cut) + " of extent " + std::to_string(all.dims[cut]) + " is not " +
                 std::to_string(parts) + " equal parts beside dim " + std::to_string(stacks));
  const int64_t length = all.dims[cut] / parts;
  std::vector<Assembly> out;
  for (int p = 0; p < parts; ++p) {
    const Assembly part = narrowed(all, cut, p * length, length);
    for (int64_t k = 0; k < part.dims[stacks]; ++k) out.push_back(squeezed(narrowed(part, stacks, k, 1), stacks));
  }
  return out;
}

Assembly permuted(const Assembly& all, const Permutation& permutation) {
  const int dim = checked_dim(permutation.dim, all.dims.size());
  const int64_t extent = all.dims[dim];
  if (!permutation.blocks.empty()) {
    const auto count = static_cast<int64_t>(permutation.blocks.size());
    const int64_t length = extent / count;
    if (extent % count != 0)
      refuse_parts("permute: dim " + std::to_string(dim) + " of extent " + std::to_string(extent) + " is not " +
                   std::to_string(count) + " equal blocks");
    std::vector<Assembly> parts;
    for (const int64_t block : permutation.blocks) parts.push_back(narrowed(all, dim, block * length, length));
    return joined(parts, dim);
  }
  const Dims extents = extents_of(permutation, extent);
  if (all.pieces.size() != 1) refuse_parts("permute: tensors that were put together cannot be seen as other axes");
  Assembly out = all;
  out.pieces[0].src = with_axes(all.pieces[0].src, dim, extents, permutation.order);
  return out;
}

}  // namespace relayout::checkpoint
