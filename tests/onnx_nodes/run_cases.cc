// Runs ONNX's node tests, which run.py has written down as folders, and says what became of each.
//
//     onnx_nodes_cases < LIST       one folder a line; one line of output for each: NAME <tab> VERDICT <tab> WHY
//
// A folder has model.onnx, and of each input and output a file tensors/NUMBER.{in,out}: a line with its name, its type
// and its dims, one with the tolerances, then its elements row-major. Verdicts:
//
//     passed       the float64 reference gives what is expected, and so does the plan that is run
//     reference    the reference does, and the backend has no primitives for the model; WHY says which
//     refused      the model is not imported, or has an operator that cannot run; WHY says which
//     wrong        an output has other values, dims, a type or a name than is expected, or the import failed otherwise
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/execute/onednn/backend.h"
#include "relayout/execute/run/execute.h"
#include "relayout/graph/onnx/onnx.h"
#include "relayout/graph/passes/prepare.h"
#include "relayout/graph/plan/propagate.h"
#include "relayout/graph/reference/reference.h"
#include "tests/support/row_major.h"

namespace relayout {
namespace {

using graph::Graph;
using graph::Values;

/// The error that is allowed to a backend's approximations, relative to the largest value of an output.
constexpr double kOfScale = 1e-5;

struct TestTensor {
  std::string name;
  DType dtype = DType::f32;
  Dims dims;
  double relative = 0, absolute = 0;
  std::vector<std::byte> bytes;
};

TestTensor read_tensor(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  TestTensor out;
  std::string line, word;
  std::getline(file, out.name);
  std::getline(file, line);
  std::istringstream words(line);
  words >> out.relative >> out.absolute >> word;
  out.dtype = parse_dtype(word);
  for (int64_t dim = 0; words >> dim;) out.dims.push_back(dim);
  std::ostringstream rest;
  rest << file.rdbuf();
  const std::string data = rest.str();
  const auto bytes = std::as_bytes(std::span(data));
  out.bytes.assign(bytes.begin(), bytes.end());
  return out;
}

std::vector<TestTensor> read_tensors(const std::filesystem::path& folder, const std::string& ending) {
  std::vector<TestTensor> out;
  for (int i = 0;; ++i) {
    const std::filesystem::path path = folder / "tensors" / (std::to_string(i) + ending);
    if (!std::filesystem::exists(path)) return out;
    out.push_back(read_tensor(path));
  }
}

Values values_of(const TestTensor& tensor) {
  return graph::load(tensor.bytes, tensor.dtype, *checked_product(tensor.dims));
}

bool near(double got, double want, const TestTensor& tensor) {
  if (std::isnan(want) || std::isinf(want)) return std::isnan(want) ? std::isnan(got) : got == want;
  return std::abs(got - want) <= tensor.absolute + tensor.relative * std::abs(want);
}

/// What is wrong with an output; empty if nothing is. `of_scale` is a further error that is allowed, relative to the
/// largest finite value that is expected.
std::string difference(const Values& got, const TestTensor& want, double of_scale) {
  const Values expected = values_of(want);
  if (got.size() != expected.size()) return "has " + std::to_string(got.size()) + " elements";
  double scale = 1;
  for (const double value : expected) scale = std::isfinite(value) ? std::max(scale, std::abs(value)) : scale;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (near(got[i], expected[i], want) || std::abs(got[i] - expected[i]) <= of_scale * scale) continue;
    std::ostringstream out;
    out << "element " << i << " is " << got[i] << ", expected " << expected[i];
    return out.str();
  }
  return {};
}

std::string compare(const std::vector<Values>& got, const std::vector<TestTensor>& want, double of_scale = 0) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string what = difference(got[i], want[i], of_scale);
    if (!what.empty()) return want[i].name + ": " + what;
  }
  return {};
}

