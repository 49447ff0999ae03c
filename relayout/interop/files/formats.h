// Formats: what TensorFile and TensorWriter consist of, and what each file format offers to them
// (internal to interop/files).
//
// To add a format: one source file with an open function that fills a TensorFile::Impl and, where the
// format can be written, a function that returns a FilePlan; its enumerator in FileFormat; and a line for it in
// any_format.cc, at the same place.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "relayout/interop/files/file_io.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

/// A tensor's bytes: a part of the file, or what `decode` returns when the bytes are first asked for.
struct Content {
  std::span<const std::byte> bytes;
  std::function<std::unique_ptr<std::byte[]>(const GoOn&)> decode;  // byte_size bytes; empty for parts of the file
  std::unique_ptr<std::byte[]> decoded;
};

struct TensorFile::Impl {
  FileFormat format = FileFormat::raw;
  std::string path;  // escaped, for messages
  std::filesystem::path real_path;
  FileLimits limits;
  std::string wanted;  // the name of the one tensor that is to be read; "": all are
  FileBytes file;
  std::vector<StoredTensor> tensors;
  std::vector<Content> contents;  // one a tensor
  std::vector<Metadata> metadata;
  int64_t decoded_bytes = 0;  // what was decoded so far, of all tensors together
  std::mutex mutex;           // guards contents and decoded_bytes

  void add(StoredTensor tensor, std::span<const std::byte> bytes) {
    tensors.push_back(std::move(tensor));
    contents.push_back({bytes, {}, {}});
  }
  void add(StoredTensor tensor, std::function<std::unique_ptr<std::byte[]>(const GoOn&)> decode) {
    tensors.push_back(std::move(tensor));
    contents.push_back({{}, std::move(decode), {}});
  }
  /// A tensor that is not to be read: only its name is known.
  void add_name(std::string name) { add({.name = std::move(name)}, std::span<const std::byte>()); }
  /// A tensor that cannot be read.
  void add_problem(std::string name, Error problem) {
    add({.name = std::move(name), .problem = std::move(problem)}, std::span<const std::byte>());
  }
};

/// Whether the tensor of that name is to be read.
inline bool is_wanted(std::string_view name, std::string_view wanted) { return wanted.empty() || name == wanted; }

/// Each reads impl.file, and fills impl.tensors and impl.contents. Errors: corrupt, limit, unsupported.
void open_npy(TensorFile::Impl& impl);
void open_npz(TensorFile::Impl& impl);
void open_safetensors(TensorFile::Impl& impl);
void open_raw(TensorFile::Impl& impl);
void open_png(TensorFile::Impl& impl);
void open_jpeg(TensorFile::Impl& impl);
void open_bmp(TensorFile::Impl& impl);

/// A decoded image as a tensor: u8, shape {1,H,W,C}, layout nhwc, dims {1,C,H,W}. Error{limit} where
/// it has more bytes than may be decoded.
StoredTensor image_tensor(int64_t width, int64_t height, int64_t channels, const FileLimits& limits);

/// How many bytes of long work are done between two questions whether to go on.
constexpr int64_t kAskedBytes = int64_t{8} << 20;
/// Asks whether to go on; throws Error{interrupted} where not.
void ask(const GoOn& go_on, int64_t done, int64_t total);
/// Copies bytes, of which `done` of `total` were copied before. Asks after each part, and throws as ask() does.
void copy_asking(std::span<const std::byte> from, std::byte* to, const GoOn& go_on, int64_t done, int64_t total);

/// How a tensor becomes a file: first `head`, then the tensor's `data_bytes`, then at most `tail_bound`
/// bytes. `finish` gets the whole file, completes it in place and returns its final size. It is empty
/// where the file ends with the data.
struct FilePlan {
  std::string head;
  int64_t data_bytes = 0;
  int64_t tail_bound = 0;
  std::function<int64_t(std::span<std::byte>, const GoOn&)> finish;
};

FilePlan plan_npy(const TensorSpec& spec);
FilePlan plan_npz(const TensorSpec& spec);
FilePlan plan_safetensors(const TensorSpec& spec);
FilePlan plan_raw(const TensorSpec& spec);

/// How many bytes the elements of `spec` have. Errors: invalid_argument (a negative extent), overflow.
int64_t spec_bytes(const TensorSpec& spec);

/// Refuses a layout that the spec's shape is not the physical array of, as a format that keeps no layout does too:
/// Error{invalid_argument}. Without dims those are meant that the shape says.
void check_layout(const TensorSpec& spec);

/// The bytes of a tensor to be written among others, just as many as its shape has. `what` it is in the file is said in
/// errors, before its name. Errors: invalid_argument (another type, more bytes), buffer_too_small, overflow.
std::span<const std::byte> checked_content(const NamedTensor& tensor, std::string_view what);

/// Throws Error{unsupported}: this build lacks `library`, which `format` needs.
[[noreturn]] void throw_missing_library(std::string_view format, std::string_view library);

}  // namespace relayout
