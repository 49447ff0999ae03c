// Runs a plan as a list of steps over a table of buffers.
#include "relayout/execute/run/execute.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <tuple>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/execute/run/memory.h"
#include "relayout/execute/run/openmp.h"
#include "relayout/execute/run/order.h"
#include "relayout/execute/run/padding_check.h"
#include "relayout/reorder/padding.h"

namespace relayout::execute {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::kNone;
using graph::NodeId;
using graph::TensorId;

/// A primitive, or a reorder if `executable` is null.
struct RunStep {
  std::string name, implementation;
  bool reference = false;
  graph::Executable* executable = nullptr;
  std::vector<CopyId> src, dst;
  std::optional<Plan> reorder;
  NodeId node = kNone, reader = kNone;  // of a primitive; of a reorder into an opaque format, which the backend makes
  std::size_t operand = 0;              // the source of the reader
};

/// The reorder between a caller's tensor and a copy, kept for the next run with the same descriptor.
struct BoundaryReorder {
  CopyId copy = kNone;
  std::optional<Plan> reorder;
};

using Clock = std::chrono::steady_clock;
int64_t since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

}  // namespace

struct Model::Impl {
  Impl(graph::Graph g, graph::LayoutPlan p, const graph::Backend& backend, const ModelOptions& o)
      : graph(std::move(g)),
        plan(std::move(p)),
        options(o),
        threads(backend.threads()),
        base(plan.copies.size()),
        external(plan.copies.size()) {
    make_steps(backend);
    load_constants(backend);
    share_scratch();
    place_buffers();
  }

  const Copy& copy(CopyId id) const { return plan.copy(id); }
  TensorDesc desc(CopyId id) const { return {copy(id).layout, graph.tensor(copy(id).tensor).dtype}; }
  CopyId root(CopyId id) const { return root_of(plan, id); }
  bool constant(CopyId id) const { return graph.tensor(copy(root(id)).tensor).constant(); }
  std::byte* data(CopyId id) const { return id == kNone ? nullptr : base[static_cast<std::size_t>(root(id))]; }

  void make_steps(const graph::Backend& backend) {
    executables.resize(graph.nodes.size());
    const PlanOrder order = order_of(graph, plan);
    for (const PlanStep& step : order.load) load_steps.push_back(reorder_step(step.reorder));
    for (const PlanStep& step : order.run) {
      steps.push_back(step.node == kNone ? reorder_step(step.reorder) : node_step(step.node, backend));
    }
  }

  RunStep reorder_step(CopyId id) const {
    const Copy& c = copy(id);
    RunStep step{.name = graph.tensor(c.tensor).name, .src = {c.from}, .dst = {id}};
    if (c.opaque) {
      std::tie(step.reader, step.operand) = first_reader(plan, id);
      step.implementation = c.opaque->name;
      return step;
    }
    step.reorder = cpu::make_plan(desc(c.from), desc(id));
    step.implementation = step.reorder->kernel();
    return step;
  }

  RunStep node_step(NodeId id, const graph::Backend& backend) {
    const graph::Node& node = graph.node(id);
    const graph::PlannedNode& planned = plan.nodes[static_cast<std::size_t>(id)];
    if (node.kind == graph::Kind::barrier) {
      const std::string what = escaped(node.as<graph::BarrierAttributes>().operation);
      throw Error(ErrorCode::unsupported, "run: node \"" + escaped(node.name) + "\" is of the unknown operator " + what,
                  "operator", what);
    }
    const graph::Implementation implementation = graph::implementation_of(plan, id);
    std::optional<graph::Implementation> forward;
    graph::Executable* forward_executable = nullptr;
    if (node.hint != kNone) {
      forward = graph::implementation_of(plan, node.hint);
      forward_executable = executables[static_cast<std::size_t>(node.hint)].get();
    }
    std::unique_ptr<graph::Executable>& made = executables[static_cast<std::size_t>(id)];
    made = backend.make(graph, id, implementation, forward ? &*forward : nullptr, forward_executable);
    return {.name = node.name,
            .implementation = planned.implementation,
            .reference = planned.reference,
            .executable = made.get(),
            .src = planned.src,
            .dst = planned.dst,
            .node = id};
  }

