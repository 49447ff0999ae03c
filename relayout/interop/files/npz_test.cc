// Tests of .npz: archives made by hand (bombs, duplicates, bad checksums); reading what NumPy writes, and the reverse.
#include <gtest/gtest.h>

#include <cstring>

#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

uint32_t crc32(const std::string& text) {
  uint32_t crc = 0xffffffff;
  for (unsigned char byte : text) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// One member as it is to be written, possibly with a false size or checksum.
struct Member {
  std::string name, stored;
  uint32_t size = 0, crc = 0;
  uint16_t method = 0, flags = 0;
};

Member stored(const std::string& name, const std::string& data) {
  return {name, data, static_cast<uint32_t>(data.size()), crc32(data)};
}
/// `data` as a deflate stream of one uncompressed block.
Member deflated(const std::string& name, const std::string& data) {
  const auto length = static_cast<uint16_t>(data.size());
  std::string block(5, '\1');
  std::memcpy(block.data() + 1, &length, 2);
  const auto inverted = static_cast<uint16_t>(~length);
  std::memcpy(block.data() + 3, &inverted, 2);
  return {name, block + data, static_cast<uint32_t>(data.size()), crc32(data), 8};
}

std::string zip(const std::vector<Member>& members) {
  std::string out, directory;
  const auto put = [](std::string& to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
  };
  for (const Member& m : members) {
    std::string common;
    put(common, 20, 2);
    put(common, m.flags, 2);
    put(common, m.method, 2);
    put(common, 0x00210000, 4);
    put(common, m.crc, 4);
    put(common, m.stored.size(), 4);
    put(common, m.size, 4);
    put(common, m.name.size(), 2);
    put(common, 0, 2);
    directory += "PK\1\2";
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 8);
    put(directory, 0, 2);
    put(directory, out.size(), 4);
    directory += m.name;
    out += "PK\3\4" + common + m.name + m.stored;
  }
  std::string end = "PK\5\6";
  put(end, 0, 4);
  put(end, members.size(), 2);
  put(end, members.size(), 2);
  put(end, directory.size(), 4);
  put(end, out.size(), 4);
  put(end, 0, 2);
  return out + directory + end;
}

std::string array(const std::string& bytes) {
  return npy_head({.dtype = DType::u8, .shape = {static_cast<int64_t>(bytes.size())}}) + bytes;
}

class Npz : public ::testing::Test {
 protected:
  TensorFile open(const std::string& bytes, const FileLimits& limits = {}) {
    write_file(folder_ / "x.npz", bytes);
    return TensorFile::open(folder_ / "x.npz", limits);
  }
  /// What is wrong with the only member.
  Error problem(const std::string& bytes, const FileLimits& limits = {}) {
    const TensorFile file = open(bytes, limits);
    EXPECT_EQ(file.tensors().size(), 1U);
    EXPECT_TRUE(file.tensors()[0].problem);
    return error_of([&] { file.bytes(0); });
  }
  TestFolder folder_;
};

TEST_F(Npz, Members) {
  const TensorFile file =
      open(zip({stored("a.npy", array("one")), deflated("b.npy", array("three")), stored("folder/", ""),
                stored("note.txt", "text"), stored("empty.npy", array("")), stored("../x.npy", array("up"))}));
  EXPECT_EQ(file.format(), FileFormat::npz);
  ASSERT_EQ(file.tensors().size(), 5U);
  EXPECT_EQ(text_of(file.bytes(file.find("a"))), "one");
  EXPECT_EQ(text_of(file.bytes(file.find("b"))), "three");
  EXPECT_EQ(text_of(file.bytes(file.find("b"))), "three");
  EXPECT_EQ(file.tensors()[1].dtype, DType::u8);
  EXPECT_EQ(text_of(file.bytes(file.find("note.txt"))), "text");
  EXPECT_EQ(file.tensors()[file.find("note.txt")].dtype, std::nullopt);
  EXPECT_TRUE(file.bytes(file.find("empty")).empty());
  // A name that looks like a path is only a name.
  EXPECT_EQ(text_of(file.bytes(file.find("../x"))), "up");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"x.npz"});

  const Error error = error_of([&] { file.find(""); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_NE(error.message().find("\"../x\""), std::string::npos) << error.message();
  EXPECT_ERROR(ErrorCode::invalid_argument, file.find("c"));
}

TEST_F(Npz, NoMembers) {
  EXPECT_TRUE(open(zip({})).tensors().empty());
  EXPECT_ERROR(ErrorCode::invalid_argument, open(zip({})).find(""));
}

TEST_F(Npz, Duplicates) {
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({stored("a.npy", array("1")), stored("a.npy", array("2"))})));
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({stored("a.npy", array("1")), stored("a", array("2"))})));
}

