// Resizing by two passes, along rows and along columns: see resize.h.
#include "tools/planning/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "relayout/cpu/reorder.h"
#include "tools/command/common.h"

namespace relayout::tools {
namespace {

constexpr int64_t kLargestSide = int64_t{1} << 16;

/// The pixels of the source that one pixel of the result is made of: `weights` of those from `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

/// For each position along a side of the result, of a source that is `from` pixels long.
std::vector<Taps> taps_of(int64_t from, int64_t to) {
  std::vector<Taps> out;
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    Taps taps{.first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - reach + 0.5)))};
    const int64_t end = std::min(from, static_cast<int64_t>(std::floor(center + reach + 0.5)));
    double sum = 0;
    std::vector<double> weights;
    for (int64_t s = taps.first; s < end; ++s) {
      weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(s) + 0.5 - center) / reach)));
      sum += weights.back();
    }
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
    out.push_back(std::move(taps));
  }
  return out;
}

/// Values of an array (outer, from, inner) at other positions of its middle dim.
std::vector<float> resampled(const std::vector<float>& src, int64_t outer, int64_t from, int64_t inner, int64_t to) {
  if (from == to) return src;
  const std::vector<Taps> taps = taps_of(from, to);
  std::vector<float> out(static_cast<std::size_t>(outer * to * inner), 0.0f);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < to; ++i) {
      float* dst = out.data() + (o * to + i) * inner;
      const Taps& at = taps[static_cast<std::size_t>(i)];
      const float* row = src.data() + (o * from + at.first) * inner;
      for (const float weight : at.weights) {
        for (int64_t c = 0; c < inner; ++c) dst[c] += weight * row[c];
        row += inner;
      }
    }
  }
  return out;
}

int64_t side_argument(std::string_view text, const std::string& all) {
  const int64_t side = from_command_line([&] { return parse_int(std::string(text), "--resize " + escaped(all)); });
  if (side >= 1 && side <= kLargestSide) return side;
  usage_error(fmt::format("--resize {}: a side has 1 to {} pixels", escaped(all), kLargestSide), "--resize",
              escaped(all), std::to_string(kLargestSide));
}

}  // namespace

PictureSize size_argument_of_picture(const std::string& text) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return {.shorter = side_argument(text, text)};
  const std::string_view all = text;
  return {.width = side_argument(all.substr(0, x), text), .height = side_argument(all.substr(x + 1), text)};
}

bool is_picture(FileFormat format) {
  return format == FileFormat::png || format == FileFormat::jpeg || format == FileFormat::bmp;
}

Pixels resized(const TensorFile& picture, const PictureSize& size) {
  const StoredTensor& stored = picture.tensors()[0];
  const Dims dims = stored.dims ? *stored.dims : stored.layout->dims_from_physical(stored.shape);  // N C H W
  const int64_t channels = dims[1], height = dims[2], width = dims[3], shorter = std::min(height, width);
  const auto wanted = [&](int64_t side, int64_t given) {
    return size.shorter == 0 ? given : std::max<int64_t>(1, size.shorter * side / shorter);
  };
  const int64_t new_height = wanted(height, size.height), new_width = wanted(width, size.width);
  Pixels out{.shape = {1, new_height, new_width, channels}, .dtype = *stored.dtype, .bytes = {}};
  const auto plain = [&](int64_t h, int64_t w, DType dtype) {
    return TensorDesc(Layout::contiguous({1, h, w, channels}), dtype);
  };
  const Format nhwc = Format::parse("nhwc");
  std::vector<float> values(static_cast<std::size_t>(height * width * channels));
  cpu::run(cpu::make_plan({stored.layout->bind(dims), *stored.dtype}, {nhwc.bind(dims), DType::f32}),
           picture.bytes(0).data(), values.data());
  values = resampled(values, height, width, channels, new_width);
  values = resampled(values, 1, height, new_width * channels, new_height);
  const TensorDesc desc = plain(new_height, new_width, out.dtype);
  out.bytes.resize(static_cast<std::size_t>(desc.span_bytes()));
  cpu::run(cpu::make_plan(plain(new_height, new_width, DType::f32), desc), values.data(), out.bytes.data());
  return out;
}

Pixels cropped(const Pixels& pixels, int64_t width, int64_t height) {
  const int64_t have_height = pixels.shape[1], have_width = pixels.shape[2];
  if (have_height == height && have_width == width) return pixels;
  const int64_t pixel = pixels.shape[3] * bits(pixels.dtype) / 8, row = width * pixel;
  const int64_t top = (have_height - height) / 2, left = (have_width - width) / 2;
  Pixels out{.shape = {1, height, width, pixels.shape[3]}, .dtype = pixels.dtype, .bytes = {}};
  out.bytes.resize(static_cast<std::size_t>(height * row));
  for (int64_t y = 0; y < height; ++y) {
    std::memcpy(out.bytes.data() + y * row, pixels.bytes.data() + ((top + y) * have_width + left) * pixel,
                static_cast<std::size_t>(row));
  }
  return out;
}

}  // namespace relayout::tools
