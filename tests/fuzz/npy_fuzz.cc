// Fuzzes .npy headers: an accepted header describes data inside the file, with the right number of bytes.
#include <cstdint>
#include <cstdlib>

#include "relayout/core/error.h"
#include "relayout/interop/files/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const relayout::NpyHeader header = relayout::parse_npy(file, {});
    const auto elements = relayout::checked_product(header.tensor.shape);
    if (!elements || (*elements * header.tensor.item_bits + 7) / 8 != header.tensor.byte_size) std::abort();
    if (header.data_offset + header.tensor.byte_size != static_cast<int64_t>(size)) std::abort();

    // The header that the library writes for this tensor reads back the same.
    if (!header.tensor.dtype) return 0;
    const std::string head = relayout::npy_head({.dtype = *header.tensor.dtype, .shape = header.tensor.shape});
    const relayout::StoredTensor again =
        relayout::parse_npy_header(std::as_bytes(std::span(head)),
                                   static_cast<int64_t>(head.size()) + header.tensor.byte_size)
            .tensor;
    if (again.shape != header.tensor.shape || again.dtype != header.tensor.dtype) std::abort();
  } catch (const relayout::Error& error) {
    if (error.code() == relayout::ErrorCode::internal) std::abort();
  }
  return 0;
}
