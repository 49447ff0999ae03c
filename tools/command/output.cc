// Standard output as a tensor's destination, through a pipe: TensorWriter would open /dev/stdout anew, and a
// regular file behind it would be replaced or written from its start.
#include "tools/command/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "relayout/io/descriptor.h"
#include "tools/command/common.h"

namespace relayout::tools {
namespace {

/// A pipe or a device that standard output is connected to as well.
bool shares_stdout(const std::string& path) {
  struct stat output {
  }, standard{};
  return ::stat(path.c_str(), &output) == 0 && ::fstat(STDOUT_FILENO, &standard) == 0 && !S_ISREG(output.st_mode) &&
         output.st_dev == standard.st_dev && output.st_ino == standard.st_ino;
}

void close_once(int& fd) {
  if (fd >= 0) ::close(std::exchange(fd, -1));
}

/// Copies a pipe to standard output until its end. Closes it early where that fails, and returns the errno.
int copy_to_stdout(int& reader) {
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = io::retry([&] { return ::read(reader, buffer.data(), buffer.size()); });
    if (count <= 0) return count < 0 ? errno : 0;
    for (ssize_t at = 0; at < count;) {
      const ssize_t done =
          io::retry([&] { return ::write(STDOUT_FILENO, buffer.data() + at, static_cast<std::size_t>(count - at)); });
      if (done < 0) {
        const int error = errno;
        close_once(reader);
        return error;
      }
      at += done;
    }
  }
}

}  // namespace

bool is_stdout(const std::string& path) {
  static constexpr std::string_view kNames[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::find(kNames, path) != std::end(kNames);
}

void check_output_path(const std::string& path) {
  if (is_stdout(path)) return;
  const std::optional<FileFormat> format = format_of_path(path);
  if (format && can_be_written(*format)) return;
  std::error_code ignored;
  if (!format && std::filesystem::is_other(path, ignored)) return;  // a pipe or device takes .npy
  usage_error(fmt::format("{}: the extension says no format that can be written; use .npy, .npz, .safetensors, .bin "
                          "or .raw",
                          escaped(path)),
              "OUT", escaped(path), ".npy .npz .safetensors .bin .raw");
}

Output::Pipe::Pipe(Pipe&& other) noexcept
    : reader(std::exchange(other.reader, -1)), writer(std::exchange(other.writer, -1)) {}

Output::Pipe::~Pipe() {
  close_once(reader);
  close_once(writer);
}

Output::~Output() = default;

Output Output::create(const std::string& path, const TensorSpec& spec, bool overwrite) {
  if (!is_stdout(path)) {
    Output out(TensorWriter::create(path, spec, overwrite));
    out.takes_stdout_ = shares_stdout(path);
    return out;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    const std::string reason = std::strerror(errno);
    throw Error(ErrorCode::io, "pipe: " + reason, "stdout", reason);
  }
  Pipe pipe;
  pipe.reader = ends[0];
  pipe.writer = ends[1];
  Output out(TensorWriter::create(fmt::format("/proc/self/fd/{}", pipe.writer), spec));
  out.pipe_.reader = std::exchange(pipe.reader, -1);
  out.pipe_.writer = std::exchange(pipe.writer, -1);
  out.takes_stdout_ = true;
  return out;
}

void Output::commit() {
  if (pipe_.writer < 0) return writer_.commit();
  int failed = 0;
  std::exception_ptr error;
  std::thread copier([&] { failed = copy_to_stdout(pipe_.reader); });
  try {
    writer_.commit();
  } catch (...) {
    error = std::current_exception();
  }
  close_once(pipe_.writer);
  copier.join();
  if (failed != 0) {
    const std::string reason = std::strerror(failed);
    throw Error(ErrorCode::io, "cannot write to standard output: " + reason, "stdout", reason);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace relayout::tools
