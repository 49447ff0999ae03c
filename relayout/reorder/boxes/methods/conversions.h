// Boxes whose values are converted on the way: runs that are dense on both sides, transpositions, and all others by way
// of a buffer in the first-level cache (internal to reorder).
#pragma once

#include <array>
#include <optional>

#include "relayout/core/dtype.h"
#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

/// What a conversion depends on besides the box. `computes`: values are scaled or moved by attributes; `sums`: the old
/// values of the destination are read and added.
struct ConvertedTypes {
  DType src, dst;
  bool computes = false, sums = false;
  /// Nanoseconds to convert a value (value_ns()).
  double each = 0;

  bool whole_bytes() const { return bits(src) >= 8 && bits(dst) >= 8; }
  /// Loops over a box of single elements of these types.
  Loops loops(const Box& box) const;
};

/// Nanoseconds that a machine takes to convert a value whose neighbours are converted with it, in the caches.
double value_ns(const ConvertedTypes& types, const Machine& machine);

/// Long runs, converted by themselves.
struct ConvertedRuns {
  static constexpr Told kTold{KernelShape::copy, "convert runs",
                              "runs follow each other on both sides, so that values are converted from run to run"};
  double each = 0;  // nanoseconds to convert a value; so in the methods below

  /// By how much the index of the attribute values grows with each of some steps.
  struct Steps {
    int64_t extent = 1, attribute = 0;
    bool operator==(const Steps&) const = default;
  };
  static constexpr std::size_t kMostAxes = 3;
  static constexpr int64_t kMostPeriod = 256;
  /// To list the attribute values of a period takes about as long as to convert so many periods. In shorter runs pieces
  /// with values of their own are therefore joined with those of other runs, up to so many elements each: from there on
  /// a call for each piece takes less time than to join it.
  static constexpr int64_t kManyPeriods = 8, kLongPiece = 64;
  /// Attribute values repeat in a run after all steps of these axes, the innermost first, as those of channels do that
  /// lie innermost or in blocks. Blocks have whole periods. Where all extents are 1 nothing repeats: the elements of a
  /// run have one value, or each the next one.
  std::array<Steps, kMostAxes> axes{};
  /// The elements of a period.
  int64_t period() const { return axes[0].extent * axes[1].extent * axes[2].extent; }

  bool operator==(const ConvertedRuns&) const = default;
};

/// Rows that are contiguous in the source and columns that are contiguous in the destination.
struct ConvertedTransposition {
  static constexpr Told kTold{
      KernelShape::transpose, "convert and transpose",
      "rows follow each other in the source and columns in the destination, so that squares are transposed"};
  /// As Transposition::pack and Transposition::joins.
  bool pack = false, joins = false;
  /// Whether columns are converted before they are transposed, as narrow elements are transposed faster.
  bool narrows = false;
  double each = 0;

  bool operator==(const ConvertedTransposition&) const = default;
};

/// Anything else: the block is read into a buffer, converted run by run, and written.
struct ConvertedElements {
  Told told() const {
    if (runs)
      return {KernelShape::copy, "convert pieces",
              "only a few values follow each other on both sides, so that they go by a buffer"};
    return {KernelShape::gather, "convert one by one",
            "values follow each other on at most one side, so that they go by a buffer"};
  }

  /// Whether pieces are runs of several values, and not single elements.
  bool runs = false;
  double each = 0;

  bool operator==(const ConvertedElements&) const = default;
};

/// Plans a box that is one run, or whose runs are long or must be cut into values because each has a value of the
/// attributes of its own. Nothing for other boxes.
std::optional<Planned<ConvertedRuns>> plan_converted_runs(const Box& box, const ConvertedTypes& types, bool streams);
/// Plans a box whose runs are short, or have attribute values for each element, and follow each other, as longer runs
/// in which these values repeat. Nothing for other boxes.
std::optional<Planned<ConvertedRuns>> plan_periodic_runs(const Box& box, const ConvertedTypes& types, bool streams);
/// Plans a box as runs along the axis that is dense on both sides, however short they are.
Planned<ConvertedRuns> convert_runs(const Box& box, const ConvertedTypes& types, bool streams);
/// Plans a box of short runs, which are pieces.
Planned<ConvertedElements> plan_converted_pieces(Box box, const ConvertedTypes& types, bool streams,
                                                 const BlockRules& rules);

/// A box without runs, with its rows and columns, and the axes that are left.
struct ConvertedRegion {
  Loops loops;
  Box rest;
  bool transposes = false;
  bool listed = false;  // choose_listed_region()
};
ConvertedRegion choose_converted_region(const Box& box, const ConvertedTypes& types);
/// Whether so few values of a region are converted together that stages are better (stages.h).
bool converts_few(const ConvertedRegion& region, const ConvertedTypes& types);

Planned<ConvertedTransposition> plan_converted_transposition(ConvertedRegion region, const ConvertedTypes& types,
                                                             bool streams, const BlockRules& rules);
Planned<ConvertedElements> plan_converted_elements(ConvertedRegion region, const ConvertedTypes& types, bool streams,
                                                   const BlockRules& rules);

}  // namespace relayout
