// Drawing numbers from a seed, such that a seed means the same on every machine and with every standard library.
//
//     Draw draw({seed, 3, 0});
//     draw.below(6);                        // 0 to 5, each as likely
//     draw.log_uniform(10'000, 4'000'000);  // each octave as likely
//
// The generator is std::mt19937_64, seeded by std::seed_seq: the C++ standard defines every bit of both. It does not
// define its distributions, so the numbers are made here, by integers alone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <utility>

namespace relayout::bench {

class Draw {
 public:
  /// Every number of the list counts with its lower and its upper 32 bits, in this order.
  explicit Draw(std::initializer_list<uint64_t> seed);

  /// From 0 to n - 1: the upper 64 bits of the product of n and the generator's next number. n >= 1.
  int64_t below(int64_t n);
  /// From `least` to `most`, both included.
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }

  /// From `least` to `most`, both included, where x is drawn with a probability proportional to 1 / x. 1 <= least <=
  /// most <= 2^61. With b = least * 2^below(octaves), where octaves is the least number for which least * 2^octaves >
  /// most, x is b + below(b); x is taken where below(x) < b and x <= most, and else all of this is done again.
  int64_t log_uniform(int64_t least, int64_t most);

  template <typename List>
  auto pick(const List& list) {
    const std::span all(list);
    return all[static_cast<std::size_t>(below(static_cast<int64_t>(all.size())))];
  }

  /// Puts the list into a random order: for i from its last place down to 1, the entries i and below(i + 1) change
  /// places.
  template <typename List>
  void shuffle(List& list) {
    for (int64_t i = static_cast<int64_t>(std::size(list)) - 1; i > 0; --i) {
      std::swap(list.begin()[i], list.begin()[below(i + 1)]);
    }
  }

 private:
  std::mt19937_64 random_;
};

/// The largest r for which r^n <= x. x >= 1, n >= 1.
int64_t integer_root(int64_t x, int n);
/// The largest prime that is not above x; 2 where there is none.
int64_t prime_up_to(int64_t x);

}  // namespace relayout::bench
