// Buffer: memory with a layout, given to and taken from other libraries by DLPack and __array_interface__.
#include "python/src/buffer.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <new>
#include <string>

#include "python/src/arrays.h"
#include "python/src/functions.h"
#include "python/src/layout.h"
#include "python/src/tracing.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/numpy.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

constexpr std::align_val_t kAlignment{64};

nb::object capsule_of(nb::handle object) {
  const nb::object method = nb::getattr(object, "__dlpack__", nb::none());
  if (method.is_none()) {
    throw nb::type_error(("an array is needed, not " + std::string(nb::repr(object.type()).c_str())).c_str());
  }
  try {
    return method(nb::arg("max_version") = nb::make_tuple(dlpack::kMajorVersion, dlpack::kMinorVersion));
  } catch (nb::python_error& error) {
    // An older protocol knows no such parameter.
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

/// The elements at the same places in a type that __array_interface__ has, which is one of equal size.
numpy::ArrayInterface interface_of(const TensorDesc& desc) {
  const int width = bits(desc.dtype);
  const bool plain = !is_floating(desc.dtype) || width < 8 || width > 16 || desc.dtype == DType::f16;
  const DType same = plain ? desc.dtype : width == 16 ? DType::u16 : DType::u8;
  return numpy::to_numpy({desc.layout, same});
}

nb::dict array_interface(const Buffer& buffer) {
  const numpy::ArrayInterface said = interface_of(buffer.desc());
  nb::dict out;
  out["version"] = 3;
  out["shape"] = tuple_of(said.shape);
  out["typestr"] = nb::str(said.typestr.c_str(), said.typestr.size());
  out["strides"] = said.strides ? nb::object(tuple_of(*said.strides)) : nb::none();
  out["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(buffer.data()) + static_cast<uintptr_t>(said.byte_offset),
                               buffer.read_only());
  return out;
}

Buffer from_bytes(const PyLayout& layout, const std::string& dtype, const nb::bytes& bytes) {
  Buffer made = Buffer::allocate({layout.layout, parse_dtype(dtype)});
  if (static_cast<int64_t>(bytes.size()) != made.desc().span_bytes())
    throw Error(ErrorCode::invalid_argument,
                "the layout takes " + std::to_string(made.desc().span_bytes()) + " bytes, and these are " +
                    std::to_string(bytes.size()),
                "bytes");
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

}  // namespace

Buffer::Buffer(TensorDesc desc, std::byte* data, bool read_only, std::shared_ptr<void> owner)
    : desc_(std::move(desc)), data_(data), read_only_(read_only), owner_(std::move(owner)) {}

Buffer Buffer::allocate(TensorDesc desc) {
  const auto bytes = static_cast<std::size_t>(std::max<int64_t>(desc.span_bytes(), 1));
  std::shared_ptr<void> owner(::operator new(bytes, kAlignment), [](void* p) { ::operator delete(p, kAlignment); });
  auto* data = static_cast<std::byte*>(owner.get());
  prefer_huge_pages(data, static_cast<int64_t>(bytes));
  return Buffer(std::move(desc), data, false, std::move(owner));
}

Buffer Buffer::from_dlpack(nb::handle object) {
  if (is_torch(object)) check_not_traced(object);
  const nb::object capsule = capsule_of(object);
  std::shared_ptr<dlpack::Imported> tensor;
  // The capsule is renamed before its tensor is taken, since both would free it otherwise.
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kVersionedCapsule)) {
    void* managed = PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersionedCapsule);
    PyCapsule_SetName(capsule.ptr(), dlpack::kUsedVersionedCapsule);
    tensor = std::make_shared<dlpack::Imported>(static_cast<dlpack::DLManagedTensorVersioned*>(managed));
  } else if (PyCapsule_IsValid(capsule.ptr(), dlpack::kCapsule)) {
    void* managed = PyCapsule_GetPointer(capsule.ptr(), dlpack::kCapsule);
    PyCapsule_SetName(capsule.ptr(), dlpack::kUsedCapsule);
    tensor = std::make_shared<dlpack::Imported>(static_cast<dlpack::DLManagedTensor*>(managed));
  } else {
    throw nb::type_error("__dlpack__ gave no capsule of a tensor");
  }
  const bool read_only = tensor->view().read_only;
  std::byte* data = tensor->data();
  TensorDesc desc = tensor->view().desc;
  // What frees the tensor may be code of Python, which needs the GIL.
  std::shared_ptr<void> owner(nullptr, [tensor = std::move(tensor)](void*) mutable {
    if (!nb::is_alive()) return;
    const nb::gil_scoped_acquire gil;
    tensor.reset();
  });
  return Buffer(std::move(desc), data, read_only, std::move(owner));
}

