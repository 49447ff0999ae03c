// Conversion: a planned convert(), from an array in one layout to an array in another.
//
// relayout/_convert.py makes one for each kind of call and keeps it; run() is all that a further call of the same kind
// does. sides.h says how an array stands for a layout.
#include "python/src/conversion.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/copies.h"
#include "python/src/functions.h"
#include "python/src/layout.h"
#include "python/src/watch.h"
#include "relayout/cpu/in_place.h"
#include "relayout/cpu/reorder.h"
#include "relayout/show/reorder_view.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// The dim of the channels: the one that the source's expression calls c, else the destination's.
std::optional<int> channel_dim(const Side& src, const Side& dst) {
  for (const Side* side : {&src, &dst}) {
    if (side->expression.empty()) continue;
    if (const auto dim = Format::parse(side->expression).dim_named('c', src.desc.layout.ndims())) return dim;
  }
  return std::nullopt;
}

/// (values, shape) of relayout/_convert.py: one value, an array with as many dims as the tensor, of extent 1 where all
/// indices share a value, and of n where groups do, or a list of one for each channel.
PerMask per_mask(nb::handle said, const char* what, const Side& src, const Side& dst, const Dims& groups) {
  const Dims& dims = src.desc.layout.dims();
  PerMask out;
  if (said.is_none()) return out;
  const auto pair = nb::cast<nb::tuple>(said);
  if (PyBytes_Check(nb::handle(pair[0]).ptr())) {  // many values, as the bytes of float64 elements
    const nb::bytes bytes = nb::cast<nb::bytes>(pair[0]);
    out.values.resize(bytes.size() / sizeof(double));
    std::memcpy(out.values.data(), bytes.c_str(), out.values.size() * sizeof(double));
  } else {
    out.values = nb::cast<std::vector<double>>(pair[0]);
  }
  Dims shape = dims_of(pair[1], what);
  if (shape.size() == 1 && dims.size() != 1) {
    if (const auto channels = channel_dim(src, dst)) {
      const int64_t count = shape[0];
      shape = Dims(dims.size(), 1);
      shape[*channels] = count;
    }
  }
  if (shape.empty()) return out;
  try {
    return per_mask_of_shape(std::move(out.values), shape, dims, groups, what);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument,
                std::string(what) + " of shape " + shape_text(shape) + " for a tensor of " + shape_text(dims) +
                    (groups.empty() ? "" : " in groups of " + shape_text(groups)) +
                    ": it is one number, or it has the tensor's dims, with extent 1 where all indices share a value, "
                    "or n where groups of them do; a list has one number for each channel where a layout calls a dim "
                    "c, as nchw and nhwc do",
                error.field(), shape_text(shape), shape_text(dims));
  }
}

/// cpu::make_plan(), whose errors name attributes as the functions of Python do. `divisor` is "std" or "dst_scale".
Plan plan_with(const Side& src, const Side& dst, const Attributes& how, const std::string& divisor) {
  try {
    return cpu::make_plan(src.desc, dst.desc, how);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    const AttributeName names[] = {{"src_scale", "scale"},
                                   {"dst_scale", divisor},
                                   {"src_zero_point", "zero_point"},
                                   {"dst_zero_point", "dst_zero_point"},
                                   {"mean", "mean"}};
    throw renamed(error, names);
  }
}

/// The strides that count, those of dims with several indices; of the others NumPy itself says this or that.
Dims counted(const Dims& shape, Dims strides) {
  const bool empty = product(shape) == 0;
  for (int d = 0; d < std::min(shape.size(), strides.size()); ++d)
    if (empty || shape[d] == 1) strides[d] = 0;
  return strides;
}

}  // namespace

