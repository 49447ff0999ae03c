// The functions of f32 elements by Highway, compiled for each instruction set that the reorders have, and the choice
// among them.
//
// exp, log and tanh are Highway's (within 4 units in the last place); erf is by polynomials that were fitted to it.
// What a function gives for NaN, infinities and values beyond its range of numbers is written out beside it.
#include "relayout/cpu/isa.h"
#include "relayout/cpu/kernels/simd_avx3_targets.h"
#include "relayout/execute/own/elementwise/lanes.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "relayout/execute/own/elementwise/lanes_vector.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace relayout::execute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V set(float value) { return hn::Set(D(), value); }
/// y where x is a number, else x.
HWY_INLINE V keep_nan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }
HWY_INLINE V clamp(V x, V low, V high) { return hn::Min(hn::Max(x, low), high); }
HWY_INLINE V clipped(V x, V low, V high) { return keep_nan(x, clamp(x, low, high)); }

/// Highway's exp is made for up to 104; from 88.8 on it is infinite.
HWY_INLINE V exp(V x) { return keep_nan(x, hn::Exp(D(), hn::Min(x, set(104)))); }
HWY_INLINE V expm1(V x) { return keep_nan(x, hn::Expm1(D(), clamp(x, set(-104), set(104)))); }
/// From 9.1 on it is 1.
HWY_INLINE V tanh(V x) { return keep_nan(x, hn::Tanh(D(), clamp(x, set(-10), set(10)))); }
HWY_INLINE V logistic(V x) { return hn::Div(set(1), hn::Add(set(1), exp(hn::Neg(x)))); }
/// ln(1 + e^x), whose exponential cannot overflow.
HWY_INLINE V soft_relu(V x) {
  return keep_nan(x, hn::Add(hn::Max(x, set(0)), hn::Log1p(D(), exp(hn::Neg(hn::Abs(x))))));
}
HWY_INLINE V log(V x) {
  const V infinity = hn::Inf(D()), zero = set(0);
  V out = hn::IfThenElse(hn::Eq(x, infinity), infinity, hn::Log(D(), x));
  out = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), out);
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, zero), hn::NaN(D()), out));
}

/// Below 1 x P(x^2), else 1 - exp(Q(x)), with the coefficients of a fit for the least error: 1.2e-7.
HWY_INLINE V erf(V x) {
  const V size = hn::Abs(x), z = hn::Mul(x, x), far = clamp(size, set(1), set(4));
  V p = set(7.889119581e-05f);
  p = hn::MulAdd(p, z, set(-8.020841295e-04f));
  p = hn::MulAdd(p, z, set(5.189535341e-03f));
  p = hn::MulAdd(p, z, set(-2.685444459e-02f));
  p = hn::MulAdd(p, z, set(1.128360018e-01f));
  p = hn::MulAdd(p, z, set(-3.761262714e-01f));
  p = hn::MulAdd(p, z, set(1.128379166f));
  V q = set(2.513264209e-07f);
  q = hn::MulAdd(q, far, set(-2.531480548e-05f));
  q = hn::MulAdd(q, far, set(4.637879996e-04f));
  q = hn::MulAdd(q, far, set(-4.282382552e-03f));
  q = hn::MulAdd(q, far, set(2.537355558e-02f));
  q = hn::MulAdd(q, far, set(-1.086389975e-01f));
  q = hn::MulAdd(q, far, set(-6.330396128e-01f));
  q = hn::MulAdd(q, far, set(-1.129661157f));
  q = hn::MulAdd(q, far, set(2.043598602e-04f));
  const V outer = hn::CopySign(hn::Sub(set(1), hn::Exp(D(), q)), x);
  return keep_nan(x, hn::IfThenElse(hn::Lt(size, set(1)), hn::Mul(x, p), outer));
}

// Functions of one source.
#define RELAYOUT_UNARY(name, expression)                                                                  \
  struct name {                                                                                           \
    static constexpr int kSources = 1;                                                                    \
    static HWY_INLINE V of(V x, [[maybe_unused]] V alpha, [[maybe_unused]] V beta) { return expression; } \
  }
RELAYOUT_UNARY(Relu, keep_nan(x, hn::Max(x, set(0))));
RELAYOUT_UNARY(LeakyRelu, hn::IfThenElse(hn::Gt(x, set(0)), x, hn::Mul(alpha, x)));
RELAYOUT_UNARY(Tanh, tanh(x));
RELAYOUT_UNARY(Elu, hn::IfThenElse(hn::Gt(x, set(0)), x, hn::Mul(alpha, expm1(x))));
RELAYOUT_UNARY(Square, hn::Mul(x, x));
RELAYOUT_UNARY(Abs, hn::Abs(x));
RELAYOUT_UNARY(Sqrt, hn::Sqrt(x));
RELAYOUT_UNARY(Linear, hn::MulAdd(alpha, x, beta));
RELAYOUT_UNARY(BoundedRelu, clipped(x, set(0), alpha));
RELAYOUT_UNARY(SoftRelu, soft_relu(x));
RELAYOUT_UNARY(Logistic, logistic(x));
RELAYOUT_UNARY(Exp, exp(x));
RELAYOUT_UNARY(GeluTanh,
               hn::Mul(hn::Mul(set(0.5f), x),
                       hn::Add(set(1), tanh(hn::Mul(set(0.7978845608f),
                                                    hn::MulAdd(hn::Mul(set(0.044715f), hn::Mul(x, x)), x, x))))));
