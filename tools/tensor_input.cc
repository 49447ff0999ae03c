// Resolves an input file and the flags about it to a TensorDesc.
#include "tools/tensor_input.h"

#include <fmt/format.h>

#include "relayout/cpu/reorder.h"

namespace relayout::tools {
namespace {

std::string shape_text(const Dims& shape) { return "(" + join(shape, ",") + ")"; }

/// Strides of a dense array whose first axis is innermost.
Dims column_major(const Dims& shape) {
  Dims strides;
  int64_t next = 1;
  for (int64_t extent : shape) {
    strides.push_back(next);
    next *= std::max<int64_t>(extent, 1);  // the file's size was checked, so this cannot overflow
  }
  return strides;
}

DType resolve_dtype(const InputOptions& options, const StoredTensor& stored) {
  if (!options.dtype) {
    if (stored.dtype) return *stored.dtype;
    usage_error(fmt::format("{}: the file does not say what its elements are; give {}", escaped(options.path),
                            options.dtype_flag),
                options.dtype_flag);
  }
  const DType dtype = dtype_argument(*options.dtype, options.dtype_flag);
  const bool nibbles = bits(dtype) == 4 && stored.item_bits == 8;  // two to a byte
  if (stored.item_bits != 0 && stored.item_bits != bits(dtype) && !nibbles) {
    usage_error(fmt::format("{} {}: the elements of {} have {} bits and can only be read as a type of that width",
                            options.dtype_flag, name(dtype), escaped(options.path), stored.item_bits),
                options.dtype_flag, std::string(name(dtype)), std::to_string(stored.item_bits));
  }
  return dtype;
}

Format resolve_format(const InputOptions& options, const StoredTensor& stored) {
  if (options.layout) return layout_argument(*options.layout);
  return stored.layout ? *stored.layout : Format::parse("contiguous");
}

Dims resolve_dims(const InputOptions& options, const StoredTensor& stored, const Format& format) {
  if (options.dims) return dims_argument(*options.dims);
  if (stored.dims && !options.layout) return *stored.dims;
  if (format.kind() == Format::Kind::undef || format.kind() == Format::Kind::any) {
    usage_error(fmt::format("{} {} is no layout of data", options.layout_flag, format.text()), options.layout_flag);
  }
  if (format.kind() == Format::Kind::strides) {
    usage_error(fmt::format("{} {}: a shape does not show the logical dims of strides; give --dims",
                            options.layout_flag, escaped(format.text())),
                "--dims");
  }
  try {
    return format.dims_from_physical(stored.shape);
  } catch (const Error& error) {
    // An image's rows and columns may mix dims, and an offset hides them: only --dims can say.
    const std::string hint = format.is_image() || format.text().find('@') != std::string::npos ? "; give --dims" : "";
    const int code = hint.empty() ? kBadData : kUsage;
    throw Failure(exit_code(error, code),
                  Error(error.code(), fmt::format("{}: {}{}", escaped(options.path), error.message(), hint),
                        error.field(), error.value(), error.limit()));
  }
}

/// The file's array must be the one that the layout describes, to the element.
void check_shape(const InputOptions& options, const StoredTensor& stored, const Format& format,
                 const TensorDesc& desc) {
  const std::optional<Dims> physical = format.physical_shape(desc.layout.dims());
  const int64_t span = desc.layout.span();
  if (physical && *physical == stored.shape) return;
  if (bits(desc.dtype) == 4 && stored.byte_size == desc.span_bytes()) return;
  if (!physical && stored.shape.size() == 1 && stored.shape[0] == span) return;
  const std::string expected = physical ? shape_text(*physical) : fmt::format("({})", span);
  throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                fmt::format("{}: shape {} of the file is not the shape {} of {} with dims {}",
                                            escaped(options.path), shape_text(stored.shape), expected,
                                            escaped(format.text()), dims_text(desc.layout.dims())),
                                "shape", join(stored.shape), physical ? join(*physical) : std::to_string(span)));
}

