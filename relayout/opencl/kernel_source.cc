// Writing the OpenCL C of a copy: see kernel_source.h. plan_walk() has chosen the digits; here they become text.
#include "relayout/opencl/kernel_source.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "relayout/opencl/kernel_digits.h"
#include "relayout/opencl/kernel_values.h"
#include "relayout/opencl/magic.h"

namespace relayout::opencl {
namespace {

constexpr const char* kAlways = "1";
constexpr int64_t kInt32 = std::numeric_limits<int32_t>::max();

/// A sum of terms: a constant and products of constants and expressions.
class Sum {
 public:
  void add(int64_t constant) { constant_ += constant; }
  void add(int64_t factor, const std::string& expression) {
    if (factor == 0) return;
    text_ += (text_.empty() ? "" : " + ") + (factor == 1 ? expression : number(factor) + " * " + expression);
  }
  std::string text() const {
    if (text_.empty()) return number(constant_);
    return constant_ == 0 ? text_ : text_ + " + " + number(constant_);
  }
  static std::string number(int64_t value) {
    const std::string digits = std::to_string(value);
    return value < 0 ? "(" + digits + ")" : digits;
  }

 private:
  int64_t constant_ = 0;
  std::string text_;
};

/// Writes one kernel, line by line.
class Writer {
 public:
  Writer(const Operand& src, const Operand& dst, bool wide)
      : src_(src),
        dst_(dst),
        walk_(plan_walk(src, dst)),
        values_(value_plan(src, dst)),
        layout_(src.desc.layout),
        src_digits_(walk_digits(src)),
        dst_digits_(walk_digits(dst)) {
    wide_ = wide || !fits(src) || !fits(dst);
  }

  KernelSource write() {
    set_items();
    line("__kernel void relayout_copy(" + argument(src_, "src", true) + ", " + argument(dst_, "dst", false) + ") {");
    write_position();
    write_indices();
    if (walk_.over_src) {
      write_read_walked();
      write_scattered();
    } else {
      write_gathered();
      write_store_walked();
    }
    line("}");
    out_.text = values_.prelude + (wide_ ? "typedef long I;\n" : "typedef int I;\n") + text_;
    return out_;
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  /// Whether 32 bits hold all offsets and indices.
  static bool fits(const Operand& operand) {
    const auto [first, last] = operand.desc.layout.offset_range();
    return last < kInt32 && first >= 0 && operand.desc.layout.padded_elements() < kInt32;
  }

  std::string argument(const Operand& operand, const std::string& name, bool read) const {
    if (operand.image) return std::string(read ? "__read_only" : "__write_only") + " image2d_t " + name;
    const std::string& type = read ? values_.src_type : values_.dst_type;
    return "__global " + std::string(read ? "const " : "") + type + "* restrict " + name;
  }

  /// n / divisor, for an expression that is not negative.
  std::string quotient(const std::string& n, int64_t divisor) const {
    if (divisor == 1) return n;
    if (wide_) return "((" + n + ") / " + std::to_string(divisor) + ")";
    const Magic magic = magic_division(static_cast<uint32_t>(divisor));
    const std::string shift = magic.shift == 0 ? "" : " >> " + std::to_string(magic.shift);
    if (magic.power_of_two) return "(I)((uint)(" + n + ")" + shift + ")";
    return "(I)(mul_hi((uint)(" + n + "), " + std::to_string(magic.multiplier) + "u)" + shift + ")";
  }

  static std::string variable(const WalkedDigit& one) { return "d" + std::to_string(one.variable); }

  /// The variables d0, d1, ... of the work-item's place.
  void write_position() {
    constexpr const char* kNames[] = {"x", "y", "z"};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::vector<int>& digits = walk_.axes[axis];
      if (digits.empty()) continue;
      const std::string name = kNames[axis];
      line("  const I " + name + " = (I)get_global_id(" + std::to_string(axis) + ");");
      if (static_cast<int64_t>(out_.global[axis]) > items(axis))
        line("  if (" + name + " >= " + std::to_string(items(axis)) + ") return;");
      std::string rest = name;
      for (std::size_t k = 0; k < digits.size(); ++k) {
        const WalkedDigit& one = walk_.digits[static_cast<std::size_t>(digits[k])];
        if (k + 1 == digits.size()) {
          line("  const I " + variable(one) + " = " + rest + ";");
          continue;
        }
        const std::string next = name + std::to_string(k);
        line("  const I " + next + " = " + quotient(rest, one.digit.extent) + ";");
        line("  const I " + variable(one) + " = " + rest + " - " + next + " * " + std::to_string(one.digit.extent) +
             ";");
        rest = next;
      }
    }
  }

