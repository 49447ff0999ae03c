// Element functions of integers that no floating type holds or computes: all of 64-bit integers, and remainders, bits
// and shifts of the others. Any layouts; dims of extent 1 of a source repeat.
//
// Each operand has a table of offsets for each dim (zeros if it repeats), and the loops over the dims add up their
// entries. What does not fit the type loses its high bits.
#include <array>
#include <cmath>
#include <limits>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Executable;
using graph::Kind;

namespace {

/// A function of one or two sources; alpha and beta are those of an elementwise function.
template <typename T>
using WholeFunction = T (*)(T a, T b, double alpha, double beta);

/// Division as graph.h defines it for BinaryAlgorithm::div.
template <typename T>
T quotient(T a, T b, double, double) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1 && a == std::numeric_limits<T>::min()) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(a / b);
}

template <typename T>
T remainder_of(T a, T b, double, double) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}

template <typename T>
T modulus(T a, T b, double alpha, double beta) {
  const T rest = remainder_of<T>(a, b, alpha, beta);
  return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

/// a to the power of b, truncated toward zero.
template <typename T>
T whole_power(T a, T b, double, double) {
  if (b < 0) return a == 1 ? 1 : static_cast<T>(-1) == a ? (b % 2 == 0 ? 1 : a) : 0;
  uint64_t out = 1, base = static_cast<uint64_t>(a);
  for (auto left = static_cast<uint64_t>(b); left != 0; left >>= 1) {
    if (left % 2 != 0) out *= base;
    base *= base;
  }
  return static_cast<T>(out);
}

template <typename T>
bool shifts_within(T by) {
  return by >= 0 && static_cast<uint64_t>(by) < sizeof(T) * 8;
}

template <typename T>
T shifted_left(T a, T b, double, double) {
  return shifts_within(b) ? static_cast<T>(static_cast<uint64_t>(a) << static_cast<uint64_t>(b)) : 0;
}

template <typename T>
T shifted_right(T a, T b, double, double) {
  return shifts_within(b) ? static_cast<T>(a >> b) : static_cast<T>(a < 0 ? -1 : 0);
}

// Sums and products are those of unsigned numbers, which are defined when they overflow.
#define RELAYOUT_WHOLE(expression)    \
  [](T a, T b, double, double) -> T { \
    static_cast<void>(b);             \
    return expression;                \
  }

template <typename T>
WholeFunction<T> binary_function(BinaryAlgorithm algorithm) {
  using U = uint64_t;
  switch (algorithm) {
    case BinaryAlgorithm::add: return RELAYOUT_WHOLE(static_cast<T>(static_cast<U>(a) + static_cast<U>(b)));
    case BinaryAlgorithm::sub: return RELAYOUT_WHOLE(static_cast<T>(static_cast<U>(a) - static_cast<U>(b)));
    case BinaryAlgorithm::mul: return RELAYOUT_WHOLE(static_cast<T>(static_cast<U>(a) * static_cast<U>(b)));
    case BinaryAlgorithm::div: return quotient<T>;
    case BinaryAlgorithm::max: return RELAYOUT_WHOLE(a > b ? a : b);
    case BinaryAlgorithm::min: return RELAYOUT_WHOLE(a < b ? a : b);
    case BinaryAlgorithm::ge: return RELAYOUT_WHOLE(a >= b);
    case BinaryAlgorithm::gt: return RELAYOUT_WHOLE(a > b);
    case BinaryAlgorithm::le: return RELAYOUT_WHOLE(a <= b);
    case BinaryAlgorithm::lt: return RELAYOUT_WHOLE(a < b);
    case BinaryAlgorithm::eq: return RELAYOUT_WHOLE(a == b);
    case BinaryAlgorithm::ne: return RELAYOUT_WHOLE(a != b);
    case BinaryAlgorithm::pow: return whole_power<T>;
    case BinaryAlgorithm::mod: return modulus<T>;
    case BinaryAlgorithm::fmod: return remainder_of<T>;
    case BinaryAlgorithm::logical_and: return RELAYOUT_WHOLE(a != 0 && b != 0);
    case BinaryAlgorithm::logical_or: return RELAYOUT_WHOLE(a != 0 || b != 0);
    case BinaryAlgorithm::logical_xor: return RELAYOUT_WHOLE((a != 0) != (b != 0));
    case BinaryAlgorithm::bitwise_and: return RELAYOUT_WHOLE(static_cast<T>(a & b));
    case BinaryAlgorithm::bitwise_or: return RELAYOUT_WHOLE(static_cast<T>(a | b));
    case BinaryAlgorithm::bitwise_xor: return RELAYOUT_WHOLE(static_cast<T>(a ^ b));
    case BinaryAlgorithm::shift_left: return shifted_left<T>;
    case BinaryAlgorithm::shift_right: return shifted_right<T>;
  }
  return nullptr;
}

template <typename T>
T clipped_whole(T a, T, double alpha, double beta) {
  const auto value = static_cast<long double>(a);
  if (value > static_cast<long double>(beta)) return static_cast<T>(beta);
  return value < static_cast<long double>(alpha) ? static_cast<T>(alpha) : a;
}

/// alpha * a + beta, of whole factors.
template <typename T>
T linear_whole(T a, T, double alpha, double beta) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(static_cast<int64_t>(alpha)) +
                        static_cast<uint64_t>(static_cast<int64_t>(beta)));
}

bool is_whole(double value) { return std::trunc(value) == value && std::fabs(value) < 0x1p53; }

