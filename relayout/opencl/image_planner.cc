// Planning images: see image_planner.h. How few parts a grid can have follows from two lists, one an axis of the image:
// every size that a part can have along it and the fewest pieces that reach it. The axes meet in the bytes of a part.
#include "relayout/opencl/image_planner.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "relayout/interop/mace.h"

namespace relayout::opencl {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

int64_t saturating(int64_t a, int64_t b) { return checked_mul(a, b).value_or(kNoLimit); }

void check_alignment(const char* operation, int64_t row_alignment) {
  if (row_alignment >= 1) return;
  throw Error(
      ErrorCode::invalid_argument,
      std::string(operation) + ": rows begin at multiples of " + std::to_string(row_alignment) + " texels; 1 or more",
      "row_alignment", std::to_string(row_alignment), "1 or more");
}

/// The image as a device has it whose rows begin at multiples of so many texels.
Image image_on_device(const Format& format, const Dims& dims, ChannelType channel, int64_t row_alignment) {
  const Image image = Image::make(format, dims, channel);
  const auto bytes = checked_mul(row_alignment, texel_bytes(channel));
  const auto pitch = bytes ? checked_mul(ceil_div(image.row_pitch_bytes(), *bytes), *bytes) : std::nullopt;
  if (!pitch)
    throw Error(ErrorCode::overflow,
                "image: rows at multiples of " + std::to_string(row_alignment) + " texels overflow 63 bits",
                "row_alignment", std::to_string(row_alignment), std::to_string(kNoLimit));
  return image.with_row_pitch(*pitch);
}

/// A dim that can be cut: so many blocks, along rows or columns of the image.
struct Cuttable {
  int dim = 0;
  int64_t block = 1, blocks = 1;
  bool rows = false;
};

/// The dims of an image that have more than one block, the outermost digit first: rows, then columns. A dim has one
/// digit besides its lanes, because the blocks of an image multiply to 4.
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

/// What some dims can come to along one axis: parts of this size, and the fewest pieces of the dims that make them.
struct Reach {
  int64_t size = 1, pieces = 1;
};

/// The sizes that a dim's pieces can have, the largest first.
std::vector<Reach> reaches_of(int64_t blocks, int64_t most) {
  std::vector<Reach> out;
  for (int64_t pieces = ceil_div(blocks, std::min(blocks, most)); pieces <= kMostImageParts;) {
    const int64_t size = ceil_div(blocks, pieces);
    pieces = ceil_div(blocks, size);
    if (pieces <= kMostImageParts) out.push_back({size, pieces});
    if (size == 1) break;
    pieces = ceil_div(blocks, size - 1);  // the next number of pieces that makes them smaller
  }
  return out;
}

/// What those dims and one more can come to: only what no other reach beats in both numbers, the smallest size first.
std::vector<Reach> with_dim(const std::vector<Reach>& dims, const std::vector<Reach>& one, int64_t most) {
  std::vector<Reach> all, out;
  for (const Reach& a : dims) {
    for (const Reach& b : one) {
      const Reach both{saturating(a.size, b.size), a.pieces * b.pieces};
      if (both.pieces > kMostImageParts) break;  // the next ones have more pieces
      if (both.size <= most) all.push_back(both);
    }
  }
  std::ranges::sort(all, {}, [](const Reach& reach) { return std::pair(reach.size, reach.pieces); });
  for (const Reach& reach : all) {
    if (out.empty() || reach.pieces < out.back().pieces) out.push_back(reach);
  }
  return out;
}

/// Finds the grid of the fewest parts that fit.
class GridSearch {
 public:
  GridSearch(const Image& whole, const std::vector<Cuttable>& dims, const ImageLimits& limits, int64_t row_alignment)
      : dims_(dims),
        most_width_(limits.max_width > 0 ? limits.max_width : kNoLimit),
        most_height_(limits.max_height > 0 ? limits.max_height : kNoLimit),
        most_texels_(limits.max_bytes > 0 ? limits.max_bytes / texel_bytes(whole.channel()) : kNoLimit),
        row_alignment_(row_alignment),
        rows_{{Reach{}}},
        columns_{{Reach{}}} {
    const std::string& text = whole.format().text();
    if (const std::size_t options = text.find(';'); options != std::string::npos)
      one_row_ = Format::parse("|A4a" + text.substr(options));
    for (const Cuttable& dim : dims) {
      const int64_t most = dim.rows ? most_height_ : most_width_;
      reaches_.push_back(reaches_of(dim.blocks, most));
      rows_.push_back(dim.rows ? with_dim(rows_.back(), reaches_.back(), most) : rows_.back());
      columns_.push_back(dim.rows ? columns_.back() : with_dim(columns_.back(), reaches_.back(), most));
    }
  }

  /// How many blocks each dim's pieces have, or nothing if no grid of up to kMostImageParts parts fits.
  std::optional<std::vector<int64_t>> run() const {
    int64_t width = 1, height = 1;
    std::optional<int64_t> left = fewest(dims_.size(), width, height);
    if (!left) return std::nullopt;
    std::vector<int64_t> sizes(dims_.size());
    for (std::size_t k = dims_.size(); k-- > 0;) {
      int64_t& length = dims_[k].rows ? height : width;
      for (const Reach& reach : reaches_[k]) {
        if (*left % reach.pieces != 0) continue;
        const int64_t before = std::exchange(length, saturating(length, reach.size));
        if (fewest(k, width, height) == *left / reach.pieces) {
          sizes[k] = reach.size;
          *left /= reach.pieces;
          break;
        }
        length = before;
      }
    }
    return sizes;
  }

