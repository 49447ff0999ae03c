// Arrays of Python as memory: what NumPy, PyTorch and DLPack say of their arrays.
#include "python/src/arrays.h"

#include <sys/mman.h>

#include <array>
#include <string>

#include "python/src/buffer.h"
#include "python/src/exchange.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// Objects of Python that are looked up once and never freed.
struct Names {
  PyObject *ndarray, *empty, *empty_like, *fortran, *dtype, *masked, *requires_grad, *is_conj, *is_neg;
  PyObject *data_ptr, *shape, *stride, *element_size, *device, *type, *layout, *is_quantized;
};

PyObject* attribute(const char* module, const char* name) {
  return nb::object(nb::module_::import_(module).attr(name)).release().ptr();
}

const Names& names() {
  static const Names found = [] {
    const auto text = [](const char* word) { return PyUnicode_InternFromString(word); };
    return Names{attribute("numpy", "ndarray"),
                 attribute("numpy", "empty"),
                 attribute("numpy", "empty_like"),
                 text("F"),
                 text("dtype"),
                 attribute("numpy.ma", "MaskedArray"),
                 text("requires_grad"),
                 text("is_conj"),
                 text("is_neg"),
                 text("data_ptr"),
                 text("shape"),
                 text("stride"),
                 text("element_size"),
                 text("device"),
                 text("type"),
                 text("layout"),
                 text("is_quantized")};
  }();
  return found;
}

/// torch.Tensor, where PyTorch has been imported by anyone.
PyObject* torch_tensor() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  const nb::object modules = nb::module_::import_("sys").attr("modules");
  const nb::object torch = modules.attr("get")("torch");
  if (!torch.is_none() && nb::hasattr(torch, "Tensor")) found = nb::object(torch.attr("Tensor")).release().ptr();
  return found;
}

nb::object get(nb::handle object, PyObject* name) {
  PyObject* found = PyObject_GetAttr(object.ptr(), name);
  if (found == nullptr) throw nb::python_error();
  return nb::steal(found);
}

bool truth(nb::handle object) {
  const int answer = PyObject_IsTrue(object.ptr());
  if (answer < 0) throw nb::python_error();
  return answer != 0;
}

int64_t number(nb::handle object) {
  const int64_t value = PyLong_AsLongLong(object.ptr());
  if (value != -1 || PyErr_Occurred() == nullptr) return value;
  nb::python_error error;
  if (!error.matches(PyExc_OverflowError)) throw error;
  throw Error(ErrorCode::overflow, "a number of over 64 bits", "dims");
}

bool instance_of(nb::handle object, PyObject* type) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == type) return true;
  const int answer = PyObject_IsInstance(object.ptr(), type);
  if (answer < 0) throw nb::python_error();
  return answer != 0;
}

void check_rank(int64_t rank) {
  if (rank <= kMaxDims) return;
  throw Error(ErrorCode::limit, "an array of " + std::to_string(rank) + " dims; at most " + std::to_string(kMaxDims),
              "ndim", std::to_string(rank), std::to_string(kMaxDims));
}

/// Whether the elements follow each other without gaps, the dims from `first` on by `step`, innermost first.
bool dense_in_order(const Array& array, int first, int step) {
  int64_t expected = array.item_bytes;
  for (int i = 0, d = first; i < array.shape.size(); ++i, d += step) {
    if (array.shape[d] == 0) return true;
    if (array.shape[d] != 1 && array.strides[d] != expected) return false;
    expected *= array.shape[d];
  }
  return true;
}

/// Refuses a tensor of PyTorch whose memory does not hold its values, or which stands in a graph of gradients.
void check_values_are_stored(nb::handle tensor) {
  if (truth(get(tensor, names().requires_grad))) {
    throw Error(ErrorCode::invalid_argument,
                "the tensor needs a gradient, which would not flow through relayout; give it tensor.detach()", "x",
                "requires_grad=True");
  }
  if (truth(get(tensor, names().is_neg)()) || truth(get(tensor, names().is_conj)())) {
    throw Error(ErrorCode::invalid_argument,
                "the tensor's values are to be negated or conjugated when they are read; call resolve_neg() and "
                "resolve_conj() first",
                "x");
  }
}

}  // namespace