TEST_F(Npz, BadChecksum) {
  for (auto make : {stored, deflated}) {
    Member bad = make("a.npy", array("one"));
    bad.crc ^= 1;
    const TensorFile file = open(zip({bad}));
    const Error error = error_of([&] { file.bytes(0); });
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.message();
    EXPECT_NE(error.message().find("\"a\""), std::string::npos) << error.message();
  }
}

TEST_F(Npz, Bombs) {
  // A size that deflate cannot reach.
  Member bomb = deflated("a.npy", array("one"));
  bomb.size = 0xfffffff0;
  EXPECT_EQ(problem(zip({bomb})).code(), ErrorCode::corrupt);
  // A size that deflate can reach, but that is over the limit.
  EXPECT_EQ(problem(zip({stored("a.npy", array("one"))}), {.decoded_bytes = 100}).code(), ErrorCode::limit);
  // Members that are each within the limit, and together over it.
  const TensorFile file =
      open(zip({deflated("a.npy", array(std::string(300, 'a'))), deflated("b.npy", array(std::string(300, 'b')))}),
           {.decoded_bytes = 500});
  EXPECT_EQ(file.bytes(0).size(), 300U);
  EXPECT_ERROR(ErrorCode::limit, file.bytes(1));
  EXPECT_ERROR(ErrorCode::limit, open(zip({stored("a", ""), stored("b", "")}), {.tensors = 1}));
}

TEST_F(Npz, SizesThatLie) {
  Member less = stored("a.npy", array("one")), more = deflated("a.npy", array("one"));
  less.size -= 1;
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({less})).bytes(0));
  more.size += 1;
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({more})).bytes(0));
  Member fewer = deflated("a.npy", array("one"));
  fewer.size -= 1;
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({fewer})).bytes(0));
  // The size fits the .npy header, but the deflate stream has more bytes.
  Member longer = deflated("a.npy", array("one") + "two");
  longer.size -= 3;
  EXPECT_ERROR(ErrorCode::corrupt, open(zip({longer})).bytes(0));
}

TEST_F(Npz, Unsupported) {
  Member odd = stored("a.npy", array("one"));
  odd.method = 12;
  EXPECT_EQ(problem(zip({odd})).code(), ErrorCode::unsupported);
  Member secret = stored("a.npy", std::string(12, 'k') + array("one"));
  secret.flags = 1;
  EXPECT_EQ(problem(zip({secret})).code(), ErrorCode::unsupported);
}

TEST_F(Npz, OthersThanTheWantedOneDoNotMatter) {
  Member bad = deflated("bad.npy", array("ABCDEF"));
  bad.method = 93;  // zstd
  write_file(folder_ / "x.npz", zip({bad, stored("a.npy", array("ABC"))}));
  for (const char* wanted : {"", "bad"}) {
    const TensorFile file = TensorFile::open(folder_ / "x.npz", {}, wanted);
    EXPECT_ERROR(ErrorCode::unsupported, file.bytes(file.find("bad")));
    if (*wanted == 0) {
      EXPECT_EQ(text_of(file.bytes(file.find("a"))), "ABC");
    }
  }
  const TensorFile file = TensorFile::open(folder_ / "x.npz", {}, "a");
  EXPECT_EQ(text_of(file.bytes(file.find("a"))), "ABC");
  EXPECT_EQ(file.tensors()[file.find("bad")].byte_size, 0);
  EXPECT_NE(error_of([&] { file.find("b"); }).message().find("\"bad\""), std::string::npos);
}

