// Runs a primitive. Its memory objects are made once; a run only sets their pointers. See executable.h.
#include "relayout/execute/onednn/executable.h"

#include <algorithm>
#include <cmath>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/onednn/faults.h"
#include "relayout/execute/onednn/post_ops.h"
#include "relayout/execute/own/least_windows.h"
#include "relayout/execute/own/padded_taps.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/own/stray_products.h"
#include "relayout/execute/own/undefined_rows.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Executable;
using graph::Graph;
using graph::kNone;
using graph::Node;

namespace {

Error failure(const Node& node, const std::string& what) {
  return Error(ErrorCode::internal,
               std::string(graph::name(node.kind)) + " '" + escaped(node.name) + "': oneDNN: " + what);
}

class PrimitiveExecutable : public Executable {
 public:
  PrimitiveExecutable(const dnnl::engine& engine, const Graph& graph, const Node& node,
                      const dnnl::primitive_desc& desc, const Layouts& layouts, Executable* forward, int threads,
                      bool whole)
      : stream_(engine), primitive_(desc), threads_(threads), node_(node) {
    const Arguments args = arguments(graph, node);
    for (std::size_t i = 0; i < operand_count(node); ++i) {
      const bool is_src = i < node.src.size();
      const int arg = is_src ? args.src[i] : args.dst[i - node.src.size()];
      Slot slot;
      if (operand(node, i) != kNone && arg != 0) {
        slot.memory = dnnl::memory(desc.query_md(dnnl::query::exec_arg_md, arg), engine, DNNL_MEMORY_NONE);
        slot.offset = layouts[i]->offset0() * bits(graph.tensor(operand(node, i)).dtype) / 8;
        pass(arg, slot.memory);
      }
      (is_src ? src_ : dst_).push_back(std::move(slot));
      if (!is_src && layouts[i] && adds_to(node, i - node.src.size())) {
        const TensorDesc to(*layouts[i], graph.tensor(operand(node, i)).dtype);
        const Dims& dims = to.layout.dims();
        zeros_.push_back(
            {i - node.src.size(), cpu::make_plan({Layout::strided(dims, Dims(dims.size(), 0)), DType::f32}, to)});
      }
      // Zeros must be written to the padding afterwards if the primitive leaves it as it is (reference implementations
      // and softmax) or writes other values there: those that compute over the padding, too, and products, where
      // padding is multiplied by infinity and NaN.
      const bool leaves_padding =
          is_reference(desc.impl_info_str()) || node.kind == graph::Kind::softmax || whole || multiplies_padding(node);
      if (is_src || !layouts[i] || !leaves_padding) continue;
      paddings_.push_back({i - node.src.size(), ZeroPadding(*layouts[i], graph.tensor(operand(node, i)).dtype)});
    }
    if (!node.post_ops.empty()) add_post_ops(engine, graph, node, layouts);
    if (LeastWindows::concern(graph, node)) least_windows_.emplace(graph, node, *layouts[0], *layouts[1]);
    if (UndefinedRows::concern(graph, node)) undefined_rows_.emplace(graph, node, *layouts[0], *layouts[1]);
    const bool winograd = std::string_view(desc.impl_info_str()).find("wino") != std::string_view::npos;
    const bool infers = node.pass == graph::Pass::forward_inference;
    if (infers && (winograd || StrayProducts::in_pairs(graph, node, desc.impl_info_str()) ||
                   StrayProducts::interpolates(graph, node)))
      stray_products_.emplace(graph, node, layouts);
    if (PaddedTaps::concern(graph, node)) padded_taps_.emplace(graph, node, *layouts[1], *layouts[node.src.size()]);
    add_scratchpad(desc.scratchpad_desc(), engine);
    for (int arg : unused_results(graph, node)) {
      add_own(arg, desc.query_md(dnnl::query::exec_arg_md, arg), engine);
    }
    for (const MissingSource& missing : missing_sources(graph, node)) {
      if (const dnnl::memory* result = unused_result(forward, missing.arg)) {
        own_.push_back({missing.arg, *result});
        pass(missing.arg, *result);
        continue;
      }
      add_own(missing.arg, missing.desc, engine);
      const std::size_t count = missing.desc.get_size() / sizeof(float);
      void* elements = own_.back().second.get_data_handle();
      if (missing.arg & DNNL_ARG_ATTR_ZERO_POINTS)
        std::fill_n(static_cast<int32_t*>(elements), count, static_cast<int32_t>(missing.value));
      else
        std::fill_n(static_cast<float*>(elements), count, missing.value);
    }
    add_workspace(desc, engine, forward);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const ThreadScope scope(threads_);
    if (scratchpad_ && scratchpad_.get_data_handle() == nullptr) {
      own_scratchpad_ = allocate(shared_bytes_);
      lend(own_scratchpad_.get());
    }
    for (std::size_t i = 0; i < src_.size(); ++i) src_[i].set(const_cast<void*>(src[i]));
    for (std::size_t i = 0; i < dst_.size(); ++i) dst_[i].set(dst[i]);
    for (const auto& [i, slot] : post_sources_) slot.set(const_cast<void*>(src[i]));
    for (const auto& [i, zeros] : zeros_) cpu::run(zeros, &kZero, dst[i], run_options(threads_));
    const bool undefined = undefined_rows_ && undefined_rows_->may_be_in(src[0]);
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(args_.size()), args_.data());
    if (status != dnnl_success) throw failure(node_, "execution failed with status " + std::to_string(status));
    stream_.wait();
    if (undefined) undefined_rows_->run(src[0], dst[0]);
    if (least_windows_) least_windows_->run(src[0], dst[0]);
    if (stray_products_) stray_products_->run(src, dst[0]);
    if (padded_taps_) padded_taps_->run(src[1], dst[0]);
    for (const auto& [i, padding] : paddings_) padding.run(dst[i]);
  }

