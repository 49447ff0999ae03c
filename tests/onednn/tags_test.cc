// Compares every tag name of the installed oneDNN with the library: strides, blocks, padded dims and size, over shapes
// with tails.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "relayout/core/format.h"
#include "tag_names.h"

namespace relayout {
namespace {

/// Shapes of a rank: extents of 1, tails for every block size in use, and an extent of 0.
std::vector<Dims> shapes_of(int rank) {
  static constexpr int64_t kPatterns[][6] = {{2, 17, 5, 4, 3, 1},  {1, 1, 1, 1, 1, 1},    {17, 1, 17, 2, 1, 3},
                                             {1, 17, 1, 1, 17, 1}, {3, 33, 35, 1, 2, 65}, {64, 32, 2, 16, 1, 1},
                                             {2, 0, 17, 3, 1, 5},  {0, 17, 1, 2, 3, 4}};
  std::vector<Dims> shapes;
  for (const auto& pattern : kPatterns) {
    Dims dims;
    for (int d = 0; d < rank; ++d) dims.push_back(pattern[d % 6]);
    shapes.push_back(dims);
  }
  return shapes;
}

struct Block {
  int dim;
  int64_t size;
  friend bool operator==(const Block&, const Block&) = default;
};

/// The inner blocks, outermost first: all digits except each dim's outermost, ordered by stride.
std::vector<Block> inner_blocks(const Layout& layout) {
  std::vector<std::pair<int64_t, Block>> found;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits(d);
    for (std::size_t k = 0; k + 1 < digits.size(); ++k) found.push_back({digits[k].stride, {d, digits[k].extent}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Block> blocks;
  for (const auto& entry : found) blocks.push_back(entry.second);
  return blocks;
}

/// What differs between oneDNN's descriptor and ours; "" if nothing does.
std::string difference(const dnnl_memory_desc_t& md, const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  std::vector<Block> blocks;
  const auto& blocking = md.format_desc.blocking;
  for (int k = 0; k < blocking.inner_nblks; ++k) {
    blocks.push_back({static_cast<int>(blocking.inner_idxs[k]), blocking.inner_blks[k]});
  }
  if (inner_blocks(layout) != blocks) return "inner blocks";
  for (int d = 0; d < md.ndims; ++d) {
    if (layout.capacity(d) != md.padded_dims[d]) return "padded dim " + std::to_string(d);
    if (!layout.empty() && layout.outer_stride(d) != blocking.strides[d]) return "stride " + std::to_string(d);
  }
  if (layout.offset0() != md.offset0) return "offset0";
  const auto size = static_cast<int64_t>(dnnl_memory_desc_get_size(&md));
  if (desc.size_bytes() != size) {
    return "size " + std::to_string(desc.size_bytes()) + " against " + std::to_string(size);
  }
  return "";
}

bool parses(const std::string& name) {
  try {
    Format::parse(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(OneDnnTags, EveryNameMeansTheSameLayout) {
  const std::vector<TagName> names = onednn_tag_names();
  std::set<std::string> differing;
  std::string refused;
  int compared = 0, canonical = 0, aliases = 0;
  for (const TagName& name : names) {
    if (name.ndims == 0) continue;
    (name.name == name.canonical ? canonical : aliases) += 1;
    if (!parses(name.name)) {
      refused += name.name + " = " + name.canonical + "\n";
      continue;
    }
    const Format format = Format::parse(name.name);
    ASSERT_EQ(format.rank(), name.ndims) << name.name;
    for (const Dims& dims : shapes_of(name.ndims)) {
      for (const auto& [dtype, dnnl_type] : {std::pair{DType::f32, dnnl_f32}, std::pair{DType::s8, dnnl_s8}}) {
        dnnl_memory_desc_t md;
        ASSERT_EQ(dnnl_memory_desc_init_by_tag(&md, name.ndims, dims.data(), dnnl_type, name.tag), dnnl_success);
        const TensorDesc desc(format.bind(dims), dtype);
        const std::string what = difference(md, desc);
        if (!what.empty() && differing.insert(name.name).second) {
          std::cout << name.name << " of dims " << join(dims) << " differs: " << what << "\n";
        }
        ++compared;
      }
    }
  }
  std::cout << "compared " << canonical << " canonical names and " << aliases << " aliases, " << compared
            << " descriptors\n";
  // The header gives these two names the letters of their relatives gOI.. (aBC..), although I before O would be aCB...
  // Here a name means what its letters say.
  EXPECT_EQ(differing, (std::set<std::string>{"gIOdhw2i8o16i2o", "gIOhw2i8o16i2o"}));
  EXPECT_EQ(refused, "");
  EXPECT_GT(canonical, 450);
  EXPECT_GT(aliases, 450);
}

TEST(OneDnnTags, RecoveredTagsBindToAnEqualLayout) {
  int recovered = 0;
  for (const TagName& name : onednn_tag_names()) {
    if (name.ndims == 0 || !parses(name.name)) continue;  // the test above lists the names that do not parse
    for (const Dims& dims : shapes_of(name.ndims)) {
      const Layout layout = Format::parse(name.name).bind(dims);
      const std::optional<std::string> tag = tag_of(layout);
      ASSERT_TRUE(tag) << name.name << " of dims " << join(dims);
      ASSERT_EQ(Format::parse(*tag).bind(dims), layout) << name.name << " of dims " << join(dims) << " gave " << *tag;
      ++recovered;
    }
  }
  std::cout << "recovered " << recovered << " tags\n";
}

TEST(OneDnnTags, UndefAndAnyAreNamesWithoutALayout) {
  EXPECT_EQ(Format::parse("undef").kind(), Format::Kind::undef);
  EXPECT_EQ(Format::parse("any").kind(), Format::Kind::any);
  EXPECT_THROW(Format::parse("undef").bind({2, 3}), Error);
  EXPECT_THROW(Format::parse("any").bind({2, 3}), Error);
}

TEST(OneDnnTags, XIsTheOneDimensionalTag) { EXPECT_EQ(Format::parse("x").bind({5}), Format::parse("a").bind({5})); }

}  // namespace
}  // namespace relayout
