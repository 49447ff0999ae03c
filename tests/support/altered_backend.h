// Another backend's implementations, with something done when one is made and after each of its runs. Tests use it to
// make kernels fail, or to let them take a given share of a FakeStopwatch's time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "relayout/graph/plan/backend.h"

namespace relayout::test {

class AlteredBackend : public graph::Backend {
 public:
  /// The other backend must outlive this one.
  explicit AlteredBackend(const graph::Backend& backend) : backend_(backend) {}
  std::string name() const override { return backend_.name(); }
  std::string settings() const override { return more_settings + backend_.settings(); }
  int threads() const override { return backend_.threads(); }
  std::vector<graph::Implementation> implementations(const graph::Graph& graph, graph::NodeId node,
                                                     std::span<const graph::LayoutRequest> src,
                                                     std::span<const graph::LayoutRequest> dst,
                                                     const graph::Implementation* forward) const override {
    return backend_.implementations(graph, node, src, dst, forward);
  }
  std::unique_ptr<graph::Executable> make(const graph::Graph& graph, graph::NodeId node,
                                          const graph::Implementation& implementation,
                                          const graph::Implementation* forward_implementation,
                                          graph::Executable* forward) const override {
    if (fails) throw Error(*fails, "failing");
    on_make();
    auto made = backend_.make(graph, node, implementation, forward_implementation, forward);
    return std::make_unique<Altered>(std::move(made), [this, number = made_++] { after_run(number); });
  }

  void reorder_into(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                    std::size_t operand, const void* src, void* dst) const override {
    backend_.reorder_into(graph, node, implementation, operand, src, dst);
  }
  void reorder_out_of(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                      std::size_t operand, const void* src, void* dst) const override {
    backend_.reorder_out_of(graph, node, implementation, operand, src, dst);
  }

  /// The error of make(); nothing if it succeeds.
  std::optional<ErrorCode> fails;
  std::string more_settings;
  std::function<void()> on_make = [] {};
  /// Called after each run with the executable's number. Executables are numbered from 0 in the order in which they are
  /// made.
  std::function<void(int number)> after_run = [](int) {};

 private:
  class Altered : public graph::Executable {
   public:
    Altered(std::unique_ptr<graph::Executable> executable, std::function<void()> after)
        : executable_(std::move(executable)), after_(std::move(after)) {}
    void run(std::span<const void* const> src, std::span<void* const> dst) override {
      executable_->run(src, dst);
      after_();
    }

   private:
    std::unique_ptr<graph::Executable> executable_;
    std::function<void()> after_;
  };

  const graph::Backend& backend_;
  mutable int made_ = 0;
};

}  // namespace relayout::test
