// Runs stages, chunk by chunk: stretches of the source are read to a buffer in the cache, moved to another one, and
// written as stretches of the destination (Stages).
#include <cstring>

#include "relayout/cpu/runners/converter.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Values that are converted at a time where they are also packed or unpacked.
constexpr int64_t kPackedValues = 1024;

bool is_packed(DType type) { return bits(type) < 8; }

/// Reads or writes the stretches of a chunk: one side is the tensor's, the other a buffer.
class StretchRunner {
 public:
  StretchRunner(const RunContext& context, const Stretches& stretches, Operand side, DType type, DType between,
                bool arithmetic)
      : context_(context),
        stretches_(stretches),
        side_(side),
        packed_(is_packed(type)),
        moves_(type == between && !arithmetic),
        element_(units(type)),
        in_buffer_(units(between)),
        convert_(context, side == kSrc ? type : between, side == kSrc ? between : type, arithmetic, 1,
                 stretches.run_attribute) {
    if (packed_) {
      unpack_ = unpack_kernel(context.kernels, bits(type), kind(type) == DTypeKind::signed_integer);
      pack_ = pack_kernel(context.kernels, bits(type));
    }
    list();
  }

  /// From or to the chunk whose first element is at `at`. `stream`: past the cache.
  void run(const Offsets& at, std::byte* buffer, bool stream) const {
    const int64_t first = at[side_] + stretches_.first[side_];
    if (packed_ && moves_) return pack(first, buffer);
    const int64_t attribute = at[kAttribute] + stretches_.first[kAttribute];
    if (packed_) return convert_packed(first, buffer, attribute);
    const std::byte* const from = side_ == kSrc ? context_.src + first : buffer;
    std::byte* const to = side_ == kSrc ? buffer : context_.dst + first;
    const Starts from_at = side_ == kSrc ? starts_ : buffered_, to_at = side_ == kSrc ? buffered_ : starts_;
    if (moves_) {
      const CopyKernel copy = stream ? context_.kernels.copy_stream : context_.kernels.copy;
      return copy(from, from_at, kFirst, to, to_at, kFirst, stretches_.count, 1, stretches_.run * element_, 0);
    }
    const int64_t step = stretches_.run_attribute;
    const bool follow = convert_.direct && convert_.lists(step, 0);
    // Short stretches that follow each other are one run, in which the attribute values repeat.
    if (!varies_ && step != 0 && one_stretch(from_at, stretches_.count, stretches_.run * convert_.src_bytes) &&
        one_stretch(to_at, stretches_.count, stretches_.run * convert_.dst_bytes)) {
      return convert_.repeat(stream, from + from_at[0], to + to_at[0], to + to_at[0], attribute, step,
                             stretches_.count * stretches_.run, stretches_.run);
    }
    if (follow && !varies_)
      return convert_.runs(stream, from, from_at, to, to_at, stretches_.count, stretches_.run,
                           convert_.attributes(attribute, step, 0).get(), 0);
    if (grouped_ && convert_.direct)
      return convert_.runs(stream, from, from_at, to, to_at, stretches_.count, stretches_.run,
                           convert_.attributes(attribute, 0, 1).get(), 0);
    for (int64_t i = 0; i < stretches_.count; ++i) {
      const int64_t at_stretch = attribute + attributes_[i];
      if (follow) {
        convert_.runs(stream, from + from_at[i], kFirst, to + to_at[i], kFirst, 1, stretches_.run,
                      convert_.attributes(at_stretch, step, 0).get(), 0);
        continue;
      }
      convert_.run(from + from_at[i], to + to_at[i], to + to_at[i], at_stretch, step, stretches_.run);
    }
  }

 private:
  void list() {
    int64_t count = 1;
    starts_[0] = attributes_[0] = 0;
    const auto again = [&](int64_t start, int64_t attribute, int64_t at) {
      for (int64_t i = 0; i < count; ++i) {
        starts_[at + i] = starts_[i] + start;
        attributes_[at + i] = attributes_[i] + attribute;
      }
    };
    for (const Axis& axis : stretches_.axes) {
      for (int64_t step = 1; step < axis.extent; ++step)
        again(step * axis.stride[side_], step * axis.stride[kAttribute], step * count);
      varies_ = varies_ || axis.stride[kAttribute] != 0;
      count *= axis.extent;
    }
    for (std::size_t base = stretches_.bases.size(); base-- > 0;)
      again(stretches_.bases[base], 0, static_cast<int64_t>(base) * count);
    for (int64_t i = 0; i < stretches_.count; ++i) buffered_[i] = i * stretches_.pitch * in_buffer_;
    grouped_ = varies_ && stretches_.run_attribute == 0;
    for (int64_t i = 0; i < stretches_.count; ++i) grouped_ = grouped_ && attributes_[i] == i;
  }

  void pack(int64_t first, std::byte* buffer) const {
    if (side_ == kSrc)
      unpack_(context_.src, first, starts_, stretches_.count, stretches_.run, buffer, stretches_.pitch);
    else
      pack_(buffer, stretches_.pitch, context_.dst, first, starts_, stretches_.count, stretches_.run, context_.shared);
  }

