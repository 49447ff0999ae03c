// The header of a BMP file, read from bytes: what the reader of files, its tests and a fuzz target share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/interop/files/tensor_file.h"

namespace relayout {

/// The pixels of a BMP as a tensor, which begins at byte `begin` of the file.
struct BmpView {
  StoredTensor tensor;
  int64_t begin = 0;
};

/// Reads the header; all byte_size bytes of the tensor lie in the file, and its layout spans them. Errors: corrupt,
/// unsupported (palettes, 16 bits a pixel, compression, masks that are not three bytes side by side).
BmpView parse_bmp(std::span<const std::byte> file);

/// Whether a file begins with BM and has one of the sizes that a BMP's header can have.
bool looks_like_bmp(std::span<const std::byte> file);

}  // namespace relayout
