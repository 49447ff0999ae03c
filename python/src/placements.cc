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
#include "relayout/interop/placements/placement_text.h"
#include "relayout/redistribute/compare.h"
#include "relayout/redistribute/rank_plan.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using redistribute::Buffer;
using redistribute::Exchange;
using redistribute::RankPlan;

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
  Local(const Array& array, const Dims& expected, int64_t place, const char* what)
      : tensor(array.tensor(unsigned_of(array.item_bytes))), item(array.item_bytes) {
    if (array.shape != expected)
      throw Error(ErrorCode::invalid_argument,
                  "redistribute: " + std::string(what) + " has the shape (" + join(array.shape) + "), and place " +
                      std::to_string(place) + " has (" + join(expected) + ")",
                  what, join(array.shape), join(expected));
  }
  std::pair<TensorDesc, std::byte*> tensor;
  int64_t item;
};

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

void pack(const RankPlan& plan, const Buffer& buffer, nb::handle local, nb::handle packed) {
  const Array array(local);
  const Local memory(array, plan.src_dims(), plan.rank(), "local");
  const Bytes bytes(packed, true);
  bytes.check(buffer.elements * memory.item);
  plan.pack(buffer, memory.tensor.first, memory.tensor.second, bytes.data());
}

void unpack(const RankPlan& plan, const Buffer& buffer, nb::handle packed, nb::handle out) {
  const Array array(out);
  const Local memory(array, plan.dst_dims(), plan.place(), "out");
  const Bytes bytes(packed, false);
  bytes.check(buffer.elements * memory.item);
  plan.unpack(buffer, bytes.data(), memory.tensor.first, memory.tensor.second);
}

void keep(const RankPlan& plan, nb::handle local, nb::handle out) {
  const Array read(local), written(out);
  const Local here(read, plan.src_dims(), plan.rank(), "local"), there(written, plan.dst_dims(), plan.place(), "out");
  plan.keep(here.tensor.first, here.tensor.second, there.tensor.first, there.tensor.second);
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
  nb::class_<Exchange>(module, "Exchange")
      .def(nb::init<const Placement&, const Placement&>(), nb::arg("src"), nb::arg("dst"))
      .def_prop_ro("elements_travelling", &Exchange::elements_travelling)
      .def("relabelled", &Exchange::relabelled)
      .def("with_ranks", &Exchange::with_ranks, nb::arg("ranks"));
  nb::class_<Buffer>(module, "RankBuffer").def_ro("rank", &Buffer::rank).def_ro("elements", &Buffer::elements);
  nb::class_<RankPlan>(module, "RankPlan")
      .def(nb::init<const Placement&, const Placement&, int64_t, bool>(), nb::arg("src"), nb::arg("dst"),
           nb::arg("rank"), nb::arg("relabel"))
      .def_prop_ro("place", &RankPlan::place)
      .def("sent", &RankPlan::sent)
      .def("received", &RankPlan::received)
      .def("sent_to", &RankPlan::sent_to, nb::arg("rank"), nb::arg("most"))
      .def("received_from", &RankPlan::received_from, nb::arg("rank"), nb::arg("most"))
      .def("pack", &pack, nb::arg("buffer"), nb::arg("local"), nb::arg("packed"))
      .def("unpack", &unpack, nb::arg("buffer"), nb::arg("packed"), nb::arg("out"))
      .def("keep", &keep, nb::arg("local"), nb::arg("out"));
}

}  // namespace relayout::python
