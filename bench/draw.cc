// Numbers from a seed, by integers alone.
#include "bench/draw.h"

#include <vector>

namespace relayout::bench {
namespace {

__extension__ using Wide = unsigned __int128;

std::mt19937_64 generator(std::initializer_list<uint64_t> seed) {
  std::vector<uint32_t> words;
  for (uint64_t number : seed) {
    words.push_back(static_cast<uint32_t>(number));
    words.push_back(static_cast<uint32_t>(number >> 32));
  }
  std::seed_seq sequence(words.begin(), words.end());
  return std::mt19937_64(sequence);
}

/// Whether r^n <= x.
bool power_fits(int64_t r, int n, int64_t x) {
  for (int i = 0; i < n; ++i) {
    x /= r;
    if (x == 0) return false;
  }
  return true;
}

bool is_prime(int64_t x) {
  if (x < 2) return false;
  for (int64_t i = 2; i * i <= x; ++i) {
    if (x % i == 0) return false;
  }
  return true;
}

}  // namespace

Draw::Draw(std::initializer_list<uint64_t> seed) : random_(generator(seed)) {}

int64_t Draw::below(int64_t n) {
  const Wide product = static_cast<Wide>(random_()) * static_cast<uint64_t>(n);
  return static_cast<int64_t>(product >> 64);
}

int64_t Draw::log_uniform(int64_t least, int64_t most) {
  int64_t octaves = 1;
  while (least << octaves <= most) ++octaves;
  for (;;) {
    const int64_t base = least << below(octaves);
    const int64_t x = base + below(base);
    if (below(x) < base && x <= most) return x;
  }
}

int64_t integer_root(int64_t x, int n) {
  int64_t least = 1, most = x;
  while (least < most) {
    const int64_t middle = least + (most - least + 1) / 2;
    if (power_fits(middle, n, x)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

int64_t prime_up_to(int64_t x) {
  while (x > 2 && !is_prime(x)) --x;
  return x < 2 ? 2 : x;
}

}  // namespace relayout::bench
