// Placements on the command line, and relayout offset of one.
#include "tools/placing/placement_argument.h"

#include <fmt/format.h>

#include <algorithm>

namespace relayout::tools {

BoundPlacement placement_argument(const std::string& text, const std::optional<std::string>& dims) {
  return from_command_line([&] {
    BoundPlacement out{PlacementText::parse(text), {}};
    if (!dims && !out.text.extents)
      usage_error(fmt::format("{} does not fix its dims: --dims is needed", escaped(text)), "--dims");
    out.placement = out.text.bind(dims ? dims_argument(*dims) : *out.text.extents);
    // Bits of all copies are counted.
    const std::optional<int64_t> elements = checked_product(out.placement.dims());
    const std::optional<int64_t> held = elements ? checked_mul(*elements, out.placement.copy_count()) : std::nullopt;
    if (!held || !checked_mul(*held, 128))
      throw Error(
          ErrorCode::overflow,
          "placement: the bits of all copies of " + dims_text(out.placement.dims()) + " elements overflow 63 bits",
          "dims", dims_text(out.placement.dims()));
    return out;
  });
}

std::vector<int64_t> first_holders(const Placement& placement, const Dims& index) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < std::min(placement.copy_count(), kMostHolders); ++k)
    out.push_back(placement.place(index) + placement.copy_step(k));
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
      const std::vector<int64_t> places = first_holders(placement, index);
      std::vector<std::string> names;
      for (const int64_t holder : places) names.push_back(bound.text.name_of(placement, holder));
      std::string holders;
      for (const std::string& name : names) holders += (holders.empty() ? "" : ", ") + name;
      if (placement.copy_count() > kMostHolders)
        holders += fmt::format(", ... {} more", placement.copy_count() - kMostHolders);
      lines += fmt::format("{}: index {}, offset {}\n", holders, join(local), offset);
      list.push_back({{"index", json_of(index)},
                      {"places", places},
                      {"names", names},
                      {"copies", placement.copy_count()},
                      {"local_index", json_of(local)},
                      {"offset", offset}});
    });
  }
  write_stdout(json ? json_text(list) : lines);
  return kOk;
}

}  // namespace relayout::tools
