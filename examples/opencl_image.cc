// OpenCL images: a photo goes to a GPU in each of MACE's content types, a kernel of the GPU reads it texel by texel by
// MACE's own formulas, and what it read is the photo.
//
//     example_opencl_image [PHOTO.png]
//
// Where there is no OpenCL the program says so and succeeds. PoCL is a driver for CPUs (apt install pocl-opencl-icd).
#include <relayout/relayout.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace relayout;

namespace {

/// A content type, and where MACE's kernels look for the element (a,b,c,d) of a tensor of A x B x C x D: the letters
/// are n,c,h,w of an activation and o,i,h,w of a filter.
struct Content {
  const char *name, *x, *y, *lane;
};
constexpr Content kContents[] = {
    {"mace:in_out_channel", "b / 4 * D + d", "a * C + c", "b % 4"},
    {"mace:in_out_height", "b * D + d", "a * ((C + 3) / 4) + c / 4", "c % 4"},
    {"mace:in_out_width", "b * ((D + 3) / 4) + d / 4", "a * C + c", "d % 4"},
    {"mace:conv2d_filter", "b", "(a / 4 * C + c) * D + d", "a % 4"},
    {"mace:dw_conv2d_filter", "c * D + d", "b / 4", "b % 4"},
    {"mace:argument", "a / 4", "0", "a % 4"},
    {"mace:weight_height", "(c * D + d) * B + b", "a / 4", "a % 4"},
    {"mace:weight_width", "(c * D + d) * ((B + 3) / 4) + b / 4", "a", "b % 4"},
};

/// A kernel that reads all elements of an image by such formulas and writes them one after the other.
std::string sampling_kernel(const Content& content, const Dims& e) {
  std::string text;
  const char* names[] = {"A", "B", "C", "D"};
  for (int k = 0; k < 4; ++k)
    text += std::string("#define ") + names[k] + " " + std::to_string(k < e.size() ? e[k] : 1) + "\n";
  return text + R"(
__kernel void sample(__read_only image2d_t image, __global uchar* out) {
  const sampler_t texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
  const int d = get_global_id(0), c = get_global_id(1), b = get_global_id(2) % B, a = get_global_id(2) / B;
  const uint4 texel = read_imageui(image, texels, (int2)()" +
         content.x + ", " + content.y + R"());
  const int lane = )" +
         content.lane + R"(;
  out[((a * B + b) * C + c) * D + d] = lane == 0 ? texel.x : lane == 1 ? texel.y : lane == 2 ? texel.z : texel.w;
}
)";
}

/// The part of the photo that a content type can take on this device: all of it, or a corner where an image with a row
/// for each pixel (or a column) would be too large.
Dims part_of_photo(const Content& content, const Dims& photo, const opencl::Device& device) {
  Dims dims = photo;
  for (;;) {
    const Dims taken = std::string(content.name) == "mace:argument" ? Dims{dims[3]} : dims;
    try {
      opencl::Image::make(Format::parse(content.name), taken, opencl::ChannelType::u32).check(device.limits());
      return taken;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::limit) throw;
      if (dims == photo) std::printf("  %s; a corner of it is taken\n", error.what());
      int64_t& longer = dims[2] > dims[3] ? dims[2] : dims[3];
      longer = (longer + 1) / 2;
    }
  }
}

/// Uploads a part of the photo as this content type, reads it on the device, downloads both and compares.
bool walk(const opencl::Runtime& runtime, const Content& content, const TensorDesc& photo,
          std::span<const std::byte> bytes) {
  const Dims dims = part_of_photo(content, photo.layout.dims(), runtime.device());
  // The part is a view of the photo: nothing is copied before the upload.
  Layout view = photo.layout;
  if (dims.size() == 1) view = select(select(select(view, 0, 0), 0, 0), 0, 0);  // the first row of red
  for (int d = 0; d < dims.size(); ++d) view = narrow(view, d, 0, dims[d]);

  // MACE keeps bytes in lanes of 32 bits; the upload widens them.
  const opencl::Image image = opencl::Image::make(Format::parse(content.name), dims, opencl::ChannelType::u32);
  const auto on_device = opencl::DeviceTensor::make_image(runtime, image);
  const opencl::Way way = opencl::upload({view, DType::u8}, bytes, on_device);

  const TensorDesc row_major(Layout::contiguous(dims), DType::u8);
  const auto sampled = opencl::DeviceTensor::make_buffer(runtime, row_major);
  const auto extent = [&](int d) { return static_cast<std::size_t>(d < dims.size() ? dims[d] : 1); };
  opencl::run_kernel(runtime, sampling_kernel(content, dims), "sample", std::vector{on_device, sampled},
                     {extent(3), extent(2), extent(1) * extent(0)});

  std::vector<std::byte> expected(static_cast<std::size_t>(row_major.span_bytes())), read(expected), back(expected);
  cpu::reorder({view, DType::u8}, bytes, row_major, expected);
  opencl::download(sampled, row_major, read);    // what MACE's formulas found
  opencl::download(on_device, row_major, back);  // and the image itself
  const bool equal = read == expected && back == expected;
  std::printf("  %-22s %-12s %5lld x %-5lld texels, %4.1f %% unused, uploaded %s: %s\n", content.name,
              join(dims, "x").c_str(), static_cast<long long>(image.width()), static_cast<long long>(image.height()),
              100 * image.waste(), std::string(name(way)).c_str(), equal ? "equal" : "DIFFERENT");
  return equal;
}

}  // namespace

int main(int argc, char** argv) {
  const opencl::DeviceList& all = opencl::list_devices();
  if (all.devices.empty()) {
    std::printf("no OpenCL here: %s\n", all.problem.c_str());
    return 0;
  }
  try {
    const opencl::Runtime runtime;
    const opencl::Device& device = runtime.device();
    std::printf("%s (%s), images up to %lld x %lld texels\n", device.name.c_str(), device.platform.c_str(),
                static_cast<long long>(device.max_image_width), static_cast<long long>(device.max_image_height));
    // A photo is height x width x channels in memory: the dims n,c,h,w of layout nhwc.
    std::vector<std::byte> made(3 * 61 * 83);
    Dims dims{1, 3, 61, 83};
    std::optional<TensorFile> file;
    std::span<const std::byte> bytes = made;
    for (std::size_t k = 0; k < made.size(); ++k) made[k] = static_cast<std::byte>(k * 31 + k / 251);
    if (argc > 1) {
      file = TensorFile::open(argv[1]);
      const Dims& shape = file->tensors()[0].shape;
      dims = Dims{shape[0], shape[3], shape[1], shape[2]};
      bytes = file->bytes(0);
    }
    const TensorDesc photo(Format::parse("nhwc").bind(dims), DType::u8);
    return std::ranges::count_if(kContents, [&](const Content& one) { return !walk(runtime, one, photo, bytes); }) == 0
               ? 0
               : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
