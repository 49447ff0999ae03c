// relayout.interop: other systems' descriptions as layouts, and layouts as theirs.
//
// Here are the systems that write a layout as a text; interop_descriptions.cc has those that give fields.
#include "python/src/interop.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "relayout/interop/c_function.h"
#include "relayout/interop/cute.h"
#include "relayout/interop/kv_cache.h"
#include "relayout/interop/mace.h"
#include "relayout/interop/names_elsewhere.h"
#include "relayout/interop/scales.h"
#include "relayout/interop/triton.h"
#include "relayout/interop/tvm.h"
#include "relayout/interop/xla.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

void bind_texts(nb::module_& m) {
  m.def(
       "from_xla", [](const std::string& t) { return typed(xla::from_xla(t)); }, nb::arg("text"),
       "(layout, dtype) of a shape of XLA: 'f32[3,5]{1,0:T(2,2)}'.")
      .def(
          "to_xla", [](const PyLayout& l, nb::handle t) { return xla::to_xla(desc_of(l, t)); }, nb::arg("layout"),
          nb::arg("dtype") = "f32")
      .def(
          "from_tvm",
          [](const std::string& t, nb::handle dims) { return made(tvm::from_tvm(t, dims_of(dims, "dims"))); },
          nb::arg("text"), nb::arg("dims"))
      .def(
          "to_tvm", [](const PyLayout& l) { return tvm::to_tvm(l.layout, l.letters); }, nb::arg("layout"))
      .def(
          "from_cute", [](const std::string& t) { return made(cute::from_cute(t)); }, nb::arg("text"), "'(4,2):(1,4)'.")
      .def(
          "to_cute", [](const PyLayout& l) { return cute::to_cute(l.layout); }, nb::arg("layout"))
      .def(
          "from_triton",
          [](const std::string& t, nb::handle shape) {
            return made(triton::from_triton(t, shape.is_none() ? Dims() : dims_of(shape, "shape")));
          },
          nb::arg("text"), nb::arg("shape") = nb::none(),
          "A linear layout of Triton: 'offset = [[0, 1], [0, 2], [1, 0], [2, 2]]', of shared memory or of registers.")
      .def(
          "to_triton", [](const PyLayout& l) { return triton::to_triton(l.layout); }, nb::arg("layout"))
      .def(
          "from_mace",
          [](const std::string& n, nb::handle dims, int64_t pitch) {
            return made(mace::from_mace(n, dims_of(dims, "dims"), pitch));
          },
          nb::arg("name"), nb::arg("dims"), nb::arg("pitch_texels") = 0, "An image of MACE: 'in_out_channel'.")
      .def(
          "to_mace",
          [](const PyLayout& l) {
            const mace::Image image = mace::to_mace(l.layout);
            nb::dict out;
            out["name"] = text(image.name);
            out["width_texels"] = image.extent.width;
            out["height"] = image.extent.height;
            out["pitch_texels"] = image.extent.pitch;
            return out;
          },
          nb::arg("layout"))
      .def(
          "c_function",
          [](const PyLayout& l, const std::string& n) {
            return c_function::code({l.layout, DType::f32}, {.letters = l.letters, .name = n});
          },
          nb::arg("layout"), nb::arg("name") = "offset", "The offset as a function in C.")
      .def(
          "names_of", [](const PyLayout& l) { return names_of(l.layout); }, nb::arg("layout"),
          "The names that smaller systems have for this layout.");
}

void bind_cute_algebra(nb::module_& m) {
  const auto two = [&](const char* name, Layout (*function)(const Layout&, const Layout&)) {
    m.def(
        name, [function](const PyLayout& a, const PyLayout& b) { return made(function(a.layout, b.layout)); },
        nb::arg("a"), nb::arg("b"), "CuTe's function of this name.");
  };
  const auto one = [&](const char* name, Layout (*function)(const Layout&)) {
    m.def(
        name, [function](const PyLayout& a) { return made(function(a.layout)); }, nb::arg("a"),
        "CuTe's function of this name.");
  };
  one("coalesce", &cute::coalesce);
  one("right_inverse", &cute::right_inverse);
  one("left_inverse", &cute::left_inverse);
  two("compose", &cute::compose);
  two("logical_divide", &cute::logical_divide);
  two("zipped_divide", &cute::zipped_divide);
  two("tiled_divide", &cute::tiled_divide);
  two("flat_divide", &cute::flat_divide);
  two("logical_product", &cute::logical_product);
  two("blocked_product", &cute::blocked_product);
  two("raked_product", &cute::raked_product);
  m.def(
      "complement", [](const PyLayout& a, int64_t n) { return made(cute::complement(a.layout, n)); }, nb::arg("a"),
      nb::arg("cosize"), "CuTe's function of this name.");
  m.def(
      "cosize", [](const PyLayout& a) { return cute::cosize(a.layout); }, nb::arg("a"));
}

void bind_scales(nb::module_& m) {
  m.def(
       "scale_factors",
       [](const std::string& kind, int64_t rows, int64_t columns) {
         if (kind != "mxfp8" && kind != "nvfp4")
           throw Error(ErrorCode::invalid_argument, "the kinds of scale factors are mxfp8 and nvfp4", "kind",
                       escaped(kind));
         const auto which = kind == "mxfp8" ? scales::Kind::mxfp8 : scales::Kind::nvfp4;
         return made(scales::factors_of(which, rows, columns).layout);
       },
       nb::arg("kind"), nb::arg("rows"), nb::arg("columns"),
       "Where cuBLAS wants the scale factors of a matrix: kind is 'mxfp8' or 'nvfp4'.")
      .def(
          "kv_cache",
          [](const std::string& order, const std::string& pairing, int64_t blocks, int64_t block_size, int64_t heads,
             int64_t dim, int64_t packed) {
            const std::pair<const char*, kv_cache::Order> orders[] = {
                {"nhd", kv_cache::Order::nhd},
                {"hnd", kv_cache::Order::hnd},
                {"key_packed", kv_cache::Order::key_packed},
                {"value_transposed", kv_cache::Order::value_transposed}};
            const std::pair<const char*, kv_cache::Pairing> pairings[] = {{"in_block", kv_cache::Pairing::in_block},
                                                                          {"first", kv_cache::Pairing::first},
                                                                          {"separate", kv_cache::Pairing::separate}};
            const auto find = [](const auto& list, const std::string& word, const char* what) {
              std::string known;
              for (const auto& [name, value] : list) {
                if (word == name) return value;
                known += (known.empty() ? "" : ", ") + std::string(name);
              }
              throw Error(ErrorCode::invalid_argument, std::string(what) + " is one of " + known, what, escaped(word),
                          known);
            };
            return made(kv_cache::layout_of({find(orders, order, "order"), find(pairings, pairing, "pairing"), blocks,
                                             block_size, heads, dim, packed}));
          },
          nb::arg("order"), nb::arg("pairing"), nb::arg("blocks"), nb::arg("block_size"), nb::arg("heads"),
          nb::arg("dim"), nb::arg("packed") = 8, "A paged key/value cache of vLLM or FlashInfer.");
}

}  // namespace

void bind_interop(nb::module_& module) {
  nb::module_ m = module.def_submodule("interop", "Other systems' descriptions as layouts, and layouts as theirs.");
  bind_descriptions(m);
  bind_onednn_log(m);
  bind_tensor_text(m);
  bind_gates(m);
  bind_texts(m);
  bind_cute_algebra(m);
  bind_scales(m);
}

}  // namespace relayout::python
