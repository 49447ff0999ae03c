// Records and the values of packed weights: relayout.Record's questions, and what relayout.dequantize() calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/core/packed/packed.h"
#include "relayout/cpu/dequantize.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/repack.h"
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

PyRecord packed(const std::string& name, nb::handle dims, const std::string& buffer, int64_t group) {
  return {packed_record(packed_format(name), dims_of(dims, "dims"), buffer, group)};
}

/// The buffers of a packed matrix, of which Python gives (name, bytes, type); they live as long as this.
struct Given {
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<cpu::PackedBuffer> memory;
  cpu::PackedTensor tensor;

  Given(const std::string& format, nb::handle shape, int64_t group, nb::list buffers)
      : tensor{.format = format, .values = dims_of(shape, "shape"), .group = group} {
    const PackedFormat& packed = packed_format(format);
    for (const nb::handle item : buffers) {
      const auto name = nb::cast<std::string>(item[0]);
      const auto type = nb::cast<std::string>(item[2]);  // of the array's elements; "" where relayout has no such type
      arrays.push_back(std::make_unique<Array>(nb::object(item[1])));
      memory.emplace_back(name, memory_of_bytes(*arrays.back()));
      for (const PackedField& field : packed.fields) {
        const std::vector<std::string_view> names = names_of_buffer(packed, field.buffer);
        if (packed.one_buffer() || !is_floating(field.dtype) || std::ranges::find(names, name) == names.end()) continue;
        if (!type.empty() && is_floating(parse_dtype(type))) tensor.types.emplace_back(field.name, parse_dtype(type));
      }
    }
  }
};

void dequantize(const std::string& format, nb::handle shape, int64_t group, nb::list buffers, nb::handle out,
                const std::string& dtype, int threads, nb::handle group_of) {
  Given given(format, shape, group, buffers);
  if (!group_of.is_none()) given.tensor.group_of = entries_of(group_of, "g_idx");
  const Array to(out);
  const auto bytes = memory_to_write(to);
  const TensorDesc dst(Layout::contiguous(given.tensor.values), parse_dtype(dtype));
  const nb::gil_scoped_release released;
  cpu::dequantize(given.tensor, given.memory, dst, Elements(bytes), {}, {.threads = threads});
}

/// The arrays of a matrix in another format, (name, type, shape), and its dims there.
nb::tuple repacked_arrays(const std::string& format, nb::handle shape, int64_t group, nb::list buffers,
                          const std::string& to, int64_t to_group) {
  const Given given(format, shape, group, buffers);
  const cpu::PackedTensor target = cpu::packed_as(given.tensor, to, to_group);
  const PackedFormat& packed = packed_format(to);
  nb::list out;
  for (const std::string_view buffer : cpu::value_buffers(packed)) {
    const PackedArray array = packed_array(packed, target.values, buffer, target.group);
    DType dtype = array.dtype;
    for (const auto& [field, type] : target.types) {
      if (packed.field(field).buffer == buffer) dtype = type;
    }
    out.append(nb::make_tuple(std::string(buffer), std::string(relayout::name(dtype)), tuple_of(array.shape)));
  }
  return nb::make_tuple(out, tuple_of(target.values));
}

/// Fills the arrays of repacked_arrays(), (name, bytes) each; whether that is exact, and the errors.
nb::tuple repack(const std::string& format, nb::handle shape, int64_t group, nb::list buffers, const std::string& to,
                 int64_t to_group, nb::list arrays, bool requantise, int threads) {
  const Given given(format, shape, group, buffers);
  const cpu::PackedTensor target = cpu::packed_as(given.tensor, to, to_group);
  std::vector<std::unique_ptr<Array>> kept;
  std::vector<cpu::PackedTarget> targets;
  for (const nb::handle item : arrays) {
    kept.push_back(std::make_unique<Array>(nb::object(item[1])));
    targets.emplace_back(nb::cast<std::string>(item[0]), Elements(memory_to_write(*kept.back())));
  }
  cpu::Repacked done;
  {
    const nb::gil_scoped_release released;
    done = cpu::repack(given.tensor, given.memory, target, targets,
                       {.requantise = requantise, .run = {.threads = threads}});
  }
  return nb::make_tuple(done.exact, done.largest_error, done.rms_error);
}

nb::dict described_format(const std::string& name) {
  const PackedFormat& format = packed_format(name);
  nb::list fields;
  for (const PackedField& field : format.fields) {
    nb::list names;
    for (const std::string_view each : names_of_buffer(format, field.buffer)) names.append(std::string(each));
    fields.append(nb::make_tuple(std::string(field.name), std::string(relayout::name(field.dtype)), names));
  }
  nb::dict out;
  out["name"] = std::string(format.name);
  out["dims"] = std::string(format.dims);
  out["fields"] = fields;
  out["value"] = std::string(format.value);
  out["dims_buffer"] = std::string(format.dims_buffer);
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
             nb::arg("out"), nb::arg("dtype"), nb::arg("threads"), nb::arg("group_of").none());
  module.def("_packed_record", &packed, nb::arg("name"), nb::arg("dims"), nb::arg("buffer"), nb::arg("group"));
  module.def("_repacked_arrays", &repacked_arrays, nb::arg("format"), nb::arg("shape"), nb::arg("group"),
             nb::arg("buffers"), nb::arg("to"), nb::arg("to_group"));
  module.def("_repack", &repack, nb::arg("format"), nb::arg("shape"), nb::arg("group"), nb::arg("buffers"),
             nb::arg("to"), nb::arg("to_group"), nb::arg("arrays"), nb::arg("requantise"), nb::arg("threads"));
  module.def("_packed_format", &described_format, nb::arg("name"));
}

}  // namespace relayout::python
