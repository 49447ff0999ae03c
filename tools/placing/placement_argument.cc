// Placements on the command line, and relayout offset of one.
#include "tools/placing/placement_argument.h"

#include <fmt/format.h>

namespace relayout::tools {

BoundPlacement placement_argument(const std::string& text, const std::optional<std::string>& dims) {
  return from_command_line([&] {
    BoundPlacement out{PlacementText::parse(text), {}};
    if (!dims && !out.text.extents)
      usage_error(fmt::format("{} does not fix its dims: --dims is needed", escaped(text)), "--dims");
    out.placement = out.text.bind(dims ? dims_argument(*dims) : *out.text.extents);
    return out;
  });
}

std::vector<std::string> holder_names(const BoundPlacement& bound, const Dims& index) {
  const int64_t first = bound.placement.place(index);
  std::vector<std::string> out;
  for (int64_t k = 0; k < bound.placement.copy_count(); ++k)
    out.push_back(bound.text.name_of(bound.placement, first + bound.placement.copy_step(k)));
  return out;
}

int offset_in_placement(const std::string& text, const std::optional<std::string>& dims,
                        const std::vector<std::string>& indices, bool json) {
  const BoundPlacement bound = placement_argument(text, dims);
  const Placement& placement = bound.placement;
  std::string lines;
  Json list = Json::array();
  for (const std::string& argument : indices) {
    const Dims index = dims_argument(argument, "--index");
    if (index.size() != placement.dims().size())
      usage_error(fmt::format("--index {}: it has {} numbers, but the tensor has {} dims ({})", escaped(argument),
                              index.size(), placement.dims().size(), dims_text(placement.dims())),
                  "--index", escaped(argument), std::to_string(placement.dims().size()));
    from_command_line([&] {
      const int64_t place = placement.place(index);
      const Dims local = placement.local_index(index);
      const int64_t offset = bound.text.layout_of(placement, place).offset(local);
      const std::vector<std::string> names = holder_names(bound, index);
      Json places = Json::array();
      for (int64_t k = 0; k < placement.copy_count(); ++k) places.push_back(place + placement.copy_step(k));
      std::string holders;
      for (const std::string& name : names) holders += (holders.empty() ? "" : ", ") + name;
      lines += fmt::format("{}: index {}, offset {}\n", holders, join(local), offset);
      list.push_back({{"index", json_of(index)},
                      {"places", places},
                      {"names", names},
                      {"local_index", json_of(local)},
                      {"offset", offset}});
    });
  }
  write_stdout(json ? json_text(list) : lines);
  return kOk;
}

}  // namespace relayout::tools