nb::object Buffer::dlpack(int64_t major, bool copy, bool copied) const {
  if (copy) {
    Buffer made = allocate(desc_);
    std::memcpy(made.data_, data_, static_cast<std::size_t>(desc_.span_bytes()));
    return made.dlpack(major, false, true);
  }
  const auto release = [owner = owner_]() mutable { owner.reset(); };
  PyObject* capsule = nullptr;
  if (major >= 1) {
    const uint64_t flags = (read_only_ ? dlpack::kFlagReadOnly : 0) | (copied ? dlpack::kFlagIsCopied : 0);
    dlpack::VersionedTensor tensor = dlpack::exported_versioned(desc_, data_, release, flags);
    capsule = PyCapsule_New(tensor.get(), dlpack::kVersionedCapsule, [](PyObject* self) {
      if (!PyCapsule_IsValid(self, dlpack::kVersionedCapsule)) return;  // somebody took it
      dlpack::VersionedTensor(
          static_cast<dlpack::DLManagedTensorVersioned*>(PyCapsule_GetPointer(self, dlpack::kVersionedCapsule)));
    });
    if (capsule != nullptr) (void)tensor.release();
  } else {
    if (read_only_) throw nb::buffer_error("the memory is read-only, which DLPack before 1.0 cannot say");
    dlpack::ManagedTensor tensor = dlpack::exported(desc_, data_, release);
    capsule = PyCapsule_New(tensor.get(), dlpack::kCapsule, [](PyObject* self) {
      if (!PyCapsule_IsValid(self, dlpack::kCapsule)) return;
      dlpack::ManagedTensor(static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(self, dlpack::kCapsule)));
    });
    if (capsule != nullptr) (void)tensor.release();
  }
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

TensorDesc buffer_desc_like(const Array& like) {
  return {Layout::contiguous(like.shape), nb::inst_ptr<Buffer>(like.object())->desc().dtype};
}

void bind_buffer(nb::module_& module) {
  nb::class_<Buffer>(
      module, "Buffer", nb::type_slots(made_by_init()),
      "Memory with a layout. NumPy reads it without a copy (`numpy.asarray(buffer)`), as does every "
      "library with `from_dlpack`. Elements of bf16 and of 8-bit floats are integers of the same bits to "
      "NumPy: `.view(ml_dtypes.bfloat16)` says what they are.")
      .def(
          "__init__",
          [](Buffer* self, const PyLayout& layout, nb::handle dtype) {
            new (self) Buffer(Buffer::allocate({layout.layout, dtype_of(dtype)}));
          },
          nb::arg("layout"), nb::arg("dtype"), "As allocate().")
      .def_static(
          "allocate",
          [](const PyLayout& layout, nb::handle dtype) {
            return Buffer::allocate({layout.layout, dtype_of(dtype)});
          },
          nb::arg("layout"), nb::arg("dtype"), "Memory for a layout, aligned to 64 bytes, which holds anything.")
      .def_static("from_dlpack", &Buffer::from_dlpack, nb::arg("x"),
                  "The memory of an object with `__dlpack__`, without a copy.")
      .def_prop_ro("layout",
                   [](const Buffer& b) {
                     return PyLayout{b.desc().layout, {}, {}};
                   })
      .def_prop_ro("dtype", [](const Buffer& b) { return std::string(name(b.desc().dtype)); })
      .def_prop_ro("shape", [](const Buffer& b) { return tuple_of(b.desc().layout.dims()); })
      .def_prop_ro("read_only", &Buffer::read_only)
      .def_prop_ro("__array_interface__", &array_interface)
      .def(
          "__dlpack__",
          [](const Buffer& b, nb::handle stream, nb::handle max_version, nb::handle device, nb::handle copy) {
            if (!stream.is_none()) throw nb::buffer_error("memory of the CPU has no streams: stream must be None");
            const Dims version = max_version.is_none() ? Dims{0} : dims_of(max_version, "max_version");
            const Dims where = device.is_none() ? Dims{1, 0} : dims_of(device, "dl_device");
            if (version.empty()) throw nb::type_error("max_version must be (major, minor)");
            if (where != Dims{1, 0}) throw nb::buffer_error("a Buffer is memory of the CPU, dl_device (1, 0)");
            return b.dlpack(version[0], copy.ptr() == Py_True);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def_static("from_bytes", &from_bytes, nb::arg("layout"), nb::arg("dtype"), nb::arg("bytes"),
                  "A copy of the bytes of a layout.")
      .def("__reduce__",
           [](const Buffer& b) {
             const nb::bytes bytes(b.data(), static_cast<std::size_t>(b.desc().span_bytes()));
             return nb::make_tuple(
                 nb::type<Buffer>().attr("from_bytes"),
                 nb::make_tuple(PyLayout{b.desc().layout, {}, {}}, std::string(name(b.desc().dtype)), bytes));
           })
      .def("__dlpack_device__", [](const Buffer&) { return nb::make_tuple(1, 0); });
}

DType dtype_of(nb::handle said) {
  nb::object text = nb::borrow(said);
  if (!PyUnicode_Check(said.ptr())) text = nb::module_::import_("relayout._dtypes").attr("name_of")(said);
  Py_ssize_t size = 0;
  const char* letters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (letters == nullptr) throw nb::python_error();
  return parse_dtype({letters, static_cast<std::size_t>(size)});
}

std::optional<DType> known_dtype(nb::handle dtype) {
  struct Known {
    PyObject* dtype = nullptr;
    std::optional<DType> type;
  };
  static nb::ft_mutex mutex;  // a lock where Python has no GIL
  static std::array<Known, 32> all;
  static std::size_t next = 0;
  {
    const nb::ft_lock_guard lock(mutex);
    for (const Known& known : all)
      if (known.dtype == dtype.ptr()) return known.type;
  }
  const nb::object name = nb::module_::import_("relayout._dtypes").attr("known_name")(dtype);
  Known made{nb::borrow(dtype).release().ptr(), std::nullopt};
  if (!name.is_none()) made.type = parse_dtype(nb::cast<std::string>(name));
  PyObject* old = nullptr;
  {
    const nb::ft_lock_guard lock(mutex);
    Known& slot = all[next++ % all.size()];
    old = slot.dtype;
    slot = made;
  }
  Py_XDECREF(old);
  return made.type;
}

}  // namespace relayout::python
