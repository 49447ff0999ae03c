// What every caller of the system's file functions needs: a descriptor that closes itself, a call that a signal may
// interrupt, and the error that an errno value stands for.
//
//     const Descriptor file(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
//     if (file.get() < 0) throw_io("open", path, errno);
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

namespace relayout::io {

/// An open file descriptor, or -1. The destructor closes it.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  /// Leaves the closing to the caller.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

/// Makes a system call again for as long as signals interrupt it.
template <typename Call>
auto retry(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

/// Throws Error{io} with a text such as: open "x.npy": No such file or directory
[[noreturn]] void throw_io(std::string_view operation, const std::filesystem::path& path, int error_number);

}  // namespace relayout::io