  /// Makes constants in their planned formats. Row-major ones are read where the graph keeps them.
  void load_constants(const graph::Backend& backend) {
    for (std::size_t i = 0; i < plan.copies.size(); ++i) {
      const auto id = static_cast<CopyId>(i);
      const Copy& c = plan.copies[i];
      const graph::Tensor& tensor = graph.tensor(c.tensor);
      if (c.view_of != kNone || !tensor.constant()) continue;
      if (c.from == kNone) {
        base[i] = const_cast<std::byte*>(tensor.data->data());  // no step writes to it
      } else {
        memory.constants += c.opaque ? c.opaque->bytes : desc(id).span_bytes();
        base[i] = constants.emplace_back(allocate(c.opaque ? c.opaque->bytes : desc(id).span_bytes())).get();
      }
    }
    for (const RunStep& step : load_steps) {
      if (step.reorder) {
        run_reorder(*step.reorder, data(step.src[0]), data(step.dst[0]));
      } else if (step.reader != kNone) {
        backend.reorder_into(graph, step.reader, graph::implementation_of(plan, step.reader), step.operand,
                             data(step.src[0]), data(step.dst[0]));
      }
    }
  }

  /// Steps run one after the other, so their executables share what they need only while they run.
  void share_scratch() {
    int64_t shared = 0;
    for (const auto& executable : executables) {
      if (!executable) continue;
      memory.scratch += executable->scratch_bytes() - executable->shared_bytes();
      shared = std::max(shared, executable->shared_bytes());
    }
    memory.scratch += shared;
    if (shared == 0) return;
    scratch = allocate(shared);
    for (const auto& executable : executables) {
      if (executable && executable->shared_bytes() > 0) executable->lend(scratch.get());
    }
  }

