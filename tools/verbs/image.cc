// relayout image: a tensor as a two-dimensional OpenCL image of RGBA texels, and whether a device takes it.
#include "relayout/opencl/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "relayout/core/print.h"
#include "tools/command/common.h"
#include "tools/imaging/image_plan.h"
#include "tools/imaging/image_target.h"

namespace relayout::tools {
namespace {

struct ImageOptions {
  std::optional<std::string> layout, dtype, channel;
  std::string dims;
  TargetOptions target;
  bool plan = false;
};

/// What the command line says: the image, with the dims before MACE's promotion and the type of the tensor.
struct Asked {
  Dims dims;
  DType dtype;
  opencl::Image image;
};

/// The type of the tensor and that of the lanes that hold it.
std::pair<DType, opencl::ChannelType> types_of(const ImageOptions& options) {
  if (!options.channel) {
    const DType dtype = dtype_argument(options.dtype.value_or("f32"));
    return {dtype, from_command_line([&] { return opencl::default_channel_type(dtype); })};
  }
  const opencl::ChannelType channel = from_command_line([&] { return opencl::parse_channel_type(*options.channel); });
  const DType dtype = options.dtype ? dtype_argument(*options.dtype) : opencl::lane_dtype(channel);
  if (!opencl::holds(channel, dtype)) {
    usage_error(fmt::format("--channel {}: such lanes hold no {}", name(channel), name(dtype)), "--channel",
                std::string(name(channel)), std::string(name(dtype)));
  }
  return {dtype, channel};
}

Asked asked_for(const ImageOptions& options, const ImageTarget& target) {
  if (!options.layout) usage_error("LAYOUT is required, unless --plan is given", "LAYOUT");
  const Format format = layout_argument(*options.layout);
  const auto [dtype, channel] = types_of(options);
  const Dims dims = dims_argument(options.dims);
  const opencl::Image image = from_command_line([&] { return opencl::Image::make(format, dims, channel); });
  return {dims, dtype, target.with_pitch(image)};
}

/// How many rows, texels or lanes an index lies from the first element: "5*(c/4) + w".
std::string axis_formula(const opencl::Image& image, opencl::ImageAxis axis) {
  std::vector<Digits> digits(static_cast<std::size_t>(image.dims().size()));
  std::vector<opencl::ImageDigit> by_place = image_digits(image);
  std::ranges::sort(by_place, {}, &opencl::ImageDigit::place);
  for (const opencl::ImageDigit& digit : by_place)
    digits[static_cast<std::size_t>(digit.dim)].push_back({digit.extent, digit.axis == axis ? digit.step : 0});
  for (Digits& of_dim : digits) {
    if (of_dim.empty()) of_dim.push_back({1, 0});
  }
  return offset_formula(Layout::from_digits(image.dims(), digits), image.format().dim_names(image.dims().size()));
}

std::string_view axis_name(opencl::ImageAxis axis) {
  static constexpr std::string_view kNames[] = {"row", "column", "lane"};
  return kNames[static_cast<int>(axis)];
}

Json image_json(const Asked& asked, const ImageTarget& target, const std::optional<Error>& refusal) {
  const opencl::Image& image = asked.image;
  Json out = {{"layout", image.format().text()}, {"dims", json_of(asked.dims)}};
  out["promoted_dims"] = json_of(image.dims());
  out["dtype"] = name(asked.dtype);
  out["channel"] = name(image.channel());
  out["cl_channel"] = cl_name(image.channel());
  out["width"] = image.width();
  out["height"] = image.height();
  out["texel_bytes"] = texel_bytes(image.channel());
  out["row_bytes"] = image.row_bytes();
  out["row_pitch_bytes"] = image.row_pitch_bytes();
  out["bytes"] = image.bytes();
  out["unused_lanes"] = image.unused_lanes();
  out["pitch_bytes"] = image.pitch_bytes();
  out["waste"] = image.waste();
  out["y"] = axis_formula(image, opencl::ImageAxis::row);
  out["x"] = axis_formula(image, opencl::ImageAxis::column);
  out["lane"] = axis_formula(image, opencl::ImageAxis::lane);
  Json digits = Json::array();
  for (const opencl::ImageDigit& digit : image_digits(image)) {
    digits.push_back({{"axis", axis_name(digit.axis)},
                      {"dim", digit.dim},
                      {"place", digit.place},
                      {"extent", digit.extent},
                      {"step", digit.step}});
  }
  out["digits"] = std::move(digits);
  add_target(out, target);
  out["fits"] = target.limits ? Json(!refusal.has_value()) : Json(nullptr);
  out["problem"] = refusal ? Json(refusal->message()) : Json(nullptr);
  return out;
}

std::string waste_text(const opencl::Image& image) {
  const int64_t lanes = image.width() * image.height() * opencl::kLanes;
  return fmt::format("{:.1f} %: {} of {} lanes hold no element{}", 100 * image.waste(), image.unused_lanes(), lanes,
                     image.pitch_bytes() == 0 ? "" : fmt::format(", {} bytes lie between rows", image.pitch_bytes()));
}

std::string image_text(const Asked& asked, const ImageTarget& target, const std::optional<Error>& refusal) {
  const opencl::Image& image = asked.image;
  const int64_t texel = texel_bytes(image.channel());
  std::string out =
      bold(fmt::format("{}  {}  {}", image.format().text(), name(asked.dtype), dims_text(asked.dims))) + "\n\n";
  if (image.dims() != asked.dims) out += labelled("dims", dims_text(image.dims()) + ", as MACE promotes them");
  out += labelled("image", fmt::format("{} x {} texels, width x height", image.width(), image.height()));
  out += labelled("texel",
                  fmt::format("RGBA of {} ({}), {} bytes", name(image.channel()), cl_name(image.channel()), texel));
  out += labelled(
      "row", fmt::format("{} bytes; row pitch {} bytes{}", image.row_bytes(), image.row_pitch_bytes(),
                         image.pitch_bytes() == 0 ? "" : fmt::format(", {} texels", image.row_pitch_bytes() / texel)));
  out +=
      labelled("memory", image.bytes() < 1024 ? fmt::format("{} bytes", image.bytes())
                                              : fmt::format("{} bytes ({})", image.bytes(), size_text(image.bytes())));
  out += labelled("waste", waste_text(image));
  out += "\n";
  out += labelled("rows", "y = " + axis_formula(image, opencl::ImageAxis::row));
  out += labelled("columns", "x = " + axis_formula(image, opencl::ImageAxis::column));
  out += labelled("lanes", "k = " + axis_formula(image, opencl::ImageAxis::lane));
  return out + "\n" + target_text(target) + fits_text(target, refusal);
}

int run_image(const ImageOptions& options, bool json) {
  const ImageTarget target = image_target(options.target);
  if (options.plan) {
    const auto [dtype, channel] = types_of(options);
    PlanQuestion question{std::nullopt, dims_argument(options.dims), dtype, channel};
    if (options.layout) question.format = layout_argument(*options.layout);
    return plan_image(question, target, json);
  }
  const Asked asked = asked_for(options, target);
  const std::optional<Error> refusal = target.refusal(asked.image);
  write_stdout(json ? json_text(image_json(asked, target, refusal)) : image_text(asked, target, refusal));
  return refusal ? kDiffers : kOk;
}

}  // namespace

Verb add_image(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "image", "Show a tensor as an OpenCL image of RGBA texels, and whether a device takes it",
               "  relayout image mace:in_out_channel --dims 1,9,4,5 --dtype f16\n"
               "  relayout image 'nh|Cw4c;pitch=64' --dims 2,17,5,4 --channel f32 --json\n"
               "  relayout image mace:conv2d_filter --dims 512,512,3,3 --max-size 2048x2048\n"
               "  relayout image mace:argument --dims 64 --device 0\n"
               "  relayout image --plan --dims 1,64,256,256 --dtype f16 --max-size 4096x4096 --pitch-alignment 64\n"
               "LAYOUT has a row break, as nh|Cw4c, or is one of MACE's images (see relayout tags).\n"
               "Without --dtype and --channel, elements are f32; u8 elements are kept in lanes of u32, as in MACE.\n"
               "--device 0 is the first device of relayout doctor, which is also asked where --device is left out.\n"
               "--plan lists the images of MACE that a tensor can be, and several images where none fits; with a "
               "LAYOUT, that alone.\n"
               "The exit code is 1 where the image does not fit the device, or the size of --max-size.");
  auto options = std::make_shared<ImageOptions>();
  command.add_option("LAYOUT", options->layout, "Layout expression of an image; may be left out with --plan");
  command.add_option("--dims", options->dims, "Logical extents, for example 1,64,56,56").required();
  command.add_option("--dtype", options->dtype, "Element type of the tensor; f32 unless given");
  command.add_option("--channel", options->channel,
                     "Type of the texels' lanes: f32, f16, s32, u32, unorm8 or snorm8; it follows from --dtype unless "
                     "given");
  command.add_flag("--plan", options->plan,
                   "List the images that the tensor can be, those that fit first, and a split where none fits");
  add_target_options(command, options->target);
  return {command, [options, json = json] { return run_image(*options, *json); }, json};
}

}  // namespace relayout::tools
