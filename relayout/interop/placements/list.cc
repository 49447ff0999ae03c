// The list of the systems that write placements.
#include <algorithm>
#include <array>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "relayout/core/nearest.h"
#include "relayout/interop/placements/parts.h"
#include "relayout/interop/placements/placement_text.h"

namespace relayout {
namespace {

std::string write_zarr(const Placement& placement, std::span<const MeshAxis>) {
  return "zarr:" + placements::write_chunk_grid(placement);
}
std::string write_hdf5(const Placement& placement, std::span<const MeshAxis>) {
  return "hdf5:" + placements::write_chunk_grid(placement);
}

template <std::string (*Write)(const Placement&)>
std::string meshless(const Placement& placement, std::span<const MeshAxis>) {
  return Write(placement);
}

struct PlacementSystem {
  std::string_view name;
  PlacementText (*read)(placements::Reader& text);
  std::string (*write)(const Placement& placement, std::span<const MeshAxis> mesh);
  bool layouts_too = false;  // layout expressions have the name as well, without "=" before the first parenthesis
};

constexpr PlacementSystem kPlacementSystems[] = {
    {"dtensor", placements::read_dtensor, placements::write_dtensor},
    {"hdf5", placements::read_chunk_grid, write_hdf5, true},
    {"jax", placements::read_jax, placements::write_jax},
    {"places", placements::read_places, meshless<placements::write_places>},
    {"scalapack", placements::read_scalapack, meshless<placements::write_scalapack>},
    {"zarr", placements::read_chunk_grid, write_zarr, true},
};

constexpr auto kPlacementNames = [] {
  std::array<std::string_view, std::size(kPlacementSystems)> out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = kPlacementSystems[k].name;
  return out;
}();

const PlacementSystem* system_of(std::string_view text) {
  for (const PlacementSystem& system : kPlacementSystems) {
    if (!text.starts_with(system.name)) continue;
    const std::string_view rest = text.substr(system.name.size());
    if (rest.starts_with(':') && (!system.layouts_too || rest.find('=') < rest.find('('))) return &system;
  }
  return nullptr;
}

}  // namespace

bool PlacementText::is(std::string_view text) { return system_of(text) != nullptr; }

PlacementText PlacementText::parse(std::string_view text) {
  const PlacementSystem* system = system_of(text);
  if (system == nullptr)
    throw Error(ErrorCode::parse,
                "placement: \"" + escaped(text) + "\" begins with none of jax:, dtensor:, scalapack:, places:, " +
                    "zarr:chunks= and hdf5:chunks=",
                "placement", escaped(text), "jax:P('x',None) mesh(x=4,y=2)");
  if (text.size() > Format::kMaxText)
    throw Error(ErrorCode::limit, "placement: a text of over " + std::to_string(Format::kMaxText) + " characters",
                "placement", std::to_string(text.size()), std::to_string(Format::kMaxText));
  placements::Reader reader(text, system->name.size() + 1);
  PlacementText out = system->read(reader);
  out.text = std::string(text);
  out.system = system->name;
  if (out.noun.empty()) out.noun = "rank";
  return out;
}

std::span<const std::string_view> placement_systems() { return kPlacementNames; }

Spelling placement_spelling(std::string_view system, const Placement& placement, std::span<const MeshAxis> mesh) {
  const auto found = std::ranges::find(kPlacementSystems, system, &PlacementSystem::name);
  if (found == std::end(kPlacementSystems)) {
    std::string list;
    for (const std::string_view name : kPlacementNames) list += (list.empty() ? "" : ", ") + std::string(name);
    throw Error(ErrorCode::invalid_argument,
                "no system of placements is called \"" + escaped(system) + "\"; there are " + list +
                    did_you_mean(system, kPlacementNames),
                "system", escaped(system), list);
  }
  Spelling out{found->name};
  try {
    out.text = found->write(placement, mesh);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    out.refusal = error.message();
  }
  return out;
}

}  // namespace relayout
