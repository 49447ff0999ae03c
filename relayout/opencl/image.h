// Image: a tensor as a two-dimensional OpenCL image of RGBA texels, as a value without a device.
//
// GPUs read images through a cache of their own, so that where a tensor's elements lie in an image decides how fast a
// kernel is. A layout with a row break (core/format.h) says it: `nh|Cw4c` has a row for each n and h, and in it, for
// each four channels, a texel for each w. An image adds what an OpenCL image has besides: the type of its channels, and
// how far its rows lie apart in memory.
//
//     const Image image = Image::make(Format::parse("mace:in_out_channel"), {1, 9, 4, 5}, ChannelType::f16);
//     image.width();        // 15 texels: three groups of four channels, of 5 texels each
//     image.height();       // 4 rows
//     image.bytes();        // 480
//     image.unused_lanes(); // 60: channels 9, 10 and 11 of every texel of the last group
//
// Unused lanes hold 0. Source: the OpenCL specification, section 5.3 (image objects); MACE's page "Memory layout".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::opencl {

inline constexpr int64_t kLanes = 4;  // R, G, B and A

/// What a lane of a texel is. f32, f16, s32 and u32 are MACE's float, half, int32 and uint8 (which it keeps in lanes of
/// 32 bits). A lane of unorm8 or snorm8 has 8 bits, which kernels read as a number from 0 to 1, or from -1 to 1.
enum class ChannelType : uint8_t { f32, f16, s32, u32, unorm8, snorm8 };
inline constexpr ChannelType kChannelTypes[] = {ChannelType::f32, ChannelType::f16,    ChannelType::s32,
                                                ChannelType::u32, ChannelType::unorm8, ChannelType::snorm8};

/// "f32", ..., "unorm8".
std::string_view name(ChannelType type);
/// OpenCL's name: "CL_FLOAT".
std::string_view cl_name(ChannelType type);
/// The type of the numbers that lanes hold as bits: u8 for unorm8, s8 for snorm8.
DType lane_dtype(ChannelType type);
/// Bytes of a texel: 16, 8 or 4.
int64_t texel_bytes(ChannelType type);
/// The channel type of that name, also in MACE's words (float, half, int32, uint8). Error{parse} lists them.
ChannelType parse_channel_type(std::string_view text);
/// Where a tensor of this type goes unless another is asked for: f32, f16, s32, and u32 for u32 and u8, as in MACE.
/// Error{unsupported} for all others, which names the types that there are.
ChannelType default_channel_type(DType dtype);
/// Whether elements of this type can be kept in such lanes: the types of default_channel_type(), f32 in f16 and back
/// (rounded to the nearest), u8 in unorm8 and s8 in snorm8.
bool holds(ChannelType type, DType dtype);

/// What a device allows. 0 is no limit.
struct ImageLimits {
  int64_t max_width = 0, max_height = 0;  // texels: CL_DEVICE_IMAGE2D_MAX_WIDTH and _MAX_HEIGHT
  int64_t max_bytes = 0;                  // CL_DEVICE_MAX_MEM_ALLOC_SIZE
};

class Image {
 public:
  /// The image of a layout with a row break for these dims. Dims that are fewer than an image of MACE has are promoted
  /// as MACE does it (mace::promoted_dims). Errors: unsupported (no row break; views; a dim without elements), and
  /// those of Format::bind.
  static Image make(const Format& format, const Dims& dims, ChannelType channel);
  /// The same image with rows so many bytes apart, as a device or a mapping has them. Error{invalid_argument} where
  /// that is less than a row or not a multiple of a lane.
  Image with_row_pitch(int64_t bytes) const;

  const Format& format() const { return format_; }
  /// The dims of the image, promoted.
  const Dims& dims() const { return layout_.dims(); }
  ChannelType channel() const { return channel_; }
  int64_t width() const { return extent_.width; }
  int64_t height() const { return extent_.height; }
  /// Bytes of a row, and from one row to the next.
  int64_t row_bytes() const { return extent_.width * texel_bytes(channel_); }
  int64_t row_pitch_bytes() const { return row_pitch_bytes_; }
  /// The memory that the image takes, with all rows whole.
  int64_t bytes() const { return height() * row_pitch_bytes_; }
  /// Lanes that hold no element, and bytes between the rows.
  int64_t unused_lanes() const;
  int64_t pitch_bytes() const { return height() * (row_pitch_bytes_ - row_bytes()); }
  /// The part of the memory that holds no element, from 0 to 1.
  double waste() const;

  /// The image as memory: the layout of its lanes, with the row pitch, and their type.
  TensorDesc desc() const;

  /// Error{limit} where the device does not take it; the message names what is asked and what is allowed.
  void check(const ImageLimits& limits) const;

 private:
  Format format_ = Format::parse("|A4a");
  Layout layout_;  // of lanes, rows without a pitch
  ImageExtent extent_;
  ChannelType channel_ = ChannelType::f32;
  int64_t row_pitch_bytes_ = 0;
};

/// Where a digit of a layout steps in an image.
enum class ImageAxis : uint8_t { row, column, lane };

/// A digit of one dim: index i of it, in [0, extent), stands for place * i of the dim's index, and lies step * i rows,
/// texels or lanes further.
struct ImageDigit {
  int dim = 0;
  int64_t place = 1, extent = 1;
  ImageAxis axis = ImageAxis::lane;
  int64_t step = 0;
};

/// All digits of an image that have more than one value, outermost first: rows, then columns, then lanes. Law: the
/// element of an index lies at the texel and lane that the sums of step * digit give.
std::vector<ImageDigit> image_digits(const Image& image);

}  // namespace relayout::opencl
