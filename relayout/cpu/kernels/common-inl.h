// What all kernels share: loads and stores at any address, copies of lines, short copies.
//
// The source of the kernels (*-inl.h) is in families; each ends with a function that enters its kernels in the table.
// scalar.cc includes all families, in plain C++. The simd_*.cc include one family each, once for every target, inside
// Highway's HWY_NAMESPACE. RELAYOUT_KERNELS_SIMD is true in the latter and false in scalar.cc. A file that several
// families include is guarded as this one is, so that it is included once for each target.
#if defined(RELAYOUT_CPU_KERNELS_COMMON) == defined(HWY_TARGET_TOGGLE)
#ifdef RELAYOUT_CPU_KERNELS_COMMON
#undef RELAYOUT_CPU_KERNELS_COMMON
#else
#define RELAYOUT_CPU_KERNELS_COMMON
#endif

#ifndef RELAYOUT_INLINE
#define RELAYOUT_INLINE inline __attribute__((always_inline))
#endif
/// The attribute that a lambda needs to call functions that are compiled for a target.
#ifndef RELAYOUT_ATTR
#if RELAYOUT_KERNELS_SIMD
#define RELAYOUT_ATTR HWY_ATTR
#else
#define RELAYOUT_ATTR
#endif
#endif

namespace {

struct Bytes32 {
  Bytes16 low, high;
};

template <typename T>
RELAYOUT_INLINE T load_unaligned(const void* at) {
  T out;
  __builtin_memcpy(&out, at, sizeof out);
  return out;
}
template <typename T>
RELAYOUT_INLINE void store_unaligned(void* at, T value) {
  __builtin_memcpy(at, &value, sizeof value);
}

/// Loads element i of a run of T at any address. The memory may have been written as any type.
template <typename T>
T element(const void* run, int64_t i) {
  return load_unaligned<T>(static_cast<const std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)));
}
template <typename T>
void set_element(void* run, int64_t i, T value) {
  store_unaligned(static_cast<std::byte*>(run) + i * static_cast<int64_t>(sizeof(T)), value);
}

/// Prefetches a line into the second-level cache, for use many lines later.
RELAYOUT_INLINE void prefetch(const std::byte* at) { __builtin_prefetch(at, 0, 2); }

#if RELAYOUT_KERNELS_SIMD

template <typename T>
using Block16 = hn::Full128<T>;
template <typename T>
using Wide = hn::ScalableTag<T>;
/// How many blocks of 16 bytes the widest register has.
constexpr int kBlocks = HWY_LANES(uint8_t) / 16;

template <typename T>
HWY_INLINE const T* as(const std::byte* at) {
  return reinterpret_cast<const T*>(at);
}
template <typename T>
HWY_INLINE T* as(std::byte* at) {
  return reinterpret_cast<T*>(at);
}

/// Copies 64 bytes, from any address to any address.
HWY_INLINE void copy_line(const std::byte* src, std::byte* dst) {
#if HWY_ARCH_ARM
  // By pairs of registers, whose instructions add an offset to the address; Highway's (ld1, st1) do neither.
  __builtin_memcpy(dst, src, kCacheLine);
#else
  const Wide<uint8_t> d;
  for (int64_t i = 0; i < kCacheLine; i += 16 * kBlocks)
    hn::StoreU(hn::LoadU(d, as<uint8_t>(src + i)), d, as<uint8_t>(dst + i));
#endif
}

template <bool kStream, class D, typename T>
HWY_INLINE void put(hn::Vec<D> v, D d, T* to) {
  if constexpr (kStream)
    hn::Stream(v, d, to);
  else
    hn::StoreU(v, d, to);
}

/// Copies whole lines of the destination past the cache, from any address.
HWY_INLINE void stream_lines(const std::byte* src, std::byte* dst, int64_t bytes, int64_t ahead) {
  const Wide<uint8_t> d;
  constexpr int64_t kStep = 16 * kBlocks;
  for (int64_t i = 0; i < bytes; i += kCacheLine) {
    if (ahead != 0) prefetch(src + i + ahead);
    for (int64_t b = 0; b < kCacheLine; b += kStep)
      hn::Stream(hn::LoadU(d, as<uint8_t>(src + i + b)), d, as<uint8_t>(dst + i + b));
  }
}

#else

RELAYOUT_INLINE void copy_line(const std::byte* src, std::byte* dst) { __builtin_memcpy(dst, src, kCacheLine); }

#endif

/// Copies up to 64 bytes, by two moves of the same size, which may overlap.
RELAYOUT_INLINE void copy_short(const std::byte* src, std::byte* dst, int64_t n) {
  const auto both = [&]<typename T>(T) __attribute__((always_inline)) {
    const int64_t last = n - static_cast<int64_t>(sizeof(T));
    const T head = load_unaligned<T>(src), tail = load_unaligned<T>(src + last);
    store_unaligned(dst, head);
    store_unaligned(dst + last, tail);
  };
  if (n >= 32) return both(Bytes32());
  if (n >= 16) return both(Bytes16());
  if (n >= 8) return both(uint64_t());
  if (n >= 4) return both(uint32_t());
  if (n >= 2) return both(uint16_t());
  if (n == 1) *dst = *src;
}

}  // namespace

#endif
