// Checks the copies of a plan first, then its nodes: see validate.h.
#include "relayout/graph/plan/validate.h"

#include <algorithm>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

/// The longest chain of reorders of one tensor that is accepted. Planners make shorter ones, because they try fewer
/// layouts.
constexpr std::size_t kMostReorders = 64;
/// Layouts may have gaps, so a buffer may be larger than its layout's elements and padding: at most kMostGaps times as
/// many elements, plus kSmallGaps.
constexpr int64_t kMostGaps = 4, kSmallGaps = 4096;
/// The most bytes of an opaque format for one element: Winograd's transform of a 3x3 kernel to 6x6 has 16 in f32.
constexpr int64_t kMostOpaque = 256;

class Validation {
 public:
  Validation(const Graph& graph, const LayoutPlan& plan)
      : graph_(graph), plan_(plan), explained_(plan.copies.size(), false) {}

  void run() {
    for (std::size_t c = 0; c < plan_.copies.size(); ++c) check_links(static_cast<CopyId>(c));
    for (std::size_t c = 0; c < plan_.copies.size(); ++c) check_memory(static_cast<CopyId>(c));
    if (plan_.nodes.size() != graph_.nodes.size()) {
      refuse("the plan has " + std::to_string(plan_.nodes.size()) + " primitives, the model " +
             std::to_string(graph_.nodes.size()));
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) check_node(graph_.nodes[n], plan_.nodes[n]);
    check_operands("the inputs", plan_.inputs, graph_.inputs);
    check_operands("the outputs", plan_.outputs, graph_.outputs);
    for (std::size_t c = 0; c < plan_.copies.size(); ++c) {
      if (plan_.copies[c].view_of != kNone && !explained_[c]) {
        refuse(named(static_cast<CopyId>(c)) +
               " is in the memory of another copy, but no view, concat or in-place node puts it there");
      }
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "plan: " + what, "plan");
  }
  std::string named(CopyId id) const {
    return "copy " + std::to_string(id) + " of \"" + escaped(graph_.tensor(plan_.copy(id).tensor).name) + "\"";
  }
  bool exists(CopyId id) const { return id >= 0 && static_cast<std::size_t>(id) < plan_.copies.size(); }

  void check_links(CopyId id) const {
    const Copy& copy = plan_.copy(id);
    if (copy.tensor < 0 || static_cast<std::size_t>(copy.tensor) >= graph_.tensors.size()) {
      refuse("copy " + std::to_string(id) + " is of no tensor of the model");
    }
    const Tensor& tensor = graph_.tensor(copy.tensor);
    if (copy.layout.dims() != tensor.dims) {
      refuse(named(id) + " has dims " + join(copy.layout.dims(), "x") + ", the tensor " + join(tensor.dims, "x"));
    }
    for (CopyId other : {copy.from, copy.view_of}) {
      if (other != kNone && !exists(other)) refuse(named(id) + " refers to copy " + std::to_string(other));
    }
    if (copy.from != kNone && plan_.copy(copy.from).tensor != copy.tensor) {
      refuse(named(id) + " is a reorder of another tensor");
    }
    follow(id, &Copy::from, kMostReorders);
    // Each link of a view_of chain is made by another node, so the chain has no more links than the graph has nodes.
    follow(id, &Copy::view_of, graph_.nodes.size());
  }

  void follow(CopyId id, CopyId Copy::*link, std::size_t most) const {
    CopyId at = id;
    for (std::size_t i = 0; i <= most; ++i) {
      at = plan_.copy(at).*link;
      if (at == kNone) return;
      if (!exists(at)) return;  // check_links() reports it for the copy `at`
    }
    refuse(named(id) + " is at the end of more than " + std::to_string(most) + " copies, or of itself");
  }

  /// An opaque copy is made by the backend from a row-major constant, and only nodes read it.
  void check_opaque(CopyId id) const {
    const Copy& copy = plan_.copy(id);
    for (CopyId other : {copy.from, copy.view_of}) {
      if (other != kNone && plan_.copy(other).opaque) refuse(named(id) + " is made of a copy in an opaque format");
    }
    if (!copy.opaque) return;
    const auto is_read = [&](CopyId output) { return output == id; };
    if (std::ranges::any_of(plan_.inputs, is_read) || std::ranges::any_of(plan_.outputs, is_read) ||
        !graph_.tensor(copy.tensor).constant() || copy.from == kNone || copy.view_of != kNone ||
        plan_.copy(copy.from).from != kNone || copy.layout != Layout::contiguous(copy.layout.dims())) {
      refuse(named(id) + " is in an opaque format, which only a constant that is given row-major may have");
    }
    if (copy.opaque->bytes < 0 || copy.opaque->bytes / kMostOpaque > copy.layout.elements() + kSmallGaps)
      refuse(named(id) + " would take " + std::to_string(copy.opaque->bytes) + " bytes");
  }