TEST_F(Npz, NamesNearAMissingOneAreSuggested) {
  const TensorFile file = open(zip({stored("encoder.weight.npy", array("1")), stored("encoder.bias.npy", array("2")),
                                    stored("Mean.npy", array("3")), stored("x.npy", array("4"))}));
  const auto said = [&](const char* name) {
    const std::string message = error_of([&] { file.find(name); }).message();
    return message.substr(message.find("; ") + 2, message.find(" the file has") - message.find("; ") - 2);
  };
  EXPECT_EQ(said("encoder.wieght"), "did you mean \"encoder.weight\"?");
  EXPECT_EQ(said("bias"), "did you mean \"encoder.bias\"?");
  EXPECT_EQ(said("mean"), "did you mean \"Mean\"?");
  EXPECT_EQ(said("encoder"), "did you mean \"encoder.bias\" or \"encoder.weight\"?");
  EXPECT_EQ(error_of([&] { file.find("zzzzz"); }).message().find("did you mean"), std::string::npos);
}

TEST_F(Npz, ObjectsAndOddTypesHideNoOthers) {
  const auto member = [](const std::string& descr, const std::string& shape, const std::string& data) {
    const std::string dict = "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}\n";
    return std::string(kNpyMagic) + '\1' + '\0' + static_cast<char>(dict.size()) + '\0' + dict + data;
  };
  const TensorFile file = open(
      zip({stored("o.npy", member("'|O'", "(1,)", "a pickle")), stored("c.npy", member("'<c8'", "(1,)", "12345678")),
           stored("r.npy", member("[('a', '<f4'), ('b', '|u1')]", "(1,)", "12345")), stored("a.npy", array("one"))}));
  EXPECT_ERROR(ErrorCode::unsupported, file.bytes(0));
  EXPECT_EQ(file.tensors()[1].type_name, "<c8");
  EXPECT_EQ(text_of(file.bytes(1)), "12345678");
  EXPECT_EQ(file.tensors()[2].type_name, "[('a', '<f4'), ('b', '|u1')]");
  EXPECT_EQ(file.tensors()[2].item_bits, 40);
  EXPECT_EQ(text_of(file.bytes(2)), "12345");
  EXPECT_EQ(text_of(file.bytes(3)), "one");
}

TEST_F(Npz, Damage) {
  const std::string good = zip({stored("a.npy", array("one")), deflated("b.npy", array("two"))});
  EXPECT_ERROR(ErrorCode::corrupt, open(""));
  EXPECT_ERROR(ErrorCode::corrupt, open("PK\3\4"));
  EXPECT_EQ(problem(zip({stored("a.npy", "no array")})).code(), ErrorCode::corrupt);
  EXPECT_EQ(problem(zip({stored("a.npy", "")})).code(), ErrorCode::corrupt);
  for (std::size_t cut = 0; cut < good.size(); cut += 7) EXPECT_ERROR(ErrorCode::corrupt, open(good.substr(0, cut)));
  // If any one byte is changed, the result is an Error or a good file, and never a crash.
  int errors = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    try {
      const TensorFile file = open(bad);
      for (std::size_t i = 0; i < file.tensors().size(); ++i) file.bytes(i);
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, static_cast<int>(good.size()) / 2);
}

