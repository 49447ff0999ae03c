// Backend: a library that computes primitives in given layouts. The planner asks it which implementations it has and
// how fast they are; the executor runs them.
//
// Each backend is one folder of execute/. A backend sees one primitive at a time and never the plan of a graph. It is
// given layouts; the reorders between them are made without it. The name of an implementation means something to its
// backend only: nothing in relayout/graph reads a meaning out of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/graph/ir/graph.h"

namespace relayout::graph {

/// A memory format that no Layout describes, because its bytes are more than the elements in another order: weights
/// that are transformed (Winograd), packed for a recurrent cell, or stored with compensation terms of int8 products. It
/// is a token: only the backend that gave it reorders into it and out of it. Only constants have such formats.
struct Opaque {
  std::string backend{}, name{};  // "onednn 2.6.3", "s8s8_compensation"
  int64_t bytes = 0;
  /// Equal for equal formats, in every process.
  uint64_t hash = 0;
  friend bool operator==(const Opaque&, const Opaque&) = default;
};

/// A program of the backend that can run a node, with the layout of each operand: sources, then destinations, and
/// nothing for an operand that is absent.
struct Implementation {
  std::string name{};  // as the backend calls it
  std::vector<std::optional<Layout>> src{}, dst{};
  /// A slow implementation, which the backend has so that every node runs. It is chosen only where there is no other.
  bool reference = false;
  /// By source: its opaque format, if it has one; `src` then has the row-major layout that it is reordered from. Empty
  /// where no source has one.
  std::vector<std::optional<Opaque>> opaque{};
  /// It computes by fewer operations that round more than the sums of products that define the primitive, as Winograd's
  /// algorithm does for convolutions. Only who asks for it gets it: neither the layout `any` nor a policy takes it, and
  /// optimize() does where OptimizeOptions::may_round_more says so.
  bool rounds_more = false;
  const std::optional<Opaque>& opaque_src(std::size_t i) const {
    static const std::optional<Opaque> none;
    return i < opaque.size() ? opaque[i] : none;
  }
};

/// How a convolution is computed, as far as its time depends on it.
enum class ConvolutionAlgorithm : uint8_t {
  other,
  /// Loops over channels and positions, one after the other.
  direct,
  /// The source is copied into a matrix of all taps, which is multiplied by the weights (im2col).
  unfolding,
  /// One channel a group: vectors run across the groups.
  depthwise,
  /// Winograd's: tiles of the source and the kernels are transformed, so that a product of matrices for each element of
  /// a tile takes the place of all taps; what comes out is transformed back.
  transforming,
};

/// How fast an implementation is compared with the machine's limits. analytic_costs() predicts times from it. The
/// default describes an implementation of which nothing is known: it reaches the limits, with the smallest vectors.
struct Performance {
  /// The share of the machine's arithmetic (Calibration::flops_per_us) that it reaches. Above 1 where the algorithm
  /// does fewer operations than a direct computation, whose operations are counted.
  double arithmetic = 1;
  /// The share of the bandwidth of caches and memory that it reaches.
  double memory = 1;
  /// The share of memory's bandwidth at which it reads what the caches do not have: weights and inputs.
  double cold = 1;
  /// f32 elements in one vector of the instructions that it uses.
  int lanes = 4;
  /// Whether it does its arithmetic in narrower vectors than the processor has.
  bool narrow = false;
  /// Of convolutions and deconvolutions.
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::other;
  /// Of Winograd's algorithm: how many elements of the destination a tile makes along each spatial dim (m of F(m, r)).
  int tile = 0;
  /// And the share of the second-level cache's bandwidth that its transforms reach.
  double transforms = 1;
  /// If not 0, the implementation goes from one element or product to the next and computes where each lies: how many
  /// nanoseconds one of them (Work::steps) takes on one thread, and each element of the destination besides. Nothing
  /// above counts then.
  double step_ns = 0, dst_ns = 0;
  /// Whether it calls a general matrix multiplication, rather than code that was generated for the node.
  bool multiplies_matrices = false;
  /// Whether it computes post-ops in a pass of their own over the destination.
  bool post_ops_apart = false;
  /// Whether it converts its source to f32 in a pass of its own.
  bool widens = false;
};

/// The layout that an operand should have; nothing stands for any layout.
using LayoutRequest = std::optional<Layout>;

/// A primitive that is ready to run in fixed layouts.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Takes a pointer to element 0 of each operand's buffer, to which the layout's offset0 is added; null for an operand
  /// that is absent. Afterwards the padding of the destinations is zero. Errors: internal (the backend failed).
  virtual void run(std::span<const void* const> src, std::span<void* const> dst) = 0;
  /// Bytes of memory that it needs besides its operands: scratchpad and workspace.
  virtual int64_t scratch_bytes() const { return 0; }
  /// How many of these hold nothing between two runs. Executables that never run at the same time can share them: each
  /// is lent the same memory, of shared_bytes() or more, aligned to 64 bytes, which must outlive its runs. Executables
  /// that are lent none allocate their own in the first run.
  virtual int64_t shared_bytes() const { return 0; }
  virtual void lend(std::byte* memory) { static_cast<void>(memory); }
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Name and version, e.g. "onednn 2.6.3".
  virtual std::string name() const = 0;
  /// Whatever else its implementations and their times depend on in this process, for instance the instruction sets
  /// that it may use. Programs that keep measured times compare this text; it is not meant to be read by people.
  virtual std::string settings() const { return {}; }
  /// Threads that its primitives use, 1 or more. A plan is for this number, as implementations may depend on it.
  virtual int threads() const = 0;
  /// The implementations that can run a node with operands in the requested layouts, the backend's first choice first;
  /// empty if there are none. There is one request for each operand; those of absent operands are ignored. `forward` is
  /// the implementation that is planned for the hint of a backward node, else null. A constant source for which no
  /// layout is requested may have an opaque format. An implementation is left out if a Layout cannot describe another
  /// operand.
  virtual std::vector<Implementation> implementations(const Graph& graph, NodeId node,
                                                      std::span<const LayoutRequest> src,
                                                      std::span<const LayoutRequest> dst,
                                                      const Implementation* forward) const = 0;
  /// How fast one of these implementations is. The planner asks this for every implementation that it prices, so the
  /// answer must not take long.
  virtual Performance performance(const Graph& graph, NodeId node, const Implementation& implementation) const {
    static_cast<void>(graph), static_cast<void>(node), static_cast<void>(implementation);
    return {};
  }
  /// Makes one of these ready to run. `forward` is the executable of the hint, which holds the workspace, else null.
  /// Errors: unsupported (it cannot be made), internal.
  virtual std::unique_ptr<Executable> make(const Graph& graph, NodeId node, const Implementation& implementation,
                                           const Implementation* forward_implementation, Executable* forward) const = 0;
  /// Reorders source `operand` of an implementation from its row-major layout into its opaque format: `dst` has
  /// Opaque::bytes. Errors: unsupported (the backend has no such implementation or reorder), internal.
  virtual void reorder_into(const Graph& graph, NodeId node, const Implementation& implementation, std::size_t operand,
                            const void* src, void* dst) const;
  /// The way back, to row-major. Errors: the same; not every opaque format can be undone.
  virtual void reorder_out_of(const Graph& graph, NodeId node, const Implementation& implementation,
                              std::size_t operand, const void* src, void* dst) const;
};

}  // namespace relayout::graph
