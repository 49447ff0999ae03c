// Names of layouts against their published formulas, each of which is a function of the extents and an index. Most
// systems publish the C array that memory is and the subscripts of an element in it.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout::test {

/// A C array and the place of an element in it, outermost subscript first.
struct Place {
  std::vector<int64_t> array, subscripts;

  int64_t offset() const {
    int64_t out = 0;
    for (std::size_t k = 0; k < array.size(); ++k) out = out * array[k] + subscripts[k];
    return out;
  }
};

inline int64_t up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple; }
inline int64_t round_up(int64_t value, int64_t multiple) { return up(value, multiple) * multiple; }

using Formula = int64_t (*)(const Dims& dims, const Dims& i);

struct Case {
  std::string_view name;
  std::vector<Dims> dims;  // with sizes that no block divides
  Formula formula;
};

inline void expect_formula(const Case& test) {
  for (const Dims& dims : test.dims) {
    const Format format = Format::parse(test.name);
    const Layout layout = format.bind(dims);
    int64_t wrong = 0;
    each_index(dims, [&](const Dims& i) { wrong += layout.offset(i) != test.formula(dims, i); });
    EXPECT_EQ(wrong, 0) << test.name << " of dims " << join(dims);
    EXPECT_TRUE(layout.injective()) << test.name;
    EXPECT_EQ(Format::parse(digits_expression(layout)).bind(dims), layout) << test.name;
    const auto shape = format.physical_shape(dims);
    if (!shape || format.is_image()) continue;  // aligned rows; an image's rows may count several dims
    Dims blocks_filled = format.dims_from_physical(*shape);
    EXPECT_EQ(format.physical_shape(blocks_filled), shape) << test.name;
    for (int d = 0; d < dims.size(); ++d) EXPECT_GE(blocks_filled[d], dims[d]) << test.name;
  }
}

inline const std::vector<Dims> kImages = {{2, 17, 5, 7}, {3, 35, 3, 33}};
inline const std::vector<Dims> kOneImage = {{17, 5, 7}, {35, 3, 33}};
inline const std::vector<Dims> kVolumes = {{2, 17, 3, 5, 7}, {1, 35, 2, 3, 9}};
inline const std::vector<Dims> kOneVolume = {{17, 3, 5, 7}, {35, 2, 3, 9}};
inline const std::vector<Dims> kMatrices = {{70, 45}, {33, 129}, {1, 33}};

inline int64_t row_major(const Dims& dims, const Dims& i) {
  return Place{{dims.begin(), dims.end()}, {i.begin(), i.end()}}.offset();
}

inline int64_t column_major(const Dims& dims, const Dims& i) { return i[1] * dims[0] + i[0]; }

/// Each name of the systems is the name of a case.
inline void expect_all_names(std::span<const std::string_view> systems, std::span<const Case> cases) {
  for (const std::string& name : notation_names()) {
    const std::string_view system = std::string_view(name).substr(0, name.find(':'));
    if (std::ranges::find(systems, system) == systems.end()) continue;
    EXPECT_NE(std::ranges::find(cases, name, &Case::name), cases.end()) << name;
  }
}

}  // namespace relayout::test
