// Tests of .npz checkpoints: members made byte by byte, and what is written, which NumPy reads.
#include <gtest/gtest.h>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/formats/formats.h"
#include "relayout/checkpoint/writer.h"
#include "relayout/interop/files/zip_members.h"
#include "tests/support/tensor_files.h"
#include "tests/support/zip_archive.h"

namespace relayout::checkpoint {
namespace {

using test::zip_archive;

std::string npy(const std::string& dict, const std::string& data) {
  return "\x93NUMPY" + test::little_endian(uint8_t{1}, uint8_t{0}, static_cast<uint16_t>(dict.size())) + dict + data;
}
const std::string kRow = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", "abcdefgh");
const std::string kFortran = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "abcdef");

TEST(Npz, ReadsMembersInPlaceAndDecodesOthers) {
  const TestFolder folder;
  write_file(
      folder / "m.npz",
      zip_archive({{"a.npy", kRow}, {"b.npy", kRow, true}, {"f.npy", kFortran}, {"text", "xyz"}, {"bad.npy", "xyz"}}));
  const Checkpoint model = Checkpoint::open(folder / "m.npz");
  ASSERT_EQ(model.tensors().size(), 5U);
  for (const char* name : {"a", "b"}) {
    const std::size_t at = model.find(name);
    EXPECT_EQ(model.tensors()[at].shape, (Dims{1, 2}));
    EXPECT_EQ(model.tensors()[at].dtype, DType::f32);
    EXPECT_EQ(model.tensors()[at].mapped, *name == 'a');
    EXPECT_EQ(text_of(model.contents(at).bytes), "abcdefgh");
  }
  const CheckpointTensor& fortran = model.tensors()[model.find("f")];
  EXPECT_EQ(fortran.strides, (Dims{1, 2}));
  EXPECT_FALSE(fortran.row_major());
  EXPECT_EQ(text_of(model.contents(model.find("text")).bytes), "xyz");
  EXPECT_TRUE(model.tensors()[model.find("bad")].problem);
}

TEST(Npz, RefusesTwoMembersOfOneName) {
  const TestFolder folder;
  write_file(folder / "m.npz", zip_archive({{"a.npy", kRow}, {"a.npy", kRow}}));
  EXPECT_ERROR(ErrorCode::corrupt, (void)Checkpoint::open(folder / "m.npz"));
}

TEST(Npz, WritesWhatNumpyReads) {
  const TestFolder folder;
  const std::vector<TensorSpec> specs{{.name = "a/b", .dtype = DType::f32, .shape = {2, 3}},
                                      {.name = "\xc3\xa4", .dtype = DType::u8, .shape = {5}},
                                      {.name = "none", .dtype = DType::s64, .shape = {0, 2}}};
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.npz", specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(writer.offset_of(i) % 64, 0);
    const std::string bytes(static_cast<std::size_t>(writer.byte_size(i)), '\1');
    writer.write(i, 0, bytes_of(bytes));
    writer.set_written(i);
  }
  writer.commit();
  const Checkpoint model = Checkpoint::open(folder / "m.npz");
  ASSERT_EQ(model.tensors().size(), 3U);
  EXPECT_EQ(text_of(model.contents(1).bytes), std::string(5, '\1'));
  const TensorFile file = TensorFile::open(folder / "m.npz");
  EXPECT_EQ(text_of(file.bytes(file.find("a/b"))), std::string(24, '\1'));  // libzip compares the checksum
  EXPECT_ERROR(ErrorCode::unsupported,
               CheckpointWriter::create(folder / "n.npz", specs, {.metadata = {{"k", MetadataValue()}}}));
  SKIP_WITHOUT_NUMPY();
  run_python(folder, R"(import numpy, zipfile
assert zipfile.ZipFile("m.npz").testzip() is None
m = numpy.load("m.npz")
assert m.files == ["a/b", "ä", "none"], m.files
assert m["a/b"].shape == (2, 3) and (m["a/b"].view("u4") == 0x01010101).all()
assert m["ä"].tolist() == [1] * 5 and m["none"].shape == (0, 2)
numpy.savez_compressed("n.npz", x=numpy.arange(1000, dtype=">i2").reshape(10, 100), y=numpy.float64(2))
)");
  const Checkpoint theirs = Checkpoint::open(folder / "n.npz");
  EXPECT_FALSE(theirs.tensors()[0].byte_swapped);  // big-endian elements are turned
  const std::string x = text_of(theirs.contents(0).bytes);
  for (int i = 0; i < 1000; ++i) {
    const auto low = static_cast<unsigned char>(x[static_cast<std::size_t>(2 * i)]);
    EXPECT_EQ(static_cast<unsigned char>(x[static_cast<std::size_t>(2 * i + 1)]) * 256 + low, i);
  }
}

