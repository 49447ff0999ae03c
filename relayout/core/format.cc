// Format: binding to extents, images, physical arrays. Reading the text is format_parse.cc; the views at its end and
// the names of dims are format_views.cc.
#include "relayout/core/format.h"

#include "relayout/core/gates.h"
#include "relayout/core/overflow.h"
#include "relayout/core/packed/packed.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

constexpr int64_t kTexelLanes = 4;

[[noreturn]] void throw_shape(const std::string& text, const Dims& shape, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              "layout " + escaped(text) + ": the array has shape (" + join(shape) + "), " + why, "shape", join(shape),
              why);
}

bool has_zero(const Dims& dims) { return std::ranges::find(dims, 0) != dims.end(); }

/// The layout whose axes of memory, outermost first, have these strides.
Layout layout_of_axes(const Dims& dims, std::span<const PhysicalAxis> axes, std::span<const int64_t> strides,
                      int64_t offset0) {
  std::array<Digits, kMaxDims> digits;
  Digits padding;
  for (std::size_t k = axes.size(); k-- > 0;) {
    Digits& own = axes[k].dim < 0 ? padding : digits[static_cast<std::size_t>(axes[k].dim)];
    own.push_back({axes[k].extent, strides[k]});
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k].place >= 0) digits[static_cast<std::size_t>(axes[k].dim)][axes[k].place] = {axes[k].extent, strides[k]};
  }
  if (dims.empty()) return Layout::padded_scalar(padding.empty() ? Digits{{1, 0}} : padding, offset0);
  // What belongs to no dim is padding beyond all indices of the outermost one.
  for (const Digit& digit : padding) digits[static_cast<std::size_t>(axes[0].dim)].push_back(digit);
  return Layout::from_digits(dims, std::span(digits).first(static_cast<std::size_t>(dims.size())), offset0);
}

}  // namespace

void Format::throw_overflow(const Dims& dims) const {
  const std::string what =
      "bind: " + escaped(text_) + " of " + (dims.empty() ? "no dims" : "dims " + join(dims)) + ": ";
  std::vector<std::span<const Digit>> digits;
  std::vector<Digit> strided;
  if (kind_ == Kind::strides) {
    for (int d = 0; d < dims.size(); ++d) strided.push_back({dims[d], (*strides_)[d]});
    for (const Digit& digit : strided) digits.emplace_back(&digit, 1);
  }
  if (formula_) {
    throw Error(ErrorCode::overflow, what + "its digits or offsets overflow 64 bits", "dims", join(dims),
                std::to_string(std::numeric_limits<int64_t>::max()));
  }
  for (const Digits& own : digits_) digits.emplace_back(own);
  if (!digits.empty()) throw_too_far(what + "the offsets overflow 64 bits", dims, digits, 0);
  const auto say = [&](const std::string& why, const std::string& field, int64_t value) {
    throw Error(ErrorCode::overflow, what + why + " overflow 64 bits", field, std::to_string(value),
                std::to_string(std::numeric_limits<int64_t>::max()));
  };
  Dims padded = dims;
  for (int d = 0; d < dims.size(); ++d) {
    std::optional<int64_t> block = 1;
    for (const Block& b : blocks_) block = b.dim == d && block ? checked_mul(*block, b.size) : block;
    const auto capacity = block ? checked_mul(ceil_div(dims[d], *block), *block) : std::nullopt;
    const std::string dim = std::to_string(d);
    if (!capacity) say("the blocks of dim " + dim + " (" + std::to_string(dims[d]) + ")", "dims[" + dim + "]", dims[d]);
    padded[d] = *capacity;
  }
  if (!checked_product(padded)) throw_too_many(what, padded, dims, "elements overflow 64 bits");
  if (align_) say("rows of a multiple of " + std::to_string(*align_) + " elements", "align", *align_);
  if (pitch_) say("rows of " + std::to_string(*pitch_) + " texels", "pitch", *pitch_);
  throw_too_many(what, padded, dims, "elements and what their layout adds overflow 64 bits");
}

