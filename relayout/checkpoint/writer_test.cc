// Tests of the writer: what it writes is read back by Checkpoint, and by the reader of single files, which knows
// nothing of it; what is not complete does not appear; a job goes on where it ended.
#include "relayout/checkpoint/writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "relayout/io/new_file.h"
#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

TensorSpec spec(const std::string& tensor_name, DType dtype, const Dims& shape) {
  return {.name = tensor_name, .dtype = dtype, .shape = shape};
}

/// The bytes of a tensor: its name's first letter, counted on.
std::string content(const TensorSpec& of, int64_t bytes) {
  std::string out;
  for (int64_t i = 0; i < bytes; ++i) out += static_cast<char>(of.name[0] + i % 100);
  return out;
}

const std::vector<TensorSpec> kSpecs{spec("a", DType::u8, {3}), spec("b", DType::f32, {2, 5}),
                                     spec("c", DType::f16, {0, 4}), spec("d", DType::s64, {}),
                                     spec("e", DType::u8, {2, 2, 2})};

/// Writes the tensors that are not there yet, in pieces of three bytes, up to `most` of them.
void fill(CheckpointWriter& writer, std::size_t most = 100) {
  for (const std::size_t i : writer.order()) {
    if (writer.written(i)) continue;
    if (most-- == 0) return;
    const std::string bytes = content(kSpecs[i], writer.byte_size(i));
    for (std::size_t at = 0; at < bytes.size(); at += 3)
      writer.write(i, static_cast<int64_t>(at),
                   bytes_of(bytes.substr(at, 3)).first(std::min<std::size_t>(3, bytes.size() - at)));
    writer.set_written(i);
  }
}

void expect_all(const std::filesystem::path& path) {
  const Checkpoint model = Checkpoint::open(path);
  ASSERT_EQ(model.tensors().size(), kSpecs.size());
  for (const TensorSpec& wanted : kSpecs) {
    const std::size_t at = model.find(wanted.name);
    const CheckpointTensor& tensor = model.tensors()[at];
    EXPECT_EQ(tensor.problem, std::nullopt) << wanted.name;
    EXPECT_EQ(tensor.dtype, wanted.dtype);
    EXPECT_EQ(tensor.shape, wanted.shape);
    EXPECT_TRUE(tensor.row_major());
    EXPECT_EQ(text_of(model.contents(at).bytes), content(wanted, tensor.byte_size)) << wanted.name;
  }
}

TEST(CheckpointWriter, WritesOneFileThatOthersRead) {
  const TestFolder folder;
  CheckpointWriter writer =
      CheckpointWriter::create(folder / "m.safetensors", kSpecs,
                               {.metadata = {{"format", MetadataValue::of("pt")}, {"n", MetadataValue::of(7U)}}});
  EXPECT_TRUE(folder.names().empty());
  fill(writer);
  writer.commit();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m.safetensors"});
  expect_all(folder / "m.safetensors");
  const TensorFile file = TensorFile::open(folder / "m.safetensors");
  EXPECT_EQ(text_of(file.bytes(file.find("b"))), content(kSpecs[1], 40));
  ASSERT_EQ(file.metadata().size(), 2U);
  EXPECT_EQ(file.metadata()[1], Metadata("n", "7"));
}

TEST(CheckpointWriter, WritesShardsWithAnIndex) {
  const TestFolder folder;
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.shard_bytes = 43});
  fill(writer);
  writer.commit();
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors",
                                                      "m.safetensors.index.json"}));
  expect_all(folder / "m.safetensors.index.json");
  expect_all(folder.path());
  const Checkpoint model = Checkpoint::open(folder.path());
  EXPECT_EQ(model.tensors()[model.find("b")].file, 0U);
  EXPECT_EQ(model.tensors()[model.find("e")].file, 1U);
}

TEST(CheckpointWriter, GivesTensorsTheFilesThatAreAskedFor) {
  const TestFolder folder;
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.shards = {2, 0, 1, 0, 2}});
  fill(writer);
  writer.commit();
  const Checkpoint model = Checkpoint::open(folder.path());
  ASSERT_EQ(model.files().size(), 3U);
  expect_all(folder.path());
  EXPECT_EQ(model.files()[model.tensors()[model.find("a")].file].path.filename(), "m-00003-of-00003.safetensors");
  EXPECT_ERROR(ErrorCode::invalid_argument,
               CheckpointWriter::create(folder / "n.safetensors", kSpecs, {.shards = {2, 0, 0, 0, 2}}));
  EXPECT_ERROR(ErrorCode::invalid_argument,
               CheckpointWriter::create(folder / "n.safetensors", kSpecs, {.shards = {0, 1}}));
}

