// relayout tags: the names of layouts. All of them come from the grammar of tags. The blocked ones are examples, as the
// grammar has no end of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/command/common.h"
#include "tools/command/known_values.h"

namespace relayout::tools {
namespace {

struct TagsOptions {
  std::optional<int> rank;
  std::optional<std::string> system;
};

struct NamedTag {
  std::string name, tag, dims;
};

constexpr std::string_view kBlockedExamples[] = {
    "nCw16c",        "nChw8c",      "nChw16c",  "NChw16n16c",  "nCdhw16c",   "OIw16i16o",
    "OIhw16i16o",    "OIhw4i16o4i", "Ohwi16o",  "gOIhw16i16o", "Goihw8g",    "OIdhw16i16o",
    "gOIdhw8i16o2i", "ldOi16o",     "ldIgo16i", "BA16a64b",    "AB16b32a4b", "aBcdef16b",
};
constexpr std::string_view kRankFree[] = {"abx", "axb", "xba", "aBx16b", "ABx16a16b"};
constexpr std::pair<std::string_view, std::string_view> kOtherForms[] = {
    {"contiguous", "row-major, any rank"},
    {"channels_last", "4-D, channels innermost"},
    {"channels_last_3d", "5-D, channels innermost"},
    {"strides:15,1,5,1", "the stride of each dim, in elements"},
    {"nhwc@64", "any layout; its first element lies at offset 64"},
    {"NCHW", "a name without blocks, in capitals as a whole"},
    {"ab;align=64", "rows begin at multiples of 64 elements"},
    {"ab;swizzle=3,3,3", "offset ^= (offset >> 3) & 0b111000, CuTe's Swizzle<3,3,3>"},
    {"nh|Cw4c;pitch=64", "an RGBA image: dims of rows | of columns; pitch in texels"},
    {"dml:{2,3},{5,1}", "a DirectML description: sizes, then strides or nothing"},
    {"nchw.narrow(1,0,8)", "a view of any layout, or several: .transpose(0,2).flip(3)"},
    {"ldigo;gates:zrh->rzh", "recurrent weights whose gates are stored in the first order"},
    {"undef any", "placeholders that stand for no layout yet"},
};

/// Name, letters and dims of a format at a rank, or nothing where it has no such rank.
std::optional<NamedTag> entry_of(std::string_view text, int rank) {
  const Format format = Format::parse(text);
  if (format.rank() && *format.rank() != rank) return std::nullopt;
  try {
    const std::optional<std::string> tag = format.generic_tag(rank);
    Dims ones;
    for (int d = 0; d < rank; ++d) ones.push_back(1);
    (void)format.bind(ones);
    if (!tag) return std::nullopt;
    return NamedTag{std::string(text), *tag, format.dim_names(rank)};
  } catch (const Error&) {
    return std::nullopt;  // a rank-free form that needs more dims
  }
}

std::string columns(const std::vector<NamedTag>& entries) {
  std::size_t name_width = 0, tag_width = 0;
  for (const NamedTag& entry : entries) {
    name_width = std::max(name_width, entry.name.size());
    tag_width = std::max(tag_width, entry.tag.size());
  }
  const std::size_t cell = name_width + tag_width + 5;
  const std::size_t a_row = std::max<std::size_t>(1, 78 / cell);
  std::string out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out += fmt::format("  {:<{}} {:<{}}", entries[i].name, name_width, entries[i].tag, tag_width);
    const bool last = i + 1 == entries.size() || (i + 1) % a_row == 0;
    if (last) {
      while (out.back() == ' ') out.pop_back();
    }
    out += last ? "\n" : "  ";
  }
  return out;
}

Json json_list(const std::vector<NamedTag>& entries) {
  Json list = Json::array();
  for (const NamedTag& entry : entries) {
    Json object = {{"name", entry.name}, {"rank", static_cast<int>(entry.dims.size())}, {"tag", entry.tag}};
    object["dims"] = entry.dims;
    list.push_back(std::move(object));
  }
  return list;
}

/// "acl, cudnn, ...".
std::string names_of_systems() {
  std::string out;
  for (const LayoutSystem& system : layout_systems()) out += (out.empty() ? "" : ", ") + system.name;
  return out;
}

LayoutSystem system_argument(const std::string& name) {
  for (LayoutSystem& system : layout_systems()) {
    if (system.name == name) return std::move(system);
  }
  usage_error(fmt::format("--system {}: there is no such system; there are {}", escaped(name), names_of_systems()),
              "--system", escaped(name), names_of_systems());
}

/// The names of one system, each with the place of an element in the middle of a tensor.
int run_system(const TagsOptions& options, bool json) {
  const LayoutSystem system = system_argument(*options.system);
  std::vector<std::array<std::string, 5>> rows{{"name", "dims", "extents", "element", "offset"}};
  Json list = Json::array();
  for (const NamedLayout& named : system.layouts) {
    const int rank = named.dims.size();
    if (options.rank && *options.rank != rank) continue;
    const Format format = Format::parse(named.expression);
    Dims element = named.dims;
    for (int64_t& index : element) index /= 2;
    const int64_t offset = format.bind(named.dims).offset(element);
    const std::string letters = format.dim_names(rank);
    rows.push_back({named.expression, letters, join(named.dims), join(element), std::to_string(offset)});
    Json object = {{"name", named.expression}, {"rank", rank}, {"dims", letters}};
    if (const auto tag = format.generic_tag(rank)) object["tag"] = *tag;
    object["example"] = {{"extents", json_of(named.dims)}, {"index", json_of(element)}, {"offset", offset}};
    list.push_back(std::move(object));
  }
  if (json) {
    write_stdout(json_text({{"system", system.name}, {"title", system.title}, {"layouts", std::move(list)}}));
    return kOk;
  }
  std::array<std::size_t, 5> width{};
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) width[k] = std::max(width[k], row[k].size());
  }
  std::string text = bold(system.title) + "\n";
  for (const auto& row : rows) {
    text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {:>{}}\n", row[0], width[0], row[1], width[1], row[2],
                        width[2], row[3], width[3], row[4], width[4]);
  }
  write_stdout(text);
  return kOk;
}

