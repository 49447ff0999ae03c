// relayout diff: whether two layouts are the same function and, where they are not, the first index at which they
// differ.
#include <fmt/format.h>

#include "relayout/core/decide.h"
#include "tools/command/common.h"
#include "tools/input/tensor_text_argument.h"
#include "tools/placing/placement_argument.h"

namespace relayout::tools {
namespace {

struct DiffOptions {
  std::string a, b;
  std::optional<std::string> dims, dims_b, dtype;
};

/// Everything that diff reports.
struct ComparedLayouts {
  Format format_a, format_b;
  Layout a, b;
  std::optional<Difference> difference;
  MemoryOrder order;
};

ComparedLayouts compare(const DiffOptions& options) {
  ComparedLayouts out{layout_argument(options.a), layout_argument(options.b), {}, {}, {}, {}};
  const std::optional<std::string>& dims_b = options.dims_b ? options.dims_b : options.dims;
  // Dims that one of the layouts fixes are the other's too where none are given.
  const auto fixed = [](const Format& format) { return from_command_line([&] { return format.default_dims(); }); };
  const auto dims_of = [&](const Format& format, const std::optional<std::string>& text, const Format& other) {
    return !text && !fixed(format) && fixed(other) && other.views().empty() ? *fixed(other) : dims_for(format, text);
  };
  out.a = bind_argument(out.format_a, dims_of(out.format_a, options.dims, out.format_b));
  out.b = bind_argument(out.format_b, dims_of(out.format_b, dims_b, out.format_a));
  if (out.a.dims() != out.b.dims()) {
    usage_error(fmt::format("{} has dims {}, and {} has {}: both describe one tensor, so they must be the same",
                            escaped(options.a), dims_text(out.a.dims()), escaped(options.b), dims_text(out.b.dims())),
                "--dims", dims_text(out.b.dims()), dims_text(out.a.dims()));
  }
  out.difference = from_command_line([&] { return difference(out.a, out.b); });
  out.order = same_memory_order(out.a, out.b);
  return out;
}

std::string order_text(const ComparedLayouts& about) {
  switch (about.order.answer) {
    case Answer::yes: return "the elements follow each other in memory in the same order";
    case Answer::undecided: return "whether the elements follow each other in the same order is not decided";
    case Answer::no: break;
  }
  const auto first = [&](const Layout& layout) {
    const int64_t i = layout.offset(about.order.i), j = layout.offset(about.order.j);
    return i == j ? "both at one offset" : fmt::format("({}) first", join(i < j ? about.order.i : about.order.j));
  };
  return fmt::format("the elements follow each other in another order: of ({}) and ({}), {} has {} and {} has {}",
                     join(about.order.i), join(about.order.j), about.format_a.text(), first(about.a),
                     about.format_b.text(), first(about.b));
}

/// What is different about the padding of two layouts whose elements have the same offsets.
std::string padding_text(const ComparedLayouts& about) {
  const Dims padded_a = about.a.padded_dims(), padded_b = about.b.padded_dims();
  if (padded_a != padded_b) {
    return fmt::format("differs: capacities are {} in {} and {} in {}", dims_text(padded_a), about.format_a.text(),
                       dims_text(padded_b), about.format_b.text());
  }
  // With the padding as elements, the first difference is in the padding.
  const auto with_padding = [&](const Layout& layout) {
    std::vector<Digits> digits;
    for (int d = 0; d < layout.ndims(); ++d) digits.emplace_back(layout.digits_under_swizzle(d));
    return Layout::from_digits(padded_a, digits, layout.offset0()).with_swizzle(layout.swizzle());
  };
  const auto at = difference(with_padding(about.a), with_padding(about.b));
  return fmt::format("differs at index ({}): offset {} in {}, {} in {}", join(at->index), at->offset_a,
                     about.format_a.text(), at->offset_b, about.format_b.text());
}

std::string comparison_text(const ComparedLayouts& about) {
  const int64_t elements = about.a.elements();
  if (!about.difference) {
    std::string out = fmt::format("the same: each of {} has the same offset in both\n", counted(elements, "element"));
    if (about.a == about.b || about.a.empty()) return out;
    return out + labelled("padding", padding_text(about));
  }
  const Difference& at = *about.difference;
  std::string out = fmt::format("they differ at index ({}): offset {} in {}, {} in {}\n", join(at.index), at.offset_a,
                                about.format_a.text(), at.offset_b, about.format_b.text());
  out += labelled("elements", at.count ? fmt::format("{} of {} lie elsewhere", *at.count, elements)
                                       : fmt::format("{}, too many to count those that lie elsewhere", elements));
  return out + labelled("order", order_text(about));
}

Json comparison_json(const ComparedLayouts& about) {
  static constexpr std::string_view kAnswers[] = {"no", "yes", "undecided"};
  Json out;
  out["same"] = !about.difference;
  out["elements"] = about.a.elements();
  if (about.difference) {
    const Difference& at = *about.difference;
    out["index"] = json_of(at.index);
    out["offsets"] = {at.offset_a, at.offset_b};
    out["differ"] = at.count ? Json(*at.count) : Json(nullptr);
  } else {
    out["same_padding"] = about.a == about.b;
  }
  out["same_order"] = kAnswers[static_cast<std::size_t>(about.order.answer)];
  if (about.order.answer == Answer::no) out["order"] = {json_of(about.order.i), json_of(about.order.j)};
  return out;
}

/// Texts of other programs in place of expressions. What one of them says of dims is the other's too.
DiffOptions with_expressions(DiffOptions options) {
  if (!options.dims_b) options.dims_b = options.dims;
  const bool given = options.dims.has_value();
  read_tensor_text(options.a, options.dims);
  read_tensor_text(options.b, options.dims_b);
  if (!given) {
    if (!options.dims_b) options.dims_b = options.dims;
    if (!options.dims) options.dims = options.dims_b;
  }
  return options;
}

int run_diff(const DiffOptions& given, bool json) {
  if (PlacementText::is(given.a) || PlacementText::is(given.b)) {
    if (given.dims_b) usage_error("--dims-b is for layouts: placements have no views", "--dims-b");
    return diff_placements(given.a, given.b, given.dims, given.dtype, json);
  }
  if (given.dtype) usage_error("--dtype is for placements, of which it says how many bytes travel", "--dtype");
  const DiffOptions options = with_expressions(given);
  const ComparedLayouts about = compare(options);
  write_stdout(json ? json_text(comparison_json(about)) : comparison_text(about));
  return about.difference ? kDiffers : kOk;
}

}  // namespace

Verb add_diff(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "diff", "Say whether two layouts or placements are the same function, or where they differ",
               "  relayout diff nchw nhwc --dims 2,16,5,4\n"
               "  relayout diff tvm:NCHW16c nChw16c --dims 2,17,5,4\n"
               "  relayout diff \"cute:(4,8):(8,1)\" ab\n"
               "  relayout diff \"jax:P('x') mesh(x=4)\" zarr:chunks=(25,30) --dims 100,30");
  auto options = std::make_shared<DiffOptions>();
  command
      .add_option("A", options->a, "Layout expression, a tensor as PyTorch, NumPy or oneDNN print it, or a placement")
      .required();
  command.add_option("B", options->b, "Layout expression of the same tensor").required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views; needed unless one of the layouts fixes them");
  command.add_option("--dims-b", options->dims_b, "Those of B before its views, where they are others");
  command.add_option("--dtype", options->dtype,
                     "Element type, for the bytes that travel between placements; f32 unless given");
  return {command, [options, json = json] { return run_diff(*options, *json); }, json};
}

}  // namespace relayout::tools
