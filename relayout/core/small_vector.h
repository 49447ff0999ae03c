// Vectors that are nearly always short: up to N elements are stored inline, more on the heap. They are for values of
// plain data that are made and thrown away by the hundred, where allocating each on the heap would take most of the
// time.
//
//     SmallVector<Axis, 6> axes{{16, {4, 64, 0}}};
//     axes.erase(axes.begin());
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace relayout {

/// Like std::vector, for types that can be copied byte by byte. Growth, and moving the vector itself, invalidate
/// iterators and references.
template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  template <std::forward_iterator It>
  SmallVector(It first, It last) {
    insert(end(), first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    size_ = 0;
    insert(end(), other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~SmallVector() = default;

  bool operator==(const SmallVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_.get() : inline_.at; }
  const T* data() const { return heap_ ? heap_.get() : inline_.at; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(std::size_t most) {
    if (most <= capacity_) return;
    capacity_ = std::max(most, 2 * capacity_);
    auto more = std::make_unique_for_overwrite<T[]>(capacity_);
    std::copy(begin(), end(), more.get());
    heap_ = std::move(more);
  }
  void push_back(const T& value) {
    const T copy = value;  // `value` may be an element of this vector, which growth moves
    reserve(size_ + 1);
    data()[size_++] = copy;
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    push_back(T{std::forward<Args>(args)...});
    return back();
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  /// Elements up to the smaller of the two sizes stay; new ones are T{}.
  void resize(std::size_t size) {
    reserve(size);
    for (std::size_t i = size_; i < size; ++i) data()[i] = T{};
    size_ = size;
  }
  T* erase(T* at) {
    std::copy(at + 1, end(), at);
    --size_;
    return at;
  }
  T* erase(T* first, T* last) {
    const auto count = static_cast<std::size_t>(last - first);
    std::copy(last, end(), first);
    size_ -= count;
    return first;
  }
  /// Appends elements, which must not be in this vector: `at_end` must be end(). (std::vector has no append either.)
  template <std::forward_iterator It>
  void insert(const T* at_end, It first, It last) {
    static_cast<void>(at_end);
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    reserve(size_ + count);
    std::copy(first, last, end());
    size_ += count;
  }

 private:
  // A union does not construct its member, so places that hold no element cost nothing.
  union Storage {
    Storage() {}
    T at[N];
  };

  void take(SmallVector& other) {
    heap_ = std::move(other.heap_);
    capacity_ = std::exchange(other.capacity_, N);
    size_ = std::exchange(other.size_, 0);
    if (!heap_) std::copy(other.inline_.at, other.inline_.at + size_, inline_.at);
  }

  std::size_t size_ = 0, capacity_ = N;
  std::unique_ptr<T[]> heap_;
  Storage inline_;
};

template <typename T, std::size_t N, typename Drop>
void erase_if(SmallVector<T, N>& values, Drop drop) {
  values.erase(std::remove_if(values.begin(), values.end(), drop), values.end());
}

}  // namespace relayout
