// Tests of writing large .safetensors: it says how far it is, and ends where it is told to.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/interop/files/safetensors.h"
#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

TEST(Safetensors, WritingIsWatchedAndEnded) {
  const TestFolder folder;
  const std::vector<std::byte> bytes(static_cast<std::size_t>(20) << 20, std::byte{7});
  const std::vector<NamedTensor> tensors = {{{.name = "a", .dtype = DType::u8, .shape = {20 << 20}}, bytes},
                                            {{.name = "b", .dtype = DType::u8, .shape = {0}}, {}},
                                            {{.name = "c", .dtype = DType::u8, .shape = {20 << 20}}, bytes}};
  std::vector<int64_t> said;
  for (int stop : {0, 3}) {
    int calls = 0;
    EXPECT_THROW(write_safetensors(folder / "x.safetensors", tensors, {}, false,
                                   [&](int64_t, int64_t) { return calls++ < stop; }),
                 Error);
    EXPECT_TRUE(calls == stop + 1 && std::filesystem::is_empty(folder.path()));
  }
  write_safetensors(folder / "x.safetensors", tensors, {}, false, [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 40 << 20);
    said.push_back(done);
    return true;
  });
  EXPECT_TRUE(said.size() > 4 && std::ranges::is_sorted(said) && said.back() == 40 << 20);
  EXPECT_TRUE(std::ranges::equal(TensorFile::open(folder / "x.safetensors").bytes(2), bytes));
}

}  // namespace
}  // namespace relayout
