// Inputs of models from files: see run_inputs.h.
#include "tools/planning/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "relayout/cpu/reorder.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::TensorId;

std::string open_dims_text(const graph::OnnxInput& input) {
  std::string out;
  for (const graph::OnnxDim& dim : input.dims) {
    out += (out.empty() ? "" : "x") + (dim.extent           ? std::to_string(*dim.extent)
                                       : dim.symbol.empty() ? std::string("?")
                                                            : escaped(dim.symbol));
  }
  return out.empty() ? "scalar" : out;
}

Input random_input(const graph::Tensor& tensor, std::mt19937_64& rng) {
  Input out;
  out.desc = {Layout::contiguous(tensor.dims), tensor.dtype};
  graph::Values values(static_cast<std::size_t>(out.desc.layout.elements()));
  std::uniform_real_distribution<double> uniform(is_floating(tensor.dtype) ? -1 : 0, 1);
  std::ranges::generate(values, [&] { return uniform(rng); });
  out.held = graph::store(values, tensor.dtype);
  return out;
}

/// A row-major tensor with letters, by which a list of numbers finds its channels: dim 1, or the last dim where that
/// alone has as many indices as there are numbers.
Format with_channels(const Dims& dims, std::size_t numbers) {
  const Format plain = Format::parse("contiguous");
  if (dims.size() < 3 || dims.size() > 5) return plain;
  std::string letters = "n" + std::string("dhw").substr(static_cast<std::size_t>(5 - dims.size()));
  const auto count = static_cast<int64_t>(numbers);
  const bool last = dims[1] != count && dims.back() == count;
  letters.insert(last ? letters.size() : 1, "c");
  return plain.with_names(letters);
}

/// Whether the file is one of raw bytes, which do not show dims. Standard input is not looked at.
bool is_raw(const std::string& path) {
  if (path == "-") return false;
  return from_data([&] { return TensorFile::open(path).format() == FileFormat::raw; });
}

std::size_t numbers_in(const std::optional<std::string>& list) {
  return list ? static_cast<std::size_t>(std::ranges::count(*list, ',')) + 1 : 0;
}

}  // namespace

RunInputs::RunInputs(const InputFlags& flags) : flags_(flags) {
  if (flags.resize) size_ = size_argument_of_picture(*flags.resize);
}

graph::DimsOfInputs RunInputs::dims_of_arrays() {
  return [this](std::span<const graph::OnnxInput> inputs) {
    std::vector<Wanted> wanted;
    for (const graph::OnnxInput& input : inputs) {
      wanted.push_back(
          {.name = input.name,
           .dtype = input.dtype,
           .shown = fmt::format("{} ({} {})", escaped(input.name), name(input.dtype), open_dims_text(input))});
    }
    const std::vector<std::string> paths = paths_of(wanted, false);
    std::vector<std::optional<Dims>> out(inputs.size());
    early_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto is_open = [](const graph::OnnxDim& dim) { return !dim.extent; };
      if (paths[i].empty() || std::ranges::none_of(inputs[i].dims, is_open) || is_raw(paths[i])) continue;
      early_[i] = opened(wanted[i], paths[i]);
      out[i] = early_[i]->desc.layout.dims();
    }
    return out;
  };
}