TEST_F(Npz, Writes) {
  for (const std::string& name :
       {std::string(), std::string("weights"), std::string("../x"), std::string("\xc3\xbc")}) {
    TensorWriter out = TensorWriter::create(folder_ / "w.npz", {.name = name, .dtype = DType::u8, .shape = {3}}, true);
    EXPECT_TRUE(out.mapped());
    EXPECT_EQ(out.bytes().size(), 3U);
    std::memcpy(out.bytes().data(), "abc", 3);
    out.commit();
    const TensorFile file = TensorFile::open(folder_ / "w.npz");
    EXPECT_EQ(file.tensors()[0].name, name.empty() ? "arr_0" : name);
    EXPECT_EQ(text_of(file.bytes(0)), "abc");
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"w.npz"});
  }
  const std::string before = read_file(folder_ / "w.npz");
  EXPECT_ERROR(ErrorCode::io, TensorWriter::create(folder_ / "w.npz", {.shape = {3}}));
  EXPECT_EQ(read_file(folder_ / "w.npz"), before);
  const TensorSpec zero{.name = std::string("a\0b", 3), .shape = {3}}, encoding{.name = "\xff\xfe", .shape = {3}};
  EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create(folder_ / "n.npz", zero));
  EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create(folder_ / "n.npz", encoding).commit());
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"w.npz"});
}

TEST_F(Npz, WritesSeveralTensors) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(values));
  const std::vector<NamedTensor> tensors = {{{.name = "boxes", .dtype = DType::f32, .shape = {2, 3}}, values},
                                            {{.name = "none", .dtype = DType::f32, .shape = {0, 3}}, {}},
                                            {{.name = "scores", .dtype = DType::u8, .shape = {24}}, bytes}};
  write_npz(folder_ / "several.npz", tensors);
  const TensorFile file = TensorFile::open(folder_ / "several.npz");
  ASSERT_EQ(file.tensors().size(), 3U);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.tensors()[i].name, tensors[i].spec.name);
    EXPECT_EQ(file.tensors()[i].shape, tensors[i].spec.shape);
    EXPECT_TRUE(std::ranges::equal(file.bytes(i), tensors[i].elements.bytes()));
  }
  EXPECT_ERROR(ErrorCode::io, write_npz(folder_ / "several.npz", tensors));
  const std::vector<NamedTensor> twice = {tensors[0], tensors[0]}, short_one = {{tensors[0].spec, bytes.first(4)}},
                                 long_one = {{{.name = "b", .dtype = DType::u8, .shape = {23}}, bytes}},
                                 other = {{tensors[0].spec, std::span<const int32_t>()}};
  EXPECT_ERROR(ErrorCode::invalid_argument, write_npz(folder_ / "twice.npz", twice));
  EXPECT_ERROR(ErrorCode::buffer_too_small, write_npz(folder_ / "wrong.npz", short_one));
  EXPECT_ERROR(ErrorCode::invalid_argument, write_npz(folder_ / "wrong.npz", long_one));
  const Error type = error_of([&] { write_npz(folder_ / "wrong.npz", other); });
  EXPECT_EQ(type.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type.message().substr(0, 62), "npz: member \"boxes\": the source holds elements of type s32, bu");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"several.npz"});
  // In an archive the elements lie anywhere, so that they are copied there.
  TensorWriter out = TensorWriter::create(folder_ / "one.npz", {.name = "abcd", .dtype = DType::f32, .shape = {6}});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(out.bytes().data()) % 4, 0U + (30 + 8) % 4);
  EXPECT_ERROR(ErrorCode::unsupported, out.elements<float>());
  out.write(values);
  out.commit();
  EXPECT_TRUE(std::ranges::equal(TensorFile::open(folder_ / "one.npz").elements<float>(0), values));
}

