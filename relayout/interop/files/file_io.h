// Whole files as bytes: read-only mappings of sources, and outputs that appear whole or not at all.
//
//     FileBytes in = FileBytes::open("a.npy", limit);        // mapped; read() for pipes
//     OutputFile out = OutputFile::create("b.npy", in.bytes().size(), /*overwrite=*/false);
//     std::ranges::copy(in.bytes(), out.bytes().begin());
//     out.commit(size);                                      // now "b.npy" leads to the whole file
//
// The disk space of an output is reserved before its first byte is touched, so a full disk is an
// Error{io} and never a SIGBUS. A source that another process shortens while it is mapped is
// nothing that a library can handle: it raises SIGBUS, for which the command has a handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/interop/files/tensor_file.h"
#include "relayout/io/new_file.h"

namespace relayout {

/// Pages from mmap, which the destructor unmaps.
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
  /// Maps a regular file; anything else is read to its end, and `go_on` asked ten times a second, also where nothing
  /// comes. Error{io}; Error{limit} where something that cannot be mapped yields more than `read_limit` bytes;
  /// Error{interrupted}.
  static FileBytes open(const std::filesystem::path& path, int64_t read_limit, const GoOn& go_on = {});

  /// Bytes that are no file's, for tests.
  static FileBytes of(std::vector<std::byte> bytes) {
    FileBytes out;
    out.read_ = std::move(bytes);
    return out;
  }

  std::span<const std::byte> bytes() const {
    return pages_.empty() ? std::span<const std::byte>(read_) : pages_.bytes();
  }
  bool mapped() const { return !pages_.empty(); }
  /// A new descriptor of the mapped file, which the caller closes; -1 where nothing is mapped or `path` leads to
  /// another file now.
  int reopen(const std::filesystem::path& path) const;

 private:
  Pages pages_;
  std::vector<std::byte> read_;
  std::pair<uint64_t, uint64_t> identity_;  // device and inode of what is mapped
};

/// A file that is being written. At first it is `size` bytes of zeros.
class OutputFile {
 public:
  /// Where the path is new or leads to a regular file, the bytes are a mapping of a new file that has no name before
  /// commit() (relayout/io/new_file.h). Where the path leads to something else (a pipe, a device), they are collected
  /// in memory and written in order by commit(). Error{io}: a folder that does not exist, too little space, or an
  /// existing file without `overwrite`. Tests give an `open_nameless` that fails.
  static OutputFile create(const std::filesystem::path& path, int64_t size, bool overwrite,
                           io::OpenNameless open_nameless = io::open_nameless);

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  /// Without commit() nothing is left behind, even if the process is killed (for exceptions see io/new_file.h).
  ~OutputFile();

  /// Valid until commit().
  std::span<std::byte> bytes() const;
  bool mapped() const;
  /// Of the new file that is mapped; -1 where there is none.
  int descriptor() const;
  /// Makes the first `size` bytes appear under the path. Error{io}; then nothing has changed.
  void commit(int64_t size);
  /// A name that the file may have for a while; a handler of a signal that ends the process may unlink it. Empty
  /// before create() and after commit(), and for what is no regular file.
  const std::string& temporary_path() const;

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace relayout