template <typename T>
WholeFunction<T> eltwise_function(const graph::EltwiseAttributes& attributes) {
  switch (attributes.algorithm) {
    case EltwiseAlgorithm::bitwise_not: return RELAYOUT_WHOLE(static_cast<T>(~a));
    case EltwiseAlgorithm::logical_not: return RELAYOUT_WHOLE(a == 0);
    case EltwiseAlgorithm::abs: return RELAYOUT_WHOLE(a < 0 ? static_cast<T>(0 - static_cast<uint64_t>(a)) : a);
    case EltwiseAlgorithm::sign: return RELAYOUT_WHOLE(static_cast<T>((a > 0) - (a < 0)));
    case EltwiseAlgorithm::square: return binary_function<T>(BinaryAlgorithm::mul);
    case EltwiseAlgorithm::relu:
      return attributes.alpha == 0 ? WholeFunction<T>(RELAYOUT_WHOLE(a > 0 ? a : 0)) : nullptr;
    case EltwiseAlgorithm::linear:
      return is_whole(attributes.alpha) && is_whole(attributes.beta) ? linear_whole<T> : nullptr;
    case EltwiseAlgorithm::clip: return clipped_whole<T>;
    case EltwiseAlgorithm::round:
    case EltwiseAlgorithm::floor:
    case EltwiseAlgorithm::ceil:
    case EltwiseAlgorithm::trunc: return RELAYOUT_WHOLE(a);
    default: return nullptr;
  }
}
#undef RELAYOUT_WHOLE

/// The offsets of two sources and a destination along one dim, an entry for each index.
struct DimOffsets {
  std::vector<int64_t> a, b, dst;
};

/// T are the elements of the sources, U those of the destination. The one source of an elementwise function is both.
template <typename T, typename U>
class WholeExecutable : public Executable {
 public:
  WholeExecutable(const OwnRequest& r, WholeFunction<T> function, double alpha, double beta)
      : function_(function),
        alpha_(alpha),
        beta_(beta),
        second_(r.node.src.size() - 1),
        a_(r.src(0).offset0()),
        b_(r.src(second_).offset0()),
        dst_(r.dst().offset0()),
        padding_(r.dst(), r.dst_tensor().dtype) {
    for (int d = 0; d < r.dst().ndims(); ++d) {
      DimOffsets& dim = dims_.emplace_back();
      const auto offset = [&](const Layout& src, int64_t i) { return src.dim_offset(d, src.dim(d) == 1 ? 0 : i); };
      for (int64_t i = 0; i < r.dst().dim(d); ++i) {
        dim.a.push_back(offset(r.src(0), i));
        dim.b.push_back(offset(r.src(second_), i));
        dim.dst.push_back(r.dst().dim_offset(d, i));
      }
    }
    // A scalar is one element of one dim.
    if (dims_.empty()) dims_.push_back({{0}, {0}, {0}});
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    walk(0, static_cast<const T*>(src[0]) + a_, static_cast<const T*>(src[second_]) + b_,
         static_cast<U*>(dst[0]) + dst_);
    padding_.run(dst[0]);
  }

 private:
  void walk(std::size_t d, const T* a, const T* b, U* dst) const {
    const DimOffsets& dim = dims_[d];
    for (std::size_t i = 0; i < dim.dst.size(); ++i) {
      if (d + 1 < dims_.size())
        walk(d + 1, a + dim.a[i], b + dim.b[i], dst + dim.dst[i]);
      else
        dst[dim.dst[i]] = static_cast<U>(function_(a[dim.a[i]], b[dim.b[i]], alpha_, beta_));
    }
  }

  WholeFunction<T> function_;
  double alpha_, beta_;
  std::size_t second_;
  int64_t a_, b_, dst_;
  std::vector<DimOffsets> dims_{};
  ZeroPadding padding_;
};

template <typename T>
std::unique_ptr<Executable> made_of(const OwnRequest& r) {
  const bool eltwise = r.node.kind == Kind::eltwise;
  const graph::EltwiseAttributes a = eltwise ? r.node.as<graph::EltwiseAttributes>() : graph::EltwiseAttributes{};
  const WholeFunction<T> function =
      eltwise ? eltwise_function<T>(a) : binary_function<T>(r.node.as<graph::BinaryAttributes>().algorithm);
  const DType from = r.src_tensor(0).dtype, to = r.dst_tensor().dtype;
  if (function == nullptr || (to != from && to != DType::boolean)) return nullptr;
  if (to == from) return std::make_unique<WholeExecutable<T, T>>(r, function, a.alpha, a.beta);
  return std::make_unique<WholeExecutable<T, uint8_t>>(r, function, a.alpha, a.beta);
}

}  // namespace

std::unique_ptr<Executable> make_integers(const OwnRequest& r) {
  if (!r.node.forward() || !r.dst().injective_with_padding()) return nullptr;
  const DType dtype = r.src_tensor(0).dtype;
  if (r.node.src.size() == 2 && r.src_tensor(1).dtype != dtype) return nullptr;
  switch (dtype) {
    case DType::s64: return made_of<int64_t>(r);
    case DType::u64: return made_of<uint64_t>(r);
    case DType::s32: return made_of<int32_t>(r);
    case DType::u32: return made_of<uint32_t>(r);
    case DType::s16: return made_of<int16_t>(r);
    case DType::u16: return made_of<uint16_t>(r);
    case DType::s8: return made_of<int8_t>(r);
    case DType::u8: return made_of<uint8_t>(r);
    default: return nullptr;
  }
}

}  // namespace relayout::execute
