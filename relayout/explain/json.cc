// The report as JSON.
#include "relayout/explain/report.h"
#ifdef RELAYOUT_HAVE_JSON
#include "relayout/explain/json.h"
#endif

namespace relayout::explaining {

#ifdef RELAYOUT_HAVE_JSON
namespace {

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json dims_json(const Tensor& tensor) {
  Json out = Json::array();
  if (tensor.dims) {
    for (const int64_t dim : *tensor.dims) out.push_back(dim);
  }
  return out;
}

Json reorder_json(const Reorder& reorder) {
  Json out;
  if (!reorder.name.empty()) out["name"] = reorder.name;
  out["kind"] = reorder.kind;
  out["src"] = reorder.src.layout;
  out["dst"] = reorder.dst.layout;
  out["dims"] = dims_json(reorder.src);
  if (!reorder.perm.empty()) out["perm"] = reorder.perm;
  out["dtype"] = reorder.src.dtype;
  out["to_dtype"] = reorder.dst.dtype;
  out["places"] = reorder.places;
  out["times"] = reorder.times;
  out["runs"] = reorder.runs;
  out["ms"] = number(reorder.ms);
  out["typical_ms"] = number(reorder.typical_ms);
  out["share"] = reorder.share;
  out["bytes"] = reorder.bytes;
  out["gbps"] = number(reorder.gbps());
  out["copy_ms"] = number(reorder.copy_ms);
  out["planned_ms"] = number(reorder.planned_ms);
  out["maker"] = reorder.maker;
  out["reader"] = reorder.reader;
  out["verdict"] = name(reorder.verdict);
  out["why"] = reorder.why;
  out["advice"] = reorder.advice;
  out["saves_ms"] = reorder.saves_ms;
  out["implementation"] = reorder.implementation;
  out["bench"] = bench_line(reorder);
  return out;
}

}  // namespace

std::string to_json(const Report& report) {
  Json out;
  out["system"] = report.system;
  out["version"] = report.version;
  out["source"] = report.source;
  out["events"] = report.events;
  out["runs"] = report.runs;
  out["threads"] = report.threads;
  out["machine"] = report.machine;
  out["predicted"] = report.predicted;
  out["ms"] = report.timed ? Json(report.ms) : Json(nullptr);
  out["reorder_ms"] = report.timed ? Json(report.reorder_ms) : Json(nullptr);
  out["run_ms"] = report.timed ? Json(report.run_ms) : Json(nullptr);
  out["run_reorder_ms"] = report.timed ? Json(report.run_reorder_ms) : Json(nullptr);
  out["totals"] = Json::object();
  for (const auto& [verdict, total] : report.totals())
    out["totals"][std::string(name(verdict))] = {
        {"reorders", total.reorders}, {"ms", total.ms}, {"run_ms", total.run_ms}, {"saves_ms", total.saves_ms}};
  out["reorders"] = Json::array();
  for (const Reorder& reorder : report.reorders) out["reorders"].push_back(reorder_json(reorder));
  out["notes"] = report.notes;
  // Names in profiles are whatever their programs called them.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}
#else
std::string to_json(const Report&) {
  throw Error(ErrorCode::unsupported, "explain: this build has no nlohmann-json (nlohmann-json3-dev was not there)");
}
#endif

}  // namespace relayout::explaining
