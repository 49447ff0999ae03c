// Finds implementations by going through all that the library lists, and makes one by finding it there again.
#include "relayout/execute/onednn/backend.h"

#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/onednn/executable.h"
#include "relayout/execute/onednn/faults.h"
#include "relayout/execute/onednn/operands.h"
#include "relayout/execute/onednn/performance.h"
#include "relayout/execute/onednn/post_ops.h"
#include "relayout/execute/own/own.h"
#include "relayout/execute/own/post_ops.h"
#include "relayout/execute/own/widened.h"
#include "relayout/execute/run/openmp.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/plan/cost_key.h"

namespace relayout::execute {

using graph::Backend;
using graph::Executable;
using graph::Graph;
using graph::Implementation;
using graph::kNone;
using graph::LayoutRequest;
using graph::Node;
using graph::NodeId;

namespace {

using Opaques = std::vector<std::optional<graph::Opaque>>;

/// The token of a descriptor that no layout describes; nothing if weights would lose values in it.
std::optional<graph::Opaque> opaque_of(const dnnl::memory::desc& desc, const std::string& backend) {
  if (!keeps_values(desc) || desc.get_size() == 0) return std::nullopt;
  graph::KeyMaker maker;
  for (int64_t number : identity_of(desc)) maker.add(static_cast<uint64_t>(number));
  return graph::Opaque{backend, opaque_name(desc), static_cast<int64_t>(desc.get_size()), maker.key().low};
}

/// The layouts of a primitive's operands as the graph sees them. A constant's opaque format goes to `opaque`, and its
/// layout is row-major. Nothing if no Layout describes another operand.
std::optional<Layouts> layouts_of(const Graph& graph, const Node& node, const Layouts& attempt,
                                  const dnnl::primitive_desc& desc, const std::string& backend, Opaques& opaque) {
  const Arguments args = arguments(graph, node);
  Layouts out = attempt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    // An operand whose layout was requested keeps the strides of the request.
    if (operand(node, i) == kNone || out[i]) continue;
    const int arg = i < node.src.size() ? args.src[i] : args.dst[i - node.src.size()];
    const dnnl::memory::desc md = desc.query_md(dnnl::query::exec_arg_md, arg);
    out[i] = layout_of(md);
    if (out[i]) continue;
    if (!may_be_opaque(graph, node, i)) return std::nullopt;
    opaque.resize(node.src.size());
    opaque[i] = opaque_of(md, backend);
    if (!opaque[i]) return std::nullopt;
    out[i] = Layout::contiguous(graph.tensor(node.src[i]).dims);
  }
  return out;
}

/// The same layouts with offset 0, because where an operand begins in memory does not matter to a primitive. A layout
/// with negative strides, which has no descriptor, is left as it is.
Layouts from_zero(Layouts layouts) {
  for (std::optional<Layout>& layout : layouts) {
    if (layout && !layout->empty() && layout->offset_range().first == layout->offset0()) layout = moved(*layout, 0);
  }
  return layouts;
}

bool satisfies(const Layouts& layouts, const Opaques& opaque, const Layouts& requests) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (requests[i] && i < opaque.size() && opaque[i]) return false;
    if (requests[i] && layouts[i] != requests[i]) return false;
  }
  return true;
}

class OneDnnBackend : public Backend {
 public:
  explicit OneDnnBackend(int threads) : threads_(threads > 0 ? threads : cpu::default_threads()) {}

