// Scales and zero points: --scale and --zero-point are the short forms, one flag a side the long ones.
#include "tools/values.h"

#include <fmt/format.h>

#include <cmath>

#include "tools/common.h"

namespace relayout::tools {
namespace {

using Text = std::optional<std::string>;

void exclude(const Text& a, std::string_view flag_a, const Text& b, std::string_view flag_b) {
  if (a && b) {
    usage_error(fmt::format("{} and {} set the same value; give one of them", flag_a, flag_b), std::string(flag_a),
                escaped(*a));
  }
}

void set_scale(PerMask<float>& scale, const Text& text, std::string_view flag) {
  if (!text) return;
  const double value = number_argument(*text, flag);
  const auto narrow = static_cast<float>(value);
  if (std::isfinite(value) && (std::isinf(narrow) || (narrow == 0 && value != 0))) {
    usage_error(fmt::format("{} {}: scales are f32 numbers, and as such this one is {}", flag, escaped(*text),
                            narrow == 0 ? "0" : "infinite"),
                std::string(flag), escaped(*text));
  }
  scale.values = {narrow};
}

void set_zero_point(PerMask<int32_t>& zero_point, const Text& text, std::string_view flag, DType dtype) {
  if (!text) return;
  const int64_t value = from_command_line([&] { return parse_int(*text, flag); });
  // For a type that is not an integer the library throws the error.
  const bool is_signed = kind(dtype) == DTypeKind::signed_integer;
  const int magnitude = std::min(bits(dtype) - (is_signed ? 1 : 0), 31);
  const int64_t highest = (int64_t{1} << magnitude) - 1;
  const int64_t lowest = is_signed || !is_integer(dtype) ? -highest - 1 : 0;
  if (value < lowest || value > highest) {
    usage_error(
        fmt::format("{} {}: a zero point of {} lies between {} and {}", flag, value, name(dtype), lowest, highest),
        std::string(flag), std::to_string(value), fmt::format("{} to {}", lowest, highest));
  }
  zero_point.values = {static_cast<int32_t>(value)};
}

}  // namespace

Padding padding_argument(const std::string& text) {
  if (text == "zero") return Padding::zero();
  if (text == "keep") return Padding::keep();
  return Padding::of(number_argument(text, "--pad"));
}

Attributes attributes_for(const ValueOptions& options, DType src, DType dst) {
  Attributes out;
  out.padding = padding_argument(options.padding);
  exclude(options.scale, "--scale", options.src_scale, "--src-scale");
  set_scale(out.src_scale, options.scale, "--scale");
  set_scale(out.src_scale, options.src_scale, "--src-scale");
  set_scale(out.dst_scale, options.dst_scale, "--dst-scale");
  if (options.zero_point) {
    const bool to_dst = is_integer(dst);
    if (!to_dst && !is_integer(src)) {
      usage_error(fmt::format("--zero-point {}: neither {} nor {} is an integer type", escaped(*options.zero_point),
                              name(src), name(dst)),
                  "--zero-point", escaped(*options.zero_point));
    }
    exclude(options.zero_point, "--zero-point", to_dst ? options.dst_zero_point : options.src_zero_point,
            to_dst ? "--dst-zero-point" : "--src-zero-point");
    set_zero_point(to_dst ? out.dst_zero_point : out.src_zero_point, options.zero_point, "--zero-point",
                   to_dst ? dst : src);
  }
  set_zero_point(out.src_zero_point, options.src_zero_point, "--src-zero-point", src);
  set_zero_point(out.dst_zero_point, options.dst_zero_point, "--dst-zero-point", dst);
  return out;
}

void add_value_options(Command& command, ValueOptions& options) {
  command.add_option("--scale", options.scale, "Scale; S in the formula below. The same as --src-scale");
  command.add_option("--zero-point", options.zero_point,
                     "Zero point; Z below. That of dst if dst is an integer type, else of src");
  command.add_option("--src-scale", options.src_scale, "Scale of src; SS below");
  command.add_option("--dst-scale", options.dst_scale, "Scale of dst; DS below");
  command.add_option("--src-zero-point", options.src_zero_point, "Zero point of src, an integer type; SZ below");
  command.add_option("--dst-zero-point", options.dst_zero_point, "Zero point of dst, an integer type; DZ below");
  command.add_option("--pad", options.padding,
                     "What the padding of blocks is filled with: zero (the default), a VALUE, or keep, which writes "
                     "nothing there (the "
                     "new file that convert makes has zeros then)");
}

}  // namespace relayout::tools
