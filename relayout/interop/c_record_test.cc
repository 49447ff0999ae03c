// Records as C: the text is compiled by the system's C compiler and run over every index of every field.
#include "relayout/interop/c_record.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::each_index;

TEST(CRecord, TextOfAStruct) {
  EXPECT_EQ(c_record::code(RecordFormat::parse("record{a:u8, in.b:f32[2];aligned}"), {}),
            "#include <stdint.h>\n\n"
            "/* A struct of 12 bytes. */\n"
            "struct record {\n  uint8_t a;\n  uint8_t gap0[3];\n  float in_b[2];\n};\n"
            "/* Bytes of the whole buffer. */\nstatic const int64_t record_bytes = 12;\n"
            "/* The offset in elements of a scalar of u8. */\n"
            "static inline int64_t offset_a(void) {\n  return 0;\n}\n"
            "/* The offset in elements of (i0) in 2 elements of f32. */\n"
            "static inline int64_t offset_in_b(int64_t i0) {\n  return 1 + i0;\n}");
}

/// Runs a compiler over a program that compares every offset with what the library says; 0 where all agree.
int compiled_and_run(const std::string& text, const Record& record, bool is_struct, int64_t struct_bytes) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("c_record_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream program(folder / "program.c");
  program << text << "\nint main(void) {\n  int wrong = record_bytes != " << record.bytes() << ";\n";
  if (is_struct) program << "  wrong += sizeof(struct record) != " << struct_bytes << ";\n";
  for (const Field& field : record.fields()) {
    std::string name = field.name;
    std::ranges::replace(name, '.', '_');
    each_index(field.layout.dims(), [&](const Dims& index) {
      program << "  wrong += offset_" << name << "(" << join(index) << ") != " << field.layout.offset(index) << ";\n";
    });
  }
  program << "  return wrong != 0;\n}\n";
  program.close();
  const std::string call = "cc -std=c99 -Wall -Wextra -Werror -Wno-unused-function -o " +
                           (folder / "program").string() + " " + (folder / "program.c").string() + " && " +
                           (folder / "program").string();
  const int result = std::system(call.c_str());
  std::filesystem::remove_all(folder);
  return result;
}

TEST(CRecord, CompilesAndAgrees) {
  if (std::system("command -v cc > /dev/null") != 0) GTEST_SKIP() << "there is no C compiler";
  struct Compiled {
    const char* text;
    Dims dims;
  };
  for (const auto& [text, dims] :
       {Compiled{"record{a:u8, b:f32[3], c:f16[2,2], d:f64;aligned}", {3}},
        Compiled{"record{a:s16, b:bool@7, c.x:u32@8;bytes=20}", {2, 2}}, Compiled{"record{a:u4[4], b:s8}", {5}},
        Compiled{"ggml:q4_0", {2, 64}}, Compiled{"record{a:u8[2,3] = ba, b:f32[a] = strides:2@4}", {4}}}) {
    const RecordFormat format = RecordFormat::parse(text);
    const std::string code = c_record::code(format, dims);
    const bool is_struct = code.find("struct record") != std::string::npos;
    EXPECT_EQ(compiled_and_run(code, format.bind(dims), is_struct, is_struct ? format.struct_bytes() : 0), 0) << code;
  }
}

}  // namespace
}  // namespace relayout
