// Arrays of Python as memory: what NumPy, PyTorch and DLPack say of their arrays.
#include "python/src/arrays.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "python/src/buffer.h"
#include "python/src/exchange.h"
#include "python/src/tracing.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

/// Objects of Python that are looked up once and never freed.
struct Names {
  PyObject *ndarray, *empty, *empty_like, *fortran, *dtype, *hasobject, *requires_grad, *is_conj, *is_neg;
  PyObject *data_ptr, *shape, *stride, *element_size, *device, *type, *layout, *is_quantized, *is_cpu;
};
Names names_found{};
const Names& names() { return names_found; }

PyObject* attribute(const char* module, const char* name) {
  return nb::object(nb::module_::import_(module).attr(name)).release().ptr();
}

/// An attribute of a module that anyone has imported, kept in `place`; null where nobody has. Threads may ask at once.
PyObject* if_imported(std::atomic<PyObject*>& place, const char* module, const char* name) {
  if (PyObject* found = place.load(std::memory_order_acquire)) return found;
  const nb::object imported = nb::module_::import_("sys").attr("modules").attr("get")(module);
  if (imported.is_none() || !nb::hasattr(imported, name)) return nullptr;
  PyObject* found = nb::object(imported.attr(name)).release().ptr();
  PyObject* none = nullptr;
  if (place.compare_exchange_strong(none, found, std::memory_order_acq_rel)) return found;
  Py_DECREF(found);
  return none;
}

/// torch.Tensor.
PyObject* torch_tensor() {
  static std::atomic<PyObject*> place{nullptr};
  return if_imported(place, "torch", "Tensor");
}

}  // namespace

void find_numpy() {
  const auto text = [](const char* word) { return PyUnicode_InternFromString(word); };
  names_found = Names{attribute("numpy", "ndarray"),
                      attribute("numpy", "empty"),
                      attribute("numpy", "empty_like"),
                      text("F"),
                      text("dtype"),
                      text("hasobject"),
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
                      text("is_quantized"),
                      text("is_cpu")};
}

namespace {

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

/// Whether PyTorch records what would need a gradient, which torch.no_grad() turns off.
bool records_gradients() {
  static std::atomic<PyObject*> place{nullptr};
  PyObject* enabled = if_imported(place, "torch", "is_grad_enabled");
  return enabled == nullptr || truth(nb::handle(enabled)());
}

/// Refuses a tensor of PyTorch whose values are to be computed when they are read, or which stands in a graph of
/// gradients.
void check_values(nb::handle tensor, bool complex) {
  if (truth(get(tensor, names().requires_grad)) && records_gradients()) {
    throw Error(ErrorCode::invalid_argument,
                "the tensor needs a gradient, which would not flow through relayout; give it tensor.detach(), or call "
                "it under torch.no_grad()",
                "x", "requires_grad=True");
  }
  if (truth(call_method(tensor, names().is_neg)) || (complex && truth(call_method(tensor, names().is_conj)))) {
    throw Error(ErrorCode::invalid_argument,
                "the tensor's values are to be negated or conjugated when they are read; call resolve_neg() and "
                "resolve_conj() first",
                "x");
  }
}

}  // namespace

void check_values_are_stored(nb::handle tensor) {
  check_not_traced(tensor);
  check_values(tensor, true);
}

bool is_numpy(nb::handle object) { return instance_of(object, names().ndarray); }

bool is_torch(nb::handle object) {
  PyObject* tensor = torch_tensor();
  return tensor != nullptr && instance_of(object, tensor);
}

bool is_numpy_itself(nb::handle object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == names().ndarray;
}

bool is_torch_itself(nb::handle object) {
  PyObject* tensor = torch_tensor();
  return tensor != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == tensor;
}

// An instance that Buffer.__new__ made alone holds no Buffer.
bool is_buffer(nb::handle object) { return nb::isinstance<Buffer>(object) && nb::inst_ready(object); }

bool is_array(nb::handle object) { return is_numpy(object) || is_torch(object) || is_buffer(object); }

Array::Array(nb::handle object, const Array& like, RowMajor) : object_(object), kind_(like.kind_) {
  item_bytes = like.item_bytes;
  shape = like.shape;
  strides = shape;
  int64_t step = item_bytes;
  for (int d = shape.size() - 1; d >= 0; --d) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
  }
  data = torch_data();
}

