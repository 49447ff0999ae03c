// Layout: construction with checked arithmetic, offsets, sizes, predicates, canonical form.
// The two searches (inverse map, collisions) are in layout_search.cc, what a swizzle adds in layout_swizzled.cc.
#include "relayout/core/layout.h"

#include <cstdlib>

#include "relayout/core/overflow.h"
#include "relayout/core/reach.h"
#include "relayout/core/wide.h"

namespace relayout {
namespace {

[[noreturn]] void throw_overflow(const char* what, int d, int64_t value) {
  throw Error(ErrorCode::overflow,
              "layout: " + std::string(what) + " overflows 64 bits at dim " + std::to_string(d) + " (" +
                  std::to_string(value) + ")",
              "dims[" + std::to_string(d) + "]", std::to_string(value),
              std::to_string(std::numeric_limits<int64_t>::max()));
}

int64_t product_or_throw(const Dims& sizes, const Dims& dims) {
  const auto product = checked_product(sizes);
  if (!product) {
    const bool padded = !(sizes == dims);
    throw_too_many("layout: ", sizes, dims,
                   std::string("elements") + (padded ? " with padding" : "") + " overflow 64 bits");
  }
  return *product;
}

std::vector<std::span<const Digit>> all_digits(const Layout& layout) {
  std::vector<std::span<const Digit>> out;
  for (int d = 0; d < layout.ndims(); ++d) out.push_back(layout.digits(d));
  return out;
}

}  // namespace

std::string_view name(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::contiguous: return "contiguous";
    case MemoryFormat::channels_last: return "channels_last";
    case MemoryFormat::channels_last_3d: return "channels_last_3d";
  }
  return "";
}

Layout Layout::from_digits(const Dims& dims, std::span<const Digits> digits, int64_t offset0) {
  if (static_cast<int>(digits.size()) != dims.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        "layout: digits for " + std::to_string(digits.size()) + " dims given, dims has " + std::to_string(dims.size()),
        "digits", std::to_string(digits.size()), std::to_string(dims.size()));
  }
  Layout layout;
  layout.dims_ = dims;
  layout.offset0_ = offset0;
  for (int d = 0; d < dims.size(); ++d) {
    Digits own = digits[static_cast<std::size_t>(d)];
    // A digit without values would make the places of the digits outside it 0, and places divide. The dim has no index
    // either way, so the outermost digit is the one without values.
    for (int k = 0; k + 1 < own.size(); ++k) {
      if (own[k].extent != 0) continue;
      own[k].extent = 1;
      own.back().extent = 0;
    }
    for (const Digit& digit : own) layout.digits_.push_back(digit);
    layout.first_[static_cast<std::size_t>(d) + 1] = static_cast<uint8_t>(layout.digits_.size());
  }
  layout.validate();
  return layout;
}

Layout Layout::strided(const Dims& dims, const Dims& strides, int64_t offset0) {
  if (strides.size() != dims.size()) {
    throw Error(ErrorCode::invalid_argument,
                "layout: " + std::to_string(strides.size()) + " strides for " + std::to_string(dims.size()) + " dims",
                "strides", std::to_string(strides.size()), std::to_string(dims.size()));
  }
  Layout layout;
  layout.dims_ = dims;
  layout.offset0_ = offset0;
  for (int d = 0; d < dims.size(); ++d) {
    layout.digits_.push_back({dims[d], strides[d]});
    layout.first_[static_cast<std::size_t>(d) + 1] = static_cast<uint8_t>(d + 1);
  }
  layout.validate();
  return layout;
}

Layout Layout::contiguous(const Dims& dims) {
  if (std::ranges::all_of(dims, [](int64_t extent) { return extent >= 0; })) product_or_throw(dims, dims);
  Dims strides(dims.size(), 0);
  int64_t stride = 1;
  for (int d = dims.size() - 1; d >= 0; --d) {
    strides[d] = stride;
    // Without elements the other extents may be of any size.
    stride = checked_mul(stride, std::max<int64_t>(dims[d], 1)).value_or(0);
  }
  return strided(dims, strides);
}

