// What Debian's emscripten lacks of C++20's library (libc++ 14), for the build of the core for pages alone: the
// algorithms of std::ranges that the library uses, in their plainest form. The compiler includes it first in each file.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace std {

template <typename T>
requires is_unbounded_array_v<T> unique_ptr<T> make_unique_for_overwrite(size_t count) {
  return unique_ptr<T>(new remove_extent_t<T>[count]);
}

namespace ranges {

/// A question about two members, or about one, as a question about the elements that have them.
template <typename Less, typename Projection>
auto projected_both(Less& less, Projection& projection) {
  return [&](const auto& a, const auto& b) { return invoke(less, invoke(projection, a), invoke(projection, b)); };
}
template <typename Test, typename Projection>
auto projected_test(Test& test, Projection& projection) {
  return [&](const auto& value) -> bool { return invoke(test, invoke(projection, value)); };
}
template <typename T, typename Projection>
auto projected_equal(const T& wanted, Projection& projection) {
  return [&](const auto& value) -> bool { return invoke(projection, value) == wanted; };
}

template <typename Range, typename Less = less, typename Projection = identity>
void sort(Range&& range, Less less = {}, Projection projection = {}) {
  std::sort(begin(range), end(range), projected_both(less, projection));
}
template <typename Range, typename Less = less, typename Projection = identity>
void stable_sort(Range&& range, Less less = {}, Projection projection = {}) {
  std::stable_sort(begin(range), end(range), projected_both(less, projection));
}
template <typename Range, typename Test, typename Projection = identity>
bool all_of(Range&& range, Test test, Projection projection = {}) {
  return std::all_of(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename Test, typename Projection = identity>
bool any_of(Range&& range, Test test, Projection projection = {}) {
  return std::any_of(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename Test, typename Projection = identity>
bool none_of(Range&& range, Test test, Projection projection = {}) {
  return std::none_of(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename T, typename Projection = identity>
auto find(Range&& range, const T& value, Projection projection = {}) {
  return std::find_if(begin(range), end(range), projected_equal(value, projection));
}
template <typename Range, typename Test, typename Projection = identity>
auto find_if(Range&& range, Test test, Projection projection = {}) {
  return std::find_if(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename Test, typename Projection = identity>
auto find_if_not(Range&& range, Test test, Projection projection = {}) {
  return std::find_if_not(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename T, typename Projection = identity>
auto count(Range&& range, const T& value, Projection projection = {}) {
  return std::count_if(begin(range), end(range), projected_equal(value, projection));
}
template <typename Iterator, typename Test>
requires input_or_output_iterator<Iterator>
auto count_if(Iterator first, Iterator last, Test test) { return std::count_if(first, last, test); }
template <typename Range, typename Test, typename Projection = identity>
requires(!input_or_output_iterator<remove_cvref_t<Range>>) auto count_if(Range&& range, Test test,
                                                                         Projection projection = {}) {
  return std::count_if(begin(range), end(range), projected_test(test, projection));
}
template <typename Range, typename Out>
void copy(Range&& range, Out out) {
  std::copy(begin(range), end(range), out);
}
template <typename A, typename B, typename Equal = equal_to, typename OfA = identity, typename OfB = identity>
bool equal(A&& a, B&& b, Equal same = {}, OfA of_a = {}, OfB of_b = {}) {
  const auto equal = [&](const auto& x, const auto& y) { return invoke(same, invoke(of_a, x), invoke(of_b, y)); };
  return std::equal(begin(a), end(a), begin(b), end(b), equal);
}
template <typename A, typename B>
bool is_permutation(A&& a, B&& b) {
  return std::is_permutation(begin(a), end(a), begin(b), end(b));
}
template <typename Range, typename Same = equal_to, typename Projection = identity>
auto adjacent_find(Range&& range, Same same = {}, Projection projection = {}) {
  return std::adjacent_find(begin(range), end(range), projected_both(same, projection));
}
template <typename Range, typename Less = less, typename Projection = identity>
auto max_element(Range&& range, Less less = {}, Projection projection = {}) {
  return std::max_element(begin(range), end(range), projected_both(less, projection));
}
template <typename Range>
auto next_permutation(Range&& range) {
  struct Result {
    bool found;
  };
  return Result{std::next_permutation(begin(range), end(range))};
}
template <typename A, typename B>
auto mismatch(A&& a, B&& b) {
  const auto [in1, in2] = std::mismatch(begin(a), end(a), begin(b), end(b));
  using First = decltype(begin(a));
  using Second = decltype(begin(b));
  struct Result {
    First in1;
    Second in2;
  };
  return Result{in1, in2};
}
template <typename Range, typename T>
void replace(Range&& range, const T& from, const T& to) {
  std::replace(begin(range), end(range), from, to);
}
template <typename Range>
void reverse(Range&& range) {
  std::reverse(begin(range), end(range));
}

}  // namespace ranges
}  // namespace std
