// The table of the kinds of checkpoint files, and what several of them share.
#include <algorithm>

#include "relayout/checkpoint/formats/formats.h"
#include "relayout/core/letters.h"
#include "relayout/core/overflow.h"

namespace relayout::checkpoint {
namespace {

// Files of this kind are read by others: see Checkpoint::described().
bool begins_as_hdf5(std::span<const std::byte> bytes) {
  constexpr std::string_view kMagic = "\x89HDF\r\n\x1a\n";
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(kMagic);
}
void open_hdf5(Source&) {
  throw Error(ErrorCode::unsupported,
              "it is an HDF5 file, which is read and written in Python alone, by the package h5py: "
              "relayout.checkpoint.open(), convert() and save()",
              "hdf5");
}

// In the order of FileKind. The first that a file begins as is its kind.
constexpr std::array<KindRow, 5> kRows{{
    {FileKind::safetensors,
     "safetensors",
     {".safetensors"},
     begins_as_safetensors,
     open_safetensors,
     plan_safetensors,
     true},
    {FileKind::gguf, "gguf", {".gguf"}, begins_as_gguf, open_gguf, plan_gguf, true},
    {FileKind::pytorch, "pytorch", {".pt", ".pth", ".bin", ".ckpt"}, begins_as_pytorch, open_pytorch, plan_pytorch},
    {FileKind::npz, "npz", {".npz"}, begins_as_npz, open_npz, plan_npz},
    {FileKind::hdf5, "hdf5", {".h5", ".hdf5"}, begins_as_hdf5, open_hdf5, nullptr, true},
}};

}  // namespace

std::span<const KindRow> kind_rows() { return kRows; }
const KindRow& row_of(FileKind kind) { return kRows.at(static_cast<std::size_t>(kind)); }
std::string_view name(FileKind kind) { return row_of(kind).name; }
bool keeps_metadata(FileKind kind) { return row_of(kind).metadata; }

std::optional<FileKind> kind_of_path(const std::filesystem::path& path) {
  const std::string extension = small_letters(path.extension().native());
  if (extension.empty()) return std::nullopt;
  for (const KindRow& row : kRows) {
    if (std::ranges::find(row.extensions, extension) != row.extensions.end()) return row.kind;
  }
  return std::nullopt;
}

Dims row_major_strides(const Dims& shape) {
  Dims out(shape.size(), 1);
  for (int d = shape.size() - 2; d >= 0; --d)
    out[d] = checked_mul(out[d + 1], std::max<int64_t>(shape[d + 1], 1)).value_or(0);
  return out;
}

}  // namespace relayout::checkpoint
