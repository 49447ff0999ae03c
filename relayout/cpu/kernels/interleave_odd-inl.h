// (De)interleaving an odd number K of columns (rows), for interleave-inl.h: 3x3 weights have nine. Only where there is
// SIMD.
//
// K registers of L lanes hold L groups of K elements, one group after the other. K is odd and L is a power of two, so
// the L elements of a row are in different lanes: in lane l, the element of row r is in register (r - l) / L modulo K.
// Each lane is therefore turned through the registers by a number that depends on the lane alone. Then each register
// holds one row. Turning is done in steps of 1, 2, 4 and 8 registers, one step for each bit of the number. Finally, the
// lanes of each row are permuted. Interleaving does the same backwards.

template <typename T, int kK>
struct OddInterleave {
  static constexpr int kLanes = HWY_LANES(T), kTurns = 4;
  /// turns[i]: all bits of a lane are set where it is turned by 1 << i registers, none where it is not.
  alignas(64) T turns[kTurns][kLanes] = {};
  /// lane[row][c]: the lane in which a row has its element of group c; group[row][l]: the group of its element in lane
  /// l.
  alignas(64) T lane[kK][kLanes] = {}, group[kK][kLanes] = {};

  /// The row that register i holds once the lanes are turned.
  static constexpr int row(int i) { return i * kLanes % kK; }

  constexpr OddInterleave() {
    static_assert(kK % 2 == 1 && kK > 4 && kK < 1 << kTurns);
    int inverse = 1;
    while (inverse * kLanes % kK != 1) ++inverse;
    for (int l = 0; l < kLanes; ++l) {
      for (int i = 0; i < kTurns; ++i) turns[i][l] = (l * inverse % kK >> i & 1) != 0 ? static_cast<T>(~T{0}) : T{0};
    }
    for (int r = 0; r < kK; ++r) {
      for (int c = 0; c < kLanes; ++c) {
        const int l = (c * kK + r) % kLanes;
        lane[r][c] = static_cast<T>(l);
        group[r][l] = static_cast<T>(c);
      }
    }
  }
};
template <typename T, int kK>
inline constexpr OddInterleave<T, kK> kOddInterleave;

/// Takes the lanes of a mask from the register kStep before, modulo kK (kK - kStep: from kStep after). The registers
/// are done along one cycle, so that each is changed only after the one that needs it.
template <int kK, int kStep, class D, std::size_t... i>
HWY_INLINE void turn_lanes(D d, const hn::TFromD<D>* lanes, Few<D, kK>& a, std::index_sequence<i...>) {
  const auto mask = hn::MaskFromVec(hn::Load(d, lanes));
  constexpr auto at = [](int n) { return n * (kK - kStep) % kK; };
  const hn::Vec<D> first = a.v[0];
  ((a.v[at(i)] = hn::IfThenElse(mask, i + 1 < kK ? a.v[at(i + 1)] : first, a.v[at(i)])), ...);
}

template <int kK, bool kBack, class D>
HWY_INLINE void turn(D d, Few<D, kK>& a) {
  using T = hn::TFromD<D>;
  constexpr auto& turns = kOddInterleave<T, kK>.turns;
  constexpr auto kAll = std::make_index_sequence<kK>();
  turn_lanes<kK, kBack ? kK - 1 : 1>(d, turns[0], a, kAll);
  turn_lanes<kK, kBack ? kK - 2 : 2>(d, turns[1], a, kAll);
  turn_lanes<kK, kBack ? kK - 4 : 4>(d, turns[2], a, kAll);
  if constexpr (kK > 8) turn_lanes<kK, kBack ? kK - 8 : 8>(d, turns[3], a, kAll);
}

template <class D>
HWY_INLINE hn::Vec<D> permute_lanes(D d, hn::Vec<D> v, const hn::TFromD<D>* lanes) {
  constexpr std::size_t kSize = sizeof(hn::TFromD<D>);
#if HWY_TARGET <= HWY_AVX3_DL
  if constexpr (kSize == 1) return hn::Vec<D>{_mm512_permutexvar_epi8(_mm512_load_si512(lanes), v.raw)};
  if constexpr (kSize == 2) return hn::Vec<D>{_mm512_permutexvar_epi16(_mm512_load_si512(lanes), v.raw)};
#endif
  if constexpr (kSize > 2) return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Load(d, lanes)));
}

template <int kK, class D, typename T, std::size_t... i>
HWY_INLINE void store_odd(D d, const Few<D, kK>& in, T* to, std::index_sequence<i...>) {
  using Odd = OddInterleave<T, kK>;
  Few<D, kK> out;
  ((out.v[i] = permute_lanes(d, in.v[Odd::row(i)], kOddInterleave<T, kK>.group[Odd::row(i)])), ...);
  turn<kK, true>(d, out);
  (hn::StoreU(out.v[i], d, to + i * hn::MaxLanes(d)), ...);
}

template <int kK, class D, typename T, std::size_t... i>
HWY_INLINE Few<D, kK> load_odd(D d, const T* from, std::index_sequence<i...>) {
  using Odd = OddInterleave<T, kK>;
  Few<D, kK> in, out;
  ((in.v[i] = hn::LoadU(d, from + i * hn::MaxLanes(d))), ...);
  turn<kK, false>(d, in);
  ((out.v[Odd::row(i)] = permute_lanes(d, in.v[i], kOddInterleave<T, kK>.lane[Odd::row(i)])), ...);
  return out;
}