  int64_t scratch_bytes() const override { return own_bytes_ + shared_bytes_; }
  int64_t shared_bytes() const override { return shared_bytes_; }
  void lend(std::byte* memory) override {
    if (scratchpad_) scratchpad_.set_data_handle(memory);
  }

 private:
  /// An operand's memory object, and the distance in bytes of its data from the pointer that a run is given.
  struct Slot {
    dnnl::memory memory{};
    int64_t offset = 0;

    void set(void* data) const {
      if (!memory) return;
      dnnl_memory_set_data_handle(memory.get(), static_cast<std::byte*>(data) + offset);
    }
  };

  /// Whether an operand's padding may be multiplied by elements of another operand, or by a factor.
  static bool multiplies_padding(const Node& node) {
    switch (node.kind) {
      case graph::Kind::convolution:
      case graph::Kind::deconvolution:
      case graph::Kind::inner_product:
      case graph::Kind::matmul:
      case graph::Kind::binary: return true;
      case graph::Kind::eltwise: return !std::isfinite(node.as<graph::EltwiseAttributes>().alpha);
      default: return false;
    }
  }

  /// Whether the library adds to a destination: backward cells add to the gradients of their weights and bias.
  static bool adds_to(const Node& node, std::size_t dst) {
    return node.kind == graph::Kind::rnn && !node.forward() && dst >= 3;
  }

  /// The sources that post-ops read, and the bias that is made of them.
  void add_post_ops(const dnnl::engine& engine, const Graph& graph, const Node& node, const Layouts& layouts) {
    const std::optional<LibraryPostOps> post_ops = library_post_ops(graph, node, layouts);
    if (!post_ops) throw failure(node, "no post-ops in the layouts that are planned");
    for (const auto& [arg, i] : post_ops->operands) {
      const DType dtype = graph.tensor(node.src[i]).dtype;
      post_sources_.push_back({i,
                               {dnnl::memory(descriptor(*layouts[i], dtype).value(), engine, DNNL_MEMORY_NONE),
                                layouts[i]->offset0() * bits(dtype) / 8}});
      pass(arg, post_sources_.back().second.memory);
    }
    if (post_ops->bias.empty()) return;
    add_own(DNNL_ARG_BIAS, post_ops->bias_desc, engine);
    std::ranges::copy(post_ops->bias, static_cast<float*>(own_.back().second.get_data_handle()));
  }

  void pass(int arg, const dnnl::memory& memory) { args_.push_back({arg, memory.get()}); }

  void add_own(int arg, const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    const auto bytes = static_cast<int64_t>(desc.get_size());
    if (bytes == 0) return;
    own_.emplace_back(arg, dnnl::memory(desc, engine));
    own_bytes_ += bytes;
    pass(arg, own_.back().second);
  }

  void add_scratchpad(const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    shared_bytes_ = static_cast<int64_t>(desc.get_size());
    if (shared_bytes_ == 0) return;
    scratchpad_ = dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
    pass(DNNL_ARG_SCRATCHPAD, scratchpad_);
  }

