// Joins what an input file says with what the flags say: see tensor_input.h.
#include "tools/input/tensor_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "relayout/core/gates.h"
#include "relayout/cpu/slab_reorder.h"
#include "relayout/interop/numpy_bytes.h"
#include "tools/command/interrupt.h"
#include "tools/input/input_copies.h"
#include "tools/input/raw_input.h"

namespace relayout::tools {
namespace {

std::string shape_text(const Dims& shape) { return "(" + join(shape, ",") + ")"; }

bool is_stream(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_other(path, ignored);
}

/// Whether elements that a file calls `stored` may be read as `dtype`. File formats have no names for some types, which
/// are therefore kept as u8 or u16.
bool may_be_kept_as(DType dtype, DType stored) {
  if (stored == DType::u16) return is_floating(dtype) && bits(dtype) == 16;
  if (stored != DType::u8) return false;
  return bits(dtype) < 8 || (is_floating(dtype) && bits(dtype) == 8);
}

/// Sub-byte elements of an array of bytes: its shape says nothing of the tensor's.
bool as_packed(DType dtype, const StoredTensor& stored) { return bits(dtype) < 8 && stored.item_bits == 8; }

/// The type of the model's input, for elements of which the file says at most their width.
DType expected_dtype(const InputOptions& options, const StoredTensor& stored) {
  const DType dtype = options.expected->dtype;
  if (stored.item_bits == 0 || stored.item_bits == bits(dtype)) return dtype;
  throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                fmt::format("{}: the file does not say what its elements of {} bits are, and they are "
                                            "not those of the input, which is {}",
                                            shown_path(options), stored.item_bits, name(dtype)),
                                "dtype", std::to_string(stored.item_bits), std::string(name(dtype))));
}

/// A type of `width` bits that keeps elements as they are, for a message; u8 where there is none.
DType plain_type(int width) {
  for (const DType dtype : {DType::u16, DType::u32, DType::u64}) {
    if (bits(dtype) == width) return dtype;
  }
  return DType::u8;
}

/// Whether the file names a type that is not converted, such as F8_E4M3FNUZ or complex numbers. NumPy's V names none
/// but where no type is as wide.
bool is_foreign(const StoredTensor& stored) {
  const std::size_t letter = stored.type_name.find_first_not_of("<>=|");
  if (stored.dtype || letter == std::string::npos) return false;
  return stored.type_name[letter] != 'V' || (stored.item_bits != 8 && bits(plain_type(stored.item_bits)) == 8);
}

/// A tensor of a foreign type as an array of bytes, with the bytes of an element as its last dim.
StoredTensor as_bytes(const StoredTensor& stored) {
  StoredTensor out = stored;
  out.dtype = DType::u8;
  out.byte_swapped = false;
  if (stored.item_bits == 8) return out;
  if (stored.item_bits % 8 != 0 || stored.item_bits == 0) {
    out.shape = Dims{stored.byte_size};
  } else if (stored.shape.size() == kMaxDims) {
    throw Failure(kUnsupported, Error(ErrorCode::limit,
                                      fmt::format("elements of {} have {} bytes, which would be a dim beside {}",
                                                  escaped(stored.type_name), stored.item_bits / 8, kMaxDims),
                                      "dtype", escaped(stored.type_name), std::to_string(kMaxDims)));
  } else {
    out.shape.push_back(stored.item_bits / 8);
  }
  out.item_bits = 8;
  return out;
}

DType resolve_dtype(const InputOptions& options, const StoredTensor& stored) {
  if (!options.dtype) {
    if (stored.dtype) return *stored.dtype;
    if (is_foreign(stored)) {
      const DType plain = plain_type(stored.item_bits);
      // A model's input has its type, so there is no flag that says another.
      const std::string how = options.expected
                                  ? fmt::format("and the model's input is {}", name(options.expected->dtype))
                                  : fmt::format("{} {} reads their bits{}", options.dtype_flag, name(plain),
                                                bits(plain) == stored.item_bits ? "" : " as an array of bytes");
      throw Failure(kUnsupported, Error(ErrorCode::unsupported,
                                        fmt::format("{}: {}elements of {} are not converted; {}", shown_path(options),
                                                    stored.name.empty() ? "" : escaped(stored.name) + ": ",
                                                    escaped(stored.type_name), how),
                                        "dtype", escaped(stored.type_name)));
    }
    if (options.expected) return expected_dtype(options, stored);
    usage_error(fmt::format("{}: the file does not say what its elements are; give {}", shown_path(options),
                            options.dtype_flag),
                options.dtype_flag);
  }
  const DType dtype = dtype_argument(*options.dtype, options.dtype_flag);
  if (stored.dtype) {
    if (dtype == *stored.dtype || may_be_kept_as(dtype, *stored.dtype)) return dtype;
    if (stored.dtype_assumed && bits(dtype) == stored.item_bits) return dtype;
    usage_error(fmt::format("{} {}: {} holds {}; --to-dtype converts values to another type", options.dtype_flag,
                            name(dtype), shown_path(options), name(*stored.dtype)),
                options.dtype_flag, std::string(name(dtype)), std::string(name(*stored.dtype)));
  }
  if (stored.item_bits != 0 && stored.item_bits != bits(dtype) && !as_packed(dtype, stored)) {
    usage_error(fmt::format("{} {}: the elements of {} have {} bits and can only be read as a type of that width",
                            options.dtype_flag, name(dtype), shown_path(options), stored.item_bits),
                options.dtype_flag, std::string(name(dtype)), std::to_string(stored.item_bits));
  }
  return dtype;
}

