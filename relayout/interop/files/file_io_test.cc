// Tests of opening and creating files: formats, raw bytes, outputs that appear whole or not at all, pipes, devices,
// full disks.
#include "relayout/interop/files/file_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "relayout/core/system_error.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

using Names = std::vector<std::string>;

class FileIo : public ::testing::Test {
 protected:
  /// A writer whose file is to hold the three bytes "abc".
  TensorWriter writer(const std::string& name, bool overwrite = false) {
    TensorWriter out = TensorWriter::create(folder_ / name, {.dtype = DType::u8, .shape = {3}}, overwrite);
    std::memcpy(out.bytes().data(), "abc", 3);
    return out;
  }
  TestFolder folder_;
};

TEST_F(FileIo, FormatOfPath) {
  EXPECT_EQ(format_of_path("a.npy"), FileFormat::npy);
  EXPECT_EQ(format_of_path("a.NPZ"), FileFormat::npz);
  EXPECT_EQ(format_of_path("dir.npy/a.safetensors"), FileFormat::safetensors);
  EXPECT_EQ(format_of_path("a.bin"), FileFormat::raw);
  EXPECT_EQ(format_of_path("a.raw"), FileFormat::raw);
  EXPECT_EQ(format_of_path("a.png"), FileFormat::png);
  EXPECT_EQ(format_of_path("a.jpg"), FileFormat::jpeg);
  EXPECT_EQ(format_of_path("a.jpeg"), FileFormat::jpeg);
  for (const char* path : {"", "npy", ".npy", "a.", "a.txt", "/dev/null"})
    EXPECT_EQ(format_of_path(path), std::nullopt) << path;
  EXPECT_EQ(name(FileFormat::safetensors), "safetensors");
}

TEST_F(FileIo, FirstBytesBeforeTheName) {
  const std::string npy = npy_head({.dtype = DType::u8, .shape = {3}}) + "abc";
  write_file(folder_ / "a.png", npy);
  EXPECT_EQ(TensorFile::open(folder_ / "a.png").format(), FileFormat::npy);
  write_file(folder_ / "a", npy);
  EXPECT_EQ(TensorFile::open(folder_ / "a").format(), FileFormat::npy);
  write_file(folder_ / "a.bin", npy);
  EXPECT_EQ(TensorFile::open(folder_ / "a.bin").format(), FileFormat::raw);
  write_file(folder_ / "a.npy", "text");
  EXPECT_ERROR(ErrorCode::corrupt, TensorFile::open(folder_ / "a.npy"));
  write_file(folder_ / "a.txt", "text");
  EXPECT_EQ(TensorFile::open(folder_ / "a.txt").format(), FileFormat::raw);
}

TEST_F(FileIo, Raw) {
  write_file(folder_ / "a.bin", "hello");
  const TensorFile file = TensorFile::open(folder_ / "a.bin");
  const StoredTensor& t = file.tensors()[file.find("")];
  EXPECT_EQ(t.shape, Dims{5});
  EXPECT_EQ(t.byte_size, 5);
  EXPECT_EQ(t.item_bits, 0);
  EXPECT_EQ(t.dtype, std::nullopt);
  EXPECT_EQ(text_of(file.bytes(0)), "hello");
  EXPECT_TRUE(file.mapped(0));
  release_pages(file.bytes(0));
  EXPECT_EQ(text_of(file.bytes(0)), "hello");

  writer("b.raw").commit();
  EXPECT_EQ(read_file(folder_ / "b.raw"), "abc");
  TensorWriter::create(folder_ / "c.bin", {.dtype = DType::u4, .shape = {3, 3}}).commit();
  EXPECT_EQ(read_file(folder_ / "c.bin"), std::string(5, '\0'));
}

TEST_F(FileIo, ZeroSizes) {
  for (const char* each : {"z.npy", "z.npz", "z.safetensors", "z.bin"}) {
    TensorWriter out = TensorWriter::create(folder_ / each, {.dtype = DType::f32, .shape = {2, 0, 3}});
    EXPECT_TRUE(out.bytes().empty());
    release_pages(out.bytes());
    out.commit();
    const TensorFile file = TensorFile::open(folder_ / each);
    EXPECT_EQ(file.tensors().size(), 1U);
    EXPECT_TRUE(file.bytes(0).empty()) << each;
    release_pages(file.bytes(0));
    EXPECT_EQ(file.tensors()[0].byte_size, 0);
  }
  EXPECT_EQ(std::filesystem::file_size(folder_ / "z.bin"), 0U);
}

