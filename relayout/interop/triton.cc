// Linear layouts as texts, as digits of two values and a swizzle, and back: see triton.h.
#include "relayout/interop/triton.h"

#include <algorithm>
#include <bit>

namespace relayout::triton {
namespace {

constexpr int kMostBits = 40;

bool power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
int log2_of(int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); }

[[noreturn]] void refuse(const std::string& why, const std::string& field, const std::string& value,
                         const std::string& limit) {
  throw Error(ErrorCode::unsupported, "triton: " + why, field, value, limit);
}

/// Reads "name = [[0, 1], [1, 0]], ..." from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<InDim> run() {
    if (const std::size_t brace = text_.find('{'); brace != std::string_view::npos) at_ = brace + 1;
    std::vector<InDim> out;
    while (true) {
      InDim& dim = out.emplace_back();
      take('"'), take('\'');
      const std::size_t from = (blanks(), at_);
      while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
      dim.name = text_.substr(from, at_ - from);
      if (dim.name.empty()) fail("expected the name of a dim of the hardware");
      take('"'), take('\'');
      if (!take('=') && !take(':')) fail("expected '=' and the bases");
      expect('[');
      while (!take(']')) {
        dim.bases.push_back(basis());
        if (!take(',') && text_.substr(at_, 1) != "]") fail("expected ',' or ']'");
      }
      if (!take(',')) break;
    }
    blanks();
    // Behind the braces stand the alignment and the end of the attribute.
    if (at_ < text_.size() && text_[at_] != '}') fail("expected ',' or the end");
    return out;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char ch) {
    blanks();
    if (at_ == text_.size() || text_[at_] != ch) return false;
    ++at_;
    blanks();
    return true;
  }
  void expect(char ch) {
    if (!take(ch)) fail(std::string("expected '") + ch + "'");
  }
  Dims basis() {
    Dims out;
    expect('[');
    while (!take(']')) {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      if (from == at_ || out.size() == kMaxDims) fail("expected a number for each dim of the tensor");
      out.push_back(parse_int(text_.substr(from, at_ - from), "basis"));
      if (!take(',') && text_.substr(at_, 1) != "]") fail("expected ',' or ']'");
    }
    return out;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::parse,
                "triton: " + why + " at character " + std::to_string(at_) + " of \"" + escaped(text_, 200) + "\"",
                "text", escaped(text_), why);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The bits of a basis as one number: row-major over the tensor, so that the last dim has the lowest bits.
uint64_t mask_of(const Dims& basis, const Dims& shape) {
  uint64_t out = 0;
  for (int d = 0; d < shape.size(); ++d) out = out << log2_of(shape[d]) | static_cast<uint64_t>(basis[d]);
  return out;
}

/// For each bit of the tensor's index the offset that moves it alone, by Gauss's elimination.
std::vector<uint64_t> inverted(const std::vector<uint64_t>& bases, int bits) {
  struct Row {
    uint64_t index, offset;  // the offset's bits whose bases make this index
  };
  std::vector<Row> rows;
  for (std::size_t j = 0; j < bases.size(); ++j) {
    if (bases[j] != 0) rows.push_back({bases[j], uint64_t{1} << j});
  }
  if (static_cast<int>(rows.size()) != bits)
    refuse(std::to_string(rows.size()) + " bits of the offset move the index, whose tensor has " +
               std::to_string(bits) + " bits, so that it is not at one offset each",
           "offset", std::to_string(rows.size()), std::to_string(bits));
  for (int bit = 0; bit < bits; ++bit) {
    const auto first = rows.begin() + bit;
    const auto found = std::find_if(first, rows.end(), [&](const Row& row) { return row.index >> bit & 1; });
    if (found == rows.end())
      refuse("bit " + std::to_string(bit) +
                 " of the tensor's row-major number belongs to no offset alone, as the bases "
                 "depend on each other",
             "offset", std::to_string(bit), "independent bases");
    std::iter_swap(first, found);
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      if (row == first || !(row->index >> bit & 1)) continue;
      row->index ^= first->index;
      row->offset ^= first->offset;
    }
  }
  std::vector<uint64_t> out;
  for (const Row& row : rows) out.push_back(row.offset);
  return out;
}

/// Whether no two numbers share a bit once they are swizzled, so that their exclusive or is their sum.
bool apart(const std::vector<std::vector<uint64_t>>& dims, const Swizzle& swizzle) {
  uint64_t seen = 0;
  for (const auto& masks : dims) {
    for (const uint64_t mask : masks) {
      const auto moved = static_cast<uint64_t>(swizzle.apply(static_cast<int64_t>(mask)));
      if ((seen & moved) != 0) return false;
      seen |= moved;
    }
  }
  return true;
}

