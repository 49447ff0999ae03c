// TensorFile and TensorWriter for files of any format: finds out which format a file has, and calls the functions of
// that format (formats.h).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"
#include "relayout/interop/files/bmp.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/safetensors.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/io/descriptor.h"

namespace relayout {
namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "byte_swapped means big-endian here");
namespace {

/// What is known of a format; `plan` is null where the format can only be read. In the order of FileFormat.
struct FormatRow {
  FileFormat format;
  std::string_view name;
  std::array<std::string_view, 2> extensions;
  void (*open)(TensorFile::Impl&);
  FilePlan (*plan)(const TensorSpec&);
  bool named = false;  // holds any number of tensors, by their names
};
constexpr std::array<FormatRow, 7> kFormats{{
    {FileFormat::npy, "npy", {".npy"}, open_npy, plan_npy},
    {FileFormat::npz, "npz", {".npz"}, open_npz, plan_npz, true},
    {FileFormat::safetensors, "safetensors", {".safetensors"}, open_safetensors, plan_safetensors, true},
    {FileFormat::raw, "raw", {".raw", ".bin"}, open_raw, plan_raw},
    {FileFormat::png, "png", {".png"}, open_png, nullptr},
    {FileFormat::jpeg, "jpeg", {".jpg", ".jpeg"}, open_jpeg, nullptr},
    {FileFormat::bmp, "bmp", {".bmp"}, open_bmp, nullptr},
}};
static_assert([] {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].format != static_cast<FileFormat>(i)) return false;
  }
  return kFormats.size() == static_cast<std::size_t>(FileFormat::bmp) + 1;
}());
const FormatRow& row(FileFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<FileFormat> format_of_bytes(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 16));
  if (start.starts_with(kNpyMagic)) return FileFormat::npy;
  if (start.starts_with("PK\3\4") || start.starts_with("PK\5\6")) return FileFormat::npz;
  if (start.starts_with("\x89PNG\r\n\x1a\n")) return FileFormat::png;
  if (start.starts_with("\xff\xd8\xff")) return FileFormat::jpeg;
  if (looks_like_safetensors(bytes, static_cast<int64_t>(bytes.size()))) return FileFormat::safetensors;
  // A header of .safetensors may begin with the same two letters, as its length; that was looked at before.
  if (looks_like_bmp(bytes)) return FileFormat::bmp;
  return std::nullopt;
}

/// Runs `body`; adds the path to the message of its errors.
template <typename Body>
auto about(const std::string& path, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), "\"" + path + "\": " + error.message(), error.field(), error.value(), error.limit());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::limit, "\"" + path + "\": there is not enough memory for its contents", "memory");
  }
}

/// The names of a file's tensors, for a message.
std::string listed(std::span<const StoredTensor> tensors) {
  constexpr std::size_t kListed = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kListed); ++i) {
    names += (i ? ", \"" : "\"") + escaped(tensors[i].name) + "\"";
  }
  if (tensors.size() > kListed) names += ", ... (" + std::to_string(tensors.size()) + " in all)";
  return tensors.empty() ? "no tensors" : names;
}

/// " did you mean "NAME"?" with up to three names near a missing one: those with few other letters, or that hold it as
/// a part, as "encoder.weight" holds "weight". "" where none is near.
std::string suggestion(std::string_view missing, std::span<const StoredTensor> tensors) {
  constexpr std::size_t kCompared = 10'000, kLongest = 200, kShown = 3;
  std::vector<std::pair<std::size_t, const std::string*>> near;
  if (missing.size() > kLongest) return "";
  for (const StoredTensor& tensor : tensors.first(std::min(tensors.size(), kCompared))) {
    const std::string& have = tensor.name;
    if (have.empty() || have.size() > kLongest) continue;
    const bool part =
        have.find(missing) != std::string::npos || (have.size() > 2 && missing.find(have) != std::string::npos);
    const std::size_t apart = edit_distance(missing, have), most = std::max(missing.size(), have.size()) / 3;
    if (apart <= std::max<std::size_t>(most, 1) && apart < have.size()) {
      near.emplace_back(apart, &have);
    } else if (part) {
      near.emplace_back(kLongest + apart, &have);
    }
  }
  std::ranges::stable_sort(near, {}, [](const auto& pair) { return pair.first; });
  std::string out;
  for (std::size_t i = 0; i < std::min(near.size(), kShown); ++i) {
    out += (i == 0 ? " did you mean \"" : " or \"") + escaped(*near[i].second) + "\"";
  }
  return out.empty() ? out : out + "?";
}

}  // namespace

std::string_view name(FileFormat format) { return row(format).name; }
bool has_names(FileFormat format) { return row(format).named; }
bool can_be_written(FileFormat format) { return row(format).plan != nullptr; }

std::optional<FileFormat> format_of_path(const fs::path& path) {
  const std::string extension = small_letters(path.extension().native());
  if (extension.empty()) return std::nullopt;
  for (const FormatRow& candidate : kFormats) {
    if (std::ranges::find(candidate.extensions, extension) != candidate.extensions.end()) return candidate.format;
  }
  return std::nullopt;
}

TensorFile TensorFile::open(const fs::path& path, const FileLimits& limits, std::string_view wanted,
                            const GoOn& go_on) {
  auto impl = std::make_shared<Impl>();
  impl->path = escaped(path.native());
  impl->real_path = path;
  impl->limits = limits;
  impl->wanted = wanted;
  impl->file = FileBytes::open(path, limits.decoded_bytes, go_on);
  const auto by_path = format_of_path(path);
  const auto by_bytes = by_path == FileFormat::raw ? std::nullopt : format_of_bytes(impl->file.bytes());
  impl->format = by_bytes.value_or(by_path.value_or(FileFormat::raw));
  about(impl->path, [&] { row(impl->format).open(*impl); });
  return TensorFile(std::move(impl));
}

