// The planner: which ways a reorder can go, and which of them it goes (internal to reorder). planner.cc is read from
// top to bottom.
//
//     const Answer answer = Planner(request).best();
#pragma once

#include <optional>

#include "relayout/reorder/boxes/box_planner.h"
#include "relayout/reorder/planner/answer.h"

namespace relayout {

class Least;

/// Each way (Tuning::Way) makes an answer of its own, or nothing where the reorder cannot go it; nothing that is made
/// for one way is changed by another.
class Planner {
 public:
  explicit Planner(const Request& request);

  /// The answer that is expected to take the least time, or the one of the way that the request asks for.
  Answer best() const;

 private:
  Answer cheapest() const;
  /// Box by box through the cache.
  Answer each_box() const;
  /// Box by box past the cache, by tiles where boxes share lines.
  void add_past_cache(Least& least) const;
  /// By tiles, those of which runs are put together in the cache, or with `by_lines` those of line programs.
  /// Line programs that alone take `most_ns` nanoseconds are not planned.
  std::optional<Answer> tiles(bool by_lines, double most_ns) const;
  /// The boxes of index tables, which have these tables.
  Answer indexed_boxes(const std::vector<Box>& boxes, const Tables& tables, bool past_cache) const;
  /// All as one line program, through the cache or past it. Nothing where it takes more than `most_ns` nanoseconds.
  std::optional<Answer> program(double most_ns, bool past_cache) const;
  /// Box by box past the cache, those that can be by line programs. Nothing where none can, or where boxes share lines
  /// and one of them cannot.
  std::optional<Answer> lines_past_cache(double most_ns) const;
  /// All by way of buffers in the cache, where that takes less than `share` of what was cheapest before.
  void add_stages(Least& least, double share) const;
  /// Nothing where it cannot be; may be nothing where it takes more than `most_ns` nanoseconds.
  std::optional<Answer> stages(bool past_cache, double most_ns) const;
  /// The boxes of swizzled layouts by way of buffers that permute their runs, and those that cannot go this way one by
  /// one. Nothing where none can.
  std::optional<Answer> unswizzled(bool past_cache) const;

  /// An empty answer with the store that it uses.
  Answer empty(bool streams) const;
  /// Whether bytes can be permuted: none are converted, and the machine has an instruction.
  bool permutes_bytes() const;
  BoxPlanner box_planner(const Answer& answer, const BlockRules& rules) const;
  /// Plans the boxes one by one, each by the method that is expected to be the fastest.
  void add_boxes(Answer& answer) const;
  /// Plans the padding, without that of the dims `filled` (by bit).
  void add_fills(Answer& answer, uint32_t filled) const;
  /// The last choices, for an answer that is taken: what is fetched ahead where both sides are large and the
  /// destination is written through the cache, and padding that is written past the cache even where the boxes are not.
  void fetch_ahead(Answer& answer) const;
  void write_padding_past_cache(Answer& answer) const;

  const Request& request_;
  ConvertedTypes types_;
  /// For what is planned as the request asks, and for what is inside of buffers.
  BlockRules rules_, inner_rules_;
  /// Whether the caller asks for the destination to be written past the cache; and whether that is worth planning.
  bool asked_for_, past_cache_;
};

}  // namespace relayout
