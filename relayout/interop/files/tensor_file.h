// Tensor files: what a file says of its tensors, and their bytes, whatever the file's format.
//
// One source file a format (npy, npz, safetensors, raw, png, jpeg, bmp) fills the structs below; nothing
// else in the project knows about formats.
//
//     TensorFile file = TensorFile::open("photo.png");
//     const StoredTensor& t = file.tensors()[0];           // u8, shape {1,480,640,3}, layout "nhwc"
//     std::span<const uint8_t> texels = file.elements<uint8_t>(0);   // memory-mapped where that is possible
//
//     TensorWriter out = TensorWriter::create("x.npy", {.dtype = DType::f32, .shape = {2, 3}});
//     std::ranges::fill(out.elements<float>(), 1.0f);
//     out.commit();                                         // appears whole, or not at all
//
// bytes() has the bytes of elements of any type. All else compares types, as core/elements.h describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "relayout/core/elements.h"
#include "relayout/core/error.h"
#include "relayout/core/format.h"

namespace relayout {

/// Limits on what a file may ask for. Over one: Error{limit} that names it.
struct FileLimits {
  int64_t npy_header_bytes = 64 << 10;
  int64_t safetensors_header_bytes = 100'000'000;
  int json_depth = 32;
  int64_t tensors = 1'000'000;
  /// Bytes that decoding may allocate (compressed .npz members, PNG, JPEG).
  int64_t decoded_bytes = int64_t{8} << 30;
};

/// Asked during long work, after parts of it that take a fraction of a second, with the bytes that are done and with
/// all of them: whether to go on. Where it answers false, the work ends with Error{interrupted} and leaves nothing
/// behind. An empty one is never asked.
using GoOn = std::function<bool(int64_t done, int64_t total)>;

/// What a file may record of a tensor besides its layout. .safetensors keeps it, and GGUF in checkpoint/.
struct TensorNotes {
  /// The packed format whose blocks the array's bytes are, "ggml:q4_0", and the dims of its values; "" for all others.
  std::string packed{};
  Dims packed_dims{};
  /// The layout that the tensor had before it was converted to the one that is recorded; "" where nothing is known.
  std::string from{};
  /// The strides, in elements, of the tensor that was saved, whose shape is the array's: those of a PyTorch tensor in
  /// channels_last, say. Nothing where they were those of the array.
  std::optional<Dims> strides{};

  bool empty() const { return packed.empty() && from.empty() && !strides; }
  friend bool operator==(const TensorNotes&, const TensorNotes&) = default;
};

/// One tensor as a file stores it.
struct StoredTensor {
  std::string name;            // "" where the format has no names
  std::optional<DType> dtype;  // nothing for raw bytes, NumPy's void types, and types that relayout does not convert
  int item_bits = 0;           // bits of one element; 0 for raw bytes and where the file does not show it
  Dims shape;                  // the physical array, outermost axis first
  bool fortran_order = false;  // the first axis is innermost (.npy)
  bool byte_swapped = false;   // elements are big-endian
  int64_t byte_size = 0;
  /// The type of the elements as the file names it: "F8_E8M0", "<c8", "[('a', '<f4'), ('b', '<i4')]". "" where the
  /// format names none (raw bytes, pictures).
  std::string type_name;
  /// Whether type_name says only how wide an element is, and `dtype` is what such elements usually are ("<V2": bf16).
  bool dtype_assumed = false;
  /// Why the tensor cannot be read. Then bytes() throws it, and of the fields above only the name is certain.
  std::optional<Error> problem;
  /// Where the file says more than an array: the layout expression and the logical dims.
  std::optional<Format> layout;
  std::optional<Dims> dims;
  TensorNotes notes;
};

/// A tensor to be written.
struct TensorSpec {
  std::string name{};  // .npz member, safetensors key; a default where empty
  DType dtype = DType::f32;
  Dims shape{};  // the physical array, outermost axis first
  /// Kept by formats that can (safetensors' metadata). The others refuse what does not fit the shape, too; without dims
  /// a layout must fit those that the shape says.
  std::optional<Format> layout{};
  std::optional<Dims> dims{};
  /// A type that is not converted here, as StoredTensor names it, with the bits of an element: "F8_E8M0", 8. Then
  /// `dtype` does not count, and the elements are bytes. .npy and .npz have NumPy's types, .safetensors its own, and
  /// C64 and
  /// "<c8" are one; any other is Error{unsupported}, which names the formats that have it.
  std::string type_name{};
  int item_bits = 0;
  /// Only .safetensors keeps them; the others pass over them.
  TensorNotes notes{};
};

/// What a new file says of a tensor: the shape of the physical array that this layout describes for these dims, which
/// are those before its views; where it describes none, and where views are a part of one, the whole buffer has one
/// axis. The layout is recorded in letters a to l where they say all of it, because nchw and its like mean something
/// only together with an order of the dims. Errors: those of Format::bind.
TensorSpec spec_of(const Format& format, const Dims& dims, DType dtype, std::string name = {});

/// A key and its value.
using Metadata = std::pair<std::string, std::string>;

enum class FileFormat : uint8_t { npy, npz, safetensors, raw, png, jpeg, bmp };
std::string_view name(FileFormat format);
/// Whether files of this format hold any number of tensors, by their names.
bool has_names(FileFormat format);
/// Whether TensorWriter writes this format; pictures are only read.
bool can_be_written(FileFormat format);

/// The format of a path by its extension: .npy .npz .safetensors .bin .raw .png .jpg .jpeg .bmp.
std::optional<FileFormat> format_of_path(const std::filesystem::path& path);

/// A part of a file that is open for reading.
class FilePart {
 public:
  FilePart() = default;
  FilePart(int descriptor, int64_t offset) : descriptor_(descriptor), offset_(offset) {}
  FilePart(FilePart&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), offset_(other.offset_) {}
  FilePart& operator=(FilePart&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(offset_, other.offset_);
    return *this;
  }
  ~FilePart();
  int descriptor() const { return descriptor_; }  // -1: none
  int64_t offset() const { return offset_; }      // where the part begins in the file

