// Cutting a destination, and comparing its patches.
#include "relayout/cpu/generated/patterns.h"

#include <algorithm>

namespace relayout::cpu {
namespace {

/// Whether patches of `count` elements lie alike in the source, `apart` bytes from each other.
bool alike(const int32_t* a, const int32_t* b, std::size_t count, int64_t apart) {
  const auto by = static_cast<int32_t>(apart);
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = a[i] < 0 ? a[i] == b[i] : b[i] >= 0 && b[i] - a[i] == by;
    if (!same) return false;
  }
  return true;
}

class Patches {
 public:
  Patches(const Origins& origins, std::size_t most) : origins_(origins), most_(most) {}

  /// Adds a patch; false where it makes too many patterns.
  bool add(int64_t dst, int64_t bytes) {
    const Instance here{first_origin(origins_, dst, bytes), dst};
    const int32_t* const at = origins_.at.data() + dst / origins_.element;
    // Most patches are like the one before.
    for (std::size_t k = 0; k < patterns_.size(); ++k) {
      const std::size_t p = (last_ + k) % patterns_.size();
      Pattern& pattern = patterns_[p];
      const Instance& first = pattern.instances[0];
      if (pattern.bytes != bytes || !alike(origins_.at.data() + first.dst / origins_.element, at,
                                           static_cast<std::size_t>(bytes / origins_.element), here.src - first.src))
        continue;
      pattern.instances.push_back(here);
      last_ = p;
      return true;
    }
    last_ = patterns_.size();
    patterns_.push_back({bytes, {here}});
    return patterns_.size() <= most_;
  }

  std::vector<Pattern>& patterns() { return patterns_; }

 private:
  const Origins& origins_;
  std::size_t most_, last_ = 0;
  std::vector<Pattern> patterns_;
};

}  // namespace

std::pair<int64_t, int64_t> Pattern::reach() const {
  const auto [least, most] = std::ranges::minmax(instances, {}, &Instance::src);
  return {least.src, most.src};
}

int64_t first_origin(const Origins& origins, int64_t dst, int64_t bytes) {
  for (int64_t i = dst / origins.element; i < (dst + bytes) / origins.element; ++i) {
    if (const int32_t at = origins.at[static_cast<std::size_t>(i)]; at >= 0) return at;
  }
  return 0;
}

std::optional<std::vector<Pattern>> patterns_of(const Origins& origins, const Cut& cut, int64_t src_bytes,
                                                std::size_t most) {
  const int64_t total = origins.bytes();
  Patches patches(origins, most);
  for (int64_t begin = 0; begin < total; begin += cut.period) {
    const int64_t end = std::min(total, begin + cut.period), patch = std::min(cut.patch, end - begin);
    for (int64_t at = begin; at < end; at += patch) {
      if (!patches.add(std::min(at, end - patch), patch)) return std::nullopt;
    }
  }
  auto& patterns = patches.patterns();
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    while (patterns[k].instances.size() > 1) {
      const auto [least, largest] = patterns[k].reach();
      if (largest - least <= src_bytes - kCacheLine) break;
      patterns.push_back({patterns[k].bytes, {patterns[k].instances.back()}});
      patterns[k].instances.pop_back();
      if (patterns.size() > most) return std::nullopt;
    }
  }
  return std::move(patterns);
}

}  // namespace relayout::cpu