TEST_F(FileIo, BytesOutliveTheFile) {
  write_file(folder_ / "a.bin", "hello");
  std::optional<TensorFile> file = TensorFile::open(folder_ / "a.bin");
  const TensorFile copy = *file;
  const auto bytes = file->bytes(0);
  file.reset();
  EXPECT_EQ(text_of(bytes), "hello");
}

TEST_F(FileIo, LayoutsMustFit) {
  const TensorSpec spec{.dtype = DType::f32, .shape = {2, 3, 4, 5}, .layout = Format::parse("nchw")};
  for (const char* file : {"l.npy", "l.npz", "l.bin"}) {
    TensorSpec wrong = spec;
    wrong.layout = Format::parse("nc");
    EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create(folder_ / file, wrong));
    wrong.layout = Format::parse("nhwc");
    wrong.dims = Dims{2, 3, 4, 5};
    EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create(folder_ / file, wrong));
    wrong.layout.reset();
    EXPECT_ERROR(ErrorCode::invalid_argument, TensorWriter::create(folder_ / file, wrong));
    TensorWriter::create(folder_ / file, spec).commit();
    TensorSpec right = spec;
    right.layout = Format::parse("nhwc");
    right.dims = Dims{2, 5, 3, 4};
    TensorWriter::create(folder_ / file, right, true).commit();
  }
}

TEST_F(FileIo, CannotOpen) {
  EXPECT_ERROR(ErrorCode::io, TensorFile::open(folder_ / "missing.npy"));
  EXPECT_ERROR(ErrorCode::io, TensorFile::open(folder_.path()));
  const auto number_of = [](const auto& call) {
    try {
      call();
    } catch (const SystemError& error) {
      return error.code() == ErrorCode::io ? error.number() : -1;
    }
    return 0;
  };
  EXPECT_EQ(number_of([&] { TensorFile::open(folder_ / "missing.npy"); }), ENOENT);
  EXPECT_EQ(number_of([&] { TensorFile::open(folder_.path()); }), EISDIR);
  EXPECT_EQ(number_of([&] { writer("missing/a.npy"); }), ENOENT);
  writer("there.npy").commit();
  EXPECT_EQ(number_of([&] { writer("there.npy"); }), EEXIST);
  const Error error = error_of([&] { TensorFile::open(folder_ / "\x1b[31m"); });
  EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
  EXPECT_NE(error.message().find("No such file"), std::string::npos) << error.message();
}

TEST_F(FileIo, AppearsWholeOrNotAtAll) {
  {
    TensorWriter out = writer("a.npy");
    EXPECT_TRUE(out.mapped());
    EXPECT_TRUE(out.temporary_path().starts_with((folder_ / ".a.npy.relayout-tmp-").native())) << out.temporary_path();
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npy"));
  }
  EXPECT_TRUE(folder_.names().empty());

  TensorWriter out = writer("a.npy");
  TensorWriter moved = std::move(out);
  moved.commit();
  EXPECT_EQ(moved.temporary_path(), "");
  EXPECT_EQ(folder_.names(), Names{"a.npy"});
  EXPECT_EQ(text_of(TensorFile::open(folder_ / "a.npy").bytes(0)), "abc");
  struct stat made {};
  ASSERT_EQ(::stat((folder_ / "a.npy").c_str(), &made), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(made.st_mode & 0777, 0666 & ~mask);
}

// Some network file systems cannot make files without a name (O_TMPFILE).
TEST_F(FileIo, WithoutNamelessFiles) {
  const auto refuse = [](const char*, mode_t) {
    errno = EOPNOTSUPP;
    return -1;
  };
  write_file(folder_ / "a", "before");
  ::chmod((folder_ / "a").c_str(), 0640);
  { const OutputFile dropped = OutputFile::create(folder_ / "a", 1000, true, refuse); }
  EXPECT_EQ(folder_.names(), Names{"a"});
  OutputFile out = OutputFile::create(folder_ / "a", 1000, true, refuse);
  EXPECT_TRUE(std::filesystem::exists(out.temporary_path()));
  EXPECT_EQ(read_file(folder_ / "a"), "before");
  std::memcpy(out.bytes().data(), "abc", 3);
  out.commit(3);
  EXPECT_EQ(read_file(folder_ / "a"), "abc");
  EXPECT_EQ(folder_.names(), Names{"a"});
  struct stat made {};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0640U);
}

