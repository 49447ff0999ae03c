// interop/onednn_views.h against the library: the status, every field and the size of random submemories, permuted axes
// and reshapes, and equality. Descriptors come from tags and strides, from earlier views, and from fields that only
// hand-written code sets, such as padded offsets.
//
// Three differences are on purpose, and counted: types that later versions have, which 2.6.3 refuses; reshapes that it
// accepts with a result of other elements, because a dim that does not stay has blocks or a padded offset; and parts of
// a descriptor without dims, which it refuses unless a reshape made the descriptor.
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include <iostream>
#include <map>

#include "random_descriptors.h"
#include "relayout/interop/onednn_views.h"
#include "tests/support/slow_tests.h"

namespace relayout {
namespace {

using onednn::BlockedDesc;

constexpr int kRounds = 20000;

std::string text(const BlockedDesc& fields) {
  const auto list = [](const auto& values, int count) {
    return join(std::span<const int64_t>(values).first(static_cast<std::size_t>(count)));
  };
  return "dims " + list(fields.dims, fields.ndims) + " padded " + list(fields.padded_dims, fields.ndims) + " from " +
         list(fields.padded_offsets, fields.ndims) + " strides " + list(fields.strides, fields.ndims) + " offset0 " +
         std::to_string(fields.offset0) + " blocks " + list(fields.inner_blks, fields.inner_nblks) + " of " +
         list(fields.inner_idxs, fields.inner_nblks) + " type " + std::to_string(fields.data_type);
}

/// What one function did: the library's result, and how often each verdict came out.
struct Tally {
  std::string name;
  int accepted = 0, refused = 0, unimplemented = 0, newer_types = 0, blocks_lost = 0, without_dims = 0,
      with_offset0 = 0, sizes = 0;

  void print(int64_t seed) const {
    std::cout << name << ", seed " << seed << ": " << accepted << " accepted (" << with_offset0 << " with an offset0, "
              << sizes << " with a size), " << refused << " invalid, " << unimplemented
              << " unimplemented; differences: " << newer_types << " types after 2.6.3, " << blocks_lost
              << " reshapes that lose blocks or a padded offset, " << without_dims << " parts of nothing\n";
  }
};

/// Where an element lies, by oneDNN's formula.
int64_t offset_in(const BlockedDesc& fields, int64_t element) {
  std::array<int64_t, kMaxDims> place = fields.padded_offsets;
  for (int d = fields.ndims - 1; d >= 0; --d) {
    place[static_cast<std::size_t>(d)] += element % fields.dims[static_cast<std::size_t>(d)];
    element /= fields.dims[static_cast<std::size_t>(d)];
  }
  int64_t offset = fields.offset0, stride = 1;
  for (auto k = static_cast<std::size_t>(fields.inner_nblks); k-- > 0;) {
    int64_t& of = place[static_cast<std::size_t>(fields.inner_idxs[k])];
    offset += of % fields.inner_blks[k] * stride;
    of /= fields.inner_blks[k];
    stride *= fields.inner_blks[k];
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(fields.ndims); ++d) offset += place[d] * fields.strides[d];
  return offset;
}

/// Whether a result of the library's reshape is none: it contradicts itself, or has an element elsewhere. A tensor
/// without elements shows no difference.
bool wrong(const BlockedDesc& before, const dnnl_memory_desc_t& after) {
  if (!consistent(after)) return true;
  int64_t elements = 1;
  for (int d = 0; d < before.ndims; ++d) elements *= before.dims[static_cast<std::size_t>(d)];
  for (int64_t i = 0; i < elements; ++i) {
    if (offset_in(before, i) != offset_in(fields_of(after), i)) return true;
  }
  return elements == 0;
}

dnnl_status_t status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return dnnl_invalid_arguments;
    case ErrorCode::unsupported: return dnnl_unimplemented;
    case ErrorCode::needs_copy: return dnnl_success;
    default: return dnnl_runtime_error;
  }
}

/// Compares one call: `ours` gives fields or throws, `theirs` asks the library.
template <typename Ours, typename Theirs>
void compare(Tally& tally, dnnl_memory_desc_t md, const std::string& arguments, const Ours& ours,
             const Theirs& theirs) {
  const BlockedDesc fields = fields_of(md);
  SCOPED_TRACE(tally.name + " of " + text(fields) + " with " + arguments);
  dnnl_memory_desc_t out{};
  if (md.data_type > dnnl_u8 && md.ndims > 0) {
    // Apart from the type, the verdict is that on f32.
    EXPECT_EQ(theirs(out, md), dnnl_invalid_arguments);
    md.data_type = dnnl_f32;
    ++tally.newer_types;
  }
  const dnnl_status_t want = theirs(out, md);
  out.data_type = want == dnnl_success ? static_cast<dnnl_data_type_t>(fields.data_type) : out.data_type;
  BlockedDesc got;
  try {
    got = ours(fields);
  } catch (const Error& error) {
    if (md.ndims == 0 && md.format_kind == dnnl_blocked && want == dnnl_success) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      ++tally.without_dims;
      return;
    }
    ASSERT_EQ(status_of(error.code()), want) << error.message();
    EXPECT_FALSE(error.field().empty());
    if (want == dnnl_success) {
      EXPECT_TRUE(wrong(fields, out)) << error.message() << "; theirs " << text(fields_of(out));
    }
    (want == dnnl_success ? tally.blocks_lost : want == dnnl_unimplemented ? tally.unimplemented : tally.refused)++;
    return;
  }
  ASSERT_EQ(want, dnnl_success) << text(got);
  ASSERT_EQ(got, fields_of(out)) << text(got) << "; theirs " << text(fields_of(out));
  ++tally.accepted;
  tally.with_offset0 += got.offset0 != 0;
  if (md.data_type != out.data_type) return;  // the library has no size for its type
  const auto size = static_cast<int64_t>(dnnl_memory_desc_get_size(&out));
  ASSERT_TRUE(consistent(out)) << text(got);
  ASSERT_EQ(onednn::size(got), size) << text(got);
  tally.sizes += size > 0;
}

