// Reading, replacing and locking small text files, on POSIX calls.
#include "relayout/io/text_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>
#include <thread>

#include "relayout/core/system_error.h"
#include "relayout/io/descriptor.h"
#include "relayout/io/new_file.h"

namespace relayout::io {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return escaped(path.native(), 200); }

[[noreturn]] void fail_io(std::string_view operation, const fs::path& path, const std::string& why) {
  throw Error(ErrorCode::io, std::string(operation) + " \"" + shown(path) + "\": " + why, "path", shown(path));
}

[[noreturn]] void fail_io(std::string_view operation, const fs::path& path, int error_number) {
  throw SystemError(
      error_number,
      std::string(operation) + " \"" + shown(path) + "\": " + std::generic_category().message(error_number), "path",
      shown(path));
}

[[noreturn]] void fail_limit(const fs::path& path, int64_t have, int64_t limit) {
  throw Error(ErrorCode::limit,
              "read \"" + shown(path) + "\": " + std::to_string(have) + " bytes, " + std::to_string(limit) + " at most",
              "bytes", std::to_string(have), std::to_string(limit));
}

/// The lock of "NAME" is the file ".NAME.lock" in the same folder.
std::string lock_path(const fs::path& target) {
  return (target.parent_path() / ("." + target.filename().native().substr(0, 200) + ".lock")).native();
}

}  // namespace

std::optional<std::string> read_text(const fs::path& path, int64_t max_bytes) {
  const Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail_io("open", path, errno);
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) fail_io("read", path, errno);
  if (!S_ISREG(about.st_mode)) fail_io("read", path, S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
  if (about.st_size > max_bytes) fail_limit(path, about.st_size, max_bytes);
  std::string text;
  char part[1 << 14];
  while (true) {
    const ssize_t count = retry([&] { return ::read(file.get(), part, sizeof part); });
    if (count < 0) fail_io("read", path, errno);
    if (count == 0) return text;
    text.append(part, static_cast<std::size_t>(count));
    if (static_cast<int64_t>(text.size()) > max_bytes) fail_limit(path, static_cast<int64_t>(text.size()), max_bytes);
  }
}

void read_entries(const EntryFile& file, const fs::path& path, std::string_view text,
                  const std::function<std::string(std::string_view line)>& add) {
  const std::string named = std::string(file.what) + " \"" + shown(path) + "\": ";
  std::size_t at = 1, entries = 0;
  const auto corrupt = [&](const std::string& why) {
    throw Error(ErrorCode::corrupt, named + "line " + std::to_string(at) + " " + why, "line", std::to_string(at));
  };
  const std::string magic = std::string(file.magic) + " ";
  if (!text.starts_with(magic)) corrupt("is not \"" + magic + std::string(file.version) + "\"");
  const auto take_line = [&] {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) corrupt("is missing or has no end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
  };
  const std::string_view version = take_line().substr(magic.size());
  if (version != file.version) {
    throw Error(ErrorCode::unsupported,
                named + "version " + escaped(version) + " of the format; this is " + std::string(file.version),
                "version", escaped(version), std::string(file.version));
  }
  while (true) {
    ++at;
    const std::string_view line = take_line();
    if (line.starts_with("end ")) {
      if (line.substr(4) != std::to_string(entries) || !text.empty()) corrupt("does not end the entries before it");
      return;
    }
    if (++entries > file.max_entries) {
      throw Error(ErrorCode::limit,
                  named + std::to_string(entries) + " entries, " + std::to_string(file.max_entries) + " at most",
                  "entries", std::to_string(entries), std::to_string(file.max_entries));
    }
    if (const std::string why = add(line); !why.empty()) corrupt(why);
  }
}

bool begins_as(const EntryFile& file, std::string_view text) {
  const std::string begin = std::string(file.magic) + " ";
  return text.starts_with(begin) || std::string_view(begin).starts_with(text);
}

void read_own_entries(const EntryFile& file, const fs::path& path, std::string_view text,
                      const std::function<std::string(std::string_view line)>& add) {
  if (!begins_as(file, text)) {
    throw Error(ErrorCode::unsupported,
                std::string(file.what) + " \"" + shown(path) + "\": does not begin with \"" + std::string(file.magic) +
                    " " + std::string(file.version) + "\"",
                "header");
  }
  read_entries(file, path, text, add);
}

void replace_text(const fs::path& path, std::string_view text) {
  NewFile file = NewFile::make(path);
  // Other users may read measured results, whatever the umask.
  if (::fchmod(file.descriptor(), 0644) != 0) fail_io("write", path, errno);
  file.write(std::as_bytes(std::span(text)));
  file.publish(/*overwrite=*/true);
}

FileLock::FileLock(const fs::path& path, std::chrono::milliseconds patience) {
  const std::string name = lock_path(follow_links(path));
  descriptor_ = retry([&] { return ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail_io("create a lock beside", path, errno);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error_number = errno;
    const bool waits = error_number == EWOULDBLOCK || error_number == EINTR;
    if (waits && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    ::close(descriptor_);
    if (!waits) fail_io("lock", path, error_number);
    fail_io("lock", path, "another process has held it for " + std::to_string(patience.count()) + " ms");
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace relayout::io