TEST_F(FileIo, Overwriting) {
  write_file(folder_ / "a.bin", "before");
  EXPECT_ERROR(ErrorCode::io, writer("a.bin"));
  EXPECT_EQ(read_file(folder_ / "a.bin"), "before");
  ::chmod((folder_ / "a.bin").c_str(), 0640);
  { const TensorWriter dropped = writer("a.bin", true); }
  EXPECT_EQ(read_file(folder_ / "a.bin"), "before");
  writer("a.bin", true).commit();
  EXPECT_EQ(read_file(folder_ / "a.bin"), "abc");
  struct stat made {};
  ASSERT_EQ(::stat((folder_ / "a.bin").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0640U);

  // A file that appears under the name between create() and commit() is kept.
  TensorWriter late = writer("b.bin");
  write_file(folder_ / "b.bin", "mine");
  EXPECT_ERROR(ErrorCode::io, late.commit());
  EXPECT_EQ(read_file(folder_ / "b.bin"), "mine");
}

TEST_F(FileIo, OutputIsInput) {
  write_file(folder_ / "a.bin", "xyz");
  const TensorFile in = TensorFile::open(folder_ / "a.bin");
  TensorWriter out = TensorWriter::create(folder_ / "a.bin", {.dtype = DType::u8, .shape = {3}}, true);
  std::ranges::reverse_copy(in.bytes(0), out.bytes().begin());
  out.commit();
  EXPECT_EQ(text_of(in.bytes(0)), "xyz");
  EXPECT_EQ(read_file(folder_ / "a.bin"), "zyx");
}

TEST_F(FileIo, Links) {
  std::filesystem::create_directory(folder_ / "real");
  write_file(folder_ / "real/a.bin", "before");
  std::filesystem::create_symlink("real/a.bin", folder_ / "link.bin");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling.bin");
  EXPECT_ERROR(ErrorCode::io, writer("link.bin"));
  writer("link.bin", true).commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.bin"));
  EXPECT_EQ(read_file(folder_ / "real/a.bin"), "abc");
  // A link whose file does not exist yet stays too, with and without `overwrite`.
  for (const bool overwrite : {false, true}) {
    writer("dangling.bin", overwrite).commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "dangling.bin"));
    EXPECT_EQ(read_file(folder_ / "nowhere"), "abc");
    std::filesystem::remove(folder_ / "nowhere");
  }
}

TEST_F(FileIo, CannotCreate) {
  EXPECT_ERROR(ErrorCode::io, writer("missing/a.npy"));
  EXPECT_ERROR(ErrorCode::unsupported, writer("a.txt"));
  EXPECT_ERROR(ErrorCode::unsupported, writer("a"));
  std::filesystem::create_directory(folder_ / "d.npy");
  EXPECT_ERROR(ErrorCode::io, writer("d.npy", true));
  // A size that no disk has is refused at once, and no file is left behind.
  EXPECT_ERROR(ErrorCode::io,
               TensorWriter::create(folder_ / "a.npy", {.dtype = DType::u8, .shape = {int64_t{1} << 50}}));
  EXPECT_EQ(folder_.names(), Names{"d.npy"});
  // The longest name that a directory allows.
  writer(std::string(251, 'n') + ".npy").commit();
  EXPECT_ERROR(ErrorCode::io, writer(std::string(252, 'n') + ".npy").commit());
  EXPECT_EQ(folder_.names().size(), 2U);
}