TEST(OneDnnViews, Submemory) {
  const int64_t seed = test::number_from("RELAYOUT_SEED", 41);
  RandomDescriptors random(seed);
  Tally tally{"submemory"};
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const dnnl_memory_desc_t md = random.descriptor();
    const Dims dims = random.part(md), offsets = random.offsets();
    compare(
        tally, md, join(dims) + " at " + join(offsets),
        [&](const BlockedDesc& fields) { return onednn::submemory(fields, dims, offsets); },
        [&](dnnl_memory_desc_t& out, const dnnl_memory_desc_t& in) {
          return dnnl_memory_desc_init_submemory(&out, &in, dims.data(), offsets.data());
        });
  }
  tally.print(seed);
  EXPECT_GT(tally.accepted, 5000);
  EXPECT_GT(tally.with_offset0, 2000);
  EXPECT_GT(tally.sizes, 1000);
  EXPECT_GT(tally.refused, 500);
  EXPECT_GT(tally.unimplemented, 1500);
  EXPECT_GT(tally.newer_types, 100);
  EXPECT_EQ(tally.blocks_lost, 0);
}

TEST(OneDnnViews, PermuteAxes) {
  const int64_t seed = test::number_from("RELAYOUT_SEED", 42);
  RandomDescriptors random(seed);
  Tally tally{"permute_axes"};
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const dnnl_memory_desc_t md = random.descriptor();
    const std::vector<int> axes = random.permutation(md.ndims);
    std::string arguments;
    for (int axis : axes) arguments += std::to_string(axis) + " ";
    compare(
        tally, md, arguments, [&](const BlockedDesc& fields) { return onednn::permute_axes(fields, axes); },
        [&](dnnl_memory_desc_t& out, const dnnl_memory_desc_t& in) {
          return dnnl_memory_desc_permute_axes(&out, &in, axes.data());
        });
  }
  tally.print(seed);
  EXPECT_GT(tally.accepted, 8000);
  EXPECT_GT(tally.with_offset0, 1000);
  EXPECT_GT(tally.sizes, 4000);
  EXPECT_GT(tally.refused, 1500);
  EXPECT_GT(tally.newer_types, 100);
  EXPECT_EQ(tally.unimplemented + tally.blocks_lost, 0);
}

TEST(OneDnnViews, Reshape) {
  const int64_t seed = test::number_from("RELAYOUT_SEED", 43);
  RandomDescriptors random(seed);
  Tally tally{"reshape"};
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const dnnl_memory_desc_t md = random.descriptor();
    const Dims dims = random.other_dims(md);
    compare(
        tally, md, join(dims), [&](const BlockedDesc& fields) { return onednn::reshape(fields, dims); },
        [&](dnnl_memory_desc_t& out, const dnnl_memory_desc_t& in) {
          return dnnl_memory_desc_reshape(&out, &in, dims.size(), dims.data());
        });
  }
  tally.print(seed);
  EXPECT_GT(tally.accepted, 5000);
  EXPECT_GT(tally.with_offset0, 1000);
  EXPECT_GT(tally.sizes, 3000);
  EXPECT_GT(tally.refused, 3000);
  EXPECT_GT(tally.newer_types, 100);
  EXPECT_GT(tally.blocks_lost, 5);
  EXPECT_EQ(tally.unimplemented, 0);
}

TEST(OneDnnViews, Equal) {
  const int64_t seed = test::number_from("RELAYOUT_SEED", 44);
  RandomDescriptors random(seed);
  std::map<std::string, int> differences;
  int equal = 0, other_strides = 0, different = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const dnnl_memory_desc_t a = random.descriptor();
    const dnnl_memory_desc_t b = random.one_in(20) ? random.descriptor() : random.neighbour(a);
    const BlockedDesc ours_a = fields_of(a), ours_b = fields_of(b);
    // A descriptor without dims and type has no blocked format; the library compares these first of all.
    const bool theirs = dnnl_memory_desc_equal(&a, &b) != 0;
    const std::string found = onednn::difference(ours_a, ours_b);
    ASSERT_EQ(onednn::equal(ours_a, ours_b), theirs) << text(ours_a) << "; " << text(ours_b) << ": " << found;
    ASSERT_EQ(found.empty(), theirs);
    equal += theirs;
    other_strides += theirs && ours_a != ours_b;
    different += !theirs;
    if (!theirs) ++differences[found.substr(0, found.find_first_of("[ "))];
  }
  std::cout << "equal, seed " << seed << ": " << equal << " equal (" << other_strides << " with other fields), "
            << different << " different by";
  for (const auto& [field, count] : differences) std::cout << " " << field << " " << count;
  std::cout << "\n";
  EXPECT_GT(equal, 4000);
  EXPECT_GT(other_strides, 500);
  EXPECT_GT(different, 4000);
  for (const char* field : {"ndims", "dims", "padded_dims", "padded_offsets", "offset0", "strides", "inner_blks",
                            "inner_idxs", "inner_nblks", "data_type"}) {
    EXPECT_GT(differences[field], 20) << field;
  }
}

}  // namespace
}  // namespace relayout
