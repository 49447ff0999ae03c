// OpenCL images: uploads, downloads and copies on the device by every way, beside clEnqueueCopyBuffer of the image's
// bytes in the same run.
//
//     relayout_image [--device N] [--repeat N] [--dims LIST] [--json FILE]
//
// A ratio of 0.5 means that a way takes twice as long as the copy. On a device that is the CPU itself (PoCL) the copy
// is the CPU's memcpy, and with its own memory (a card) an upload is limited by the bus.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/buffer.h"
#include "bench/timing.h"
#include "relayout/opencl/transfer.h"

namespace relayout::bench {
namespace {

using opencl::ChannelType;
using opencl::DeviceTensor;
using opencl::Image;
using opencl::Runtime;
using opencl::Way;

struct Options {
  std::optional<int> device;
  int repeat = 9, threads = 0;
  std::vector<std::string> dims = {"1,64,56,56", "1,256,112,112", "8,64,56,56", "8,64,112,112", "8,256,112,112"};
  std::string json;
};

struct Row {
  std::string name;
  double ms = 0;
};

/// One tensor in one image: the memory of all that is timed.
class Case {
 public:
  Case(const Runtime& runtime, const Dims& dims, DType dtype, std::string_view host_tag, std::string_view image_name)
      : runtime_(runtime),
        host_(Format::parse(host_tag).bind(dims), dtype),
        bytes_(host_.span_bytes()),
        image_(DeviceTensor::make_image(
            runtime, Image::make(Format::parse(image_name), dims, opencl::default_channel_type(dtype)))),
        other_(DeviceTensor::make_image(
            runtime, Image::make(Format::parse("mace:in_out_width"), dims, image_.image()->channel()))),
        buffer_(DeviceTensor::make_buffer(runtime, host_)),
        blocked_(DeviceTensor::make_buffer(runtime, TensorDesc(Format::parse("nChw4c").bind(dims), dtype))) {
    const TensorDesc flat(Layout::contiguous({image_.image()->bytes()}), DType::u8);
    from_.emplace(DeviceTensor::make_buffer(runtime, flat));
    to_.emplace(DeviceTensor::make_buffer(runtime, flat));
    fill_values(dtype, bytes_.bytes());
    opencl::upload(host_, bytes_.bytes(), buffer_);
    opencl::upload(host_, bytes_.bytes(), image_);
  }

  /// What is timed; the first is the copy that it is compared with.
  std::vector<std::pair<std::string, Work>> works(int threads) {
    std::vector<std::pair<std::string, Work>> out;
    const auto add = [&](const std::string& name, auto once) {
      out.push_back({name, Work{[once](int64_t count) {
                       for (int64_t k = 0; k < count; ++k) once();
                     }}});
    };
    const auto on_device = [&](const std::string& name, const DeviceTensor& src, const DeviceTensor& dst, Way way) {
      add(name, [this, &src, &dst, way] {
        opencl::copy(src, dst, way);
        runtime_.finish();
      });
    };
    on_device("copy", *from_, *to_, Way::kernel);
    for (const Way way : opencl::kWays) {
      add(fmt::format("upload {}", name(way)), [this, way, threads] {
        opencl::upload(host_, bytes_.bytes(), image_, {.way = way, .run = {.threads = threads}});
      });
    }
    for (const Way way : opencl::kWays) {
      add(fmt::format("download {}", name(way)), [this, way, threads] {
        opencl::download(image_, host_, bytes_.bytes(), {.way = way, .run = {.threads = threads}});
      });
    }
    for (const Way way : {Way::kernel, Way::staged}) {
      on_device(fmt::format("buffer -> image {}", name(way)), buffer_, image_, way);
      on_device(fmt::format("image -> buffer {}", name(way)), image_, buffer_, way);
      on_device(fmt::format("image -> in_out_width {}", name(way)), image_, other_, way);
    }
    on_device("buffer -> buffer nChw4c", buffer_, blocked_, Way::kernel);
    on_device("buffer nChw4c -> buffer", blocked_, buffer_, Way::kernel);
    return out;
  }

  int64_t image_bytes() const { return image_.image()->bytes(); }
  std::string size() const { return fmt::format("{} x {}", image_.image()->width(), image_.image()->height()); }

 private:
  const Runtime& runtime_;
  TensorDesc host_;
  PageBuffer bytes_;
  DeviceTensor image_, other_, buffer_, blocked_;
  std::optional<DeviceTensor> from_, to_;
};

nlohmann::json measure_case(const Runtime& runtime, const Options& options, const Dims& dims, DType dtype,
                            std::string_view host_tag, std::string_view image_name) {
  Case one(runtime, dims, dtype, host_tag, image_name);
  std::vector<std::pair<std::string, Work>> named = one.works(options.threads);
  std::vector<Work> works;
  for (const auto& [name, work] : named) works.push_back(work);
  const std::vector<Timing> times = time_in_turns(works, {.repeat = options.repeat});
  const double copy_ns = times.front().median_ns;
  fmt::print("\n{} {} {} -> {}: {}, {:.1f} MB, copy {:.3f} ms ({:.1f} GB/s)\n", join(dims, "x"), name(dtype), host_tag,
             image_name, one.size(), static_cast<double>(one.image_bytes()) * 1e-6, copy_ns * 1e-6,
             static_cast<double>(one.image_bytes()) / copy_ns);
  nlohmann::json out = {{"dims", join(dims, "x")}, {"dtype", name(dtype)},       {"host", host_tag},
                        {"image", image_name},     {"bytes", one.image_bytes()}, {"copy_ms", copy_ns * 1e-6}};
  for (std::size_t k = 1; k < times.size(); ++k) {
    const double ratio = copy_ns / times[k].median_ns;
    fmt::print("  {:<26}{:9.3f} ms  {:5.2f} of the copy\n", named[k].first, times[k].median_ns * 1e-6, ratio);
    out["ways"][named[k].first] = {{"ms", times[k].median_ns * 1e-6}, {"of_copy", ratio}};
  }
  std::cout.flush();
  return out;
}

Dims dims_of(const std::string& text) {
  Dims out;
  for (const std::string& one : CLI::detail::split(text, ',')) out.push_back(std::stoll(one));
  return out;
}

int run(const Options& options) {
  const opencl::DeviceList& all = opencl::list_devices();
  if (all.devices.empty()) {
    fmt::print("no OpenCL: {}\n", all.problem);
    return 0;
  }
  const Runtime runtime(options.device);
  const opencl::Device& device = runtime.device();
  fmt::print("{} ({}, {}), driver {}; images up to {} x {}\n", device.name, device.platform, device.version,
             device.driver, device.max_image_width, device.max_image_height);
  nlohmann::json report = {{"device", device.name}, {"platform", device.platform}, {"version", device.version}};
  for (const std::string& text : options.dims) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      for (const std::string_view host : {"nchw", "nhwc"}) {
        report["cases"].push_back(measure_case(runtime, options, dims_of(text), dtype, host, "mace:in_out_channel"));
      }
    }
  }
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  relayout::bench::Options options;
  CLI::App app("Times uploads, downloads and copies of OpenCL images beside a copy of as many bytes");
  app.add_option("--device", options.device, "The device's number; the first one unless given");
  app.add_option("--repeat", options.repeat, "Repetitions");
  app.add_option("--threads", options.threads, "The CPU's threads of mapped transfers; all unless given");
  app.add_option("--dims", options.dims, "Dims n,c,h,w, several with a blank between");
  app.add_option("--json", options.json, "Write the report here");
  CLI11_PARSE(app, argc, argv);
  try {
    return relayout::bench::run(options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
