// relayout describe of a placement: how many places there are, what each holds, and the same in the words of others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "relayout/redistribute/compare.h"
#include "tools/placing/placement_argument.h"

namespace relayout::tools {
namespace {

using redistribute::PlaceShape;
using redistribute::shapes_of;

/// How many places are listed, and how many blocks a map of them has in either direction.
constexpr int64_t kListed = 12, kMapped = 12;

/// Everything that is reported.
struct AboutPlacement {
  BoundPlacement bound;
  DType dtype = DType::f32;
  std::string letters;
  std::vector<PlaceShape> shapes;
  std::vector<int64_t> memory;  // elements that the memory of each shape has, padding included
  int64_t in_all = 0;           // the same of all places

  const Placement& placement() const { return bound.placement; }
  int64_t bytes(int64_t elements) const { return ceil_div(elements * bits(dtype), 8); }
};

std::string letters_of(const PlacementQuestion& question, int rank) {
  if (!question.names) return std::string("abcdefghijkl").substr(0, static_cast<std::size_t>(rank));
  if (static_cast<int>(question.names->size()) != rank)
    usage_error(fmt::format("--names {}: the tensor has {}", escaped(*question.names), counted(rank, "dim")), "--names",
                escaped(*question.names), std::to_string(rank));
  return *question.names;
}

/// A place that has a shape: one of the corners of all.
int64_t place_of_shape(const Placement& placement, const Dims& shape) {
  Dims coordinates;
  for (int d = 0; d < shape.size(); ++d) {
    const DimPlaces& dim = placement.of_dims()[static_cast<std::size_t>(d)];
    const int64_t round = dim.block * dim.count(), rest = placement.dims()[d] % round;
    // The extents of a dim fall once from those with one more block to those without; the turns where that happens.
    for (const int64_t turn : {int64_t{0}, rest / dim.block, rest / dim.block + 1}) {
      if (turn >= dim.count()) continue;
      const int64_t extent =
          placement.dims()[d] / round * dim.block + std::clamp(rest - turn * dim.block, int64_t{0}, dim.block);
      if (extent != shape[d]) continue;
      coordinates.push_back((turn + dim.first) % dim.count());
      break;
    }
  }
  return placement.place_at(coordinates);
}

AboutPlacement about_placement(const PlacementQuestion& question) {
  AboutPlacement out{placement_argument(question.text, question.dims), DType::f32, {}, {}, {}, 0};
  if (question.dtype) out.dtype = dtype_argument(*question.dtype);
  const Placement& placement = out.placement();
  out.letters = letters_of(question, placement.dims().size());
  out.shapes = shapes_of(placement);
  from_command_line([&] {
    for (const PlaceShape& shape : out.shapes) {
      const Layout layout = out.bound.text.layout_of(placement, place_of_shape(placement, shape.dims));
      int64_t elements = layout.empty() ? 0 : layout.span();
      if (out.bound.text.chunked) {  // a chunk is whole in memory, whatever the array has of it
        elements = 1;
        for (const PlacedDim& dim : out.bound.text.dims) elements *= *dim.block;
      }
      out.memory.push_back(elements);
      const std::optional<int64_t> all = checked_mul(elements, shape.places);
      if (!all || !checked_mul(out.in_all + *all, 128))
        throw Error(ErrorCode::overflow, "placement: the bits of all places overflow 63 bits", "dims");
      out.in_all += *all;
    }
  });
  return out;
}

std::string places_text(const AboutPlacement& about) {
  const PlacementText& text = about.bound.text;
  std::string out = counted(about.placement().places(), text.noun), axes;
  if (text.chunked) {
    for (const DimPlaces& dim : about.placement().of_dims())
      axes += (axes.empty() ? "a grid of " : " x ") + std::to_string(dim.count());
  }
  for (const MeshAxis& axis : text.mesh) {
    if (!axis.name.empty()) axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", axis.name, axis.extent);
  }
  return axes.empty() ? out : out + ": " + axes;
}

/// "a in blocks of 25 over 4; b whole at each".
std::string dims_placed_text(const AboutPlacement& about) {
  std::string out;
  for (int d = 0; d < about.placement().dims().size(); ++d) {
    const DimPlaces& dim = about.placement().of_dims()[static_cast<std::size_t>(d)];
    const int64_t extent = about.placement().dims()[d];
    out += fmt::format("{}{} ", d == 0 ? "" : "; ", about.letters[static_cast<std::size_t>(d)]);
    if (dim.count() == 1) {
      out += "whole at each";
      continue;
    }
    const bool round = dim.block * dim.count() < extent;
    out += fmt::format("in blocks of {} {} {}", dim.block, round ? "round over" : "over", dim.count());
    if (dim.first != 0) out += fmt::format(", from coordinate {} on", dim.first);
  }
  return out;
}

std::string shapes_text(const AboutPlacement& about) {
  if (about.shapes.size() == 1) return dims_text(about.shapes[0].dims) + " each";
  std::string out;
  for (const PlaceShape& shape : about.shapes) {
    const bool none = std::ranges::find(shape.dims, 0) != shape.dims.end();
    out += fmt::format("{}{} at {}", out.empty() ? "" : ", ", none ? "nothing" : dims_text(shape.dims),
                       counted(shape.places, about.bound.text.noun));
  }
  return out;
}

std::string placed_bytes_text(const AboutPlacement& about) {
  const int64_t logical = *checked_product(about.placement().dims());
  std::string out;
  if (about.memory.front() == about.memory.back()) {
    out = fmt::format("{} at each", about.bytes(about.memory.front()));
  } else {
    const auto [least, most] = std::ranges::minmax(about.memory);
    out = fmt::format("{} at the most, {} at the least", about.bytes(most), about.bytes(least));
  }
  out += fmt::format("; {} in all, {} logical", about.bytes(about.in_all), about.bytes(logical));
  const int64_t padding = about.in_all - logical * about.placement().copy_count();
  return padding > 0 ? out + fmt::format("; {} of padding", about.bytes(padding)) : out;
}

/// The indices of dim d that a coordinate has: "0..7, 32..39, ... 2 more".
std::string ranges_text(const Placement& placement, int64_t place, int d) {
  const DimPlaces& dim = placement.of_dims()[static_cast<std::size_t>(d)];
  const int64_t extent = placement.dims()[d], count = dim.count();
  const int64_t turn = (placement.coordinate(place, d) - dim.first + count) % count;
  const int64_t blocks = ceil_div(std::max<int64_t>(0, extent - turn * dim.block), dim.block * count);
  std::string out;
  for (int64_t k = 0; k < std::min<int64_t>(blocks, 2); ++k) {
    const int64_t from = (k * count + turn) * dim.block, to = std::min(from + dim.block, extent) - 1;
    out += (k == 0 ? "" : ", ") + (to == from ? std::to_string(from) : fmt::format("{}..{}", from, to));
  }
  if (blocks > 2) out += fmt::format(", ... {} more", blocks - 2);
  return out.empty() ? "none" : out;
}

/// A line for each of the first places: its name and its indices.
std::string place_table(const AboutPlacement& about) {
  const Placement& placement = about.placement();
  std::vector<std::vector<std::string>> rows{{"holds"}};
  for (const char letter : about.letters) rows[0].emplace_back(1, letter);
  for (int64_t place = 0; place < std::min(placement.places(), kListed); ++place) {
    rows.push_back({about.bound.text.name_of(placement, place)});
    for (int d = 0; d < placement.dims().size(); ++d) rows.back().push_back(ranges_text(placement, place, d));
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string out = "\n";
  for (std::size_t at = 0; at < rows.size(); ++at) {
    std::string line = " ";
    for (std::size_t k = 0; k < rows[at].size(); ++k) line += fmt::format(" {:<{}} ", rows[at][k], widths[k]);
    while (line.back() == ' ') line.pop_back();
    out += (at == 0 ? bold(line) : line) + "\n";
  }
  if (placement.places() > kListed) out += fmt::format("  ... {} more\n", placement.places() - kListed);
  return out;
}

/// The blocks of a matrix, each with the numbers of the places that hold it; "" where there are too many, or one.
std::string map_text(const AboutPlacement& about) {
  const Placement& placement = about.placement();
  if (placement.dims().size() != 2 || placement.copy_count() > 4) return "";
  std::vector<int64_t> starts[2];
  for (int d = 0; d < 2; ++d) {
    const int64_t block = placement.of_dims()[static_cast<std::size_t>(d)].block;
    if (ceil_div(placement.dims()[d], block) > kMapped || placement.dims()[d] == 0) return "";
    for (int64_t at = 0; at < placement.dims()[d]; at += block) starts[d].push_back(at);
  }
  if (starts[0].size() * starts[1].size() == 1) return "";
  std::string out = fmt::format("\n  which {} has the block that begins at {},{}\n  {:>6}", about.bound.text.noun,
                                about.letters[0], about.letters[1], "");
  for (const int64_t column : starts[1]) out += fmt::format(" {:>7}", column);
  for (const int64_t row : starts[0]) {
    out += fmt::format("\n  {:>6}", row);
    for (const int64_t column : starts[1]) {
      std::string cell;
      for (int64_t k = 0; k < placement.copy_count(); ++k)
        cell += (k == 0 ? "" : ",") + std::to_string(placement.place({row, column}) + placement.copy_step(k));
      out += fmt::format(" {:>7}", cell);
    }
  }
  return out + "\n";
}

/// Why the system itself would not take the placement; "" where it would.
std::string system_refuses(const AboutPlacement& about) {
  if (about.bound.text.system != "jax") return "";
  for (int d = 0; d < about.placement().dims().size(); ++d) {
    const int64_t count = about.placement().of_dims()[static_cast<std::size_t>(d)].count();
    if (about.placement().dims()[d] % count != 0)
      return fmt::format("JAX puts no array of {} over {}: it wants dims that divide", about.placement().dims()[d],
                         count);
  }
  return "";
}

std::string placement_report(const AboutPlacement& about) {
  const Placement& placement = about.placement();
  std::string out =
      bold(fmt::format("{}  {}  {}", about.bound.text.text, name(about.dtype), dims_text(placement.dims()))) + "\n\n";
  out += labelled("places", places_text(about));
  out += labelled("dims", dims_placed_text(about));
  if (placement.copy_count() > 1) out += labelled("copies", fmt::format("{} of each element", placement.copy_count()));
  out += labelled("holds", shapes_text(about));
  out += labelled("bytes", placed_bytes_text(about));
  out += labelled("memory", about.bound.text.by_columns ? "by columns, the first dim innermost" : "by rows");
  if (const std::string why = system_refuses(about); !why.empty()) out += labelled("note", why);
  for (const std::string_view system : placement_systems()) {
    const Spelling spelling = placement_spelling(system, placement, about.bound.text.mesh);
    if (system != about.bound.text.system && !spelling.text.empty() && !(system == "hdf5" && about.bound.text.chunked))
      out += labelled("as", spelling.text);
  }
  return out + place_table(about) + map_text(about);
}

Json placement_json(const AboutPlacement& about) {
  const Placement& placement = about.placement();
  Json out, mesh = Json::array(), shapes = Json::array();
  for (const MeshAxis& axis : about.bound.text.mesh)
    mesh.push_back({{"name", axis.name}, {"extent", axis.extent}, {"step", axis.step}});
  for (std::size_t k = 0; k < about.shapes.size(); ++k)
    shapes.push_back({{"dims", json_of(about.shapes[k].dims)},
                      {"places", about.shapes[k].places},
                      {"bytes", about.bytes(about.memory[k])}});
  out["placement"] = about.bound.text.text;
  out["dtype"] = name(about.dtype);
  out["dims"] = json_of(placement.dims());
  out["noun"] = about.bound.text.noun;
  out["places"] = placement.places();
  out["copies"] = placement.copy_count();
  out["mesh"] = std::move(mesh);
  out["shapes"] = std::move(shapes);
  out["bytes_in_all"] = about.bytes(about.in_all);
  out["logical_bytes"] = about.bytes(*checked_product(placement.dims()));
  out["digits"] = placement_spelling("places", placement).text;
  return out;
}

int placement_as(const BoundPlacement& bound, const std::string& system, bool json) {
  std::vector<Spelling> said;
  if (system == "all") {
    for (const std::string_view name : placement_systems())
      said.push_back(placement_spelling(name, bound.placement, bound.text.mesh));
  } else {
    said.push_back(from_command_line([&] { return placement_spelling(system, bound.placement, bound.text.mesh); }));
    if (!said[0].refusal.empty())
      throw Error(ErrorCode::unsupported, said[0].refusal, "--as", system, "a placement that this system can say");
  }
  std::string text;
  Json object = Json::object();
  for (const Spelling& one : said) {
    const bool can = one.refusal.empty();
    object[std::string(one.system)] = {{can ? "text" : "refusal", can ? one.text : one.refusal}};
    text += (can ? one.text : fmt::format("{}: no: {}", one.system, one.refusal)) + "\n";
  }
  write_stdout(json ? json_text(object) : text);
  return kOk;
}

}  // namespace

int describe_placement(const PlacementQuestion& question, bool json) {
  if (!question.flag.empty()) usage_error(question.flag + " is for layouts, and this is a placement", question.flag);
  if (question.as) return placement_as(placement_argument(question.text, question.dims), *question.as, json);
  const AboutPlacement about = about_placement(question);
  write_stdout(json ? json_text(placement_json(about)) : placement_report(about));
  return kOk;
}

}  // namespace relayout::tools
