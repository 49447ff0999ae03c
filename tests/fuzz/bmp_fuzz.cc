// Fuzzes BMP headers: the view that is read stays inside the file, and its layout spans exactly its bytes.
#include <cstdint>
#include <cstdlib>

#include "relayout/core/error.h"
#include "relayout/interop/files/bmp.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    relayout::looks_like_bmp(file);
    const relayout::BmpView view = relayout::parse_bmp(file);
    if (view.begin < 0 || view.tensor.byte_size > static_cast<int64_t>(size) - view.begin) std::abort();
    const relayout::Layout layout = view.tensor.layout->bind(*view.tensor.dims);
    if (layout.span() != view.tensor.byte_size || layout.offset_range().first != 0) std::abort();
  } catch (const relayout::Error& error) {
    if (error.code() != relayout::ErrorCode::corrupt && error.code() != relayout::ErrorCode::unsupported) std::abort();
  }
  return 0;
}
