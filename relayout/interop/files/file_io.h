// Whole files as bytes: read-only mappings of sources, and outputs that appear whole or not at all.
//
//     FileBytes in = FileBytes::open("a.npy", limit);        // mapped; read() for pipes
//     OutputFile out = OutputFile::create("b.npy", in.bytes().size(), /*overwrite=*/false);
//     std::ranges::copy(in.bytes(), out.bytes().begin());
//     out.commit(size);                                      // fsync, then rename
//
// The disk space of an output is reserved before its first byte is touched, so a full disk is an
// Error{io} and never a SIGBUS. A source that another process shortens while it is mapped is
// outside of what a library can catch; the command has a handler of SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// Throws Error{io}: "open \"x.npy\": No such file or directory", from an errno value.
[[noreturn]] void throw_io(std::string_view operation, const std::filesystem::path& path, int error_number);

/// Pages from mmap; unmapped at the end.
class Pages {
 public:
  Pages() = default;
  Pages(void* data, std::size_t size) : data_(data), size_(size) {}
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), size_}; }
  bool empty() const { return size_ == 0; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A file's contents.
class FileBytes {
 public:
  /// Maps a regular file; anything else is read to its end. Error{io}; Error{limit} where something
  /// that cannot be mapped yields more than `read_limit` bytes.
  static FileBytes open(const std::filesystem::path& path, int64_t read_limit);

  std::span<const std::byte> bytes() const {
    return pages_.empty() ? std::span<const std::byte>(read_) : pages_.bytes();
  }
  bool mapped() const { return !pages_.empty(); }

 private:
  Pages pages_;
  std::vector<std::byte> read_;
};

/// A file under construction, `size` bytes of zeros at first.
class OutputFile {
 public:
  /// A regular (or new) path gets a temporary file `.<name>.relayout-XXXXXX` beside it, mapped. A
  /// path that exists and is no regular file (a pipe, a device) is collected in memory. Error{io}:
  /// missing directory, no space, or an existing file without `overwrite`.
  static OutputFile create(const std::filesystem::path& path, int64_t size, bool overwrite);

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// Without commit() nothing is left behind.
  ~OutputFile();

  /// Valid until commit().
  std::span<std::byte> bytes() const;
  bool mapped() const;
  /// Makes the first `size` bytes appear under the path. Error{io}; then nothing has changed.
  void commit(int64_t size);
  /// Empty where there is none.
  const std::string& temporary_path() const;

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace relayout
