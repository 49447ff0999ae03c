// relayout diff of two placements: whether each element lies at the same places, where it first does not, and what
// would travel.
#include <fmt/format.h>

#include "relayout/redistribute/compare.h"
#include "relayout/redistribute/exchange.h"
#include "tools/placing/placement_argument.h"

namespace relayout::tools {
namespace {

using redistribute::Exchange;
using redistribute::PlacementDifference;
using redistribute::PlaceOverlap;

/// Most places for which what travels is counted, and for which their best numbers are looked for; most pairs of places
/// whose common elements are counted.
constexpr int64_t kMostPlaces = 1 << 16, kMostRelabelled = 512, kMostPairs = 1 << 14;

struct ComparedPlacements {
  BoundPlacement a, b;
  DType dtype = DType::f32;
  std::optional<PlacementDifference> difference{};
  std::optional<int64_t> travelling{}, relabelled{};  // elements

  int64_t bytes(int64_t elements) const { return ceil_div(elements * bits(dtype), 8); }
};

ComparedPlacements compare_placements(const std::string& a, const std::string& b,
                                      const std::optional<std::string>& dims, const std::optional<std::string>& dtype) {
  // Dims that one of the two fixes are the other's too where none are given.
  std::optional<std::string> given = dims;
  for (const std::string& text : {a, b}) {
    const auto fixed = from_command_line([&] { return PlacementText::parse(text).extents; });
    if (!given && fixed) given = dims_text(*fixed);
  }
  ComparedPlacements out{placement_argument(a, given), placement_argument(b, given)};
  if (dtype) out.dtype = dtype_argument(*dtype);
  const Placement &from = out.a.placement, &to = out.b.placement;
  out.difference = redistribute::difference(from, to);
  if (from.places() != to.places() || from.places() > kMostPlaces) return out;
  const Exchange exchange(from, to);
  out.travelling = exchange.elements_travelling();
  if (from.places() <= kMostRelabelled && *out.travelling > 0)
    out.relabelled = exchange.with_ranks(exchange.relabelled()).elements_travelling();
  return out;
}

std::string holders_text(const BoundPlacement& bound, const Dims& index, const Dims& local) {
  const int64_t copies = bound.placement.copy_count();
  const std::string more = copies > 1 ? fmt::format(" and {} more", copies - 1) : "";
  return fmt::format("{}{} at ({}) in {}", bound.text.name_of(bound.placement, bound.placement.place(index)), more,
                     join(local), escaped(bound.text.text));
}

/// For each of the first places of b, which places of a it has elements of.
std::string overlaps_text(const ComparedPlacements& about) {
  static constexpr int64_t kPlaces = 6, kParts = 4;
  const Placement &a = about.a.placement, &b = about.b.placement;
  if (a.places() > kMostPairs / kPlaces) return "";
  std::string out;
  for (int64_t to = 0; to < std::min(b.places(), kPlaces); ++to) {
    std::string list;
    int64_t parts = 0;
    for (int64_t from = 0; from < a.places(); ++from) {
      const PlaceOverlap both = redistribute::overlap(a, from, b, to);
      if (both.elements == 0 || ++parts > kParts) continue;
      list += fmt::format("{}{} of {}", list.empty() ? "" : ", ", both.elements, about.a.text.name_of(a, from));
    }
    if (parts > kParts) list += fmt::format(", and of {} more", parts - kParts);
    out += labelled(to == 0 ? "overlap" : "",
                    fmt::format("{} has {}", about.b.text.name_of(b, to), list.empty() ? "nothing" : list));
  }
  return b.places() > kPlaces ? out + labelled("", fmt::format("... {} more", b.places() - kPlaces)) : out;
}

std::string travels_text(const ComparedPlacements& about) {
  const Placement &a = about.a.placement, &b = about.b.placement;
  if (!about.travelling) {
    return a.places() == b.places()
               ? "not counted: there are too many places"
               : fmt::format("not counted: there are {} and {}", counted(a.places(), about.a.text.noun),
                             counted(b.places(), about.b.text.noun));
  }
  std::string out = fmt::format("{} bytes of {} at least", about.bytes(*about.travelling),
                                about.bytes(*checked_product(b.dims()) * b.copy_count()));
  if (about.relabelled && *about.relabelled < *about.travelling)
    out += fmt::format("; {} where the places of the second are numbered anew", about.bytes(*about.relabelled));
  return out;
}

std::string compared_text(const ComparedPlacements& about) {
  const int64_t elements = *checked_product(about.a.placement.dims());
  const bool same_memory = about.a.text.by_columns == about.b.text.by_columns;
  const std::string memory =
      same_memory ? ""
                  : labelled("memory", fmt::format("of a place is by {} in {}, by {} in {}",
                                                   about.a.text.by_columns ? "columns" : "rows", about.a.text.text,
                                                   about.b.text.by_columns ? "columns" : "rows", about.b.text.text));
  if (!about.difference)
    return fmt::format("the same: each of {} is at the same places and has the same index there\n",
                       counted(elements, "element")) +
           memory;
  const PlacementDifference& at = *about.difference;
  return fmt::format("they differ at index ({}): {}, {}\n", join(at.index), holders_text(about.a, at.index, at.local_a),
                     holders_text(about.b, at.index, at.local_b)) +
         labelled("travels", travels_text(about)) + memory + overlaps_text(about);
}

Json compared_json(const ComparedPlacements& about) {
  const Placement &a = about.a.placement, &b = about.b.placement;
  Json out;
  out["same"] = !about.difference;
  out["elements"] = *checked_product(a.dims());
  out["places"] = {a.places(), b.places()};
  if (about.difference) {
    out["index"] = json_of(about.difference->index);
    out["place"] = {about.difference->place_a, about.difference->place_b};
    out["local_index"] = {json_of(about.difference->local_a), json_of(about.difference->local_b)};
  }
  out["travelling_bytes"] = about.travelling ? Json(about.bytes(*about.travelling)) : Json(nullptr);
  if (about.relabelled) out["relabelled_bytes"] = about.bytes(*about.relabelled);
  if (a.places() > kMostPairs / b.places()) return out;
  out["overlaps"] = Json::array();
  for (int64_t to = 0; to < b.places(); ++to) {
    for (int64_t from = 0; from < a.places(); ++from) {
      const PlaceOverlap both = redistribute::overlap(a, from, b, to);
      if (both.elements > 0)
        out["overlaps"].push_back(
            {{"places", {from, to}}, {"elements", both.elements}, {"index", json_of(both.index)}});
    }
  }
  return out;
}

}  // namespace

int diff_placements(const std::string& a, const std::string& b, const std::optional<std::string>& dims,
                    const std::optional<std::string>& dtype, bool json) {
  for (const std::string& text : {a, b}) {
    if (!PlacementText::is(text))
      usage_error(
          fmt::format("{} is a layout, and the other is a placement: only two of one kind are compared", escaped(text)),
          "B", escaped(text));
  }
  const ComparedPlacements about = from_command_line([&] { return compare_placements(a, b, dims, dtype); });
  write_stdout(json ? json_text(compared_json(about)) : compared_text(about));
  return about.difference ? kDiffers : kOk;
}

}  // namespace relayout::tools