std::optional<int> Format::rank() const {
  if (fixed_dims_) return fixed_dims_->size();
  for (const Format& other : others_) {
    if (other.rank() != outer_.size()) return std::nullopt;
  }
  switch (kind_) {
    case Kind::tag:
      if (std::ranges::find(outer_, kRest) != outer_.end()) return std::nullopt;
      return outer_.size();
    case Kind::strides: return strides_->size();
    case Kind::digits: return static_cast<int>(digits_.size());
    case Kind::memory_format:
      if (memory_format_ == MemoryFormat::channels_last) return 4;
      if (memory_format_ == MemoryFormat::channels_last_3d) return 5;
      return std::nullopt;
    case Kind::undef:
    case Kind::any: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<DType> Format::element_type() const {
  if (packed_field_ == nullptr) return std::nullopt;
  return packed_field_->dtype;
}

void Format::check_dims(const Dims& dims) const {
  if (fixed_dims_ && *fixed_dims_ != dims) {
    throw Error(ErrorCode::invalid_argument,
                "bind: " + escaped(text_) + " fixes its dims to " + join(*fixed_dims_) + ", and dims " +
                    (dims.empty() ? "\"\"" : join(dims)) + " are others",
                "dims", join(dims), join(*fixed_dims_));
  }
  if (kind_ == Kind::undef || kind_ == Kind::any) {
    throw Error(ErrorCode::invalid_argument,
                kind_ == Kind::any ? "bind: \"any\" is a placeholder that only a primitive resolves; it has no layout"
                                   : "bind: \"undef\" has no layout",
                "layout", text_, "a layout that places elements");
  }
  const int named = static_cast<int>(std::ranges::count_if(outer_, [](int8_t d) { return d != kRest; }));
  const auto fixed = rank();
  if (fixed ? *fixed == dims.size() : named <= dims.size()) {
    for (int d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0) continue;
      throw Error(ErrorCode::invalid_argument,
                  "bind: dim " + std::to_string(d) + " is " + std::to_string(dims[d]) + "; a dim is 0 or more",
                  "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), "0 or more");
    }
    if (!takes(dims)) refuse_dims(dims);
    return;
  }
  const bool is_name = kind_ == Kind::tag && !is_image() && !notation_.empty() && !letters_.empty();
  if (!others_.empty() || is_name) refuse_dims(dims);
  const int need = fixed.value_or(named);
  constexpr std::size_t kNamesShown = 8;
  std::vector<std::string> known = is_image() ? names_near(text_) : plain_names(dims.size());
  if (is_image()) {  // only images may be meant
    std::erase_if(known, [&](const std::string& name) {
      const Format format = Format::parse(name);
      return !format.is_image() || format.rank() != dims.size();
    });
  }
  std::string names;
  for (std::size_t k = 0; k < std::min(known.size(), kNamesShown); ++k) names += (k ? ", " : "") + known[k];
  if (known.size() > kNamesShown) names += ", ...";
  throw Error(ErrorCode::invalid_argument,
              "bind: " + escaped(text_) + " has " + std::to_string(need) + (fixed ? "" : " or more") +
                  (need == 1 ? " dim" : " dims") + ", dims " + (dims.empty() ? "\"\"" : join(dims)) + " has " +
                  std::to_string(dims.size()) +
                  (names.empty() ? "" : "; names of rank " + std::to_string(dims.size()) + ": " + names),
              "dims", join(dims), std::to_string(need));
}

Format::Outer Format::outer_for(int ndims) const {
  Outer out;
  if (kind_ == Kind::memory_format) {
    const bool last = memory_format_ != MemoryFormat::contiguous;
    for (int d = 0; d < ndims; ++d) {
      if (!last || d != 1) out.push_back(static_cast<int8_t>(d));
    }
    if (last) out.push_back(1);
    return out;
  }
  for (int8_t d : outer_) {
    if (d != kRest) {
      out.push_back(d);
      continue;
    }
    for (int8_t rest = 0; rest < ndims; ++rest) {
      if (std::ranges::find(outer_, rest) == outer_.end()) out.push_back(rest);
    }
  }
  return out;
}

std::vector<PhysicalAxis> Format::physical_axes(const Dims& dims) const {
  Dims block(dims.size(), 1);
  for (const Block& b : blocks_) {
    if (b.dim < 0) continue;
    const auto next = checked_mul(block[b.dim], b.size);
    if (!next) throw_overflow(dims);
    block[b.dim] = *next;
  }
  std::vector<PhysicalAxis> axes;
  for (int8_t d : outer_for(dims.size())) axes.push_back({d, ceil_div(dims[d], block[d]), false});
  for (const Block& b : blocks_) axes.push_back({b.dim, b.size, true, b.place});
  return axes;
}

std::optional<int64_t> Format::aligned_row(int64_t stride) const {
  return align_ ? checked_mul(ceil_div(stride, *align_), *align_) : stride;
}

Layout Format::from_strides(const Dims& dims) const {
  int64_t base = 0;  // the offset, 0 or less, that negative strides reach before element 0
  for (int d = 0; d < dims.size() && !has_zero(dims); ++d) {
    const auto reach = checked_mul(dims[d] - 1, (*strides_)[d]);
    const auto next = reach && *reach < 0 ? checked_add(base, *reach) : std::optional(base);
    if (!reach || !next) throw_overflow(dims);
    base = *next;
  }
  if (base == std::numeric_limits<int64_t>::min()) throw_overflow(dims);
  return Layout::strided(dims, *strides_, offset0_.value_or(-base));
}

Layout Format::from_digits(const Dims& dims, std::span<const Digits> all, std::optional<int64_t> offset0) const {
  int64_t base = 0;  // as above; padding counts, because it is written too
  for (const Digits& digits : all) {
    for (const Digit& digit : digits) {
      if (digit.stride >= 0 || digit.extent <= 1 || has_zero(dims)) continue;
      const auto reach = checked_mul(digit.extent - 1, digit.stride);
      const auto next = reach ? checked_add(base, *reach) : std::nullopt;
      if (!next || *next == std::numeric_limits<int64_t>::min()) throw_overflow(dims);
      base = *next;
    }
  }
  return Layout::from_digits(dims, all, offset0.value_or(-base));
}

Layout Format::before_views(const Dims& dims) const {
  if (const Format& form = for_dims(dims); &form != this) return form.before_views(dims);
  check_dims(dims);
  return under_swizzle(dims).with_swizzle(swizzle_);
}

Layout Format::under_swizzle(const Dims& dims) const {
  if (kind_ == Kind::strides) return from_strides(dims);
  if (packed_ != nullptr) return field_layout(*packed_, *packed_field_, dims, offset0_.value_or(0));
  if (formula_) return from_formula(dims);
  if (kind_ == Kind::digits) return from_digits(dims, digits_, offset0_);

  if (is_image()) image(dims);  // checks the pitch
  // Strides are row-major over the physical axes. An axis of extent 0 counts as one element and has stride 1, as in
  // oneDNN. PyTorch's memory formats have PyTorch's strides: such an axis has the stride of its place, and in the
  // channels-last ones the strides outside it are 0.
  const bool of_pytorch = kind_ == Kind::memory_format;
  const int64_t least = of_pytorch && memory_format_ != MemoryFormat::contiguous ? 0 : 1;
  const auto axes = physical_axes(dims);
  const bool empty = has_zero(dims);
  const std::size_t outer_axes = axes.size() - blocks_.size();
  if (align_ && !is_image() && outer_axes < 2) {
    throw Error(ErrorCode::invalid_argument,
                "bind: " + escaped(text_) + ": dims " + join(dims) + " have no rows to align, which takes two axes",
                "dims", join(dims), "rank 2 or more");
  }
  std::vector<int64_t> axis_strides(axes.size());
  int64_t stride = 1;
  for (std::size_t k = axes.size(); k-- > 0;) {
    if (is_image() && k + 1 == static_cast<std::size_t>(rows_)) {  // from here on a step is a row
      const auto row = checked_mul(image(dims).pitch, kTexelLanes);
      if (!row) throw_overflow(dims);
      stride = std::max<int64_t>(*row, 1);
    }
    if (align_ && !is_image() && k + 2 == outer_axes) {
      const auto row = aligned_row(stride);
      if (!row) throw_overflow(dims);
      stride = *row;
    }
    axis_strides[k] = axes[k].extent == 0 && !of_pytorch ? 1 : stride;
    const auto next = checked_mul(stride, std::max(axes[k].extent, least));
    if (!next && !empty) throw_overflow(dims);
    stride = next.value_or(1);
  }
  return layout_of_axes(dims, axes, axis_strides, offset0_.value_or(0));
}

Layout Format::bind_physical(const Dims& dims, const Dims& axis_strides, int64_t offset0) const {
  if (const Format& form = for_dims(dims); &form != this) return form.bind_physical(dims, axis_strides, offset0);
  check_dims(dims);
  const auto shape = physical_shape(dims);
  if (!shape || is_image() || shape->size() != axis_strides.size()) {
    throw Error(ErrorCode::invalid_argument,
                "bind_physical: " + escaped(text_) + " has no physical array of " +
                    std::to_string(axis_strides.size()) + " axes",
                "layout", escaped(text_), "a plain or blocked layout");
  }
  return through_views(layout_of_axes(dims, physical_axes(dims), axis_strides, offset0));
}

ImageExtent Format::image(const Dims& dims) const {
  if (!is_image())
    throw Error(ErrorCode::invalid_argument, "image: " + escaped(text_) + " is no image layout", "layout",
                escaped(text_), "a tag with a row break, e.g. nh|Cw4c");
  check_dims(dims);
  ImageExtent out{1, 1, 0};
  int k = 0;
  for (const PhysicalAxis& axis : physical_axes(dims)) {
    if (axis.block) break;
    int64_t& side = k++ < rows_ ? out.height : out.width;
    const auto next = checked_mul(side, axis.extent);
    if (!next) throw_overflow(dims);
    side = *next;
  }
  const auto aligned = aligned_row(out.width);
  if (!aligned) throw_overflow(dims);
  out.pitch = pitch_.value_or(*aligned);
  if (out.pitch < out.width) {
    throw Error(ErrorCode::invalid_argument,
                "bind: " + escaped(text_) + ": a pitch of " + std::to_string(out.pitch) +
                    " texels is less than the image's width, " + std::to_string(out.width),
                "pitch", std::to_string(out.pitch), std::to_string(out.width));
  }
  return out;
}

std::optional<Dims> Format::physical_shape(const Dims& dims) const {
  if (const Format& form = for_dims(dims); &form != this) return form.physical_shape(dims);
  if (kind_ == Kind::strides || kind_ == Kind::digits) return std::nullopt;
  if (offset0_.value_or(0) != 0 || (align_ && !is_image()) || !swizzle_.identity()) return std::nullopt;
  check_dims(dims);
  if (is_image()) {
    const ImageExtent extent = image(dims);
    return Dims{extent.height, extent.pitch, kTexelLanes};
  }
  const auto axes = physical_axes(dims);
  if (static_cast<int>(axes.size()) > kMaxDims) return std::nullopt;
  Dims shape;
  for (const PhysicalAxis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

Dims Format::blocked_dims(Dims dims) const {
  for (const Block& b : blocks_) {
    if (b.dim < 0) continue;
    const auto next = checked_mul(dims[b.dim], b.size);
    if (!next) throw_overflow(dims);
    dims[b.dim] = *next;
  }
  return dims;
}

Dims Format::dims_from_physical(const Dims& shape) const {
  if (const Format& form = for_array(shape); &form != this) return form.dims_from_physical(shape);
  if (fixed_dims_) return *fixed_dims_;
  if ((kind_ != Kind::tag && kind_ != Kind::memory_format) || offset0_.value_or(0) != 0 || (align_ && !is_image()) ||
      !swizzle_.identity()) {
    throw_shape(text_, shape, "and this layout needs the logical dims besides");
  }
  if (is_image()) {
    if (shape.size() != 3 || shape[2] != kTexelLanes) throw_shape(text_, shape, "an image is (height, width, 4)");
    if (rows_ > 1 || outer_.size() - rows_ > 1 || pitch_ || align_)
      throw_shape(text_, shape, "and an image's logical dims must be given");
    if (rows_ == 0 && shape[0] != 1) throw_shape(text_, shape, "this image has one row");
    Dims dims(outer_.size(), 1);
    for (int k = 0; k < outer_.size(); ++k) dims[outer_[k]] = shape[k < rows_ ? 0 : 1];
    return blocked_dims(dims);
  }
  const int ndims = shape.size() - static_cast<int>(blocks_.size());
  const int named = static_cast<int>(std::ranges::count_if(outer_, [](int8_t d) { return d != kRest; }));
  if (ndims < 0 || (rank() ? *rank() != ndims : named > ndims)) {
    if (const auto order = gates()) {
      if (const auto dims = dims_of_joined_gates(*this, shape, order->places.size())) return *dims;
    }
    throw_shape(text_, shape,
                "expected " + std::to_string(rank().value_or(named) + static_cast<int>(blocks_.size())) +
                    (rank() ? "" : " or more") + " axes" + joined_gates_hint(*this, shape));
  }
  Dims dims(ndims, 0);
  const Outer outer = outer_for(ndims);
  for (int k = 0; k < ndims; ++k) dims[outer[k]] = shape[k];
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const int axis = ndims + static_cast<int>(b);
    if (shape[axis] != blocks_[b].size)
      throw_shape(text_, shape,
                  "its axis " + std::to_string(axis) + " should be a block of " + std::to_string(blocks_[b].size));
  }
  return blocked_dims(dims);
}

std::optional<std::string> Format::generic_tag(int ndims) const {
  if (!others_.empty()) {
    const Format* form = for_rank(ndims);
    if (form == nullptr || form->limit_) return std::nullopt;  // extents decide
    if (form != this) return form->generic_tag(ndims);
  }
  if (kind_ != Kind::tag || align_ || !views_.empty() || !swizzle_.identity()) return std::nullopt;
  if (std::ranges::any_of(blocks_, [](const Block& b) { return b.place >= 0 || b.dim < 0; })) return std::nullopt;
  std::string out;
  const Outer outer = outer_for(ndims);
  for (int k = 0; k < outer.size(); ++k) {
    if (k == rows_) out += '|';
    const bool blocked = std::ranges::any_of(blocks_, [&](const Block& b) { return b.dim == outer[k]; });
    out += static_cast<char>((blocked ? 'A' : 'a') + outer[k]);
  }
  for (const Block& b : blocks_) out += std::to_string(b.size) + static_cast<char>('a' + b.dim);
  return out;
}

}  // namespace relayout
