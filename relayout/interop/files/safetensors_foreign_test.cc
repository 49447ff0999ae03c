// .safetensors files with types that relayout does not convert: they are written as they were read.
#include <gtest/gtest.h>

#include <span>

#include "relayout/interop/files/safetensors.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

TEST(Safetensors, WritesTypesWithoutAConversion) {
  const TensorSpec specs[] = {{.name = "e", .shape = {3}, .type_name = "F8_E8M0", .item_bits = 8},
                              {.name = "f", .shape = {2, 4}, .type_name = "F4", .item_bits = 4},
                              {.name = "c", .shape = {2}, .type_name = "<c8", .item_bits = 64}};
  const std::string file = safetensors_head(specs, {}).text + std::string(23, 'x');
  const std::vector<StoredTensor> read = parse_safetensors(std::as_bytes(std::span(file)), {}).tensors;
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].type_name + " " + read[1].type_name + " " + read[2].type_name, "F8_E8M0 F4 C64");
  EXPECT_EQ(read[0].byte_size, 3);
  EXPECT_EQ(read[1].byte_size, 4);
  EXPECT_EQ(read[2].byte_size, 16);
  const TensorSpec wide{.name = "w", .shape = {2}, .type_name = "<c16", .item_bits = 128};
  EXPECT_ERROR(ErrorCode::unsupported, safetensors_head({&wide, 1}, {}));
}

}  // namespace
}  // namespace relayout