std::vector<std::string> RunInputs::paths_of(const std::vector<Wanted>& wanted, bool strict) const {
  std::string all;
  for (const Wanted& input : wanted) all += (all.empty() ? "" : ", ") + input.shown;
  std::vector<std::string> paths(wanted.size());
  std::size_t next = 0;
  for (const std::string& text : flags_.inputs) {
    const std::size_t equals = text.find('=');
    const std::string called = text.substr(0, std::min(equals, text.size()));
    auto i = static_cast<std::size_t>(std::ranges::find(wanted, called, &Wanted::name) - wanted.begin());
    if (equals == std::string::npos) i = wanted.size();
    std::error_code ignored;
    if (equals != std::string::npos && i == wanted.size() && !std::filesystem::exists(text, ignored)) {
      std::vector<std::string_view> names;
      for (const Wanted& input : wanted) names.push_back(input.name);
      usage_error(fmt::format("--input {}: the model has no input {}; its inputs are {}{}", escaped(text),
                              escaped(called), all, did_you_mean(called, names)),
                  "--input", escaped(text), all);
    }
    const std::string path = i < wanted.size() ? text.substr(equals + 1) : text;
    if (i == wanted.size()) i = next++;
    if (i >= wanted.size() || !paths[i].empty()) {
      if (!strict) continue;
      usage_error(
          fmt::format("--input {}: there is no further input for it; the model's inputs are {}", escaped(text), all),
          "--input", escaped(text), all);
    }
    if (path == "-" && std::ranges::find(paths, path) != paths.end()) {
      usage_error("--input -: standard input can be read only once, and another input is read from it, too", "--input",
                  "-", "a file");
    }
    paths[i] = path;
  }
  if (!strict || flags_.random) return paths;
  const auto missing = std::ranges::find(paths, std::string());
  if (missing == paths.end()) return paths;
  usage_error(fmt::format("give --input for {}, or --random-inputs SEED; the model's inputs are {}",
                          escaped(wanted[static_cast<std::size_t>(missing - paths.begin())].name), all),
              "--input", "", all);
}

Input RunInputs::opened(const Wanted& wanted, const std::string& path) const {
  Input out;
  out.file = open_tensor({.path = path,
                          .layout = flags_.layout,
                          .expected = InputOptions::Expected{wanted.dims, wanted.dtype},
                          .layout_flag = "--input-layout"});
  out.desc = out.file->desc;
  if (size_ && is_picture(out.file->file.format())) take_resized(wanted, path, out);
  if (wanted.dims) check_dims(wanted, path, out);
  if (out.held.empty() && out.file->swap_item_bytes > 1) {
    out.held.assign(out.file->bytes.begin(), out.file->bytes.end());
    swap_bytes(out.held, out.file->swap_item_bytes);
  }
  return out;
}

void RunInputs::take_resized(const Wanted& wanted, const std::string& path, Input& input) const {
  // A bitmap's layout says where its bytes lie in the file. The resized pixels are rows of pixels.
  const Format format = flags_.layout ? layout_argument(*flags_.layout) : Format::parse("nhwc");
  from_command_line([&] {
    Pixels pixels = resized(input.file->file, *size_);
    if (size_->shorter > 0 && wanted.dims) {
      const std::optional<Dims> before = format.dims_before_views(*wanted.dims);
      const std::optional<Dims> shape = before ? format.physical_shape(*before) : std::nullopt;
      if (shape && shape->size() == 4 && (*shape)[1] <= pixels.shape[1] && (*shape)[2] <= pixels.shape[2])
        pixels = cropped(pixels, (*shape)[2], (*shape)[1]);
    }
    try {
      input.desc = {format.bind(format.dims_from_physical(pixels.shape)), pixels.dtype};
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("--resize: {}: {}", escaped(path), error.message()), error.field(),
                  error.value(), error.limit());
    }
    input.held = std::move(pixels.bytes);
  });
}

void RunInputs::check_dims(const Wanted& wanted, const std::string& path, const Input& input) const {
  const Dims& have = input.desc.layout.dims();
  if (have == *wanted.dims) return;
  std::string how;
  const bool picture = is_picture(input.file->file.format());
  if (picture && have.size() == 4 && wanted.dims->size() == 4) {
    const bool last = (*wanted.dims)[1] != have[1] && (*wanted.dims)[3] == have[1];
    const int64_t height = (*wanted.dims)[last ? 1 : 2], width = (*wanted.dims)[last ? 2 : 3];
    const int64_t shorter = std::max(height, width) * 8 / 7;
    how =
        last ? "; --input-layout 'nhwc.permute(0,2,3,1)' makes the channels the last dim"
        : have[1] == (*wanted.dims)[1]
            ? fmt::format("; --resize {}x{} resizes it, and --resize {} resizes its shorter side and takes the middle",
                          width, height, shorter)
            : fmt::format("; the picture has {}", counted(have[1], "channel"));
  }
  throw Failure(kBadData,
                Error(ErrorCode::invalid_argument,
                      fmt::format("{}: the dims are {}, but those of the model's input {} are {}{}", escaped(path),
                                  dims_text(have), escaped(wanted.name), dims_text(*wanted.dims), how),
                      escaped(wanted.name), dims_text(have), dims_text(*wanted.dims)));
}