Conversion::Conversion(nb::handle src, nb::handle dst, nb::handle dims, nb::handle shape, nb::handle strides,
                       int64_t item_bytes, const std::string& src_dtype, const std::string& dst_dtype,
                       nb::handle attributes, const std::string& own_dtype)
    : made_of_(nb::make_tuple(src, dst, dims, shape, strides, item_bytes, src_dtype, dst_dtype, attributes, own_dtype)),
      item_bytes_(item_bytes),
      own_dtype_(own_dtype.empty() ? src_dtype : own_dtype) {
  if (item_bytes < 1)
    throw Error(ErrorCode::invalid_argument, "elements of " + std::to_string(item_bytes) + " bytes", "item_bytes");
  const Dims extents = dims_of(shape, "shape"), steps = dims_of(strides, "strides_bytes");
  if (steps.size() != extents.size())
    throw Error(ErrorCode::invalid_argument, "as many strides as dims are needed", "strides_bytes");
  strides_ = counted(extents, steps);
  src_ = source_side(src, dims, extents, steps, item_bytes, parse_dtype(src_dtype));
  dst_ = destination_side(dst, src_.desc.layout.dims(), parse_dtype(dst_dtype));
  if (bits(dst_.desc.dtype) < 8)
    dst_.shape = Dims{TensorDesc(Layout::contiguous({product(dst_.shape)}), dst_.desc.dtype).span_bytes()};
  std::string divisor = "dst_scale";
  if (!attributes.is_none()) {
    const auto fields = nb::cast<nb::tuple>(attributes);
    divisor = nb::cast<std::string>(fields[7]);
    const Dims groups = fields[8].is_none() ? Dims{} : dims_of(fields[8], "groups");
    how_.src_scale = per_mask(fields[0], "scale", src_, dst_, groups);
    how_.dst_scale = per_mask(fields[1], divisor.c_str(), src_, dst_, groups);
    how_.src_zero_point = per_mask(fields[2], "zero_point", src_, dst_, groups);
    how_.dst_zero_point = per_mask(fields[3], "dst_zero_point", src_, dst_, groups);
    how_.mean = per_mask(fields[4], "mean", src_, dst_, groups);
    how_.beta = nb::cast<double>(fields[5]);
    how_.padding = fields[6].is_none() ? Padding::keep()
                                       : Padding::of(ElementValue::parse(nb::cast<std::string>(fields[6]), "padding"));
  }
  kept_ = std::make_shared<cpu::KeptPlan>(plan_with(src_, dst_, how_, divisor));
  // What a new array holds must be known also where no element and no padding is written.
  const Layout& layout = dst_.desc.layout;
  fills_ = how_.padding.kind == Padding::Kind::value && how_.beta == 0 && bits(dst_.desc.dtype) >= 8 &&
           layout.padded_elements() == product(dst_.shape) && layout.packed();
}

void Conversion::run(nb::handle x, nb::handle out, int threads, bool fresh, nb::handle progress) const {
  const Array src(x), dst(out, src);
  fresh ? prefer_huge_pages(dst.data, dst.bytes()) : note_written(dst);
  check_strided(src, "x");
  if (src.shape != src_.shape)
    throw Error(
        ErrorCode::invalid_argument,
        "x is an array of " + shape_text(src.shape) + ", and this was planned for one of " + shape_text(src_.shape),
        "x", shape_text(src.shape), shape_text(src_.shape));
  if (!takes(src))
    throw Error(ErrorCode::invalid_argument, "x has another type or other strides than this was planned for", "x");
  check_destination(dst_, dst);
  if (shared_memory(src, dst))
    throw Error(ErrorCode::overlap, "x and out share memory; reorder_in_place works within one array", "out");
  const std::byte* from = src.data - src_.origin;
  if (dst.row_major()) return run_plan(kept_->use(), from, dst.data, threads, dst_.desc.span_bytes(), progress);
  const Side side = strided_destination(dst_, dst);
  run_plan(plan_over(side), from, dst.data - side.origin, threads, side.desc.logical_bytes(), progress);
}

/// Whether the memory of the source's layout and the destination's meet. Where the ranges of their addresses do, and
/// both are arrays whose elements have addresses of their own, each element is looked at.
bool Conversion::shared_memory(const Array& src, const Array& dst) const {
  const std::byte* from = src.data - src_.origin;
  const auto [low, high] = dst.row_major() ? std::pair(int64_t{0}, dst_.desc.span_bytes()) : dst.byte_range();
  if (from >= dst.data + high || dst.data + low >= from + src_.desc.span_bytes()) return false;
  return overlaps(src, dst);
}

