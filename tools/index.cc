// relayout index: the index that lies at each offset.
#include <fmt/format.h>

#include "tools/common.h"

namespace relayout::tools {
namespace {

struct Options {
  std::string layout;
  std::optional<std::string> dims;
  std::vector<std::string> offsets;
};

int run(const Options& options, bool json) {
  static constexpr std::string_view kSlotNames[] = {"element", "padding", "gap"};
  const Format format = layout_argument(options.layout);
  const Layout layout = bind_argument(format, dims_for(format, options.dims));
  std::string text;
  Json list = Json::array();
  for (const std::string& argument : options.offsets) {
    const int64_t offset = from_command_line([&] { return parse_int(argument, "--offset"); });
    Dims index;
    const Slot slot = from_command_line([&] { return layout.inverse(offset, &index); });
    const std::string_view slot_name = kSlotNames[static_cast<int>(slot)];
    text += slot == Slot::element ? join(index) : std::string(slot_name);
    text += "\n";
    list.push_back(
        {{"offset", offset}, {"slot", slot_name}, {"index", slot == Slot::gap ? Json(nullptr) : json_of(index)}});
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
               "A gap is an offset at which no index lies. Offsets outside the buffer are gaps too.");
  auto options = std::make_shared<Options>();
  command.add_option("LAYOUT", options->layout, "Layout expression").required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 2,17,5,4; needed unless the layout fixes them");
  command.add_option("--offset", options->offsets, "Element offset; may be given several times")
      .required()
      .one_value_each();
  return {command, [options, json = json] { return run(*options, *json); }, json};
}

}  // namespace relayout::tools
