// Array operations that compare or add up the elements of a line: arg_max, arg_min, top_k, cumulative; and scatter,
// which may combine elements.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "relayout/execute/own/array.h"

namespace relayout::execute {

using graph::ArrayAttributes;
using graph::ArrayOperation;
using graph::Executable;
using graph::ScatterAlgorithm;

namespace {

template <typename T>
bool is_nan(T x) {
  return x != x;
}

template <typename T>
class ArgExecutable : public Executable {
 public:
  explicit ArgExecutable(const OwnRequest& r)
      : a_(r.node.as<ArrayAttributes>()),
        src_(r.src_tensor(0), r.src(0)),
        dst_(r.dst_tensor(), r.dst()),
        lanes_(r.src(0).dims(), a_.axis) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T* values = src_.read(src[0]);
    int64_t* to = dst_.room(dst[0]);
    for (int64_t o = 0; o < lanes_.outer; ++o, values += lanes_.extent * lanes_.inner) {
      for (int64_t i = 0; i < lanes_.inner; ++i) *to++ = best_of(values + i);
    }
    dst_.commit(dst[0]);
  }

 private:
  int64_t best_of(const T* line) const {
    int64_t best = 0;
    for (int64_t k = 1; k < lanes_.extent; ++k) {
      const T x = line[k * lanes_.inner], champion = line[best * lanes_.inner];
      const bool equal = x == champion || (is_nan(x) && is_nan(champion));
      const bool more = a_.operation == ArrayOperation::arg_max ? x > champion : x < champion;
      if (equal ? a_.reverse : !is_nan(champion) && (more || is_nan(x))) best = k;
    }
    return best;
  }

  ArrayAttributes a_;
  Numbers<T> src_;
  Numbers<int64_t> dst_;
  ArrayLanes lanes_;
};

template <typename T>
class TopExecutable : public Executable {
 public:
  explicit TopExecutable(const OwnRequest& r)
      : a_(r.node.as<ArrayAttributes>()),
        src_(r.src_tensor(0), r.src(0)),
        values_(r.dst_tensor(), r.dst()),
        indices_(r.dst_tensor(1), r.dst(1)),
        lanes_(r.src(0).dims(), a_.axis),
        order_(static_cast<std::size_t>(lanes_.extent)) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T* from = src_.read(src[0]);
    T* values = values_.room(dst[0]);
    int64_t* indices = indices_.room(dst[1]);
    for (int64_t o = 0; o < lanes_.outer; ++o) {
      for (int64_t i = 0; i < lanes_.inner; ++i) {
        const T* line = from + o * lanes_.extent * lanes_.inner + i;
        sort(line);
        for (int64_t k = 0; k < a_.count; ++k) {
          const int64_t to = (o * a_.count + k) * lanes_.inner + i, at = order_[static_cast<std::size_t>(k)];
          values[to] = line[at * lanes_.inner];
          indices[to] = at;
        }
      }
    }
    values_.commit(dst[0]);
    indices_.commit(dst[1]);
  }

 private:
  void sort(const T* line) {
    std::iota(order_.begin(), order_.end(), 0);
    // Equal elements stand in the order of their indices; a NaN is larger than all numbers.
    const auto comes_first = [&](int64_t x, int64_t y) {
      const T p = line[x * lanes_.inner], q = line[y * lanes_.inner];
      if (is_nan(p) != is_nan(q)) return is_nan(a_.reverse ? q : p);
      if (p == q || is_nan(p)) return x < y;
      return a_.reverse ? p < q : p > q;
    };
    std::partial_sort(order_.begin(), order_.begin() + a_.count, order_.end(), comes_first);
  }

  ArrayAttributes a_;
  Numbers<T> src_, values_;
  Numbers<int64_t> indices_;
  ArrayLanes lanes_;
  std::vector<int64_t> order_;
};

template <typename T>
class CumulativeExecutable : public Executable {
 public:
  explicit CumulativeExecutable(const OwnRequest& r)
      : a_(r.node.as<ArrayAttributes>()),
        src_(r.src_tensor(0), r.src(0)),
        dst_(r.dst_tensor(), r.dst()),
        lanes_(r.src(0).dims(), a_.axis) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T* from = src_.read(src[0]);
    T* to = dst_.room(dst[0]);
    const int64_t step = a_.reverse ? -lanes_.inner : lanes_.inner;
    for (int64_t line = 0; line < lanes_.outer * lanes_.inner; ++line) {
      int64_t at = line / lanes_.inner * lanes_.extent * lanes_.inner + line % lanes_.inner;
      if (a_.reverse) at += (lanes_.extent - 1) * lanes_.inner;
      T so_far = a_.scatter == ScatterAlgorithm::mul ? 1 : 0;
      for (int64_t k = 0; k < lanes_.extent; ++k, at += step) {
        const T before = so_far;
        so_far = a_.scatter == ScatterAlgorithm::mul ? so_far * from[at] : so_far + from[at];
        to[at] = a_.exclusive ? before : so_far;
      }
    }
    dst_.commit(dst[0]);
  }

 private:
  ArrayAttributes a_;
  Numbers<T> src_, dst_;
  ArrayLanes lanes_;
};

