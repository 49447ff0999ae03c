// Scales, zero points, means and deviations: --scale and --zero-point are the short forms, one flag a side the long
// ones. Each takes one number, a list with a number for each index of a dim, or a file with a tensor of them.
#include "tools/input/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "relayout/cpu/attribute_values.h"
#include "tools/command/common.h"
#include "tools/input/tensor_input.h"

namespace relayout::tools {
namespace {

using Text = std::optional<std::string>;

void exclude(const Text& a, std::string_view flag_a, const Text& b, std::string_view flag_b) {
  if (a && b) {
    usage_error(fmt::format("{} and {} set the same value; give one of them", flag_a, flag_b), std::string(flag_a),
                escaped(*a));
  }
}

/// Reads the flags of one conversion.
class ValueReader {
 public:
  ValueReader(const ValueOptions& options, const ValueSide& src, const ValueSide& dst, const Dims& dims)
      : per_(options.per), src_(src), dst_(dst), dims_(dims) {
    if (!options.groups) return;
    groups_ = dims_argument(*options.groups, "--groups");
    if (groups_.size() == ndims() && std::ranges::all_of(groups_, [](int64_t group) { return group >= 1; })) return;
    usage_error(fmt::format("--groups {}: it has a number of 1 or more for each of the {} dims",
                            escaped(*options.groups), ndims()),
                "--groups", escaped(*options.groups), std::to_string(ndims()));
  }

  void read(PerMask& out, const Text& text, std::string_view flag) const {
    if (!text) return;
    if (is_file(*text)) return read_file(out, *text, flag);
    if (format_of_path(file_of(*text).first))
      usage_error(fmt::format("{} {}: there is no such file", flag, escaped(*text)), std::string(flag), escaped(*text));
    std::string_view rest = *text;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      out.values.push_back(from_command_line([&] {
        const ElementValue value = ElementValue::parse(rest.substr(0, comma), flag);
        (void)element_bits(value, DType::f64, flag);
        return value.real();
      }));
      rest.remove_prefix(more ? comma + 1 : rest.size());
    }
    if (out.values.size() == 1 && !per_) return;
    take_list(out, flag, *text);
  }

  /// Failure (usage) where --per or --groups say something of numbers that there are not. After all read()s.
  void check_used() const {
    if (per_ && !per_used_)
      usage_error(fmt::format("--per {}: there is no list of numbers of whose dim it would be the name; one number is "
                              "for all indices, and a file of several dims says by its shape which it is for",
                              escaped(*per_)),
                  "--per", escaped(*per_));
    if (!groups_.empty() && !groups_used_)
      usage_error(fmt::format("--groups {}: there are no numbers of groups; give them by --scale, --zero-point or "
                              "their like, as a list or a file",
                              join(groups_)),
                  "--groups", join(groups_));
  }

