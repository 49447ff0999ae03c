// Tests of PyTorch's archives, made byte by byte: views, nested dicts, what is refused, and archives that are hostile.
// tests/checkpoints compares with torch itself.
#include <gtest/gtest.h>

#include "relayout/checkpoint/checkpoint.h"
#include "relayout/checkpoint/writer.h"
#include "tests/support/tensor_files.h"
#include "tests/support/zip_archive.h"

namespace relayout::checkpoint {
namespace {

using std::string_literals::operator""s;
using test::zip_archive;

std::string pickled_text(const std::string& characters) {
  return "X" + test::little_endian(static_cast<uint32_t>(characters.size())) + characters;
}
std::string number(int32_t value) { return "J" + test::little_endian(value); }
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
std::string dims(const std::vector<int32_t>& values) {
  std::string out = "(";
  for (const int32_t value : values) out += number(value);
  return out + "t";
}
std::string storage(const std::string& type, const std::string& key) {
  return "(" + pickled_text("storage") + global("torch", type) + pickled_text(key) + pickled_text("cpu") + number(6) +
         "tQ";
}
std::string tensor(const std::string& of_storage, int32_t offset, const std::vector<int32_t>& size,
                   const std::vector<int32_t>& stride) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + of_storage + number(offset) + dims(size) + dims(stride) +
         "\x89" + global("collections", "OrderedDict") + ")RtR";
}
/// A dict of these keys and values.
std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += pickled_text(key) + value;
  return out + "u";
}
const std::string kBytes = "abcdefghijkl";

struct Saved {
  explicit Saved(const std::string& value, bool deflate = false, const std::string& order = "little") {
    write_file(folder / "m.pt", zip_archive({{"m/data.pkl", "\x80\x02" + value + ".", deflate},
                                             {"m/byteorder", order},
                                             {"m/data/0", kBytes, deflate},
                                             {"m/version", "3\n"}}));
  }
  Checkpoint open() const { return Checkpoint::open(folder / "m.pt"); }
  TestFolder folder;
};

TEST(Pytorch, ReadsViewsOfStorages) {
  for (const bool deflate : {false, true}) {
    const Saved saved(dict({{"w", tensor(storage("ShortStorage", "0"), 0, {2, 3}, {3, 1})},
                            {"t", tensor(storage("ShortStorage", "0"), 1, {2, 2}, {1, 2})},
                            {"s", tensor(storage("ByteStorage", "0"), 11, {}, {})},
                            {"e", tensor(storage("FloatStorage", "0"), 100, {0, 3}, {3, 1})}}),
                      deflate);
    const Checkpoint model = saved.open();
    ASSERT_EQ(model.tensors().size(), 4U);
    EXPECT_EQ(model.tensors()[0].dtype, DType::s16);
    EXPECT_EQ(model.tensors()[0].mapped, !deflate);
    EXPECT_EQ(text_of(model.contents(0).bytes), kBytes);
    EXPECT_EQ(model.tensors()[1].strides, (Dims{1, 2}));
    EXPECT_EQ(text_of(model.contents(1).bytes), "cdefghij");
    EXPECT_EQ(model.tensors()[1].array_bytes(), 8);
    EXPECT_EQ(text_of(model.contents(2).bytes), "l");
    EXPECT_EQ(model.tensors()[3].problem, std::nullopt);
    EXPECT_EQ(model.contents(3).bytes.size(), 0U);
  }
}