/// The swizzle with the fewest bits behind which the numbers are a sum.
Swizzle swizzle_of(const std::vector<std::vector<uint64_t>>& dims) {
  if (apart(dims, {})) return {};
  uint64_t all = 0;
  for (const auto& masks : dims) {
    for (const uint64_t mask : masks) all |= mask;
  }
  const int top = std::bit_width(all);
  for (int bits = 1; 2 * bits <= top; ++bits) {
    for (int base = 0; base + 2 * bits <= top; ++base) {
      for (int shift = bits; base + shift + bits <= top; ++shift) {
        for (const int way : {shift, -shift}) {
          if (const Swizzle swizzle = Swizzle::make(bits, base, way); apart(dims, swizzle)) return swizzle;
        }
      }
    }
  }
  refuse("its bits are XORed into each other in a way that no one Swizzle<B,M,S> says", "bases", "",
         "one field of bits into another");
}

Layout layout_of(const std::vector<std::vector<uint64_t>>& dims) {
  const Swizzle swizzle = swizzle_of(dims);
  Dims extents;
  std::vector<Digits> digits;
  for (const auto& masks : dims) {
    Digits own;
    for (const uint64_t mask : masks) own.push_back({2, swizzle.apply(static_cast<int64_t>(mask))});
    if (own.empty()) own.push_back({1, 0});
    digits.push_back(own);
    extents.push_back(int64_t{1} << masks.size());
  }
  return Layout::from_digits(extents, digits).with_swizzle(swizzle).canonical();
}

}  // namespace

LinearLayout parse(std::string_view text, const Dims& shape) {
  LinearLayout out{Reader(text).run(), shape};
  int rank = shape.size();
  for (const InDim& dim : out.in) {
    for (const Dims& basis : dim.bases) rank = std::max(rank, basis.size());
  }
  if (shape.empty()) {
    out.shape = Dims(rank, 1);
    for (const InDim& dim : out.in) {
      for (const Dims& basis : dim.bases) {
        for (int d = 0; d < basis.size(); ++d)
          out.shape[d] = std::max(out.shape[d], int64_t{1} << std::bit_width(static_cast<uint64_t>(basis[d])));
      }
    }
  }
  const auto fail = [](const std::string& why, const std::string& field, const std::string& value) {
    throw Error(ErrorCode::invalid_argument, "triton: " + why, field, value, "powers of two that hold all bases");
  };
  for (const int64_t extent : out.shape) {
    if (!power_of_two(extent))
      fail("a tensor of " + join(out.shape, "x") + " has no linear layout", "shape", std::to_string(extent));
  }
  for (const InDim& dim : out.in) {
    for (const Dims& basis : dim.bases) {
      bool inside = basis.size() == out.shape.size();
      for (int d = 0; d < basis.size() && inside; ++d) inside = basis[d] < out.shape[d];
      if (!inside)
        fail("the basis [" + join(basis, ", ") + "] of " + dim.name + " is outside a tensor of " + join(out.shape, "x"),
             dim.name, join(basis));
    }
  }
  return out;
}

Layout to_layout(const LinearLayout& linear) {
  int bits = 0;
  std::size_t places = 0;
  for (const int64_t extent : linear.shape) bits += log2_of(extent);
  for (const InDim& dim : linear.in) places += dim.bases.size();
  if (bits > kMostBits || places > kMostBits) {
    throw Error(ErrorCode::limit,
                "triton: " + std::to_string(std::max<std::size_t>(places, static_cast<std::size_t>(bits))) + " bits",
                "bases", std::to_string(places), std::to_string(kMostBits));
  }
  std::vector<std::vector<uint64_t>> masks;
  for (const InDim& dim : linear.in) {
    auto& own = masks.emplace_back();
    for (const Dims& basis : dim.bases) own.push_back(mask_of(basis, linear.shape));
  }
  const auto shared = std::ranges::find(linear.in, "offset", &InDim::name);
  if (shared == linear.in.end()) return layout_of(masks);
  for (const InDim& dim : linear.in) {
    if (dim.name != "offset" && !dim.bases.empty())
      refuse("shared memory of several blocks (\"" + dim.name + "\" has bases) is no one buffer", dim.name,
             std::to_string(dim.bases.size()), "no bases");
  }
  const std::vector<uint64_t> offsets = inverted(masks[static_cast<std::size_t>(shared - linear.in.begin())], bits);
  std::vector<std::vector<uint64_t>> dims(static_cast<std::size_t>(linear.shape.size()));
  int next = bits;  // of the row-major number, in which the first dim has the highest bits
  for (int d = 0; d < linear.shape.size(); ++d) {
    const int own = log2_of(linear.shape[d]);
    next -= own;
    for (int bit = 0; bit < own; ++bit)
      dims[static_cast<std::size_t>(d)].push_back(offsets[static_cast<std::size_t>(next + bit)]);
  }
  return layout_of(dims);
}

