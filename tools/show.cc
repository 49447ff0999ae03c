// relayout show: a layout, two layouts side by side, or a tensor's file as a page, as SVG or as text.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "relayout/cpu/reorder.h"
#include "relayout/show/html.h"
#include "relayout/show/scene.h"
#include "relayout/show/svg.h"
#include "tools/drawing_file.h"
#include "tools/explain_option.h"
#include "tools/record_argument.h"
#include "tools/tensor_input.h"

extern char** environ;

namespace relayout::tools {
namespace {

struct ShowOptions {
  std::optional<std::string> what, from, to, dims, names, dtype, tensor, drawing;
  RawOptions raw;
  std::string output = "-";
  bool overwrite = false, open = false;
  ExplainFlag explain;
};

/// The most elements whose values are shown: with them a page stays under 1 MB.
constexpr int64_t kMostValues = 16384;

std::string dims_words(const Layout& layout) { return dims_text(layout.dims()); }

/// The layout with the letters of --names for its dims.
show::View view_of(const Format& given, const Dims& dims, DType dtype, const ShowOptions& options) {
  const Format format = options.names ? from_command_line([&] { return given.with_names(*options.names); }) : given;
  const TensorDesc desc = from_command_line([&] { return bind_tensor(format, dims, dtype); });
  show::View out;
  out.expression = format.text();
  out.layout = desc.layout;
  out.letters = format.dim_names(desc.layout.ndims());
  out.dtype = dtype;
  if (format.is_image() && format.views().empty()) out.image = from_command_line([&] { return format.image(dims); });
  return out;
}

DType dtype_of(const ShowOptions& options, const Format& format) {
  return options.dtype ? dtype_argument(*options.dtype) : format.element_type().value_or(DType::f32);
}

std::string title_of(const show::View& view) { return view.expression + "  " + dims_words(view.layout); }

show::Scene layout_scene(const ShowOptions& options) {
  const Format format = layout_argument(*options.what);
  show::View view = view_of(format, dims_for(format, options.dims), dtype_of(options, format), options);
  const std::string title = title_of(view);
  return {title, {std::move(view)}};
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
  return show::scene_of(records[0].record, *options.what + "  " + dims_text(dims));
}

/// Names the sides of two views by their expressions, or by A and B where these are equal.
void name_sides(std::vector<show::View>& views) {
  const bool equal = views[0].expression == views[1].expression;
  views[0].name = equal ? "A" : views[0].expression;
  views[1].name = equal ? "B" : views[1].expression;
}

show::Scene two_layouts(const ShowOptions& options) {
  const Format a = layout_argument(*options.from), b = layout_argument(*options.to);
  // Dims that one of the layouts fixes are the other's too where none are given.
  const auto fixed = [](const Format& format) { return from_command_line([&] { return format.default_dims(); }); };
  const auto dims_of = [&](const Format& format, const Format& other) {
    const bool others = !options.dims && !fixed(format) && fixed(other) && other.views().empty();
    return others ? *fixed(other) : dims_for(format, options.dims);
  };
  show::Scene out;
  out.views.push_back(view_of(a, dims_of(a, b), dtype_of(options, a), options));
  out.views.push_back(view_of(b, dims_of(b, a), dtype_of(options, b), options));
  if (out.views[0].layout.dims() != out.views[1].layout.dims()) {
    usage_error(fmt::format("{} has dims {}, and {} has {}: both describe one tensor, so they must be the same",
                            escaped(*options.from), dims_words(out.views[0].layout), escaped(*options.to),
                            dims_words(out.views[1].layout)),
                "--dims", dims_words(out.views[1].layout), dims_words(out.views[0].layout));
  }
  name_sides(out.views);
  out.title = fmt::format("{} and {}  {}", out.views[0].name, out.views[1].name, dims_words(out.views[0].layout));
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
  // The file's own strides may be others than those that the expression gives.
  view.layout = input.desc.layout;
  view.values = shown_values_of(input);
  show::Scene out;
  const std::string file = escaped(shown_path(shown), 200);
  out.title = fmt::format("{}: {}", file, title_of(view));
  out.views.push_back(std::move(view));
  if (!options.to) return out;
  const Format to = layout_argument(*options.to);
  const Dims dims = from_command_line([&] { return destination_dims(to, input.desc.layout.dims(), {}, "--dims"); });
  out.views.push_back(view_of(to, dims, input.desc.dtype, options));
  out.views[1].values = out.views[0].values;
  name_sides(out.views);
  out.title =
      fmt::format("{}: {} and {}  {}", file, out.views[0].name, out.views[1].name, dims_words(out.views[0].layout));
  return out;
}

show::Scene scene_of(const ShowOptions& options) {
  if (!options.what) {
    if (!options.from || !options.to)
      usage_error("show: give a LAYOUT, a FILE with --from LAYOUT, or --from and --to for two layouts", "WHAT");
    return two_layouts(options);
  }
  if (options.from || options.to || options.tensor) return file_scene(options);
  if (is_record(*options.what)) return record_scene(options);
  // A name that is no layout and that a file has is that file, which may record its layout itself.
  if (!Format::is_expression(*options.what) && std::filesystem::exists(*options.what)) return file_scene(options);
  return layout_scene(options);
}

/// Adds the plan that moves the elements of the first side to the second.
void explain_reorder(const ShowOptions& options, show::Scene& scene) {
  if (options.explain.empty()) return;
  if (scene.kind != show::Scene::Kind::sides || scene.views.size() != 2)
    usage_error("--explain: it says how elements move from one layout to another; give both, by --from and --to",
                "--explain");
  const show::View &from = scene.views[0], &to = scene.views[1];
  const Plan plan = from_command_line([&] { return cpu::make_plan({from.layout, from.dtype}, {to.layout, to.dtype}); });
  scene.notes.push_back({"Reorder", explained(plan, options.explain)});
}

/// Starts the program by which the desktop opens files. Failure (io) where there is none.
void open_in_browser(const std::string& path) {
#ifdef __APPLE__
  std::string program = "open";
#else
  std::string program = "xdg-open";
#endif
  std::string argument = path;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    throw Failure(
        kIo, Error(ErrorCode::io,
                   fmt::format("show: {} cannot be started; open {} yourself", program, escaped(path, 200)), "--open"));
  }
}

/// A new file for a page that nobody named.
std::string temporary_page() {
  std::string path = (std::filesystem::temp_directory_path() / "relayout-XXXXXX.html").string();
  const int file = mkstemps(path.data(), 5);
  if (file < 0) throw Failure(kIo, Error(ErrorCode::io, "show: cannot make " + path, "--open"));
  close(file);
  return path;
}

void write_picture(const std::string& path, const std::string& text, bool overwrite) {
  from_data([&] { write_file(path, std::as_bytes(std::span(text)), overwrite); });
}

int run_show(const ShowOptions& options, bool json) {
  const bool page = options.open || options.output.ends_with(".html") || options.output.ends_with(".htm");
  const bool picture = options.output.ends_with(".svg");
  if (!page && !picture && options.output != "-" && !options.output.ends_with(".txt")) {
    usage_error(fmt::format("--out {}: its name ends in .html, .svg or .txt, or it is - for the terminal",
                            escaped(options.output)),
                "--out", escaped(options.output), ".html, .svg, .txt, -");
  }
  if (options.drawing) {
    const std::string text = show::svg(drawing_file(*options.drawing));
    if (options.output == "-")
      write_stdout(text);
    else
      write_picture(options.output, text, options.overwrite);
    return kOk;
  }
  check_explain(options.explain);
  show::Scene scene = scene_of(options);
  explain_reorder(options, scene);
  if (json) {
    write_stdout(json_text(Json::parse(from_command_line([&] { return show::scene_json(scene); }))));
    return kOk;
  }
  const bool colour = options.output == "-" && !page && colour_allowed(STDOUT_FILENO);
  const std::string text = from_command_line([&] {
    return page ? show::html(scene) : picture ? show::svg(show::scene_drawing(scene)) : show::scene_text(scene, colour);
  });
  if (page) {
    const bool named = options.output != "-";
    const std::string path = named ? options.output : temporary_page();
    write_picture(path, text, options.overwrite || !named);
    if (options.open) open_in_browser(std::filesystem::absolute(path).string());
    if (!named) write_stdout(path + "\n");
    return kOk;
  }
  if (options.output == "-")
    write_stdout(text);
  else
    write_picture(options.output, text, options.overwrite);
  return kOk;
}

}  // namespace