TEST(Pytorch, ReadsParametersAndNewTypes) {
  const std::string plain = tensor(storage("ByteStorage", "0"), 0, {2}, {1});
  const auto untyped = [&](const std::string& type) {
    return global("torch._utils", "_rebuild_tensor_v3") + "((" + pickled_text("storage") +
           global("torch.storage", "UntypedStorage") + pickled_text("0") + pickled_text("cpu") + number(6) + "tQ" +
           number(0) + dims({2}) + dims({1}) + "\x89" + global("collections", "OrderedDict") + ")R" +
           global("torch", type) + "tR";
  };
  const Saved saved(
      dict({{"p", global("torch._utils", "_rebuild_parameter") + "(" + plain + "\x88" +
                      global("collections", "OrderedDict") + ")RtR"},
            {"f8", untyped("float8_e4m3fn")},
            {"u16", untyped("uint16")},
            {"odd", untyped("quint4x2")},
            {"sub", global("torch._tensor", "_rebuild_from_type_v2") + "(" +
                        global("torch._utils", "_rebuild_tensor_v2") + global("torch.nn.parameter", "Parameter") + "(" +
                        storage("ByteStorage", "0") + number(2) + dims({1}) + dims({1}) + "\x89Nt}tR"},
            {"c", tensor(storage("ComplexFloatStorage", "0"), 0, {1}, {1})}}));
  const Checkpoint model = saved.open();
  ASSERT_EQ(model.tensors().size(), 6U);
  EXPECT_EQ(text_of(model.contents(0).bytes), "ab");
  EXPECT_EQ(model.tensors()[1].dtype, DType::f8_e4m3);
  EXPECT_EQ(model.tensors()[2].dtype, DType::u16);
  ASSERT_TRUE(model.tensors()[3].problem);
  EXPECT_NE(model.tensors()[3].problem->message().find("torch.quint4x2"), std::string::npos);
  EXPECT_EQ(text_of(model.contents(4).bytes), "c");
  EXPECT_EQ(model.tensors()[5].type_name, "<c8");
  EXPECT_EQ(text_of(model.contents(5).bytes), "abcdefgh");
}

TEST(Pytorch, JoinsNamesAndKeepsPlainValues) {
  const std::string plain = tensor(storage("ByteStorage", "0"), 0, {2}, {1});
  const std::string ordered = global("collections", "OrderedDict") + "(](" + pickled_text("b") + plain + "\x86" + "etR";
  const Saved saved(
      dict({{"model", dict({{"w", plain}})},
            {"pairs", global("collections", "OrderedDict") + "](" + pickled_text("b") + plain + "\x86" + "e\x85R"},
            {"set", global("collections", "OrderedDict") + ")R" + pickled_text("c") + plain + "s"},
            {"list", "](" + plain + number(7) + "e"},
            {"epoch", number(3)},
            {"name", pickled_text("x")},
            {"none", "N"},
            {"lr", "G\x3f\xf8\0\0\0\0\0\0"s},
            {"type", global("torch", "float32")}}));
  const Checkpoint model = saved.open();
  std::string names;
  for (const CheckpointTensor& each : model.tensors()) names += each.name + (each.problem ? "! " : " ");
  EXPECT_EQ(names, "model.w pairs.b set.c list.0 ");
  std::string values;
  for (const auto& [key, value] : model.metadata()) values += key + "=" + value.json() + " ";
  EXPECT_EQ(values, R"(list.1=7 epoch=3 name="x" none="None" lr=1.5 type="torch.float32" )");
}

TEST(Pytorch, NamesWhatItRefusesAndReadsTheRest) {
  const std::string plain = tensor(storage("ByteStorage", "0"), 0, {2}, {1});
  const Saved saved(
      dict({{"evil", global("os", "system") + pickled_text("touch /tmp/x") + "\x85R"},
            {"array", global("numpy.core.multiarray", "_reconstruct") + ")R"},
            {"w", plain},
            {"far", tensor(storage("ByteStorage", "0"), 11, {2}, {1})},
            {"gone", tensor(storage("ByteStorage", "9"), 0, {2}, {1})},
            {"huge", tensor(storage("ByteStorage", "0"), 0, {2147483647, 2147483647, 2147483647}, {1, 1, 1})},
            {"many", tensor(storage("ByteStorage", "0"), 0, {2147483647, 2147483647, 3}, {0, 0, 0})},
            {"back", tensor(storage("ByteStorage", "0"), 0, {2}, {-1})},
            {"ranks", tensor(storage("ByteStorage", "0"), 0, {2}, {1, 1})},
            {"q", tensor(storage("QInt8Storage", "0"), 0, {2}, {1})},
            {"args", global("torch._utils", "_rebuild_tensor_v2") + ")R"}}));
  const Checkpoint model = saved.open();
  std::string bad;
  for (const CheckpointTensor& each : model.tensors()) bad += each.problem ? each.name + " " : "";
  EXPECT_EQ(bad, "evil array far gone huge many back ranks q args ");
  EXPECT_NE(model.tensors()[0].problem->message().find("os.system"), std::string::npos);
  EXPECT_EQ(text_of(model.contents(2).bytes), "ab");
}

