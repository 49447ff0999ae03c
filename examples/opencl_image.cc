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

/// Uploads a part of the photo as an image, reads it on the device, downloads both and compares. The part is a view of
/// the photo: nothing is copied before the upload.
bool walk_part(const opencl::Runtime& runtime, const Content& content, const opencl::ImagePart& part,
               const Layout& photo, std::span<const std::byte> bytes) {
  const Dims& dims = part.image.dims();
  Layout view = photo;
  for (int d = 0; d < dims.size(); ++d) view = narrow(view, d, part.begin[d], dims[d]);
  const auto on_device = opencl::DeviceTensor::make_image(runtime, part.image);
  opencl::upload({view, DType::u8}, bytes, on_device);

  const TensorDesc row_major(Layout::contiguous(dims), DType::u8);
  const auto sampled = opencl::DeviceTensor::make_buffer(runtime, row_major);
  const auto extent = [&](int d) { return static_cast<std::size_t>(d < dims.size() ? dims[d] : 1); };
  opencl::run_kernel(runtime, sampling_kernel(content, dims), "sample", std::vector{on_device, sampled},
                     {extent(3), extent(2), extent(1) * extent(0)});

  std::vector<std::byte> expected(static_cast<std::size_t>(row_major.span_bytes())), read(expected), back(expected);
  cpu::reorder({view, DType::u8}, bytes, row_major, expected);
  opencl::download(sampled, row_major, read);    // what MACE's formulas found
  opencl::download(on_device, row_major, back);  // and the image itself
  return read == expected && back == expected;
}

/// Takes the photo through this content type, in several images where one would be larger than the device's.
bool walk(const opencl::Runtime& runtime, const Content& content, const Layout& photo,
          std::span<const std::byte> bytes) {
  // An argument has one dim: the first row of red.
  const bool argument = std::string(content.name) == "mace:argument";
  const Layout tensor = argument ? select(select(select(photo, 0, 0), 0, 0), 0, 0) : photo;
  // MACE keeps bytes in lanes of 32 bits; the upload widens them.
  const std::vector<opencl::ImagePart> parts = opencl::split_image(Format::parse(content.name), tensor.dims(),
                                                                   opencl::ChannelType::u32, runtime.device().limits());
  const opencl::Image& first = parts.front().image;
  std::printf("  %-22s %-12s %2zu of %5lld x %-5lld texels, %4.1f %% unused: ", content.name,
              join(tensor.dims(), "x").c_str(), parts.size(), static_cast<long long>(first.width()),
              static_cast<long long>(first.height()), 100 * first.waste());
  const bool equal = std::ranges::all_of(
      parts, [&](const opencl::ImagePart& part) { return walk_part(runtime, content, part, tensor, bytes); });
  std::puts(equal ? "equal" : "DIFFERENT");
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
      if (file->tensors().empty() || file->tensors()[0].dtype != DType::u8 || file->tensors()[0].shape.size() != 4)
        throw Error(ErrorCode::unsupported, std::string(argv[1]) + " is no photo: 1 x height x width x channels of u8");
      const Dims& shape = file->tensors()[0].shape;
      dims = Dims{shape[0], shape[3], shape[1], shape[2]};
      bytes = file->bytes(0);
    }
    const Layout photo = Format::parse("nhwc").bind(dims);
    return std::ranges::count_if(kContents, [&](const Content& one) { return !walk(runtime, one, photo, bytes); }) == 0
               ? 0
               : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