TEST_F(Npz, NumpyReadsAndWritesTheSame) {
  SKIP_WITHOUT_NUMPY();
  for (const Dims& shape : {Dims{}, Dims{0}, Dims{2, 3}, Dims{300, 300}}) {
    TensorWriter out = TensorWriter::create(folder_ / ("ours" + join(shape, "x") + ".npz"),
                                            {.name = "t", .dtype = DType::f32, .shape = shape});
    const auto bytes = out.bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i % 63);
    out.commit();
  }
  run_python(folder_, R"(
import numpy as np
for shape in [(), (0,), (2, 3), (300, 300)]:
    want = np.frombuffer(bytes(i % 63 for i in range(4 * int(np.prod(shape)))), '<f4').reshape(shape)
    with np.load('ours' + 'x'.join(map(str, shape)) + '.npz') as got:
        assert list(got.keys()) == ['t'], list(got.keys())
        assert got['t'].dtype == want.dtype and got['t'].shape == want.shape and (got['t'] == want).all()
arrays = dict(a=np.arange(6, dtype='<i4').reshape(2, 3), b=np.zeros((0, 4)), big=np.zeros((100, 1000), '>f8'),
              s=np.float32(3))
np.savez('theirs.npz', *[np.arange(5)], **arrays)
np.savez_compressed('packed.npz', *[np.arange(5)], **arrays)
)");
  for (const char* file_name : {"theirs.npz", "packed.npz"}) {
    const TensorFile file = TensorFile::open(folder_ / file_name);
    ASSERT_EQ(file.tensors().size(), 5U);
    const std::size_t a = file.find("a"), big = file.find("big");
    EXPECT_EQ(file.tensors()[a].shape, (Dims{2, 3}));
    const int32_t want[] = {0, 1, 2, 3, 4, 5};
    ASSERT_EQ(file.bytes(a).size(), sizeof want);
    EXPECT_EQ(std::memcmp(file.bytes(a).data(), want, sizeof want), 0);
    EXPECT_TRUE(file.tensors()[big].byte_swapped);
    EXPECT_EQ(file.bytes(big).size(), 800'000U);
    EXPECT_TRUE(file.bytes(file.find("b")).empty());
    EXPECT_EQ(file.tensors()[file.find("arr_0")].shape, Dims{5});
    EXPECT_EQ(file.tensors()[file.find("s")].shape, Dims{});
  }
}

TEST_F(Npz, DecodingAndWritingAreWatchedAndEnded) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(50) << 20, std::byte{7});
  const TensorSpec spec{.name = "a", .dtype = DType::u8, .shape = {50 << 20}};
  const std::vector<NamedTensor> tensors = {{spec, bytes}};
  int64_t last = 0, all = 0;
  int calls = 0;
  const auto watch = [&](int64_t done, int64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
    return ++calls > 0;
  };
  const auto stop = [](int64_t, int64_t) { return false; };
  const auto code_of = [](const auto& call) { return error_of(call).code(); };
  EXPECT_EQ(code_of([&] { write_npz(folder_ / "x.npz", tensors, false, stop); }), ErrorCode::interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THROW(
      write_npz(folder_ / "x.npz", tensors, false, [](int64_t, int64_t) -> bool { throw std::runtime_error("ended"); }),
      std::runtime_error);
  write_npz(folder_ / "x.npz", tensors, false, watch);
  EXPECT_TRUE(calls > 4 && last == all && all > 50 << 20);

  const TensorFile file = TensorFile::open(folder_ / "x.npz");
  EXPECT_EQ(code_of([&] { file.bytes(0, stop); }), ErrorCode::interrupted);
  calls = 0;
  last = 0;
  EXPECT_TRUE(std::ranges::equal(file.bytes(0, watch), bytes));
  EXPECT_TRUE(calls > 4 && last == all && all == 50 << 20);
  file.bytes(0, stop);  // decoded already

  TensorWriter writer = TensorWriter::create(folder_ / "y.npz", spec);
  std::ranges::copy(bytes, writer.bytes().begin());
  EXPECT_EQ(code_of([&] { writer.commit(stop); }), ErrorCode::interrupted);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y.npz"));
  last = 0;
  writer.commit(watch);
  EXPECT_TRUE(std::ranges::equal(TensorFile::open(folder_ / "y.npz").bytes(0), bytes));
}

}  // namespace
}  // namespace relayout
