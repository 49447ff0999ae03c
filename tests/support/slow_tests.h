// The two tiers of tests: those that always run, and those that ./scripts/test --slow adds.
//
//     const int64_t cases = number_from("RELAYOUT_CASES", slow_tests() ? 1'000'000 : 50'000);
#pragma once

#include <cstdint>
#include <cstdlib>

namespace relayout::test {

/// A number from the environment, or `otherwise` if the variable is not set.
inline int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<int64_t>(std::strtoull(text, nullptr, 0)) : otherwise;
}

/// Whether the slow tier is asked for (RELAYOUT_SLOW_TESTS=1): more random cases, and larger ones.
inline bool slow_tests() { return number_from("RELAYOUT_SLOW_TESTS", 0) != 0; }

}  // namespace relayout::test
