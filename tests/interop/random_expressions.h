// Random layout expressions of every kind, for tests of what holds for all layouts.
//
//     RandomExpressions random(seed);
//     const Expression e = random.next();              // kind "tvm", text "tvm:NCHW16c", dims 2,17,5,4
//     Format::parse(e.text).bind(e.dims);              // has a layout: expressions that are refused are not given
//
// Kinds come one after the other, so that any number of calls has all of them alike. Every second expression of each
// kind ends in views. The same seed gives the same expressions on every machine.
#pragma once

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/format.h"

namespace relayout::test {

struct Expression {
  std::string_view kind;
  std::string text;
  Dims dims;
};

/// Random numbers that are the same everywhere, which those of std::uniform_int_distribution are not.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : engine_(seed) {}

  /// low <= result <= high.
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return pick(1, n) == 1; }
  /// One of a list.
  template <typename List>
  auto one_of(const List& list) {
    return list[static_cast<std::size_t>(pick(0, static_cast<int64_t>(std::size(list)) - 1))];
  }
  template <typename List>
  void shuffle(List& list) {
    for (std::size_t k = list.size(); k > 1; --k)
      std::swap(list[k - 1], list[static_cast<std::size_t>(pick(0, static_cast<int64_t>(k) - 1))]);
  }

 private:
  std::mt19937_64 engine_;
};

class RandomExpressions {
 public:
  explicit RandomExpressions(uint64_t seed) : random_(seed) {}

  /// All kinds: "plain tag", "blocked tag", "strides", "cute", ...
  static std::vector<std::string_view> kinds();
  /// The next expression. std::logic_error where the generator's own text, without views, does not bind.
  Expression next();
  RandomNumbers& numbers() { return random_; }

 private:
  void add_views(Expression& expression);

  RandomNumbers random_;
  std::size_t count_ = 0;
};

/// A random view, such as ".narrow(1,0,3)", whose dims and extents are those of `layout`; some are refused by bind().
std::string random_view(RandomNumbers& random, const Layout& layout);

}  // namespace relayout::test
