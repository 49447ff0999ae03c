// The kernels' source, compiled once an instruction set. It is included by scalar.cc (plain C++) and, once a target,
// by simd.cc inside Highway's HWY_NAMESPACE; RELAYOUT_KERNELS_SIMD says which. No include guard.
//
// The conversions are loops over core/float.h and reorder/cast.h that the compiler vectorizes for the target at hand.

namespace {

template <typename T>
T load_unaligned(const void* at) {
  T out;
  __builtin_memcpy(&out, at, sizeof out);
  return out;
}
template <typename T>
void store_unaligned(void* at, T value) {
  __builtin_memcpy(at, &value, sizeof value);
}

/// Element i of a run of T at any address, and of any origin: bytes, whatever type they were made as.
template <typename T>
T element(const void* run, int64_t i) {
  return load_unaligned<T>(static_cast<const std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)));
}
template <typename T>
void set_element(void* run, int64_t i, T value) {
  store_unaligned(static_cast<std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)), value);
}

/// The plain transposition, and the edges of the SIMD one.
template <typename T>
void transpose_plain(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
                     int64_t cols) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* from = src + r * kSize;
    std::byte* to = dst + r * dst_stride;
    for (int64_t c = 0; c < cols; ++c) store_unaligned(to + c * kSize, load_unaligned<T>(from + c * src_stride));
  }
}

#if RELAYOUT_KERNELS_SIMD

/// One tile of N x N elements, N = 16 / sizeof(T), in N registers of 16 bytes. Interleaving register i with
/// register i + N/2 moves the top bit of the row number into the column number; log2(N) rounds transpose.
template <typename T>
HWY_INLINE void transpose_tile(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride) {
  constexpr int kN = 16 / sizeof(T);
  const hn::Full128<T> d;
  using V = hn::Vec<decltype(d)>;
  V a[kN], b[kN];
  for (int i = 0; i < kN; ++i) a[i] = hn::LoadU(d, reinterpret_cast<const T*>(src + i * src_stride));
  for (int round = 1; round < kN; round *= 2) {
    for (int i = 0; i < kN / 2; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + kN / 2]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + kN / 2]);
    }
    for (int i = 0; i < kN; ++i) a[i] = b[i];
  }
  for (int i = 0; i < kN; ++i) hn::StoreU(a[i], d, reinterpret_cast<T*>(dst + i * dst_stride));
}

template <typename T>
void transpose(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
               int64_t cols) {
  constexpr int64_t kN = 16 / sizeof(T), kSize = sizeof(T);
  int64_t r = 0;
  for (; r + kN <= rows; r += kN) {
    int64_t c = 0;
    for (; c + kN <= cols; c += kN) {
      transpose_tile<T>(src + c * src_stride + r * kSize, src_stride, dst + r * dst_stride + c * kSize, dst_stride);
    }
    transpose_plain<T>(src + c * src_stride + r * kSize, src_stride, dst + r * dst_stride + c * kSize, dst_stride, kN,
                       cols - c);
  }
  transpose_plain<T>(src + r * kSize, src_stride, dst + r * dst_stride, dst_stride, rows - r, cols);
}

#else

template <typename T>
void transpose(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows,
               int64_t cols) {
  transpose_plain<T>(src, src_stride, dst, dst_stride, rows, cols);
}

#endif

void copy(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride, int64_t rows, int64_t bytes) {
  for (int64_t r = 0; r < rows; ++r)
    __builtin_memcpy(dst + r * dst_stride, src + r * src_stride, static_cast<std::size_t>(bytes));
}

template <typename C, DType D>
void load_run(const std::byte* src, void* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, load<C, D>(element<Storage<D>>(src, i)));
}

template <typename C, DType D>
void store_run(const void* values, std::byte* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) set_element<Storage<D>>(dst, i, store<D, C>(element<C>(values, i)));
}

/// One rounding a step, in the order of the formula in reorder/attributes.h.
template <typename C>
void arithmetic_run(void* values, const void* old, const AttributeValues* attributes, int64_t stride, int64_t n,
                    const Arithmetic& a) {
  const auto each = [&](auto member, auto step) __attribute__((always_inline)) {
    if (stride == 0) {
      const C constant = static_cast<C>(attributes->*member);
      for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, step(element<C>(values, i), constant));
    } else {
      for (int64_t i = 0; i < n; ++i) {
        set_element<C>(values, i, step(element<C>(values, i), static_cast<C>(attributes[i * stride].*member)));
      }
    }
  };
  if (a.src_zero_point) each(&AttributeValues::src_zero_point, [](C x, C y) { return x - y; });
  if (a.src_scale) each(&AttributeValues::src_scale, [](C x, C y) { return x * y; });
  if (a.beta != 0) {
    for (int64_t i = 0; i < n; ++i) {
      const C add = static_cast<C>(a.beta) * element<C>(old, i);
      set_element<C>(values, i, element<C>(values, i) + add);
    }
  }
  if (a.dst_scale) each(&AttributeValues::dst_scale, [](C x, C y) { return x / y; });
  if (a.dst_zero_point) each(&AttributeValues::dst_zero_point, [](C x, C y) { return x + y; });
  for (int64_t i = 0; i < n; ++i) set_element<C>(values, i, canonical_nan(element<C>(values, i)));
}

template <typename C, std::size_t... D>
constexpr std::array<LoadKernel, kDTypeCount> load_row(std::index_sequence<D...>) {
  constexpr auto kernel = []<DType kType>() -> LoadKernel {
    if constexpr (kIsFloating<kType> && !std::is_floating_point_v<C>)
      return nullptr;
    else
      return &load_run<C, kType>;
  };
  return {kernel.template operator()<static_cast<DType>(D)>()...};
}

template <typename C, std::size_t... D>
constexpr std::array<StoreKernel, kDTypeCount> store_row(std::index_sequence<D...>) {
  return {&store_run<C, static_cast<DType>(D)>...};
}

constexpr Kernels make_kernels(std::string_view isa) {
  constexpr auto all = std::make_index_sequence<kDTypeCount>();
  return {isa,
          {&transpose<uint8_t>, &transpose<uint16_t>, &transpose<uint32_t>, &transpose<uint64_t>,
           &transpose_plain<Bytes16>},
          &copy,
          {load_row<float>(all), load_row<double>(all), load_row<Int128>(all)},
          {store_row<float>(all), store_row<double>(all), store_row<Int128>(all)},
          {&arithmetic_run<float>, &arithmetic_run<double>}};
}

}  // namespace
