// The parts that several file formats share: images as tensors, sizes, and the error about a library that is missing.
#include "relayout/interop/files/formats.h"

#include <algorithm>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/core/overflow.h"

namespace relayout {

void throw_missing_library(std::string_view format, std::string_view library) {
  throw Error(ErrorCode::unsupported,
              std::string(format) + " needs " + std::string(library) + ", which this build lacks", "library",
              std::string(library));
}

StoredTensor image_tensor(int64_t width, int64_t height, int64_t channels, const FileLimits& limits) {
  StoredTensor tensor;
  tensor.dtype = DType::u8;
  tensor.item_bits = 8;
  tensor.shape = {1, height, width, channels};
  tensor.layout = Format::parse("nhwc");
  tensor.dims = Dims{1, channels, height, width};
  const auto bytes = checked_product(tensor.shape);
  if (!bytes || *bytes > limits.decoded_bytes) {
    throw Error(ErrorCode::limit,
                "an image of " + std::to_string(width) + "x" + std::to_string(height) + "x" + std::to_string(channels) +
                    " bytes; at most " + std::to_string(limits.decoded_bytes) + " bytes are decoded",
                "decoded_bytes", bytes ? std::to_string(*bytes) : "", std::to_string(limits.decoded_bytes));
  }
  tensor.byte_size = *bytes;
  return tensor;
}

void ask(const GoOn& go_on, int64_t done, int64_t total) {
  if (go_on && !go_on(done, total)) throw Error(ErrorCode::interrupted, "ended before all was done");
}

void copy_asking(std::span<const std::byte> from, std::byte* to, const GoOn& go_on, int64_t done, int64_t total) {
  while (!from.empty()) {
    const auto part = from.first(std::min(from.size(), static_cast<std::size_t>(kAskedBytes)));
    to = std::ranges::copy(part, to).out;
    from = from.subspan(part.size());
    done += static_cast<int64_t>(part.size());
    ask(go_on, done, total);
  }
}

TensorSpec spec_of(const Format& format, const Dims& dims, DType dtype, std::string name) {
  TensorSpec spec{.name = std::move(name), .dtype = dtype};
  spec.shape = format.physical_shape(dims).value_or(Dims{format.buffer_span(dims)});
  const std::optional<std::string> tag = format.generic_tag(dims.size());
  const bool tag_says_all = tag && Format::parse(*tag).bind(dims) == format.bind(dims);
  spec.layout = tag_says_all ? Format::parse(*tag) : format;
  spec.dims = dims;
  return spec;
}

void check_layout(const TensorSpec& spec) {
  if (!spec.layout && !spec.dims) return;
  if (!spec.layout)
    throw Error(ErrorCode::invalid_argument, "write tensor: dims " + join(*spec.dims) + " without a layout", "dims",
                join(*spec.dims));
  const Dims dims = spec.dims ? *spec.dims : spec.layout->dims_from_physical(spec.shape);
  const Dims described = spec_of(*spec.layout, dims, spec.dtype).shape;
  if (described == spec.shape) return;
  throw Error(ErrorCode::invalid_argument,
              "write tensor: layout \"" + escaped(spec.layout->text()) + "\" of dims [" + join(dims) +
                  "] is not an array [" + join(spec.shape) + "], but [" + join(described) + "]",
              "layout", escaped(spec.layout->text()), join(spec.shape));
}

int64_t spec_bytes(const TensorSpec& spec) {
  for (int d = 0; d < spec.shape.size(); ++d) {
    if (spec.shape[d] >= 0) continue;
    throw Error(ErrorCode::invalid_argument, "write tensor: shape[" + std::to_string(d) + "] is negative",
                "shape[" + std::to_string(d) + "]", std::to_string(spec.shape[d]), "0");
  }
  const auto elements = checked_product(spec.shape);
  const bool converted = spec.type_name.empty();
  auto bytes = elements && converted ? bytes_for(spec.dtype, *elements) : std::nullopt;
  if (const auto bits = elements && !converted ? checked_mul(*elements, spec.item_bits) : std::nullopt)
    bytes = *bits / 8 + (*bits % 8 != 0);
  // Headers are added to this. Half of the range leaves room for such sums.
  if (bytes && *bytes < INT64_MAX / 2) return *bytes;
  throw_too_many("write tensor: ", spec.shape, spec.shape,
                 "elements of " + (converted ? std::string(name(spec.dtype)) : escaped(spec.type_name)) +
                     " overflow 64 bits of bytes, with room for a header",
                 "shape");
}

}  // namespace relayout