Layout Layout::padded_scalar(const Digits& padding, int64_t offset0) {
  const Layout vector = from_digits({1}, std::span(&padding, 1), offset0).canonical();
  Layout out;
  if (vector.padded()) out.digits_ = vector.digits_;
  out.offset0_ = offset0;
  return out;
}

Layout Layout::as_vector() const {
  const Digits digits = digits_.empty() ? Digits{{1, 0}} : digits_;
  return from_digits({1}, std::span(&digits, 1), offset0_).with_swizzle(swizzle_);
}

void Layout::validate() const {
  Dims padded;
  for (int d = 0; d < ndims(); ++d) {
    const auto field = [d] { return "dims[" + std::to_string(d) + "]"; };
    if (dim(d) < 0) {
      throw Error(ErrorCode::invalid_argument, "layout: dim " + std::to_string(d) + " is " + std::to_string(dim(d)),
                  field(), std::to_string(dim(d)), "0 or more");
    }
    int64_t capacity = 1;
    for (const Digit& digit : digits(d)) {
      if (digit.extent < 0 || (digit.extent == 0 && dim(d) > 0)) {
        throw Error(ErrorCode::invalid_argument,
                    "layout: a digit of dim " + std::to_string(d) + " has extent " + std::to_string(digit.extent),
                    "digits[" + std::to_string(d) + "]", std::to_string(digit.extent), "1 or more");
      }
      const auto next = checked_mul(capacity, digit.extent);
      if (!next) throw_overflow("the padded extent", d, dim(d));
      capacity = *next;
    }
    if (digits(d).empty() || capacity < dim(d)) {
      throw Error(ErrorCode::invalid_argument,
                  "layout: the digits of dim " + std::to_string(d) + " reach " + std::to_string(capacity) + " of " +
                      std::to_string(dim(d)),
                  field(), std::to_string(dim(d)), std::to_string(capacity));
    }
    padded.push_back(capacity);
  }
  if (product_or_throw(dims_, dims_) == 0) {
    if (offset0_ >= 0) return;
    throw Error(ErrorCode::invalid_argument, "layout: offset0 is " + std::to_string(offset0_), "offset0",
                std::to_string(offset0_), "0 or more");
  }
  product_or_throw(padded, dims_);

  if (offset0_ == std::numeric_limits<int64_t>::max()) {  // the span is one more
    throw Error(ErrorCode::overflow, "layout: the span overflows 64 bits at offset0 (" + std::to_string(offset0_) + ")",
                "offset0", std::to_string(offset0_), std::to_string(offset0_ - 1));
  }
  int64_t low = offset0_, high = offset0_;
  for (int d = 0; d < ndims(); ++d) {
    for (const Digit& digit : digits(d)) {
      const auto reach = checked_mul(digit.extent - 1, digit.stride);
      const auto size = checked_mul(digit.extent, digit.stride);  // so that footprint() cannot overflow
      const bool fits = reach && size && *size != std::numeric_limits<int64_t>::min();
      const auto next = fits ? checked_add(*reach < 0 ? low : high, *reach) : std::nullopt;
      if (!next || *next == std::numeric_limits<int64_t>::max())
        throw_too_far("layout: the span overflows 64 bits", dims_, all_digits(*this), offset0_);
      (*reach < 0 ? low : high) = *next;
    }
  }
  if (low < 0) {
    throw Error(ErrorCode::invalid_argument,
                "layout: an element lies at offset " + std::to_string(low) + ", before the buffer (offset0 is " +
                    std::to_string(offset0_) + ")",
                "offset0", std::to_string(offset0_), std::to_string(offset0_ - low) + " or more");
  }
}

int64_t Layout::capacity(int d) const {
  int64_t product = 1;
  for (const Digit& digit : digits_under_swizzle(d)) product *= digit.extent;
  return product;
}

