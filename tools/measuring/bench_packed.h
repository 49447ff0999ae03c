// relayout bench of packed weights: the flags that only it has, and what it does.
#pragma once

#include <optional>
#include <string>

#include "bench/measure.h"
#include "tools/command/common.h"
#include "tools/input/values.h"

namespace relayout::tools {

struct PackedFlags {
  bool dequantize = false, repack = false;
  std::optional<int64_t> group{};

  bool given() const { return dequantize || repack || group; }
};

void add_packed_flags(Command& command, PackedFlags& flags);

/// A measurement of packed weights, by the flags of bench that it shares with others.
struct PackedBench {
  PackedFlags flags;
  std::optional<std::string> from, to, dims, to_dtype, out;
  /// A flag that is given and means nothing here; "" where there is none.
  std::string other_flag;
  ValueOptions values;
  bool value_flags = false;  // whether any of these is given
};

/// Whether these sides and flags ask for packed weights: values to compute, or a repacking.
bool is_packed_bench(const PackedFlags& flags, const std::optional<std::string>& from);

/// Measures it; writes the JSON to `out`, if that is given, and text or JSON to standard output. Failure (usage): a
/// side that is missing or no packed format, dims that do not fit, and flags that mean nothing here.
int run_packed(const PackedBench& bench, const bench::MeasureOptions& options, bool json);

}  // namespace relayout::tools