  int64_t items(std::size_t axis) const {
    int64_t out = 1;
    for (const int k : walk_.axes[axis]) out *= walk_.digits[static_cast<std::size_t>(k)].digit.extent;
    return out;
  }

  /// Adds a walked digit, times a factor, to a sum.
  static void add_digit(Sum& sum, const WalkedDigit& one, int64_t factor, int lane) {
    if (one.variable < 0)
      sum.add(factor * one.of_lane[static_cast<std::size_t>(lane)]);
    else
      sum.add(factor, variable(one));
  }

  bool has_lanes(int dim) const {
    return std::ranges::any_of(walk_.digits,
                               [&](const WalkedDigit& one) { return one.digit.dim == dim && one.variable < 0; });
  }
  /// The variable that holds a lane's index of a dim: i1, or i1_0 to i1_3 where it differs from lane to lane.
  std::string index(int dim, int lane) const {
    return "i" + std::to_string(dim) + (has_lanes(dim) ? "_" + std::to_string(lane) : "");
  }
  void write_indices() {
    for (int d = 0; d < layout_.ndims(); ++d) {
      for (int lane = 0; lane < (has_lanes(d) ? walk_.lanes : 1); ++lane) {
        Sum sum;
        for (const WalkedDigit& one : walk_.digits) {
          if (one.digit.dim == d) add_digit(sum, one, one.digit.place, lane);
        }
        line("  const I " + index(d, lane) + " = " + sum.text() + ";");
      }
    }
  }

  /// A statement under a condition, which may be kAlways.
  static std::string when(const std::string& condition, const std::string& statement) {
    return condition == kAlways ? statement : "if (" + condition + ") " + statement;
  }

  /// The capacity that the walk reaches in a dim.
  int64_t walked_capacity(int dim) const {
    const int64_t own = (walk_.over_src ? src_ : dst_).desc.layout.capacity(dim);
    return walk_.over_src ? std::max(own, dst_.desc.layout.capacity(dim)) : own;
  }

  /// kAlways, or that a lane's index is below `bounds` in each dim whose walk goes beyond.
  template <typename Bound>
  std::string within(int lane, Bound bound) const {
    std::string out;
    for (int d = 0; d < layout_.ndims(); ++d) {
      if (walked_capacity(d) <= bound(d) && !added(d)) continue;
      out += (out.empty() ? "" : " && ") + index(d, lane) + " < " + std::to_string(bound(d));
    }
    return out.empty() ? kAlways : out;
  }
  /// Whether a digit of padding was added whose last values lie beyond the destination's capacity.
  bool added(int dim) const {
    return walk_.over_src && dst_.desc.layout.capacity(dim) > src_.desc.layout.capacity(dim);
  }
  std::string readable(int lane) const {
    return within(lane, [&](int d) { return layout_.dim(d); });
  }
  std::string writable(int lane) const {
    return within(lane, [&](int d) { return dst_.desc.layout.capacity(d); });
  }

  /// Where an operand that is not walked holds a lane's element, along one coordinate.
  std::string place(const Operand& operand, int coordinate, int lane) const {
    Sum sum;
    if (!operand.image) sum.add(operand.desc.layout.offset0());
    for (const WalkDigit& digit : &operand == &src_ ? src_digits_ : dst_digits_) {
      if (digit.coordinate != coordinate) continue;
      const bool outermost = digit.place * digit.extent >= operand.desc.layout.capacity(digit.dim);
      if (covered(digit, outermost)) {
        for (const WalkedDigit& one : walk_.digits) {
          if (one.digit.dim == digit.dim && one.digit.place >= digit.place &&
              (outermost || one.digit.place < digit.place * digit.extent))
            add_digit(sum, one, one.digit.place / digit.place * digit.step, lane);
        }
        continue;
      }
      const std::optional<int64_t> shared = lane_part(digit, lane);
      const std::string from = index(digit.dim, shared ? 0 : lane);
      std::string value = quotient(from, digit.place);
      if (!outermost)
        value = "(" + value + " - " + std::to_string(digit.extent) + " * " +
                quotient(from, digit.place * digit.extent) + ")";
      sum.add(shared.value_or(0) * digit.step);
      sum.add(digit.step, value);
    }
    return sum.text();
  }

