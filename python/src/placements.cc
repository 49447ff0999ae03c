// Placement and Exchange: which place holds which elements, and the messages between two placements, packed and
// unpacked (relayout/mpi.py).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/copies.h"
#include "python/src/layout.h"
#include "relayout/core/error.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/placements/placement_text.h"
#include "relayout/redistribute/compare.h"
#include "relayout/redistribute/exchange.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using redistribute::Exchange;
using redistribute::Message;
using redistribute::Part;

using Pairs = std::vector<std::pair<int64_t, int64_t>>;
using PyDimPlaces = std::tuple<int64_t, Pairs, int64_t>;

Placement placement_of(nb::handle dims, int64_t places, const std::vector<PyDimPlaces>& of_dims) {
  std::vector<DimPlaces> out;
  for (const auto& [block, digits, first] : of_dims) {
    out.push_back({.block = block, .places = {}, .first = first});
    for (const auto& [extent, stride] : digits) out.back().places.push_back({extent, stride});
  }
  return Placement::of(dims_of(dims, "dims"), places, out);
}

std::vector<PyDimPlaces> of_dims(const Placement& placement) {
  std::vector<PyDimPlaces> out;
  for (const DimPlaces& dim : placement.of_dims()) {
    Pairs digits;
    for (const Digit& digit : dim.places) digits.emplace_back(digit.extent, digit.stride);
    out.emplace_back(dim.block, digits, dim.first);
  }
  return out;
}

std::vector<int64_t> holders(const Placement& placement, nb::handle index) {
  const int64_t first = placement.place(dims_of(index, "index"));
  std::vector<int64_t> out;
  for (int64_t k = 0; k < placement.copy_count(); ++k) out.push_back(first + placement.copy_step(k));
  return out;
}

/// Elements are moved by their bits.
DType unsigned_of(int64_t item_bytes) {
  switch (item_bytes) {
    case 1: return DType::u8;
    case 2: return DType::u16;
    case 4: return DType::u32;
    case 8: return DType::u64;
    default:
      throw Error(ErrorCode::unsupported,
                  "redistribute: elements of " + std::to_string(item_bytes) + " bytes; 1, 2, 4 and 8 are moved",
                  "dtype");
  }
}

/// The memory of a place: its layout, and where its offset 0 lies.
struct Local {
  Local(const Array& array, const Placement& placement, int64_t place, const char* what)
      : tensor(array.tensor(unsigned_of(array.item_bytes))), item(array.item_bytes) {
    const Dims expected = placement.local_dims(place);
    if (array.shape != expected)
      throw Error(ErrorCode::invalid_argument,
                  "redistribute: " + std::string(what) + " has the shape (" + join(array.shape) + "), and place " +
                      std::to_string(place) + " has (" + join(expected) + ")",
                  what, join(array.shape), join(expected));
  }
  std::pair<TensorDesc, std::byte*> tensor;
  int64_t item;
};

void move_bits(const Layout& src, const std::byte* from, const Layout& dst, std::byte* to, DType dtype) {
  const cpu::RunOptions options;
  cpu::run(cpu::make_plan({src, dtype}, {dst, dtype}), from, to, options);
}

std::vector<Part> parts_between(const Exchange& exchange, int64_t from, int64_t to, int64_t most) {
  for (const Message& message : exchange.sent_by(from)) {
    if (message.to == to) return most > 0 ? message.parts_of(most) : message.parts;
  }
  return {};
}

