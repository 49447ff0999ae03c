// Format: a layout by name, before the extents are known.
//
// A format is what people write: "nhwc", "nChw16c", "aBcd16b", "strides:15,1,5,1",
// "mace:in_out_channel". bind() gives it extents and makes a Layout.
//
//     Layout l = Format::parse("nChw8c").bind({2, 17, 5, 4});     // l.offset({0,16,2,3}) == 408
//
// Grammar (docs/layout-expressions.md has it with examples):
//
//     expression = body [ "@" offset0 ] { ";" option } { "." view }
//     body       = tag | "strides:" int { "," int } | notation ":" text | "contiguous" | "channels_last"
//                | "channels_last_3d" | "undef" | "any"
//     body       = ... | a packed format's field, "ggml:q4_0.q", "gptq"          (packed/packed.h)
//     notation   = "digits" | "dml" | "mace" | "cute" | "xla" | "tvm" | "cudnn" | ...    (notations/notation.h)
//     tag        = outer { number letter }
//     outer      = letter { letter } with at most one "|" (rows | columns of an image)
//     option     = "pitch=" texels | "align=" elements | "swizzle=" bits "," base "," shift
//                | "gates:" order "->" order
//     view       = name "(" [ int { "," int } ] { ":" int { "," int } } ")"       (view_step.h)
//
// Letters a..l name dims 0..11. A capital has inner blocks. "x" stands for all other dims. Letters
// of a domain (n c d h w, g o i d h w, t n c, l d i g o n c) stand for the dims in that domain's
// logical order; d h w stand together. A domain's name without blocks may be written in capitals as a
// whole (NCHW). It is a grammar, not a table: any permutation and blocking that the rules allow is a
// tag, known to oneDNN or not.
//
// Views are applied by bind(), in the order in which they stand. The dims that bind() and all other functions here are
// given are those *before* the views, and the physical array is that of the layout before them: a view is a part of a
// buffer, and a file holds the buffer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/core/view_step.h"

namespace relayout {

struct FormulaDigits;
struct PackedField;
struct PackedFormat;

/// A two-dimensional image of RGBA texels, as OpenCL and Vulkan have them.
struct ImageExtent {
  int64_t width = 0;   // texels a row
  int64_t height = 0;  // rows
  int64_t pitch = 0;   // texels from one row to the next, >= width
};

/// One axis of the physical array that a tag describes, outermost first: an outer dim or a block.
struct PhysicalAxis {
  int dim = 0;  // -1: a block of no dim, which is padding but for its index 0
  int64_t extent = 0;
  bool block = false;
  /// The place of a block among the digits of its dim, 0 innermost; -1 where digits follow the order of memory.
  int place = -1;
};

/// The extents, from `least` to `most`, of which a dim must have one.
struct DimLimit {
  int dim = 0;
  int64_t least = 1, most = 1;
};

class Format {
 public:
  enum class Kind : uint8_t { undef, any, tag, strides, memory_format, digits };

  /// Reads an expression. Error{parse}: the message shows the text (escaped) with a caret under the
  /// position, and names that come near. Bounded: over kMaxText characters nothing is scanned.
  static Format parse(std::string_view text);
  /// Whether parse() reads the text. Names that come near are not looked for.
  static bool is_expression(std::string_view text);
  static constexpr std::size_t kMaxText = 4096;