Format resolve_format(const InputOptions& options, const StoredTensor& stored) {
  if (options.layout) return layout_argument(*options.layout);
  return stored.layout ? *stored.layout : Format::parse("contiguous");
}

std::optional<Dims> given_dims(const InputOptions& options) {
  if (!options.dims) return std::nullopt;
  return dims_argument(*options.dims, options.dims_flag);
}

/// The dims that the file records. They hold even where the command line names another layout; --dims must agree.
Dims recorded_dims(const InputOptions& options, const StoredTensor& stored) {
  const std::optional<Dims> dims = given_dims(options);
  if (dims && *dims != *stored.dims) {
    const std::string given = dims_text(*dims), recorded = dims_text(*stored.dims);
    throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                  fmt::format("{} {}: {} says that its tensor is {} ({})", options.dims_flag, given,
                                              shown_path(options), recorded, escaped(stored.layout->text())),
                                  options.dims_flag, given, recorded));
  }
  return *stored.dims;
}

/// The dims that the file fixes by itself: those that it or its layout records, or those of its shape if no other dims
/// have that shape, as those have of which blocks are padded.
std::optional<Dims> own_dims(const StoredTensor& stored, const Format& format, DType dtype, bool raw) {
  if (stored.dims) return stored.dims;
  if (format.fixed_dims()) return format.fixed_dims();
  if (raw || as_packed(dtype, stored)) return std::nullopt;
  try {
    const Dims dims = format.dims_from_physical(stored.shape);
    const Layout buffer = format.before_views(dims);
    for (int d = 0; d < buffer.ndims(); ++d) {
      if (buffer.block(d) > 1) return std::nullopt;
    }
    return dims;
  } catch (const Error&) {
    return std::nullopt;  // a layout whose array does not show the dims, or not this one's array
  }
}

/// The shape of the array in elements. Where its bytes hold sub-byte elements, the array must be flat, and has as many
/// as its bytes have room for.
Dims element_shape(const InputOptions& options, const StoredTensor& stored, DType dtype) {
  if (!as_packed(dtype, stored)) return stored.shape;
  const auto has_bits = stored.shape.size() == 1 ? checked_mul(stored.shape[0], 8) : std::nullopt;
  if (!has_bits) {
    usage_error(fmt::format("{} {}: bytes of shape {} in {} do not show the dims of elements of {} bits; give {}",
                            options.dtype_flag, name(dtype), shape_text(stored.shape), shown_path(options), bits(dtype),
                            options.dims_flag),
                options.dims_flag);
  }
  return Dims{*has_bits / bits(dtype)};
}

/// Whether an array of this layout says nothing of the logical dims: of an image, with an offset, and of strides.
bool is_shapeless(const Format& format) {
  return format.is_image() || format.kind() == Format::Kind::strides || format.text().find('@') != std::string::npos;
}

/// The dims before the views with which the tensor has the expected dims; nothing where the array shows others.
std::optional<Dims> expected_dims(const InputOptions& options, const StoredTensor& stored, const Format& format,
                                  bool raw) {
  if (!options.expected || !options.expected->dims || stored.dims || format.fixed_dims()) return std::nullopt;
  const std::optional<Dims> dims = format.dims_before_views(*options.expected->dims);
  if (raw) {
    if (dims) return dims;
    usage_error(fmt::format("{} {}: its views do not show the dims of the buffer of {}", options.layout_flag,
                            escaped(format.text()), shown_path(options)),
                options.layout_flag);
  }
  if (is_shapeless(format)) return dims;
  try {
    if (dims && format.physical_shape(*dims).value_or(Dims{format.buffer_span(*dims)}) == stored.shape) return dims;
  } catch (const Error&) {  // dims that the layout does not take
  }
  return std::nullopt;
}

