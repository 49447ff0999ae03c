// Pictures of video in planes: brightness Y for each pixel, and colours U and V for two pixels of a row or for 2 x 2. A
// plane of colours is a layout of all pixels, (channel, height, width), in which those of one colour share its element.
// Each layout counts elements from the picture's first byte.
//
//     yuv:NV12:Y     [H][W]                        and of NV21, I420, YV12, P010, I422, I444
//     yuv:NV12:UV    behind it [H/2][W/2][U V]     NV21: V before U. P010 is NV12 with elements of 16 bits
//     yuv:I420:UV    behind it [U V][H/2][W/2]     YV12: V before U; I422 [U V][H][W/2]; I444 [U V][H][W]
//     yuv:YUY2:Y     [H][W/2][Y U Y V]             also :UV; UYVY: [H][W/2][U Y V Y]
//
// Where height or width is odd, the last colours are for one row or column; a row of YUY2 has whole pairs of pixels.
//
// Source: Microsoft, "Recommended 8-Bit YUV Formats for Video Rendering" and "10-bit and 16-bit YUV Video Formats".
#include "relayout/core/notations/systems/system.h"

namespace relayout::systems {
namespace {

constexpr std::string_view kPlane = "ab";
constexpr std::string_view kUvPairs = "digits:(2,1)|(2,0)(B/2,2C/2)|(2,0)(C/2,2)@BC";
constexpr std::string_view kVuPairs = "digits:(2,-1)|(2,0)(B/2,2C/2)|(2,0)(C/2,2)@BC+1";
constexpr std::string_view kUvPlanes = "digits:(2,B/2C/2)|(2,0)(B/2,C/2)|(2,0)(C/2,1)@BC";
constexpr std::string_view kVuPlanes = "digits:(2,-B/2C/2)|(2,0)(B/2,C/2)|(2,0)(C/2,1)@BC+B/2C/2";

constexpr SystemName kYuv[] = {
    {"NV12:Y", kPlane, "hw"},
    {"NV12:UV", kUvPairs, "chw"},
    {"NV21:Y", kPlane, "hw"},
    {"NV21:UV", kVuPairs, "chw"},
    {"P010:Y", kPlane, "hw"},
    {"P010:UV", kUvPairs, "chw"},
    {"I420:Y", kPlane, "hw"},
    {"I420:UV", kUvPlanes, "chw"},
    {"YV12:Y", kPlane, "hw"},
    {"YV12:UV", kVuPlanes, "chw"},
    {"I422:Y", kPlane, "hw"},
    {"I422:UV", "digits:(2,B*C/2)|(B,C/2)|(2,0)(C/2,1)@BC", "chw"},
    {"I444:Y", kPlane, "hw"},
    {"I444:UV", "digits:(2,BC)|(B,C)|(C,1)@BC", "chw"},
    {"YUY2:Y", "digits:(A,4B/2)|(2,2)(B/2,4)", "hw"},
    {"YUY2:UV", "digits:(2,2)|(B,4C/2)|(2,0)(C/2,4)@1", "chw"},
    {"UYVY:Y", "digits:(A,4B/2)|(2,2)(B/2,4)@1", "hw"},
    {"UYVY:UV", "digits:(2,2)|(B,4C/2)|(2,0)(C/2,4)", "chw"},
};

}  // namespace

const NamedSystem& yuv() {
  static constexpr NamedSystem kSystem{"yuv", "YUV", kYuv};
  return kSystem;
}

}  // namespace relayout::systems