int run_tags(const TagsOptions& options, bool json) {
  if (options.system) return run_system(options, json);
  static constexpr int kNamedRanks = 6;
  const int first = options.rank.value_or(1), last = options.rank.value_or(kNamedRanks);
  std::string text;
  std::vector<NamedTag> all_plain, blocked, mace, rank_free;
  for (int rank = first; rank <= last; ++rank) {
    std::vector<NamedTag> plain;
    for (const std::string& name : plain_names(rank)) {
      if (auto entry = entry_of(name, rank)) plain.push_back(*entry);
    }
    if (!plain.empty()) text += bold(fmt::format("Rank {}", rank)) + "\n" + columns(plain);
    all_plain.insert(all_plain.end(), plain.begin(), plain.end());
    for (std::string_view name : kBlockedExamples) {
      if (auto entry = entry_of(name, rank)) blocked.push_back(*entry);
    }
    for (const auto& [name, tag] : mace_names()) {
      if (auto entry = entry_of(name, rank)) mace.push_back(*entry);
    }
  }
  for (std::string_view name : kRankFree) {
    if (auto entry = entry_of(name, options.rank.value_or(4))) rank_free.push_back(*entry);
  }
  if (json) {
    Json object = {{"plain", json_list(all_plain)}, {"blocked_examples", json_list(blocked)}};
    object["mace"] = json_list(mace);
    object["rank_free"] = json_list(rank_free);
    Json other = Json::array();
    for (const auto& [form, meaning] : kOtherForms) other.push_back({{"form", form}, {"meaning", meaning}});
    object["other"] = std::move(other);
    object["systems"] = Json::array();
    for (const LayoutSystem& system : layout_systems()) object["systems"].push_back(system.name);
    write_stdout(json_text(object));
    return kOk;
  }
  if (!blocked.empty()) {
    text +=
        bold("Blocked") + " (examples; a capital letter is a blocked dim, 16c a block of 16 of c)\n" + columns(blocked);
  }
  if (!rank_free.empty()) {
    text += bold("Any rank") +
            fmt::format(" (x stands for all other dims; shown here for rank {})\n", options.rank.value_or(4)) +
            columns(rank_free);
  }
  if (!mace.empty()) text += bold("RGBA images of MACE") + " (rows | columns)\n" + columns(mace);
  text += bold("Other forms") + "\n";
  for (const auto& [form, meaning] : kOtherForms) text += fmt::format("  {:<20} {}\n", form, meaning);
  text += bold("Names of other systems") + " (relayout tags --system NAME)\n  " + names_of_systems() + "\n";
  write_stdout(text);
  return kOk;
}

}  // namespace

std::vector<std::string> layout_names() {
  std::vector<std::string> out;
  for (int rank = kMaxDims; rank >= 1; --rank) {
    const std::vector<std::string> names = plain_names(rank);
    out.insert(out.begin(), names.begin(), names.end());
  }
  out.insert(out.end(), std::begin(kBlockedExamples), std::end(kBlockedExamples));
  out.insert(out.end(), std::begin(kRankFree), std::end(kRankFree));
  out.insert(out.end(), {"contiguous", "channels_last", "channels_last_3d"});
  const std::vector<std::string> notations = notation_names();
  out.insert(out.end(), notations.begin(), notations.end());
  return out;
}

Verb add_tags(CommandLine& line) {
  auto [command, json] = add_verb(line, "tags", "List the names of layouts, each with its tag in the letters a to l",
                                  "  relayout tags\n  relayout tags --rank 4\n  relayout tags --rank 5 --json\n"
                                  "  relayout tags --system tensorrt");
  auto options = std::make_shared<TagsOptions>();
  static constexpr std::string_view kReason =
      "a tensor has at most 12 dims, and one without dims has one layout, contiguous";
  static_assert(kMaxDims == 12);
  command.add_option("--rank", options->rank, {1, kMaxDims, kReason}, "List only the names for tensors of this rank");
  command.add_option("--system", options->system,
                     "List the names of one other system's layouts, with the offset of one element each");
  return {command, [options, json = json] { return run_tags(*options, *json); }, json};
}

}  // namespace relayout::tools