Dims resolve_dims(const InputOptions& options, const StoredTensor& stored, const Format& format, DType dtype) {
  if (stored.dims) return recorded_dims(options, stored);
  if (const auto given = given_dims(options)) return *given;
  if (const auto dims = from_command_line([&] { return format.default_dims(); })) return *dims;
  if (format.kind() == Format::Kind::undef || format.kind() == Format::Kind::any) {
    usage_error(fmt::format("{} {} is no layout of data", options.layout_flag, format.text()), options.layout_flag);
  }
  if (format.kind() == Format::Kind::strides) {
    usage_error(fmt::format("{} {}: a shape does not show the logical dims of strides; give {}", options.layout_flag,
                            escaped(format.text()), options.dims_flag),
                options.dims_flag);
  }
  const Dims shape = element_shape(options, stored, dtype);
  try {
    return format.dims_from_physical(shape);
  } catch (const Error& error) {
    // The shape of an image or of a layout with an offset does not show the logical dims, so --dims is needed.
    const std::string hint = is_shapeless(format) ? "; give " + options.dims_flag : "";
    const int code = hint.empty() ? kBadData : kUsage;
    throw Failure(exit_code(error, code),
                  Error(error.code(), fmt::format("{}: {}{}", shown_path(options), error.message(), hint),
                        error.field(), error.value(), error.limit()));
  }
}

/// Bytes of the buffer that a layout describes, all of it where the tensor is a view of a part.
int64_t buffer_bytes(const Format& format, const Dims& dims, DType dtype) {
  const int64_t elements = format.buffer_span(dims);
  const std::optional<int64_t> bytes = bytes_for(dtype, elements);
  if (bytes) return *bytes;
  usage_error(fmt::format("{} of dims {}: {} elements of type {} do not fit 63 bits of bytes", escaped(format.text()),
                          dims_text(dims), elements, name(dtype)),
              "--dims", dims_text(dims));
}

/// Checks an array of bytes that hold sub-byte elements: the layout must take exactly as many bytes as the file has.
void check_packed(const InputOptions& options, const StoredTensor& stored, const Format& format, const Dims& dims,
                  const TensorDesc& desc) {
  if (stored.fortran_order && stored.shape.size() > 1) {
    usage_error(fmt::format("{} {}: {} is in Fortran order, in which elements of {} bits are not kept",
                            options.dtype_flag, name(desc.dtype), shown_path(options), bits(desc.dtype)),
                options.dtype_flag, std::string(name(desc.dtype)));
  }
  const int64_t need = buffer_bytes(format, dims, desc.dtype);
  if (stored.byte_size == need) return;
  throw Failure(kBadData,
                Error(ErrorCode::invalid_argument,
                      fmt::format("{}: {} bytes in the file; {} {} with dims {} takes {}", shown_path(options),
                                  stored.byte_size, escaped(format.text()), name(desc.dtype), dims_text(dims), need),
                      "bytes", std::to_string(stored.byte_size), std::to_string(need)));
}

/// Checks that the shape of the file's array is exactly the one that the layout describes.
void check_shape(const InputOptions& options, const StoredTensor& stored, const Format& format, const Dims& dims,
                 const TensorDesc& desc) {
  const std::optional<Dims> physical = format.physical_shape(dims);
  const int64_t span = format.buffer_span(dims);
  if (as_packed(desc.dtype, stored)) return check_packed(options, stored, format, dims, desc);
  if (physical && (*physical == stored.shape || has_joined_gates(format, stored.shape, dims))) return;
  if (!physical && stored.shape.size() == 1 && stored.shape[0] == span) return;
  const std::string expected = physical ? shape_text(*physical) : fmt::format("({})", span);
  throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                fmt::format("{}: shape {} of the file is not the shape {} of {} with dims {}",
                                            shown_path(options), shape_text(stored.shape), expected,
                                            escaped(format.text()), dims_text(dims)),
                                "shape", join(stored.shape), physical ? join(*physical) : std::to_string(span)));
}