bool is_numpy(nb::handle object) { return instance_of(object, names().ndarray); }

bool is_torch(nb::handle object) {
  PyObject* tensor = torch_tensor();
  return tensor != nullptr && instance_of(object, tensor);
}

// An instance that Buffer.__new__ made alone holds no Buffer.
bool is_buffer(nb::handle object) { return nb::isinstance<Buffer>(object) && nb::inst_ready(object); }

bool is_array(nb::handle object) { return is_numpy(object) || is_torch(object) || is_buffer(object); }

Array::Array(nb::handle object, bool made_here) : object_(object) {
  if (is_numpy(object)) {
    exact_ = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == names().ndarray;
    read_numpy();
  } else if (is_torch(object)) {
    exact_ = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == torch_tensor();
    kind_ = Kind::torch;
    read_torch(made_here);
  } else if (is_buffer(object)) {
    kind_ = Kind::buffer;
    const Buffer& buffer = *nb::inst_ptr<Buffer>(object);
    const Layout& layout = buffer.desc().layout;
    item_bytes = bits(buffer.desc().dtype) / 8;
    shape = layout.dims();
    strides = layout.outer_strides();
    for (int64_t& stride : strides) stride *= item_bytes;
    data = buffer.data() + layout.offset0() * item_bytes;
    read_only = buffer.read_only();
    desc = &buffer.desc();
  } else {
    throw nb::type_error(("an array is needed, not " + std::string(nb::repr(object.type()).c_str())).c_str());
  }
}

Array::~Array() {
  if (holds_view_) PyBuffer_Release(&view_);
}

void Array::read_numpy() {
  if (!exact_ && PyObject_IsInstance(object_.ptr(), names().masked) > 0) {
    throw Error(ErrorCode::unsupported, "a masked array: move its .data and its .mask apart", "x", "MaskedArray");
  }
  // Without PyBUF_FORMAT NumPy gives arrays of every type, also of those that the protocol has no format for.
  if (PyObject_GetBuffer(object_.ptr(), &view_, PyBUF_STRIDES) != 0) throw nb::python_error();
  holds_view_ = true;
  check_rank(view_.ndim);
  data = static_cast<std::byte*>(view_.buf);
  item_bytes = view_.itemsize;
  read_only = view_.readonly != 0;
  for (int d = 0; d < view_.ndim; ++d) {
    shape.push_back(view_.shape[d]);
    strides.push_back(view_.strides[d]);
  }
  // Objects are counted, which moving their addresses would not do. They have the size of a pointer.
  if (item_bytes >= static_cast<int64_t>(sizeof(void*)) && truth(get(get(object_, names().dtype), [] {
        static PyObject* name = PyUnicode_InternFromString("hasobject");
        return name;
      }()))) {
    PyBuffer_Release(&view_);
    holds_view_ = false;
    throw Error(ErrorCode::unsupported, "the elements are objects of Python, which only NumPy itself can copy", "dtype",
                "object");
  }
}

void Array::read_torch(bool made_here) {
  if (!made_here) check_values_are_stored(object_);
  const dlpack::DLPackExchangeAPI* api = exchange_api(Py_TYPE(object_.ptr()));
  if (api == nullptr || api->dltensor_from_py_object_no_sync == nullptr) return read_torch_attributes();
  dlpack::DLTensor tensor{};
  if (api->dltensor_from_py_object_no_sync(object_.ptr(), &tensor) != 0) {
    PyErr_Clear();  // the attributes say what is wrong in fewer words, such as a device
    return read_torch_attributes();
  }
  read_dltensor(&tensor);
}

