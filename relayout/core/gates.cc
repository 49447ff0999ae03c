// Gates: places by letters, and one narrow view a gate.
#include "relayout/core/gates.h"

#include "relayout/core/view.h"
#include "relayout/core/view_parts.h"

namespace relayout {

Dims gate_places(std::string_view from, std::string_view to) {
  const auto refuse_orders = [&](const std::string& why) {
    const std::string both = escaped(from) + "->" + escaped(to);
    throw Error(ErrorCode::invalid_argument, "gates: " + both + ": " + why, "gates", both, "the same letters twice");
  };
  if (from.empty() || from.size() > static_cast<std::size_t>(kMaxDims))
    refuse_orders("an order has 1 to " + std::to_string(kMaxDims) + " gates");
  if (from.size() != to.size()) refuse_orders("the orders have different numbers of gates");
  Dims out;
  for (std::size_t j = 0; j < to.size(); ++j) {
    const std::size_t place = from.find(to[j]);
    const std::string gate = "gate '" + escaped(to.substr(j, 1)) + "'";
    if (place == std::string_view::npos) refuse_orders(gate + " is not in the first order");
    if (to.find(to[j], j + 1) != std::string_view::npos) refuse_orders(gate + " stands twice");
    out.push_back(static_cast<int64_t>(place));
  }
  return out;
}

std::vector<GateMove> permute_gates(const Layout& src, const Layout& dst, int gate_dim, std::string_view from,
                                    std::string_view to) {
  const Dims places = gate_places(from, to);
  if (src.dims() != dst.dims())
    throw Error(ErrorCode::invalid_argument,
                "permute_gates: the source has dims " + join(src.dims()) + " and the destination " + join(dst.dims()),
                "dims", join(dst.dims()), join(src.dims()));
  gate_dim = checked_dim("permute_gates", gate_dim, src.ndims());
  if (src.dim(gate_dim) != places.size())
    refuse("permute_gates: dim " + std::to_string(gate_dim) + " has extent " + std::to_string(src.dim(gate_dim)) +
               ", and the orders have " + std::to_string(places.size()) + " gates",
           gate_dim, src.dim(gate_dim), places.size());
  std::vector<GateMove> out;
  for (int j = 0; j < places.size(); ++j)
    out.push_back({narrow(src, gate_dim, places[j], 1), narrow(dst, gate_dim, j, 1)});
  return out;
}

}  // namespace relayout