int64_t Layout::block(int d) const {
  int64_t product = 1;
  for (const Digit& digit : digits_under_swizzle(d).first(digits_under_swizzle(d).size() - 1)) product *= digit.extent;
  return product;
}

Dims Layout::padded_dims() const {
  Dims out;
  for (int d = 0; d < ndims(); ++d) out.push_back(capacity(d));
  return out;
}

Dims Layout::outer_strides() const {
  Dims out;
  for (int d = 0; d < ndims(); ++d) out.push_back(outer_stride(d));
  return out;
}

int64_t Layout::elements() const { return *checked_product(dims_); }

int64_t Layout::padded_elements() const {
  if (ndims() == 0) return as_vector().capacity(0);
  return empty() ? 0 : *checked_product(padded_dims());
}

int64_t digits_offset(std::span<const Digit> digits, int64_t i) {
  int64_t sum = 0;
  for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
    sum += i % digits[k].extent * digits[k].stride;
    i /= digits[k].extent;
  }
  return sum + i * digits.back().stride;
}

int64_t Layout::dim_offset(int d, int64_t i) const { return digits_offset(digits(d), i); }

int64_t Layout::offset(std::span<const int64_t> index) const {
  if (static_cast<int>(index.size()) != ndims()) {
    throw Error(ErrorCode::invalid_argument,
                "offset: index has " + std::to_string(index.size()) + " entries, the layout " +
                    std::to_string(ndims()) + " dims",
                "index", join(index), std::to_string(ndims()));
  }
  for (int d = 0; d < ndims(); ++d) {
    const int64_t i = index[static_cast<std::size_t>(d)], last = capacity(d) - 1;
    if (i >= 0 && i <= last) continue;
    throw Error(ErrorCode::invalid_argument,
                "offset: index " + std::to_string(i) + " of dim " + std::to_string(d) +
                    (last < 0 ? ", which has no elements" : " is outside 0.." + std::to_string(last)),
                "index[" + std::to_string(d) + "]", std::to_string(i), std::to_string(last));
  }
  int64_t sum = offset0_;
  for (int d = 0; d < ndims(); ++d) sum += digits_offset(digits_under_swizzle(d), index[static_cast<std::size_t>(d)]);
  return swizzle_.apply(sum);
}

std::pair<int64_t, int64_t> Layout::offset_range() const {
  if (empty()) return {offset0_, offset0_ - 1};
  if (swizzled()) return {low_, high_};
  int64_t low = offset0_, high = offset0_;
  for (const Digit& digit : digits_) {
    const int64_t far = reach(digit);
    (far < 0 ? low : high) += far;
  }
  return {low, high};
}

int64_t Layout::span() const { return empty() ? 0 : offset_range().second + 1; }

int64_t Layout::footprint() const {
  if (swizzled()) refuse_swizzle("oneDNN's size");
  if (empty()) return 0;
  if (ndims() == 0) return padded() ? as_vector().footprint() : 1;
  int64_t blocks = 1, size = 0;
  for (int d = 0; d < ndims(); ++d) {
    const Digit outer = digits(d).back();
    blocks *= block(d);
    size = std::max(size, outer.extent == 1 ? 1 : outer.extent * std::abs(outer.stride));
  }
  return size == 1 ? blocks : size;
}

bool Layout::dense() const {
  if (empty()) return true;
  if (padded()) return false;
  if (swizzled()) return high_ - low_ + 1 == elements() && injective();
  Wide size = 1;
  for (int d = 0; d < ndims(); ++d) {
    const auto [low, high] = dim_range(digits(d), dim(d));
    size += high - low;
  }
  return size == elements() && injective();
}

bool Layout::packed() const {
  const auto [low, high] = offset_range();
  return empty() || (high - low + 1 == padded_elements() && injective_with_padding());
}

bool Layout::broadcast() const {
  for (int d = 0; d < ndims(); ++d) {
    int64_t place = 1;
    for (const Digit& digit : digits_under_swizzle(d)) {
      if (digit.stride == 0 && digit.extent > 1 && dim(d) > place) return true;
      place *= digit.extent;
    }
  }
  return false;
}

