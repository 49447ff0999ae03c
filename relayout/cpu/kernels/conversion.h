// How elements of one type become another: by the kernel of the pair, or through types that have such a kernel.
//
// Types up to `boolean` have a kernel for each pair of them (kernels.inc, convert). The others, sub-byte types and
// f8_e8m0, would double these pairs. Such a type is read as one that holds all its values (read_as()), and stored from
// one (stored_from()), so that it needs one kernel a side. Values are then converted piece by piece in the first-level
// cache, and no value is rounded twice:
//
//     u2 -> f16        the unpacked bytes are u8 already, and u8 -> f16 has a kernel
//     f4_e2m1 -> bf16  f4_e2m1 -> f8_e5m2 by a look-up, f8_e5m2 -> bf16
//     f16 -> s4        f16 -> s8, then s8 saturated to s4 in place
//     f64 -> f6_e3m2   f64 -> f32 rounded to odd, f32 -> f6_e3m2
//
// Elements of sub-byte types have a byte each here; sub_byte.h in runners/ packs and unpacks them.
#pragma once

#include "relayout/cpu/kernels/kernels.h"

namespace relayout::cpu {

/// Bytes of an element that lies alone, not packed.
inline int64_t storage_bytes(DType dtype) { return std::max(bits(dtype) / 8, 1); }

class Conversion {
 public:
  Conversion(const Kernels& kernels, DType from, DType to);

  /// As ConvertKernel.
  void operator()(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
                  const RunAttributes* attributes, int64_t ahead) const {
    if (!decode_ && !encode_) return convert_(src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
    by_pieces(false, src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
  }
  /// The same, past the cache where there are kernels for that; Kernels::flush must follow.
  void stream(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
              const RunAttributes* attributes, int64_t ahead) const;
  /// Converts n elements that follow each other.
  void operator()(const std::byte* src, std::byte* dst, int64_t n) const {
    (*this)(src, kFirst, dst, kFirst, 1, n, nullptr, 0);
  }

  int64_t src_bytes() const { return src_bytes_; }
  int64_t dst_bytes() const { return dst_bytes_; }

 private:
  void by_pieces(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                 int64_t n, const RunAttributes* attributes, int64_t ahead) const;

  int64_t src_bytes_, dst_bytes_;
  ConvertStreamKernel stream_;
  StreamedPair pair_;
  ConvertKernel convert_;
  MapKernel decode_ = nullptr, encode_ = nullptr;
  /// Instead of convert_, for values of 8 bytes that become a small floating type.
  MapKernel to_odd_ = nullptr;
  bool from_f32_ = false;  // what encode_ takes
};

}  // namespace relayout::cpu
