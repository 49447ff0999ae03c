// relayout index: the index that lies at each offset, or in each lane of an image's texels.
#include <fmt/format.h>

#include "tools/command/common.h"
#include "tools/input/tabled.h"
#include "tools/input/tensor_text_argument.h"

namespace relayout::tools {
namespace {

struct IndexOptions {
  std::string layout;
  std::optional<std::string> dims;
  std::vector<std::string> offsets;
  std::vector<std::string> texels, tables;
};

/// The offset of "x,y,lane".
int64_t texel_offset(const std::string& argument, const ImageExtent& image) {
  const Dims texel = dims_argument(argument, "--texel");
  const std::string limit =
      fmt::format("x below {}, y below {} and lane below {}", image.width, image.height, kTexelLanes);
  const Dims limits{image.width, image.height, kTexelLanes};
  bool fits = texel.size() == limits.size();
  for (int k = 0; fits && k < limits.size(); ++k) fits = texel[k] >= 0 && texel[k] < limits[k];
  if (!fits) {
    usage_error(fmt::format("--texel {}: x,y,lane is needed, with {}", escaped(argument), limit), "--texel",
                escaped(argument), limit);
  }
  return (texel[1] * image.pitch + texel[0]) * kTexelLanes + texel[2];
}

/// The offsets that were asked for.
std::vector<int64_t> offsets_of(const IndexOptions& options, const Format& format, const Dims& dims) {
  std::vector<int64_t> out;
  for (const std::string& argument : options.offsets) {
    out.push_back(from_command_line([&] { return parse_int(argument, "--offset"); }));
  }
  for (const std::string& argument : options.texels) {
    out.push_back(texel_offset(argument, from_command_line([&] { return format.image(dims); })));
  }
  if (out.empty()) usage_error("--offset is required, or of an image --texel", "--offset");
  return out;
}

int run_index(IndexOptions options, bool json) {
  read_tensor_text(options.layout, options.dims);
  static constexpr std::string_view kSlotNames[] = {"element", "padding", "gap"};
  const Format format = layout_argument(options.layout);
  const Dims dims = dims_for(format, options.dims);
  const Layout layout = bind_argument(format, dims);
  const TabledLayout tabled(format, layout, options.tables);
  std::string text;
  Json list = Json::array();
  for (const int64_t offset : offsets_of(options, format, dims)) {
    Dims index;
    const Slot slot = from_command_line([&] { return layout.inverse(offset, &index); });
    const std::string_view slot_name = kSlotNames[static_cast<int>(slot)];
    list.push_back(
        {{"offset", offset}, {"slot", slot_name}, {"index", slot == Slot::gap ? Json(nullptr) : json_of(index)}});
    if (slot != Slot::element || options.tables.empty()) {
      text += (slot == Slot::element ? join(index) : std::string(slot_name)) + "\n";
      continue;
    }
    std::string line;
    list.back()["indices"] = Json::array();
    for (const Dims& one : tabled.in_front(index)) {
      line += (line.empty() ? "" : " ") + join(one);
      list.back()["indices"].push_back(json_of(one));
    }
    text += (line.empty() ? "not named" : line) + "\n";
  }
  write_stdout(json ? json_text(list) : text);
  return kOk;
}

}  // namespace

Verb add_index(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "index", "Print the index that lies at each element offset, or that it is padding or a gap",
               "  relayout index nChw8c --dims 2,17,5,4 --offset 408              prints 0,16,2,3\n"
               "  relayout index strides:6,1 --dims 2,3 --offset 3 --offset 6\n"
               "  relayout index mace:in_out_channel --dims 2,6,5,3 --texel 5,9,1\n"
               "  relayout index ab --dims 64,2 --table a=pages.npy,block=16 --offset 41\n"
               "Through a table all indices are printed that stand at an offset, or that no entry names it.\n"
               "A gap is an offset at which no index lies. Offsets outside the buffer are gaps too.");
  auto options = std::make_shared<IndexOptions>();
  command.add_option("LAYOUT", options->layout, "Layout expression").required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  command.add_option("--offset", options->offsets, "Element offset; may be given several times").one_value_each();
  add_table_option(command, options->tables);
  command.add_option("--texel", options->texels, "Of an image: x,y,lane; may be given several times")
      .one_value_each()
      .excludes("--offset");
  return {command, [options, json = json] { return run_index(*options, *json); }, json};
}

}  // namespace relayout::tools
