// Random memory descriptors of the installed oneDNN: see random_descriptors.h.
#include "random_descriptors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace relayout {

using onednn::BlockedDesc;

BlockedDesc fields_of(const dnnl_memory_desc_t& md) {
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  BlockedDesc out{.ndims = md.ndims,
                  .offset0 = md.offset0,
                  .inner_nblks = blocking.inner_nblks,
                  .data_type = static_cast<int>(md.data_type)};
  std::copy_n(md.dims, md.ndims, out.dims.begin());
  std::copy_n(md.padded_dims, md.ndims, out.padded_dims.begin());
  std::copy_n(md.padded_offsets, md.ndims, out.padded_offsets.begin());
  std::copy_n(blocking.strides, md.ndims, out.strides.begin());
  std::copy_n(blocking.inner_blks, blocking.inner_nblks, out.inner_blks.begin());
  std::copy_n(blocking.inner_idxs, blocking.inner_nblks, out.inner_idxs.begin());
  return out;
}

bool consistent(const dnnl_memory_desc_t& md) {
  try {
    onednn::size(fields_of(md));
    return true;
  } catch (const Error&) {
    return false;
  }
}

RandomDescriptors::RandomDescriptors(int64_t seed) : engine_(static_cast<uint64_t>(seed)) {
  for (const TagName& tag : onednn_tag_names()) {
    if (tag.ndims >= 1 && tag.ndims <= 6 && tag.name == tag.canonical) tags_.push_back(tag);
  }
}

int64_t RandomDescriptors::extent() {
  if (one_in(40)) return 0;
  const int64_t kind = pick(0, 3);
  return kind == 0 ? 1 : kind == 1 ? 8 * pick(1, 5) : pick(1, 24);
}

dnnl_memory_desc_t RandomDescriptors::constructed() {
  dnnl_memory_desc_t md{};
  const auto type = static_cast<dnnl_data_type_t>(pick(1, 6));
  dnnl_dims_t dims{}, strides{};
  if (one_in(2)) {
    const TagName& tag = tags_[static_cast<std::size_t>(pick(0, static_cast<int64_t>(tags_.size()) - 1))];
    for (int d = 0; d < tag.ndims; ++d) dims[d] = extent();
    EXPECT_EQ(dnnl_memory_desc_init_by_tag(&md, tag.ndims, dims, type, tag.tag), dnnl_success);
    return md;
  }
  // Dense strides in some order, mostly the row-major one, with gaps, broadcasts and free strides of dims of 1.
  const auto ndims = static_cast<int>(pick(1, 6));
  std::vector<int> order(static_cast<std::size_t>(ndims));
  std::iota(order.rbegin(), order.rend(), 0);
  if (one_in(3)) std::ranges::shuffle(order, engine_);
  int64_t stride = one_in(6) ? pick(2, 4) : 1;
  for (int d : order) {
    dims[d] = extent();
    strides[d] = stride;
    if (one_in(12)) strides[d] = dims[d] == 1 ? pick(0, 100) : 0;
    if (strides[d] > 0) stride = std::max<int64_t>(stride * dims[d], 1) + (one_in(8) ? pick(1, 9) : 0);
  }
  if (dnnl_memory_desc_init_by_strides(&md, ndims, dims, type, strides) != dnnl_success) return constructed();
  return md;
}

dnnl_memory_desc_t RandomDescriptors::descriptor() {
  dnnl_memory_desc_t md = constructed();
  if (one_in(8)) set_a_field(md);
  for (int64_t views = pick(0, 2); views > 0; --views) {
    const dnnl_memory_desc_t before = md;
    switch (pick(0, 2)) {
      case 0: dnnl_memory_desc_init_submemory(&md, &before, part(before).data(), offsets_.data()); break;
      case 1: dnnl_memory_desc_permute_axes(&md, &before, permutation(before.ndims).data()); break;
      default: {
        const Dims to = other_dims(before);
        if (dnnl_memory_desc_reshape(&md, &before, to.size(), to.data()) == dnnl_success && !consistent(md))
          md = before;
      }
    }
  }
  // f64 of version 3: the one number of a later version that a variable of this enumeration may hold.
  if (one_in(60)) md.data_type = static_cast<dnnl_data_type_t>(7);
  if (one_in(80)) (one_in(2) ? md.dims : md.format_desc.blocking.strides)[0] = DNNL_RUNTIME_DIM_VAL;
  if (one_in(200)) md.data_type = dnnl_data_type_undef;
  if (one_in(200)) md.dims[0] = -pick(1, 9);
  if (one_in(200)) md = dnnl_memory_desc_t{};
  return md;
}