/// Runs f, which reads or decodes. If it needs more memory than --max-memory allows, the error says so.
template <typename F>
auto under_cap(const InputOptions& options, F&& f) {
  return from_data([&] {
    try {
      return f();
    } catch (const Error& error) {
      if (options.max_memory == 0 || error.field() != "decoded_bytes") throw;
      throw Failure(kUsage,
                    Error(ErrorCode::limit,
                          fmt::format("--max-memory {}: {}, which takes more", options.max_memory, why_held(options)),
                          "--max-memory", std::to_string(options.max_memory), error.value()));
    }
  });
}

std::size_t find_tensor(const InputOptions& options, const TensorFile& file) {
  const auto tensors = file.tensors();
  if (options.tensor_may_name_output && tensors.size() == 1 && tensors[0].name.empty()) return 0;
  return from_command_line([&] { return file.find(options.tensor); });
}

}  // namespace

std::string file_path(const InputOptions& options) { return options.path == "-" ? "/dev/stdin" : options.path; }
std::string shown_path(const InputOptions& options) {
  return options.path == "-" ? "standard input" : escaped(options.path);
}

std::string why_held(const InputOptions& options) {
  const bool stream = is_stream(file_path(options));
  return shown_path(options) + (stream ? " is a pipe or a device and held in memory" : " is decoded into memory");
}

TensorInput open_tensor(const InputOptions& options) {
  FileLimits limits;
  if (options.max_memory > 0) limits.decoded_bytes = std::min(limits.decoded_bytes, options.max_memory);
  TensorFile file = under_cap(options, [&] { return TensorFile::open(file_path(options), limits, options.tensor); });
  const std::size_t tensor = find_tensor(options, file);
  const StoredTensor& found = file.tensors()[tensor];
  if (found.problem) (void)under_cap(options, [&] { return file.bytes(tensor); });  // throws it
  const bool bytes_asked = is_foreign(found) && options.dtype && dtype_argument(*options.dtype) == DType::u8;
  StoredTensor stored = bytes_asked ? as_bytes(found) : found;
  const bool bytes_last = bytes_asked && stored.shape.size() > found.shape.size();
  const bool raw = file.format() == FileFormat::raw;
  check_raw_flags(options, file.format());
  if (raw) require_for_raw(options);
  const DType dtype = resolve_dtype(options, stored);
  const bool one_a_byte = numpy::has_one_a_byte(stored.type_name, dtype);
  if (one_a_byte) stored.item_bits = bits(dtype);  // the shape counts elements, as that of any other array
  const Format given = resolve_format(options, stored);
  const std::optional<Dims> own =
      options.dims_shared ? own_dims(stored, given, dtype, raw) : expected_dims(options, stored, given, raw);
  const Dims dims = own ? *own : resolve_dims(options, stored, given, dtype);
  const bool dims_given = options.dims && given_dims(options) == dims;
  const bool apart = options.gates_apart && cpu::gates_are_no_layout(given, dims, false);
  const Format format = apart ? given.without_gates() : given;
  // Where the dims do not fit the layout, that is an error of usage if the command line gave them, else of the file.
  const auto bound = [&] { return bind_tensor(format, dims, dtype); };
  TensorDesc desc = dims_given || options.expected ? from_command_line(bound) : from_data(bound);

  TensorInput input{.file = file,
                    .format = format,
                    .buffer_dims = dims,
                    .dims_given = dims_given,
                    .desc = std::move(desc),
                    .bytes = under_cap(options, [&] { return file.bytes(tensor); }),
                    .swap_item_bytes = 0,
                    .gates = {},
                    .mapped = file.mapped(tensor),
                    .copy = {}};
  if (one_a_byte) pack_elements(options, input);
  if (input.mapped) {
    const std::string shown = options.path == "-" ? shown_path(options) : "\"" + shown_path(options) + "\"";
    const Error changed(ErrorCode::io, shown + " changed while it was read", "path", shown_path(options));
    name_source(input.bytes, error_text(changed, false), error_text(changed, true));
  }
  if (apart) input.gates = given.gates();
  input.named = !stored.name.empty();
  if (stored.byte_swapped) input.swap_item_bytes = stored.item_bits / 8;
  if (raw) {
    take_raw_bytes(options, input);
    return input;
  }
  check_shape(options, stored, format, dims, input.desc);
  if (stored.fortran_order && stored.shape.size() > 1) {
    if (!format.is_image() && format.physical_shape(dims) && !has_joined_gates(format, stored.shape, dims)) {
      input.desc.layout = format.bind_physical(dims, column_major(stored.shape, bytes_last));
    } else {
      copy_to_row_major(options, stored, bytes_last, input);
    }
  }
  return input;
}

}  // namespace relayout::tools