TEST(CheckpointWriter, LeavesNothingWithoutCommit) {
  const TestFolder folder;
  {
    CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs);
    fill(writer, 2);
    EXPECT_ERROR(ErrorCode::invalid_argument, writer.commit());
    EXPECT_ERROR(ErrorCode::invalid_argument, writer.write(0, 2, bytes_of(std::string("xx"))));
    EXPECT_ERROR(ErrorCode::invalid_argument, writer.write(0, -1, bytes_of(std::string("x"))));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(CheckpointWriter, GoesOnWithAJob) {
  for (const int64_t shard_bytes : {0, 43}) {
    const TestFolder folder;
    const WriteOptions options{.shard_bytes = shard_bytes, .job = "rules 1"};
    for (std::size_t had = 0; had < kSpecs.size(); ++had) {
      CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, options);
      EXPECT_EQ(writer.resumed(), had);
      fill(writer, 1);
    }
    // What is left belongs to that job, and to nobody else while a writer has it.
    CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, options);
    EXPECT_ERROR(ErrorCode::io, CheckpointWriter::create(folder / "m.safetensors", kSpecs, options));
    writer.commit();
    EXPECT_EQ(folder.names().size(), shard_bytes == 0 ? 1U : 3U);
    expect_all(folder.path());
  }
}

TEST(CheckpointWriter, GoesOnAfterKill) {
  for (std::size_t tensors = 0; tensors <= kSpecs.size(); ++tensors) {
    const TestFolder folder;
    const WriteOptions options{.shard_bytes = 43, .job = "j"};
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, options);
      fill(writer, tensors);
      const std::string half = "x";
      if (tensors < kSpecs.size())
        writer.write(writer.order()[tensors], 0,
                     bytes_of(half).first(writer.byte_size(writer.order()[tensors]) > 0 ? 1 : 0));
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(std::filesystem::exists(folder / "m.safetensors.index.json"));
    CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, options);
    EXPECT_EQ(writer.resumed(), tensors);
    fill(writer);
    writer.commit();
    EXPECT_EQ(folder.names().size(), 3U);
    expect_all(folder.path());
  }
}

TEST(CheckpointWriter, StartsAnewForAnotherJob) {
  const TestFolder folder;
  fill(*std::make_unique<CheckpointWriter>(
           CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.job = "rules 1"})),
       3);
  std::vector<TensorSpec> others = kSpecs;
  others[0].dtype = DType::s8;
  for (const auto& [specs, job] : {std::pair(kSpecs, "rules 2"), std::pair(others, "rules 2")}) {
    CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", specs, {.job = job});
    EXPECT_EQ(writer.resumed(), 0U);
    fill(writer, 1);
    if (&specs == &others) writer.discard();
  }
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", others, {.job = "rules 2"});
  EXPECT_EQ(writer.resumed(), 1U);
  writer.discard();
  writer = CheckpointWriter::create(folder / "n.safetensors", kSpecs);
  EXPECT_TRUE(folder.names().empty());
}

TEST(CheckpointWriter, KnowsItsOwnFilesThatHaveTheirNames) {
  const TestFolder folder;
  const WriteOptions options{.shard_bytes = 43, .job = "j"};
  { fill(*std::make_unique<CheckpointWriter>(CheckpointWriter::create(folder / "m.safetensors", kSpecs, options))); }
  // As a writer leaves it that is killed after it gave the first file its name.
  const auto first = folder / "m-00001-of-00002.safetensors";
  const Checkpoint whole = [&] {
    const TestFolder other;
    CheckpointWriter writer = CheckpointWriter::create(other / "m.safetensors", kSpecs, {.shard_bytes = 43});
    fill(writer);
    writer.commit();
    std::filesystem::copy_file(other / "m-00001-of-00002.safetensors", first);
    return Checkpoint::open(first);
  }();
  std::filesystem::remove(io::resumed_path(first));
  EXPECT_ERROR(ErrorCode::io,
               CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.shard_bytes = 43, .job = "k"}));
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, options);
  EXPECT_EQ(writer.resumed(), kSpecs.size());
  writer.commit();
  EXPECT_EQ(folder.names().size(), 3U);
  expect_all(folder.path());
}

TEST(CheckpointWriter, RefusesWhatExistsAndWhatHasNoName) {
  const TestFolder folder;
  write_file(folder / "m.safetensors", "old");
  for (const char* job : {"", "j"})
    EXPECT_ERROR(ErrorCode::io, CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.job = job}));
  EXPECT_EQ(folder.names().size(), 1U);
  CheckpointWriter writer = CheckpointWriter::create(folder / "m.safetensors", kSpecs, {.overwrite = true});
  fill(writer);
  EXPECT_EQ(read_file(folder / "m.safetensors"), "old");
  writer.commit();
  expect_all(folder / "m.safetensors");
  EXPECT_ERROR(ErrorCode::unsupported, CheckpointWriter::create(folder / "m.txt", kSpecs));
  EXPECT_ERROR(ErrorCode::invalid_argument,
               CheckpointWriter::create(folder / "n.safetensors", std::vector{kSpecs[0], kSpecs[0]}));
  EXPECT_ERROR(ErrorCode::invalid_argument,
               CheckpointWriter::create(folder / "n.safetensors", std::vector{spec("", DType::u8, {1})}));
}

}  // namespace
}  // namespace relayout::checkpoint
