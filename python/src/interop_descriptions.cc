// relayout.interop: descriptions that other systems give field by field, as layouts, and layouts as these.
//
// One function bind_<system>() each, beside the file of that system in relayout/interop/. A description is a dict of
// Python with the system's own names of its fields; what to_<system>() gives, from_<system>() takes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <optional>

#include "python/src/interop.h"
#include "relayout/interop/cudnn.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_verbose.h"
#include "relayout/interop/pytorch.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// A field of a description; nothing where it has none.
nb::object field(const nb::dict& fields, const char* name) {
  return fields.contains(name) ? nb::object(fields[name]) : nb::none();
}
nb::object needed_field(const nb::dict& fields, const char* name) {
  if (fields.contains(name)) return fields[name];
  throw Error(ErrorCode::invalid_argument, std::string("the description has no ") + name, name);
}
/// Refuses arguments beside a description, which says all that they would.
void check_alone(std::initializer_list<std::pair<const char*, bool>> given) {
  for (const auto& [name, is_given] : given) {
    if (is_given)
      throw Error(ErrorCode::invalid_argument, std::string("a description says itself what ") + name + " would", name);
  }
}

void bind_arrays(nb::module_& m) {
  m.def(
       "from_numpy",
       [](nb::dict said, const std::string& dtype_name, std::optional<int64_t> byte_offset) {
         const nb::object own_offset = field(said, "byte_offset");
         numpy::ArrayInterface a;
         a.shape = dims_of(said["shape"], "shape");
         const nb::object strides = said.contains("strides") ? nb::object(said["strides"]) : nb::none();
         if (!strides.is_none()) a.strides = dims_of(strides, "strides");
         a.typestr = nb::cast<std::string>(said["typestr"]);
         a.dtype_name = dtype_name;
         a.byte_offset = byte_offset ? *byte_offset : own_offset.is_none() ? 0 : nb::cast<int64_t>(own_offset);
         return typed(numpy::from_numpy(a));
       },
       nb::arg("array_interface"), nb::arg("dtype_name") = "", nb::arg("byte_offset") = nb::none(),
       "(layout, dtype) of an __array_interface__, whose element (0, 0, ...) lies byte_offset into its buffer, as the "
       "dict that to_numpy() gives says itself.")
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
          [](nb::handle said, nb::handle said_strides, int64_t offset, nb::handle dtype) {
            nb::object sizes = nb::borrow(said), strides = nb::borrow(said_strides);
            if (nb::isinstance<nb::dict>(said)) {
              check_alone({{"strides_elements", !strides.is_none()}, {"storage_offset", offset != 0}});
              const auto fields = nb::cast<nb::dict>(said);
              sizes = needed_field(fields, "size");
              strides = needed_field(fields, "stride");
              if (const nb::object own = field(fields, "storage_offset"); !own.is_none())
                offset = nb::cast<int64_t>(own);
            }
            return made(
                pytorch::from_pytorch({dims_of(sizes, "sizes"), dims_of(strides, "strides"), offset, dtype_of(dtype)})
                    .layout);
          },
          nb::arg("sizes"), nb::arg("strides_elements").none() = nb::none(), nb::arg("storage_offset") = 0,
          nb::arg("dtype") = "f32", "Of sizes and strides, or of the dict that to_pytorch() gives.")
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

Layout directml_layout(directml::DataType type, nb::handle sizes, nb::handle strides, uint64_t total_bytes) {
  std::vector<uint32_t> extents, steps;
  for (const int64_t i : dims_of(sizes, "sizes")) extents.push_back(uint32_of(i, "sizes"));
  if (!strides.is_none())
    for (const int64_t i : dims_of(strides, "strides")) steps.push_back(uint32_of(i, "strides"));
  if (!strides.is_none() && steps.size() != extents.size())
    throw Error(ErrorCode::invalid_argument, "directml: as many strides as sizes", "strides");
  directml::BufferTensorDesc desc;
  desc.DataType = type;
  desc.DimensionCount = static_cast<uint32_t>(extents.size());
  desc.Sizes = extents.data();
  desc.Strides = strides.is_none() ? nullptr : steps.data();
  desc.TotalTensorSizeInBytes =
      total_bytes != 0 ? total_bytes : directml::buffer_size(desc.DataType, extents, steps).bytes;
  return directml::from_directml(desc).layout;
}