 private:
  int descriptor_ = -1;
  int64_t offset_ = 0;
};

class TensorFile {
 public:
  /// Opens and checks a file. .bin and .raw are always raw; else the format is found by the first
  /// bytes, else by the extension; a file that is neither is raw. Errors: io, corrupt, unsupported (a
  /// dtype or a missing library), limit. What is wrong with one tensor of a format with names is that tensor's
  /// `problem`. Where `wanted` names a tensor, the others of a format with names are not read, only their names. Only
  /// what cannot be mapped, such as a pipe, is long work; `go_on` is asked while it waits for bytes too, with a total
  /// of 0.
  static TensorFile open(const std::filesystem::path& path, const FileLimits& limits = {}, std::string_view wanted = {},
                         const GoOn& go_on = {});

  FileFormat format() const;
  std::span<const StoredTensor> tensors() const;
  /// What the file says beside its tensors, in its order: .safetensors' metadata, without the layout header.
  std::span<const Metadata> metadata() const;
  /// Index of the tensor of that name; an empty name is the only tensor. Error{invalid_argument} suggests names that
  /// are near, and lists the file's.
  std::size_t find(std::string_view name) const;
  /// The tensor's bytes, byte_size of them, as stored (still swapped where byte_swapped). Valid while
  /// this object or a copy lives. Members of .npz and images are decoded at the first call, which may
  /// find them corrupt. Throws the tensor's `problem`. Safe to call from several threads. `go_on` is asked while they
  /// are decoded; if that was ended, the next call begins anew.
  std::span<const std::byte> bytes(std::size_t tensor, const GoOn& go_on = {}) const;
  /// bytes() as elements of type T, which is the tensor's; for a type that C++ has no arrays of, the unsigned integer
  /// of its width, and for raw bytes any type. bool is uint8_t, as a file may have other bytes than 0 and 1. Errors:
  /// those of bytes(); invalid_argument (another type; raw bytes that are no whole number of elements), unsupported
  /// (elements that are big-endian, or at an address that is no multiple of their alignment, which read() copies).
  /// Cost: that of bytes().
  template <typename T>
  std::span<const T> elements(std::size_t tensor, const GoOn& go_on = {}) const;
  /// Copies the tensor's elements to the begin of a range, which has room for them: of its type as in elements(), or
  /// bytes. Big-endian ones are turned (byte_swapped), and bytes that become bool are 0 or 1. Errors: those of bytes();
  /// invalid_argument (another type), buffer_too_small.
  void read(std::size_t tensor, const Elements& to, const GoOn& go_on = {}) const;
  /// Whether bytes() is a mapping of the file, whose pages may be dropped and read again.
  bool mapped(std::size_t tensor) const;
  /// Opens the file once more, to read `part_of_mapping`, a part of bytes() of a mapped tensor, by calls of the system,
  /// which brings no more into memory than is read. No descriptor where the path no longer leads to this file.
  FilePart reopen(std::span<const std::byte> part_of_mapping) const;

