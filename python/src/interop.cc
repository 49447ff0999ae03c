// relayout.interop: other systems' descriptions as layouts, and layouts as theirs.
//
// One function bind_<system>() each, beside the file of that system in relayout/interop/. A description is a dict of
// Python with the system's own names of its fields.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "python/src/arrays.h"
#include "python/src/layout.h"
#include "relayout/interop/c_function.h"
#include "relayout/interop/cudnn.h"
#include "relayout/interop/cute.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/kv_cache.h"
#include "relayout/interop/mace.h"
#include "relayout/interop/names_elsewhere.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_verbose.h"
#include "relayout/interop/pytorch.h"
#include "relayout/interop/scales.h"
#include "relayout/interop/tvm.h"
#include "relayout/interop/xla.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

PyLayout made(Layout layout) { return {std::move(layout), {}, {}, {}}; }
TensorDesc desc_of(const PyLayout& layout, nb::handle dtype) { return {layout.layout, dtype_of(dtype)}; }
/// A layout with its type, as importers give it.
nb::tuple typed(const TensorDesc& desc) {
  return nb::make_tuple(nb::cast(made(desc.layout)), std::string(name(desc.dtype)));
}
template <typename Array>
Integers first_of(const Array& numbers, int64_t count) {
  std::vector<int64_t> out(numbers.begin(), numbers.begin() + count);
  return tuple_of(out);
}
nb::object text(std::string_view words) { return nb::str(words.data(), words.size()); }

void bind_arrays(nb::module_& m) {
  m.def(
       "from_numpy",
       [](nb::dict said, const std::string& dtype_name, int64_t byte_offset) {
         numpy::ArrayInterface a;
         a.shape = dims_of(said["shape"], "shape");
         const nb::object strides = said.contains("strides") ? nb::object(said["strides"]) : nb::none();
         if (!strides.is_none()) a.strides = dims_of(strides, "strides");
         a.typestr = nb::cast<std::string>(said["typestr"]);
         a.dtype_name = dtype_name;
         a.byte_offset = byte_offset;
         return typed(numpy::from_numpy(a));
       },
       nb::arg("array_interface"), nb::arg("dtype_name") = "", nb::arg("byte_offset") = 0,
       "(layout, dtype) of an __array_interface__, whose element (0, 0, ...) lies byte_offset into its buffer.")
      .def(
          "to_numpy",
          [](const PyLayout& l, nb::handle dtype) {
            const numpy::ArrayInterface a = numpy::to_numpy(desc_of(l, dtype));
            nb::dict out;
            out["shape"] = tuple_of(a.shape);
            out["strides"] = a.strides ? nb::object(tuple_of(*a.strides)) : nb::none();
            out["typestr"] = a.typestr;
            out["byte_offset"] = a.byte_offset;
            return out;
          },
          nb::arg("layout"), nb::arg("dtype") = "f32", "The shape, strides (in bytes) and offset of NumPy.")
      .def(
          "from_pytorch",
          [](nb::handle sizes, nb::handle strides, int64_t offset, nb::handle dtype) {
            return made(
                pytorch::from_pytorch({dims_of(sizes, "sizes"), dims_of(strides, "strides"), offset, dtype_of(dtype)})
                    .layout);
          },
          nb::arg("sizes"), nb::arg("strides_elements"), nb::arg("storage_offset") = 0, nb::arg("dtype") = "f32")
      .def(
          "to_pytorch",
          [](const PyLayout& l, nb::handle dtype) {
            const pytorch::TensorMeta meta = pytorch::to_pytorch(desc_of(l, dtype));
            nb::dict out;
            out["size"] = tuple_of(meta.sizes);
            out["stride"] = tuple_of(meta.strides);
            out["storage_offset"] = meta.storage_offset;
            out["dtype"] = text(pytorch::dtype_name(meta.dtype));
            return out;
          },
          nb::arg("layout"), nb::arg("dtype") = "f32", "The arguments of torch.empty_strided, and the storage offset.");
}