void Array::read_dltensor(void* pointer) {
  const dlpack::DLTensor& tensor = *static_cast<const dlpack::DLTensor*>(pointer);
  const auto host = {dlpack::kDLCPU, dlpack::kDLCUDAHost, dlpack::kDLROCMHost};
  if (std::ranges::find(host, tensor.device.device_type) == host.end()) {
    throw Error(ErrorCode::unsupported, "the tensor is on " + dlpack::name(tensor.device.device_type) + ", not the CPU",
                "device", dlpack::name(tensor.device.device_type), "kDLCPU");
  }
  check_rank(tensor.ndim);
  item_bytes = tensor.dtype.bits * tensor.dtype.lanes / 8;
  if (item_bytes == 0 || tensor.dtype.bits % 8 != 0)
    throw Error(ErrorCode::unsupported, "elements of " + dlpack::name(tensor.dtype), "dtype");
  data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  shape = Dims(std::span(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  strides = Dims(std::span(tensor.strides, static_cast<std::size_t>(tensor.ndim)));
  for (int64_t& stride : strides) stride *= item_bytes;
}

/// PyTorch before 2.9, which has no table of functions for this, and tensors that DLPack has no words for.
void Array::read_torch_attributes() {
  const nb::object device = get(get(object_, names().device), names().type);
  if (PyUnicode_CompareWithASCIIString(device.ptr(), "cpu") != 0) {
    throw Error(ErrorCode::unsupported, "the tensor is on " + std::string(nb::str(device).c_str()) + ", not the CPU",
                "device", nb::str(device).c_str(), "cpu");
  }
  const std::string layout = nb::str(get(object_, names().layout)).c_str();
  if (layout != "torch.strided") throw Error(ErrorCode::unsupported, "a tensor of " + layout, "layout", layout);
  if (truth(get(object_, names().is_quantized)))
    throw Error(ErrorCode::unsupported, "a quantized tensor: move its int_repr()", "x");
  item_bytes = number(get(object_, names().element_size)());
  shape = dims_of(get(object_, names().shape), "shape");
  strides = dims_of(get(object_, names().stride)(), "strides");
  for (int64_t& stride : strides) stride *= item_bytes;
  data = reinterpret_cast<std::byte*>(number(get(object_, names().data_ptr)()));
}

int64_t Array::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

bool Array::row_major() const {
  return desc ? desc->layout == Layout::contiguous(shape) : dense_in_order(*this, shape.size() - 1, -1);
}
bool Array::column_major() const { return dense_in_order(*this, 0, 1); }

std::pair<int64_t, int64_t> Array::byte_range() const {
  if (desc) {
    const int64_t low = -desc->layout.offset0() * item_bytes;
    return {low, low + desc->span_bytes()};
  }
  int64_t low = 0, high = item_bytes;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return {0, 0};
    (strides[d] < 0 ? low : high) += strides[d] * (shape[d] - 1);
  }
  return {low, high};
}

namespace {

nb::object empty_torch(const Array& like) {
  const dlpack::DLPackExchangeAPI* api = exchange_api(Py_TYPE(like.object().ptr()));
  dlpack::DLTensor prototype{};
  if (api == nullptr || api->dltensor_from_py_object_no_sync == nullptr ||
      api->dltensor_from_py_object_no_sync(like.object().ptr(), &prototype) != 0) {
    PyErr_Clear();
    static PyObject* empty = attribute("torch", "empty");
    return nb::handle(empty)(tuple_of(like.shape), nb::arg("dtype") = get(like.object(), names().dtype));
  }
  prototype.data = nullptr;
  prototype.strides = nullptr;
  prototype.byte_offset = 0;
  dlpack::DLManagedTensorVersioned* managed = nullptr;
  const auto note = [](void* text, const char*, const char* message) { *static_cast<std::string*>(text) = message; };
  std::string message = "PyTorch could not allocate a tensor";
  if (api->managed_tensor_allocator(&prototype, &managed, &message, note) != 0) {
    PyErr_Clear();
    throw std::bad_alloc();
  }
  void* made = nullptr;
  if (api->managed_tensor_to_py_object_no_sync(managed, &made) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(made));
}

}  // namespace

nb::object empty_like(const Array& like, bool first_innermost) {
  if (like.kind() == Array::Kind::torch) return empty_torch(like);
  if (like.kind() == Array::Kind::buffer) return nb::cast(Buffer::allocate(buffer_desc_like(like)));
  const Names& n = names();
  if (!like.exact()) {
    return nb::handle(n.empty_like)(like.object(), nb::arg("order") = first_innermost ? "F" : "C");
  }
  const nb::tuple shape = tuple_of(like.shape);
  const nb::object dtype = get(like.object(), n.dtype);
  return first_innermost ? nb::handle(n.empty)(shape, dtype, nb::handle(n.fortran)) : nb::handle(n.empty)(shape, dtype);
}

void prefer_huge_pages(void* data, int64_t bytes) {
  constexpr uintptr_t kPage = 4096;
  if (bytes < int64_t{4} << 20) return;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes)) & ~(kPage - 1);
  // Where the system knows no huge pages, nothing changes.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

