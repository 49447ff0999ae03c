// Products of small matrices, with every instruction set, against their definition.
#include "relayout/execute/own/product/product.h"

#include <gtest/gtest.h>

#include <vector>

#include "relayout/cpu/isa.h"
#include "tests/support/node_check.h"

namespace relayout::execute {
namespace {

/// Restores the instruction set that was in use.
struct Product : testing::Test {
  ~Product() override { cpu::set_isa(""); }
};

TEST_F(Product, MultipliesMatricesOfEverySize) {
  Random random(1);
  for (const std::string_view isa : cpu::available_isas()) {
    cpu::set_isa(isa);
    for (int i = 0; i < 600; ++i) {
      const bool transposed = i % 2 == 1;
      MatrixProduct p{.rows = random.between(0, 40)};
      p.inner = random.between(0, 150);
      p.columns = random.between(0, 150);
      p.a_row = p.inner + random.between(0, 3);
      p.b_row = (transposed ? p.inner : p.columns) + random.between(0, 3);
      p.out_row = p.columns + random.between(0, 3);
      const auto numbers = [&](int64_t count) {
        std::vector<float> out(static_cast<std::size_t>(count));
        for (float& value : out) value = static_cast<float>(random.between(-8, 8));  // sums are exact
        return out;
      };
      const std::vector<float> a = numbers(p.rows * p.a_row), b = numbers((transposed ? p.columns : p.inner) * p.b_row);
      std::vector<float> got = numbers(p.rows * p.out_row), expected = got;
      p.a = a.data();
      p.b = b.data();
      p.out = got.data();
      (transposed ? transposed_product_function() : product_function())(p);
      // By the definition.
      for (int64_t r = 0; r < p.rows; ++r) {
        for (int64_t c = 0; c < p.columns; ++c) {
          for (int64_t k = 0; k < p.inner; ++k)
            expected[static_cast<std::size_t>(r * p.out_row + c)] +=
                p.a[r * p.a_row + k] * p.b[transposed ? c * p.b_row + k : k * p.b_row + c];
        }
      }
      ASSERT_EQ(got, expected) << isa << (transposed ? " transposed: " : ": ") << p.rows << " x " << p.inner << " x "
                               << p.columns;
    }
  }
}

}  // namespace
}  // namespace relayout::execute
