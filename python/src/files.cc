// Files of tensors: .npy, .npz, .safetensors, images and raw bytes, as bytes of Python.
//
// relayout/_files.py makes arrays of them. Nothing is copied where a file is mapped.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "python/src/arrays.h"
#include "python/src/buffer.h"
#include "python/src/copies.h"
#include "python/src/watch.h"
#include "relayout/interop/files/tensor_file.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// A text of a file, which need not be UTF-8.
nb::object text_of(const std::string& bytes) {
  PyObject* out = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}

nb::dict described(const StoredTensor& tensor) {
  nb::dict out;
  out["name"] = text_of(tensor.name);
  out["dtype"] = tensor.dtype ? nb::object(nb::str(std::string(name(*tensor.dtype)).c_str())) : nb::none();
  out["byte_size"] = tensor.byte_size;
  out["item_bits"] = tensor.item_bits;
  out["shape"] = tuple_of(tensor.shape);
  out["fortran_order"] = tensor.fortran_order;
  out["byte_swapped"] = tensor.byte_swapped;
  out["layout"] = tensor.layout ? nb::object(nb::str(tensor.layout->text().c_str())) : nb::none();
  out["dims"] = tensor.dims ? nb::object(tuple_of(*tensor.dims)) : nb::none();
  out["type_name"] = text_of(tensor.type_name);
  out["dtype_assumed"] = tensor.dtype_assumed;
  out["problem"] = tensor.problem ? nb::object(text_of(tensor.problem->message())) : nb::none();
  return out;
}

/// The bytes of one tensor, which live as long as the Buffer.
Buffer bytes_of(const TensorFile& file, std::size_t index, nb::handle progress) {
  const auto found = watched(progress, [&](const GoOn& go_on) { return file.bytes(index, go_on); });
  // The pages are read-only; nothing writes to what is marked so.
  return Buffer({Layout::contiguous({static_cast<int64_t>(found.size())}), DType::u8},
                const_cast<std::byte*>(found.data()), true, std::make_shared<TensorFile>(file));
}

/// `dtype` is a name, or of a type that is not converted the file's name and the bits of an element.
TensorSpec spec_of(const std::string& name, nb::handle dtype, nb::handle shape,
                   const std::optional<std::string>& layout, nb::handle dims) {
  TensorSpec out{.name = name, .shape = dims_of(shape, "shape")};
  if (PyTuple_Check(dtype.ptr())) {
    std::tie(out.type_name, out.item_bits) = nb::cast<std::pair<std::string, int>>(dtype);
  } else {
    out.dtype = parse_dtype(nb::cast<std::string>(dtype));
  }
  if (layout) out.layout = Format::parse(*layout);
  if (!dims.is_none()) out.dims = dims_of(dims, "dims");
  return out;
}

std::span<const std::byte> memory_of(const Array& array) {
  if (!array.row_major()) throw Error(ErrorCode::invalid_argument, "the array is not contiguous", "x");
  return {array.data, static_cast<std::size_t>(array.bytes())};
}

void write(nb::handle path, const std::string& name, nb::handle x, nb::handle dtype, nb::handle shape,
           const std::optional<std::string>& layout, nb::handle dims, bool overwrite, nb::handle progress) {
  const Array array(x);
  const auto bytes = memory_of(array);
  const TensorSpec spec = spec_of(name, dtype, shape, layout, dims);
  // Before the space is reserved on the disk.
  const int64_t elements = Layout::contiguous(spec.shape).elements();
  const auto needed = spec.type_name.empty() ? TensorDesc(Layout::contiguous(spec.shape), spec.dtype).span_bytes()
                                             : elements * spec.item_bits / 8 + (elements * spec.item_bits % 8 != 0);
  if (bytes.size() != static_cast<std::size_t>(needed)) {
    throw Error(ErrorCode::buffer_too_small,
                "the array has " + std::to_string(bytes.size()) + " bytes, and the file's " + std::to_string(needed),
                "x", std::to_string(bytes.size()), std::to_string(needed));
  }
  const std::string place = path_of(path);
  Watched work(progress);
  TensorWriter writer = TensorWriter::create(place, spec, overwrite);
  const std::span<std::byte> to = writer.bytes();
  if (copy_bytes(to.data(), bytes.data(), static_cast<int64_t>(to.size()), work)) commit(writer, work);
  work.finish();
}

/// Arrays with what is said of them, for a file of several.
struct Listed {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<NamedTensor> named;

  /// `tensors` are tuples of name, array, dtype, shape, layout or None, dims or None.
  explicit Listed(nb::handle tensors) {
    for (nb::handle item : tensors) {
      const auto fields = nb::cast<nb::tuple>(item);
      arrays.push_back(std::make_unique<Array>(fields[1]));
      named.push_back({spec_of(nb::cast<std::string>(fields[0]), fields[2], fields[3],
                               nb::cast<std::optional<std::string>>(fields[4]), fields[5]),
                       memory_of(*arrays.back())});
    }
  }
};

void write_archive(nb::handle path, nb::handle tensors, bool overwrite, nb::handle progress) {
  const Listed listed(tensors);
  const std::string where = path_of(path);
  watched(progress, [&](const GoOn& go_on) { write_npz(where, listed.named, overwrite, go_on); });
}

void write_with_metadata(nb::handle path, nb::handle tensors, const std::vector<Metadata>& metadata, bool overwrite,
                         nb::handle progress) {
  const Listed listed(tensors);
  const std::string where = path_of(path);
  watched(progress, [&](const GoOn& go_on) { write_safetensors(where, listed.named, metadata, overwrite, go_on); });
}

}  // namespace

void bind_files(nb::module_& module) {
  nb::class_<TensorFile>(module, "TensorFile", "An open file of tensors; made by relayout.open().")
      .def(nb::new_([](nb::handle path, const std::string& wanted) {
             const std::string place = path_of(path);
             return watched(nb::handle(),
                            [&](const GoOn& go_on) { return TensorFile::open(place, {}, wanted, go_on); });
           }),
           nb::arg("path"), nb::arg("wanted") = "")
      .def_prop_ro("format", [](const TensorFile& f) { return std::string(name(f.format())); })
      .def("tensors",
           [](const TensorFile& f) {
             nb::list out;
             for (const StoredTensor& tensor : f.tensors()) out.append(described(tensor));
             return out;
           })
      .def("metadata",
           [](const TensorFile& f) {
             nb::dict out;
             for (const auto& [key, value] : f.metadata()) out[text_of(key)] = text_of(value);
             return out;
           })
      .def("find", &TensorFile::find, nb::arg("name"))
      .def("bytes", &bytes_of, nb::arg("index"), nb::arg("progress") = nb::none());
  module.def("write_tensor", &write, nb::arg("path"), nb::arg("name"), nb::arg("x"), nb::arg("dtype"), nb::arg("shape"),
             nb::arg("layout").none(), nb::arg("dims").none(), nb::arg("overwrite"), nb::arg("progress").none());
  module.def("write_npz", &write_archive, nb::arg("path"), nb::arg("tensors"), nb::arg("overwrite"),
             nb::arg("progress").none());
  module.def("write_safetensors", &write_with_metadata, nb::arg("path"), nb::arg("tensors"), nb::arg("metadata"),
             nb::arg("overwrite"), nb::arg("progress").none());
}

}  // namespace relayout::python
