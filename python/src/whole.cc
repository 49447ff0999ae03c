// write_part(): an array becomes a part of a tensor of a file that exists (relayout/_convert_into.py).
#include "relayout/checkpoint/whole.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/src/arrays.h"
#include "python/src/copies.h"
#include "python/src/sides.h"
#include "python/src/watch.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

void write_part(nb::handle x, nb::handle src, nb::handle dims, const std::string& src_dtype, nb::handle path,
                nb::handle at, const std::string& tensor, const std::optional<std::string>& dst, nb::handle dst_dims,
                const std::optional<std::string>& dst_dtype, int threads, nb::handle progress) {
  const Array array(x);
  check_strided(array, "x");
  const Side side = source_side(src, dims, array.shape, array.strides, array.item_bytes, parse_dtype(src_dtype));
  const std::string place = path_of(path);
  const Dims begin = dims_of(at, "at");
  checkpoint::WholeOptions whole{.tensor = tensor};
  if (dst) whole.layout = Format::parse(*dst);
  if (!dst_dims.is_none()) whole.dims = dims_of(dst_dims, "dst_dims");
  if (dst_dtype) whole.dtype = parse_dtype(*dst_dtype);
  checkpoint::WholeTensor file = checkpoint::WholeTensor::open(place, whole);
  const cpu::SlabSource part{.desc = side.desc,
                             .bytes = {array.data - side.origin, static_cast<std::size_t>(side.desc.span_bytes())},
                             .gates = {}};
  watched(progress, [&](const GoOn& go_on) {
    file.write(part, begin, {.may_round = dst_dtype.has_value(), .threads = threads, .go_on = go_on});
  });
}

}  // namespace

void bind_whole(nb::module_& module) {
  module.def("write_part", &write_part, nb::arg("x"), nb::arg("src"), nb::arg("dims").none(), nb::arg("src_dtype"),
             nb::arg("path"), nb::arg("at"), nb::arg("tensor"), nb::arg("dst").none(), nb::arg("dst_dims").none(),
             nb::arg("dst_dtype").none(), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace relayout::python
