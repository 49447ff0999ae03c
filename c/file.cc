// Files in C: a file's tensors as descriptors and bytes, and one tensor as a file.
#include <algorithm>

#include "c/handles.h"

namespace c = relayout::c;
using relayout::Dims;
using relayout::Error;
using relayout::ErrorCode;
using relayout::Format;
using relayout::Layout;
using relayout::StoredTensor;
using relayout::TensorDesc;

namespace {

const StoredTensor& stored(const relayout_file& handle, size_t tensor) {
  const std::span<const StoredTensor> tensors = handle.file.tensors();
  if (tensor >= tensors.size())
    c::refuse("tensor", "is " + std::to_string(tensor) + ", and the file has " + std::to_string(tensors.size()));
  return tensors[tensor];
}

/// The layout and type that a file states.
TensorDesc desc_of(const StoredTensor& tensor) {
  if (tensor.problem) throw Error(*tensor.problem);
  if (!tensor.dtype && !tensor.type_name.empty()) {
    throw Error(ErrorCode::unsupported,
                "elements of " + relayout::escaped(tensor.type_name) + ", which are not converted", "dtype",
                relayout::escaped(tensor.type_name));
  }
  if (!tensor.dtype) throw Error(ErrorCode::unsupported, "the file does not say the type of its elements", "dtype");
  if (tensor.byte_swapped)
    throw Error(ErrorCode::unsupported, "the elements are big-endian; swap their bytes first", "dtype");
  if (tensor.layout) {
    const Dims dims = tensor.dims ? *tensor.dims : tensor.layout->dims_from_physical(tensor.shape);
    return {tensor.layout->bind(dims), *tensor.dtype};
  }
  if (!tensor.fortran_order) return {Layout::contiguous(tensor.shape), *tensor.dtype};
  Dims strides(tensor.shape.size(), 1);
  for (int d = 1; d < strides.size(); ++d) strides[d] = strides[d - 1] * std::max<int64_t>(tensor.shape[d - 1], 1);
  return {Layout::strided(tensor.shape, strides), *tensor.dtype};
}

/// How a file says a layout: by its tag, as a whole array.
relayout::TensorSpec spec_of(const TensorDesc& desc) {
  // A row-major layout is an array of its own dims, however its digits are spelled.
  const Layout rows = Layout::contiguous(desc.layout.dims());
  const std::optional<std::string> tag = relayout::tag_of(desc.layout == rows ? rows : desc.layout);
  const std::optional<Format> format = tag ? std::optional(Format::parse(*tag)) : std::nullopt;
  const std::optional<Dims> shape = format ? format->physical_shape(desc.layout.dims()) : std::nullopt;
  if (!shape) {
    throw Error(ErrorCode::unsupported,
                "a file holds whole arrays, and this layout is none: " + relayout::digits_expression(desc.layout) +
                    "; reorder it to a tag first",
                "desc");
  }
  return {.name = {}, .dtype = desc.dtype, .shape = *shape, .layout = format, .dims = desc.layout.dims()};
}

}  // namespace

extern "C" {

relayout_status relayout_file_open(const char* path, relayout_file** file) {
  return c::guarded([&] {
    const char* name = c::checked_text(path, "path");
    relayout_file*& out = c::result(file, "file");
    out = new relayout_file(relayout::TensorFile::open(name));
  });
}

void relayout_file_close(relayout_file* file) { c::free_handle(file); }

relayout_status relayout_file_count(const relayout_file* file, size_t* tensors) {
  return c::guarded([&] { c::result(tensors, "tensors") = c::checked(file, "file").file.tensors().size(); });
}

relayout_status relayout_file_name(const relayout_file* file, size_t tensor, char* name, size_t capacity,
                                   size_t* length) {
  return c::guarded([&] { c::give_text(stored(c::checked(file, "file"), tensor).name, name, capacity, length); });
}

relayout_status relayout_file_find(const relayout_file* file, const char* name, size_t* tensor) {
  return c::guarded([&] {
    const relayout::TensorFile& from = c::checked(file, "file").file;
    c::result(tensor, "tensor") = from.find(c::checked_text(name, "name"));
  });
}

relayout_status relayout_file_desc(const relayout_file* file, size_t tensor, relayout_desc** desc) {
  return c::guarded([&] {
    const StoredTensor& from = stored(c::checked(file, "file"), tensor);
    relayout_desc*& out = c::result(desc, "desc");
    const TensorDesc found = desc_of(from);
    out = new relayout_desc(found, from.layout ? from.layout->dim_names(found.layout.ndims()) : "");
  });
}

relayout_status relayout_file_data(const relayout_file* file, size_t tensor, const void** data, size_t* bytes) {
  return c::guarded([&] {
    const relayout_file& from = c::checked(file, "file");
    stored(from, tensor);
    const void*& pointer = c::result(data, "data");
    size_t& size = c::result(bytes, "bytes");
    const std::span<const std::byte> found = from.file.bytes(tensor);
    pointer = found.data();
    size = found.size();
  });
}

relayout_status relayout_file_write(const char* path, const relayout_desc* desc, const void* data, size_t bytes,
                                    int overwrite) {
  return c::guarded([&] {
    const char* name = c::checked_text(path, "path");
    const TensorDesc& from = c::checked(desc, "desc").desc;
    if (data == nullptr && bytes != 0) c::refuse("data", "is null, but its size is " + std::to_string(bytes));
    const relayout::TensorSpec spec = spec_of(from);
    // Before there is a file, because space on the disk is reserved for all of it. What overflows is refused by
    // create().
    const std::optional<int64_t> elements = relayout::checked_product(spec.shape);
    const std::optional<int64_t> needed = elements ? relayout::bytes_for(spec.dtype, *elements) : std::nullopt;
    if (needed && bytes < static_cast<size_t>(*needed)) {
      throw Error(ErrorCode::buffer_too_small,
                  "data has " + std::to_string(bytes) + " bytes, and the array takes " + std::to_string(*needed),
                  "bytes", std::to_string(bytes), std::to_string(*needed));
    }
    relayout::TensorWriter writer = relayout::TensorWriter::create(name, spec, overwrite != 0);
    const std::span<std::byte> to = writer.bytes();
    if (!to.empty()) std::memcpy(to.data(), data, to.size());
    writer.commit();
  });
}

}  // extern "C"
