// Tests of GGUF files: made byte by byte, written and read back, and files that are wrong. tests/checkpoints compares
// with PyPI's package gguf.
#include "relayout/checkpoint/formats/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/writer.h"
#include "relayout/interop/files/safetensors_layouts.h"
#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

using std::string_literals::operator""s;

template <typename T>
std::string le(T number) {
  std::string out(sizeof number, '\0');
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}
std::string text(const std::string& characters) { return le(uint64_t{characters.size()}) + characters; }
std::string entry(const std::string& tensor_name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
  std::string out = text(tensor_name) + le(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) out += le(dim);
  return out + le(type) + le(offset);
}
/// A file of these keys (each with its type and value) and tensors, and of data.
std::string gguf(const std::vector<std::string>& keys, const std::vector<std::string>& tensors, const std::string& data,
                 uint32_t version = 3) {
  std::string out = "GGUF" + le(version) + le(uint64_t{tensors.size()}) + le(uint64_t{keys.size()});
  for (const std::string& key : keys) out += key;
  for (const std::string& tensor : tensors) out += tensor;
  out.resize((out.size() + 31) / 32 * 32);
  return out + data;
}
std::string key(const std::string& name_of_key, uint32_t type, const std::string& value) {
  return text(name_of_key) + le(type) + value;
}

struct Opened {
  Opened(const std::string& bytes) { write_file(folder / "m.gguf", bytes); }
  Checkpoint open() const { return Checkpoint::open(folder / "m.gguf"); }
  TestFolder folder;
};

TEST(Gguf, ReadsTensorsAndKeys) {
  const Opened file(gguf({key("general.name", 8, text("x")), key("n", 4, le(7U))},
                         {entry("w", {3, 2}, 0, 0), entry("q", {32, 2}, 2, 32), entry("c", {32}, 20, 96)},
                         std::string(24, 'w') + std::string(8, '\0') + std::string(36, 'q') + std::string(28, '\0') +
                             std::string(18, 'c')));
  const Checkpoint model = file.open();
  ASSERT_EQ(model.tensors().size(), 3U);
  const CheckpointTensor &w = model.tensors()[0], &q = model.tensors()[1], &c = model.tensors()[2];
  EXPECT_EQ(w.shape, (Dims{2, 3}));
  EXPECT_EQ(w.dtype, DType::f32);
  EXPECT_EQ(q.shape, (Dims{2, 18}));
  EXPECT_EQ(q.notes.packed, "ggml:q4_0");
  EXPECT_EQ(q.notes.packed_dims, (Dims{2, 32}));
  EXPECT_EQ(text_of(model.contents(1).bytes), std::string(36, 'q'));
  EXPECT_EQ(c.type_name, "IQ4_NL");
  EXPECT_EQ(c.dtype, std::nullopt);
  EXPECT_EQ(text_of(model.contents(2).bytes), std::string(18, 'c'));
  EXPECT_EQ(model.find_metadata("n")->integer(), 7);
  EXPECT_EQ(model.find_metadata("general.name")->text(), "x");
  EXPECT_EQ(Opened(gguf({}, {entry("w", {2}, 24, 0)}, "ww", 2)).open().tensors()[0].dtype, DType::s8);
}

TEST(Gguf, WritesWhatItReads) {
  const TestFolder folder;
  std::vector<TensorSpec> specs{{.name = "w", .dtype = DType::bf16, .shape = {2, 1, 1, 3}},
                                {.name = "q", .dtype = DType::u8, .shape = {2, 18}},
                                {.name = "c", .shape = {18}, .type_name = "IQ4_NL", .item_bits = 8},
                                {.name = "s", .dtype = DType::s64, .shape = {}}};
  specs[0].layout = Format::parse("ohwi");
  specs[0].dims = Dims{2, 3, 1, 1};
  specs[0].notes.from = "oihw";
  specs[1].notes = {.packed = "ggml:q4_0", .packed_dims = {2, 32}};
  const std::vector<MetadataEntry> metadata{{"general.alignment", MetadataValue::of(64U)},
                                            {"tokens", MetadataValue::of(std::vector<std::string>{"a", "b"})}};
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.gguf", specs, {.metadata = metadata});
  for (std::size_t i = 0; i < specs.size(); ++i) {
    writer.write(i, 0, bytes_of(std::string(static_cast<std::size_t>(writer.byte_size(i)), specs[i].name[0])));
    writer.set_written(i);
  }
  writer.commit();
  const Checkpoint model = Checkpoint::open(folder / "m.gguf");
  ASSERT_EQ(model.tensors().size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const CheckpointTensor& tensor = model.tensors()[i];
    EXPECT_EQ(tensor.problem, std::nullopt);
    EXPECT_EQ(tensor.offset % 64, 0);
    const TensorSpec again = spec_of(tensor);
    EXPECT_EQ(again.name, specs[i].name);
    EXPECT_EQ(again.shape, specs[i].shape);
    EXPECT_EQ(again.type_name, specs[i].type_name);
    EXPECT_EQ(again.notes, specs[i].notes);
    EXPECT_EQ(again.dims, specs[i].dims);
    EXPECT_EQ(text_of(model.contents(i).bytes),
              std::string(static_cast<std::size_t>(tensor.byte_size), specs[i].name[0]));
  }
  EXPECT_EQ(model.tensors()[0].layout->text(), "ohwi");
  EXPECT_EQ(std::vector(model.metadata().begin(), model.metadata().end()), metadata);
}