  std::string name() const override {
    const dnnl_version_t* v = dnnl_version();
    return "onednn " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }
  std::string settings() const override {
    dnnl_fpmath_mode_t precision = dnnl_fpmath_mode_strict;
    dnnl_get_default_fpmath_mode(&precision);
    return std::string(dnnl_version()->hash) + " isa " +
           std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa())) + " hints " +
           std::to_string(static_cast<int>(dnnl::get_cpu_isa_hints())) + " precision " +
           std::to_string(static_cast<int>(precision));
  }
  int threads() const override { return threads_; }

  std::vector<Implementation> implementations(const Graph& graph, NodeId id, std::span<const LayoutRequest> src,
                                              std::span<const LayoutRequest> dst,
                                              const Implementation* forward) const override {
    const Node& node = graph.node(id);
    const ThreadScope scope(threads_);
    const Layouts requests = checked_requests(node, src, dst), bare = from_zero(requests);
    std::vector<Implementation> out;
    walk(graph, node, forward, attempts(graph, node, bare, lead_of(node, forward)),
         [&](const Found& found, Layouts layouts, const Opaques& opaque) {
           if (!satisfies(layouts, opaque, bare) || forgets_nan(graph, node, found.desc.impl_info_str())) return false;
           for (std::size_t i = 0; i < layouts.size(); ++i) {
             if (requests[i]) layouts[i] = moved(*layouts[i], requests[i]->offset0());
           }
           add(out, made(node, name_with_post_ops(node, found.desc.impl_info_str()), layouts, opaque, found.winograd));
           return false;
         });
    if (has_post_ops_behind(node)) {
      const std::vector<LayoutRequest> own(requests.begin(), requests.begin() + std::ssize(node.src) - post(node));
      for (Implementation& each :
           with_post_ops(graph, node, implementations(written_apart(graph, node), 0, own, dst, nullptr), requests)) {
        add(out, std::move(each));
      }
    }
    if (multiplies_bytes(graph, node)) {
      for (Implementation& each : widened(implementations(in_f32(graph, node), 0, src, dst, nullptr)))
        add(out, std::move(each));
    }
    add_whole(graph, node, forward, out);
    for (Implementation& own : own_implementations(graph, node, requests)) add(out, std::move(own));
    std::stable_partition(out.begin(), out.end(), [](const Implementation& i) { return !i.reference; });
    return out;
  }

  graph::Performance performance(const Graph& graph, NodeId id, const Implementation& implementation) const override {
    return performance_of(graph.node(id), implementation);
  }

  std::unique_ptr<Executable> make(const Graph& graph, NodeId id, const Implementation& implementation,
                                   const Implementation* forward_implementation, Executable* forward) const override {
    const Node& node = graph.node(id);
    const ThreadScope scope(threads_);
    if (implementation.name == whole_name(node)) {
      return make_whole(graph, node, implementation, forward_implementation);
    }
    if (is_with_post_ops(implementation)) {
      const Graph apart = written_apart(graph, node);
      return make_with_post_ops(make(apart, 0, without_post_ops(node, implementation), nullptr, nullptr), graph, node,
                                implementation, threads_);
    }
    if (is_widened(implementation)) {
      return make_widened(make(in_f32(graph, node), 0, narrowed_name(implementation), nullptr, nullptr), graph, node,
                          implementation, threads_);
    }
    if (is_own(implementation.name)) return make_own(graph, node, implementation, threads_);
    const Found found = find(graph, node, implementation, forward_implementation);
    if (!found) {
      throw unmade(node, implementation);
    }
    const Layouts planned = joined(implementation.src, implementation.dst);
    return make_executable(engine_, graph, node, found.desc, planned, forward, threads_);
  }

  void reorder_into(const Graph& graph, NodeId id, const Implementation& implementation, std::size_t operand,
                    const void* src, void* dst) const override {
    reorder(graph, id, implementation, operand, const_cast<void*>(src), dst, true);
  }
  void reorder_out_of(const Graph& graph, NodeId id, const Implementation& implementation, std::size_t operand,
                      const void* src, void* dst) const override {
    reorder(graph, id, implementation, operand, const_cast<void*>(src), dst, false);
  }

 private:
  /// The library's reorder between a source's row-major layout and its opaque format.
  void reorder(const Graph& graph, NodeId id, const Implementation& implementation, std::size_t operand, void* src,
               void* dst, bool into) const {
    const Node& node = graph.node(id);
    if (is_with_post_ops(implementation)) {
      return reorder(written_apart(graph, node), 0, without_post_ops(node, implementation), operand, src, dst, into);
    }
    const ThreadScope scope(threads_);
    const Found found = find(graph, node, implementation, nullptr);
    if (!found || !implementation.opaque_src(operand)) throw unmade(node, implementation);
    const dnnl::memory::desc opaque =
        found.desc.query_md(dnnl::query::exec_arg_md, arguments(graph, node).src[operand]);
    const graph::Tensor& tensor = graph.tensor(node.src[operand]);
    const dnnl::memory::desc plain = descriptor(Layout::contiguous(tensor.dims), tensor.dtype).value();
    try {
      dnnl::memory from(into ? plain : opaque, engine_, src), to(into ? opaque : plain, engine_, dst);
      dnnl::stream stream(engine_);
      dnnl::reorder(from, to).execute(stream, from, to);
      stream.wait();
    } catch (const dnnl::error& error) {
      throw Error(error.status == dnnl_unimplemented ? ErrorCode::unsupported : ErrorCode::internal,
                  std::string(graph::name(node.kind)) + " '" + escaped(node.name) + "': oneDNN cannot reorder " +
                      (into ? "into " : "out of ") + implementation.opaque_src(operand)->name + ": " + error.message);
    }
  }

  static Layouts checked_requests(const Node& node, std::span<const LayoutRequest> src,
                                  std::span<const LayoutRequest> dst) {
    if (src.size() > node.src.size() || dst.size() > node.dst.size()) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(graph::name(node.kind)) + " '" + escaped(node.name) + "': more requests than operands");
    }
    std::vector<LayoutRequest> all_src(src.begin(), src.end()), all_dst(dst.begin(), dst.end());
    all_src.resize(node.src.size());
    all_dst.resize(node.dst.size());
    return joined(all_src, all_dst);
  }

  static std::optional<Layout> lead_of(const Node& node, const Implementation* forward) {
    if (node.forward() || !forward || forward->src.empty()) return std::nullopt;
    return from_zero({forward->src[0]})[0];
  }

  static std::ptrdiff_t post(const Node& node) { return static_cast<std::ptrdiff_t>(node.post_sources); }

  static Implementation made(const Node& node, std::string name, const Layouts& layouts, const Opaques& opaque = {},
                             bool winograd = false) {
    const auto middle = layouts.begin() + static_cast<std::ptrdiff_t>(node.src.size());
    const bool reference = is_reference(name);
    return {.name = std::move(name),
            .src = {layouts.begin(), middle},
            .dst = {middle, layouts.end()},
            .reference = reference,
            .opaque = opaque,
            .rounds_more = winograd};
  }

  static void add(std::vector<Implementation>& list, Implementation implementation) {
    const bool known = std::ranges::any_of(list, [&](const Implementation& other) {
      return other.name == implementation.name && other.src == implementation.src && other.dst == implementation.dst &&
             other.opaque == implementation.opaque;
    });
    if (!known) list.push_back(std::move(implementation));
  }

  /// If only reference implementations accept the padded layouts, adds implementations that compute over the padding,
  /// too.
  void add_whole(const Graph& graph, const Node& node, const Implementation* forward,
                 std::vector<Implementation>& list) const {
    const std::vector<Implementation> before = list;
    for (const Implementation& implementation : before) {
      const Layouts layouts = joined(implementation.src, implementation.dst), bare = from_zero(layouts);
      if (!implementation.reference || !takes_whole(node, bare)) continue;
      auto is_faster = [&](const Found& found, const Layouts&, const Opaques&) {
        const std::string_view name = found.desc.impl_info_str();
        return !is_reference(name) && !forgets_nan(graph, node, name);
      };
      if (walk(graph, node, forward, {bare}, is_faster, true)) add(list, made(node, whole_name(node), layouts));
    }
  }

  static std::string whole_name(const Node& node) {
    return "relayout:" + std::string(graph::name(node.kind)) + "+zero_pad";
  }

  std::unique_ptr<Executable> make_whole(const Graph& graph, const Node& node, const Implementation& implementation,
                                         const Implementation* forward) const {
    const Layouts layouts = joined(implementation.src, implementation.dst);
    std::unique_ptr<Executable> out;
    walk(
        graph, node, forward, {from_zero(layouts)},
        [&](const Found& found, const Layouts&, const Opaques&) {
          if (is_reference(found.desc.impl_info_str())) return false;
          out = make_executable(engine_, graph, node, found.desc, layouts, nullptr, threads_, true);
          return true;
        },
        true);
    if (!out) throw unmade(node, implementation);
    return out;
  }

  static Error unmade(const Node& node, const Implementation& implementation) {
    return Error(ErrorCode::unsupported, std::string(graph::name(node.kind)) + " '" + escaped(node.name) +
                                             "': oneDNN has no implementation " + escaped(implementation.name) +
                                             " in the layouts that are planned");
  }

  /// Calls visit(found, layouts, opaque) for every implementation of every attempt, until it returns true: first those
  /// of direct computations, then those of Winograd's algorithm. `whole` is as in descriptors().
  template <typename Visit>
  bool walk(const Graph& graph, const Node& node, const Implementation* forward, const std::vector<Layouts>& list,
            Visit&& visit, bool whole = false) const {
    const bool post_ops = !node.post_ops.empty();
    if (post_ops && !has_post_ops_behind(node)) return false;
    if (divides_by_zero(graph, node)) return false;
    Maker maker{engine_, {}};
    maker.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (const int64_t zero = graph::src_zero_point(node); zero != 0) {
      set_src_zero_point(maker.attr, static_cast<int>(zero));
    }
    Found hint;
    if (!node.forward() && node.hint != kNone) {
      hint = find_hint(graph, node.hint, forward);
      if (!hint) return false;
      maker.hint = &hint.desc;
    }
    for (const bool winograd : {false, true}) {
      if (winograd && (post_ops || !may_use_winograd(graph, node))) break;
      for (const Layouts& attempt : list) {
        if (winograd && attempt[1]) continue;  // weights of a layout are not transformed
        std::optional<OperandDescs> descs = descriptors(graph, node, attempt, whole);
        if (!descs) continue;
        if (post_ops) {
          const std::optional<LibraryPostOps> ops = library_post_ops(graph, node, attempt);
          if (!ops) continue;
          ops->set(maker.attr);
          descs->bias = ops->bias_desc;
        }
        Found found;
        try {
          found = create({graph, node, *descs, maker, winograd});
        } catch (const dnnl::error&) {  // the library rejects these layouts as wrong arguments
          continue;
        }
        if (!found) continue;
        found.winograd = winograd;
        do {
          Opaques opaque;
          const std::optional<Layouts> layouts = layouts_of(graph, node, attempt, found.desc, name(), opaque);
          const std::string_view name_of = found.desc.impl_info_str();
          if (!layouts || is_faulty(graph, node, name_of, *layouts) || (post_ops && is_reference(name_of))) continue;
          if (hint && !continues(node, found.desc, hint.desc)) continue;
          if (visit(found, *layouts, opaque)) return true;
        } while (found.next());
      }
    }
    return false;
  }

  /// Whether a backward primitive can read what this forward one leaves in the workspace. For LRN the library accepts
  /// different implementations on both sides, although each leaves something different there.
  static bool continues(const Node& node, const dnnl::primitive_desc& backward, const dnnl::primitive_desc& forward) {
    const dnnl::memory::desc wanted = backward.workspace_desc();
    if (wanted.get_size() == 0) return true;
    if (wanted != forward.workspace_desc()) return false;
    return node.kind != graph::Kind::lrn || std::string_view(backward.impl_info_str()) == forward.impl_info_str();
  }

  /// The forward primitive that serves as the hint of a backward one: the planned one. If that is one of this project's
  /// own kernels, any primitive in its layouts, else any in the layouts of its sources.
  Found find_hint(const Graph& graph, NodeId id, const Implementation* forward) const {
    const Node& node = graph.node(id);
    if (forward && !is_own(forward->name)) return find(graph, node, *forward, nullptr);
    Found out;
    Layouts requests = forward ? from_zero(joined(forward->src, forward->dst)) : Layouts(operand_count(node));
    const auto take = [&](const Found& found, const Layouts&, const Opaques&) {
      out = copy_of(found);
      return true;
    };
    if (!walk(graph, node, nullptr, attempts(graph, node, requests, std::nullopt), take) && forward) {
      std::fill(requests.begin() + static_cast<std::ptrdiff_t>(node.src.size()), requests.end(), std::nullopt);
      walk(graph, node, nullptr, attempts(graph, node, requests, std::nullopt), take);
    }
    return out;
  }

  /// The implementation of that name in the planned layouts. The list may depend on the number of threads. If this one
  /// is missing, the first one in these layouts is taken, preferably not a reference.
  Found find(const Graph& graph, const Node& node, const Implementation& wanted, const Implementation* forward) const {
    const Layouts planned = from_zero(joined(wanted.src, wanted.dst));
    Layouts requests = planned;
    for (std::size_t i = 0; i < wanted.src.size(); ++i) {
      if (wanted.opaque_src(i)) requests[i].reset();
    }
    Found out;
    bool out_is_reference = false;
    walk(graph, node, forward, attempts_for(graph, node, requests),
         [&](const Found& found, const Layouts& layouts, const Opaques& opaque) {
           if (layouts != planned || opaque != wanted.opaque) return false;
           const std::string name = name_with_post_ops(node, found.desc.impl_info_str());
           const bool is_wanted = wanted.name == name, reference = is_reference(name);
           if (!out || is_wanted || (out_is_reference && !reference)) {
             out = copy_of(found);
             out_is_reference = reference;
           }
           return is_wanted;
         });
    return out;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> onednn_backend(int threads) { return std::make_unique<OneDnnBackend>(threads); }

bool has_onednn() { return true; }

}  // namespace relayout::execute
