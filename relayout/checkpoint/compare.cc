// Compares what a conversion makes with another checkpoint.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "relayout/checkpoint/convert.h"
#include "relayout/checkpoint/parts.h"
#include "relayout/core/packed/packed.h"
#include "relayout/core/print.h"
#include "relayout/cpu/reorder.h"

namespace relayout::checkpoint {
namespace {

/// Elements of a part, as f64. A part of a byte of several elements never comes about.
std::vector<double> values_of(std::span<const std::byte> bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) * 8 / bits(dtype);
  std::vector<double> out(static_cast<std::size_t>(count));
  const Layout layout = Layout::contiguous(Dims{count});
  cpu::run(cpu::cached_plan({layout, dtype}, {layout, DType::f64}), bytes.data(), out.data(), {.threads = 1});
  return out;
}

bool equal_values(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Adds what a part of both sides has, from element `first` of the tensor on.
void add_differences(Comparison& to, int64_t first, std::span<const std::byte> ours, std::span<const std::byte> theirs,
                     DType dtype) {
  const std::vector<double> a = values_of(ours, dtype), b = values_of(theirs, dtype);
  const bool by_bits = is_integer(dtype) && bits(dtype) == 64;  // f64 does not hold all of them
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same_bits = by_bits && std::memcmp(ours.data() + 8 * i, theirs.data() + 8 * i, 8) == 0;
    if (by_bits ? same_bits : equal_values(a[i], b[i])) continue;
    const int64_t at = first + static_cast<int64_t>(i);
    if (to.first < 0) to.first = at;
    ++to.differ;
    if (std::isfinite(a[i]) && std::isfinite(b[i])) to.most = std::max(to.most, std::fabs(a[i] - b[i]));
  }
}

/// Whether one side records what several tensors are together, and the other records nothing.
bool only_recorded(const std::string& a, const std::string& b) {
  if (!a.empty() && !b.empty()) return false;
  const PackedFormat* format = find_packed(a.empty() ? b : a);
  return format != nullptr && !format->one_buffer();
}

/// What differs before any value is looked at; "" for nothing.
std::string difference_of(const Target& target, const CheckpointTensor& other) {
  const TensorSpec& spec = target.spec;
  if (other.problem) return "cannot be read: " + other.problem->message();
  if (spec.shape != other.shape) return "shape " + join(spec.shape, "x") + " and " + join(other.shape, "x");
  const std::string type = spec.type_name.empty() ? std::string(name(spec.dtype)) : spec.type_name;
  const std::string others = other.dtype ? std::string(name(*other.dtype)) : other.type_name;
  if (type != others) return "type " + type + " and " + others;
  if (spec.notes.packed != other.notes.packed && !only_recorded(spec.notes.packed, other.notes.packed)) {
    const auto said = [](const std::string& packed) { return packed.empty() ? "not packed" : "packed as " + packed; };
    return said(spec.notes.packed) + " and " + said(other.notes.packed);
  }
  if (!other.row_major() || other.byte_swapped) return "its elements lie in another order";
  return "";
}

}  // namespace

std::vector<Comparison> compare(const Checkpoint& model, const Conversion& conversion, const Checkpoint& other,
                                const ConvertOptions& options) {
  std::vector<Comparison> out;
  std::vector<std::size_t> wanted;
  std::vector<Contents> contents(conversion.targets.size());
  std::vector<bool> met(other.tensors().size());
  for (std::size_t t = 0; t < conversion.targets.size(); ++t) {
    const Target& target = conversion.targets[t];
    Comparison& one = out.emplace_back(Comparison{.name = target.spec.name});
    one.elements = target.memory.layout.elements();
    const auto at = other.lookup(target.spec.name);
    if (!at) {
      one.difference = "missing";
      continue;
    }
    met[*at] = true;
    one.difference = difference_of(target, other.tensors()[*at]);
    if (!one.difference.empty()) continue;
    contents[t] = other.contents(*at, options.go_on);
    wanted.push_back(t);
  }
  std::mutex mutex;
  each_part(
      model, conversion, wanted, part_options(options),
      [&](std::size_t t, int64_t at, std::span<const std::byte> bytes) {
        const std::span<const std::byte> theirs = contents[t].bytes.subspan(static_cast<std::size_t>(at), bytes.size());
        if (std::memcmp(bytes.data(), theirs.data(), bytes.size()) == 0) return;
        const DType dtype = conversion.targets[t].memory.dtype;
        Comparison part;
        add_differences(part, at * 8 / bits(dtype), bytes, theirs, dtype);
        if (part.differ == 0) return;
        const std::lock_guard lock(mutex);
        Comparison& all = out[t];
        all.differ += part.differ;
        all.most = std::max(all.most, part.most);
        all.first = all.first < 0 ? part.first : std::min(all.first, part.first);
      },
      [](std::size_t) {});
  for (const std::size_t t : wanted)
    if (out[t].differ > 0)
      out[t].difference = std::to_string(out[t].differ) + " of " + std::to_string(out[t].elements) + " elements";
  for (std::size_t i = 0; i < met.size(); ++i)
    if (!met[i]) out.push_back({.name = other.tensors()[i].name, .difference = "left over"});
  return out;
}

}  // namespace relayout::checkpoint
