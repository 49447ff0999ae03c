// What tests of reorders past the caches share: the bytes that the reference gives, and a choice of instruction sets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/cpu/reorder.h"
#include "relayout/reorder/reference.h"
#include "tests/support/guarded.h"
#include "tests/support/testing.h"

namespace relayout::test {

/// Writes past the caches, whatever the size.
inline constexpr Tuning kAlways{.stream = Tuning::Stream::always};

/// A reorder's source, and its destination as the reference makes it. Bytes of the destination that are neither
/// elements nor padding stay as they were.
class StreamedExpected {
 public:
  StreamedExpected(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {})
      : src_(src.span_bytes(), Guarded::Side::end), bytes_(static_cast<std::size_t>(dst.span_bytes()), kBefore) {
    std::ranges::copy(counting(src.span_bytes()), src_.data());
    reference_reorder(src, src_.data(), dst, bytes_.data(), attributes);
  }

  /// Runs the plan into a buffer `past` bytes after the start of a page, once for each number of threads.
  void expect_of(const Plan& plan, int64_t past, std::initializer_list<int> threads) const {
    const auto size = static_cast<int64_t>(bytes_.size());
    Guarded dst(size, Guarded::Side::start, past);
    for (const int count : threads) {
      std::ranges::fill(dst.bytes(), kBefore);
      cpu::run(plan, src_.data(), dst.data(), {.threads = count, .grain_bytes = 1});
      const auto at = std::ranges::mismatch(dst.bytes(), bytes_).in1 - dst.bytes().begin();
      ASSERT_EQ(at, size) << "the first byte that differs, of a destination " << past << " bytes past a page, " << count
                          << " threads, " << cpu::isa() << "\n"
                          << plan.explain();
      ASSERT_TRUE(dst.intact());
    }
  }

 private:
  static constexpr std::byte kBefore{0x5c};
  Guarded src_;  // nothing after its end is read
  std::vector<std::byte> bytes_;
};

/// The best instruction set in every other turn, and each of the others in the turns between.
inline std::string_view isa_of_turn(int64_t turn) {
  const auto isas = cpu::available_isas();
  return turn % 2 == 0 ? isas.back() : isas[static_cast<std::size_t>(turn / 2) % isas.size()];
}

inline std::string describe(const TensorDesc& src, const TensorDesc& dst) {
  return join(src.layout.dims()) + " " + std::string(name(src.dtype)) + " -> " + std::string(name(dst.dtype));
}

}  // namespace relayout::test