Dims RandomDescriptors::part(const dnnl_memory_desc_t& md) {
  const BlockedDesc fields = fields_of(md);
  Dims dims;
  offsets_ = Dims(fields.ndims, 0);
  for (int d = 0; d < fields.ndims; ++d) {
    int64_t block = 1;
    for (int k = 0; k < fields.inner_nblks; ++k) {
      if (fields.inner_idxs[static_cast<std::size_t>(k)] == d) block *= fields.inner_blks[static_cast<std::size_t>(k)];
    }
    const int64_t whole = std::max<int64_t>(md.dims[d], 0);
    if (one_in(2)) offsets_[d] = one_in(12) ? pick(0, whole) : pick(0, std::max<int64_t>(whole - 1, 0) / block) * block;
    const int64_t rest = whole - offsets_[d];
    const int64_t kind = pick(0, 11);
    dims.push_back(kind < 6    ? rest
                   : kind < 9  ? rest / block * block
                   : kind < 11 ? std::min(rest, block / 2)
                               : rest / 2);
    if (one_in(100)) dims[d] += rest + 1;
    if (one_in(300)) (one_in(2) ? dims : offsets_)[d] = one_in(2) ? DNNL_RUNTIME_DIM_VAL : -1;
  }
  return dims;
}

std::vector<int> RandomDescriptors::permutation(int ndims) {
  std::vector<int> out(static_cast<std::size_t>(ndims));
  std::iota(out.begin(), out.end(), 0);
  std::ranges::shuffle(out, engine_);
  if (ndims > 0 && one_in(6)) out[static_cast<std::size_t>(pick(0, ndims - 1))] = static_cast<int>(pick(-1, ndims));
  return out;
}

Dims RandomDescriptors::other_dims(const dnnl_memory_desc_t& md) {
  Dims dims(std::span<const int64_t>(md.dims, static_cast<std::size_t>(md.ndims)));
  for (int64_t changes = pick(0, 4); changes > 0; --changes) {
    const auto last = static_cast<int64_t>(dims.size()) - 1;
    const int d = last < 0 ? 0 : static_cast<int>(pick(0, last));
    switch (pick(0, 3)) {
      case 0:
        if (dims.size() < kMaxDims) dims.insert(static_cast<int>(pick(0, dims.size())), 1);
        break;
      case 1: drop_1(dims); break;
      case 2:
        if (d < last && dims[d] >= 0 && dims[d + 1] >= 0) {
          dims[d] *= dims[d + 1];
          dims.erase(d + 1);
        }
        break;
      default: {
        if (last < 0 || dims.size() == kMaxDims || dims[d] < 2) break;
        int64_t factor = pick(2, dims[d]);
        while (dims[d] % factor != 0) --factor;
        dims[d] /= factor;
        dims.insert(d + 1, factor);
      }
    }
  }
  if (dims.size() > 1 && one_in(12)) std::swap(dims[0], dims.back());
  if (!dims.empty() && dims[0] > 0 && one_in(30)) dims[0] += pick(-1, 1);
  if (!dims.empty() && one_in(200)) dims[0] = DNNL_RUNTIME_DIM_VAL;
  return dims;
}

dnnl_memory_desc_t RandomDescriptors::neighbour(const dnnl_memory_desc_t& md) {
  dnnl_memory_desc_t out = md;
  dnnl_blocking_desc_t& blocking = out.format_desc.blocking;
  const auto d = static_cast<std::size_t>(pick(0, std::max(md.ndims, 1) - 1));
  switch (pick(0, 12)) {
    case 0: break;
    case 1: out.offset0 += pick(0, 1); break;
    case 2: out.dims[d] += pick(0, 1); break;
    case 3: out.padded_dims[d] += pick(0, 1); break;
    case 4: out.padded_offsets[d] += pick(0, 1); break;
    case 5: out.data_type = static_cast<dnnl_data_type_t>(pick(1, 6)); break;
    case 6: blocking.inner_blks[0] += pick(0, 1); break;  // counts only where there is a block
    case 7: blocking.inner_idxs[0] += pick(0, 1); break;
    case 8: out.dims[kMaxDims - 1] = 7; break;  // mostly behind the last dim
    case 9: blocking.inner_nblks = std::max(blocking.inner_nblks - 1, 0); break;
    default: blocking.strides[d] += pick(1, 5);
  }
  return out;
}

/// What no constructor of the library sets, and descriptors may have.
void RandomDescriptors::set_a_field(dnnl_memory_desc_t& md) {
  if (one_in(3)) md.offset0 = pick(1, 100);
  const auto d = static_cast<std::size_t>(pick(0, md.ndims - 1));
  int64_t block = 1;
  const dnnl_blocking_desc_t& blocking = md.format_desc.blocking;
  for (int k = 0; k < blocking.inner_nblks; ++k) {
    if (blocking.inner_idxs[k] == static_cast<int64_t>(d)) block *= blocking.inner_blks[k];
  }
  const int64_t more = block * pick(1, 2);
  md.padded_dims[d] += more;
  if (one_in(2)) md.padded_offsets[d] = one_in(2) ? more : pick(1, more);
}

void RandomDescriptors::drop_1(Dims& dims) {
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1 || one_in(3)) continue;
    dims.erase(d);
    return;
  }
}

}  // namespace relayout