  void place_buffers() {
    const int end = static_cast<int>(steps.size());
    std::vector<Lifetime> lifetimes(plan.copies.size());
    std::vector<bool> live(plan.copies.size());
    const auto use = [&](CopyId id, int step) {
      if (id == kNone || constant(id)) return;
      const auto at = static_cast<std::size_t>(root(id));
      if (!live[at]) lifetimes[at].first = step;
      live[at] = true;
      lifetimes[at].bytes = desc(root(id)).span_bytes();
      lifetimes[at].last = std::max(lifetimes[at].last, step);
    };
    for (CopyId id : plan.inputs) use(id, -1);
    for (int s = 0; s < end; ++s) {
      for (CopyId id : steps[static_cast<std::size_t>(s)].src) use(id, s);
      for (CopyId id : steps[static_cast<std::size_t>(s)].dst) use(id, s);
    }
    for (CopyId id : plan.outputs) use(id, end);
    memory.activations = place(lifetimes);
    arena = allocate(memory.activations);
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      if (!live[i]) continue;
      memory.activations_unshared += lifetimes[i].bytes;
      base[i] = arena.get() + lifetimes[i].offset;
    }
    inputs.resize(plan.inputs.size());
    outputs.resize(plan.outputs.size());
  }

  void run_reorder(const Plan& reorder, const void* src, void* dst) const {
    cpu::run(reorder, src, dst, run_options(threads));
  }

  /// For one run, buffers of the caller replace those of the arena.
  void bind(CopyId id, void* at) {
    const auto i = static_cast<std::size_t>(id);
    if (!external[i]) external[i] = base[i];
    base[i] = static_cast<std::byte*>(at);
  }
  void unbind() {
    for (std::size_t i = 0; i < external.size(); ++i) {
      if (external[i]) base[i] = std::exchange(external[i], nullptr);
    }
  }

  /// Whether a copy covers all of its buffer: it is the buffer's own copy, was computed in its place, or is another
  /// view of all its elements.
  bool fills_its_buffer(CopyId id) const {
    const TensorDesc own = desc(id), all = desc(root(id));
    return id == root(id) || own == all ||
           (own.dtype == all.dtype && own.layout.dense() && all.layout.dense() &&
            own.layout.offset_range() == all.layout.offset_range());
  }

  /// Whether nodes and reorders can write an output directly into the caller's memory.
  bool direct(std::size_t output, const TensorDesc& wanted) const {
    const CopyId id = plan.outputs[output];
    const auto is_it = [&](CopyId other) { return root(other) == root(id); };
    return desc(id) == wanted && fills_its_buffer(id) && !constant(id) && !wanted.layout.padded() &&
           std::ranges::none_of(plan.inputs, is_it) && std::ranges::count_if(plan.outputs, is_it) == 1;
  }

  /// The reorder of an output to the caller's memory, which is kept for runs with the same description.
  const Plan& output_reorder(std::size_t i, const TensorDesc& to) {
    std::optional<Plan>& reorder = outputs[i].reorder;
    if (!reorder || reorder->dst() != to) reorder = cpu::make_plan(desc(plan.outputs[i]), to);
    return *reorder;
  }

  void check(const TensorDesc& given, TensorId t, std::string_view what, const std::string& name) const {
    const graph::Tensor& tensor = graph.tensor(t);
    if (given.layout.dims() == tensor.dims) return;
    throw Error(ErrorCode::invalid_argument,
                "run: " + std::string(what) + " \"" + escaped(name) + "\" has dims " + join(tensor.dims, "x") +
                    ", given are " + join(given.layout.dims(), "x"),
                escaped(name), join(given.layout.dims(), "x"), join(tensor.dims, "x"));
  }

  void check_count(std::size_t given, std::size_t wanted, const char* what) const {
    if (given == wanted) return;
    throw Error(ErrorCode::invalid_argument,
                "run: the graph has " + std::to_string(wanted) + " " + what + ", given are " + std::to_string(given),
                what, std::to_string(given), std::to_string(wanted));
  }

  /// Calls `one` for each step with what it is and a function that does its work. Ends where it answers false.
  template <typename One>
  bool run(std::span<const Source> sources, std::span<const Destination> destinations, One one) {
    check_count(sources.size(), plan.inputs.size(), "inputs");
    check_count(destinations.size(), plan.outputs.size(), "outputs");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      check(sources[i].desc, graph.inputs[i], "input", graph.tensor(graph.inputs[i]).name);
    }
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      check(destinations[i].desc, graph.outputs[i], "output", graph.output_name(i));
      // A layout that is refused leaves all destinations alone.
      if (!direct(i, destinations[i].desc)) output_reorder(i, destinations[i].desc);
    }
    struct Unbind {
      Impl* impl;
      ~Unbind() { impl->unbind(); }
    } at_end{this};
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      if (direct(i, destinations[i].desc)) bind(root(plan.outputs[i]), destinations[i].data);
    }
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (!take_input(i, sources[i], one)) return false;
    for (RunStep& step : steps) {
      const CopyId made = step.node == kNone ? step.dst[0] : kNone;
      const StepTime what{step.name, step.implementation, made != kNone, step.reference, step.node, made};
      if (!one(what, [&] { run_step(step); })) return false;
    }
    for (std::size_t i = 0; i < destinations.size(); ++i)
      if (!give_output(i, destinations[i], one)) return false;
    return true;
  }

  template <typename One>
  bool take_input(std::size_t i, const Source& source, One& one) {
    const CopyId id = plan.inputs[i];
    if (source.desc == desc(id) && options.input_scale == 1 && !source.desc.layout.padded()) {
      // No step writes into an input's copy, so the copy can be the caller's memory.
      bind(id, const_cast<void*>(source.data));
      return true;
    }
    std::optional<Plan>& reorder = inputs[i].reorder;
    if (!reorder || reorder->src() != source.desc) {
      Attributes attributes;
      if (options.input_scale != 1) attributes.src_scale = {{options.input_scale}, 0};
      reorder = cpu::make_plan(source.desc, desc(id), attributes);
    }
    const StepTime what{graph.tensor(copy(id).tensor).name, reorder->kernel(), true};
    return one(what, [&] { run_reorder(*reorder, source.data, data(id)); });
  }

  template <typename One>
  bool give_output(std::size_t i, const Destination& destination, One& one) {
    const CopyId id = plan.outputs[i];
    if (data(id) == destination.data && direct(i, destination.desc)) return true;
    const Plan& reorder = output_reorder(i, destination.desc);
    const StepTime what{graph.output_name(i), reorder.kernel(), true};
    return one(what, [&] { run_reorder(reorder, data(id), destination.data); });
  }

  void run_step(RunStep& step) {
    if (options.check_padding) {
      for (CopyId id : step.dst) {
        if (id != kNone) poison(step, id);
      }
    }
    if (step.reorder) {
      run_reorder(*step.reorder, data(step.src[0]), data(step.dst[0]));
    } else {
      src_pointers.clear();
      dst_pointers.clear();
      for (CopyId id : step.src) src_pointers.push_back(data(id));
      for (CopyId id : step.dst) dst_pointers.push_back(data(id));
      step.executable->run(src_pointers, dst_pointers);
    }
    if (options.check_padding) check_padding(step);
  }

  /// Sets all bits of the elements and the padding that a step will write, unless it runs in place and still has to
  /// read its source there.
  void poison(const RunStep& step, CopyId id) const {
    const auto is_its_place = [&](CopyId src) { return src != kNone && is_in_place(plan, src, id); };
    if (std::ranges::any_of(step.src, is_its_place)) return;
    const TensorDesc to = desc(id);
    if (copy(id).view_of == kNone) {
      std::memset(data(id), 0xff, static_cast<std::size_t>(to.span_bytes()));
    } else {
      fill_ones(to, data(id));
    }
  }

  void check_padding(const RunStep& step) const {
    for (CopyId id : step.dst) {
      if (id == kNone) continue;
      if (const auto dirty = first_dirty_padding(desc(id), data(id)))
        throw_dirty(step.name, step.implementation, graph.tensor(copy(id).tensor).name, dirty->index);
    }
  }

  graph::Graph graph;
  graph::LayoutPlan plan;
  ModelOptions options;
  int threads;
  std::vector<RunStep> load_steps, steps;
  std::vector<std::unique_ptr<graph::Executable>> executables;  // one for each node
  std::vector<std::byte*> base, external;                       // by copy: where it lies; its own place meanwhile
  std::vector<Buffer> constants;
  Buffer arena, scratch;
  std::vector<BoundaryReorder> inputs, outputs;
  std::vector<const void*> src_pointers;
  std::vector<void*> dst_pointers;
  ModelMemory memory;
};

