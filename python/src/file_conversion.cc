// convert_file(): a tensor of one file into another file, whole or in parts that take little memory.
//
// The source is mapped where its format allows that, and the destination is a new file that appears when all is done.
// So a conversion that fails, or that somebody ends, leaves nothing behind.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/conversion.h"
#include "python/src/copies.h"
#include "python/src/layout.h"
#include "python/src/watch.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/slab_reorder.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/interop/numpy_bytes.h"
#include "relayout/io/file_version.h"
#include "relayout/redistribute/files/run_tasks.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// The strides in bytes of a file's array.
Dims file_strides(const StoredTensor& stored, int64_t item_bytes) {
  Dims out(stored.shape.size(), item_bytes);
  int64_t step = item_bytes;
  for (int i = 0; i < stored.shape.size(); ++i) {
    const int d = stored.fortran_order ? i : stored.shape.size() - 1 - i;
    out[d] = step;
    step *= std::max<int64_t>(1, stored.shape[d]);
  }
  return out;
}

/// The names of the types: the one that the caller gives, and else the file's.
std::string type_of(const StoredTensor& stored, const std::optional<std::string>& given) {
  if (given) return *given;
  if (stored.dtype) return std::string(name(*stored.dtype));
  throw Error(ErrorCode::invalid_argument, "the file does not say what its elements are: give src_dtype", "src_dtype");
}

/// A conversion, and the orders of gates that its layouts leave out because they are no layouts.
struct Planned {
  Conversion conversion;
  Format dst;  // as the new file records it
  std::optional<Format::GateOrder> src_gates{}, dst_gates{};
};

/// An expression without its order of gates.
nb::object without_gates(const Format& format) {
  std::string text = format.text();
  const std::size_t at = text.find(";gates:");
  text.erase(at, std::min(text.find(';', at + 1), text.size()) - at);
  return nb::str(text.c_str());
}

/// The dims that a file records hold even where `src` is another layout; dims= must agree.
void check_recorded(const StoredTensor& stored, nb::handle dims) {
  if (dims.is_none() || dims_of(dims, "dims") == *stored.dims) return;
  const std::string given = join(dims_of(dims, "dims"), "x"), recorded = join(*stored.dims, "x");
  throw Error(ErrorCode::invalid_argument,
              "dims: " + given + " is given, and the file says that its tensor is " + recorded +
                  (stored.layout ? " (" + escaped(stored.layout->text()) + ")" : std::string()),
              "dims", given, recorded);
}

Planned planned(const StoredTensor& stored, nb::handle src, nb::handle dst, nb::handle dims,
                const std::string& src_dtype, const std::string& dst_dtype, nb::handle attributes) {
  const int64_t item_bytes = std::max(1, stored.item_bits / 8);
  const Dims shape = stored.item_bits == 0 ? Dims{stored.byte_size} : stored.shape;
  nb::object said = nb::borrow(src), extents = nb::borrow(dims);
  if (said.is_none()) said = nb::str(stored.layout ? stored.layout->text().c_str() : "contiguous");
  if (stored.dims) {
    check_recorded(stored, extents);
    extents = tuple_of(*stored.dims);
  }
  std::optional<Format::GateOrder> src_gates, dst_gates;
  if (!is_layout(said)) {
    const Format format = Format::parse(nb::cast<std::string>(said));
    if (format.gates()) {
      if (extents.is_none()) extents = tuple_of(format.dims_from_physical(shape));
      if (cpu::gates_are_no_layout(format, dims_of(extents, "dims"), false)) {
        said = without_gates(format);
        src_gates = format.gates();
      }
    }
  }
  const auto convert_to = [&](nb::handle to) {
    return Conversion(said, to, extents, tuple_of(shape), tuple_of(file_strides(stored, item_bytes)), item_bytes,
                      src_dtype, dst_dtype, attributes, {});
  };
  if (!is_layout(dst)) {
    const Format format = Format::parse(nb::cast<std::string>(dst));
    if (format.gates()) {
      Conversion conversion = convert_to(without_gates(format));
      if (cpu::gates_are_no_layout(format, conversion.src().desc.layout.dims(), true))
        return {std::move(conversion), format, src_gates, format.gates()};
    }
  }
  Conversion conversion = convert_to(dst);
  const Format format = Format::parse(conversion.dst().expression);
  return {std::move(conversion), format, src_gates, {}};
}

void check_holds(const cpu::SlabSource& src) {
  const int64_t need = src.desc.span_bytes(), have = static_cast<int64_t>(src.bytes.size());
  if (have >= need) return;
  throw Error(ErrorCode::buffer_too_small,
              "the file's tensor has " + std::to_string(have) + " bytes, and its layout takes " + std::to_string(need),
              "src", std::to_string(have), std::to_string(need));
}

/// Elements of which each has a byte, in row-major order behind each other.
std::vector<std::byte> packed_rows(std::span<const std::byte> bytes, const Dims& shape, const Dims& strides,
                                   DType dtype) {
  std::vector<std::byte> rows(bytes.size());
  cpu::reorder({Layout::strided(shape, strides), DType::u8}, bytes, {Layout::contiguous(shape), DType::u8}, rows);
  return numpy::packed(rows, dtype);
}

