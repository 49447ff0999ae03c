// Layouts of random expressions as C: hundreds of functions in one file, which the system's C compiler compiles once
// and whose program is compared over every index, padding included.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "relayout/interop/c_function.h"
#include "tests/interop/random_expressions.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

struct Case {
  test::Expression expression;
  TensorDesc tensor;
};

/// Layouts of all kinds, each small enough for the whole domain.
std::vector<Case> random_cases(uint64_t seed, int64_t count) {
  constexpr int64_t kMostElements = 20'000;
  test::RandomExpressions random(seed);
  std::vector<Case> out;
  while (static_cast<int64_t>(out.size()) < count) {
    const test::Expression expression = random.next();
    const TensorDesc tensor(Format::parse(expression.text).bind(expression.dims),
                            random.numbers().one_of(kDTypeRows).dtype);
    if (tensor.layout.padded_elements() <= kMostElements) out.push_back({expression, tensor});
  }
  return out;
}

/// A program that writes the offset of each index of each case, in row-major order, as 64-bit numbers.
std::string program(const std::vector<Case>& cases) {
  std::string functions, calls;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Layout& layout = cases[k].tensor.layout;
    const std::string name = "offset" + std::to_string(k), number = std::to_string(k);
    functions += c_function::code(cases[k].tensor, {.name = name}) + "\n";
    // A function each, because a main() of hundreds of loops takes a compiler long.
    functions += "static void write" + number + "(void) {\n";
    std::string arguments;
    for (int d = 0; d < layout.ndims(); ++d) {
      const std::string j = "j" + std::to_string(d);
      functions += "for (int64_t " + j + " = 0; " + j + " < " + std::to_string(layout.capacity(d)) + "; ++" + j + ") ";
      arguments += (d > 0 ? ", " : "") + j;
    }
    functions += "{ int64_t o = " + name + "(" + arguments + "); fwrite(&o, sizeof o, 1, stdout); }\n}\n";
    calls += "write" + number + "();\n";
  }
  return "#include <stdio.h>\n" + functions + "int main(void) {\n" + calls + "return 0;\n}\n";
}

TEST(CFunctions, RandomLayoutsOfAllKindsAgreeOnEveryIndex) {
  if (std::system("command -v cc >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no C compiler cc here";
  const auto seed = static_cast<uint64_t>(test::number_from("RELAYOUT_SEED", 20270312));
  const std::vector<Case> cases = random_cases(seed, test::slow_tests() ? 2'000 : 480);
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("relayout_c_functions_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "offsets.c") << program(cases);
  const std::string in = "cd '" + folder.string() + "' && ";
  ASSERT_EQ(std::system((in + "cc -std=c99 -pedantic -Wall -Wextra -Werror -o offsets offsets.c").c_str()), 0);
  ASSERT_EQ(std::system((in + "./offsets >offsets.bin").c_str()), 0);
  std::ifstream written(folder / "offsets.bin", std::ios::binary);
  std::map<std::string_view, int> kinds;
  int64_t compared = 0;
  for (const Case& c : cases) {
    ++kinds[c.expression.kind];
    const Layout& layout = c.tensor.layout;
    test::each_index(layout.padded_dims(), [&](const Dims& i) {
      int64_t offset = -1;
      written.read(reinterpret_cast<char*>(&offset), sizeof offset);
      ASSERT_TRUE(written);
      ASSERT_EQ(offset, layout.offset(i)) << "seed " << seed << ", " << c.expression.text << " of dims "
                                          << join(c.expression.dims) << ", index " << join(i);
      ++compared;
    });
  }
  EXPECT_EQ(written.peek(), std::ifstream::traits_type::eof());
  for (const std::string_view kind : test::RandomExpressions::kinds())
    EXPECT_GE(kinds[kind], static_cast<int>(cases.size()) / 50) << kind;
  std::printf("seed %llu: %zu functions, %lld indices\n", static_cast<unsigned long long>(seed), cases.size(),
              static_cast<long long>(compared));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace relayout
