// relayout offset: the offset at which each index lies, and of an image the texel and its lane.
#include <fmt/format.h>

#include "tools/command/common.h"
#include "tools/input/tabled.h"
#include "tools/input/tensor_text_argument.h"
#include "tools/placing/placement_argument.h"

namespace relayout::tools {
namespace {

struct OffsetOptions {
  std::string layout;
  std::optional<std::string> dims;
  std::vector<std::string> indices, tables;
  bool texel = false;
};

int run_offset(OffsetOptions options, bool json) {
  if (PlacementText::is(options.layout)) {
    if (options.texel || !options.tables.empty()) usage_error("--texel and --table are for layouts", "arguments");
    return offset_in_placement(options.layout, options.dims, options.indices, json);
  }
  read_tensor_text(options.layout, options.dims);
  const Format format = layout_argument(options.layout);
  const Dims dims = dims_for(format, options.dims);
  const Layout layout = bind_argument(format, dims);
  const TabledLayout tabled(format, layout, options.tables);
  std::optional<ImageExtent> image;
  if (options.texel || format.is_image()) image = from_command_line([&] { return format.image(dims); });
  std::string text;
  Json list = Json::array();
  for (const std::string& argument : options.indices) {
    const Dims index = dims_argument(argument, "--index");
    if (index.size() != layout.ndims()) {
      usage_error(fmt::format("--index {}: it has {} numbers, but the tensor has {} dims ({})", escaped(argument),
                              index.size(), layout.ndims(), dims_text(layout.dims())),
                  "--index", escaped(argument), std::to_string(layout.ndims()));
    }
    const std::optional<Dims> behind = tabled.behind(index);
    if (!behind) {
      list.push_back({{"index", json_of(index)}, {"offset", nullptr}, {"slot", "none"}});
      text += "none\n";
      continue;
    }
    const int64_t offset = from_command_line([&] { return layout.offset(*behind); });
    bool padding = false;
    for (int d = 0; d < behind->size(); ++d) padding |= (*behind)[d] >= layout.dim(d);
    list.push_back({{"index", json_of(index)}, {"offset", offset}, {"slot", padding ? "padding" : "element"}});
    if (image) {
      const int64_t x = offset / kTexelLanes % image->pitch, y = offset / kTexelLanes / image->pitch;
      list.back()["texel"] = {x, y};
      list.back()["lane"] = offset % kTexelLanes;
      if (options.texel) text += fmt::format("{},{},{}\n", x, y, offset % kTexelLanes);
    }
    if (!options.texel) text += fmt::format("{}\n", offset);
  }
  write_stdout(json ? json_text(list) : text);
  return kOk;
}

}  // namespace

Verb add_offset(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "offset", "Print the element offset of each index",
               "  relayout offset nChw8c --dims 2,17,5,4 --index 0,16,2,3        prints 408\n"
               "  relayout offset nhwc --dims 2,3,5,4 --index 1,0,0,0 --index 0,2,0,0\n"
               "  relayout offset mace:in_out_channel --dims 2,6,5,3 --index 1,5,4,2 --texel\n"
               "  relayout offset ab --dims 64,2 --table a=pages.npy,block=16 --index 20,1\n"
               "  relayout offset \"jax:P('x',None) mesh(x=4,y=2)\" --dims 100,30 --index 77,3\n"
               "Through a table an index may stand nowhere (entry -1): none. Of a placement the places\n"
               "are printed that hold the element, its index there and its offset.");
  auto options = std::make_shared<OffsetOptions>();
  command.add_option("LAYOUT", options->layout, "Layout expression or placement").required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  command
      .add_option("--index", options->indices,
                  "Logical index, which may lie in the padding; may be given several times")
      .required()
      .one_value_each();
  add_table_option(command, options->tables);
  command.add_flag("--texel", options->texel, "Of an image: print x,y,lane of each index in place of its offset");
  return {command, [options, json = json] { return run_offset(*options, *json); }, json};
}

}  // namespace relayout::tools