FileFormat TensorFile::format() const { return impl_->format; }
std::span<const StoredTensor> TensorFile::tensors() const { return impl_->tensors; }
std::span<const Metadata> TensorFile::metadata() const { return impl_->metadata; }

std::size_t TensorFile::find(std::string_view name) const {
  const auto& tensors = impl_->tensors;
  if (name.empty() && tensors.size() == 1) return 0;
  const auto found = name.empty() ? tensors.end() : std::ranges::find(tensors, name, &StoredTensor::name);
  if (found != tensors.end()) return static_cast<std::size_t>(found - tensors.begin());

  const std::string names = listed(tensors);
  const std::string near = name.empty() ? "" : suggestion(name, tensors);
  throw Error(ErrorCode::invalid_argument,
              "\"" + impl_->path + "\": " + (name.empty() ? "which tensor?" : "no tensor \"" + escaped(name) + "\";") +
                  near + " the file has " + names,
              "tensor", escaped(name), names);
}

std::span<const std::byte> TensorFile::bytes(std::size_t tensor, const GoOn& go_on) const {
  if (const auto& problem = impl_->tensors.at(tensor).problem) about(impl_->path, [&] { throw Error(*problem); });
  const std::lock_guard lock(impl_->mutex);
  Content& content = impl_->contents.at(tensor);
  if (content.decode) {
    const int64_t size = impl_->tensors[tensor].byte_size;
    about(impl_->path, [&] {
      if (size > impl_->limits.decoded_bytes - impl_->decoded_bytes) {
        throw Error(ErrorCode::limit,
                    "its tensors together take more than " + std::to_string(impl_->limits.decoded_bytes) +
                        " bytes when they are decoded",
                    "decoded_bytes", std::to_string(impl_->decoded_bytes + size),
                    std::to_string(impl_->limits.decoded_bytes));
      }
      content.decoded = content.decode(go_on);
    });
    impl_->decoded_bytes += size;
    content.bytes = {content.decoded.get(), static_cast<std::size_t>(size)};
    content.decode = nullptr;
  }
  return content.bytes;
}

bool TensorFile::mapped(std::size_t tensor) const {
  const std::lock_guard lock(impl_->mutex);
  const Content& content = impl_->contents.at(tensor);
  return impl_->file.mapped() && !content.decode && !content.decoded;
}

FilePart::~FilePart() { const io::Descriptor closes(descriptor_); }

FilePart TensorFile::reopen(std::span<const std::byte> part_of_mapping) const {
  const int descriptor = impl_->file.reopen(impl_->real_path);
  return {descriptor, part_of_mapping.data() - impl_->file.bytes().data()};
}

struct TensorWriter::Impl {
  FilePlan plan;
  OutputFile file;
  DType dtype = DType::f32;
  int64_t size = 0;  // of the file, unless plan.finish says otherwise
};

TensorWriter::TensorWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorWriter::TensorWriter(TensorWriter&&) noexcept = default;
TensorWriter& TensorWriter::operator=(TensorWriter&&) noexcept = default;
TensorWriter::~TensorWriter() = default;

TensorWriter TensorWriter::create(const fs::path& path, const TensorSpec& spec, bool overwrite) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  auto format = format_of_path(path);
  // Pipes and devices have no extension. They get .npy, because a reader can recognize it by its first bytes.
  if (!format && fs::exists(status) && fs::is_other(status)) format = FileFormat::npy;
  if (!format || !row(*format).plan) {
    throw Error(ErrorCode::unsupported,
                "create \"" + escaped(path.native()) + "\": the extension must be .npy .npz .safetensors .bin or .raw",
                "path", escaped(path.native()), ".npy .npz .safetensors .bin .raw");
  }
  if (*format != FileFormat::safetensors) check_layout(spec);  // which says it of the tensor by its name
  FilePlan plan = row(*format).plan(spec);
  const int64_t size = static_cast<int64_t>(plan.head.size()) + plan.data_bytes;
  OutputFile file = OutputFile::create(path, size + plan.tail_bound, overwrite);
  std::ranges::copy(std::as_bytes(std::span(plan.head)), file.bytes().begin());
  return TensorWriter(std::make_unique<Impl>(
      Impl{std::move(plan), std::move(file), spec.type_name.empty() ? spec.dtype : DType::u8, size}));
}

std::span<std::byte> TensorWriter::bytes() {
  const auto all = impl_->file.bytes();
  if (all.empty()) return {};
  return all.subspan(impl_->plan.head.size(), static_cast<std::size_t>(impl_->plan.data_bytes));
}
DType TensorWriter::dtype() const { return impl_->dtype; }
int TensorWriter::descriptor() const { return impl_->file.descriptor(); }
int64_t TensorWriter::file_offset() const { return std::ssize(impl_->plan.head); }
bool TensorWriter::mapped() const { return impl_->file.mapped(); }
const std::string& TensorWriter::temporary_path() const { return impl_->file.temporary_path(); }

void TensorWriter::commit(const GoOn& go_on) {
  if (impl_->plan.finish) impl_->size = impl_->plan.finish(impl_->file.bytes(), go_on);
  impl_->file.commit(impl_->size);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes, bool overwrite) {
  const auto size = static_cast<int64_t>(bytes.size());
  OutputFile file = OutputFile::create(path, size, overwrite);
  std::ranges::copy(bytes, file.bytes().begin());
  file.commit(size);
}

}  // namespace relayout
