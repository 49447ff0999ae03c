// Maps, reads and writes whole files by POSIX calls: see file_io.h.
#include "relayout/interop/files/file_io.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/io/descriptor.h"
#include "relayout/io/new_file.h"
#include "relayout/io/pages.h"

namespace relayout {
namespace fs = std::filesystem;
using io::Descriptor;
using io::retry;
using io::throw_io;
namespace {

/// While it lives, a write to a closed pipe fails with EPIPE and does not end the process: SIGPIPE is blocked
/// in this thread, and one that our own write raised is removed at the end.
class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlock() {
    if (!was_pending_) {
      const timespec now{};
      retry([&] { return sigtimedwait(&pipe_, nullptr, &now); });
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlock(const SigpipeBlock&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  const SigpipeBlock block;
  while (!bytes.empty()) {
    const ssize_t done = retry([&] { return ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30)); });
    if (done < 0) throw_io("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

/// Waits for something to read for as long as `go_on` says so.
void wait_for_bytes(int fd, int64_t have, const GoOn& go_on) {
  constexpr int kMilliseconds = 100;
  if (!go_on) return;
  pollfd waits{fd, POLLIN, 0};
  do {
    if (!go_on(have, 0)) throw Error(ErrorCode::interrupted, "ended before all was read");
  } while (::poll(&waits, 1, kMilliseconds) == 0 || (waits.revents == 0 && errno == EINTR));
}

std::vector<std::byte> read_all(int fd, const fs::path& path, int64_t limit, const GoOn& go_on) {
  std::vector<std::byte> out;
  constexpr std::size_t kChunk = 1 << 20;
  for (;;) {
    const std::size_t have = out.size();
    wait_for_bytes(fd, static_cast<int64_t>(have), go_on);
    out.resize(have + kChunk);
    const ssize_t done = retry([&] { return ::read(fd, out.data() + have, kChunk); });
    if (done < 0) throw_io("read", path, errno);
    out.resize(have + static_cast<std::size_t>(done));
    if (done == 0) return out;
    if (static_cast<int64_t>(out.size()) > limit) {
      throw Error(ErrorCode::limit,
                  "read \"" + escaped(path.native()) + "\": more than " + std::to_string(limit) +
                      " bytes from something that is not a regular file",
                  "decoded_bytes", std::to_string(out.size()), std::to_string(limit));
    }
  }
}

Pages map_anonymous(std::size_t size, const fs::path& path) {
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw_io("allocate the contents of", path, errno);
  return {data, size};
}

}  // namespace

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
Pages::~Pages() {
  if (size_ != 0) ::munmap(data_, size_);
}

FileBytes FileBytes::open(const fs::path& path, int64_t read_limit, const GoOn& go_on) {
  const Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.get() < 0) throw_io("open", path, errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) throw_io("open", path, errno);
  if (S_ISDIR(found.st_mode)) throw_io("open", path, EISDIR);

  FileBytes out;
  if (S_ISREG(found.st_mode) && found.st_size > 0) {
    const auto size = static_cast<std::size_t>(found.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data != MAP_FAILED) {
      out.pages_ = Pages(data, size);
      out.identity_ = {found.st_dev, found.st_ino};
      return out;
    }
  }
  // What cannot be mapped is read: pipes, devices, files of /proc, whose size is 0, and file systems without mmap.
  out.read_ = read_all(file.get(), path, read_limit, go_on);
  return out;
}

int FileBytes::reopen(const fs::path& path) const {
  if (!mapped()) return -1;
  Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return -1;
  if (identity_ != std::pair<uint64_t, uint64_t>(found.st_dev, found.st_ino)) return -1;
  return file.release();
}

struct OutputFile::State {
  fs::path target;
  bool overwrite = false;
  bool mapped = false;  // `pages` are a mapping of the new file
  std::optional<io::NewFile>
      file;  // none where the target is not a regular file: then `pages` are written to it in order
  Pages pages;
  std::string temporary;
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

OutputFile OutputFile::create(const fs::path& path, int64_t size, bool overwrite, io::OpenNameless open_nameless) {
  auto state = std::make_unique<State>();
  state->target = path;
  state->overwrite = overwrite;

  struct stat found {};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) throw_io("create", path, EISDIR);
  if (exists && !S_ISREG(found.st_mode)) {
    state->pages = map_anonymous(static_cast<std::size_t>(size), path);
    return OutputFile(std::move(state));
  }
  if (exists && !overwrite) io::throw_exists(path);
  // A link in /proc leads to an open file whose name may be gone; a new file cannot take its place.
  struct stat named {};
  if (exists && ::lstat(io::follow_links(path).c_str(), &named) != 0) throw_io("create", path, errno);

  state->file = io::NewFile::make(path, open_nameless);
  state->temporary = state->file->temporary_path();
  const int fd = state->file->descriptor();
  if (exists) ::fchmod(fd, found.st_mode & 07777);
  if (size == 0) return OutputFile(std::move(state));

  state->file->reserve(size);
  void* data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  state->mapped = data != MAP_FAILED;
  state->pages =
      state->mapped ? Pages(data, static_cast<std::size_t>(size)) : map_anonymous(static_cast<std::size_t>(size), path);
  return OutputFile(std::move(state));
}

std::span<std::byte> OutputFile::bytes() const { return state_->pages.bytes(); }
bool OutputFile::mapped() const { return state_->mapped; }
int OutputFile::descriptor() const { return state_->mapped ? state_->file->descriptor() : -1; }
const std::string& OutputFile::temporary_path() const { return state_->temporary; }

void OutputFile::commit(int64_t size) {
  const auto contents = state_->pages.bytes().first(static_cast<std::size_t>(size));
  if (!state_->file) {
    const Descriptor out(retry([&] { return ::open(state_->target.c_str(), O_WRONLY | O_CLOEXEC); }));
    if (out.get() < 0) throw_io("open", state_->target, errno);
    write_all(out.get(), contents, state_->target);
    return;
  }
  if (!state_->mapped) state_->file->write(contents);
  state_->pages = Pages();
  state_->mapped = false;
  if (::ftruncate(state_->file->descriptor(), size) != 0) throw_io("write", state_->target, errno);
  state_->file->publish(state_->overwrite);
  state_->temporary.clear();
}

void release_pages(std::span<const std::byte> mapped_bytes) { io::release_pages(mapped_bytes); }

}  // namespace relayout