/// Fortran order under a layout that is no dense array of axes (images): a row-major copy.
void copy_to_row_major(const InputOptions& options, const StoredTensor& stored, TensorInput& input) {
  if (options.max_memory > 0 && stored.byte_size > options.max_memory) {
    throw Failure(kUsage, Error(ErrorCode::limit,
                                fmt::format("{}: a Fortran-order array under {} is copied to memory, which takes {} "
                                            "bytes; --max-memory allows {}",
                                            escaped(options.path), escaped(input.format.text()), stored.byte_size,
                                            options.max_memory),
                                "--max-memory", std::to_string(options.max_memory), std::to_string(stored.byte_size)));
  }
  input.copy.resize(static_cast<std::size_t>(stored.byte_size));
  cpu::reorder(TensorDesc(Layout::strided(stored.shape, column_major(stored.shape)), input.desc.dtype), input.bytes,
               TensorDesc(Layout::contiguous(stored.shape), input.desc.dtype), input.copy);
  input.bytes = input.copy;
  input.mapped = false;
}

void require_for_raw(const InputOptions& options) {
  std::string missing;
  const auto need = [&](bool given, const std::string& flag) {
    if (!given) missing += (missing.empty() ? "" : ", ") + flag;
  };
  need(options.layout.has_value(), options.layout_flag);
  need(options.dims.has_value(), "--dims");
  need(options.dtype.has_value(), options.dtype_flag);
  if (!missing.empty()) {
    usage_error(fmt::format("{}: raw bytes do not say what they hold; give {}", escaped(options.path), missing),
                missing);
  }
}

/// Raw files hold the whole physical array (an image's last row with its pitch), or just the span.
void check_raw_size(const InputOptions& options, const TensorInput& input) {
  const auto have = static_cast<int64_t>(input.bytes.size());
  const std::optional<Dims> physical = input.format.physical_shape(input.desc.layout.dims());
  const auto elements = physical ? checked_product(*physical) : std::nullopt;
  const int64_t span = input.desc.span_bytes();
  const int64_t need = elements ? bytes_for(input.desc.dtype, *elements).value_or(span) : span;
  if (have == need || have == span) return;
  throw Failure(kBadData, Error(have < need ? ErrorCode::buffer_too_small : ErrorCode::corrupt,
                                fmt::format("{}: {} bytes in the file; {} {} with dims {} takes {}",
                                            escaped(options.path), have, escaped(input.format.text()),
                                            name(input.desc.dtype), dims_text(input.desc.layout.dims()), need),
                                "bytes", std::to_string(have), std::to_string(need)));
}

}  // namespace

TensorInput open_tensor(const InputOptions& options) {
  TensorFile file = from_data([&] { return TensorFile::open(options.path); });
  const std::size_t tensor = from_command_line([&] { return file.find(options.tensor); });
  const StoredTensor& stored = file.tensors()[tensor];
  const bool raw = file.format() == FileFormat::raw;
  if (raw) require_for_raw(options);
  const DType dtype = resolve_dtype(options, stored);
  const Format format = resolve_format(options, stored);
  const Dims dims = resolve_dims(options, stored, format);
  // Dims that the command line gave are its fault, those from the file's shape the file's.
  const auto bound = [&] { return TensorDesc(format.bind(dims), dtype); };
  TensorDesc desc = options.dims ? from_command_line(bound) : from_data(bound);

  TensorInput input{
      file, format, std::move(desc), from_data([&] { return file.bytes(tensor); }), 0, file.mapped(tensor), {}};
  if (stored.byte_swapped) input.swap_item_bytes = stored.item_bits / 8;
  if (raw) {
    check_raw_size(options, input);
    return input;
  }
  check_shape(options, stored, format, input.desc);
  if (stored.fortran_order && stored.shape.size() > 1) {
    if (!format.is_image() && format.physical_shape(dims)) {
      input.desc.layout = format.bind_physical(dims, column_major(stored.shape));
    } else {
      copy_to_row_major(options, stored, input);
    }
  }
  return input;
}

}  // namespace relayout::tools