/// How many bytes a buffer of Python has, and where they are.
struct Bytes {
  explicit Bytes(nb::handle object, bool written) {
    if (PyObject_GetBuffer(object.ptr(), &view, written ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  std::byte* data() const { return static_cast<std::byte*>(view.buf); }
  void check(int64_t need) const {
    if (view.len >= need) return;
    throw Error(ErrorCode::buffer_too_small,
                "redistribute: a buffer has " + std::to_string(view.len) + " bytes, and " + std::to_string(need) +
                    " are needed",
                "buffer", std::to_string(view.len), std::to_string(need));
  }
  View view;
};

/// Packs part `number` of what goes from one place to another, or unpacks it.
void pack(const Exchange& exchange, int64_t from, const Part& part, nb::handle local, nb::handle buffer,
          int64_t offset) {
  const Array array(local);
  const Local memory(array, exchange.src(), from, "local");
  const Bytes bytes(buffer, true);
  bytes.check(offset + part.elements() * memory.item);
  move_bits(part.src_view(memory.tensor.first.layout), memory.tensor.second, Layout::contiguous(part.dims()),
            bytes.data() + offset, memory.tensor.first.dtype);
}

void unpack(const Exchange& exchange, int64_t to, const Part& part, nb::handle buffer, int64_t offset,
            nb::handle local) {
  const Array array(local);
  const Local memory(array, exchange.dst(), to, "out");
  const Bytes bytes(buffer, false);
  bytes.check(offset + part.elements() * memory.item);
  move_bits(Layout::contiguous(part.dims()), bytes.data() + offset, part.dst_view(memory.tensor.first.layout),
            memory.tensor.second, memory.tensor.first.dtype);
}

/// What a place keeps, without a buffer between.
void keep(const Exchange& exchange, int64_t from, int64_t to, const Part& part, nb::handle src, nb::handle dst) {
  const Array read(src), written(dst);
  const Local here(read, exchange.src(), from, "local"), there(written, exchange.dst(), to, "out");
  move_bits(part.src_view(here.tensor.first.layout), here.tensor.second, part.dst_view(there.tensor.first.layout),
            there.tensor.second, here.tensor.first.dtype);
}

std::vector<std::pair<int64_t, int64_t>> counts_of(const std::vector<Message>& messages, bool sent) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const Message& message : messages) out.emplace_back(sent ? message.to : message.from, message.elements());
  return out;
}

std::vector<int64_t> listed(const Dims& dims) { return {dims.begin(), dims.end()}; }

using Difference =
    std::tuple<std::vector<int64_t>, std::pair<int64_t, int64_t>, std::vector<int64_t>, std::vector<int64_t>>;

std::optional<Difference> placement_difference(const Placement& a, const Placement& b) {
  const auto found = redistribute::difference(a, b);
  if (!found) return std::nullopt;
  return Difference{
      listed(found->index), {found->place_a, found->place_b}, listed(found->local_a), listed(found->local_b)};
}

std::string spelled_placement(const std::string& system, const Placement& placement, const PlacementText* text) {
  const Spelling out =
      placement_spelling(system, placement, text == nullptr ? std::span<const MeshAxis>() : text->mesh);
  if (!out.refusal.empty()) throw Error(ErrorCode::unsupported, out.refusal, "system", system);
  return out.text;
}

/// Placements as texts, and what two of them have in common.
void bind_placement_texts(nb::module_& module) {
  nb::class_<PlacementText>(module, "PlacementText")
      .def("__init__",
           [](PlacementText* self, const std::string& text) { new (self) PlacementText(PlacementText::parse(text)); })
      .def_prop_ro("text", [](const PlacementText& t) { return t.text; })
      .def_prop_ro("dims",
                   [](const PlacementText& t) {
                     return t.extents ? std::optional<std::vector<int64_t>>(listed(*t.extents)) : std::nullopt;
                   })
      .def(
          "bind", [](const PlacementText& t, nb::handle dims) { return t.bind(dims_of(dims, "dims")); },
          nb::arg("dims"))
      .def("name_of", &PlacementText::name_of, nb::arg("placement"), nb::arg("place"));
  module.def("placement_spelling", &spelled_placement, nb::arg("system"), nb::arg("placement"), nb::arg("text").none());
  module.def("placement_difference", &placement_difference, nb::arg("a"), nb::arg("b"));
  module.def(
      "placement_overlap",
      [](const Placement& a, int64_t place_a, const Placement& b, int64_t place_b) {
        const redistribute::PlaceOverlap out = redistribute::overlap(a, place_a, b, place_b);
        return std::pair(out.elements, listed(out.index));
      },
      nb::arg("a"), nb::arg("place_a"), nb::arg("b"), nb::arg("place_b"));
}

}  // namespace

void bind_placements(nb::module_& module) {
  bind_placement_texts(module);
  nb::class_<Placement>(module, "Placement")
      .def_static("of", &placement_of, nb::arg("dims"), nb::arg("places"), nb::arg("of_dims"))
      .def_static(
          "chunks",
          [](nb::handle dims, nb::handle chunk) {
            return Placement::chunks(dims_of(dims, "dims"), dims_of(chunk, "chunk"));
          },
          nb::arg("dims"), nb::arg("chunk"))
      .def_prop_ro("dims", [](const Placement& p) { return listed(p.dims()); })
      .def_prop_ro("places", &Placement::places)
      .def_prop_ro("of_dims", &of_dims)
      .def_prop_ro("copies", &Placement::copy_count)
      .def("places_of", &holders, nb::arg("index"))
      .def(
          "local_index",
          [](const Placement& p, nb::handle index) { return listed(p.local_index(dims_of(index, "index"))); },
          nb::arg("index"))
      .def(
          "local_dims", [](const Placement& p, int64_t place) { return listed(p.local_dims(place)); }, nb::arg("place"))
      .def(
          "global_index",
          [](const Placement& p, int64_t place, nb::handle local) {
            return listed(p.global_index(place, dims_of(local, "local")));
          },
          nb::arg("place"), nb::arg("local"))
      .def(
          "__eq__",
          [](const Placement& a, nb::handle b) { return nb::isinstance<Placement>(b) && a == nb::cast<Placement>(b); },
          nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<Part>(module, "ExchangePart").def_prop_ro("elements", &Part::elements);
  nb::class_<Exchange>(module, "Exchange")
      .def(nb::init<const Placement&, const Placement&>(), nb::arg("src"), nb::arg("dst"))
      .def_prop_ro("elements_travelling", &Exchange::elements_travelling)
      .def("relabelled", &Exchange::relabelled)
      .def("with_ranks", &Exchange::with_ranks, nb::arg("ranks"))
      .def(
          "sent_by", [](const Exchange& e, int64_t place) { return counts_of(e.sent_by(place), true); },
          nb::arg("place"))
      .def(
          "received_by", [](const Exchange& e, int64_t place) { return counts_of(e.received_by(place), false); },
          nb::arg("place"))
      .def("parts", &parts_between, nb::arg("src_place"), nb::arg("dst_place"), nb::arg("most"))
      .def("pack", &pack, nb::arg("src_place"), nb::arg("part"), nb::arg("local"), nb::arg("buffer"), nb::arg("offset"))
      .def("unpack", &unpack, nb::arg("dst_place"), nb::arg("part"), nb::arg("buffer"), nb::arg("offset"),
           nb::arg("local"))
      .def("keep", &keep, nb::arg("src_place"), nb::arg("dst_place"), nb::arg("part"), nb::arg("local"),
           nb::arg("out"));
}

}  // namespace relayout::python