/// The plan into an array that has strides of its own.
Plan Conversion::plan_over(const Side& side) const {
  try {
    return cpu::cached_plan(src_.desc, side.desc, how_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_injective) throw;
    throw Error(ErrorCode::not_injective, "elements of out share memory: " + error.message(), "out");
  }
}

namespace {

/// "bf16 nChw16c".
std::string name_of(const Side& side) {
  const auto tag = side.expression.empty() ? tag_of(side.desc.layout) : side.expression;
  return std::string(name(side.desc.dtype)) + " " + (tag ? *tag : digits_expression(side.desc.layout));
}

}  // namespace

std::string Conversion::explain() const {
  return "convert " + name_of(src_) + " -> " + name_of(dst_) + "\n" + plan().explain();
}

std::string Conversion::outline() const {
  const Layout& to = dst_.desc.layout;
  std::string letters;
  for (int d = 0; d < to.ndims(); ++d) letters += static_cast<char>('a' + d);
  return show::reorder_json(show::reorder_view(plan()), to, letters);
}

std::string Conversion::repr() const {
  const auto side = [](const Side& s) { return name_of(s) + " " + std::string(nb::repr(tuple_of(s.shape)).c_str()); };
  return "<relayout.Conversion " + side(src_) + " -> " + side(dst_) + ">";
}

bool Conversion::has_types_of(nb::handle x, nb::handle out) const {
  static PyObject* const name_of_dtype = PyUnicode_InternFromString("dtype");
  for (const nb::handle array : {x, out}) {
    if (!is_numpy_itself(array) && !is_torch_itself(array)) return false;
    const nb::object dtype = nb::steal(PyObject_GetAttr(array.ptr(), name_of_dtype));
    if (!dtype.is_valid()) throw nb::python_error();
    const std::optional<DType> known = known_dtype(dtype);
    if (!known || (array.is(x) ? name(*known) != own_dtype_ : *known != dst_.desc.dtype)) return false;
  }
  return true;
}

bool Conversion::takes(const Array& src) const {
  return src.shape == src_.shape && counted(src.shape, src.strides) == strides_ && src.item_bytes == item_bytes_;
}

namespace {

/// An array of so many bytes is not reordered at once, so that handlers of signals run meanwhile.
constexpr int64_t kWatchedBytes = int64_t{32} << 20;

PyLayout layout_of_side(const Side& side) { return {side.desc.layout, {}, {}, {}}; }

/// Both layouts are of the array's memory, which is one run of elements. The shape of the array that it then holds.
Integers reorder_in_place(nb::handle x, nb::handle src, nb::handle dst, nb::handle dims, const std::string& dtype,
                          int threads, nb::handle progress) {
  const Array array(x);
  if (array.read_only) throw Error(ErrorCode::invalid_argument, "the array is read-only", "x");
  if (!array.row_major())
    throw Error(ErrorCode::unsupported, "the array's elements must lie row-major in one run of memory", "x");
  const DType type = parse_dtype(dtype);
  const Side from = source_side(src, dims, array.shape, array.strides, array.item_bytes, type);
  Side to = destination_side(dst, from.desc.layout.dims(), type);
  if (bits(type) < 8) to.shape = Dims{to.desc.span_bytes()};
  const int64_t bytes = array.bytes();
  const Elements memory{array.data, static_cast<std::size_t>(bytes)};
  note_written(array);
  if (progress.is_none() && bytes < kWatchedBytes) {
    const ReleasedGil released(bytes);
    cpu::reorder_in_place(from.desc, to.desc, memory, {}, {.threads = threads});
  } else {
    Watched work(progress);
    const InPlacePlan plan = InPlacePlan::make(from.desc, to.desc);
    // What a signal's handler or progress raises is thrown when all is done.
    cpu::run(plan, memory, {.threads = threads}, [&](int64_t done, int64_t total) { work.go_on(done, total); });
    work.finish();
  }
  return tuple_of(to.shape);
}

}  // namespace

