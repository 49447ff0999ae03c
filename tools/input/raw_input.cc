// Flags about raw bytes, and their number: see raw_input.h.
#include "tools/input/raw_input.h"

#include <fmt/format.h>

#include <algorithm>

namespace relayout::tools {

void require_for_raw(const InputOptions& options) {
  if (options.expected) {
    if (options.expected->dims || (options.layout && layout_argument(*options.layout).default_dims())) return;
    usage_error(shown_path(options) + ": raw bytes do not show the dims that the model leaves open; give --dim",
                "--dim");
  }
  std::string missing;
  const auto need = [&](bool given, const std::string& flag) {
    if (!given) missing += (missing.empty() ? "" : ", ") + flag;
  };
  need(options.layout.has_value(), options.layout_flag);
  const bool fixed = options.layout && layout_argument(*options.layout).default_dims();
  need(options.dims.has_value() || fixed, options.dims_flag);
  need(options.dtype.has_value(), options.dtype_flag);
  if (!missing.empty()) {
    const std::string_view why = format_of_path(file_path(options))
                                     ? "raw bytes do not say what they hold"
                                     : "neither its name nor its first bytes are of a known format, and raw bytes "
                                       "do not say what they hold";
    usage_error(fmt::format("{}: {}; give {}", shown_path(options), why, missing), missing);
  }
}

namespace {

/// The lengths that raw bytes of a tensor may have, ascending: its span; the whole physical array, where an image has
/// the pitch of its last row; oneDNN's size, which ends where the next step of a stride would begin; and DirectML's,
/// the span in whole 4 bytes.
std::vector<int64_t> raw_lengths(const Format& format, const Dims& dims, DType dtype) {
  const TensorDesc desc(format.before_views(dims), dtype);
  const int64_t span = desc.span_bytes();
  std::vector<int64_t> out{span, desc.size_bytes()};
  if (const auto rounded = checked_add(span, (4 - span % 4) % 4)) out.push_back(*rounded);
  const std::optional<Dims> physical = format.physical_shape(dims);
  const auto elements = physical ? checked_product(*physical) : std::nullopt;
  if (const auto bytes = elements ? bytes_for(desc.dtype, *elements) : std::nullopt) out.push_back(*bytes);
  std::erase_if(out, [&](int64_t length) { return length < span; });
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

void take_raw_bytes(const InputOptions& options, TensorInput& input) {
  const std::string offset_flag = "--file-offset" + options.flag_suffix, slack_flag = "--slack" + options.flag_suffix;
  const int64_t offset = options.raw.file_offset ? size_argument(*options.raw.file_offset, offset_flag) : 0;
  const auto size = static_cast<int64_t>(input.bytes.size());
  if (offset > size) {
    usage_error(fmt::format("{} {}: {} has {} bytes", offset_flag, offset, shown_path(options), size), offset_flag,
                std::to_string(offset), std::to_string(size));
  }
  input.bytes = input.bytes.subspan(static_cast<std::size_t>(offset));
  const int64_t have = size - offset;
  const std::vector<int64_t> allowed = raw_lengths(input.format, input.buffer_dims, input.desc.dtype);
  if (std::ranges::find(allowed, have) != allowed.end()) return;
  if (options.raw.slack && have > allowed.front()) {
    input.bytes = input.bytes.first(static_cast<std::size_t>(allowed.front()));
    return;
  }
  std::string lengths;
  for (int64_t length : allowed) lengths += (lengths.empty() ? "" : " or ") + std::to_string(length);
  const std::string hint = have < allowed.front() || options.expected
                               ? ""
                               : fmt::format(
                                     "; {} allows more bytes behind it, and {} BYTES skips "
                                     "those before it",
                                     slack_flag, offset_flag);
  throw Failure(
      kBadData,
      Error(have < allowed.front() ? ErrorCode::buffer_too_small : ErrorCode::corrupt,
            fmt::format("{}: {} bytes in the file{}; {} {} with dims {} takes {}{}", shown_path(options), have,
                        offset > 0 ? fmt::format(" from byte {} on", offset) : "", escaped(input.format.text()),
                        name(input.desc.dtype), dims_text(input.buffer_dims), lengths, hint),
            "bytes", std::to_string(have), lengths));
}

void check_raw_flags(const InputOptions& options, FileFormat format) {
  if (format == FileFormat::raw || (!options.raw.file_offset && !options.raw.slack)) return;
  const std::string flag = (options.raw.file_offset ? "--file-offset" : "--slack") + options.flag_suffix;
  usage_error(fmt::format("{}: {} is a {} file, which says itself where its tensor lies; the flag is for raw bytes",
                          flag, shown_path(options), name(format)),
              flag, std::string(name(format)), "raw");
}

void add_raw_options(Command& command, RawOptions& options, const std::string& suffix) {
  const std::string of = suffix.empty() ? "the tensor" : "the tensor of " + std::string(1, suffix.back() & ~0x20);
  command.add_option("--file-offset" + suffix, options.file_offset, "Bytes before " + of + " in a file of raw bytes");
  command.add_flag("--slack" + suffix, options.slack, "Allow any bytes behind " + of + " in a file of raw bytes");
}

}  // namespace relayout::tools