  /// A name of a file, as opposed to numbers. FILE:NAME is a tensor of a file with names.
  static bool is_file(const std::string& text) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file_of(text).first, ignored);
  }

 private:
  /// Values one after another, of the indices of a dim or of its groups.
  void take_list(PerMask& out, std::string_view flag, const std::string& text) const {
    const int dim = listed_dim(flag, text);
    per_used_ = true;
    groups_used_ = true;
    out.mask = 1u << dim;
    if (!groups_.empty()) {
      out.groups = Dims(ndims(), 1);
      out.groups[dim] = groups_[dim];
    }
    const int64_t count = out.count(dim, dims_[dim]);
    if (static_cast<int64_t>(out.values.size()) == count) return;
    usage_error(fmt::format("{} {}: {} numbers for the {} {} of dim {}", flag, escaped(text), out.values.size(), count,
                            out.group(dim) > 1 ? "groups" : "indices", names()[static_cast<std::size_t>(dim)]),
                std::string(flag), escaped(text), std::to_string(count));
  }

  static std::pair<std::string, std::string> file_of(const std::string& text) {
    std::error_code ignored;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || std::filesystem::exists(text, ignored)) return {text, ""};
    return {text.substr(0, colon), text.substr(colon + 1)};
  }

  /// The tensor's dims say which indices its values are for; a list is one for each index of a dim.
  void read_file(PerMask& out, const std::string& text, std::string_view flag) const {
    const TensorInput file = open(text, flag);
    std::vector<std::byte> bytes(file.bytes.begin(), file.bytes.end());
    if (file.swap_item_bytes > 1) swap_bytes(bytes, file.swap_item_bytes);
    try {
      const bool one = file.desc.layout.elements() == 1 && !per_;
      if (file.desc.layout.ndims() != 1 || ndims() == 1 || one) {
        out = cpu::per_mask_of_tensor(file.desc, std::span(bytes), dims_, groups_, std::string(flag));
        groups_used_ = groups_used_ || out.mask != 0;
        return;
      }
    } catch (const Error& error) {
      usage_error(fmt::format("{}: {}", escaped(text), error.message()), std::string(flag), error.value(),
                  error.limit());
    }
    out = cpu::per_mask_of_tensor(file.desc, std::span(bytes), file.desc.layout.dims());
    take_list(out, flag, text);
  }

  /// The tensor of a file; an error says of which flag and file it is.
  static TensorInput open(const std::string& text, std::string_view flag) {
    const auto [path, tensor] = file_of(text);
    try {
      return open_tensor({.path = path, .tensor = tensor});
    } catch (const Failure& failure) {
      const Error& error = failure.error();
      if (error.message().find(path) != std::string::npos) throw;
      throw Failure(failure.exit_code(),
                    Error(error.code(), fmt::format("{} {}: {}", flag, escaped(text), error.message()), error.field(),
                          error.value(), error.limit()));
    }
  }

  int ndims() const { return src_.desc.layout.ndims(); }
  /// Those of the side that names a domain.
  std::string names() const {
    const std::string of_src = src_.format.dim_names(ndims());
    const bool domain = !of_src.empty() && src_.format.dim_named(of_src[0], ndims());
    return domain ? of_src : dst_.format.dim_names(ndims());
  }

  /// The dim that --per names, or the one that a layout calls c.
  int listed_dim(std::string_view flag, const std::string& text) const {
    if (per_) {
      const std::size_t at = per_->size() == 1 ? names().find(*per_) : std::string::npos;
      if (at != std::string::npos) return static_cast<int>(at);
      int64_t number = -1;
      if (!per_->empty() && per_->find_first_not_of("0123456789") == std::string::npos)
        number = from_command_line([&] { return parse_int(*per_, "--per"); });
      if (number >= 0 && number < ndims()) return static_cast<int>(number);
      usage_error(
          fmt::format("--per {}: no such dim; the dims are {}, or 0 to {}", escaped(*per_), names(), ndims() - 1),
          "--per", escaped(*per_));
    }
    for (const ValueSide& side : {src_, dst_}) {
      if (const auto dim = side.format.dim_named('c', ndims())) return *dim;
    }
    usage_error(fmt::format("{} {}: neither {} nor {} says which dim the channels are; give --per DIM", flag,
                            escaped(text), escaped(src_.format.text()), escaped(dst_.format.text())),
                std::string(flag), escaped(text));
  }

  const Text& per_;
  const ValueSide &src_, &dst_;
  Dims dims_;
  Dims groups_{};
  mutable bool per_used_ = false, groups_used_ = false;
};

}  // namespace

Padding padding_argument(const std::string& text, DType dtype) {
  if (text == "zero") return Padding::zero();
  if (text == "keep") return Padding::keep();
  const ElementValue value = from_command_line([&] { return ElementValue::parse(text, "--pad"); });
  // A type without a 0 has a place for it in padding; any other value is that of an element.
  from_command_line(
      [&] { return value.real() == 0 ? padding_bits(value, dtype) : element_bits(value, dtype, "--pad"); });
  return Padding::of(value);
}