RELAYOUT_UNARY(GeluErf, hn::Mul(hn::Mul(set(0.5f), x), hn::Add(set(1), erf(hn::Mul(x, set(0.7071067812f))))));
RELAYOUT_UNARY(Swish, hn::Mul(x, logistic(hn::Mul(alpha, x))));
RELAYOUT_UNARY(Log, log(x));
RELAYOUT_UNARY(Clip, clipped(x, alpha, beta));
RELAYOUT_UNARY(Round, hn::Round(x));
RELAYOUT_UNARY(LogSigmoid, hn::Neg(soft_relu(hn::Neg(x))));
RELAYOUT_UNARY(Mish, hn::Mul(x, tanh(soft_relu(x))));
RELAYOUT_UNARY(HardSwish, keep_nan(x, hn::Mul(x, hn::Div(clamp(hn::Add(x, set(3)), set(0), set(6)), set(6)))));
RELAYOUT_UNARY(HardSigmoid, clipped(hn::MulAdd(alpha, x, beta), set(0), set(1)));
RELAYOUT_UNARY(Erf, erf(x));
RELAYOUT_UNARY(Sign, hn::IfThenElse(hn::Gt(x, set(0)), set(1), hn::IfThenElse(hn::Lt(x, set(0)), set(-1), x)));
RELAYOUT_UNARY(Floor, hn::Floor(x));
RELAYOUT_UNARY(Ceil, hn::Ceil(x));
RELAYOUT_UNARY(Trunc, hn::Trunc(x));
RELAYOUT_UNARY(LogicalNot, hn::IfThenElseZero(hn::Eq(x, set(0)), set(1)));
RELAYOUT_UNARY(Reciprocal, hn::Div(alpha, x));
/// -0 + 0 is 0, as (-0)^0.5 is.
RELAYOUT_UNARY(Root, hn::Mul(alpha, hn::IfThenElse(hn::Eq(x, hn::Neg(hn::Inf(D()))), hn::Inf(D()),
                                                   hn::Sqrt(hn::Add(x, set(0))))));
#undef RELAYOUT_UNARY

// Functions of two sources.
#define RELAYOUT_BINARY(name, expression)                                             \
  struct name {                                                                       \
    static constexpr int kSources = 2;                                                \
    static HWY_INLINE V of(V a, V b, [[maybe_unused]] V alpha) { return expression; } \
  }
RELAYOUT_BINARY(AddOf, hn::Add(a, b));
RELAYOUT_BINARY(SubOf, hn::Sub(a, b));
RELAYOUT_BINARY(MulOf, hn::Mul(a, b));
RELAYOUT_BINARY(DivOf, hn::Div(a, b));
RELAYOUT_BINARY(MaxOf, keep_nan(a, keep_nan(b, hn::Max(a, b))));
RELAYOUT_BINARY(MinOf, keep_nan(a, keep_nan(b, hn::Min(a, b))));
RELAYOUT_BINARY(GeOf, hn::IfThenElseZero(hn::Ge(a, b), set(1)));
RELAYOUT_BINARY(GtOf, hn::IfThenElseZero(hn::Gt(a, b), set(1)));
RELAYOUT_BINARY(LeOf, hn::IfThenElseZero(hn::Le(a, b), set(1)));
RELAYOUT_BINARY(LtOf, hn::IfThenElseZero(hn::Lt(a, b), set(1)));
RELAYOUT_BINARY(EqOf, hn::IfThenElseZero(hn::Eq(a, b), set(1)));
RELAYOUT_BINARY(NeOf, hn::IfThenZeroElse(hn::Eq(a, b), set(1)));
RELAYOUT_BINARY(WholeQuotient, hn::IfThenZeroElse(hn::Eq(b, set(0)), hn::Trunc(hn::Div(a, b))));
RELAYOUT_BINARY(Prelu, hn::IfThenElse(hn::Gt(a, set(0)), a, hn::Mul(a, b)));
RELAYOUT_BINARY(AddScaled, hn::MulAdd(alpha, b, a));
#undef RELAYOUT_BINARY

template <class F>
void run(const float* const* src, float* dst, int64_t n, float alpha, float beta) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V va = hn::Set(d, alpha), vb = hn::Set(d, beta);
  const auto step = [&](const float* a, const float* b, float* to) HWY_ATTR {
    if constexpr (F::kSources == 1)
      hn::StoreU(F::of(hn::LoadU(d, a), va, vb), d, to);
    else
      hn::StoreU(F::of(hn::LoadU(d, a), hn::LoadU(d, b), va), d, to);
  };
  const float *a = src[0], *b = src[F::kSources - 1];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) step(a + i, b + i, dst + i);
  if (i == n) return;
  // The rest is less than a register.
  float rest[3][HWY_LANES(float)] = {};
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(float);
  __builtin_memcpy(rest[0], a + i, bytes);
  __builtin_memcpy(rest[1], b + i, bytes);
  step(rest[0], rest[1], rest[2]);
  __builtin_memcpy(dst + i, rest[2], bytes);
}

