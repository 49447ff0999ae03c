// Explains and fixes ONNX models: see explain_model.h.
#include "tools/planning/explain_model.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "relayout/core/system_error.h"
#include "relayout/execute/run/execute.h"
#include "relayout/explain/onnx_model.h"
#include "relayout/graph/passes/prepare.h"
#include "relayout/graph/plan/propagate.h"
#include "relayout/graph/reference/reference.h"
#include "tools/planning/model.h"

namespace relayout::tools {
namespace {

using graph::Graph;

/// By how much of an output's largest value two runs may differ, which add numbers in other orders.
constexpr double kSameWithin = 1e-3;

/// Values of an input by its number, the same for both models: small, and whole numbers for integer types.
graph::Values random_values(const graph::Tensor& tensor, std::size_t number) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(number + 1));
  graph::Values out(static_cast<std::size_t>(Layout::contiguous(tensor.dims).elements()));
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& value : out) {
    value = uniform(random);
    if (!is_floating(tensor.dtype)) value = value > 0 ? 1 : 0;
  }
  return out;
}

/// The outputs by the backend and, where it does not take the model, by the reference.
std::vector<graph::Values> outputs_of(const Graph& g) {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<graph::Values> values;
  std::vector<execute::Source> src;
  std::vector<execute::Destination> dst;
  const auto desc = [&](graph::TensorId t) {
    return TensorDesc(Layout::contiguous(g.tensor(t).dims), g.tensor(t).dtype);
  };
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    values.push_back(random_values(g.tensor(g.inputs[i]), i));
    in.push_back(graph::store(values.back(), g.tensor(g.inputs[i]).dtype));
  }
  for (std::size_t i = 0; i < g.inputs.size(); ++i) src.push_back({desc(g.inputs[i]), in[i].data()});
  for (const graph::TensorId t : g.outputs) out.emplace_back(static_cast<std::size_t>(desc(t).span_bytes()));
  for (std::size_t i = 0; i < g.outputs.size(); ++i) dst.push_back({desc(g.outputs[i]), out[i].data()});
  try {
    const auto backend = make_backend(0);
    Graph ready = g;
    graph::prepare(ready, [&](const Graph& whole, graph::NodeId n) { return has_implementation(*backend, whole, n); });
    execute::Model model(ready, graph::propagate(ready, *backend, propagate_options(graph::Policy::nchw)), *backend);
    model.run(src, dst);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return graph::evaluate(g, values);
  }
  std::vector<graph::Values> loaded;
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    const graph::Tensor& tensor = g.tensor(g.outputs[i]);
    loaded.push_back(graph::load(out[i], tensor.dtype, desc(g.outputs[i]).layout.elements()));
  }
  return loaded;
}

/// The largest difference of two runs, as a share of the largest value of its output.
double difference(const std::vector<graph::Values>& a, const std::vector<graph::Values>& b) {
  double out = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].size() != b[i].size()) return INFINITY;
    double scale = 0, apart = 0;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (std::isnan(a[i][k]) && std::isnan(b[i][k])) continue;
      if (a[i][k] == b[i][k]) continue;
      scale = std::max(scale, std::abs(a[i][k]));
      apart = std::max(apart, std::abs(a[i][k] - b[i][k]));
      if (!std::isfinite(a[i][k] - b[i][k])) return INFINITY;
    }
    for (const double value : a[i]) {
      if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    }
    if (apart > 0) out = std::max(out, apart / scale);
  }
  return out;
}

double check_same(const std::string& path, const std::string& fixed) {
  // Dims without a value count as 2 here, so that they do not pass for dims that are broadcast.
  const graph::OnnxOptions options{.unknown_extent = 2};
  const auto bytes = std::as_bytes(std::span(fixed.data(), fixed.size()));
  const Graph before = from_data([&] { return graph::read_onnx(path, options).graph; });
  const Graph behind = from_data([&] { return graph::parse_onnx(bytes, options).graph; });
  const double apart = from_data([&] { return difference(outputs_of(before), outputs_of(behind)); });
  if (apart > kSameWithin)
    throw Error(ErrorCode::internal,
                fmt::format("explain: the fixed model differs from \"{}\" by {:.2g} of an output's scale; nothing was "
                            "written, and this is a mistake of relayout",
                            escaped(path), apart));
  return apart;
}

void write_model(const std::string& path, const std::string& bytes, bool force) {
  std::error_code ignored;
  if (!force && std::filesystem::exists(path, ignored))
    throw Failure(kIo,
                  Error(ErrorCode::io, "create \"" + escaped(path) + "\": the file exists and is not to be overwritten",
                        "overwrite", escaped(path)));
  const std::string part = path + ".relayout-part";
  std::ofstream file(part, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    std::filesystem::remove(part, ignored);
    throw Failure(
        kIo, Error(ErrorCode::io, "write \"" + escaped(path) + "\": the system refuses it", "path", escaped(path)));
  }
}

}  // namespace

ExplainedModel explain_model(const std::string& path, const std::optional<std::string>& fix, bool force,
                             const explaining::MachineTimes& machine) {
  const graph::OnnxTransposes found =
      from_data([&] { return graph::move_transposes(path, {}, explaining::cost_on(machine)); });
  ExplainedModel out;
  out.report = from_data(
      [&] { return explaining::explain(explaining::trace_of_model(path, found, machine), {.machine = machine}); });
  if (!fix) return out;
  const double apart = check_same(path, found.model);
  write_model(*fix, found.model, force);
  const bool timed = machine.planned_ms != nullptr;
  out.done = fmt::format("\n{} has {} in place of {}", escaped(*fix, 200),
                         counted(std::ssize(found.after), "transposition"), found.before.size());
  out.done +=
      timed ? fmt::format(": {:.4g} ms in place of {:.4g} ms are predicted here.", found.cost_after, found.cost_before)
            : ".";
  out.done += fmt::format(" Both were run on random inputs: outputs are {}.\n",
                          apart == 0 ? "equal to the bit" : fmt::format("equal up to {:.1g} of their scale", apart));
  out.json = {{"out", *fix}, {"before", found.before.size()}, {"after", found.after.size()}, {"difference", apart}};
  if (timed) out.json["before_ms"] = found.cost_before, out.json["after_ms"] = found.cost_after;
  return out;
}

}  // namespace relayout::tools