  struct Impl;
  explicit TensorFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::span<const std::byte> checked_elements(std::size_t tensor, DType dtype, std::size_t alignment,
                                              const GoOn& go_on) const;

  std::shared_ptr<Impl> impl_;
};

class TensorWriter {
 public:
  /// Starts a file in the format that the extension names (.npy .npz .safetensors .bin .raw). Its bytes are a new file
  /// in the same folder, which has no name yet and whose space on the disk is reserved. Without `overwrite` an existing
  /// path is an error. Where the path leads to no regular file (a pipe, a device), commit() writes the bytes to it in
  /// order, in .npy format if it has no extension. Errors: io, unsupported, invalid_argument, overflow.
  static TensorWriter create(const std::filesystem::path& path, const TensorSpec& spec, bool overwrite = false);

  TensorWriter(TensorWriter&&) noexcept;
  TensorWriter& operator=(TensorWriter&&) noexcept;
  /// Without commit() nothing is left behind, nor where the process is killed; docs/files.md names the one exception.
  ~TensorWriter();

  /// The tensor's bytes, zero at first. Valid until commit().
  std::span<std::byte> bytes();
  /// bytes() as elements of type T, which is the tensor's, or the unsigned integer of its width where C++ has no arrays
  /// of it. Errors: invalid_argument (another type), unsupported (they lie at an address that is no multiple of their
  /// alignment, as in .npz; write() copies them).
  template <typename T>
  std::span<T> elements();
  /// Copies the tensor's elements from the begin of a range, of its type or of bytes. Errors: invalid_argument (another
  /// type), buffer_too_small.
  void write(const ConstElements& from);
  /// The type of its elements, as it was created.
  DType dtype() const;
  /// Whether bytes() is a mapping of the new file.
  bool mapped() const;
  /// Writes the file to the disk, then makes the path lead to it. Error{io}. `go_on` is asked while an .npz is
  /// completed, which reads all bytes once more, but not while the system writes.
  void commit(const GoOn& go_on = {});
  /// A name that the new file may have for a while. A handler of a signal that ends the process may unlink it at any
  /// time. Empty where the path leads to no regular file.
  const std::string& temporary_path() const;
  /// Of the file while it is mapped, to write to it past the mapping; -1 where it is not.
  int descriptor() const;
  /// Where bytes() begin in it.
  int64_t file_offset() const;

  struct Impl;

 private:
  explicit TensorWriter(std::unique_ptr<Impl> impl);
  std::span<std::byte> checked_elements(DType dtype, std::size_t alignment);

  std::unique_ptr<Impl> impl_;
};

/// A tensor to be written among others.
struct NamedTensor {
  TensorSpec spec;
  /// A range of elements of the type that `spec` says, or of bytes: just as many as its shape has.
  ConstElements elements{};
};
/// Writes an .npz of several tensors, which are copied into it; it appears whole or not at all. Errors: io, unsupported
/// (a build without libzip), invalid_argument (two of one name, elements of another type or more of them than the shape
/// has), buffer_too_small.
void write_npz(const std::filesystem::path& path, std::span<const NamedTensor> tensors, bool overwrite = false,
               const GoOn& go_on = {});
/// Writes a .safetensors file of several tensors, in their order, and of metadata. Errors: io, invalid_argument (two of
/// one name or key, the key "relayout", elements of another type or more of them than the shape has), buffer_too_small,
/// unsupported (a build without nlohmann-json).
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const Metadata> metadata = {}, bool overwrite = false, const GoOn& go_on = {});
/// Writes a file of these bytes, which appears whole or not at all. Error{io}.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes, bool overwrite = false);

/// Drops the pages of a file mapping from this process, so that a tensor larger than memory can be walked in
/// slabs. Nothing written is lost.
void release_pages(std::span<const std::byte> mapped_bytes);

template <typename T>
std::span<const T> TensorFile::elements(std::size_t tensor, const GoOn& go_on) const {
  static_assert(kElementType<T>.has_value(), "kElementType<T> says what element type this is (core/elements.h)");
  static_assert(!std::is_same_v<T, bool>, "a file may have other bytes than 0 and 1: take uint8_t");
  const auto bytes = checked_elements(tensor, *kElementType<T>, alignof(T), go_on);
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <typename T>
std::span<T> TensorWriter::elements() {
  static_assert(kElementType<T>.has_value(), "kElementType<T> says what element type this is (core/elements.h)");
  const auto bytes = checked_elements(*kElementType<T>, alignof(T));
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace relayout
