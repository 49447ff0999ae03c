// Making up packed weights, and timing what is done with them.
#include "bench/packed.h"

#include <algorithm>

#include "bench/copy.h"
#include "bench/timing.h"
#include "relayout/core/packed/packed.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/reorder.h"

namespace relayout::bench {
namespace {

/// The bytes of a buffer of a packed matrix.
int64_t bytes_of(const cpu::PackedTensor& tensor, std::string_view buffer) {
  const PackedFormat& format = packed_format(tensor.format);
  return packed_record(format, tensor.values, format.one_buffer() ? std::string_view() : buffer, tensor.group).bytes();
}

/// What floating coefficients are.
constexpr float kScale = 0.5F;

/// The integer that coefficients are so that the code 8 stands for the value 0; nothing where there is none.
std::optional<float> middle(const PackedFormat& format, const std::vector<std::string>& codes) {
  const ValueExpression value = cpu::value_of(format);
  for (float zero = 0; zero < 16; ++zero) {
    const float at = value.value([&](std::string_view name) {
      if (std::ranges::find(codes, name) == codes.end()) return is_floating(format.field(name).dtype) ? kScale : zero;
      return codes.size() == 1 ? 8.0F : 0.0F;
    });
    if (at == 0) return zero;
  }
  return std::nullopt;
}

}  // namespace

std::span<std::byte> PackedRun::buffer(int64_t bytes) {
  require_memory(bytes, "bench");
  const std::span<std::byte> out = memory_.emplace_back(bytes).bytes().first(static_cast<std::size_t>(bytes));
  fill_values(DType::u8, out);
  return out;
}

PackedRun::PackedRun(const PackedWork& work) : work_(work) {
  const PackedFormat& from = packed_format(work_.from.format);
  for (const std::string_view name : cpu::value_buffers(from)) {
    source_.emplace_back(std::string(name), buffer(bytes_of(work_.from, name)));
    read_ += static_cast<int64_t>(source_.back().second.bytes().size());
  }
  fill_source();
  if (work_.to.empty()) {
    target_.emplace_back("", buffer(work_.dst.span_bytes()));
  } else {
    to_ = cpu::packed_as(work_.from, work_.to, packed_format(work_.to).group != 0 ? work_.from.group : 0);
    for (const std::string_view name : cpu::value_buffers(packed_format(work_.to)))
      target_.emplace_back(std::string(name), buffer(bytes_of(to_, name)));
  }
  for (const cpu::PackedTarget& target : target_) written_ += static_cast<int64_t>(target.second.bytes().size());
}

void PackedRun::fill_source() {
  const PackedFormat& format = packed_format(work_.from.format);
  const std::vector<cpu::ValueField> fields = cpu::value_fields(work_.from, source_);
  std::vector<std::string> codes;
  for (const cpu::ValueField& field : fields) {
    if (field.desc.layout.dims() == work_.from.values) codes.push_back(field.name);
  }
  const std::optional<float> zero = middle(format, codes);
  for (const cpu::ValueField& field : fields) {
    const bool floating = is_floating(field.desc.dtype);
    if (std::ranges::find(codes, field.name) != codes.end() || (!floating && !(zero && !work_.to.empty()))) continue;
    const TensorDesc dense(Layout::contiguous(field.desc.layout.dims()), DType::f32);
    const std::vector<float> values(static_cast<std::size_t>(dense.layout.elements()), floating ? kScale : *zero);
    const std::span<const std::byte> bytes = field.buffer.bytes();
    cpu::reorder(dense, values, field.desc, std::span(const_cast<std::byte*>(bytes.data()), bytes.size()));
  }
}

void PackedRun::run(int threads) const {
  if (work_.to.empty())
    cpu::dequantize(work_.from, source_, work_.dst, target_[0].second, work_.attributes, {.threads = threads});
  else
    cpu::repack(work_.from, source_, to_, target_, {.run = {.threads = threads}});
}

PackedMeasurement measure_packed(const PackedWork& work, const MeasureOptions& options) {
  if (options.repeat < 1)
    throw Error(ErrorCode::invalid_argument,
                "bench: " + std::to_string(options.repeat) + " repetitions; 1 is the least", "repeat",
                std::to_string(options.repeat), "1");
  const PackedRun packed(work);
  PackedMeasurement out;
  out.bytes_read = packed.bytes_read();
  out.bytes_written = packed.bytes_written();
  out.isa = cpu::isa();
  out.repeat = options.repeat;
  out.threads = options.threads > 0 ? options.threads : cpu::default_threads();
  const int64_t half = (out.bytes_read + out.bytes_written) / 2;
  require_memory(2 * half, "bench");
  const PageBuffer from(half), to(std::max(half, out.bytes_written));
  std::ranges::fill(from.bytes(), std::byte{1});
  std::ranges::fill(to.bytes(), std::byte{1});
  const Copies copies(out.threads);
  const auto repeated = [](auto once) {
    return Work{[once](int64_t count) {
      for (; count > 0; --count) once();
    }};
  };
  std::vector<Work> works(5);
  works[0] = repeated([&] { packed.run(out.threads); });
  works[1] = repeated([&] { copies.plain(to.data(), from.data(), half); });
  works[2] = repeated([&] { copies.set(to.data(), out.bytes_written); });
  if (have_non_temporal() && 2 * half >= kNonTemporalFrom) {
    works[3] = repeated([&] { copies.non_temporal(to.data(), from.data(), half); });
    works[4] = repeated([&] { copies.set_non_temporal(to.data(), out.bytes_written); });
  }
  const std::vector<Timing> times = time_in_turns(
      works, {.repeat = options.repeat, .repetition_ns = options.repetition_ns, .warm = 2 * half <= kWarmUpTo});
  const auto faster = [&](std::size_t a, std::size_t b, double Timing::*time) {
    return works[b].run ? std::min(times[a].*time, times[b].*time) : times[a].*time;
  };
  out.median_ns = times[0].median_ns;
  out.min_ns = times[0].min_ns;
  out.copy_ns = faster(1, 3, &Timing::median_ns);
  out.write_ns = faster(2, 4, &Timing::median_ns);
  out.gbps = static_cast<double>(out.bytes_read + out.bytes_written) / out.median_ns;
  out.ratio = out.median_ns / out.copy_ns;
  out.write_ratio = out.median_ns / out.write_ns;
  out.min_ratio = out.min_ns / faster(1, 3, &Timing::min_ns);
  return out;
}

}  // namespace relayout::bench