MovedSides moved_sides(const Array& src, const Array& dst) {
  MovedSides out;
  if (src.desc != nullptr && dst.desc != nullptr) {
    return {*src.desc, *dst.desc, src.data + src.byte_range().first, dst.data + dst.byte_range().first};
  }
  // The largest unit of up to eight bytes that divides an element and all strides.
  uint64_t divisors = static_cast<uint64_t>(src.item_bytes) | 8;
  for (int d = 0; d < src.shape.size(); ++d) {
    if (src.shape[d] > 1) divisors |= static_cast<uint64_t>(src.strides[d]) | static_cast<uint64_t>(dst.strides[d]);
  }
  const auto unit = static_cast<int64_t>(divisors & (~divisors + 1));
  const DType dtype = unit == 8 ? DType::u64 : unit == 4 ? DType::u32 : unit == 2 ? DType::u16 : DType::u8;
  const auto side = [&](const Array& array, TensorDesc& desc, std::byte*& origin) {
    Dims dims, strides;
    int64_t offset0 = 0;
    for (int d = 0; d < array.shape.size(); ++d) {
      if (array.shape[d] == 1) continue;
      dims.push_back(array.shape[d]);
      strides.push_back(array.strides[d] / unit);
      if (strides.back() < 0) offset0 -= strides.back() * (dims.back() - 1);
    }
    if (array.item_bytes != unit) {
      if (dims.size() == kMaxDims) {
        throw Error(ErrorCode::limit,
                    "an array of 12 dims whose elements have to be moved in parts, which count as a dim", "ndim",
                    std::to_string(kMaxDims + 1), std::to_string(kMaxDims));
      }
      dims.push_back(array.item_bytes / unit);
      strides.push_back(1);
    }
    desc = TensorDesc(Layout::strided(dims, strides, offset0), dtype);
    origin = array.data - offset0 * unit;
  };
  side(src, out.src_desc, out.src);
  side(dst, out.dst_desc, out.dst);
  return out;
}

Dims dims_of(nb::handle sequence, const char* what) {
  Dims out;
  if (PyLong_Check(sequence.ptr())) {
    out.push_back(number(sequence));
    return out;
  }
  if (!PySequence_Check(sequence.ptr()) || PyUnicode_Check(sequence.ptr()))
    throw nb::type_error((std::string(what) + " must be a sequence of integers").c_str());
  const Py_ssize_t size = PySequence_Size(sequence.ptr());
  if (size < 0) throw nb::python_error();
  check_rank(size);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(sequence.ptr(), i));
    if (!item.is_valid()) throw nb::python_error();
    const nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    out.push_back(number(index));
  }
  return out;
}

std::string path_of(nb::handle path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) {
    nb::python_error error;
    if (!error.matches(PyExc_ValueError)) throw error;
    throw Error(ErrorCode::invalid_argument, std::string("no path: ") + nb::str(error.value()).c_str(), "path");
  }
  const nb::object owner = nb::steal(bytes);
  return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

Integers tuple_of(std::span<const int64_t> numbers) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  if (out == nullptr) throw nb::python_error();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SetItem(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  return nb::steal<Integers>(out);
}

}  // namespace relayout::python