TEST(Pytorch, RefusesWhatHoldsNoTensors) {
  const auto refused = [](const std::string& value) { return error_of([&] { (void)Saved(value).open(); }); };
  const Error module = refused(global("torch.nn.modules.linear", "Linear") + ")\x81}b");
  EXPECT_EQ(module.code(), ErrorCode::unsupported);
  EXPECT_NE(module.message().find("torch.nn.modules.linear.Linear"), std::string::npos) << module.message();
  EXPECT_EQ(refused("N").code(), ErrorCode::unsupported);
  EXPECT_EQ(refused("0").code(), ErrorCode::corrupt);
  const TestFolder folder;
  write_file(folder / "old.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  const Error old = error_of([&] { (void)Checkpoint::open(folder / "old.pt"); });
  EXPECT_NE(old.message().find("before PyTorch 1.6"), std::string::npos) << old.message();
}

TEST(Pytorch, BoundsWhatGrows) {
  const auto refused = [](const std::string& value) { return error_of([&] { (void)Saved(value).open(); }); };
  // A list in itself, and lists that each hold the one before twice.
  EXPECT_EQ(refused("]q\0h\0a"s).code(), ErrorCode::limit);
  std::string doubled = "]q\0"s;
  for (int i = 0; i < 30; ++i)
    doubled += "](h"s + static_cast<char>(i) + "h" + static_cast<char>(i) + "eq" + static_cast<char>(i + 1);
  EXPECT_EQ(refused(doubled).code(), ErrorCode::limit);
  // A long text in many places.
  std::string named = "]q\0("s + pickled_text(std::string(1 << 20, 'n')) + "q\1";
  for (int i = 0; i < 300; ++i) named += "h\1";
  EXPECT_EQ(refused(named + "e").code(), ErrorCode::limit);
}

TEST(Pytorch, TakesBigEndianArchives) {
  const Checkpoint model = Saved(dict({{"w", tensor(storage("ShortStorage", "0"), 0, {2}, {1})},
                                       {"b", tensor(storage("ByteStorage", "0"), 0, {2}, {1})}}),
                                 false, "big")
                               .open();
  EXPECT_TRUE(model.tensors()[0].byte_swapped);
  EXPECT_FALSE(model.tensors()[1].byte_swapped);
}

TEST(Pytorch, WritesWhatItReads) {
  const TestFolder folder;
  const std::vector<TensorSpec> specs{{.name = "f32", .dtype = DType::f32, .shape = {2, 3}},
                                      {.name = "f8", .dtype = DType::f8_e4m3, .shape = {5}},
                                      {.name = "u16", .dtype = DType::u16, .shape = {2}},
                                      {.name = "complex", .shape = {2}, .type_name = "<c8", .item_bits = 64},
                                      {.name = "empty", .dtype = DType::bf16, .shape = {0, 3}},
                                      {.name = "scalar", .dtype = DType::boolean, .shape = {}}};
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.pt", specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(writer.offset_of(i) % 64, 0);
    writer.write(i, 0, bytes_of(std::string(static_cast<std::size_t>(writer.byte_size(i)), specs[i].name[0])));
    writer.set_written(i);
  }
  writer.commit();
  const Checkpoint model = Checkpoint::open(folder / "m.pt");
  ASSERT_EQ(model.tensors().size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec again = spec_of(model.tensors()[i]);
    EXPECT_EQ(model.tensors()[i].problem, std::nullopt) << specs[i].name;
    EXPECT_EQ(again.name, specs[i].name);
    EXPECT_EQ(again.shape, specs[i].shape);
    EXPECT_EQ(again.type_name, specs[i].type_name);
    if (again.type_name.empty()) {
      EXPECT_EQ(again.dtype, specs[i].dtype);
    }
    EXPECT_EQ(text_of(model.contents(i).bytes),
              std::string(static_cast<std::size_t>(model.tensors()[i].byte_size), specs[i].name[0]));
  }
  const auto refused = [&](const TensorSpec& spec, const WriteOptions& options = {}) {
    return error_of([&] { (void)CheckpointWriter::create(folder / "n.pt", std::vector{spec}, options); }).code();
  };
  EXPECT_EQ(refused({.name = "w", .dtype = DType::u4, .shape = {2}}), ErrorCode::unsupported);
  EXPECT_EQ(refused({.name = "w", .shape = {2}, .type_name = "<U3", .item_bits = 96}), ErrorCode::unsupported);
  EXPECT_EQ(refused(specs[0], {.metadata = {{"k", MetadataValue()}}}), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout::checkpoint
