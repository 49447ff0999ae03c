// Random memory descriptors of the installed oneDNN, and random arguments for its functions on them.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <random>
#include <vector>

#include "relayout/interop/onednn.h"
#include "tag_names.h"

namespace relayout {

/// The library's struct, field by field.
onednn::BlockedDesc fields_of(const dnnl_memory_desc_t& md);

/// Random descriptors of the library, and what is asked of them.
class RandomDescriptors {
 public:
  explicit RandomDescriptors(int64_t seed);

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool one_in(int64_t count) { return pick(1, count) == 1; }

  /// One that a constructor of the library makes, after up to two views by the library; some with fields that only
  /// hand-written code sets, such as padded offsets, or that make it invalid.
  dnnl_memory_desc_t descriptor();
  /// One that is equal to this one, or differs in one field.
  dnnl_memory_desc_t neighbour(const dnnl_memory_desc_t& md);

  /// Extents of a part; some make it no part. offsets() belong to the last one.
  Dims part(const dnnl_memory_desc_t& md);
  const Dims& offsets() const { return offsets_; }
  /// Numbers of dims; some are no permutation.
  std::vector<int> permutation(int ndims);
  /// Dims split, joined, put in and dropped, and sometimes others that no reshape gives.
  Dims other_dims(const dnnl_memory_desc_t& md);

 private:
  int64_t extent();
  dnnl_memory_desc_t constructed();
  void set_a_field(dnnl_memory_desc_t& md);
  void drop_1(Dims& dims);

  std::mt19937_64 engine_;
  std::vector<TagName> tags_;
  Dims offsets_;
};

/// Whether no field contradicts another one, as some of the library's own results do.
bool consistent(const dnnl_memory_desc_t& md);

}  // namespace relayout