 private:
  /// Texels from one row to the next of an image that is so wide.
  int64_t pitch(int64_t width) const {
    if (one_row_) width = one_row_->image({saturating(width, kLanes)}).pitch;
    return saturating(ceil_div(width, row_alignment_), row_alignment_);
  }

  /// The fewest parts into which the first `k` dims can be cut if the others give images of this size.
  std::optional<int64_t> fewest(std::size_t k, int64_t width, int64_t height) const {
    std::optional<int64_t> best;
    for (const Reach& row : rows_[k]) {
      const int64_t high = saturating(height, row.size);
      if (high > most_height_) break;
      // Wider parts take fewer pieces: the widest that fits is the best one.
      const auto widest = std::ranges::partition_point(columns_[k], [&](const Reach& column) {
        const int64_t wide = saturating(width, column.size);
        return wide <= most_width_ && (most_texels_ == kNoLimit || saturating(pitch(wide), high) <= most_texels_);
      });
      if (widest == columns_[k].begin()) continue;
      const int64_t parts = row.pieces * std::prev(widest)->pieces;
      if (parts <= best.value_or(kMostImageParts)) best = parts;
    }
    return best;
  }

  const std::vector<Cuttable>& dims_;
  int64_t most_width_, most_height_, most_texels_, row_alignment_;
  std::optional<Format> one_row_;                   // a row with the options of the format, if it has some
  std::vector<std::vector<Reach>> reaches_;         // of each dim
  std::vector<std::vector<Reach>> rows_, columns_;  // of the first k dims
};

/// Why there is no grid: a single block is too large, or there would be too many parts.
[[noreturn]] void refuse_split(const Image& whole, const std::vector<Cuttable>& cuttable, const ImageLimits& limits,
                               int64_t row_alignment) {
  Dims block = whole.dims();
  for (const Cuttable& dim : cuttable) block[dim.dim] = dim.block;
  image_on_device(whole.format(), block, whole.channel(), row_alignment).check(limits);
  throw Error(ErrorCode::limit,
              "split_image: " + escaped(whole.format().text()) + " of dims " + join(whole.dims()) + " has " +
                  std::to_string(whole.width()) + " x " + std::to_string(whole.height()) +
                  " texels, and with limits of " + std::to_string(limits.max_width) + " x " +
                  std::to_string(limits.max_height) + " texels and " + std::to_string(limits.max_bytes) +
                  " bytes (0: none) it takes more than " + std::to_string(kMostImageParts) + " parts",
              "parts", "", std::to_string(kMostImageParts));
}

}  // namespace

std::vector<ImageChoice> plan_images(const Dims& dims, ChannelType channel, const ImageLimits& limits,
                                     int64_t row_alignment, std::span<const Format> candidates) {
  check_alignment("plan_images", row_alignment);
  std::vector<Format> all(candidates.begin(), candidates.end());
  if (candidates.empty()) {
    for (const auto& [name, tag] : mace_names()) all.push_back(Format::parse(name));
  }
  std::vector<ImageChoice> out;
  for (const Format& format : all) {
    if (format.rank() != mace::promoted_dims(format, dims).size()) continue;
    ImageChoice choice{format.text(), std::nullopt, ""};
    try {
      choice.image = image_on_device(format, dims, channel, row_alignment);
      choice.image->check(limits);
    } catch (const Error& error) {
      choice.refusal = error.message();
    }
    out.push_back(std::move(choice));
  }
  std::ranges::stable_sort(out, {}, [](const ImageChoice& choice) {
    return std::tuple(!choice.refusal.empty(), !choice.image, choice.image ? choice.image->bytes() : 0);
  });
  return out;
}

std::vector<ImagePart> split_image(const Format& format, const Dims& dims, ChannelType channel,
                                   const ImageLimits& limits, int64_t row_alignment) {
  check_alignment("split_image", row_alignment);
  const Image whole = Image::make(format, dims, channel);
  const std::vector<Cuttable> cuttable = cuttable_dims(whole);
  const auto sizes = GridSearch(whole, cuttable, limits, row_alignment).run();
  if (!sizes) refuse_split(whole, cuttable, limits, row_alignment);
  Dims step = whole.dims();
  for (std::size_t k = 0; k < cuttable.size(); ++k)
    step[cuttable[k].dim] = std::min((*sizes)[k] * cuttable[k].block, step[cuttable[k].dim]);
  std::vector<ImagePart> out;
  std::vector<Image> made;  // one for each combination of whole and last pieces
  Dims begin = whole.dims();
  for (int64_t& one : begin) one = 0;
  for (;;) {
    Dims extent = step;
    for (int d = 0; d < step.size(); ++d) extent[d] = std::min(step[d], whole.dims()[d] - begin[d]);
    auto image = std::ranges::find(made, extent, &Image::dims);
    if (image == made.end()) image = made.insert(made.end(), image_on_device(format, extent, channel, row_alignment));
    out.push_back({begin, *image});
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