/// What to_directml() of Python gives, whose binding's offset is that of the layout.
Layout directml_layout(const nb::dict& fields) {
  const auto type = static_cast<directml::DataType>(nb::cast<uint32_t>(needed_field(fields, "DataType")));
  const nb::object total = field(fields, "TotalTensorSizeInBytes"), offset = field(fields, "byte_offset");
  Layout layout = directml_layout(type, needed_field(fields, "Sizes"), field(fields, "Strides"),
                                  total.is_none() ? 0 : nb::cast<uint64_t>(total));
  const int64_t bytes = offset.is_none() ? 0 : nb::cast<int64_t>(offset);
  const int width = bits(directml::dtype_of(type));
  if (bytes < 0 || bytes * 8 % width != 0)
    throw Error(ErrorCode::invalid_argument, "directml: a byte_offset of " + std::to_string(bytes), "byte_offset");
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.emplace_back();
    for (const Digit& digit : layout.digits(d)) digits.back().push_back(digit);
  }
  return Layout::from_digits(layout.dims(), digits, bytes * 8 / width);
}

void bind_directml(nb::module_& m) {
  m.def(
       "from_directml",
       [](nb::handle dtype, nb::handle sizes, nb::handle strides, uint64_t total_bytes) {
         if (nb::isinstance<nb::dict>(dtype)) {
           check_alone({{"sizes", !sizes.is_none()},
                        {"strides_elements", !strides.is_none()},
                        {"total_bytes", total_bytes != 0}});
           return made(directml_layout(nb::cast<nb::dict>(dtype)));
         }
         return made(directml_layout(directml_type(dtype), sizes, strides, total_bytes));
       },
       nb::arg("dtype"), nb::arg("sizes").none() = nb::none(), nb::arg("strides_elements").none() = nb::none(),
       nb::arg("total_bytes") = 0,
       "A DML_BUFFER_TENSOR_DESC, field by field or as the dict that to_directml() gives; without total_bytes the size "
       "that it needs.")
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
          [](nb::handle said, nb::handle said_strides, nb::handle dtype, int64_t count, int vectorized) {
            cudnn::TensorDescriptor t;
            nb::object dims = nb::borrow(said), strides = nb::borrow(said_strides);
            t.data_type = cudnn::data_type_number(dtype_of(dtype));
            if (nb::isinstance<nb::dict>(said)) {
              check_alone({{"strides_elements", !strides.is_none()},
                           {"vector_count", count != 1},
                           {"vectorized_dimension", vectorized != -1}});
              const auto fields = nb::cast<nb::dict>(said);
              dims = needed_field(fields, "dimensions");
              strides = needed_field(fields, "strides");
              t.data_type = nb::cast<int>(needed_field(fields, "data_type"));
              if (const nb::object own = field(fields, "vector_count"); !own.is_none()) count = nb::cast<int64_t>(own);
              if (const nb::object own = field(fields, "vectorized_dimension"); !own.is_none())
                vectorized = nb::cast<int>(own);
            }
            const Dims extents = dims_of(dims, "dimensions"), steps = dims_of(strides, "strides");
            if (extents.size() > cudnn::kMaxDimensions || steps.size() != extents.size())
              throw Error(ErrorCode::invalid_argument, "cudnn: up to 8 dimensions, and as many strides", "strides");
            t.ndims = extents.size();
            std::copy(extents.begin(), extents.end(), t.dims.begin());
            std::copy(steps.begin(), steps.end(), t.strides.begin());
            t.vector_count = count;
            t.vectorized_dimension = vectorized;
            return made(cudnn::from_cudnn(t).layout);
          },
          nb::arg("dimensions"), nb::arg("strides_elements").none() = nb::none(), nb::arg("dtype") = "f32",
          nb::arg("vector_count") = 1, nb::arg("vectorized_dimension") = -1,
          "Of dimensions and strides, or of the dict that to_cudnn() gives.");
}

}  // namespace

void bind_descriptions(nb::module_& module) {
  bind_arrays(module);
  bind_directml(module);
  bind_onednn(module);
  bind_cudnn(module);
}

}  // namespace relayout::python
