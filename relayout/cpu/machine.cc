// Cache sizes from sysfs, and speeds from a file.
#include "relayout/cpu/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

#include "relayout/core/error.h"
#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/speeds.h"

namespace relayout::cpu {
namespace {

namespace fs = std::filesystem;

/// The first word of a file of a few bytes; "" if it has none or cannot be read.
std::string first_word(const fs::path& path) {
  char word[32] = {};
  std::ifstream file(path);
  file.width(sizeof word);
  file >> word;
  return word;
}

/// Parses a size such as "32K", "8M" or "4096".
std::optional<int64_t> size_in_bytes(const std::string& text) {
  static constexpr int64_t kMost = int64_t{1} << 32;  // limits the number before its unit, so that no product overflows
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0 || value > kMost) return std::nullopt;
  const std::string unit(end, text.data() + text.size());
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  if (unit == "G") return value << 30;
  return unit.empty() ? std::optional(value) : std::nullopt;
}

/// The smallest and the largest plausible size of a level of cache.
struct SizeRange {
  int64_t least, most;
  bool has(int64_t bytes) const { return bytes >= least && bytes <= most; }
};
constexpr SizeRange kL1{4 << 10, 1 << 20}, kL2{64 << 10, 128 << 20}, kL3{256 << 10, int64_t{1} << 30};

}  // namespace

Machine read_machine(const fs::path& folder) {
  static constexpr int kMostIndices = 16;
  std::optional<int64_t> l1, l2, l3;
  bool third_level = false;
  for (int i = 0; i < kMostIndices; ++i) {
    const fs::path index = folder / ("index" + std::to_string(i));
    const std::string level = first_word(index / "level"), type = first_word(index / "type");
    if (type != "Data" && type != "Unified") continue;
    third_level |= level == "3";
    const std::optional<int64_t> bytes = size_in_bytes(first_word(index / "size"));
    if (!bytes) continue;
    if (level == "1" && kL1.has(*bytes)) l1 = bytes;
    if (level == "2" && kL2.has(*bytes)) l2 = bytes;
    if (level == "3" && kL3.has(*bytes)) l3 = bytes;
  }
  Machine out;
  out.l1 = l1.value_or(out.l1);
  out.l2 = std::max(out.l1, l2.value_or(out.l2));
  out.l3 = std::max(out.l2, l3 ? *l3 : l2 && !third_level ? *l2 : out.l3);
  return out;
}

const Machine& machine() noexcept {
  static const Machine known = [] {
    try {
      Machine out = read_machine("/sys/devices/system/cpu/cpu0/cache");
      out.permuted_bytes = kernels().permuted_bytes;
      try {
        if (const auto speeds = load_speeds(speeds_file())) out.speeds = *speeds;
      } catch (const Error&) {  // a file that cannot be used changes nothing; `relayout doctor` says why
      }
      return out;
    } catch (...) {  // no memory for a path
      return Machine{};
    }
  }();
  return known;
}

}  // namespace relayout::cpu