/// What is wrong with the names, types and dims of a graph's outputs.
std::string compare_outputs(const Graph& graph, const std::vector<TestTensor>& want) {
  if (graph.outputs.size() != want.size()) return std::to_string(graph.outputs.size()) + " outputs";
  for (std::size_t i = 0; i < want.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.outputs[i]);
    if (graph.output_name(i) != want[i].name) return want[i].name + ": is called " + graph.output_name(i);
    if (tensor.dtype != want[i].dtype) {
      return want[i].name + ": is " + std::string(name(tensor.dtype)) + ", expected " +
             std::string(name(want[i].dtype));
    }
    if (tensor.dims != want[i].dims) {
      return want[i].name + ": has dims " + join(tensor.dims, "x") + ", expected " + join(want[i].dims, "x");
    }
  }
  return {};
}

/// The sources of a graph, by name.
std::vector<const TestTensor*> sources_of(const Graph& graph, const std::vector<TestTensor>& inputs) {
  std::vector<const TestTensor*> out;
  for (const graph::TensorId id : graph.inputs) {
    const auto found = std::ranges::find(inputs, graph.tensor(id).name, &TestTensor::name);
    if (found == inputs.end()) throw Error(ErrorCode::internal, "the test has no input " + graph.tensor(id).name);
    out.push_back(&*found);
  }
  return out;
}

std::vector<Values> run_planned(Graph graph, const std::vector<const TestTensor*>& sources) {
  graph::prepare(graph, [](const graph::Graph&, graph::NodeId) { return true; });
  test::make_row_major(graph);
  const auto backend = execute::onednn_backend(1);
  execute::Model model(graph, graph::propagate(graph, *backend, {}), *backend, {.check_padding = true});
  std::vector<execute::Source> given;
  for (const TestTensor* source : sources) {
    given.push_back({{Layout::contiguous(source->dims), source->dtype}, source->bytes.data()});
  }
  test::RowMajorOutputs outputs(graph);
  model.run(given, outputs.destinations);
  std::vector<Values> out;
  for (std::size_t i = 0; i < outputs.memory.size(); ++i) {
    const TensorDesc& desc = outputs.destinations[i].desc;
    out.push_back(graph::load(outputs.memory[i], desc.dtype, desc.layout.elements()));
  }
  return out;
}

struct Verdict {
  std::string verdict, why;
};

Verdict judge(const std::filesystem::path& folder) {
  std::vector<TestTensor> inputs = read_tensors(folder, ".in"), outputs = read_tensors(folder, ".out");
  graph::OnnxModel model;
  try {
    model = graph::read_onnx(folder / "model.onnx");
  } catch (const Error& error) {
    return {error.code() == ErrorCode::unsupported || error.code() == ErrorCode::limit ? "refused" : "wrong",
            error.message()};
  }
  if (!model.warnings.empty()) return {"refused", model.warnings.front()};
  if (const std::string what = compare_outputs(model.graph, outputs); !what.empty()) return {"wrong", what};
  std::vector<Values> values;
  const std::vector<const TestTensor*> sources = sources_of(model.graph, inputs);
  for (const TestTensor* source : sources) values.push_back(values_of(*source));
  if (const std::string what = compare(graph::evaluate(model.graph, values), outputs); !what.empty()) {
    return {"wrong", "the reference: " + what};
  }
  if (!execute::has_onednn()) return {"reference", "this build has no backend"};
  try {
    const std::string what = compare(run_planned(model.graph, sources), outputs, kOfScale);
    return what.empty() ? Verdict{"passed", ""} : Verdict{"wrong", "the plan: " + what};
  } catch (const Error& error) {
    return {error.code() == ErrorCode::unsupported ? "reference" : "wrong", "the plan: " + error.message()};
  }
}

}  // namespace
}  // namespace relayout

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::filesystem::path folder = line;
    relayout::Verdict verdict;
    try {
      verdict = relayout::judge(folder);
    } catch (const std::exception& error) {
      verdict = {"wrong", error.what()};
    }
    std::ranges::replace(verdict.why, '\n', ' ');
    std::cout << folder.filename().string() << '\t' << verdict.verdict << '\t' << verdict.why << std::endl;
  }
}
