// Images as values: see image.h. Which digits of a layout step from row to row follows from the layout itself, bound
// with rows of two different lengths.
#include "relayout/opencl/image.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "relayout/core/nearest.h"
#include "relayout/interop/mace.h"

namespace relayout::opencl {
namespace {

struct ChannelRow {
  ChannelType type;
  std::string_view name, cl_name, mace;
  DType lane;
};

constexpr ChannelRow kRows[] = {
    {ChannelType::f32, "f32", "CL_FLOAT", "float", DType::f32},
    {ChannelType::f16, "f16", "CL_HALF_FLOAT", "half", DType::f16},
    {ChannelType::s32, "s32", "CL_SIGNED_INT32", "int32", DType::s32},
    {ChannelType::u32, "u32", "CL_UNSIGNED_INT32", "uint8", DType::u32},
    {ChannelType::unorm8, "unorm8", "CL_UNORM_INT8", "", DType::u8},
    {ChannelType::snorm8, "snorm8", "CL_SNORM_INT8", "", DType::s8},
};

const ChannelRow& row(ChannelType type) { return kRows[static_cast<std::size_t>(type)]; }

/// The format with rows of so many texels, whatever pitch or alignment it names itself.
Format with_pitch(const Format& format, int64_t texels) {
  return Format::parse(format.text().substr(0, format.text().find(';')) + ";pitch=" + std::to_string(texels));
}

/// All digits of a layout with a row break: its offsets count lanes, and with rows of `pitch` texels a row is 4 * pitch
/// lanes. What a digit steps further when rows are longer tells how many rows it steps.
std::vector<ImageDigit> digits_of(const Format& format, const Dims& dims, int64_t width) {
  const Layout once = with_pitch(format, width).bind(dims), twice = with_pitch(format, 2 * width).bind(dims);
  std::vector<ImageDigit> out;
  for (int d = 0; d < once.ndims(); ++d) {
    int64_t place = 1;
    for (std::size_t k = 0; k < once.digits(d).size(); ++k) {
      const Digit& digit = once.digits(d)[k];
      const int64_t further = twice.digits(d)[k].stride - digit.stride;
      ImageDigit image_digit{d, place, digit.extent, ImageAxis::lane, digit.stride};
      if (further != 0) {
        image_digit.axis = ImageAxis::row;
        image_digit.step = further / (width * kLanes);
      } else if (digit.stride >= kLanes) {
        image_digit.axis = ImageAxis::column;
        image_digit.step = digit.stride / kLanes;
      }
      if (digit.extent > 1) out.push_back(image_digit);
      place *= digit.extent;
    }
  }
  std::ranges::stable_sort(out, [](const ImageDigit& a, const ImageDigit& b) {
    return a.axis != b.axis ? a.axis < b.axis : a.step > b.step;
  });
  return out;
}

}  // namespace

std::string_view name(ChannelType type) { return row(type).name; }
std::string_view cl_name(ChannelType type) { return row(type).cl_name; }
DType lane_dtype(ChannelType type) { return row(type).lane; }
int64_t texel_bytes(ChannelType type) { return kLanes * bits(lane_dtype(type)) / 8; }

ChannelType parse_channel_type(std::string_view text) {
  std::string known;
  std::vector<std::string_view> names;
  for (const ChannelRow& one : kRows) {
    if (!text.empty() && (text == one.name || text == one.mace || text == one.cl_name)) return one.type;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    for (const std::string_view each : {one.name, one.mace, one.cl_name}) names.push_back(each);
  }
  throw Error(ErrorCode::parse,
              "channel type: \"" + escaped(text) + "\" is none; there are " + known + did_you_mean(text, names),
              "channel", escaped(text), known);
}

ChannelType default_channel_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return ChannelType::f32;
    case DType::f16: return ChannelType::f16;
    case DType::s32: return ChannelType::s32;
    case DType::u32:
    case DType::u8: return ChannelType::u32;
    default: break;
  }
  throw Error(ErrorCode::unsupported,
              "image: there are no texels of " + std::string(name(dtype)) +
                  "; there are f32, f16, s32, u32 (which also holds u8), unorm8 (for u8) and snorm8 (for s8)",
              "dtype", std::string(name(dtype)), "f32, f16, s32, u32, u8");
}

bool holds(ChannelType type, DType dtype) {
  switch (type) {
    case ChannelType::f32:
    case ChannelType::f16: return dtype == DType::f32 || dtype == DType::f16;
    case ChannelType::s32: return dtype == DType::s32;
    case ChannelType::u32: return dtype == DType::u32 || dtype == DType::u8;
    case ChannelType::unorm8: return dtype == DType::u8;
    case ChannelType::snorm8: return dtype == DType::s8;
  }
  return false;
}

