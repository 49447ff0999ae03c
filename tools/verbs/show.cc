// relayout show: a layout, two layouts side by side, a tensor's file or a plan as a page, as SVG or as text.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/tensor_text.h"
#include "relayout/reorder/offers.h"
#include "relayout/show/html.h"
#include "relayout/show/plan_drawing.h"
#include "relayout/show/plan_html.h"
#include "relayout/show/scene.h"
#include "relayout/show/svg.h"
#include "tools/converting/explain_option.h"
#include "tools/input/record_argument.h"
#include "tools/input/tensor_input.h"
#include "tools/input/tensor_text_argument.h"
#include "tools/showing/drawing_file.h"
#include "tools/showing/show_output.h"
#include "tools/showing/show_plan.h"

namespace relayout::tools {
namespace {

struct ShowOptions {
  std::optional<std::string> what, from, to, dims, names, dtype, tensor, drawing;
  RawOptions raw;
  std::string output = "-";
  bool overwrite = false, open = false;
  ExplainFlag explain;
  ShowPlanOptions plan;
};

/// The most elements whose values are shown: with them a page stays under 1 MB.
constexpr int64_t kMostValues = 16384;

/// A layout of the command line, with the dims and the type that are given for it.
struct SideLayout {
  Format format;
  std::optional<std::string> dims;
  DType dtype = DType::f32;
};

/// The layout with the letters of --names for its dims.
show::View view_of(const Format& given, const Dims& dims, DType dtype, const ShowOptions& options) {
  const Format format = options.names ? from_command_line([&] { return given.with_names(*options.names); }) : given;
  return from_command_line([&] { return show::view_of(format, dims, dtype); });
}

/// Reads a layout expression or a text of another program, which may say dims and type itself.
SideLayout layout_of_side(std::string text, const ShowOptions& options) {
  std::optional<std::string> dims = options.dims, dtype = options.dtype;
  read_tensor_text(text, dims, dtype);
  Format format = layout_argument(text);
  const DType type = dtype ? dtype_argument(*dtype) : format.element_type().value_or(DType::f32);
  return {std::move(format), dims, type};
}

/// What to type for a side.
show::TypedSide typed_side(const SideLayout& side, const Dims& dims) {
  return {side.format.text(), join(dims), std::string(name(side.dtype))};
}

show::Scene layout_scene(const ShowOptions& options) {
  const SideLayout shown = layout_of_side(*options.what, options);
  const Dims dims = dims_for(shown.format, shown.dims);
  show::Scene out = show::scene_of({view_of(shown.format, dims, shown.dtype, options)});
  out.typed = {typed_side(shown, dims)};
  return out;
}

show::Scene record_scene(const ShowOptions& options) {
  const Dims dims = options.dims ? dims_argument(*options.dims) : Dims{};
  const std::vector<NamedRecord> records = records_argument(*options.what, dims);
  if (records.size() != 1) {
    usage_error(fmt::format("show {}: its fields are in {} buffers, of which each is a picture of its own; relayout "
                            "record prints their fields",
                            escaped(*options.what), records.size()),
                "WHAT", escaped(*options.what));
  }
  show::Scene out = show::scene_of(records[0].record, *options.what + "  " + dims_text(dims));
  if (!options.what->starts_with('{')) out.typed = {{*options.what, join(dims), ""}};
  return out;
}

show::Scene two_layouts(const ShowOptions& options) {
  const SideLayout a = layout_of_side(*options.from, options), b = layout_of_side(*options.to, options);
  // Dims that one of the layouts fixes are the other's too where none are given.
  const auto fixed = [](const SideLayout& side) {
    return side.dims ? dims_argument(*side.dims) : from_command_line([&] { return side.format.default_dims(); });
  };
  const auto dims_of = [&](const SideLayout& side, const SideLayout& other) {
    const bool others = !fixed(side) && fixed(other) && other.format.views().empty();
    return others ? *fixed(other) : dims_for(side.format, side.dims);
  };
  const Dims dims_a = dims_of(a, b), dims_b = dims_of(b, a);
  std::vector<show::View> views;
  views.push_back(view_of(a.format, dims_a, a.dtype, options));
  views.push_back(view_of(b.format, dims_b, b.dtype, options));
  show::Scene out = from_command_line([&] { return show::scene_of(std::move(views)); });
  out.typed = {typed_side(a, dims_a), typed_side(b, dims_b)};
  // What is not typed for the second side is the first's.
  if (dims_b == dims_a && a.format.views().empty()) out.typed[1].dims.clear();
  if (b.dtype == a.dtype) out.typed[1].dtype.clear();
  return out;
}

template <typename T>
std::string shown_value_text(T value, DType dtype) {
  if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else {
    if (!is_floating(dtype) && std::isfinite(value)) return fmt::format("{}", static_cast<int64_t>(value));
    return dtype == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  }
}

template <typename T>
std::vector<std::string> values_as(const TensorInput& input, DType wide) {
  const TensorDesc desc(Layout::contiguous(input.desc.layout.dims()), wide);
  std::vector<T> values(static_cast<std::size_t>(desc.layout.elements()));
  std::vector<std::byte> swapped(input.bytes.begin(), input.bytes.end());
  if (const auto item = static_cast<std::size_t>(input.swap_item_bytes); item > 1) {
    for (std::size_t at = 0; at + item <= swapped.size(); at += item)
      std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                   swapped.begin() + static_cast<std::ptrdiff_t>(at + item));
  }
  from_data([&] { cpu::reorder(input.desc, std::span<const std::byte>(swapped), desc, std::span<T>(values)); });
  std::vector<std::string> out;
  for (const T value : values) out.push_back(shown_value_text(value, input.desc.dtype));
  return out;
}

std::vector<std::string> shown_values_of(const TensorInput& input) {
  const int64_t elements = input.desc.layout.elements();
  if (elements > kMostValues) {
    usage_error(
        fmt::format("show: the tensor has {} elements, and the values of up to {} are shown; show a part of it, "
                    "as by --from \"{}.narrow(0,0,1)\"",
                    elements, kMostValues, input.format.text()),
        "WHAT", std::to_string(elements), std::to_string(kMostValues));
  }
  if (elements == 0) return {};
  switch (input.desc.dtype) {
    case DType::s64: return values_as<int64_t>(input, DType::s64);
    case DType::u64: return values_as<uint64_t>(input, DType::u64);
    default: return values_as<double>(input, DType::f64);
  }
}

show::Scene file_scene(const ShowOptions& options) {
  const TensorInput input = open_tensor({.path = *options.what,
                                         .tensor = options.tensor.value_or(""),
                                         .layout = options.from,
                                         .dims = options.dims,
                                         .dtype = options.dtype,
                                         .raw = options.raw});
  const InputOptions shown{.path = *options.what};
  show::View view = view_of(input.format, input.buffer_dims, input.desc.dtype, options);
  const std::string dtype(name(input.desc.dtype));
  std::vector<show::TypedSide> typed{{input.format.text(), join(input.buffer_dims), dtype}};
  // The file's own strides may be others than those that the expression gives.
  if (!(view.layout == input.desc.layout))
    typed[0] = {digits_expression(input.desc.layout), join(input.desc.layout.dims()), dtype};
  view.layout = input.desc.layout;
  view.values = shown_values_of(input);
  std::vector<show::View> views{std::move(view)};
  if (options.to) {
    const Format to = layout_argument(*options.to);
    const Dims dims = from_command_line([&] { return destination_dims(to, input.desc.layout.dims(), {}, "--dims"); });
    views.push_back(view_of(to, dims, input.desc.dtype, options));
    views[1].values = views[0].values;
    typed.push_back({to.text(), join(dims), dtype});
  }
  show::Scene out = from_command_line([&] { return show::scene_of(std::move(views)); });
  out.typed = std::move(typed);
  out.title = fmt::format("{}: {}", escaped(shown_path(shown), 200), out.title);
  return out;
}

/// What a page shows that is to be typed into.
show::Scene example_scene() {
  ShowOptions options;
  options.from = "nchw";
  options.to = "nChw8c";
  options.dims = "1,12,2,3";
  return two_layouts(options);
}

show::Scene scene_of(const ShowOptions& options, bool page) {
  if (!options.what) {
    if (page && !options.from && !options.to) return example_scene();
    if (!options.from || !options.to)
      usage_error("show: give a LAYOUT, a FILE with --from LAYOUT, or --from and --to for two layouts", "WHAT");
    return two_layouts(options);
  }
  if (options.from || options.to || options.tensor) return file_scene(options);
  if (is_tensor_text(*options.what)) return layout_scene(options);
  if (is_record(*options.what)) return record_scene(options);
  // A name that is no layout and that a file has is that file, which may record its layout itself.
  if (!Format::is_expression(*options.what) && std::filesystem::exists(*options.what)) return file_scene(options);
  return layout_scene(options);
}

/// Adds how the elements of the first side are moved to the second. A page has that of any two sides between which
/// there is a reorder; other pictures where it is asked for.
void add_reorder(const ShowOptions& options, show::Scene& scene, bool page) {
  const bool two = scene.kind == show::Scene::Kind::sides && scene.views.size() == 2;
  if (!options.explain.empty() && !two)
    usage_error("--explain: it says how elements move from one layout to another; give both, by --from and --to",
                "--explain");
  if (!two || (options.explain.empty() && !page)) return;
  const TensorDesc from(scene.views[0].layout, scene.views[0].dtype), to(scene.views[1].layout, scene.views[1].dtype);
  const auto plan = [&] { scene.reorder = show::reorder_view(cpu::make_plan(from, to)); };
  if (options.explain.empty()) {
    try {
      plan();
    } catch (const Error&) {
      // What cannot be moved, as to a layout in which indices share an offset, can be looked at.
    }
    return;
  }
  from_command_line(plan);
  if (options.explain == "all")
    scene.notes.push_back({"Plans that this one was chosen from", offers_text(offers(from, to, {}, cpu::machine()))});
}

bool shows_plan(const ShowOptions& options) {
  const bool layouts = options.from || options.to || options.tensor || options.dims || options.dtype;
  return options.what && !layouts && is_plan(*options.what);
}

int run_show_plan(const ShowOptions& options, const ShowTarget& target) {
  if (!options.explain.empty()) usage_error("--explain: it is for two layouts; a plan says why each reorder is there");
  const show::PlanScene scene = plan_to_show(*options.what, options.plan);
  if (options.plan.as) return write_text(from_data([&] { return show::model_explorer_json(scene); }), target);
  return write_shown({.page = [&] { return show::plan_html(scene); },
                      .picture = [&] { return show::svg(show::plan_drawing(scene, scene.chosen)); },
                      .json = [&] { return show::plan_json(scene); },
                      .text = [&](bool colour) { return show::plan_text(scene, colour); }},
                     target);
}

int run_show(const ShowOptions& options, bool json) {
  const ShowTarget target{options.output, options.overwrite, options.open, json};
  if (!options.plan.as) check_target(target);
  if (options.drawing) return write_text(show::svg(drawing_file(*options.drawing)), target);
  check_explain(options.explain);
  if (shows_plan(options)) return run_show_plan(options, target);
  if (options.plan.as || options.plan.policy) {
    usage_error("--as and --policy: they are for plans and models; give a PLAN.json, a MODEL.onnx or model:NAME",
                options.plan.as ? "--as" : "--policy");
  }
  show::Scene scene = scene_of(options, is_page(target));
  add_reorder(options, scene, is_page(target) || json);
  return write_shown({.page = [&] { return show::html(scene); },
                      .picture = [&] { return show::svg(show::scene_drawing(scene)); },
                      .json = [&] { return show::scene_json(scene); },
                      .text = [&](bool colour) { return show::scene_text(scene, colour); }},
                     target);
}

}  // namespace

