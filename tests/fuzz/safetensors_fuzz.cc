// Fuzzes .safetensors headers, with the portable layout header. Accepted tensors lie inside the file, and their layouts
// fit the arrays that they describe.
#include <cstdint>
#include <cstdlib>

#include "relayout/core/error.h"
#include "relayout/interop/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  try {
    const auto parsed = relayout::parse_safetensors(std::as_bytes(std::span(data, size)), {});
    int64_t total = 0;
    for (std::size_t i = 0; i < parsed.tensors.size(); ++i) {
      const relayout::StoredTensor& tensor = parsed.tensors[i];
      if (tensor.problem && tensor.problem->code() == relayout::ErrorCode::internal) std::abort();
      if (tensor.problem) continue;
      total += tensor.byte_size;
      if (parsed.offsets[i] < 8 || parsed.offsets[i] + tensor.byte_size > static_cast<int64_t>(size)) std::abort();
      const auto elements = relayout::checked_product(tensor.shape);
      const bool sized = tensor.item_bits != 0 || tensor.byte_size == 0;  // else a type that nobody here knows
      if (!elements || (sized && (*elements * tensor.item_bits + 7) / 8 != tensor.byte_size)) std::abort();
      if (!tensor.layout) continue;
      // Without a physical array, the tensor is flat and has the length of the span.
      const relayout::Layout layout = tensor.layout->bind(*tensor.dims);
      if (layout.span() > *elements) std::abort();
    }
    if (total > static_cast<int64_t>(size) - 8) std::abort();
  } catch (const relayout::Error& error) {
    if (error.code() == relayout::ErrorCode::internal) std::abort();
  }
  return 0;
}