Array::Array(nb::handle object, Known known) : object_(object) {
  if (is_numpy(object)) {
    exact_ = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == names().ndarray;
    read_numpy();
  } else if (is_torch(object)) {
    exact_ = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == torch_tensor();
    kind_ = Kind::torch;
    read_torch(known);
    if (data == nullptr && elements() != 0) {
      explain_traced(object);
      throw Error(ErrorCode::unsupported, "the tensor has no memory (it stands for zeros)", "x");
    }
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

void Array::read_numpy() {
  static std::atomic<PyObject*> masked_place{nullptr};
  PyObject* masked = exact_ ? nullptr : if_imported(masked_place, "numpy.ma", "MaskedArray");
  if (masked != nullptr && PyObject_IsInstance(object_.ptr(), masked) > 0) {
    throw Error(ErrorCode::unsupported, "a masked array: move its .data and its .mask apart", "x", "MaskedArray");
  }
  // Without PyBUF_FORMAT NumPy gives arrays of every type, also of those that the protocol has no format for.
  if (PyObject_GetBuffer(object_.ptr(), &view_, PyBUF_STRIDES) != 0) throw nb::python_error();
  check_rank(view_.ndim);
  data = static_cast<std::byte*>(view_.buf);
  item_bytes = view_.itemsize;
  read_only = view_.readonly != 0;
  for (int d = 0; d < view_.ndim; ++d) {
    shape.push_back(view_.shape[d]);
    strides.push_back(view_.strides[d]);
  }
  // Elements that are objects of Python carry reference counts, which a copy of their bytes would not raise. No type
  // with objects is smaller than a pointer.
  if (item_bytes >= static_cast<int64_t>(sizeof(void*)) && truth(get(get(object_, names().dtype), names().hasobject))) {
    throw Error(ErrorCode::unsupported, "the elements are objects of Python, which only NumPy itself can copy", "dtype",
                "object");
  }
}

void Array::read_torch(Known known) {
  if (known == Known::nothing) check_torch_state(object_);
  const dlpack::DLPackExchangeAPI* api = exchange_api(Py_TYPE(object_.ptr()));
  if (api == nullptr || api->dltensor_from_py_object_no_sync == nullptr) {
    if (read_torch_quickly(known)) return;
    if (known != Known::all) check_values(object_, true);
    return read_torch_attributes();
  }
  if (known != Known::all) check_values(object_, true);
  dlpack::DLTensor tensor{};
  if (api->dltensor_from_py_object_no_sync(object_.ptr(), &tensor) != 0) {
    PyErr_Clear();  // the attributes say what is wrong in fewer words, such as a device
    return read_torch_attributes();
  }
  read_dltensor(tensor);
}

/// PyTorch before 2.9, which has no table of functions for this: a tensor that is as most are. False of any other, of
/// which read_torch_attributes() says what is wrong.
bool Array::read_torch_quickly(Known known) {
  const TorchType* type = torch_type(get(object_, names().dtype));
  if (type == nullptr || !truth(get(object_, names().is_cpu))) return false;
  if (known != Known::all) check_values(object_, type->complex);
  nb::object steps;
  try {
    steps = call_method(object_, names().stride);
    data = torch_data();
  } catch (const nb::python_error&) {  // a tensor that is sparse, for example
    return false;
  }
  const nb::object extents = get(object_, names().shape);
  const Py_ssize_t rank = PyTuple_Size(extents.ptr());
  check_rank(rank);
  item_bytes = type->item_bytes;
  for (Py_ssize_t d = 0; d < rank; ++d) {
    shape.push_back(int64_of(PyTuple_GetItem(extents.ptr(), d)));
    strides.push_back(int64_of(PyTuple_GetItem(steps.ptr(), d)) * item_bytes);
  }
  return true;
}

std::byte* Array::torch_data() const {
  try {
    return reinterpret_cast<std::byte*>(int64_of(call_method(object_, names().data_ptr)));
  } catch (const nb::python_error&) {
    explain_traced(object_);
    throw;
  }
}

void Array::read_dltensor(const dlpack::DLTensor& tensor) {
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
  item_bytes = int64_of(get(object_, names().element_size)());
  shape = dims_of(get(object_, names().shape), "shape");
  strides = dims_of(get(object_, names().stride)(), "strides");
  for (int64_t& stride : strides) stride *= item_bytes;
  data = torch_data();
}

int64_t Array::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

std::pair<TensorDesc, std::byte*> Array::tensor(DType dtype) const {
  if (desc != nullptr) return {*desc, data - desc->layout.offset0() * item_bytes};
  Dims steps;
  int64_t offset0 = 0;
  for (int d = 0; d < shape.size(); ++d) {
    const bool counts = shape[d] > 1;
    if (item_bytes < 1 || (counts && strides[d] % item_bytes != 0)) {
      throw Error(ErrorCode::unsupported, "strides[" + std::to_string(d) + "] is no multiple of an element",
                  "strides[" + std::to_string(d) + "]", std::to_string(strides[d]), std::to_string(item_bytes));
    }
    steps.push_back(counts ? strides[d] / item_bytes : 0);
    if (steps[d] < 0) offset0 -= steps[d] * (shape[d] - 1);
  }
  return {TensorDesc(Layout::strided(shape, steps, offset0), dtype), data - offset0 * item_bytes};
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
    if (like.exact()) return torch_empty_like(like.object());
    return torch_empty(tuple_of(like.shape), get(like.object(), names().dtype));
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

}  // namespace relayout::python
