// relayout banks: how often the accesses of a GPU's warp to a tile in shared memory collide, and the swizzle that keeps
// them apart.
#include "relayout/core/banks.h"

#include <fmt/format.h>

#include "relayout/core/print.h"
#include "relayout/interop/cute.h"
#include "tools/command/common.h"

namespace relayout::tools {
namespace {

struct BanksOptions {
  std::string layout, dtype = "f16";
  std::optional<std::string> dims;
  std::vector<std::string> accesses;
  bool find = false;
};

/// One access and what was counted of it.
struct Counted {
  banks::Access access;
  banks::Count count;
};

std::vector<Counted> counted_accesses(const TensorDesc& tile, const std::vector<banks::Access>& accesses) {
  std::vector<Counted> out;
  for (const banks::Access& access : accesses) out.push_back({access, banks::count(tile, access)});
  return out;
}

bool all_free(const std::vector<Counted>& list) {
  return std::ranges::all_of(list, [](const Counted& one) { return one.count.free(); });
}

/// The layout in CuTe's words where it has some, else as digits.
std::string spelled(const Layout& layout) {
  try {
    return "cute:" + cute::to_cute(layout);
  } catch (const Error&) {  // padding, or strides below 0
    return digits_expression(layout);
  }
}

Json accesses_json(const std::vector<Counted>& list) {
  Json out = Json::array();
  for (const auto& [access, count] : list) {
    Json one = {{"access", access.text()},
                {"requests", count.requests},
                {"phases", count.phases},
                {"wavefronts", count.wavefronts},
                {"conflicts", count.wavefronts - count.phases},
                {"ways", count.ways}};
    if (count.worst) {
      Json indices = Json::array();
      for (const Dims& index : count.worst->indices) indices.push_back(json_of(index));
      one["worst"] = {{"request", count.worst->request},
                      {"phase", count.worst->phase},
                      {"bank", count.worst->bank},
                      {"lanes", count.worst->lanes},
                      {"indices", indices}};
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// The lanes of a collision with their indices, the first few of many.
std::string colliding_lanes_text(const banks::Collision& worst) {
  constexpr std::size_t kShown = 4;
  std::string out;
  for (std::size_t k = 0; k < std::min(worst.lanes.size(), kShown); ++k)
    out += fmt::format("{}{} at ({})", k == 0 ? "" : ", ", worst.lanes[k], join(worst.indices[k]));
  if (worst.lanes.size() > kShown) out += fmt::format(" and {} more", worst.lanes.size() - kShown);
  return out;
}

std::string counts_text(const std::vector<Counted>& list) {
  std::string out;
  for (const auto& [access, count] : list) {
    std::string said = fmt::format("{} for {} of {}: ", counted(count.wavefronts, "wavefront"),
                                   counted(count.phases, "phase"), counted(count.requests, "request"));
    if (count.free()) {
      said += "no lanes collide";
    } else {
      const banks::Collision& worst = *count.worst;
      said += fmt::format(
          "up to {} of them, as in phase {} of request {}, where lanes want different words of bank {}: "
          "lanes {}",
          count.ways, worst.phase, worst.request, worst.bank, colliding_lanes_text(worst));
    }
    out += labelled(access.kind == banks::Access::Kind::lanes ? "lanes" : access.text(), said);
  }
  return out;
}

int run_banks(const BanksOptions& options, bool json) {
  const Format format = layout_argument(options.layout);
  const Dims dims = dims_for(format, options.dims);
  const TensorDesc tile = from_command_line([&] { return bind_tensor(format, dims, dtype_argument(options.dtype)); });
  std::vector<banks::Access> accesses;
  for (const std::string& text : options.accesses)
    accesses.push_back(from_command_line([&] { return banks::Access::parse(text); }));
  const auto before = from_command_line([&] { return counted_accesses(tile, accesses); });
  Json out = {{"layout", format.text()}, {"dtype", name(tile.dtype)}, {"dims", json_of(tile.layout.dims())}};
  std::string text = bold(fmt::format("{}  {}  {}", format.text(), name(tile.dtype), dims_text(tile.layout.dims()))) +
                     "\n\n" + counts_text(before);
  out["accesses"] = accesses_json(before);
  bool free = all_free(before);
  if (options.find) {
    const auto found = from_command_line([&] { return banks::find(tile, accesses); });
    free = found.has_value();
    if (!found) {
      out["swizzle"] = nullptr;
      text += "\nno swizzle keeps all lanes of " +
              std::string(accesses.size() == 1 ? "this access" : "these accesses") + " apart; all were counted\n";
    } else {
      const TensorDesc swizzled(tile.layout.with_swizzle(*found), tile.dtype);
      const auto after = counted_accesses(swizzled, accesses);
      out["swizzle"] = {found->bits(), found->base(), found->shift()};
      out["found"] = spelled(swizzled.layout);
      out["found_accesses"] = accesses_json(after);
      text += "\n" + bold(found->identity() ? "no swizzle is needed" : spelled(swizzled.layout)) + "\n\n";
      if (!found->identity()) text += counts_text(after);
    }
  }
  write_stdout(json ? json_text(out) : text);
  return free ? kOk : kDiffers;
}

}  // namespace

Verb add_banks(CommandLine& line) {
  auto [command, json] =
      add_verb(line, "banks", "Count the bank conflicts of a GPU's warp in a tile, and find the swizzle without any",
               "  relayout banks ab --dims 64,64 --access row:8 --access ldmatrix\n"
               "  relayout banks ab --dims 64,64 --access row:8 --access ldmatrix --find      finds Sw<3,3,3>\n"
               "  relayout banks \"cute:Sw<3,3,3>o0o(64,64):(64,1)\" --access column:8 --json\n"
               "  relayout banks ab --dims 32,32 --dtype f32 --access lanes:0,0/1,0/2,0/3,0");
  auto options = std::make_shared<BanksOptions>();
  command.add_option("LAYOUT", options->layout, "Layout expression of the tile").required();
  command.add_option("--dims", options->dims,
                     "Logical extents before any views, for example 64,64; needed unless the layout fixes them");
  command.add_option("--dtype", options->dtype, "Element type; f16 unless given");
  command
      .add_option("--access", options->accesses,
                  "What the lanes of a warp access: row, column (with :N of N elements a lane), ldmatrix, or "
                  "lanes:INDEX/INDEX/... ; may be given several times")
      .required()
      .one_value_each();
  command.add_flag("--find", options->find, "Search the swizzle of the fewest bits with which no lanes collide");
  return {command, [options, json = json] { return run_banks(*options, *json); }, json};
}

}  // namespace relayout::tools