  Kind kind() const { return kind_; }
  /// The expression exactly as it was given: parse(text()) is this format again.
  const std::string& text() const { return text_; }
  /// The rank that the expression fixes; nothing if it fits several, any or those of a list (tenstorrent:TILE).
  std::optional<int> rank() const;
  /// The name of the notation that it is written in ("dml", "cute"), without the colon; empty for tags, strides and
  /// memory formats.
  std::string_view notation() const { return notation_; }
  /// The type of its elements, where the expression says it, as the fields of packed formats do (ggml:q4_0.q).
  std::optional<DType> element_type() const;
  bool is_image() const { return kind_ == Kind::tag && rows_ >= 0; }
  /// The dims that it fixes (dml:), before the views; nothing where bind() takes any.
  const std::optional<Dims>& fixed_dims() const { return fixed_dims_; }
  /// The dims to bind where none are given, before the views: those that it fixes, or the capacities of its digits
  /// (digits:, cute:). Nothing for all other formats. Error{overflow} where a capacity does not fit 63 bits.
  std::optional<Dims> default_dims() const;
  /// The views at its end, in the order in which bind() applies them.
  std::span<const ViewStep> views() const { return views_; }
  /// What ";gates:" says: index j of dim `dim` lies where index places[j] does without it. Nothing where it is not
  /// given.
  struct GateOrder {
    int dim = 0;
    Dims places;
  };
  std::optional<GateOrder> gates() const;
  /// The format without ";gates:", for copies of one gate after the other; text() stays as it is.
  Format without_gates() const;
  /// The dims before the views that make `after` of them; nothing where they do not follow.
  std::optional<Dims> dims_before_views(const Dims& after) const;
  /// The same format with letters for its dims (before the views), as dim_names() gives them: "nchw" for strides:...
  /// Error{invalid_argument} unless they are different lower-case letters, as many as rank() where that is fixed.
  Format with_names(std::string_view letters) const;

  /// Gives the layout for these extents. Errors: invalid_argument (a wrong rank; other dims than those that are fixed;
  /// undef and any, which have no layout), unsupported (a dw_conv2d filter with a multiplier other than 1), overflow,
  /// and those of the views (needs_copy), with the view and the dims in front of the message.
  Layout bind(const Dims& dims) const;

  /// The layout of the buffer, which is bind() without the views. Errors as bind().
  Layout before_views(const Dims& dims) const;
  /// The exclusive or behind the offsets of the buffer; most formats have none.
  const Swizzle& swizzle() const { return swizzle_; }
  /// Elements that the buffer must have: the span of before_views().
  int64_t buffer_span(const Dims& dims) const;

  /// The image size for these dims. The format must be one of an image (is_image()).
  ImageExtent image(const Dims& dims) const;

  /// The physical array of these dims, outermost axis first, as .npy files and frameworks see it: nhwc is (N,H,W,C),
  /// nChw16c is (N,C/16,H,W,16), an image (height, pitch, 4). Nothing if the format is no dense array (strides, an
  /// offset, aligned rows, a swizzle): then the buffer is a flat run of buffer_span() elements.
  std::optional<Dims> physical_shape(const Dims& dims) const;

  /// The layout over a physical array with any strides, in elements, one for each axis of physical_shape(). With
  /// row-major strides it is the same as bind(). Fortran-order files need it. Images and formats without a physical
  /// shape have none.
  Layout bind_physical(const Dims& dims, const Dims& axis_strides, int64_t offset0 = 0) const;

  /// The logical dims of a physical shape; a blocked dim is as long as its blocks. Error{invalid_argument}: a wrong
  /// rank or block, or an image whose rows or columns mix dims.
  Dims dims_from_physical(const Dims& shape) const;

  /// The tag in letters a..l for that rank, e.g. "acdb" for nhwc; nothing unless kind() == tag, and for aligned rows
  /// and views.
  std::optional<std::string> generic_tag(int ndims) const;
  /// Letters of the logical dims in their order, e.g. "nchw"; letters from a on if the format names no domain. With
  /// views, `ndims` and the letters are those behind them: "hcnw" for nchw.transpose(0,2).
  std::string dim_names(int ndims) const;
  /// The dim of that letter in dim_names(), such as 'c' of nhwc: 1. Nothing where there is none, or where the letters
  /// name no domain but count: 'c' of "abcd" is no channel.
  std::optional<int> dim_named(char letter, int ndims) const;

 private:
  struct Block {
    int dim;  // -1 as in PhysicalAxis
    int64_t size;
    int place = -1;  // as in PhysicalAxis
  };
  struct Parser;
  using Outer = InlineVector<int8_t, kMaxDims + 1>;  // dims, outermost first; kRest is "x"
  static constexpr int8_t kRest = -1;