void RunInputs::normalize(const Wanted& wanted, Input& input) const {
  if (!normalizes() || !input.file || !is_floating(wanted.dtype)) return;
  const TensorDesc plain{Layout::contiguous(*wanted.dims), wanted.dtype};
  const std::size_t numbers = std::max(numbers_in(flags_.values.mean), numbers_in(flags_.values.std));
  const Format to = with_channels(*wanted.dims, numbers);
  from_command_line([&] {
    Attributes attributes = attributes_for(flags_.values, {Format::parse("contiguous"), input.desc}, {to, plain});
    if (flags_.scale != 1) attributes.src_scale = {{flags_.scale}, 0};
    try {
      check_attributes(attributes, input.desc, plain);
    } catch (const Error& error) {
      throw with_flags(error, flags_.values, "--input-scale");
    }
    std::vector<std::byte> out(static_cast<std::size_t>(plain.span_bytes()));
    cpu::run(cpu::make_plan(input.desc, plain, attributes), input.data(), out.data());
    input.held = std::move(out);
  });
  input.desc = plain;
}

std::vector<Input> RunInputs::open(const Graph& graph) {
  std::vector<Wanted> wanted;
  for (const TensorId t : graph.inputs) {
    const graph::Tensor& tensor = graph.tensor(t);
    wanted.push_back(
        {.name = tensor.name,
         .dtype = tensor.dtype,
         .dims = tensor.dims,
         .shown = fmt::format("{} ({} {})", escaped(tensor.name), name(tensor.dtype), dims_text(tensor.dims))});
  }
  const std::vector<std::string> paths = paths_of(wanted, true);
  std::mt19937_64 rng;
  if (flags_.random) {
    rng.seed(static_cast<uint64_t>(from_command_line([&] { return parse_int(*flags_.random, "--random-inputs"); })));
  }
  early_.resize(wanted.size());
  std::vector<Input> out;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) {
      out.push_back(random_input(graph.tensor(graph.inputs[i]), rng));
      continue;
    }
    // Standard input is read once. A file that was opened before its dims were known may mean others by them.
    std::optional<Input>& early = early_[i];
    const bool fits = early && (paths[i] == "-" || early->desc.layout.dims() == *wanted[i].dims);
    out.push_back(fits ? *std::move(early) : opened(wanted[i], paths[i]));
    check_dims(wanted[i], paths[i], out.back());
    normalize(wanted[i], out.back());
  }
  if (size_) check_pictures(out);
  return out;
}

void RunInputs::check_pictures(const std::vector<Input>& inputs) const {
  const auto picture = [](const Input& input) { return input.file && is_picture(input.file->file.format()); };
  if (std::ranges::any_of(inputs, picture)) return;
  usage_error(
      fmt::format("--resize {}: it resizes pictures (.png, .jpg, .bmp), and no input of the model is given by one",
                  escaped(*flags_.resize)),
      "--resize", escaped(*flags_.resize), "a picture as --input");
}

void add_input_flags(Command& command, InputFlags& flags) {
  command.add_option("--input", flags.inputs,
                     "FILE or NAME=FILE, once for each input of the model; without names in the model's order");
  command.add_option("--input-layout", flags.layout, "Layout of the inputs; needed where the files do not record it");
  command.add_option("--resize", flags.resize,
                     "Resize pictures: WxH, or N for the shorter side, of which the middle is taken where the model's "
                     "input is smaller");
  command.add_option("--input-scale", flags.scale, "Multiply the values of all inputs by this number");
  command.add_option("--mean", flags.values.mean,
                     "Mean, or a list with one a channel, subtracted from the files' values after the scale");
  command.add_option("--std", flags.values.std,
                     "Standard deviation, or a list with one a channel, by which the files' values are then divided");
  command.add_option("--random-inputs", flags.random,
                     "Fill the inputs that are not given with random values of this seed");
}

}  // namespace relayout::tools