Verb add_show(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "show", "Draw a layout, two layouts or a tensor's file: a page for browsers, SVG or text",
               "  relayout show nChw8c --dims 2,17,5,4 --open\n"
               "  relayout show --from nchw --to nChw16c --dims 1,32,4,4 -o both.html\n"
               "  relayout show x.npy --from nhwc -o x.html\n"
               "  relayout show mace:in_out_channel --dims 1,6,5,3 -o image.svg\n"
               "  relayout show ggml:q4_0 --dims 1,64 -o block.html");
  auto options = std::make_shared<ShowOptions>();
  command.add_option("WHAT", options->what,
                     "Layout expression, record, or with --from the file of a tensor; - is standard input");
  command.add_option("--from", options->from, "Layout of the file, or the first of two layouts");
  command.add_option("--to", options->to, "A second layout of the same tensor, which is compared with the first");
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  command.add_option("--names", options->names,
                     "A letter for each dim (before any views), for example nchw; for layouts that name none");
  command.add_option("--dtype", options->dtype, "Element type; f32 unless given or known");
  command.add_option("--tensor", options->tensor, "Name of the tensor in the file");
  add_explain_option(command, options->explain,
                     "With two layouts: also how elements are moved from the first to the second; --explain=all shows "
                     "also the plans that it was chosen from");
  add_raw_options(command, options->raw);
  command.add_option("--drawing", options->drawing,
                     "Write the shapes that a JSON file lists as SVG, in place of a layout; - is standard input");
  command.add_option("-o,--out", options->output,
                     "File to write: .html is a page, .svg a picture, .txt text; - is text on standard output");
  command.add_flag("--open", options->open, "Open the page in the browser; without --out it is a temporary file");
  command.add_flag("-f,--force", options->overwrite, "Replace a file that exists");
  return {command, [options, json = json] { return run_show(*options, *json); }, json};
}

}  // namespace relayout::tools
