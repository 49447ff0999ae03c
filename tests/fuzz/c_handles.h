// Handles of the C interface for its fuzzer: right ones, null, freed ones and those of another kind.
#pragma once

#include <sanitizer/asan_interface.h>

#include <cstdlib>
#include <type_traits>
#include <vector>

#include "relayout/relayout_c.h"
#include "tests/fuzz/input.h"

namespace relayout::fuzz {

inline void require(bool law) {
  if (!law) std::abort();
}

/// The handles that calls made. A call gets any of them, whatever kind it asks for.
class Handles {
 public:
  Handles() = default;
  Handles(const Handles&) = delete;
  ~Handles() {
    for (relayout_desc* desc : descs_) relayout_desc_free(desc);
    for (relayout_plan* plan : plans_) relayout_plan_free(plan);
    for (relayout_file* file : files_) relayout_file_close(file);
    for (void* handle : freed_) ASAN_POISON_MEMORY_REGION(handle, kKindBytes);
  }

  template <typename Handle>
  void add(Handle* handle) {
    own<Handle>().push_back(handle);
  }

  template <typename Handle>
  Handle* any(Input& in) {
    const uint8_t choice = in.byte();
    if (choice >= 252) return nullptr;
    if (choice >= 244) return reinterpret_cast<Handle*>(other_kind<Handle>(choice));
    if (choice >= 236 && !freed_.empty()) return reinterpret_cast<Handle*>(freed_[choice % freed_.size()]);
    // Even numbers count from the last one, which a call has just made.
    const std::vector<Handle*>& all = own<Handle>();
    const std::size_t k = choice / 2;
    return all.empty() ? nullptr : all[choice % 2 == 0 ? all.size() - 1 - k % all.size() : k % all.size()];
  }

  /// Frees any handle, and right ones for good.
  template <typename Handle>
  void free(Input& in, void (*free_function)(Handle* handle)) {
    auto* const handle = any<Handle>(in);
    free_function(handle);
    std::vector<Handle*>& all = own<Handle>();
    if (std::erase(all, handle) != 0) keep_freed(handle);
  }

 private:
  static constexpr std::size_t kKindBytes = sizeof(uint64_t);

  template <typename Handle>
  std::vector<Handle*>& own() {
    if constexpr (std::is_same_v<Handle, relayout_desc>)
      return descs_;
    else if constexpr (std::is_same_v<Handle, relayout_plan>)
      return plans_;
    else
      return files_;
  }

  template <typename Handle>
  void* other_kind(std::size_t choice) const {
    std::vector<void*> others;
    if constexpr (!std::is_same_v<Handle, relayout_desc>) others.insert(others.end(), descs_.begin(), descs_.end());
    if constexpr (!std::is_same_v<Handle, relayout_plan>) others.insert(others.end(), plans_.begin(), plans_.end());
    if constexpr (!std::is_same_v<Handle, relayout_file>) others.insert(others.end(), files_.begin(), files_.end());
    return others.empty() ? nullptr : others[choice % others.size()];
  }

  /// The library promises errors for freed handles as long as nothing else has taken their memory. The address
  /// sanitizer sees to that, but would report the read of the number that tells the kind, and may still report every
  /// other one.
  void keep_freed([[maybe_unused]] void* handle) {
#if __has_feature(address_sanitizer)
    ASAN_UNPOISON_MEMORY_REGION(handle, kKindBytes);
    freed_.push_back(handle);
#endif
  }

  std::vector<relayout_desc*> descs_;
  std::vector<relayout_plan*> plans_;
  std::vector<relayout_file*> files_;
  std::vector<void*> freed_;
};

}  // namespace relayout::fuzz