  Layout through_views(Layout layout) const;
  Layout under_swizzle(const Dims& dims) const;
  std::optional<int64_t> aligned_row(int64_t stride) const;
  Layout from_strides(const Dims& dims) const;
  Layout from_digits(const Dims& dims, std::span<const Digits> digits, std::optional<int64_t> offset0) const;
  Layout from_formula(const Dims& dims) const;
  std::vector<PhysicalAxis> physical_axes(const Dims& dims) const;
  bool takes(const Dims& dims) const;
  const Format& for_dims(const Dims& dims) const;
  const Format* for_rank(int ndims) const;
  const Format& for_array(const Dims& shape) const;
  std::vector<const Format*> forms() const;
  [[noreturn]] void refuse_dims(const Dims& dims) const;
  void check_dims(const Dims& dims) const;
  Dims blocked_dims(Dims dims) const;
  [[noreturn]] void throw_overflow(const Dims& dims) const;
  Outer outer_for(int ndims) const;

  Kind kind_ = Kind::undef;
  MemoryFormat memory_format_ = MemoryFormat::contiguous;
  std::string text_;
  std::string_view notation_;  // of the list of notations, which is static
  std::string letters_;        // logical dim letters where the tag names a domain
  Outer outer_;                // tag
  int rows_ = -1;              // how many of outer_ are image rows; -1 if it is no image
  std::vector<Block> blocks_;  // tag, outermost first
  std::optional<Dims> strides_;
  std::vector<Digits> digits_;
  std::shared_ptr<const FormulaDigits> formula_;  // where the digits follow from the dims
  const PackedFormat* packed_ = nullptr;          // of the tables, which are static; and the field of it
  const PackedField* packed_field_ = nullptr;
  std::optional<int64_t> offset0_;
  std::optional<int64_t> pitch_;
  std::optional<int64_t> align_;  // rows begin at multiples of so many elements; of texels in an image
  Swizzle swizzle_;               // of the whole offset, before the views
  std::optional<Dims> fixed_dims_;
  std::vector<ViewStep> views_;
  std::optional<DimLimit> limit_;
  std::vector<Format> others_;  // what the expression is for dims that this format does not take
};

/// The tag in letters a..l that binds to an equal layout, or nothing. If several do, it is one whose strides agree even
/// on dims of extent 1; among these, row-major comes first, then channels-last.
std::optional<std::string> tag_of(const Layout& layout);

/// The layout as an expression of its digits, which every layout has: "digits:(2,480)|(8,1)(3,160)|(5,32)|(4,8)@7". An
/// offset0 that bind() would choose itself is left out; a swizzle stands behind it, ";swizzle=3,3,3". Law:
/// parse(digits_expression(l)).bind(l.dims()) == l.
std::string digits_expression(const Layout& layout);

/// The domain names of a tag in letters a..l, plain or blocked: "acdb" -> nhwc, ohwi.
std::vector<std::string> aliases_of(std::string_view generic_tag);

/// The plain (unblocked) domain names of a rank, the commonest first.
std::vector<std::string> plain_names(int rank);

/// The names that other systems' notations have a list of, as expressions: "cudnn:NC/4HW4", "mnn:NC4HW4",
/// "mace:argument".
std::vector<std::string> notation_names();

/// Another system's name of a layout, as a layout expression. A name of several ranks has one of these for each.
struct NamedLayout {
  std::string expression;  // "tensorrt:CHW4"
  Dims dims;               // for an example
};

/// The systems whose layouts are lists of names, in the order of the alphabet: what stands before the colon, and the
/// system's own name ("tensorrt", "TensorRT").
struct LayoutSystem {
  std::string name, title;
  std::vector<NamedLayout> layouts;
};
std::vector<LayoutSystem> layout_systems();

/// MACE's names with their tags, e.g. {"mace:in_out_channel", "nh|Cw4c"}.
std::span<const std::pair<std::string_view, std::string_view>> mace_names();

}  // namespace relayout