  /// Whether the primitive computes this result although the graph does not use it. Of normalizations it computes the
  /// statistics in training and, if the gradient of the shift is wanted, that of a scale.
  static bool computes(const Node& node, int arg) {
    const bool normalizes =
        node.kind == graph::Kind::batch_normalization || node.kind == graph::Kind::layer_normalization;
    if (!normalizes) return true;
    if (node.forward()) return node.pass == graph::Pass::forward_training;
    const bool has_scale = node.src.size() > 1 && node.src[1] != kNone;
    const bool wants_shift = node.dst.size() > 2 && node.dst[2] != kNone;
    return arg == DNNL_ARG_DIFF_SCALE && has_scale && wants_shift;
  }

  /// The results that the primitive computes but the graph does not use. They need memory of their own.
  static std::vector<int> unused_results(const Graph& graph, const Node& node) {
    Node all = node;
    const Arguments asked = arguments(graph, node);
    all.dst.resize(std::max<std::size_t>(node.dst.size(), node.kind == graph::Kind::rnn ? 7 : 3), kNone);
    for (graph::TensorId& tensor : all.dst) tensor = 0;
    std::vector<int> out;
    for (int arg : arguments(graph, all).dst) {
      const bool passed =
          std::ranges::find(asked.dst, arg) != asked.dst.end() || std::ranges::find(asked.src, arg) != asked.src.end();
      if (arg != 0 && !passed && computes(node, arg)) out.push_back(arg);
    }
    return out;
  }

  /// The memory of a forward primitive's result, if the graph does not use that result; else null.
  static const dnnl::memory* unused_result(Executable* forward, int arg) {
    const auto* hint = dynamic_cast<const PrimitiveExecutable*>(forward);
    const bool is_result = arg == DNNL_ARG_DST_ITER || arg == DNNL_ARG_DST_ITER_C;
    if (!hint || !is_result) return nullptr;
    const auto found = std::ranges::find(hint->own_, arg, &std::pair<int, dnnl::memory>::first);
    return found == hint->own_.end() ? nullptr : &found->second;
  }

  void add_workspace(const dnnl::primitive_desc& desc, const dnnl::engine& engine, Executable* forward) {
    const dnnl::memory::desc wanted = desc.workspace_desc();
    const auto bytes = static_cast<int64_t>(wanted.get_size());
    if (bytes == 0) return;
    if (node_.forward()) {
      workspace_ = dnnl::memory(wanted, engine);
      own_bytes_ += bytes;
    } else {
      const auto* hint = dynamic_cast<const PrimitiveExecutable*>(forward);
      if (!hint || !hint->workspace_ || hint->workspace_.get_desc() != wanted) {
        throw Error(ErrorCode::unsupported, std::string(graph::name(node_.kind)) + " '" + escaped(node_.name) +
                                                "': its forward primitive has no workspace that fits");
      }
      workspace_ = hint->workspace_;
    }
    pass(DNNL_ARG_WORKSPACE, workspace_);
  }

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  int threads_;
  Node node_;
  static constexpr float kZero = 0;
  std::vector<Slot> src_{}, dst_{};
  /// By post-op with a source: the number of that source.
  std::vector<std::pair<std::size_t, Slot>> post_sources_{};
  /// Plans that write zeros to the destinations to which the library adds, before a run.
  std::vector<std::pair<std::size_t, Plan>> zeros_{};
  std::vector<std::pair<std::size_t, ZeroPadding>> paddings_{};
  std::optional<LeastWindows> least_windows_{};
  std::optional<UndefinedRows> undefined_rows_{};
  std::optional<PaddedTaps> padded_taps_{};
  std::optional<StrayProducts> stray_products_{};
  std::vector<std::pair<int, dnnl::memory>> own_{};
  dnnl::memory workspace_{}, scratchpad_{};
  Buffer own_scratchpad_{};
  int64_t own_bytes_ = 0, shared_bytes_ = 0;
  std::vector<dnnl_exec_arg_t> args_{};
};

}  // namespace

std::unique_ptr<Executable> make_executable(const dnnl::engine& engine, const Graph& graph, const Node& node,
                                            const dnnl::primitive_desc& desc, const Layouts& layouts,
                                            Executable* forward, int threads, bool whole) {
  try {
    return std::make_unique<PrimitiveExecutable>(engine, graph, node, desc, layouts, forward, threads, whole);
  } catch (const dnnl::error& error) {
    throw failure(node, error.message);
  }
}

}  // namespace relayout::execute