  void check_memory(CopyId id) const {
    const Copy& copy = plan_.copy(id);
    check_opaque(id);
    const Layout& layout = copy.layout;
    const bool given = copy.from == kNone && copy.view_of == kNone && graph_.tensor(copy.tensor).constant();
    if (given && layout != Layout::contiguous(layout.dims()))
      refuse(named(id) + " is a constant, and constants must be row-major");
    if (layout.empty()) return;
    if (copy.view_of != kNone) {
      CopyId root = id;
      while (plan_.copy(root).view_of != kNone) root = plan_.copy(root).view_of;
      const DType dtype = graph_.tensor(copy.tensor).dtype, other = graph_.tensor(plan_.copy(root).tensor).dtype;
      if (bits(dtype) != bits(other) || layout.offset_range().first < 0 ||
          layout.span() > plan_.copy(root).layout.span()) {
        refuse(named(id) + " does not fit in the memory of " + named(root));
      }
      return;
    }
    if (!layout.injective_with_padding()) refuse(named(id) + " has a layout in which several elements share memory");
    if (layout.span() / kMostGaps > layout.padded_elements() + kSmallGaps) {
      refuse(named(id) + " would take memory for " + std::to_string(layout.span()) + " elements");
    }
  }

  void check_operands(const std::string& of, const std::vector<CopyId>& copies, const std::vector<TensorId>& tensors) {
    if (copies.size() != tensors.size()) {
      refuse(of + " are " + std::to_string(copies.size()) + ", the model has " + std::to_string(tensors.size()));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const bool fits =
          tensors[i] == kNone ? copies[i] == kNone : exists(copies[i]) && plan_.copy(copies[i]).tensor == tensors[i];
      if (!fits)
        refuse(of + ": number " + std::to_string(i) + " is copy " + std::to_string(copies[i]) +
               ", of another tensor than the model's");
    }
  }

  void check_node(const Node& node, const PlannedNode& planned) {
    const std::string called = std::string(name(node.kind)) + " \"" + escaped(node.name) + "\"";
    check_operands("sources of " + called, planned.src, node.src);
    check_operands("destinations of " + called, planned.dst, node.dst);
    for (CopyId dst : planned.dst) {
      if (dst != kNone && plan_.copy(dst).from != kNone) refuse(named(dst) + " is a reorder, and written by " + called);
    }
    const auto explain = [&](CopyId id, const std::optional<Layout>& wanted, const std::string& as) {
      if (!wanted || plan_.copy(id).layout != *wanted) refuse(named(id) + " is not " + as + " " + called);
      explained_[static_cast<std::size_t>(id)] = true;
    };
    if (node.kind == Kind::concat && planned.implementation == "view") {
      for (std::size_t i = 0; i < planned.src.size(); ++i) {
        if (plan_.copy(planned.src[i]).view_of != planned.dst[0])
          refuse(named(planned.src[i]) + " is no part of " + called);
        explain(planned.src[i], concat_part(graph_, node, i, plan_.copy(planned.dst[0]).layout), "the part of");
      }
      return;
    }
    const CopyId dst = planned.dst.empty() ? kNone : planned.dst[0], src = planned.src.empty() ? kNone : planned.src[0];
    const bool view = planned.implementation == "view";
    if (view && (!is_view(node.kind) || plan_.copy(dst).view_of != src)) refuse(called + " is no view");
    if (dst == kNone || src == kNone || plan_.copy(dst).view_of != src) return;
    if (view) return explain(dst, view_layout(node, plan_.copy(src).layout), "the view that is made by");
    if (!can_overwrite_source(graph_, node)) refuse(called + " cannot write over its source");
    explain(dst, plan_.copy(src).layout, "in place of the source of");
  }

  std::optional<Layout> view_layout(const Node& node, const Layout& src) const {
    try {
      return view_of(graph_, node, src);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::needs_copy) throw;
      return std::nullopt;
    }
  }

  const Graph& graph_;
  const LayoutPlan& plan_;
  /// By copy: whether a view, a concat or a node in place explains why it lies in another copy's memory.
  std::vector<bool> explained_;
};

}  // namespace

void validate(const Graph& graph, const LayoutPlan& plan) { Validation(graph, plan).run(); }

}  // namespace relayout::graph
