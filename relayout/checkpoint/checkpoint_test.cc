// Tests of reading checkpoints of several files, and of what is recorded of tensors.
#include "relayout/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

/// A .safetensors file of this header and data.
std::string safetensors(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  for (int byte = 0; byte < 8; ++byte)
    out[static_cast<std::size_t>(byte)] = static_cast<char>(header.size() >> (8 * byte) & 0xff);
  return out + header + data;
}
const std::string kA = safetensors(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "aa");
const std::string kB = safetensors(R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "bbb");

std::vector<std::string> names_of(const Checkpoint& model) {
  std::vector<std::string> out;
  for (const CheckpointTensor& tensor : model.tensors()) out.push_back(tensor.name + (tensor.problem ? "!" : ""));
  return out;
}
using Names = std::vector<std::string>;

TEST(Checkpoint, JoinsTheFilesOfAnIndex) {
  const TestFolder folder;
  write_file(folder / "one.safetensors", kA);
  write_file(folder / "two.safetensors", kB);
  write_file(folder / "m.index.json", R"({"weight_map":{"b":"two.safetensors","a":"one.safetensors"}})");
  const Checkpoint model = Checkpoint::open(folder / "m.index.json");
  EXPECT_EQ(names_of(model), (Names{"b", "a"}));
  EXPECT_EQ(model.files()[0].path.filename(), "two.safetensors");
  EXPECT_EQ(text_of(model.contents(1).bytes), "aa");
  EXPECT_EQ(model.lookup("c"), std::nullopt);
  const Error error = error_of([&] { (void)model.find("bb"); });
  EXPECT_EQ(error.message(), R"(no tensor "bb"; there are "b", "a")");
}

TEST(Checkpoint, ListsWhatAnIndexSaysAndFilesDoNotHave) {
  const TestFolder folder;
  write_file(folder / "one.safetensors", kA);
  write_file(folder / "two.safetensors", kB.substr(0, 30));
  write_file(folder / "m.index.json",
             R"({"weight_map":{"b":"two.safetensors","c":"one.safetensors","d":"three.safetensors"}})");
  const Checkpoint model = Checkpoint::open(folder / "m.index.json");
  EXPECT_EQ(names_of(model), (Names{"a!", "b!", "c!", "d!"}));
  EXPECT_EQ(model.files()[1].problem, std::nullopt);
  EXPECT_ERROR(ErrorCode::corrupt, (void)model.contents(1));
  EXPECT_ERROR(ErrorCode::io, (void)model.contents(3));
}

TEST(Checkpoint, LeavesNoFolderByAnIndex) {
  const TestFolder folder;
  for (const char* file : {"../m.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "", "a\\\\b", "a\\u0000"}) {
    write_file(folder / "m.index.json", std::string(R"({"weight_map":{"a":")") + file + "\"}}");
    const Error error = error_of([&] { (void)Checkpoint::open(folder / "m.index.json"); });
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << file;
    EXPECT_NE(error.message().find("m.index.json\": index: tensor \"a\""), std::string::npos) << error.message();
  }
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":{}}})"}) {
    write_file(folder / "m.index.json", text);
    EXPECT_ERROR(ErrorCode::corrupt, (void)Checkpoint::open(folder / "m.index.json"));
  }
}

TEST(Checkpoint, RefusesATensorInTwoFiles) {
  const TestFolder folder;
  write_file(folder / "one.safetensors", kA);
  write_file(folder / "two.safetensors", kA);
  write_file(folder / "m.index.json", R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const Checkpoint model = Checkpoint::open(folder / "m.index.json");
  EXPECT_EQ(names_of(model), (Names{"a", "b!"}));
  ASSERT_TRUE(model.files()[1].problem);
  EXPECT_NE(model.files()[1].problem->message().find("which is in \"one.safetensors\" by the index"),
            std::string::npos);
}

TEST(Checkpoint, FindsTheModelOfAFolder) {
  const TestFolder folder;
  EXPECT_ERROR(ErrorCode::invalid_argument, (void)Checkpoint::open(folder.path()));
  write_file(folder / "one.safetensors", kA);
  write_file(folder / "config.json", "{}");
  EXPECT_EQ(names_of(Checkpoint::open(folder.path())), Names{"a"});
  write_file(folder / "two.safetensors", kB);
  const Error error = error_of([&] { (void)Checkpoint::open(folder.path()); });
  EXPECT_NE(error.message().find("one.safetensors, two.safetensors"), std::string::npos) << error.message();
  write_file(folder / "m.safetensors.index.json", R"({"weight_map":{"b":"two.safetensors"}})");
  EXPECT_EQ(names_of(Checkpoint::open(folder.path())), Names{"b"});
}

TEST(Checkpoint, HasWhatIsRecordedOfTensors) {
  const TestFolder folder;
  const std::string recorded = R"(\"w\":{\"layout\":\"ohwi\",\"dims\":[2,3,1,1],\"dtype\":\"u8\",\"from\":\"oihw\"},)"
                               R"(\"s\":{\"strides\":[1,2]},\"t\":{\"strides\":[1]},)"
                               R"(\"q\":{\"packed\":\"ggml:q4_0\",\"packed_dims\":[2,32]},)"
                               R"(\"r\":{\"packed\":\"ggml:q4_0\",\"packed_dims\":[2,31]},)"
                               R"(\"x\":{\"packed\":\"none\",\"packed_dims\":[2,32]})";
  const std::string header = R"({"__metadata__":{"relayout":"{\"version\":1,\"tensors\":{)" + recorded + R"(}}"},)" +
                             R"("w":{"dtype":"U8","shape":[2,1,1,3],"data_offsets":[0,6]},)"
                             R"("s":{"dtype":"U8","shape":[2,3],"data_offsets":[6,12]},)"
                             R"("t":{"dtype":"U8","shape":[2,3],"data_offsets":[12,18]},)"
                             R"("q":{"dtype":"U8","shape":[2,18],"data_offsets":[18,54]},)"
                             R"("r":{"dtype":"U8","shape":[2,18],"data_offsets":[54,90]},)"
                             R"("x":{"dtype":"U8","shape":[2,18],"data_offsets":[90,126]}})";
  write_file(folder / "m.safetensors", safetensors(header, std::string(126, 'x')));
  const Checkpoint model = Checkpoint::open(folder / "m.safetensors");
  EXPECT_EQ(names_of(model), (Names{"w", "s", "t!", "q", "r!", "x!"}));
  const auto tensor = [&](const char* wanted) { return model.tensors()[model.find(wanted)]; };
  EXPECT_EQ(tensor("w").layout->text(), "ohwi");
  EXPECT_EQ(tensor("w").dims, (Dims{2, 3, 1, 1}));
  EXPECT_EQ(tensor("w").notes.from, "oihw");
  EXPECT_EQ(tensor("s").notes.strides, (Dims{1, 2}));
  EXPECT_EQ(tensor("q").notes.packed, "ggml:q4_0");
  EXPECT_EQ(tensor("q").notes.packed_dims, (Dims{2, 32}));
  EXPECT_TRUE(model.metadata().empty());
}

}  // namespace
}  // namespace relayout::checkpoint