/// The plan under a bound, whose error counts what is held in memory anyway.
redistribute::TaskPlan tasks_for(const cpu::SlabSource& src, const cpu::SlabDestination& dst, int64_t max_memory) {
  const int64_t held = cpu::held_bytes(src, dst);
  try {
    return redistribute::file_plan(src, dst, max_memory);
  } catch (const Error& error) {
    if (error.field() != "max_memory") throw;
    const int64_t need = std::stoll(error.limit()) + held;
    throw Error(ErrorCode::limit,
                "max_memory: the smallest part takes " + std::to_string(need) + " bytes" +
                    (held > 0 ? " together with what is held in memory anyway" : ""),
                "max_memory", std::to_string(max_memory), std::to_string(need));
  }
}

void convert_file(nb::handle src_path, nb::handle dst_path, nb::handle src, nb::handle dst, nb::handle dims,
                  const std::optional<std::string>& src_dtype, const std::optional<std::string>& dst_dtype,
                  nb::handle attributes, const std::string& tensor, bool overwrite, int threads,
                  std::optional<int64_t> max_memory, nb::handle progress) {
  const std::string from = path_of(src_path), to = path_of(dst_path);
  FileLimits limits;
  if (max_memory) limits.decoded_bytes = std::min(limits.decoded_bytes, std::max<int64_t>(1, *max_memory));
  const io::FileVersion version(from);
  const TensorFile file =
      watched(nb::handle(), [&](const GoOn& go_on) { return TensorFile::open(from, limits, tensor, go_on); });
  const auto tensors = file.tensors();
  // Of a file without names the name is the new file's alone.
  const std::size_t index = tensors.size() == 1 && tensors[0].name.empty() ? 0 : file.find(tensor);
  StoredTensor stored = tensors[index];
  const std::string own = type_of(stored, src_dtype);
  const std::optional<DType> known = find_dtype(own);
  const bool one_a_byte = known && numpy::has_one_a_byte(stored.type_name, *known);
  const Dims strides = file_strides(stored, 1);
  if (one_a_byte) {
    stored.item_bits = bits(*known);
    stored.fortran_order = false;  // packed() brings them into order
  }
  const Planned work = planned(stored, src, dst, dims, own, dst_dtype.value_or(own), attributes);
  const Plan& plan = work.conversion.plan();
  if (plan.attributes().beta != 0)
    throw Error(ErrorCode::invalid_argument, "beta adds to what a destination holds, and a new file holds nothing",
                "beta");
  const TensorSpec spec = spec_of(work.dst, work.conversion.dst().buffer_dims, plan.dst().dtype, tensor);
  std::span<const std::byte> bytes = watched(nb::handle(), [&](const GoOn& go_on) { return file.bytes(index, go_on); });
  std::vector<std::byte> packed;
  if (one_a_byte) bytes = packed = packed_rows(bytes, stored.shape, strides, *known);
  Watched watch(progress);
  const bool mapped = file.mapped(index) && !one_a_byte;
  const FilePart part = mapped && max_memory ? file.reopen(bytes) : FilePart();
  const cpu::SlabSource source{.desc = plan.src(),
                               .bytes = bytes,
                               .mapped = mapped,
                               .swap_item_bytes = stored.byte_swapped ? stored.item_bits / 8 : 0,
                               .gates = work.src_gates,
                               .descriptor = part.descriptor(),
                               .file_offset = part.offset()};
  check_holds(source);
  TensorWriter writer = TensorWriter::create(to, spec, overwrite);
  const cpu::SlabDestination destination{.desc = plan.dst(),
                                         .bytes = writer.bytes(),
                                         .mapped = writer.mapped(),
                                         .gates = work.dst_gates,
                                         .descriptor = writer.descriptor(),
                                         .file_offset = writer.file_offset()};
  const auto go_on = [&](int64_t done, int64_t total) { return watch.go_on(done, total); };
  const cpu::RunOptions run{.threads = threads};
  if (max_memory ? redistribute::run_tasks(tasks_for(source, destination, *max_memory), source, destination,
                                           plan.attributes(), run, to, go_on)
                 : cpu::reorder_slabs(cpu::slab_grid(source, destination), source, destination, plan.attributes(), run,
                                      go_on)) {
    version.check("convert");
    commit(writer, watch);
  }
  watch.finish();
}

}  // namespace

void bind_file_conversion(nb::module_& module) {
  module.def("convert_file", &convert_file, nb::arg("src_path"), nb::arg("dst_path"), nb::arg("src").none(),
             nb::arg("dst"), nb::arg("dims").none(), nb::arg("src_dtype").none(), nb::arg("dtype").none(),
             nb::arg("attributes").none(), nb::arg("tensor"), nb::arg("overwrite"), nb::arg("threads"),
             nb::arg("max_memory").none(), nb::arg("progress").none());
}

}  // namespace relayout::python