TEST_F(FileIo, ReadsPipes) {
  const std::string npy = npy_head({.dtype = DType::u8, .shape = {300'000}}) + std::string(300'000, 'x');
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::thread feeder([&] { write_file(folder_ / "pipe", npy); });
  const TensorFile file = TensorFile::open(folder_ / "pipe");
  feeder.join();
  EXPECT_EQ(file.format(), FileFormat::npy);
  EXPECT_FALSE(file.mapped(0));
  EXPECT_EQ(file.bytes(0).size(), 300'000U);
  EXPECT_ERROR(ErrorCode::limit, TensorFile::open("/dev/zero", {.decoded_bytes = 10'000'000}));
}

TEST_F(FileIo, WritesPipes) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = read_file(folder_ / "pipe"); });
  TensorWriter out = writer("pipe");
  EXPECT_FALSE(out.mapped());
  EXPECT_EQ(out.temporary_path(), "");
  out.commit();
  reader.join();
  EXPECT_EQ(seen, npy_head({.dtype = DType::u8, .shape = {3}}) + "abc");
  EXPECT_EQ(folder_.names(), Names{"pipe"});

  // The same for an archive.
  ASSERT_EQ(::mkfifo((folder_ / "pipe.npz").c_str(), 0600), 0);
  std::thread archive_reader([&] { seen = read_file(folder_ / "pipe.npz"); });
  writer("pipe.npz").commit();
  archive_reader.join();
  write_file(folder_ / "copy.npz", seen);
  EXPECT_EQ(text_of(TensorFile::open(folder_ / "copy.npz").bytes(0)), "abc");
}

TEST_F(FileIo, ClosedPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe.bin").c_str(), 0600), 0);
  std::thread reader([&] {
    const int fd = ::open((folder_ / "pipe.bin").c_str(), O_RDONLY);
    char first;
    EXPECT_EQ(::read(fd, &first, 1), 1);
    ::close(fd);
  });
  TensorWriter out = TensorWriter::create(folder_ / "pipe.bin", {.dtype = DType::u8, .shape = {10'000'000}});
  EXPECT_ERROR(ErrorCode::io, out.commit());  // and the process is not ended by SIGPIPE
  reader.join();
}

TEST_F(FileIo, FullDevice) {
  TensorWriter out = TensorWriter::create("/dev/full", {.dtype = DType::u8, .shape = {3}}, true);
  const Error error = error_of([&] { out.commit(); });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_NE(error.message().find("No space"), std::string::npos) << error.message();
  TensorWriter::create("/dev/null", {.dtype = DType::u8, .shape = {3}}).commit();
}

/// Runs in a child process that has a file system of one megabyte of its own.
TEST_F(FileIo, FullDisk) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr int kCannotMount = 77;
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::_exit(kCannotMount);
    }
    try {
      TensorWriter::create(folder_ / "a.npy", {.dtype = DType::u8, .shape = {2 << 20}});
      ::_exit(1);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::io && folder_.names().empty() ? 0 : 2);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    std::cout << "skipped: no right to mount a small disk" << std::endl;
    GTEST_SKIP();
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(FileIo, WalksInSlabs) {
  constexpr int64_t kSize = 8 << 20, kSlab = 1 << 20;
  TensorWriter out = TensorWriter::create(folder_ / "a.npy", {.dtype = DType::u8, .shape = {kSize}});
  const auto to = out.bytes();
  for (int64_t at = 0; at < kSize; at += kSlab) {
    const auto slab = to.subspan(static_cast<std::size_t>(at), kSlab);
    std::ranges::fill(slab, static_cast<std::byte>(at / kSlab + 1));
    release_pages(slab);
  }
  out.commit();
  const TensorFile file = TensorFile::open(folder_ / "a.npy");
  const auto from = file.bytes(0);
  for (int64_t at = 0; at < kSize; at += kSlab) {
    const auto slab = from.subspan(static_cast<std::size_t>(at), kSlab);
    EXPECT_TRUE(std::ranges::all_of(slab, [&](std::byte b) { return b == static_cast<std::byte>(at / kSlab + 1); }));
    release_pages(slab);
  }
}

TEST_F(FileIo, ReadingAPipeIsEndedWhereNothingComes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  int calls = 0;
  try {
    FileBytes::open(path, 100, [&](int64_t, int64_t) { return ++calls < 3; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
  }
  EXPECT_EQ(calls, 3);
  ASSERT_EQ(::write(ends[1], "bytes", 5), 5);
  ::close(ends[1]);
  EXPECT_EQ(FileBytes::open(path, 100, [](int64_t, int64_t) { return true; }).bytes().size(), 5U);
  ::close(ends[0]);
}

}  // namespace
}  // namespace relayout