TEST(Npz, SumsUpWhatIsWrittenInAnyOrder) {
  const TestFolder folder;
  const std::vector<TensorSpec> specs{{.name = "w", .dtype = DType::u8, .shape = {10}}};
  using Part = std::pair<int64_t, std::string>;
  const std::vector<std::vector<Part>> orders{{{0, "0123456789"}},
                                              {{0, "01234"}, {5, "56789"}},
                                              {{5, "56789"}, {0, "01"}, {2, "234"}},
                                              {{0, "xx"}, {0, "0123456789"}},
                                              {{0, "012345678"}, {4, "456789"}},
                                              {{0, "0123456789"}, {3, ""}, {3, "345"}},
                                              {{0, "xxxxx"}, {5, "56789"}, {0, "01234"}}};
  for (const std::vector<Part>& order : orders) {
    CheckpointWriter writer = CheckpointWriter::create(folder / "m.npz", specs, {.overwrite = true});
    for (const auto& [at, text] : order) writer.write(0, at, bytes_of(text));
    writer.set_written(0);
    writer.commit();
    const TensorFile file = TensorFile::open(folder / "m.npz");
    EXPECT_EQ(text_of(file.bytes(0)), "0123456789");  // libzip compares the checksum
  }
}

TEST(Npz, HasSizesAndOffsetsOf64Bits) {
  // The file is sparse: nothing but headers and the directory is written.
  const TestFolder folder;
  const std::vector<TensorSpec> specs{{.name = "large", .dtype = DType::u8, .shape = {int64_t{5} << 30}},
                                      {.name = "behind", .dtype = DType::f32, .shape = {2}},
                                      {.name = "second", .dtype = DType::u8, .shape = {int64_t{4} << 30}}};
  const FileImage image = plan_npz(specs, {});
  {
    io::NewFile file = io::NewFile::make(folder / "m.npz");
    file.resize(image.size);
    for (const auto& [offset, text] : image.texts) file.write_at(offset, bytes_of(text));
    file.publish(false);
  }
  const Checkpoint model = Checkpoint::open(folder / "m.npz");
  ASSERT_EQ(model.tensors().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.tensors()[i].problem, std::nullopt);
    EXPECT_EQ(model.tensors()[i].offset, image.offsets[i]);
    EXPECT_EQ(model.tensors()[i].shape, specs[i].shape);
  }
  SKIP_WITHOUT_NUMPY();
  run_python(folder, R"(import zipfile
sizes = [(m.filename, m.file_size, m.compress_size) for m in zipfile.ZipFile("m.npz").infolist()]
head = 128
assert sizes == [("large.npy", (5 << 30) + head, (5 << 30) + head), ("behind.npy", 8 + head, 8 + head),
                 ("second.npy", (4 << 30) + head, (4 << 30) + head)], sizes
assert zipfile.ZipFile("m.npz").open("second.npy").read(6) == b"\x93NUMPY"
)");
}

}  // namespace
}  // namespace relayout::checkpoint