directml::DataType directml_type(nb::handle dtype) { return directml::data_type(dtype_of(dtype)); }

uint32_t uint32_of(int64_t number, const char* what) {
  if (number < 0 || number > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorCode::invalid_argument,
                "directml: " + std::to_string(number) + " is no unsigned number of 32 bits", what,
                std::to_string(number));
  }
  return static_cast<uint32_t>(number);
}

void bind_directml(nb::module_& m) {
  m.def(
       "from_directml",
       [](nb::handle dtype, nb::handle sizes, nb::handle strides, uint64_t total_bytes) {
         std::vector<uint32_t> extents, steps;
         for (const int64_t i : dims_of(sizes, "sizes")) extents.push_back(uint32_of(i, "sizes"));
         if (!strides.is_none())
           for (const int64_t i : dims_of(strides, "strides")) steps.push_back(uint32_of(i, "strides"));
         if (!strides.is_none() && steps.size() != extents.size())
           throw Error(ErrorCode::invalid_argument, "directml: as many strides as sizes", "strides");
         directml::BufferTensorDesc desc;
         desc.DataType = directml_type(dtype);
         desc.DimensionCount = static_cast<uint32_t>(extents.size());
         desc.Sizes = extents.data();
         desc.Strides = strides.is_none() ? nullptr : steps.data();
         desc.TotalTensorSizeInBytes =
             total_bytes != 0 ? total_bytes : directml::buffer_size(desc.DataType, extents, steps).bytes;
         return made(directml::from_directml(desc).layout);
       },
       nb::arg("dtype"), nb::arg("sizes"), nb::arg("strides_elements").none() = nb::none(), nb::arg("total_bytes") = 0,
       "A DML_BUFFER_TENSOR_DESC; without total_bytes the size that it needs.")
      .def(
          "to_directml",
          [](const PyLayout& l, nb::handle dtype, int rank) {
            const directml::BufferTensor t = directml::to_directml(desc_of(l, dtype), {.rank = rank});
            nb::dict out;
            out["DataType"] = static_cast<uint32_t>(t.type);
            out["Flags"] = t.flags;
            out["DimensionCount"] = t.dimension_count;
            out["Sizes"] = first_of(t.sizes, t.dimension_count);
            out["Strides"] = t.strides ? nb::object(first_of(*t.strides, t.dimension_count)) : nb::none();
            out["TotalTensorSizeInBytes"] = t.total_bytes;
            out["GuaranteedBaseOffsetAlignment"] = t.base_offset_alignment;
            out["byte_offset"] = t.byte_offset;
            return out;
          },
          nb::arg("layout"), nb::arg("dtype") = "f32", nb::arg("rank") = 0,
          "The fields of DML_BUFFER_TENSOR_DESC, and the byte offset of the binding. rank: at least so many dims.");
}

