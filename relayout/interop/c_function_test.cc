// Layouts as C: the text, and twenty functions that the system's C compiler compiles and a program runs over every
// index.
#include "relayout/interop/c_function.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::desc;
using test::each_index;

TEST(CFunction, Text) {
  EXPECT_EQ(c_function::code(desc("nChw8c", {2, 17, 5, 4}), {.letters = "nchw"}),
            "#include <stdint.h>\n\n"
            "/* The offset in elements of (n, c, h, w) in 2 x 17 x 5 x 4 elements of f32; c may go up to 23, which is "
            "padding. */\n"
            "static inline int64_t offset(int64_t n, int64_t c, int64_t h, int64_t w) {\n"
            "  return n * 480 + c / 8 * 160 + c % 8 + h * 32 + w * 8;\n}");
  EXPECT_EQ(c_function::code(desc("strides:0,-2@9", {3, 4}, DType::s8)),
            "#include <stdint.h>\n\n"
            "/* The offset in elements of (i0, i1) in 3 x 4 elements of s8. */\n"
            "static inline int64_t offset(int64_t i0, int64_t i1) {\n"
            "  (void)i0;\n  return 9 - i1 * 2;\n}");
  EXPECT_EQ(c_function::code({Layout(), DType::f32}, {.name = "at"}),
            "#include <stdint.h>\n\n"
            "/* The offset in elements of a scalar of f32. */\nstatic inline int64_t at(void) {\n  return 0;\n}");
}

TEST(CFunction, SaysOnlyOfItsOwnPaddingThatIndicesMayGoThere) {
  const auto text = [](const TensorDesc& tensor) { return c_function::code(tensor); };
  // The fourth gate of two digits of 2 lies on another gate; with dims of 1,1,2,3,2 index 3 is at real data.
  const TensorDesc gates = desc("ldigo;gates:zrh->rzh", {1, 1, 4, 3, 5});
  EXPECT_FALSE(gates.layout.injective_with_padding());
  EXPECT_EQ(text(gates).find("padding"), std::string::npos) << text(gates);
  EXPECT_EQ(text(desc("ldigo;gates:zrh->rzh", {1, 1, 2, 3, 2})).find("padding"), std::string::npos);
  EXPECT_EQ(text(desc("nchw", {1, 2, 3, 4})).find("padding"), std::string::npos);
  EXPECT_NE(text(desc("nChw8c", {1, 9, 2, 2})).find("i1 may go up to 15, which is padding"), std::string::npos);
}

TEST(CFunction, Refusals) {
  const TensorDesc tensor = desc("ab", {2, 3});
  for (const char* letters : {"abc", "aa", "AB", "a1"}) {
    EXPECT_EQ(code_of([&] { c_function::code(tensor, {.letters = letters}); }), ErrorCode::invalid_argument) << letters;
  }
  for (const char* name :
       {"", "1st", "a b", "f()", "\"x", "int", "restrict", "_Bool", "co_await", "not_eq", "int64_t"}) {
    EXPECT_EQ(code_of([&] { c_function::code(tensor, {.name = name}); }), ErrorCode::invalid_argument) << name;
  }
}

struct Case {
  std::string_view format;
  Dims dims;
};
const Case kCases[] = {
    {"nchw", {2, 3, 5, 4}},
    {"nhwc", {2, 3, 5, 4}},
    {"nChw8c", {2, 17, 5, 4}},
    {"nChw16c", {1, 3, 2, 2}},
    {"OIhw4i16o4i", {20, 17, 2, 1}},
    {"strides:0,4,1", {3, 2, 4}},
    {"strides:-3,1@6", {3, 3}},
    {"strides:100,10,1@7", {2, 3, 4}},
    {"scales:128x4", {130, 5}},
    {"xla:{1,0:T(8,4)(2,1)}", {9, 7}},
    {"xla:{0:T(16)(4)(2,1)}", {37}},
    {"cute:((2,3,2),5):((1,20,4),8)", {12, 5}},
    {"nh|Cw4c;pitch=9", {2, 9, 2, 3}},
    {"mace:weight_width", {3, 6, 2, 2}},
    {"ABc4b4a2b", {9, 9, 2}},
    {"x", {11}},
    {"strides:", {}},
    {"strides:4294967296,65536,1", {2, 2, 2}},
    {"nchw.flip(3,2)", {2, 2, 3, 4}},
    {"nchw.transpose(1,3).split(1,2,2)", {1, 3, 2, 4}},
};

TensorDesc tensor_of(const Case& c) { return desc(c.format, c.dims); }

/// A program that prints the offset of each index of each case, padding included, in row-major order.
std::string program() {
  std::string functions, calls;
  int number = 0;
  for (const Case& c : kCases) {
    const TensorDesc tensor = tensor_of(c);
    const std::string name = "offset" + std::to_string(number++);
    functions += c_function::code(tensor, {.name = name}) + "\n";
    std::string arguments;
    for (int d = 0; d < tensor.layout.ndims(); ++d) {
      const std::string i = "j" + std::to_string(d);
      calls +=
          "for (int64_t " + i + " = 0; " + i + " < " + std::to_string(tensor.layout.capacity(d)) + "; ++" + i + ") ";
      arguments += (d > 0 ? ", " : "") + i;
    }
    calls += "printf(\"%lld\\n\", (long long)" + name + "(" + arguments + "));\n";
  }
  return functions + "#include <stdio.h>\nint main(void) {\n" + calls + "return 0;\n}\n";
}

TEST(CFunction, CompiledFunctionsAgreeOnEveryIndex) {
  if (std::system("command -v cc >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no C compiler cc here";
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("relayout_c_function_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "offsets.c") << program();
  const std::string in = "cd '" + folder.string() + "' && ";
  ASSERT_EQ(std::system((in + "cc -std=c99 -pedantic -Wall -Wextra -Werror -o offsets offsets.c").c_str()), 0);
  ASSERT_EQ(std::system((in + "./offsets >offsets.txt").c_str()), 0);
  std::ifstream printed(folder / "offsets.txt");
  for (const Case& c : kCases) {
    const Layout layout = tensor_of(c).layout;
    each_index(layout.padded_dims(), [&](const Dims& i) {
      int64_t offset = -1;
      ASSERT_TRUE(printed >> offset) << c.format;
      ASSERT_EQ(offset, layout.offset(i)) << c.format << " " << join(i);
    });
  }
  int64_t more = 0;
  EXPECT_FALSE(printed >> more);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace relayout