template <typename T>
T updated(ScatterAlgorithm algorithm, T old, T update) {
  switch (algorithm) {
    case ScatterAlgorithm::add: return static_cast<T>(old + update);
    case ScatterAlgorithm::mul: return static_cast<T>(old * update);
    case ScatterAlgorithm::max: return is_nan(old) || old > update ? old : update;
    case ScatterAlgorithm::min: return is_nan(old) || old < update ? old : update;
    case ScatterAlgorithm::replace: break;
  }
  return update;
}

/// scatter_elements and scatter_nd. Elements that are only replaced are not converted: T is then an unsigned integer of
/// their size.
template <typename T, typename Operand>
class ScatterExecutable : public Executable {
 public:
  explicit ScatterExecutable(const OwnRequest& r)
      : a_(r.node.as<ArrayAttributes>()),
        indices_(r),
        data_(r.src_tensor(0), r.src(0)),
        updates_(r.src_tensor(2), r.src(2)),
        dst_(r.dst_tensor(), r.dst()),
        dims_(r.src(0).dims()),
        index_dims_(r.src(1).dims()) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T *data = data_.read(src[0]), *updates = updates_.read(src[2]);
    T* to = dst_.room(dst[0]);
    std::copy_n(data, data_.count(), to);
    if (a_.operation == ArrayOperation::scatter_elements)
      along_axis(src[1], updates, to);
    else
      slices(src[1], updates, to);
    dst_.commit(dst[0]);
  }

 private:
  void along_axis(const void* indices, const T* updates, T* to) const {
    for (int64_t i = 0; i < indices_.count(); ++i) {
      int64_t at = 0, step = 1, rest = i;
      for (int d = dims_.size() - 1; d >= 0; --d) {
        const int64_t index = d == a_.axis ? indices_.at(indices, i, dims_[d]) : rest % index_dims_[d];
        rest /= index_dims_[d];
        at += index * step;
        step *= dims_[d];
      }
      to[at] = updated(a_.scatter, to[at], updates[i]);
    }
  }

  void slices(const void* indices, const T* updates, T* to) const {
    const int64_t depth = index_dims_.back();
    int64_t size = 1;
    for (auto d = static_cast<int>(depth); d < dims_.size(); ++d) size *= dims_[d];
    const int64_t picks = updates_.count() / std::max<int64_t>(size, 1);
    for (int64_t n = 0; n < picks; ++n) {
      int64_t at = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t extent = dims_[static_cast<int>(k)];
        at = at * extent + indices_.at(indices, n * depth + k, extent);
      }
      for (int64_t i = 0; i < size; ++i) {
        T& element = to[at * size + i];
        element = updated(a_.scatter, element, *updates++);
      }
    }
  }

  ArrayAttributes a_;
  ArrayIndices indices_;
  Operand data_, updates_, dst_;
  Dims dims_, index_dims_;
};

/// The elements of a row-major operand as they lie, in place of Numbers.
template <typename T>
struct Elements {
  Elements(const graph::Tensor&, const Layout& layout) : count_(layout.elements()), offset_(layout.offset0()) {}
  int64_t count() const { return count_; }
  const T* read(const void* from) const { return static_cast<const T*>(from) + offset_; }
  T* room(void* to) const { return static_cast<T*>(to) + offset_; }
  void commit(void*) const {}

 private:
  int64_t count_, offset_;
};

template <typename T>
std::unique_ptr<Executable> replacing(const OwnRequest& r) {
  return std::make_unique<ScatterExecutable<T, Elements<T>>>(r);
}

}  // namespace

std::unique_ptr<Executable> make_scatter(const OwnRequest& r) {
  const DType dtype = r.dst_tensor().dtype;
  if (r.node.as<ArrayAttributes>().scatter == ScatterAlgorithm::replace) {
    switch (bits(dtype)) {
      case 8: return replacing<uint8_t>(r);
      case 16: return replacing<uint16_t>(r);
      case 32: return replacing<uint32_t>(r);
      default: return replacing<uint64_t>(r);
    }
  }
  return with_numbers(dtype, [&](auto zero) -> std::unique_ptr<Executable> {
    using T = decltype(zero);
    return std::make_unique<ScatterExecutable<T, Numbers<T>>>(r);
  });
}

std::unique_ptr<Executable> make_ordered(const OwnRequest& r) {
  return with_numbers(r.src_tensor(0).dtype, [&](auto zero) -> std::unique_ptr<Executable> {
    using T = decltype(zero);
    switch (r.node.as<ArrayAttributes>().operation) {
      case ArrayOperation::top_k: return std::make_unique<TopExecutable<T>>(r);
      case ArrayOperation::cumulative: return std::make_unique<CumulativeExecutable<T>>(r);
      default: return std::make_unique<ArgExecutable<T>>(r);
    }
  });
}

}  // namespace relayout::execute
