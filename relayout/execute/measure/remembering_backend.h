// Remembering backend: what a backend offers, asked once for every machine.
//
//     auto onednn = onednn_backend(2);
//     auto backend = remembering_backend(*onednn, default_ways_file());
//     optimize(graph, *backend, costs);                      // milliseconds where all is known
//
// A backend finds its implementations by making descriptors, which takes the time of planning. The file is lines of
// text: "relayout-ways 1", one "KEY ANSWER" a question, "end COUNT". Keys tell everything apart that an answer depends
// on, as those of costs do (cost_cache.h); an answer that does not fit the question is asked anew. Requests that are
// equal are one question, however they are spelt: layouts of an answer are spelt as those that were asked first had it.
// Threads may ask at the same time, one after the other gets its answer; make() is as the backend's own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "relayout/core/error.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

class RememberingBackend : public graph::Backend {
 public:
  /// Of a file; fewer answers are kept where they would be more.
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

  /// Reads the file, if there is one; an empty path: nothing is kept. `backend` must stay.
  RememberingBackend(const graph::Backend& backend, std::filesystem::path file);
  /// Saves, and keeps quiet where that fails.
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

  /// Writes what is new, joined with what the file has by now; a damaged file is replaced. Errors: io, and those of a
  /// file that is another's (unsupported) or too large (limit).
  void save();
  /// What went wrong with reading the file (corrupt, unsupported, limit, io), or with writing it last: answers are good
  /// nevertheless, but are not kept, other than in place of a corrupt one.
  const std::optional<Error>& file_error() const;
  /// Questions that were answered from memory, and those that were not.
  int64_t remembered() const;
  int64_t asked() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<RememberingBackend> remembering_backend(const graph::Backend& backend, std::filesystem::path file = {});

/// Beside default_cost_file(): "ways.txt"; empty where that is.
std::filesystem::path default_ways_file();

}  // namespace relayout::execute
