// relayout._native.opencl: devices, and tensors in their memory. relayout/opencl.py is what a user sees.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "python/src/arrays.h"
#include "python/src/functions.h"
#include "python/src/layout.h"
#include "python/src/sides.h"
#include "python/src/watch.h"
#include "relayout/opencl/device.h"
#include "relayout/opencl/runtime.h"
#include "relayout/opencl/transfer.h"

namespace nb = nanobind;

namespace relayout::python {
namespace {

using opencl::DeviceTensor;

/// A handle of the library. The last copy of a runtime waits for the device when it goes, and what the device waits for
/// may be another thread of Python: so the GIL is given away meanwhile.
template <typename T>
class Held {
 public:
  explicit Held(T value) : value_(std::move(value)) {}
  Held(Held&& other) noexcept : value_(std::exchange(other.value_, std::nullopt)) {}
  ~Held() {
    if (!value_) return;
    std::optional<nb::gil_scoped_release> released;
    if (nb::is_alive()) released.emplace();
    value_.reset();
  }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
};
using HeldRuntime = Held<opencl::Runtime>;
using HeldTensor = Held<DeviceTensor>;

/// What `make` returns, made while other threads of Python run.
template <typename Make>
auto without_gil(const Make& make) {
  const nb::gil_scoped_release released;
  return make();
}

/// An OpenCL handle as the integer that it is in Python.
template <typename Handle>
Handle* handle_of(uintptr_t number) {
  return reinterpret_cast<Handle*>(number);
}
template <typename Handle>
uintptr_t number_of(Handle* handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

[[noreturn]] void refuse_word(const char* field, const std::string& word, const std::string& known) {
  throw Error(ErrorCode::invalid_argument,
              std::string("opencl: ") + field + " is \"" + escaped(word) + "\"; there are " + known, field,
              escaped(word), known);
}

opencl::Way way_of(const std::string& word) {
  std::string known(name(opencl::Way::automatic));
  if (word == known) return opencl::Way::automatic;
  for (const opencl::Way way : opencl::kWays) {
    if (word == name(way)) return way;
    known += ", " + std::string(name(way));
  }
  refuse_word("way", word, known);
}

opencl::Fallback fallback_of(const std::string& word) {
  if (word == "error") return opencl::Fallback::error;
  if (word == "buffer") return opencl::Fallback::buffer;
  refuse_word("fallback", word, "error, buffer");
}

opencl::Image image_of(const std::string& expression, nb::handle dims, const std::string& channel) {
  return opencl::Image::make(Format::parse(expression), dims_of(dims, "dims"), opencl::parse_channel_type(channel));
}

/// The layout of a buffer: a Layout, or an expression with the tensor's dims.
TensorDesc desc_of_buffer(nb::handle said, nb::handle dims, const std::string& dtype) {
  if (is_layout(said)) return {nb::inst_ptr<PyLayout>(said)->layout, parse_dtype(dtype)};
  return {parse_layout(nb::cast<std::string>(said), dims).layout, parse_dtype(dtype)};
}

void check_item(const Array& array, DType dtype, const char* what) {
  if (array.desc ? array.desc->dtype == dtype : array.item_bytes * 8 == bits(dtype)) return;
  throw Error(ErrorCode::invalid_argument, std::string(what) + " has elements of another size or type", what,
              std::to_string(array.item_bytes) + " bytes", std::string(name(dtype)));
}

/// An array as a tensor, and where offset 0 of its layout lies.
std::pair<TensorDesc, const std::byte*> source_of(const Array& array, nb::handle src, nb::handle dims, DType dtype) {
  check_item(array, dtype, "x");
  if (src.is_none()) return array.tensor(dtype);
  check_strided(array, "x");
  const Side side = source_side(src, dims, array.shape, array.strides, array.item_bytes, dtype);
  return {side.desc, array.data - side.origin};
}

std::size_t span_of(const TensorDesc& desc) { return static_cast<std::size_t>(desc.span_bytes()); }

std::string upload(const HeldTensor& tensor, nb::handle x, const std::string& dtype, nb::handle src, nb::handle dims,
                   const std::string& way, int threads, nb::handle progress) {
  const Array array(x);
  const auto [desc, data] = source_of(array, src, dims, parse_dtype(dtype));
  opencl::TransferOptions options{way_of(way), {.threads = threads}};
  const std::span bytes(data, span_of(desc));
  return std::string(name(watched(progress, [&](const GoOn& go_on) {
    options.go_on = go_on;
    return opencl::upload(desc, bytes, *tensor, options);
  })));
}

std::string download(const HeldTensor& tensor, nb::handle out, const std::string& dtype, nb::handle layout,
                     nb::handle dims, const std::string& way, int threads, nb::handle progress) {
  const Array array(out);
  const DType type = parse_dtype(dtype);
  check_item(array, type, "out");
  if (array.read_only) throw Error(ErrorCode::invalid_argument, "the destination is read-only", "out");
  TensorDesc desc;
  std::byte* data = array.data;
  if (layout.is_none()) {
    std::tie(desc, data) = array.tensor(type);
  } else {
    const Side side = destination_side(layout, dims_of(dims, "dims"), type);
    check_destination(side, array);
    desc = side.desc;
  }
  opencl::TransferOptions options{way_of(way), {.threads = threads}};
  note_written(array);
  const std::span bytes(data, span_of(desc));
  return std::string(name(watched(progress, [&](const GoOn& go_on) {
    options.go_on = go_on;
    return opencl::download(*tensor, desc, bytes, options);
  })));
}

void bind_device(nb::module_& module) {
  using opencl::Device;
  nb::class_<Device>(module, "Device", nb::type_slots(made_by_init()),
                     "An OpenCL device: what it is called and what it allows.")
      .def(
          "__init__",
          [](Device* self, std::optional<int> number) {
            new (self) Device(without_gil([&] { return opencl::choose_device(number); }));
          },
          nb::arg("number") = nb::none(),
          "That of a place in devices(); else the one that the environment's RELAYOUT_OPENCL_DEVICE says, or the "
          "first. "
          "UnsupportedError where there is none, InvalidArgumentError for a number that no device has.")
      .def_ro("number", &Device::number, "Its place in devices(); -1 for a queue of the program's own.")
      .def_ro("platform", &Device::platform)
      .def_ro("platform_version", &Device::platform_version)
      .def_ro("name", &Device::name)
      .def_ro("vendor", &Device::vendor)
      .def_ro("version", &Device::version)
      .def_ro("driver", &Device::driver)
      .def_ro("type", &Device::type, "'gpu', 'cpu', 'accelerator' or 'other'.")
      .def_ro("images", &Device::images, "Whether it has images at all.")
      .def_ro("unified_memory", &Device::unified_memory, "Whether host and device share one memory.")
      .def_ro("max_image_width", &Device::max_image_width, "In texels; 0 without images.")
      .def_ro("max_image_height", &Device::max_image_height, "In texels; 0 without images.")
      .def_ro("max_alloc_bytes", &Device::max_alloc_bytes, "Bytes of one buffer or image at most.")
      .def_ro("memory_bytes", &Device::memory_bytes)
      .def_ro("row_pitch_alignment", &Device::row_pitch_alignment,
              "Rows of an image that is made of a buffer begin at multiples of so many texels; 0 without such images.")
      .def_prop_ro(
          "channels",
          [](const Device& device) {
            std::vector<std::string> out;
            for (const opencl::ChannelType type : device.channels) out.emplace_back(name(type));
            return out;
          },
          "The types of channels that its images can have.")
      .def("__repr__", [](const Device& device) {
        return "<relayout.opencl.Device " + std::to_string(device.number) + ": " + device.name + " (" + device.type +
               "), " + device.platform + ">";
      });
  module.def(
      "devices", [] { return without_gil([] { return opencl::list_devices().devices; }); },
      "All devices of all platforms, GPUs first.");
  module.def(
      "problem", [] { return without_gil([] { return opencl::list_devices().problem; }); },
      "Why there is no device, or why some are missing.");
}

void bind_runtime(nb::module_& module) {
  nb::class_<HeldRuntime>(module, "Runtime", "A device with its context and its queue.")
      .def_static(
          "make",
          [](std::optional<int> device) { return without_gil([&] { return HeldRuntime(opencl::Runtime(device)); }); },
          nb::arg("device").none())
      .def_static(
          "wrap",
          [](uintptr_t context, uintptr_t queue) {
            return HeldRuntime(
                opencl::Runtime::wrap(handle_of<_cl_context>(context), handle_of<_cl_command_queue>(queue)));
          },
          nb::arg("context"), nb::arg("queue"))
      .def_prop_ro("device", [](const HeldRuntime& r) { return opencl::Device(r->device()); })
      .def_prop_ro("context", [](const HeldRuntime& r) { return number_of(r->context()); })
      .def_prop_ro("queue", [](const HeldRuntime& r) { return number_of(r->queue()); })
      .def("finish", [](const HeldRuntime& r) { without_gil([&] { r->finish(); }); });
}

void bind_makers(nb::class_<HeldTensor>& type) {
  type.def_static(
          "make_image",
          [](const HeldRuntime& runtime, const std::string& layout, nb::handle dims, const std::string& channel,
             const std::string& fallback) {
            return HeldTensor(
                DeviceTensor::make_image(*runtime, image_of(layout, dims, channel), fallback_of(fallback)));
          },
          nb::arg("runtime"), nb::arg("layout"), nb::arg("dims"), nb::arg("channel"), nb::arg("fallback"))
      .def_static(
          "wrap_image",
          [](const HeldRuntime& runtime, uintptr_t memory, const std::string& layout, nb::handle dims,
             const std::string& channel) {
            return HeldTensor(
                DeviceTensor::wrap_image(*runtime, handle_of<_cl_mem>(memory), image_of(layout, dims, channel)));
          },
          nb::arg("runtime"), nb::arg("memory"), nb::arg("layout"), nb::arg("dims"), nb::arg("channel"))
      .def_static(
          "make_buffer",
          [](const HeldRuntime& runtime, nb::handle layout, nb::handle dims, const std::string& dtype) {
            return HeldTensor(DeviceTensor::make_buffer(*runtime, desc_of_buffer(layout, dims, dtype)));
          },
          nb::arg("runtime"), nb::arg("layout"), nb::arg("dims").none(), nb::arg("dtype"))
      .def_static(
          "wrap_buffer",
          [](const HeldRuntime& runtime, uintptr_t memory, nb::handle layout, nb::handle dims,
             const std::string& dtype) {
            return HeldTensor(
                DeviceTensor::wrap_buffer(*runtime, handle_of<_cl_mem>(memory), desc_of_buffer(layout, dims, dtype)));
          },
          nb::arg("runtime"), nb::arg("memory"), nb::arg("layout"), nb::arg("dims").none(), nb::arg("dtype"));
}

void bind_tensor(nb::module_& module) {
  nb::class_<HeldTensor> type(module, "Tensor", "An image or a buffer.");
  bind_makers(type);
  // Of a tensor that has an image.
  const auto of_image = [&](const char* name, auto member) {
    type.def_prop_ro(name, [member](const HeldTensor& t) { return ((*t->image()).*member)(); });
  };
  using opencl::Image;
  of_image("width", &Image::width);
  of_image("height", &Image::height);
  of_image("row_bytes", &Image::row_bytes);
  of_image("unused_lanes", &Image::unused_lanes);
  of_image("waste", &Image::waste);
  type.def_prop_ro("channel", [](const HeldTensor& t) { return std::string(name(t->image()->channel())); })
      .def_prop_ro("dims", [](const HeldTensor& t) { return tuple_of(t->desc().layout.dims()); })
      .def_prop_ro("dtype", [](const HeldTensor& t) { return std::string(name(t->desc().dtype)); })
      .def_prop_ro("layout",
                   [](const HeldTensor& t) {
                     return PyLayout{t->desc().layout, {}, {}, {}};
                   })
      .def_prop_ro("bytes",
                   [](const HeldTensor& t) { return t->image() ? t->image()->bytes() : t->desc().span_bytes(); })
      .def_prop_ro("is_image", [](const HeldTensor& t) { return t->is_image(); })
      .def_prop_ro("memory", [](const HeldTensor& t) { return number_of(t->memory()); })
      .def("upload", &upload, nb::arg("x"), nb::arg("dtype"), nb::arg("src").none(), nb::arg("dims").none(),
           nb::arg("way"), nb::arg("threads"), nb::arg("progress").none(), "The way that was taken.")
      .def("download", &download, nb::arg("out"), nb::arg("dtype"), nb::arg("layout").none(), nb::arg("dims").none(),
           nb::arg("way"), nb::arg("threads"), nb::arg("progress").none(), "The way that was taken.");
  module.def(
      "copy",
      [](const HeldTensor& src, const HeldTensor& dst, const std::string& way) {
        const opencl::Way wanted = way_of(way);
        without_gil([&] { opencl::copy(*src, *dst, wanted); });
      },
      nb::arg("src"), nb::arg("dst"), nb::arg("way"));
}

}  // namespace

void bind_opencl(nb::module_& module) {
  nb::module_ m = module.def_submodule("opencl", "OpenCL in C++. Import relayout.opencl instead.");
  bind_device(m);
  bind_runtime(m);
  bind_tensor(m);
  m.def(
      "default_channel",
      [](const std::string& dtype) { return std::string(name(opencl::default_channel_type(parse_dtype(dtype)))); },
      nb::arg("dtype"), "The type of channels that elements of this type go into.");
  m.def(
      "source_dims",
      [](nb::handle x, const std::string& dtype, nb::handle src, nb::handle dims) {
        return tuple_of(source_of(Array(x), src, dims, parse_dtype(dtype)).first.layout.dims());
      },
      nb::arg("x"), nb::arg("dtype"), nb::arg("src").none(), nb::arg("dims").none(),
      "The dims of the tensor that lies in an array as `src` says.");
  m.def(
      "physical_shape",
      [](nb::handle layout, nb::handle dims, const std::string& dtype) {
        return tuple_of(destination_side(layout, dims_of(dims, "dims"), parse_dtype(dtype)).shape);
      },
      nb::arg("layout"), nb::arg("dims"), nb::arg("dtype"), "The shape of an array in this layout.");
}

}  // namespace relayout::python
