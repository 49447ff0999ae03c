// Measuring packed weights: computing their values, or repacking them, beside a copy and beside writing alone.
//
//     PackedWork work{{.format = "gptq", .values = {4096, 11008}, .group = 128}, "awq", {}};
//     measure_packed(work).ratio;          // beside a copy of half of the bytes read and written
//     measure_packed(work).write_ratio;    // beside writing the destination's bytes, which have no source
//
// The source is made up: codes of random bits, scales of 0.5, and zero points at which the code 8 is the value 0, so
// that formats without zero points can take them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "bench/buffer.h"
#include "bench/measure.h"
#include "relayout/cpu/repack.h"

namespace relayout::bench {

/// What is measured: values in `dst`, or, where `to` names a format, a repacking.
struct PackedWork {
  cpu::PackedTensor from;
  std::string to;
  TensorDesc dst;
  Attributes attributes{};
};

/// The buffers of both sides, and the work on them. Errors: those of cpu::dequantize() and cpu::repack(), limit.
class PackedRun {
 public:
  explicit PackedRun(const PackedWork& work);

  void run(int threads) const;
  int64_t bytes_read() const { return read_; }
  int64_t bytes_written() const { return written_; }
  /// The source's buffers, and the destination's.
  std::span<const cpu::PackedBuffer> source() const { return source_; }
  std::span<const cpu::PackedTarget> target() const { return target_; }

 private:
  std::span<std::byte> buffer(int64_t bytes);
  void fill_source();

  PackedWork work_;
  cpu::PackedTensor to_;
  std::deque<PageBuffer> memory_;
  std::vector<cpu::PackedBuffer> source_;
  std::vector<cpu::PackedTarget> target_;  // one without a name where values are computed
  int64_t read_ = 0, written_ = 0;
};

struct PackedMeasurement {
  double median_ns = 0, min_ns = 0;  // of one run
  int64_t bytes_read = 0, bytes_written = 0;
  double gbps = 0;                    // of both together
  double copy_ns = 0;                 // the faster of two copies of half of both, as Measurement has them
  double write_ns = 0;                // the faster of two ways to write bytes_written
  double ratio = 0, write_ratio = 0;  // median_ns over these
  double min_ratio = 0;               // min_ns over the smallest time of a copy
  std::string_view isa;
  int threads = 1, repeat = 0;
};

/// Of the options, threads, repeat and repetition_ns count. Errors: those of PackedRun, invalid_argument.
PackedMeasurement measure_packed(const PackedWork& work, const MeasureOptions& options = {});

}  // namespace relayout::bench
