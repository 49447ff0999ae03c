// Planning images: see image_planner.h. A grid of parts is chosen by trying how many parts each dim gets, fewest first.
#include "relayout/opencl/image_planner.h"

#include <algorithm>

namespace relayout::opencl {
namespace {

/// A dim that can be cut: so many blocks, along rows or columns of the image.
struct Cuttable {
  int dim = 0;
  int64_t block = 1, blocks = 1;
  bool rows = false;
};

/// The dims of an image that have more than one block, the outermost digit first.
std::vector<Cuttable> cuttable_dims(const Image& image) {
  std::vector<Cuttable> out;
  std::array<int64_t, kMaxDims> block;
  block.fill(1);
  const std::vector<ImageDigit> digits = image_digits(image);
  for (const ImageDigit& digit : digits) {
    if (digit.axis == ImageAxis::lane) block[static_cast<std::size_t>(digit.dim)] *= digit.extent;
  }
  for (const ImageDigit& digit : digits) {
    if (digit.axis == ImageAxis::lane) continue;
    out.push_back({digit.dim, block[static_cast<std::size_t>(digit.dim)], digit.extent, digit.axis == ImageAxis::row});
  }
  return out;
}

/// Searches for the grid of the fewest parts that fit.
class GridSearch {
 public:
  GridSearch(const std::vector<Cuttable>& dims, const ImageLimits& limits, int64_t texel_bytes)
      : dims_(dims),
        most_width_(limits.max_width > 0 ? limits.max_width : kNoLimit),
        most_height_(limits.max_height > 0 ? limits.max_height : kNoLimit),
        most_texels_(limits.max_bytes > 0 ? limits.max_bytes / texel_bytes : kNoLimit),
        taken_(dims.size(), 1) {
    for (const Cuttable& one : dims_) best_.push_back(one.blocks);  // each block alone always fits
    for (const Cuttable& one : dims_) best_parts_ = saturating(best_parts_, one.blocks);
  }

  /// How many parts each dim is cut into.
  std::vector<int64_t> run() {
    search(0, 1, 1, 1);
    return best_;
  }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max(), kMostSteps = 1'000'000;
  static int64_t saturating(int64_t a, int64_t b) { return checked_mul(a, b).value_or(kNoLimit); }

  /// Tries all numbers of parts of the dims from `k` on. The dims before it give images of this size, in so many parts.
  void search(std::size_t k, int64_t width, int64_t height, int64_t parts) {
    if (++steps_ > kMostSteps || parts >= best_parts_) return;
    if (width > most_width_ || height > most_height_ || saturating(width, height) > most_texels_) return;
    if (k == dims_.size()) {
      best_ = taken_;
      best_parts_ = parts;
      return;
    }
    // From the inside out, so that of equally good grids the one found first cuts the outermost dims.
    const std::size_t at = dims_.size() - 1 - k;
    const Cuttable& dim = dims_[at];
    for (int64_t cut = 1; cut <= dim.blocks && saturating(parts, cut) < best_parts_;) {
      const int64_t size = ceil_div(dim.blocks, cut);
      taken_[at] = ceil_div(dim.blocks, size);
      search(k + 1, dim.rows ? width : saturating(width, size), dim.rows ? saturating(height, size) : height,
             saturating(parts, taken_[at]));
      if (size == 1) break;
      cut = ceil_div(dim.blocks, size - 1);  // the next number of parts that makes them smaller
    }
  }

  const std::vector<Cuttable>& dims_;
  int64_t most_width_, most_height_, most_texels_;
  std::vector<int64_t> taken_, best_;
  int64_t best_parts_ = 1, steps_ = 0;
};

}  // namespace

std::vector<ImageChoice> plan_images(const Dims& dims, ChannelType channel, const ImageLimits& limits,
                                     int64_t row_alignment) {
  if (row_alignment < 1)
    throw Error(ErrorCode::invalid_argument,
                "plan_images: rows begin at multiples of " + std::to_string(row_alignment) + " texels", "row_alignment",
                std::to_string(row_alignment), "1 or more");
  std::vector<ImageChoice> out;
  for (const auto& [name, tag] : mace_names()) {
    ImageChoice choice{std::string(name), std::nullopt, ""};
    try {
      const Image tight = Image::make(Format::parse(name), dims, channel);
      const int64_t pitch = ceil_div(tight.width(), row_alignment) * row_alignment;
      choice.image = tight.with_row_pitch(pitch * texel_bytes(channel));
      choice.image->check(limits);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::invalid_argument) continue;  // dims of another rank
      choice.refusal = error.message();
    }
    out.push_back(std::move(choice));
  }
  std::ranges::stable_sort(out, {}, [](const ImageChoice& choice) {
    return std::pair(!choice.refusal.empty(), choice.image ? choice.image->bytes() : 0);
  });
  return out;
}

std::vector<ImagePart> split_image(const Format& format, const Dims& dims, ChannelType channel,
                                   const ImageLimits& limits) {
  const Image whole = Image::make(format, dims, channel);
  const std::vector<Cuttable> cuttable = cuttable_dims(whole);
  const std::vector<int64_t> cuts = GridSearch(cuttable, limits, texel_bytes(channel)).run();
  Dims step = whole.dims();
  for (std::size_t k = 0; k < cuttable.size(); ++k)
    step[cuttable[k].dim] = ceil_div(cuttable[k].blocks, cuts[k]) * cuttable[k].block;
  std::vector<ImagePart> out;
  Dims begin = whole.dims();
  for (int64_t& one : begin) one = 0;
  for (;;) {
    Dims extent = step;
    for (int d = 0; d < step.size(); ++d) extent[d] = std::min(step[d], whole.dims()[d] - begin[d]);
    out.push_back({begin, Image::make(format, extent, channel)});
    out.back().image.check(limits);  // a single texel may be too large
    int d = step.size();
    while (d-- > 0) {
      begin[d] += step[d];
      if (begin[d] < whole.dims()[d]) break;
      begin[d] = 0;
    }
    if (d < 0) return out;
  }
}

}  // namespace relayout::opencl