TEST(Gguf, KnowsThePackedFormatsOfItsTypes) {
  int found = 0;
  for (uint32_t number = 0; number < 100; ++number) {
    const GgufType* type = gguf_type(number);
    const PackedFormat* format = type ? packed_of(*type) : nullptr;
    if (format == nullptr) continue;
    ++found;
    EXPECT_EQ(packed_bytes(*format, {3, 2 * type->values}), 6 * type->bytes) << type->name;
    EXPECT_EQ(packed_bytes(*format, {3, 2 * type->values - 1}), std::nullopt) << type->name;
    EXPECT_EQ(gguf_type(*format), type);
  }
  EXPECT_EQ(found, static_cast<int>(packed::ggml().formats.size()));
}

TEST(Gguf, JoinsSplitFiles) {
  const TestFolder folder;
  const std::string record = R"({"layout":"oihw","dims":[1,1,1,2],"dtype":"s8"})";
  write_file(folder / "m-00001-of-00002.gguf",
             gguf({key("relayout.layout.b", 8, text(record))}, {entry("a", {2}, 24, 0)}, "aa"));
  write_file(folder / "m-00002-of-00002.gguf", gguf({}, {entry("b", {2, 1, 1, 1}, 24, 0)}, "bb"));
  const Checkpoint model = Checkpoint::open(folder / "m-00001-of-00002.gguf");
  ASSERT_EQ(model.tensors().size(), 2U);
  EXPECT_EQ(text_of(model.contents(1).bytes), "bb");
  EXPECT_EQ(model.tensors()[1].layout->text(), "oihw");
}

TEST(Gguf, ListsTensorsThatItCannotRead) {
  const Opened file(gguf({key("relayout.layout.w", 8, text("{}]")), key("relayout.layout.gone", 8, text("x"))},
                         {entry("t", {2}, 99, 0), entry("w", {2}, 24, 0), entry("far", {2}, 24, 32),
                          entry("huge", {uint64_t{1} << 62, 4}, 0, 0), entry("part", {31}, 2, 0),
                          entry("deep", std::vector<uint64_t>(13, 1), 24, 0), entry("fine", {2}, 24, 2)},
                         "wwff"));
  const Checkpoint model = file.open();
  std::string bad;
  for (const CheckpointTensor& tensor : model.tensors()) bad += tensor.problem ? tensor.name + " " : "";
  EXPECT_EQ(bad, "t w far huge part deep ");
  EXPECT_EQ(model.tensors()[0].type_name, "type 99");
  EXPECT_NE(model.tensors()[0].problem->message().find("tensor \"t\": type 99"), std::string::npos);
  EXPECT_EQ(text_of(model.contents(6).bytes), "ff");
}

TEST(Gguf, RefusesFilesThatAreWrong) {
  const auto refused = [](const std::string& bytes) {
    const Opened file(bytes);
    return error_of([&] { (void)file.open(); }).code();
  };
  const std::string one = entry("w", {2}, 24, 0);
  EXPECT_EQ(refused(gguf({}, {one}, "ww", 1)), ErrorCode::unsupported);
  EXPECT_EQ(refused(gguf({}, {one}, "ww", 0x03000000)), ErrorCode::unsupported);
  EXPECT_EQ(refused(gguf({}, {one, one}, "ww")), ErrorCode::corrupt);
  EXPECT_EQ(refused(gguf({}, {one, entry("v", {2}, 24, 1)}, "www")), ErrorCode::corrupt);
  EXPECT_EQ(refused(gguf({key("k", 4, le(1U)), key("k", 4, le(1U))}, {}, "")), ErrorCode::corrupt);
  EXPECT_EQ(refused(gguf({key("k", 13, le(1U))}, {}, "")), ErrorCode::corrupt);
  EXPECT_EQ(refused(gguf({key("general.alignment", 4, le(3U))}, {}, "")), ErrorCode::corrupt);
  EXPECT_EQ(refused("GGUF" + le(3U) + le(uint64_t{1} << 60) + le(uint64_t{0})), ErrorCode::limit);
  EXPECT_EQ(refused("GGUF" + le(3U) + le(uint64_t{900'000}) + le(uint64_t{0})), ErrorCode::corrupt);
  EXPECT_EQ(refused("GGUF" + le(3U) + le(uint64_t{0}) + le(uint64_t{900'000})), ErrorCode::corrupt);
  const std::string whole = gguf({key("k", 9, le(8U) + le(uint64_t{2}) + text("a") + text("b"))}, {one}, "ww");
  for (std::size_t size = 4; size + 2 < whole.size(); ++size) {
    const Opened file(whole.substr(0, size));
    try {
      EXPECT_TRUE(file.open().tensors()[0].problem) << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt) << size << error.message();
    }
  }
}

TEST(Gguf, RefusesToWriteWhatItLacks) {
  const TestFolder folder;
  const auto refused = [&](const TensorSpec& spec, WriteOptions options = {}) {
    return error_of([&] { (void)CheckpointWriter::create(folder / "m.gguf", std::vector{spec}, options); }).code();
  };
  EXPECT_EQ(refused({.name = "w", .dtype = DType::u8, .shape = {2}}), ErrorCode::unsupported);
  EXPECT_EQ(refused({.name = "w", .shape = {1, 1, 1, 1, 1}}), ErrorCode::unsupported);
  EXPECT_EQ(refused({.name = std::string(65, 'w'), .shape = {1}}), ErrorCode::unsupported);
  EXPECT_EQ(refused({.name = "w", .shape = {17}, .type_name = "IQ4_NL", .item_bits = 8}), ErrorCode::invalid_argument);
  const TensorSpec fine{.name = "w", .shape = {1}};
  EXPECT_EQ(refused(fine, {.metadata = {{"general.alignment", MetadataValue::of(3U)}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(fine, {.metadata = {{"relayout.layout.w", MetadataValue()}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(fine, {.shards = {0, 1}}), ErrorCode::invalid_argument);
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace relayout::checkpoint