Verb add_show(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "show", "Draw a layout, two layouts, a tensor's file or a plan: a page for browsers, SVG or text",
               "  relayout show nChw8c --dims 2,17,5,4 --open\n"
               "  relayout show --from nchw --to nChw16c --dims 1,32,4,4 -o both.html\n"
               "  relayout show x.npy --from nhwc -o x.html\n"
               "  relayout show mace:in_out_channel --dims 1,6,5,3 -o image.svg\n"
               "  relayout show ggml:q4_0 --dims 1,64 -o block.html\n"
               "  relayout show -o x.html         an example, to type other layouts over\n"
               "  relayout show plan.json -o plan.html        as relayout plan -o plan.json writes it\n"
               "  relayout show net.onnx --open               planned by all policies\n"
               "  relayout show plan.json --as model-explorer -o graph.json");
  auto options = std::make_shared<ShowOptions>();
  command.add_option("WHAT", options->what,
                     "Layout expression, record, a tensor as PyTorch, NumPy or oneDNN print it, with --from the file "
                     "of a tensor, or a "
                     "plan (.json) or a model (.onnx, model:NAME); - is standard input");
  command.add_option("--from", options->from, "Layout of the file, or the first of two layouts");
  command.add_option("--to", options->to, "A second layout of the same tensor, which is compared with the first");
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  command.add_option("--names", options->names,
                     "A letter for each dim (before any views), for example nchw; for layouts that name none");
  command.add_option("--dtype", options->dtype, "Element type; f32 unless given or known");
  command.add_option("--tensor", options->tensor, "Name of the tensor in the file");
  add_explain_option(command, options->explain,
                     "With two layouts: also how elements are moved from the first to the second, which pages have "
                     "without it");
  add_raw_options(command, options->raw);
  command.add_option("--drawing", options->drawing,
                     "Write the shapes that a JSON file lists as SVG, in place of a layout; - is standard input");
  add_show_plan_options(command, options->plan);
  command.add_option("-o,--out", options->output,
                     "File to write: .html is a page, .svg a picture, .txt text; - is text on standard output");
  command.add_flag("--open", options->open, "Open the page in the browser; without --out it is a temporary file");
  command.add_flag("-f,--force", options->overwrite, "Replace a file that exists");
  return {command, [options, json = json] { return run_show(*options, *json); }, json};
}

}  // namespace relayout::tools