Attributes attributes_for(const ValueOptions& options, const ValueSide& src, const ValueSide& dst,
                          const Attributes& tables) {
  Attributes out = tables;
  Dims dims;
  try {
    dims = reorder_dims(src.desc.layout, dst.desc.layout, out);
  } catch (const Error& error) {
    throw with_flags(error, options);
  }
  const ValueReader reader(options, src, dst, dims);
  out.padding = padding_argument(options.padding, dst.desc.dtype);
  exclude(options.scale, "--scale", options.src_scale, "--src-scale");
  exclude(options.std, "--std", options.dst_scale, "--dst-scale");
  reader.read(out.src_scale, options.scale, "--scale");
  reader.read(out.src_scale, options.src_scale, "--src-scale");
  reader.read(out.dst_scale, options.dst_scale, "--dst-scale");
  reader.read(out.dst_scale, options.std, "--std");
  reader.read(out.mean, options.mean, "--mean");
  if (options.zero_point) {
    const bool to_dst = is_integer(dst.desc.dtype);
    exclude(options.zero_point, "--zero-point", to_dst ? options.dst_zero_point : options.src_zero_point,
            to_dst ? "--dst-zero-point" : "--src-zero-point");
    reader.read(to_dst ? out.dst_zero_point : out.src_zero_point, options.zero_point, "--zero-point");
  }
  reader.read(out.src_zero_point, options.src_zero_point, "--src-zero-point");
  reader.read(out.dst_zero_point, options.dst_zero_point, "--dst-zero-point");
  reader.check_used();
  try {
    check_attributes(out, src.desc, dst.desc);
  } catch (const Error& error) {
    throw with_flags(error, options);
  }
  return out;
}

Error with_flags(const Error& error, const ValueOptions& options, const std::string& scale_flag) {
  const auto called = [](const std::string& flag, const Text& text) {
    return flag + (text && ValueReader::is_file(*text) ? " " + escaped(*text) : "");
  };
  const auto either = [&](const char* flag, const Text& text, const std::string& short_flag, const Text& short_text) {
    return text ? called(flag, text) : called(short_flag, short_text);
  };
  const AttributeName names[] = {
      {"src_scale", either("--src-scale", options.src_scale, scale_flag, options.scale)},
      {"dst_scale", either("--dst-scale", options.dst_scale, options.std ? "--std" : "--dst-scale", options.std)},
      {"src_zero_point", either("--src-zero-point", options.src_zero_point, "--zero-point", options.zero_point)},
      {"dst_zero_point", either("--dst-zero-point", options.dst_zero_point, "--zero-point", options.zero_point)},
      {"mean", called("--mean", options.mean)},
      {"src_index", "--index"},
      {"dst_index", "--index-to"}};
  const Error named = renamed(error, names);
  static constexpr std::string_view kPlace = "reorder: ";
  const std::string& message = named.message();
  return {named.code(), message.starts_with(kPlace) ? message.substr(kPlace.size()) : message, named.field(),
          named.value(), named.limit()};
}

void add_value_options(Command& command, ValueOptions& options) {
  command.add_option(
      "--scale", options.scale,
      "Scale: a number, a list or a FILE of numbers (FILE:NAME); S in the formula below. The same as --src-scale");
  command.add_option("--zero-point", options.zero_point,
                     "Zero point; Z below. That of dst if dst is an integer type, else of src");
  command.add_option("--mean", options.mean, "Mean, subtracted after the scale; M below");
  command.add_option("--std", options.std, "Standard deviation, by which is divided. The same as --dst-scale");
  command.add_option("--src-scale", options.src_scale, "Scale of src; SS below");
  command.add_option("--dst-scale", options.dst_scale, "Scale of dst; DS below");
  command.add_option("--src-zero-point", options.src_zero_point, "Zero point of src; SZ below");
  command.add_option("--dst-zero-point", options.dst_zero_point, "Zero point of dst; DZ below");
  command.add_option("--per", options.per,
                     "The dim, by letter or number, of which each index has a number of its own, where one of the "
                     "above is a list; the channels, c, unless given");
  command.add_option("--groups", options.groups,
                     "How many indices of each dim share a number, such as 1,32; needed only where the last group is "
                     "shorter, or for a list");
  command.add_option("--pad", options.padding,
                     "What the padding of blocks is filled with: zero (the default), a VALUE of the type, or keep, "
                     "which writes nothing there (the new file that convert makes has zeros then)");
}

}  // namespace relayout::tools
