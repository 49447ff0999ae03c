// How runs are converted with stores past the cache, for all pairs of types: by way of a piece of memory in the
// first-level cache, from which whole lines are written. A part of convert-inl.h.

namespace {

/// Writes bytes from memory, where they lie as far from the start of a line as in the destination: whole lines past the
/// cache.
HWY_INLINE void write_lines(const std::byte* src, std::byte* dst, int64_t bytes) {
  const int64_t head = std::min(-static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) & (kCacheLine - 1), bytes);
  copy_short(src, dst, head);
  const int64_t lines = (bytes - head) / kCacheLine * kCacheLine;
  stream_lines(src + head, dst + head, lines, 0);
  copy_short(src + head + lines, dst + head + lines, bytes - head - lines);
}

/// The bytes of a run that are converted at a time, and the bytes of memory for shorter runs.
constexpr int64_t kPiece = 512, kShortRuns = 2048;

/// Several runs, each of less than half a piece, at a time.
void stream_short_runs(const StreamedPair& pair, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs,
                       int64_t runs, int64_t n, const RunAttributes* attributes, int64_t ahead) {
  constexpr int64_t kMostRuns = kShortRuns / kCacheLine;
  alignas(64) std::byte memory[kShortRuns];
  const int64_t run = n * pair.dst_bytes, pitch = (run + 2 * kCacheLine - 1) / kCacheLine * kCacheLine;
  const int64_t together = kShortRuns / pitch;
  int64_t at[kMostRuns];
  for (int64_t first = 0; first < runs; first += together) {
    const int64_t count = std::min(together, runs - first);
    for (int64_t r = 0; r < count; ++r) {
      const auto address = reinterpret_cast<uintptr_t>(dst + dst_runs[first + r]);
      at[r] = r * pitch + static_cast<int64_t>(address % kCacheLine);
    }
    RunAttributes own{};
    if (attributes) own = attributes->from(0, first);
    pair.convert(src, src_runs + first, memory, at, count, n, attributes ? &own : nullptr, ahead);
    for (int64_t r = 0; r < count; ++r) write_lines(memory + at[r], dst + dst_runs[first + r], run);
  }
}

void stream_long_run(const StreamedPair& pair, const std::byte* src, std::byte* dst, int64_t n,
                     const RunAttributes* attributes, int64_t run, int64_t ahead) {
  RunAttributes own{};
  const auto attributes_from = [&](int64_t i) HWY_ATTR {
    if (attributes) own = attributes->from(i, run);
    return attributes ? &own : nullptr;
  };
  const auto edge = [&](int64_t i, int64_t end) HWY_ATTR {
    if (i < end)
      pair.convert(src + i * pair.src_bytes, kFirst, dst + i * pair.dst_bytes, kFirst, 1, end - i, attributes_from(i),
                   ahead);
  };
  const int64_t head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) & (kCacheLine - 1);
  // Elements may lie across two lines.
  if (head % pair.dst_bytes != 0 || head > n * pair.dst_bytes) return edge(0, n);
  const int64_t line = kCacheLine / pair.dst_bytes, piece = kPiece / pair.dst_bytes;
  int64_t i = head / pair.dst_bytes;
  const int64_t last = n - (n - i) % line;
  edge(0, i);
  for (; i < last; i += piece) {
    alignas(64) std::byte memory[kPiece];
    const int64_t count = std::min(piece, last - i);
    pair.convert(src + i * pair.src_bytes, kFirst, memory, kFirst, 1, count, attributes_from(i), ahead);
    stream_lines(memory, dst + i * pair.dst_bytes, count * pair.dst_bytes, 0);
  }
  edge(last, n);
}

void convert_stream(const StreamedPair& pair, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs,
                    int64_t runs, int64_t n, const RunAttributes* attributes, int64_t ahead) {
  const int64_t run = n * pair.dst_bytes;
  if (2 * run <= kPiece) return stream_short_runs(pair, src, src_runs, dst, dst_runs, runs, n, attributes, ahead);
  for (int64_t r = 0; r < runs; ++r)
    stream_long_run(pair, src + src_runs[r], dst + dst_runs[r], n, attributes, r, ahead);
}

}  // namespace