  /// Whether a digit of the other side is a sum of whole walked digits.
  bool covered(const WalkDigit& digit, bool outermost) const {
    const int64_t end = digit.place * digit.extent;
    return std::ranges::all_of(walk_.digits, [&](const WalkedDigit& one) {
      if (one.digit.dim != digit.dim) return true;
      const int64_t from = one.digit.place, to = one.digit.place * one.digit.extent;
      if (to <= digit.place || (!outermost && from >= end)) return true;
      return from >= digit.place && from % digit.place == 0 && (outermost || to <= end);
    });
  }

  /// What a lane adds to a digit of the other side in which the first lane's index is known: its index there is greater
  /// by that, as lanes never carry into the next value of a digit of larger places. Nothing where they may.
  std::optional<int64_t> lane_part(const WalkDigit& digit, int lane) const {
    int64_t out = 0;
    for (const WalkedDigit& one : walk_.digits) {
      if (one.digit.dim != digit.dim || one.variable >= 0) continue;
      const int64_t end = one.digit.place * one.digit.extent;
      if (digit.place % end == 0) continue;
      if (one.digit.place % digit.place != 0 || digit.place * digit.extent % end != 0) return std::nullopt;
      out += one.of_lane[static_cast<std::size_t>(lane)] * (one.digit.place / digit.place);
    }
    return out;
  }

  /// Where the walked operand holds a lane's element.
  std::string walked_place(int coordinate, int lane) const {
    Sum sum;
    const Operand& operand = walk_.over_src ? src_ : dst_;
    if (!operand.image) sum.add(operand.desc.layout.offset0());
    for (const WalkedDigit& one : walk_.digits) {
      // A buffer's lanes are a part of its offset.
      const bool here = one.digit.coordinate == coordinate || (!operand.image && one.digit.coordinate == kLane);
      if (here) add_digit(sum, one, one.digit.step, lane);
    }
    return sum.text();
  }
  std::string walked_texel() const {
    return "(int2)((int)(" + walked_place(kColumn, 0) + "), (int)(" + walked_place(kRow, 0) + "))";
  }

  static std::string value(int lane) { return "v" + std::to_string(lane); }
  std::string all_values() const {
    return "(" + values_.type + "4)(" + value(0) + ", " + value(1) + ", " + value(2) + ", " + value(3) + ")";
  }

  /// Whether the four lanes follow each other in an operand that is not walked, wherever the first one lies.
  bool neighbours(const Operand& operand) const {
    if (walk_.lanes != 4 || operand.image) return false;
    const auto [head, constant] = split_constant(place(operand, kOffset, 0));
    for (int lane = 1; lane < 4; ++lane) {
      // Lanes that are sums of whole digits differ by a constant at the end of the sum.
      const auto [lane_head, lane_constant] = split_constant(place(operand, kOffset, lane));
      if (head != lane_head || lane_constant != constant + lane) return false;
    }
    return true;
  }
  /// "a * d0 + 7" as "a * d0" and 7.
  static std::pair<std::string, int64_t> split_constant(const std::string& sum) {
    const std::size_t at = sum.rfind(" + ");
    const std::string last = at == std::string::npos ? sum : sum.substr(at + 3);
    const bool constant = !last.empty() && std::ranges::all_of(last, [](char ch) { return ch >= '0' && ch <= '9'; });
    if (!constant) return {sum, 0};
    return {at == std::string::npos ? "" : sum.substr(0, at), std::stoll(last)};
  }

  /// v0 .. v3 from the source image's texel, where the index is one of an element.
  void write_read_walked() {
    line("  " + values_.type + "4 texel = (" + values_.type + "4)(0);");
    // No lane has smaller indices than the first.
    line("  " + when(readable(0), "texel = " + values_.read_texel("src", walked_texel()) + ";"));
    for (int lane = 0; lane < 4; ++lane)
      line("  const " + values_.type + " " + value(lane) + " = " +
           (readable(lane) == kAlways ? "" : readable(lane) + " ? ") + "texel.s" + std::to_string(lane) +
           (readable(lane) == kAlways ? ";" : " : 0;"));
  }

