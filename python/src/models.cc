// The extension module relayout._models: models of .onnx files, planned and run.
//
// relayout/_model.py is what a user sees. It stands apart from relayout._native, because oneDNN and ONNX take longer to
// load than all the rest.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/watch.h"
#include "relayout/relayout.h"

namespace nb = nanobind;

namespace {

using namespace relayout;

/// What Watched has to say of long work that asks by `check`, or by a question whether to stop.
void check(python::Watched& work) {
  if (!work.go_on()) throw Error(ErrorCode::interrupted, "ended before there was a plan");
}

/// The names of the speeds that a caller may know already.
constexpr std::pair<const char*, double graph::Calibration::*> kSpeeds[] = {
    {"flops_per_us", &graph::Calibration::flops_per_us},
    {"near_bytes_per_us", &graph::Calibration::near_bytes_per_us},
    {"cache_bytes_per_us", &graph::Calibration::cache_bytes_per_us},
    {"memory_bytes_per_us", &graph::Calibration::memory_bytes_per_us},
    {"call_us", &graph::Calibration::call_us},
    {"step_us", &graph::Calibration::step_us},
    {"narrow_share", &graph::Calibration::narrow_share}};

/// Those that the caller gives; nothing for None.
std::optional<graph::Calibration> given_speeds(nb::handle said) {
  if (said.is_none()) return std::nullopt;
  graph::Calibration out;
  for (const auto& [name, speed] : kSpeeds) {
    const nb::object found = nb::steal(PyMapping_GetItemString(said.ptr(), name));
    if (!found.is_valid()) {
      if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw nb::python_error();
      PyErr_Clear();
      throw Error(ErrorCode::invalid_argument, std::string("speeds has no ") + name, "speeds", name);
    }
    out.*speed = PyFloat_AsDouble(found.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  if (nb::len(said) == std::size(kSpeeds)) return out;
  throw Error(ErrorCode::invalid_argument, "speeds has other keys than Model.speeds", "speeds", nb::repr(said).c_str());
}

/// The shapes of arrays that the model will be run with: with the names of their inputs, or with "" in their order.
using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// Refuses names of arrays that no input of the model has.
void check_names(const Shapes& shapes, const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + escaped(name);
  for (const auto& [name, dims] : shapes) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                "the model has no input \"" + escaped(name) + "\"; its inputs are " + list + did_you_mean(name, names),
                "inputs", escaped(name), list);
  }
}

std::vector<std::optional<Dims>> dims_of_arrays(const Shapes& shapes, std::span<const graph::OnnxInput> inputs) {
  std::vector<std::string_view> names;
  for (const graph::OnnxInput& input : inputs) names.push_back(input.name);
  check_names(shapes, names);
  std::vector<std::optional<Dims>> out(inputs.size());
  const bool named = std::ranges::any_of(shapes, [](const auto& shape) { return !shape.first.empty(); });
  if (!named && shapes.size() != inputs.size()) {
    throw Error(ErrorCode::invalid_argument,
                "the model has " + std::to_string(inputs.size()) + " inputs, and " + std::to_string(shapes.size()) +
                    " arrays are given",
                "inputs", std::to_string(shapes.size()), std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto found = named ? std::ranges::find(shapes, inputs[i].name, &Shapes::value_type::first)
                             : shapes.begin() + static_cast<std::ptrdiff_t>(i);
    if (found == shapes.end()) continue;
    if (found->second.size() > static_cast<std::size_t>(kMaxDims)) {
      throw Error(ErrorCode::limit, "an array has more than " + std::to_string(kMaxDims) + " dims", inputs[i].name,
                  std::to_string(found->second.size()), std::to_string(kMaxDims));
    }
    out[i] = Dims(std::span<const int64_t>(found->second));
  }
  return out;
}

/// Reads the model. The error about a dim that nothing says tells how to give it.
graph::OnnxModel read_model(const std::string& path, const graph::OnnxOptions& options) {
  try {
    return graph::read_onnx(path, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || error.field() != "dims") throw;
    throw Error(ErrorCode::invalid_argument,
                error.message() + "; give dims={'" + error.value() + "': N}, or inputs whose shapes show it",
                error.field(), error.value());
  }
}

/// The machine's speeds, which one model after the other measures until they are reliable. The process keeps those.
execute::Calibrated measured_machine(const graph::Backend& backend, python::Watched& work) {
  static std::mutex mutex;
  static std::optional<execute::Calibrated> kept;
  const std::lock_guard lock(mutex);
  if (!kept || kept->unreliable) kept = execute::calibrate(backend, {.check = [&] { check(work); }});
  return *kept;
}

/// A model with its cheapest plan, ready to run.
class PlannedModel {
 public:
  /// `dims` and `batch` as in OnnxOptions; `shapes` as in dims_of_arrays().
  PlannedModel(nb::handle file, double input_scale, nb::handle speeds,
               const std::vector<std::pair<std::string, int64_t>>& dims, int64_t batch, const Shapes& shapes) {
    const std::string path = python::path_of(file);
    graph::OnnxOptions options{.batch = batch, .dims = dims};
    if (!shapes.empty())
      options.dims_of_arrays = [&](std::span<const graph::OnnxInput> in) { return dims_of_arrays(shapes, in); };
    const auto known = given_speeds(speeds);
    python::Watched work{nb::handle()};
    try {
      make(path, options, shapes, input_scale, known, work);
    } catch (const Error&) {
      if (!work.failed()) throw;
    }
    work.finish();
  }

  /// (name, dims, dtype) of each tensor.
  nb::list inputs() const {
    nb::list out;
    for (const graph::TensorId t : graph_.inputs) out.append(described(graph_.tensor(t).name, t));
    return out;
  }
  nb::list outputs() const {
    nb::list out;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      out.append(described(graph_.output_name(i), graph_.outputs[i]));
    return out;
  }

  /// (name, implementation, layouts of sources, layouts of destinations) of each primitive.
  nb::list nodes() const {
    nb::list out;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const graph::PlannedNode& node = best_.plan.nodes[i];
      out.append(nb::make_tuple(graph_.nodes[i].name, node.implementation, layouts(node.src), layouts(node.dst)));
    }
    return out;
  }
  std::vector<std::string> reorders() const {
    std::vector<std::string> out;
    for (const graph::CopyId reorder : best_.plan.reorders(graph_)) out.push_back(best_.plan.copy(reorder).reason);
    return out;
  }

  nb::dict cost() const {
    nb::dict out;
    out["primitives_us"] = predicted_.primitives;
    out["reorders_us"] = predicted_.reorders;
    out["cost_us"] = best_.cost_us;
    out["optimal"] = best_.optimal;
    out["gap"] = best_.gap;
    return out;
  }
  nb::dict speeds() const {
    nb::dict out;
    for (const auto& [name, speed] : kSpeeds) out[name] = speeds_.*speed;
    return out;
  }
  /// The plan beside those of all policies, as a page. The backend is asked for these anew.
  std::string page(const std::string& title) const {
    const auto backend = execute::onednn_backend();
    const auto costs = graph::analytic_costs(speeds_, *backend);
    std::vector<graph::PlanToShow> plans = {
        {.policy = "optimal", .plan = &best_.plan, .predicted = &predicted_, .cost_us = best_.cost_us}};
    std::vector<std::optional<graph::LayoutPlan>> rivals(graph::kPolicyCount);
    std::vector<graph::PredictedCost> prices(graph::kPolicyCount);
    for (std::size_t p = 0; p < rivals.size(); ++p) {
      const auto policy = static_cast<graph::Policy>(p);
      graph::PlanToShow& shown = plans.emplace_back(graph::PlanToShow{.policy = std::string(name(policy))});
      try {
        rivals[p] = graph::propagate(graph_, *backend, {.policy = policy, .block = execute::channel_block()});
        prices[p] = graph::predict(graph_, *rivals[p], *costs);
        shown.plan = &*rivals[p];
        shown.predicted = &prices[p];
      } catch (const Error& error) {
        shown.problem = error.message();
      }
    }
    return show::plan_html(graph::plan_scene(graph_, title, plans));
  }
  std::string explanation() const { return graph::explain(graph_, best_, predicted_, "analytic"); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Arrays with their types, one an input and one an output, in the graph's order.
  void run(nb::handle in, nb::handle out, nb::handle progress) {
    std::vector<std::unique_ptr<python::Array>> held;
    std::vector<execute::Source> src;
    std::vector<execute::Destination> dst;
    const auto take = [&](nb::handle item) -> std::pair<TensorDesc, std::byte*> {
      const auto fields = nb::cast<nb::tuple>(item);
      held.push_back(std::make_unique<python::Array>(fields[0]));
      return held.back()->tensor(parse_dtype(nb::cast<std::string>(fields[1])));
    };
    for (nb::handle item : in) {
      const auto [desc, data] = take(item);
      src.push_back({desc, data});
    }
    for (nb::handle item : out) {
      const auto [desc, data] = take(item);
      dst.push_back({desc, data});
    }
    python::Watched work(progress);
    {
      const std::lock_guard lock(running_);
      model_->run(src, dst, [&](int64_t done, int64_t total) { return work.go_on(done, total); });
    }
    work.finish();
  }

 private:
  void make(const std::string& path, const graph::OnnxOptions& options, const Shapes& shapes, double input_scale,
            const std::optional<graph::Calibration>& known, python::Watched& work) {
    if (!graph::has_onnx()) throw Error(ErrorCode::unsupported, "this build lacks ONNX (Debian: libonnx-dev)", "path");
    if (!execute::has_onednn())
      throw Error(ErrorCode::unsupported, "this build lacks oneDNN (Debian: libdnnl-dev)", "path");
    graph::OnnxModel read = read_model(path, options);
    warnings_ = std::move(read.warnings);
    graph_ = std::move(read.graph);
    std::vector<std::string_view> names;
    for (const graph::TensorId t : graph_.inputs) names.push_back(graph_.tensor(t).name);
    check_names(shapes, names);  // also where the file says all dims
    const auto backend = execute::onednn_backend();
    const graph::Widened widened = graph::prepare(
        graph_, [&](const graph::Graph& g, graph::NodeId n) { return graph::has_implementation(*backend, g, n); });
    if (widened.nodes > 0) warnings_.push_back(text_of(widened, backend->name()));
    graph::make_ends_row_major(graph_);
    const execute::Calibrated machine =
        known ? execute::calibrate(*backend, {.known = known}) : measured_machine(*backend, work);
    if (machine.unreliable)
      warnings_.push_back("the machine is busy: predicted times may be wrong by orders of magnitude");
    speeds_ = machine.speeds;
    const solve::SolveOptions search{.stop = [&] { return !work.go_on(); }};
    const auto costs = graph::analytic_costs(speeds_, *backend);
    best_ = graph::optimize(graph_, *backend, *costs, {.solve = search});
    graph::explain_reorders(graph_, best_, search);
    check(work);
    predicted_ = graph::predict(graph_, best_.plan, *costs);
    model_.emplace(graph_, best_.plan, *backend, execute::ModelOptions{.input_scale = input_scale});
  }

  nb::tuple described(const std::string& name_of, graph::TensorId t) const {
    const graph::Tensor& tensor = graph_.tensor(t);
    return nb::make_tuple(name_of, python::tuple_of(tensor.dims), std::string(name(tensor.dtype)));
  }
  std::vector<std::string> layouts(const auto& copies) const {
    std::vector<std::string> out;
    const graph::LayoutNames names(graph_);
    for (const graph::CopyId id : copies) {
      if (id == graph::kNone) continue;  // an operand that is absent
      out.push_back(names.of(best_.plan.copy(id)));
    }
    return out;
  }

  graph::Graph graph_;
  graph::OptimalPlan best_;
  graph::PredictedCost predicted_;
  graph::Calibration speeds_;
  std::vector<std::string> warnings_;
  std::optional<execute::Model> model_;
  std::mutex running_;  // one thread at a time may run a model
};

}  // namespace

namespace relayout::python {
void bind_explain(nb::module_& module);  // explain.cc
}

NB_MODULE(_models, module) {
  nb::set_leak_warnings(std::getenv("RELAYOUT_LEAK_WARNINGS") != nullptr);  // as in native.cc
  module.doc() = "Models in C++. Use relayout.plan() and relayout.run().";
  python::raise_as_python_exceptions();
  python::find_numpy();
  nb::class_<PlannedModel>(module, "PlannedModel")
      .def(nb::init<nb::handle, double, nb::handle, const std::vector<std::pair<std::string, int64_t>>&, int64_t,
                    const Shapes&>(),
           nb::arg("path"), nb::arg("input_scale") = 1.0, nb::arg("speeds") = nb::none(),
           nb::arg("dims") = std::vector<std::pair<std::string, int64_t>>(), nb::arg("batch") = 0,
           nb::arg("shapes") = Shapes())
      .def("inputs", &PlannedModel::inputs)
      .def("outputs", &PlannedModel::outputs)
      .def("nodes", &PlannedModel::nodes)
      .def("reorders", &PlannedModel::reorders)
      .def("cost", &PlannedModel::cost)
      .def("speeds", &PlannedModel::speeds)
      .def("explanation", &PlannedModel::explanation)
      .def("page", &PlannedModel::page, nb::arg("title"))
      .def("warnings", &PlannedModel::warnings)
      .def("run", &PlannedModel::run, nb::arg("inputs"), nb::arg("outputs"), nb::arg("progress").none());
  python::bind_explain(module);
}