bool Layout::padded() const {
  if (ndims() == 0) return !digits_.empty();
  for (int d = 0; d < ndims(); ++d) {
    if (capacity(d) != dim(d)) return true;
  }
  return false;
}

bool Layout::contiguous_in(MemoryFormat format) const {
  Dims order;  // innermost first
  switch (format) {
    case MemoryFormat::contiguous:
      for (int d = ndims() - 1; d >= 0; --d) order.push_back(d);
      break;
    case MemoryFormat::channels_last: order = {1, 3, 2, 0}; break;
    case MemoryFormat::channels_last_3d: order = {1, 4, 3, 2, 0}; break;
  }
  if (order.size() != ndims()) return false;
  if (empty() && format == MemoryFormat::contiguous) return true;
  if (padded()) return false;
  const Layout simple = empty() ? *this : canonical();
  if (simple.swizzled()) return false;
  std::optional<int64_t> expected = 1;  // nothing where 64 bits do not hold it, as they may not without elements
  for (int64_t d : order) {
    const auto list = simple.digits(static_cast<int>(d));
    if (simple.dim(static_cast<int>(d)) == 1) continue;
    if (list.size() != 1 || !expected || list[0].stride != *expected) return false;
    expected = checked_mul(*expected, list[0].extent);
  }
  return true;
}

Layout Layout::canonical() const {
  if (empty()) {
    Layout out;
    out.dims_ = dims_;
    for (int d = 0; d < ndims(); ++d) {
      out.digits_.push_back({dim(d), 0});
      out.first_[static_cast<std::size_t>(d) + 1] = static_cast<uint8_t>(d + 1);
    }
    return out;
  }
  Layout out;
  out.dims_ = dims_;
  out.offset0_ = offset0_;
  if (swizzled()) {
    out.swizzle_ = swizzle_;
    out.low_ = low_;
    out.high_ = high_;
  }
  if (ndims() == 0) out.digits_ = digits_;
  for (int d = 0; d < ndims(); ++d) {
    const int first = out.digits_.size();
    for (const Digit& digit : digits_under_swizzle(d)) {
      if (digit.extent == 1) continue;
      if (out.digits_.size() > first && digit.stride == out.digits_.back().stride * out.digits_.back().extent) {
        out.digits_.back().extent *= digit.extent;
      } else {
        out.digits_.push_back(digit);
      }
    }
    if (out.digits_.size() == first) out.digits_.push_back({1, 0});
    out.first_[static_cast<std::size_t>(d) + 1] = static_cast<uint8_t>(out.digits_.size());
  }
  return out;
}

TensorDesc::TensorDesc(Layout layout_, DType dtype_) : layout(std::move(layout_)), dtype(dtype_) {
  const int64_t footprint = layout.swizzled() ? 0 : layout.footprint();
  const int64_t elements = std::max({layout.span(), footprint, layout.padded_elements()});
  if (bytes_for(dtype, elements)) return;
  const bool scalar = layout.ndims() == 0;
  const std::string of_type = "elements of " + std::string(name(dtype)) + " overflow 64 bits of bytes";
  if (!bytes_for(dtype, layout.padded_elements()))
    throw_too_many("tensor: ", scalar ? Dims{layout.padded_elements()} : layout.padded_dims(), layout.dims(), of_type);
  const Layout with_digits = scalar ? layout.plain().as_vector() : layout.plain();
  throw_too_far("tensor: " + std::to_string(elements) + " " + of_type, layout.dims(), all_digits(with_digits),
                layout.offset0());
}

int64_t TensorDesc::span_bytes() const { return *bytes_for(dtype, layout.span()); }
int64_t TensorDesc::size_bytes() const {
  return layout.swizzled() ? span_bytes() : *bytes_for(dtype, layout.footprint());
}
int64_t TensorDesc::logical_bytes() const { return *bytes_for(dtype, layout.elements()); }

}  // namespace relayout
