// Remembering backend: a backend whose answers are kept, so that each question is asked once on a machine.
//
//     auto onednn = onednn_backend(2);
//     auto backend = remembering_backend(*onednn, default_implementations_file());
//     optimize(graph, *backend, costs);                      // milliseconds where all is known
//
// A backend finds a node's implementations by making descriptors, which takes most of the time of planning. The file is
// lines of text: "relayout-implementations 1"; one line "KEY ANSWER" for each question; "end COUNT". A key is made of
// everything that an answer depends on, like the keys of costs (cost_cache.h). If an answer in the file does not fit
// its question, the backend is asked again. Questions with equal layouts are one question, whatever the strides of dims
// of extent 1; the layouts of its answer have the strides of the first question. Several threads may ask at the same
// time and are answered one after the other. make() is the backend's own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "relayout/core/error.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

class RememberingBackend : public graph::Backend {
 public:
  /// The largest size of a file; answers that would make it larger are not kept.
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  /// Reads the file, if there is one; an empty path: nothing is kept. `backend` must stay.
  RememberingBackend(const graph::Backend& backend, std::filesystem::path file);
  /// Saves; an error is not reported.
  ~RememberingBackend() override;

  std::string name() const override;
  std::string settings() const override;
  int threads() const override;
  std::vector<graph::Implementation> implementations(const graph::Graph& graph, graph::NodeId node,
                                                     std::span<const graph::LayoutRequest> src,
                                                     std::span<const graph::LayoutRequest> dst,
                                                     const graph::Implementation* forward) const override;
  graph::Performance performance(const graph::Graph& graph, graph::NodeId node,
                                 const graph::Implementation& implementation) const override;
  std::unique_ptr<graph::Executable> make(const graph::Graph& graph, graph::NodeId node,
                                          const graph::Implementation& implementation,
                                          const graph::Implementation* forward_implementation,
                                          graph::Executable* forward) const override;
  void reorder_into(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                    std::size_t operand, const void* src, void* dst) const override;
  void reorder_out_of(const graph::Graph& graph, graph::NodeId node, const graph::Implementation& implementation,
                      std::size_t operand, const void* src, void* dst) const override;

  /// Writes new answers together with those that the file has by now; a damaged file is replaced. Errors: io,
  /// unsupported (the file is not one of answers), limit (it is too large).
  void save();
  /// What went wrong when the file was read (corrupt, unsupported, limit, io), or written last. Answers are good
  /// nevertheless, but are not kept unless the file was corrupt and can be replaced.
  const std::optional<Error>& file_error() const;
  /// How many questions were answered from memory or the file, and how many the backend was asked.
  int64_t remembered() const;
  int64_t asked() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<RememberingBackend> remembering_backend(const graph::Backend& backend, std::filesystem::path file = {});

/// "implementations.txt" in the folder of default_cost_file(); empty where that is empty.
std::filesystem::path default_implementations_file();

}  // namespace relayout::execute