Layout from_triton(std::string_view text, const Dims& shape) { return to_layout(parse(text, shape)); }

std::string to_triton(const Layout& layout) {
  std::vector<Dims> index_of_bit;  // the index that a bit of the offset under the swizzle moves
  const Layout simple = layout.canonical();
  if (layout.empty())
    refuse("a tensor without elements has no linear layout", "dims", join(layout.dims()), "1 or more");
  if (layout.offset0() != 0)
    refuse("the layout begins at offset " + std::to_string(layout.offset0()) + ", and Triton's begin at 0", "offset0",
           std::to_string(layout.offset0()), "0");
  for (int d = 0; d < simple.ndims(); ++d) {
    const std::string field = "dims[" + std::to_string(d) + "]";
    if (!power_of_two(simple.dim(d)) || simple.capacity(d) != simple.dim(d))
      refuse("dim " + std::to_string(d) + " has extent " + std::to_string(simple.dim(d)) + " and capacity " +
                 std::to_string(simple.capacity(d)) + ", and Triton's dims are powers of two without padding",
             field, std::to_string(simple.dim(d)), "a power of two");
    int64_t place = 1;
    for (const Digit& digit : simple.digits_under_swizzle(d)) {
      for (int64_t step = 1; step < digit.extent; step *= 2, place *= 2) {
        const int64_t stride = digit.stride * step;
        if (!power_of_two(stride) || !power_of_two(digit.extent))
          refuse("dim " + std::to_string(d) + " has the digit (" + std::to_string(digit.extent) + "," +
                     std::to_string(digit.stride) + "), and Triton's are powers of two",
                 field, std::to_string(digit.stride), "a power of two");
        const auto bit = static_cast<std::size_t>(log2_of(stride));
        if (index_of_bit.size() <= bit) index_of_bit.resize(bit + 1, Dims(simple.ndims(), 0));
        if (index_of_bit[bit] != Dims(simple.ndims(), 0))
          refuse("two indices move bit " + std::to_string(bit) + " of the offset", field, std::to_string(stride),
                 "each bit once");
        index_of_bit[bit][d] = place;
      }
    }
  }
  // An offset leads to its index by way of the offset under the swizzle.
  std::string bases;
  const int top = std::bit_width(static_cast<uint64_t>(layout.span() - 1));
  uint64_t unmoved = 0;  // bits of the offset that have no index of their own
  for (int j = 0; j < top; ++j) {
    Dims basis(simple.ndims(), 0);
    const int64_t under = layout.swizzle().apply(int64_t{1} << j);
    for (std::size_t bit = 0; bit < index_of_bit.size(); ++bit) {
      if (!(under >> bit & 1)) continue;
      for (int d = 0; d < basis.size(); ++d) basis[d] ^= index_of_bit[bit][d];
    }
    if (basis == Dims(simple.ndims(), 0)) unmoved |= uint64_t{1} << j;
    bases += (j > 0 ? ", [" : "[") + join(basis, ", ") + "]";
  }
  for (std::size_t bit = 0; bit < index_of_bit.size(); ++bit) {
    const auto offset = static_cast<uint64_t>(layout.swizzle().apply(int64_t{1} << bit));
    if (index_of_bit[bit] == Dims(simple.ndims(), 0) || (offset & unmoved) == 0) continue;
    refuse("(" + join(index_of_bit[bit]) + ") lies at offset " + std::to_string(offset) +
               ", where a bit is set that no index moves alone, and Triton's bases do not say which",
           "swizzle", std::to_string(offset), "bits that indices move");
  }
  return "#ttg.shared_linear<{offset = [" + bases + "]}, alignment = 16>";
}

std::string code(const TensorDesc& desc) { return to_triton(desc.layout); }

}  // namespace relayout::triton
