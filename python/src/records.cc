// Records and the values of packed weights: relayout.Record's questions, and what relayout.dequantize() calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/core/packed/packed.h"
#include "relayout/cpu/dequantize.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/c_record.h"
#include "relayout/interop/numpy_record.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// A record, and how it was written where it was written as text.
struct PyRecord {
  Record record;
  std::optional<RecordFormat> format{};
  Dims dims{};
};

PyRecord parsed(const std::string& text, nb::handle dims) {
  PyRecord out{{}, RecordFormat::parse(text), dims_of(dims, "dims")};
  out.record = out.format->bind(out.dims);
  return out;
}

PyRecord of_descr(const std::string& descr, nb::handle shape) {
  return {numpy::record_of(numpy::record_type(descr), dims_of(shape, "shape"))};
}

nb::list fields_of(const PyRecord& self) {
  nb::list out;
  for (const Field& field : self.record.fields()) {
    const std::string type(name(field.dtype));
    out.append(nb::make_tuple(field.name, type, PyLayout{field.layout}));
  }
  return out;
}

nb::list places_of(const PyRecord& self, int64_t byte) {
  nb::list out;
  for (const Record::Place& place : self.record.at_byte(byte)) {
    out.append(nb::make_tuple(self.record.fields()[place.field].name, tuple_of(place.index), place.first_bit,
                              place.bits, place.padding));
  }
  return out;
}

const RecordFormat& format_of(const PyRecord& self) {
  if (self.format) return *self.format;
  throw Error(ErrorCode::unsupported, "this record was made of an array's type, and has no text of its own", "record");
}

std::span<const std::byte> memory_of_bytes(const Array& array) {
  if (!array.row_major()) throw Error(ErrorCode::invalid_argument, "the buffer is not contiguous", "buffer");
  return {array.data, static_cast<std::size_t>(array.bytes())};
}

std::span<std::byte> memory_to_write(const Array& array) {
  if (array.read_only) throw Error(ErrorCode::invalid_argument, "out is read-only", "out");
  const auto bytes = memory_of_bytes(array);
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Copies a field out of a buffer, in row-major order.
void take(const PyRecord& self, const std::string& name, nb::handle buffer, nb::handle out) {
  const Field& field = self.record.field(name);
  const Array from(buffer), to(out);
  const TensorDesc dense(Layout::contiguous(field.layout.dims()), field.dtype);
  cpu::reorder(field.desc(), memory_of_bytes(from), dense, Elements(memory_to_write(to)));
}

/// Copies an array in row-major order into a field of a buffer.
void put(const PyRecord& self, const std::string& name, nb::handle x, nb::handle buffer) {
  const Field& field = self.record.field(name);
  const Array from(x), to(buffer);
  const TensorDesc dense(Layout::contiguous(field.layout.dims()), field.dtype);
  cpu::reorder(dense, memory_of_bytes(from), field.desc(), Elements(memory_to_write(to)), {.padding = Padding::zero()});
}

void dequantize(const std::string& format, nb::handle shape, int64_t group, nb::list buffers, nb::handle out,
                const std::string& dtype, int threads) {
  cpu::PackedTensor tensor{.format = format, .values = dims_of(shape, "shape"), .group = group};
  const PackedFormat& packed = packed_format(format);
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<cpu::PackedBuffer> memory;
  for (const nb::handle item : buffers) {
    const auto name = nb::cast<std::string>(item[0]);
    const auto type = nb::cast<std::string>(item[2]);  // of the array's elements; "" where relayout has no such type
    arrays.push_back(std::make_unique<Array>(nb::object(item[1])));
    memory.emplace_back(name, memory_of_bytes(*arrays.back()));
    for (const PackedField& field : packed.fields) {
      if (packed.one_buffer() || field.buffer != name || !is_floating(field.dtype)) continue;
      if (!type.empty() && is_floating(parse_dtype(type))) tensor.types.emplace_back(field.name, parse_dtype(type));
    }
  }
  const Array to(out);
  const auto bytes = memory_to_write(to);
  const TensorDesc dst(Layout::contiguous(tensor.values), parse_dtype(dtype));
  const nb::gil_scoped_release released;
  cpu::dequantize(tensor, memory, dst, Elements(bytes), {.threads = threads});
}

nb::dict described_format(const std::string& name) {
  const PackedFormat& format = packed_format(name);
  nb::list fields;
  for (const PackedField& field : format.fields) {
    fields.append(
        nb::make_tuple(std::string(field.name), std::string(relayout::name(field.dtype)), std::string(field.buffer)));
  }
  nb::dict out;
  out["name"] = std::string(format.name);
  out["dims"] = std::string(format.dims);
  out["fields"] = fields;
  out["value"] = std::string(format.value);
  out["one_buffer"] = format.one_buffer();
  return out;
}

}  // namespace

void bind_records(nb::module_& module) {
  nb::class_<PyRecord>(module, "_Record")
      .def_prop_ro("bytes", [](const PyRecord& r) { return r.record.bytes(); })
      .def_prop_ro("free_bits", [](const PyRecord& r) { return r.record.free_bits(); })
      .def_prop_ro("expression", [](const PyRecord& r) { return expression_of(r.record); })
      .def_prop_ro("fields", &fields_of)
      .def("at_byte", &places_of, nb::arg("byte"))
      .def("take", &take, nb::arg("name"), nb::arg("buffer"), nb::arg("out"))
      .def("put", &put, nb::arg("name"), nb::arg("x"), nb::arg("buffer"))
      .def("c", [](const PyRecord& r) { return c_record::code(format_of(r), r.dims); })
      .def("descr", [](const PyRecord& r) { return numpy::record_descr(format_of(r)); })
      .def(
          "same", [](const PyRecord& a, const PyRecord& b) { return a.record == b.record; }, nb::arg("other"));
  module.def("_record", &parsed, nb::arg("text"), nb::arg("dims"));
  module.def("_record_of_descr", &of_descr, nb::arg("descr"), nb::arg("shape"));
  module.def("_dequantize", &dequantize, nb::arg("format"), nb::arg("shape"), nb::arg("group"), nb::arg("buffers"),
             nb::arg("out"), nb::arg("dtype"), nb::arg("threads"));
  module.def("_packed_format", &described_format, nb::arg("name"));
}

}  // namespace relayout::python