Image Image::make(const Format& format, const Dims& dims, ChannelType channel) {
  if (!format.is_image())
    throw Error(ErrorCode::unsupported,
                "image: " + escaped(format.text()) + " has no row break; an image has one, as nh|Cw4c", "layout",
                escaped(format.text()), "a tag with a row break, or an image of MACE");
  if (!format.views().empty())
    throw Error(ErrorCode::unsupported,
                "image: " + escaped(format.text()) + " is a view of an image, and an image is made whole", "layout",
                escaped(format.text()), "no views");
  if (format.text().find('@') != std::string::npos)
    throw Error(ErrorCode::unsupported,
                "image: " + escaped(format.text()) + " has an offset, and an image begins at its first texel", "layout",
                escaped(format.text()), "no offset");
  Image out;
  out.format_ = format;
  out.channel_ = channel;
  const Dims all = mace::promoted_dims(format, dims);
  for (int d = 0; d < all.size(); ++d) {
    if (all[d] == 0)
      throw Error(ErrorCode::unsupported,
                  "image: dim " + std::to_string(d) + " has no elements, and an image has one texel or more",
                  "dims[" + std::to_string(d) + "]", "0", "1 or more");
  }
  out.extent_ = format.image(all);
  out.layout_ = with_pitch(format, out.extent_.width).bind(all);
  TensorDesc(format.bind(all), lane_dtype(channel));  // that its bytes can be counted
  const auto pitch = checked_mul(out.extent_.pitch, texel_bytes(channel));
  return out.with_row_pitch(pitch.value_or(std::numeric_limits<int64_t>::max() / 64 * 64));
}

Image Image::with_row_pitch(int64_t bytes) const {
  const int64_t lane_bytes = texel_bytes(channel_) / kLanes;
  if (bytes < row_bytes() || bytes % lane_bytes != 0)
    throw Error(ErrorCode::invalid_argument,
                "image: a row pitch of " + std::to_string(bytes) + " bytes; a row has " + std::to_string(row_bytes()) +
                    " bytes, and a pitch is a multiple of a lane's " + std::to_string(lane_bytes),
                "row_pitch", std::to_string(bytes), std::to_string(row_bytes()));
  if (!checked_mul(bytes, height()))
    throw Error(ErrorCode::overflow, "image: rows " + std::to_string(bytes) + " bytes apart overflow 63 bits",
                "row_pitch", std::to_string(bytes), std::to_string(std::numeric_limits<int64_t>::max()));
  Image out = *this;
  out.row_pitch_bytes_ = bytes;
  return out;
}

int64_t Image::unused_lanes() const { return width() * height() * kLanes - layout_.elements(); }

double Image::waste() const {
  const int64_t lane_bytes = texel_bytes(channel_) / kLanes;
  return 1 - static_cast<double>(layout_.elements() * lane_bytes) / static_cast<double>(bytes());
}

TensorDesc Image::desc() const {
  const int64_t lane_bytes = texel_bytes(channel_) / kLanes;
  if (row_pitch_bytes_ == row_bytes()) return {layout_, lane_dtype(channel_)};
  std::array<Digits, kMaxDims> digits;
  std::array<int64_t, kMaxDims> places{};
  places.fill(1);
  std::vector<ImageDigit> by_place = image_digits(*this);
  std::ranges::sort(by_place, {}, &ImageDigit::place);
  for (const ImageDigit& digit : by_place) {
    const int64_t row = row_pitch_bytes_ / lane_bytes;
    const int64_t of_axis = digit.axis == ImageAxis::row ? row : digit.axis == ImageAxis::column ? kLanes : 1;
    digits[static_cast<std::size_t>(digit.dim)].push_back({digit.extent, of_axis * digit.step});
  }
  for (int d = 0; d < layout_.ndims(); ++d) {
    if (digits[static_cast<std::size_t>(d)].empty()) digits[static_cast<std::size_t>(d)].push_back({1, 0});
  }
  const auto count = static_cast<std::size_t>(layout_.ndims());
  return {Layout::from_digits(layout_.dims(), std::span(digits.data(), count)), lane_dtype(channel_)};
}

void Image::check(const ImageLimits& limits) const {
  const bool wide = limits.max_width > 0 && width() > limits.max_width;
  if (wide || (limits.max_height > 0 && height() > limits.max_height)) {
    const std::string size = std::to_string(width()) + " x " + std::to_string(height());
    const std::string most = std::to_string(limits.max_width) + " x " + std::to_string(limits.max_height);
    throw Error(ErrorCode::limit,
                "image: " + escaped(format_.text()) + " of dims " + join(dims()) + " has " + size +
                    " texels, and the device allows " + most,
                wide ? "width" : "height", size, most);
  }
  if (limits.max_bytes > 0 && bytes() > limits.max_bytes)
    throw Error(ErrorCode::limit,
                "image: " + escaped(format_.text()) + " of dims " + join(dims()) + " takes " + std::to_string(bytes()) +
                    " bytes, and the device allows " + std::to_string(limits.max_bytes) + " at once",
                "bytes", std::to_string(bytes()), std::to_string(limits.max_bytes));
}

std::vector<ImageDigit> image_digits(const Image& image) {
  return digits_of(image.format(), image.dims(), image.width());
}

}  // namespace relayout::opencl