  /// Converts, and packs what is written. (What is read is unpacked without a conversion.)
  void convert_packed(int64_t first, const std::byte* buffer, int64_t attribute) const {
    alignas(64) std::byte converted[kPackedValues];
    for (int64_t i = 0; i < stretches_.count; ++i) {
      for (int64_t done = 0; done < stretches_.run; done += kPackedValues) {
        const int64_t n = std::min(kPackedValues, stretches_.run - done);
        if (context_.plan.attributes().beta != 0)
          unpack_(context_.dst, first + starts_[i] + done, kFirst, 1, n, converted, 0);
        convert_.run(buffer + buffered_[i] + done * in_buffer_, converted, converted,
                     attribute + attributes_[i] + done * stretches_.run_attribute, stretches_.run_attribute, n);
        pack_(converted, 0, context_.dst, first + starts_[i] + done, kFirst, 1, n, context_.shared);
      }
    }
  }

  const RunContext& context_;
  const Stretches& stretches_;
  const Operand side_;
  const bool packed_, moves_;
  UnpackKernel unpack_ = nullptr;  // where elements are packed
  PackKernel pack_ = nullptr;
  bool varies_ = false;   // attribute values differ from stretch to stretch
  bool grouped_ = false;  // each stretch has one, which follow each other
  const int64_t element_, in_buffer_;
  const Converter convert_;
  int64_t starts_[Stages::kMaxStretches], buffered_[Stages::kMaxStretches], attributes_[Stages::kMaxStretches];
};

/// Runs the boxes between the buffers, or between a buffer and the tensor.
void run_moves(const RunContext& context, const std::vector<BoxPlan>& moves, const Tables& tables, const std::byte* src,
               std::byte* dst) {
  RunContext inside = context;
  inside.src = src;
  inside.dst = dst;
  for (const BoxPlan& box : moves) {
    if (box.strided && box.blocks == 1)
      run_strided(context.kernels, box, src + box.offset[kSrc], dst + box.offset[kDst], box.row_count, box.col_count);
    else
      run_blocks(inside, box, tables, 0, box.blocks);
  }
}

/// Sets elements of `element` bytes, `bytes` in all.
void fill(std::byte* to, int64_t bytes, int64_t element, uint64_t value) {
  if (element == 1) return void(std::memset(to, static_cast<int>(value & 255), static_cast<std::size_t>(bytes)));
  std::memcpy(to, &value, static_cast<std::size_t>(element));
  for (int64_t done = element; done < bytes; done *= 2)
    std::memcpy(to + done, to, static_cast<std::size_t>(std::min(done, bytes - done)));
}

/// Calls run(offsets) for a chunk, and for those that start later at the end of loops.
template <typename Run>
void with_rests(const std::vector<Stages::Rest>& rests, std::size_t from, const Loops& loops, const Odometer& at,
                const Offsets& offsets, const Run& run) {
  if (from == rests.size()) return run(offsets);
  with_rests(rests, from + 1, loops, at, offsets, run);
  const Stages::Rest& rest = rests[from];
  if (at.index[rest.loop] + 1 < loops.loops[rest.loop].extent) return;
  Offsets later = offsets;
  for (std::size_t k = 0; k < kOperands; ++k) later[k] += rest.shift[k];
  with_rests(rests, from + 1, loops, at, later, run);
}

}  // namespace

bool run(const RunContext& context, const Loops& loops, const Stages& method, const Tables& tables, int64_t begin,
         int64_t end) {
  /// Kernels may read and write up to so many bytes before and behind what they are asked for.
  constexpr int64_t kMargin = 64;
  alignas(64) std::byte read[Stages::kMaxBytes + 2 * kMargin], written[Stages::kMaxBytes + 2 * kMargin];
  const DType src = context.plan.src().dtype, dst = context.plan.dst().dtype;
  const bool computes = method.converts && context.plan.attributes().arithmetic();
  const StretchRunner in(context, method.in, kSrc, src, method.between, computes && !method.converts_last);
  const StretchRunner out(context, method.out, kDst, dst, method.between, computes && method.converts_last);
  const bool stream = loops.past_cache && context.kernels.copy_stream;
  std::byte *const reads = read + kMargin, *const writes = written + kMargin;
  if (method.fills) fill(writes, method.out.bytes(units(method.between)), units(method.between), method.fill);
  Odometer at(loops, tables);
  at.seek(begin);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    with_rests(method.rests, 0, loops, at, at.offsets, [&](Offsets offsets) {
      offsets[kAttribute] += context.attribute;
      if (method.reads) in.run(offsets, reads, false);
      run_moves(context, method.moves, tables, method.reads ? reads : context.src + offsets[kSrc],
                method.writes ? writes : context.dst + offsets[kDst]);
      if (method.writes) out.run(offsets, writes, stream);
    });
    if (chunk + 1 < end) at.next();
  }
  if (stream) context.kernels.flush();
  return true;
}

}  // namespace relayout::cpu
