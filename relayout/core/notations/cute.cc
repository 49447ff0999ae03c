// cute: CuTe's layouts, shape:stride. Each mode of the shape is a dim; a mode of several is the dim's digits, leftmost
// innermost. A shape alone has CuTe's default strides, leftmost mode innermost.
//
//     cute:((8,3),4):((1,32),8)      dim 0 is (8,1)(3,32), dim 1 is (4,8)
//     cute:(_128,_64)                dim 0 is (128,1), dim 1 is (64,128); _128 is CuTe's way to print Int<128>
//     cute:Sw<3,3,3> o 0 o (8,64):(64,1)      CuTe's ComposedLayout: swizzle(0 + the layout's offset)
//
// Source: NVIDIA CUTLASS, media/docs/cpp/cute/01_layout.md.
#include <algorithm>
#include <limits>

#include "relayout/core/notations/notation.h"

namespace relayout {
namespace {

/// A tuple of integers that may be nested, and where it begins.
struct Tuple {
  std::size_t at = 0;
  bool leaf = false;
  int64_t value = 0;
  std::vector<Tuple> items{};
};

constexpr int kMostNested = 32;

void skip_blanks(NotationText& text) {
  while (text.take(' ')) continue;
}

Tuple read_tuple(NotationText& text, const std::string& what, int depth) {
  skip_blanks(text);
  Tuple out;
  out.at = text.at();
  if (!text.take('(')) {
    text.take('_');
    out.leaf = true;
    out.value = text.number(what);
    if (text.peek() == '@' || text.peek() == '*' || text.peek() == '/')
      text.fail("CuTe's strides along a basis (1@0, E<0>) make coordinates and not offsets, so they are no layout");
    return out;
  }
  if (depth == kMostNested) text.fail("more than " + std::to_string(kMostNested) + " parentheses inside each other");
  skip_blanks(text);
  while (!text.take(')')) {
    out.items.push_back(read_tuple(text, what, depth + 1));
    skip_blanks(text);
    if (text.peek() != ')') text.expect(',');
    skip_blanks(text);
  }
  return out;
}

/// The digits of a mode. `next` is the stride that the next digit has where there are no strides.
void add_digits(NotationText& text, const Tuple& shape, const Tuple* stride, int64_t& next, Digits& out) {
  if (stride != nullptr && (shape.leaf != stride->leaf || shape.items.size() != stride->items.size()))
    text.fail(stride->at, "shape and stride are tuples of different forms");
  if (!shape.leaf) {
    if (shape.items.empty()) text.fail(shape.at, "a mode without extents");
    for (std::size_t i = 0; i < shape.items.size(); ++i)
      add_digits(text, shape.items[i], stride != nullptr ? &stride->items[i] : nullptr, next, out);
    return;
  }
  if (shape.value < 0) text.fail(shape.at, "an extent is 0 or more");
  if (out.size() == kMaxDigits) text.fail(shape.at, "more than " + std::to_string(kMaxDigits) + " digits");
  out.push_back({shape.value, stride != nullptr ? stride->value : next});
  const auto product = checked_mul(next, std::max<int64_t>(shape.value, 1));
  if (!product) text.fail(shape.at, "the product of the extents does not fit 64 bits");
  next = *product;
}

/// Elements that lie before CuTe's pointer, which no buffer here has: negative strides, but of extents of 1.
void refuse_negative_strides(NotationText& text, std::size_t at, const std::vector<Digits>& dims) {
  const auto has = [&](const Digits& digits, const auto& test) { return std::ranges::any_of(digits, test); };
  const auto negative = [](const Digit& digit) { return digit.extent > 1 && digit.stride < 0; };
  const auto positive = [](const Digit& digit) { return digit.extent > 1 && digit.stride > 0; };
  if (std::ranges::any_of(dims, [&](const Digits& d) { return has(d, [](const Digit& k) { return k.extent == 0; }); }))
    return;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!has(dims[d], negative)) continue;
    int64_t before = 0, stride = 0;
    for (const Digit& digit : dims[d]) {
      if (!negative(digit)) continue;
      const auto reach = checked_mul(digit.extent - 1, digit.stride);
      const auto sum = reach ? checked_add(before, *reach) : std::nullopt;
      if (!sum || *sum == std::numeric_limits<int64_t>::min()) text.fail(at, "the offsets do not fit 64 bits");
      before = *sum;
      if (stride == 0) stride = digit.stride;
    }
    const std::string way = has(dims[d], positive)
                                ? "digits: says such a layout from its first element on"
                                : "write the strides above 0 and .flip(" + std::to_string(d) + ") behind them";
    text.fail(at, "dim " + std::to_string(d) + " has the stride " + std::to_string(stride) +
                      ": the elements would begin " + std::to_string(-before) + " before the pointer; " + way);
  }
}

/// Takes the sign between the parts of a composition, with blanks around it.
void expect_composed(NotationText& text) {
  skip_blanks(text);
  if (!text.take('o') && !text.take("\u2218")) text.fail("expected o, CuTe's sign of a composition");
  skip_blanks(text);
}

/// "Sw<3,3,3> o 0 o ": the swizzle and the offset in front of a layout, as CuTe prints its ComposedLayout.
void read_swizzle(NotationText& text, Spelled& out) {
  skip_blanks(text);
  const std::size_t at = text.at();
  if (!text.take("Sw<") && !text.take("S<")) return;
  int64_t numbers[3];
  for (int k = 0; k < 3; ++k) {
    if (k > 0) text.expect(',');
    skip_blanks(text);
    text.take('_');
    numbers[k] = text.number("number of the swizzle");
    skip_blanks(text);
  }
  text.expect('>');
  try {
    out.swizzle = Swizzle::make(numbers[0], numbers[1], numbers[2]);
  } catch (const Error& error) {
    text.fail(at, error.message());
  }
  expect_composed(text);
  if (text.peek() == '(') return;
  text.take('_');
  out.offset0 = text.number("offset", 0);
  expect_composed(text);
}

/// Compositions of layouts, which their text does not carry out.
void refuse_compositions(NotationText& text) {
  const std::string_view rest = text.rest();
  if (const std::size_t o = rest.find(" o "); o != std::string_view::npos)
    text.fail(text.at() + o, "a composition of layouts: give the layout that CuTe's composition() makes of it");
}

}  // namespace

Spelled read_cute(NotationText& text) {
  Spelled out;
  read_swizzle(text, out);
  refuse_compositions(text);
  const Tuple shape = read_tuple(text, "extent", 0);
  skip_blanks(text);
  std::optional<Tuple> stride;
  if (text.take(':')) stride = read_tuple(text, "stride", 0);
  skip_blanks(text);
  if (!text.done()) text.fail(stride ? "expected the end" : "expected ':' and the strides");
  out.digits.emplace();
  int64_t next = 1;
  const auto add_dim = [&](const Tuple& mode, const Tuple* mode_stride) {
    if (out.digits->size() == kMaxDims) text.fail(mode.at, "more than " + std::to_string(kMaxDims) + " dims");
    Digits digits;
    add_digits(text, mode, mode_stride, next, digits);
    out.digits->push_back(digits);
  };
  if (stride && !shape.leaf && (stride->leaf || stride->items.size() != shape.items.size()))
    text.fail(stride->at, "shape and stride are tuples of different forms");
  if (shape.leaf) add_dim(shape, stride ? &*stride : nullptr);
  for (std::size_t d = 0; d < shape.items.size(); ++d) add_dim(shape.items[d], stride ? &stride->items[d] : nullptr);
  if (stride) refuse_negative_strides(text, stride->at, *out.digits);
  return out;
}

}  // namespace relayout