  /// The lanes of a source texel to where they lie in the destination.
  void write_scattered() {
    if (values_.plain_dst && neighbours(dst_)) {
      const std::string all = "vstore4(" + all_values() + ", 0, dst + (" + place(dst_, kOffset, 0) + "));";
      line("  " + when(writable(3), "{ " + all + " return; }"));
      if (writable(3) == kAlways) return;
    }
    for (int lane = 0; lane < 4; ++lane)
      line("  " +
           when(writable(lane), "dst[" + place(dst_, kOffset, lane) + "] = " + values_.store(value(lane)) + ";"));
  }

  /// v0 .. v3 from where they lie in the source.
  void write_gathered() {
    for (int lane = 0; lane < walk_.lanes; ++lane) line("  " + values_.type + " " + value(lane) + " = 0;");
    const bool together = src_.image ? same_lanes() : values_.plain_src && neighbours(src_);
    if (together) {
      const std::string four =
          src_.image ? values_.read_texel("src", texel_of(0)) : "vload4(0, src + (" + place(src_, kOffset, 0) + "))";
      line("  " + when(readable(3), "{ const " + values_.type + "4 four = " + four +
                                        "; v0 = four.s0; v1 = four.s1; v2 = four.s2; v3 = four.s3; }"));
      if (readable(3) == kAlways) return;
      line("  else {");
    }
    // Where the last of four lanes is not readable, the others are taken one by one.
    for (int lane = 0; lane < walk_.lanes - (together ? 1 : 0); ++lane)
      line("  " + when(readable(lane), value(lane) + " = " + gathered(lane) + ";"));
    if (together) line("  }");
  }

  std::string texel_of(int lane) const {
    return "(int2)((int)(" + place(src_, kColumn, lane) + "), (int)(" + place(src_, kRow, lane) + "))";
  }
  std::string gathered(int lane) const {
    if (!src_.image) return values_.load("src[" + place(src_, kOffset, lane) + "]");
    return "lane_of(" + values_.read_texel("src", texel_of(lane)) + ", (int)(" + place(src_, kLane, lane) + "))";
  }
  /// Whether the lanes of a walked texel are the same lanes of one texel of the source image.
  bool same_lanes() const {
    for (int lane = 0; lane < 4; ++lane) {
      if (walk_.lanes != 4 || texel_of(lane) != texel_of(0) || place(src_, kLane, lane) != std::to_string(lane))
        return false;
    }
    return true;
  }

  void write_store_walked() {
    if (dst_.image) {
      line("  " + values_.write_texel("dst", walked_texel(), all_values()) + ";");
    } else if (walk_.lanes == 4 && values_.plain_dst) {
      line("  vstore4(" + all_values() + ", 0, dst + (" + walked_place(kOffset, 0) + "));");
    } else {
      for (int lane = 0; lane < walk_.lanes; ++lane)
        line("  dst[" + walked_place(kOffset, lane) + "] = " + values_.store(value(lane)) + ";");
    }
  }

  /// Groups of work-items of about equal sizes that leave few over, as many items of a group along x as there are.
  void set_items() {
    constexpr int64_t kGroup = 128;
    int64_t left = kGroup;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int64_t groups = ceil_div(items(axis), left), local = ceil_div(items(axis), groups);
      out_.local[axis] = static_cast<std::size_t>(local);
      out_.global[axis] = static_cast<std::size_t>(local * groups);
      left = std::max<int64_t>(left / local, 1);
    }
  }

  const Operand& src_;
  const Operand& dst_;
  const Walk walk_;
  const ValuePlan values_;
  const Layout& layout_;  // of the source: its dims are those of both sides
  const std::vector<WalkDigit> src_digits_, dst_digits_;
  bool wide_ = false;
  KernelSource out_;
  std::string text_;
};

}  // namespace

KernelSource kernel_source(const Operand& src, const Operand& dst, bool wide) { return Writer(src, dst, wide).write(); }

}  // namespace relayout::opencl
