// A fuzzer's input, taken apart into the arguments of calls.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace relayout::fuzz {

/// Bytes from front to back; zeros behind their end.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return first;
  }
  /// One of 0 to n - 1.
  std::size_t below(std::size_t n) { return byte() % n; }
  /// True for the highest bytes only: what goes wrong in one call of sixteen lets the others get far.
  bool rarely() { return byte() >= 240; }

  /// The next n bytes, or as many as there are.
  std::string_view bytes(std::size_t n) {
    const std::string_view first = rest_.substr(0, n);
    rest_.remove_prefix(first.size());
    return first;
  }
  /// What stands before the next null byte.
  std::string text() {
    const std::string out(rest_.substr(0, rest_.find('\0')));
    rest_.remove_prefix(std::min(rest_.size(), out.size() + 1));
    return out;
  }

  /// Small numbers mostly, negative ones, powers of two, those at the ends of the types, and any.
  int64_t number() {
    using Limits = std::numeric_limits<int64_t>;
    using Small = std::numeric_limits<int32_t>;
    static constexpr std::array<int64_t, 7> kEnds{
        Limits::max(), Limits::min(), Limits::max() - 1,        Limits::max() / 2,
        Small::max(),  Small::min(),  int64_t{Small::max()} + 1};
    const uint8_t kind = byte();
    if (kind < 160) return kind % 10;
    if (kind < 176) return -(kind % 8);
    if (kind < 239) return int64_t{1} << (kind - 176);
    if (kind < 255) return kEnds[kind % kEnds.size()];
    uint64_t out = 0;
    for (int k = 0; k < 8; ++k) out = out << 8 | byte();
    return static_cast<int64_t>(out);
  }
  int32_t number32() { return static_cast<int32_t>(number()); }

 private:
  std::string_view rest_;
};

}  // namespace relayout::fuzz
