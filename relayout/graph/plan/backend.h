// Backend: what computes primitives in given layouts. The planner asks it which ways there are, the executor runs them.
//
// A backend is one folder (execute/onednn is the tested one). It knows one primitive at a time, never the graph's
// plan: layouts come in, and reorders are not its business.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// One way to run a node: a layout for each operand that is present (sources, then destinations; nothing where absent).
struct Implementation {
  std::string name;  // the backend's, e.g. "brgconv:avx512_core"
  std::vector<std::optional<Layout>> src, dst;
  /// A slow one for completeness: never chosen where another exists.
  bool reference = false;
};

/// What an operand's layout should be: nothing is `any`.
using LayoutRequest = std::optional<Layout>;

/// A primitive made ready in fixed layouts.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Pointers to element 0 of each operand's buffer (offset0 is in the layout); null where absent. Padding of the
  /// destinations is zero afterwards. Errors: internal (the backend failed).
  virtual void run(std::span<const void* const> src, std::span<void* const> dst) = 0;
  /// Memory of its own in bytes: scratchpad and workspace.
  virtual int64_t scratch_bytes() const { return 0; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Name and version, e.g. "onednn 2.6.3".
  virtual std::string name() const = 0;
  /// What else its ways and their times depend on, as it is set in this process: instruction sets, arithmetic of less
  /// precision. For those who keep them; not for people.
  virtual std::string settings() const { return {}; }
  /// Threads that its primitives use, 1 or more. Which ways there are may depend on it, so a plan is for this number.
  virtual int threads() const = 0;
  /// The ways to run a node whose operands are in the requested layouts, the backend's first choice first. Empty where
  /// there is none. `forward` is the implementation planned for the hint of a backward node, else null. LayoutRequests
  /// are one an operand; absent operands are passed over. Layouts that no Layout can say (opaque ones) are left out.
  virtual std::vector<Implementation> implementations(const Graph& graph, NodeId node,
                                                      std::span<const LayoutRequest> src,
                                                      std::span<const LayoutRequest> dst,
                                                      const Implementation* forward) const = 0;
  /// Makes one of these ready. `forward` is the executable of the hint, which holds the workspace, else null. Errors:
  /// unsupported (it cannot be made), internal.
  virtual std::unique_ptr<Executable> make(const Graph& graph, NodeId node, const Implementation& implementation,
                                           const Implementation* forward_implementation, Executable* forward) const = 0;
};

}  // namespace relayout::graph