Model::Model(graph::Graph graph, graph::LayoutPlan plan, const graph::Backend& backend, const ModelOptions& options)
    : impl_(std::make_unique<Impl>(std::move(graph), std::move(plan), backend, options)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::run(std::span<const Source> inputs, std::span<const Destination> outputs) {
  run(inputs, outputs, [](int64_t, int64_t) { return true; });
}

bool Model::run(std::span<const Source> inputs, std::span<const Destination> outputs,
                const std::function<bool(int64_t, int64_t)>& go_on) {
  const auto total = static_cast<int64_t>(impl_->steps.size() + inputs.size() + outputs.size());
  int64_t done = 0;
  const auto one = [&](const StepTime&, const auto& work) {
    if (!go_on(done++, total)) return false;
    work();
    return true;
  };
  return impl_->run(inputs, outputs, one) && go_on(total, total);
}

Profile Model::profile(std::span<const Source> inputs, std::span<const Destination> outputs) {
  Profile out;
  out.steps.reserve(impl_->steps.size() + inputs.size() + outputs.size());
  const Clock::time_point start = Clock::now();
  impl_->run(inputs, outputs, [&](const StepTime& what, const auto& work) {
    const Clock::time_point begin = Clock::now();
    work();
    out.steps.push_back(what);
    out.steps.back().nanoseconds = since(begin);
    return true;
  });
  out.nanoseconds = since(start);
  return out;
}

const graph::Graph& Model::graph() const { return impl_->graph; }
const graph::LayoutPlan& Model::plan() const { return impl_->plan; }
ModelMemory Model::memory() const { return impl_->memory; }

int channel_block() { return cpu::isa().starts_with("avx512") ? 16 : 8; }

}  // namespace relayout::execute