void bind_onednn(nb::module_& m) {
  m.def(
       "from_onednn_verbose",
       [](const std::string& tensor, nb::handle dims) {
         return typed(onednn::from_verbose(tensor, dims_of(dims, "dims")));
       },
       nb::arg("tensor"), nb::arg("dims"),
       "(layout, dtype) of a tensor of a line of ONEDNN_VERBOSE: 'src_f32:p:blocked:aBcd16b:f0'.")
      .def(
          "to_onednn_verbose",
          [](const PyLayout& l, const std::string& n, nb::handle dtype, std::pair<int, int> v) {
            return onednn::to_verbose(desc_of(l, dtype), n, {v.first, v.second});
          },
          nb::arg("layout"), nb::arg("name") = "src", nb::arg("dtype") = "f32", nb::arg("version") = std::pair(3, 7))
      .def(
          "to_onednn",
          [](const PyLayout& l, nb::handle dtype) {
            const onednn::BlockedDesc b = onednn::to_onednn(desc_of(l, dtype));
            nb::dict out;
            out["ndims"] = b.ndims;
            out["dims"] = first_of(b.dims, b.ndims);
            out["padded_dims"] = first_of(b.padded_dims, b.ndims);
            out["padded_offsets"] = first_of(b.padded_offsets, b.ndims);
            out["offset0"] = b.offset0;
            out["strides"] = first_of(b.strides, b.ndims);
            out["inner_nblks"] = b.inner_nblks;
            out["inner_blks"] = first_of(b.inner_blks, b.inner_nblks);
            out["inner_idxs"] = first_of(b.inner_idxs, b.inner_nblks);
            out["data_type"] = b.data_type;
            return out;
          },
          nb::arg("layout"), nb::arg("dtype") = "f32", "The fields of dnnl_memory_desc_t.")
      .def(
          "from_onednn",
          [](nb::dict said) {
            onednn::BlockedDesc b;
            const auto list = [&](const char* key, auto& out) {
              if (!said.contains(key)) return 0;
              const Dims numbers = dims_of(said[key], key);
              std::copy(numbers.begin(), numbers.end(), out.begin());
              return numbers.size();
            };
            b.ndims = list("dims", b.dims);
            if (list("padded_dims", b.padded_dims) == 0) b.padded_dims = b.dims;
            list("padded_offsets", b.padded_offsets);
            const int strides = list("strides", b.strides);
            b.inner_nblks = list("inner_blks", b.inner_blks);
            if (strides != b.ndims || list("inner_idxs", b.inner_idxs) != b.inner_nblks) {
              throw Error(ErrorCode::invalid_argument,
                          "onednn: there must be as many strides as dims and as many inner_idxs as inner_blks",
                          "strides", std::to_string(strides), std::to_string(b.ndims));
            }
            if (said.contains("offset0")) b.offset0 = nb::cast<int64_t>(said["offset0"]);
            b.data_type =
                said.contains("data_type") ? nb::cast<int>(said["data_type"]) : onednn::data_type_number(DType::f32);
            return typed(onednn::from_onednn(b));
          },
          nb::arg("fields"), "(layout, dtype) of the fields of dnnl_memory_desc_t, as to_onednn() gives them.");
}

void bind_cudnn(nb::module_& m) {
  m.def(
       "to_cudnn",
       [](const PyLayout& l, nb::handle dtype) {
         const cudnn::TensorDescriptor t = cudnn::to_cudnn(desc_of(l, dtype));
         nb::dict out;
         out["data_type"] = t.data_type;
         out["dimensions"] = first_of(t.dims, t.ndims);
         out["strides"] = first_of(t.strides, t.ndims);
         out["vector_count"] = t.vector_count;
         out["vectorized_dimension"] = t.vectorized_dimension;
         return out;
       },
       nb::arg("layout"), nb::arg("dtype") = "f32", "The attributes of CUDNN_BACKEND_TENSOR_DESCRIPTOR.")
      .def(
          "from_cudnn",
          [](nb::handle dims, nb::handle strides, nb::handle dtype, int64_t count, int vectorized) {
            cudnn::TensorDescriptor t;
            const Dims extents = dims_of(dims, "dimensions"), steps = dims_of(strides, "strides");
            if (extents.size() > cudnn::kMaxDimensions || steps.size() != extents.size())
              throw Error(ErrorCode::invalid_argument, "cudnn: up to 8 dimensions, and as many strides", "strides");
            t.data_type = cudnn::data_type_number(dtype_of(dtype));
            t.ndims = extents.size();
            std::copy(extents.begin(), extents.end(), t.dims.begin());
            std::copy(steps.begin(), steps.end(), t.strides.begin());
            t.vector_count = count;
            t.vectorized_dimension = vectorized;
            return made(cudnn::from_cudnn(t).layout);
          },
          nb::arg("dimensions"), nb::arg("strides_elements"), nb::arg("dtype") = "f32", nb::arg("vector_count") = 1,
          nb::arg("vectorized_dimension") = -1);
}

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
  bind_arrays(m);
  bind_directml(m);
  bind_onednn(m);
  bind_onednn_log(m);
  bind_gates(m);
  bind_cudnn(m);
  bind_texts(m);
  bind_cute_algebra(m);
  bind_scales(m);
}

}  // namespace relayout::python