namespace {

/// What Conversion.run() does, in relayout/_planned.py.
nb::object run_conversion(nb::handle conversion, nb::handle x, nb::handle out, int threads, nb::handle progress) {
  if (!nb::isinstance<Conversion>(conversion) || !nb::inst_ready(conversion))
    throw nb::type_error("a Conversion is needed");
  const Conversion& planned = *nb::inst_ptr<Conversion>(conversion);
  if (planned.has_types_of(x, out)) {
    planned.run(x, out, threads, false, progress);
    return nb::borrow(out);
  }
  return nb::module_::import_("relayout._planned").attr("run_conversion")(conversion, x, out, threads, progress);
}

}  // namespace

void bind_conversion(nb::module_& module) {
  nb::class_<Conversion>(module, "Conversion", nb::type_slots(made_by_init()),
                         "A planned convert(); made by relayout.plan_conversion().")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, int64_t, const std::string&,
                    const std::string&, nb::handle, const std::string&>(),
           nb::arg("src"), nb::arg("dst"), nb::arg("dims").none(), nb::arg("shape"), nb::arg("strides_bytes"),
           nb::arg("item_bytes"), nb::arg("src_dtype"), nb::arg("dst_dtype"), nb::arg("attributes").none(),
           nb::arg("own_dtype") = "")
      .def("run", &run_conversion, nb::arg("x"), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::arg("progress") = nb::none(),
           nb::sig("def run(self, x: typing.Any, out: typing.Any = None, threads: int = 0, "
                   "progress: typing.Any = None) -> typing.Any"),
           "Converts x, an array of the type, shape and strides that this was planned for, and returns the result: a "
           "new array of x's library, or `out`, which is as for `convert`. Of sub-byte types it is uint8, with several "
           "elements a byte. progress: as for `convert`. Errors: those of `convert`, and InvalidArgumentError where x "
           "has "
           "another type or shape, or other strides.")
      // Of arrays whose types were looked at.
      .def("_run", &Conversion::run, nb::arg("x"), nb::arg("out"), nb::arg("threads"), nb::arg("fresh"),
           nb::arg("progress").none())
      .def_prop_ro("_own_dtype", &Conversion::own_dtype)
      .def_prop_ro("_adds", &Conversion::adds)
      .def("__reduce__", [](const Conversion& c) { return nb::make_tuple(nb::type<Conversion>(), c.made_of()); })
      .def_prop_ro(
          "shape", [](const Conversion& c) { return tuple_of(c.dst().shape); }, "The shape of the result.")
      .def_prop_ro(
          "dtype", [](const Conversion& c) { return std::string(name(c.dst().desc.dtype)); }, "Of the result.")
      .def_prop_ro(
          "src_dtype", [](const Conversion& c) { return std::string(name(c.src().desc.dtype)); }, "Of x's elements.")
      .def_prop_ro("fills", &Conversion::fills, "Whether every byte of the result is written.")
      .def_prop_ro("src_layout", [](const Conversion& c) { return layout_of_side(c.src()); })
      .def_prop_ro("dst_layout", [](const Conversion& c) { return layout_of_side(c.dst()); })
      .def("explain", &Conversion::explain,
           "How the elements are moved, in words: both layouts by their names, then the plan, which calls dims a, b, "
           "...")
      .def_prop_ro(
          "outline", [](const Conversion& c) { return nb::module_::import_("json").attr("loads")(c.outline()); },
          nb::sig("def outline(self) -> dict[str, typing.Any]"),
          "What explain() says, as values: boxes with their axes, method and reason, and the moves in the order in "
          "which "
          "they are made. docs/show.md has the keys, which are those of a page's data.")
      .def("__repr__", &Conversion::repr)
      .def("__str__", &Conversion::explain);
  module.def("reorder_in_place", &reorder_in_place, nb::arg("x"), nb::arg("src"), nb::arg("dst"),
             nb::arg("dims").none(), nb::arg("dtype"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace relayout::python
