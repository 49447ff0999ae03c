// Index tables: what relayout.gather() and relayout.scatter() call, and the entries of ragged and of sparse rows.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "python/src/watch.h"
#include "relayout/cpu/attribute_values.h"
#include "relayout/cpu/gathered_parts.h"
#include "relayout/cpu/reorder.h"

namespace nb = nanobind;

namespace relayout::python {

std::vector<int64_t> entries_of(nb::handle table, const char* what) {
  const Array array(table);
  const nb::object dtype = table.attr("dtype");
  const std::optional<DType> type = known_dtype(dtype);
  if (!type || !is_integer(*type)) {
    const std::string given = nb::str(dtype).c_str();
    throw Error(ErrorCode::invalid_argument, std::string(what) + " is of " + given + "; indices are integers", what,
                given, "integers");
  }
  const auto [desc, origin] = array.tensor(*type);
  return cpu::indices_of_tensor(desc, {origin, static_cast<std::size_t>(desc.span_bytes())}, what);
}

namespace {

/// An array whose elements are moved by their bits, in units of 1, 2, 4 or 8 bytes; units of an element are a last dim.
/// Offset 0 of the layout lies at the second.
std::pair<TensorDesc, std::byte*> moved(const Array& array, int64_t unit) {
  Dims dims = array.shape, strides = array.strides;
  int64_t offset0 = 0;
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] <= 1) strides[d] = 0;
    strides[d] /= unit;
    if (strides[d] < 0) offset0 -= strides[d] * (dims[d] - 1);
  }
  if (array.item_bytes > unit) {
    dims.push_back(array.item_bytes / unit);
    strides.push_back(1);
  }
  constexpr DType kUnits[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  const auto type = kUnits[std::countr_zero(static_cast<uint64_t>(unit))];
  return {{Layout::strided(dims, strides, offset0), type}, array.data - offset0 * unit};
}

int64_t largest_unit(const Array& a, const Array& b) {
  int64_t unit = std::gcd(int64_t{8}, a.item_bytes);
  for (const Array* array : {&a, &b}) {
    for (int d = 0; d < array->shape.size(); ++d)
      if (array->shape[d] > 1) unit = std::gcd(unit, array->strides[d]);
  }
  return unit;
}

/// One side of the table's: "x" where entries say what is read, "out" where they say what is written.
void move_by_index(nb::handle x, nb::handle out, nb::handle table, int dim, int64_t block, bool scatters, int threads) {
  const Array src(x), dst(out, src);
  if (dst.read_only) throw Error(ErrorCode::invalid_argument, "the destination is read-only", "out");
  note_written(dst);
  const int64_t unit = largest_unit(src, dst);
  const auto [from_desc, from] = moved(src, unit);
  const auto [to_desc, to] = moved(dst, unit);
  const auto [src_low, src_high] = src.byte_range();
  const auto [dst_low, dst_high] = dst.byte_range();
  if (src_low != src_high && dst_low != dst_high && src.data + src_low < dst.data + dst_high &&
      dst.data + dst_low < src.data + src_high)
    throw Error(ErrorCode::overlap, "x and out share memory", "out");
  Attributes attributes;
  (scatters ? attributes.dst_index : attributes.src_index).emplace_back(dim, entries_of(table, "table"), block);
  try {
    const auto run = [&, from = from, to = to](const Plan& plan) { run_plan(plan, from, to, threads, dst.bytes()); };
    if (cpu::gathers_in_parts(from_desc, to_desc, attributes))
      cpu::gather_in_parts(from_desc, to_desc, attributes, run);
    else
      run(cpu::make_plan(from_desc, to_desc, attributes));
  } catch (const Error& error) {
    const std::string called = "table";
    const AttributeName names[] = {{"src_index", called}, {"dst_index", called}};
    throw renamed(error, names);
  }
}

void fill_entries(const IndexTable& table, nb::handle out) {
  const Array array(out);
  if (array.bytes() != static_cast<int64_t>(table.entries().size_bytes()) || !array.row_major())
    throw Error(ErrorCode::internal, "the array has another size than the table");
  std::ranges::copy(std::as_bytes(table.entries()), array.data);
}

}  // namespace

void bind_index_tables(nb::module_& module) {
  module.def("move_by_index", &move_by_index, nb::arg("x"), nb::arg("out"), nb::arg("table"), nb::arg("dim"),
             nb::arg("block"), nb::arg("scatters"), nb::arg("threads"));
  module.def("fill_ragged", [](nb::handle starts, int64_t longest, nb::handle out) {
    fill_entries(IndexTable::ragged(0, entries_of(starts, "starts"), longest), out);
  });
  module.def("fill_sparse_rows", [](nb::handle starts, nb::handle columns, int64_t count, nb::handle out) {
    fill_entries(IndexTable::sparse_rows(0, entries_of(starts, "starts"), entries_of(columns, "indices"), count), out);
  });
}

}  // namespace relayout::python
