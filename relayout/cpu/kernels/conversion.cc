// Conversions through other types, piece by piece.
#include "relayout/cpu/kernels/conversion.h"

namespace relayout::cpu {
namespace {

/// The elements of a piece; f32 of them are in the first-level cache.
constexpr int64_t kPiece = 512;

bool is_small(DType dtype) { return static_cast<std::size_t>(dtype) >= kPairedTypes; }

}  // namespace

Conversion::Conversion(const Kernels& kernels, DType from, DType to)
    : src_bytes_(storage_bytes(from)),
      dst_bytes_(storage_bytes(to)),
      stream_(kernels.convert_stream),
      pair_(streamed_pair(kernels, read_as(from), stored_from(to))),
      convert_(pair_.convert) {
  if (is_small(from)) decode_ = kernels.decode[SmallTypes::place(from)];
  if (!is_small(to)) return;
  encode_ = kernels.encode[SmallTypes::place(to)];
  from_f32_ = is_floating(to);
  if (from_f32_ && bits(from) == 64) to_odd_ = kernels.to_odd[WideTypes::place(from)];
}

void Conversion::stream(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs, int64_t n,
                        const RunAttributes* attributes, int64_t ahead) const {
  if (!stream_) return (*this)(src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
  if (!decode_ && !encode_) return stream_(pair_, src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
  by_pieces(true, src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
}

void Conversion::by_pieces(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs,
                           int64_t runs, int64_t n, const RunAttributes* attributes, int64_t ahead) const {
  alignas(64) std::byte read[kPiece * 2], values[kPiece * sizeof(float)];
  for (int64_t r = 0; r < runs; ++r) {
    // Past the cache, pieces end where lines of the destination do.
    const int64_t to_line = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst + dst_runs[r])) & (kCacheLine - 1);
    const int64_t head = stream ? to_line / dst_bytes_ : 0;
    for (int64_t i = 0, count = 0; i < n; i += count) {
      count = std::min(n - i, i == 0 && head > 0 ? head : kPiece);
      const std::byte* from = src + src_runs[r] + i * src_bytes_;
      std::byte* const to = dst + dst_runs[r] + i * dst_bytes_;
      if (decode_) {
        decode_(from, read, count);
        from = read;
      }
      std::byte* const made = from_f32_ ? values : to;
      RunAttributes own{};
      if (attributes) own = attributes->from(i, r);
      const RunAttributes* const with = attributes ? &own : nullptr;
      if (to_odd_)
        to_odd_(from, made, count);
      else if (stream && !encode_)
        stream_(pair_, from, kFirst, made, kFirst, 1, count, with, decode_ ? 0 : ahead);
      else
        convert_(from, kFirst, made, kFirst, 1, count, with, decode_ ? 0 : ahead);
      if (encode_) encode_(made, to, count);
    }
  }
}

}  // namespace relayout::cpu