bool any_at_most(const float* values, int64_t n, float limit) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V most = hn::Set(d, limit);
  // Comparisons are joined, as the minimum of a NaN and a number may be either.
  auto found = hn::Lt(most, most);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) found = hn::Or(found, hn::Le(hn::LoadU(d, values + i), most));
  bool out = !hn::AllFalse(d, found);
  for (; i < n; ++i) out = out || values[i] <= limit;
  return out;
}

bool all_below(const float* values, int64_t n, float limit) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V most = hn::Set(d, limit);
  auto below = hn::Eq(most, most);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) below = hn::And(below, hn::Lt(hn::LoadU(d, values + i), most));
  bool out = hn::AllTrue(d, below);
  for (; i < n; ++i) out = out && values[i] < limit;
  return out;
}

/// A slope of 0 gives 0 for minus infinity, too.
void relu(const float* const* src, float* dst, int64_t n, float alpha, float beta) {
  (alpha == 0 ? run<Relu> : run<LeakyRelu>)(src, dst, n, alpha, beta);
}

LaneTable<float> make_table() {
  using A = EltwiseAlgorithm;
  using B = BinaryAlgorithm;
  LaneTable<float> out = plain_lanes<float>();
  out.of(A::relu) = out.of(A::relu_dst) = relu;
  out.of(A::tanh) = out.of(A::tanh_dst) = run<Tanh>;
  out.of(A::elu) = out.of(A::elu_dst) = run<Elu>;
  out.of(A::square) = run<Square>;
  out.of(A::abs) = run<Abs>;
  out.of(A::sqrt) = out.of(A::sqrt_dst) = run<Sqrt>;
  out.of(A::linear) = run<Linear>;
  out.of(A::bounded_relu) = run<BoundedRelu>;
  out.of(A::soft_relu) = run<SoftRelu>;
  out.of(A::logistic) = out.of(A::logistic_dst) = run<Logistic>;
  out.of(A::exp) = out.of(A::exp_dst) = run<Exp>;
  out.of(A::gelu_tanh) = run<GeluTanh>;
  out.of(A::gelu_erf) = run<GeluErf>;
  out.of(A::swish) = run<Swish>;
  out.of(A::log) = run<Log>;
  out.of(A::clip) = out.of(A::clip_v2) = out.of(A::clip_v2_dst) = run<Clip>;
  out.of(A::round) = run<Round>;
  out.of(A::logsigmoid) = run<LogSigmoid>;
  out.of(A::mish) = run<Mish>;
  out.of(A::hardswish) = run<HardSwish>;
  out.of(A::hardsigmoid) = run<HardSigmoid>;
  out.of(A::erf) = run<Erf>;
  out.of(A::sign) = run<Sign>;
  out.of(A::floor) = run<Floor>;
  out.of(A::ceil) = run<Ceil>;
  out.of(A::trunc) = run<Trunc>;
  out.of(A::logical_not) = run<LogicalNot>;
  out.reciprocal = run<Reciprocal>;
  out.root = run<Root>;
  out.of(B::add) = run<AddOf>;
  out.of(B::sub) = run<SubOf>;
  out.of(B::mul) = run<MulOf>;
  out.of(B::div) = run<DivOf>;
  out.of(B::max) = run<MaxOf>;
  out.of(B::min) = run<MinOf>;
  out.of(B::ge) = run<GeOf>;
  out.of(B::gt) = run<GtOf>;
  out.of(B::le) = run<LeOf>;
  out.of(B::lt) = run<LtOf>;
  out.of(B::eq) = run<EqOf>;
  out.of(B::ne) = run<NeOf>;
  out.whole_quotient = run<WholeQuotient>;
  out.add_scaled = run<AddScaled>;
  out.prelu = run<Prelu>;
  out.any_at_most = any_at_most;
  out.all_below = all_below;
  return out;
}

const LaneTable<float>& table() {
  static const LaneTable<float> kTable = make_table();
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace relayout::execute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace relayout::execute {

// As simd.cc of the reorders, this names each target's table, because Highway's own choice is one for the whole
// program.
const LaneTable<float>& vector_lanes() {
  [[maybe_unused]] const std::string_view isa = cpu::isa();
#if HWY_TARGETS & HWY_AVX3
  if (isa.starts_with("avx512")) return N_AVX3::table();
#endif
#if HWY_TARGETS & HWY_AVX2
  if (isa == "avx2") return N_AVX2::table();
#endif
#if HWY_TARGETS & HWY_SSE4
  if (isa == "sse4") return N_SSE4::table();
#endif
#if HWY_TARGETS & HWY_NEON
  if (isa == "neon") return N_NEON::table();
#endif
  return plain_lanes<float>();
}

}  // namespace relayout::execute
#endif
