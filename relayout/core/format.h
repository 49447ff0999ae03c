// Format: a layout by name, before the extents are known.
//
// A format is what people write: "nhwc", "nChw16c", "aBcd16b", "strides:15,1,5,1",
// "mace:in_out_channel". bind() gives it extents and makes a Layout.
//
//     Layout l = Format::parse("nChw8c").bind({2, 17, 5, 4});     // l.offset({0,16,2,3}) == 408
//
// Grammar (docs/layout-expressions.md has it with examples):
//
//     expression = body [ "@" offset0 ] [ ";pitch=" texels ]
//     body       = tag | "strides:" int { "," int } | "contiguous" | "channels_last"
//                | "channels_last_3d" | "mace:" name | "undef" | "any"
//     tag        = outer { number letter }
//     outer      = letter { letter } with at most one "|" (rows | columns of an image)
//
// Letters a..l name dims 0..11. A capital has inner blocks. "x" stands for all other dims. Letters
// of a domain (n c d h w, g o i d h w, t n c, l d i g o n c) stand for the dims in that domain's
// logical order; d h w stand together. It is a grammar, not a table: any permutation and blocking
// that the rules allow is a tag, known to oneDNN or not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout {

/// A two-dimensional image of RGBA texels, as OpenCL and Vulkan have them.
struct ImageExtent {
  int64_t width = 0;   // texels a row
  int64_t height = 0;  // rows
  int64_t pitch = 0;   // texels from one row to the next, >= width
};

/// One axis of the physical array that a tag describes, outermost first: an outer dim or a block.
struct PhysicalAxis {
  int dim = 0;
  int64_t extent = 0;
  bool block = false;
};

class Format {
 public:
  enum class Kind : uint8_t { undef, any, tag, strides, memory_format };

  /// Reads an expression. Error{parse}: the message shows the text (escaped) with a caret under the
  /// position, and names that come near. Bounded: over kMaxText characters nothing is scanned.
  static Format parse(std::string_view text);
  static constexpr std::size_t kMaxText = 512;

  Kind kind() const { return kind_; }
  /// The expression exactly as it was given: parse(text()) is this format again.
  const std::string& text() const { return text_; }
  /// The rank that the expression fixes; nothing if it fits several.
  std::optional<int> rank() const;
  bool is_image() const { return kind_ == Kind::tag && rows_ >= 0; }

  /// Gives the layout for these extents. Errors: invalid_argument (a wrong rank; undef and any, which have no layout),
  /// unsupported (a dw_conv2d filter with a multiplier other than 1), overflow.
  Layout bind(const Dims& dims) const;

  /// The image's size for these dims. The format must be one of an image (is_image()).
  ImageExtent image(const Dims& dims) const;

  /// The physical array of these dims, outermost axis first, as .npy files and frameworks see it: nhwc is (N,H,W,C),
  /// nChw16c is (N,C/16,H,W,16), an image (height, pitch, 4). Nothing if the format is no dense array (strides, an
  /// offset): then the tensor is a flat run of span() elements.
  std::optional<Dims> physical_shape(const Dims& dims) const;

  /// The layout over a physical array with any strides, in elements, one for each axis of physical_shape(). With
  /// row-major strides it is the same as bind(). Fortran-order files need it. Images and formats without a physical
  /// shape have none.
  Layout bind_physical(const Dims& dims, const Dims& axis_strides, int64_t offset0 = 0) const;

  /// The logical dims of a physical shape; a blocked dim is as long as its blocks. Error{invalid_argument}: a wrong
  /// rank or block, or an image whose rows or columns mix dims.
  Dims dims_from_physical(const Dims& shape) const;

  /// The tag in letters a..l for that rank, e.g. "acdb" for nhwc; nothing unless kind() == tag.
  std::optional<std::string> generic_tag(int ndims) const;
  /// Letters of the logical dims in their order, e.g. "nchw"; letters from a on if the format names no domain.
  std::string dim_names(int ndims) const;

 private:
  struct Block {
    int dim;
    int64_t size;
  };
  struct Parser;
  using Outer = InlineVector<int8_t, kMaxDims + 1>;  // dims, outermost first; kRest is "x"
  static constexpr int8_t kRest = -1;

  std::vector<PhysicalAxis> physical_axes(const Dims& dims) const;
  void check_dims(const Dims& dims) const;
  Dims blocked_dims(Dims dims) const;
  [[noreturn]] void throw_overflow(const Dims& dims) const;
  Outer outer_for(int ndims) const;

  Kind kind_ = Kind::undef;
  MemoryFormat memory_format_ = MemoryFormat::contiguous;
  std::string text_;
  std::string letters_;        // logical dim letters where the tag names a domain
  Outer outer_;                // tag
  int rows_ = -1;              // how many of outer_ are image rows; -1 if it is no image
  std::vector<Block> blocks_;  // tag, outermost first
  std::optional<Dims> strides_;
  std::optional<int64_t> offset0_;
  std::optional<int64_t> pitch_;
  bool unit_multiplier_ = false;  // MACE's depthwise filter: dim 0 must be 1
};

/// The tag in letters a..l that binds to an equal layout, or nothing. If several do, it is one whose strides agree even
/// on dims of extent 1; among these, row-major comes first, then channels-last.
std::optional<std::string> tag_of(const Layout& layout);

/// The domain names of a tag in letters a..l, plain or blocked: "acdb" -> nhwc, ohwi.
std::vector<std::string> aliases_of(std::string_view generic_tag);

/// The plain (unblocked) domain names of a rank, the commonest first.
std::vector<std::string> plain_names(int rank);

/// MACE's names with their tags, e.g. {"mace:in_out_channel", "nh|Cw4c"}.
std::span<const std::pair<std::string_view, std::string_view>> mace_names();

}  // namespace relayout
