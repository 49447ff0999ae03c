// Runs stages, chunk by chunk: stretches of the source are read to a buffer in the cache, moved to another one, and
// written as stretches of the destination (Stages).
#include <cstring>
#include <limits>
#include <new>

#include "relayout/cpu/runners/converter.h"
#include "relayout/cpu/runners/listed.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Values that are converted at a time where they are also packed or unpacked.
constexpr int64_t kPackedValues = 1024;
/// Bytes of the smallest vector register: shorter runs of a swizzle are not stored past the cache.
constexpr int64_t kLeastStreamed = 16;

bool is_packed(DType type) { return bits(type) < 8; }

/// Reads or writes the stretches of a chunk: one side is the tensor's, the other a buffer.
class StretchRunner {
 public:
  /// `tile` has room for the chunk of a swizzled side as it would lie in memory without the swizzle.
  StretchRunner(const RunContext& context, const Stretches& stretches, Operand side, DType type, DType between,
                bool arithmetic, std::byte* tile)
      : context_(context),
        stretches_(stretches),
        side_(side),
        packed_(is_packed(type)),
        moves_(type == between && !arithmetic),
        element_(units(type)),
        element_bits_(bits(type)),
        in_buffer_(units(between)),
        convert_(context, side == kSrc ? type : between, side == kSrc ? between : type, arithmetic, 1,
                 stretches.run_attribute),
        tile_(stretches.swizzle.identity() ? nullptr : tile) {
    if (packed_) {
      unpack_ = unpack_kernel(context.kernels, bits(type), kind(type) == DTypeKind::signed_integer);
      pack_ = pack_kernel(context.kernels, bits(type));
    }
    list();
  }

  /// From or to the chunk whose first element is at `at`. `stream`: past the cache.
  void run(const Offsets& at, std::byte* buffer, bool stream) const {
    const int64_t first = at[side_] + stretches_.first[side_],
                  attribute = at[kAttribute] + stretches_.first[kAttribute];
    if (!tile_) return move(context_.src, context_.dst, first, buffer, attribute, stream);
    if (moves_ && !packed_) return permute(first, buffer, stream);
    if (side_ == kSrc) permute(first, tile_, false);
    move(tile_, tile_, 0, buffer, attribute, false);
    if (side_ == kDst) permute(first, tile_, stream);
  }

 private:
  /// Moves the runs of a swizzled chunk between memory and its image without the swizzle. Each period keeps its place,
  /// and as a swizzle is its own inverse, one list says for both ways from where a run comes.
  void permute(int64_t first, std::byte* image, bool stream) const {
    const int64_t at = packed_ ? first * element_bits_ / 8 : first;
    const LineProgram& lines = stretches_.period;
    if (lines.width > 0 && context_.kernels.permuted_bytes == lines.width &&
        !(stream && (!at_lines_ || to_line(context_.dst + at) != 0))) {
      const auto count = static_cast<int64_t>(lines.lines.size()), periods = rows_ / stretches_.count;
      const ProgramUnits units{periods, count * kCacheLine, count * kCacheLine, 0, count, stream};
      for (int64_t row = 0; row < rows_; row += periods) {
        const std::byte* const from = side_ == kSrc ? context_.src + at + memory_rows_[row] : image + image_rows_[row];
        std::byte* const to = side_ == kSrc ? image + image_rows_[row] : context_.dst + at + memory_rows_[row];
        context_.kernels.line_program[1](from, to, lines, units);
      }
      return;
    }
    const bool whole = stream && piece_bytes_ >= kLeastStreamed;
    const CopyKernel copy = whole ? context_.kernels.copy_stream : context_.kernels.copy;
    if (side_ == kSrc)
      copy(context_.src + at, memory_rows_, pieces_, image, image_rows_, in_order_, rows_, row_pieces_, piece_bytes_,
           0);
    else
      copy(image, image_rows_, pieces_, context_.dst + at, memory_rows_, in_order_, rows_, row_pieces_, piece_bytes_,
           0);
  }

  void move(const std::byte* src, std::byte* dst, int64_t first, std::byte* buffer, int64_t attribute,
            bool stream) const {
    if (packed_ && moves_) return pack(src, dst, first, buffer, stream);
    if (packed_) return convert_packed(dst, first, buffer, attribute);
    const std::byte* const from = side_ == kSrc ? src + first : buffer;
    std::byte* const to = side_ == kSrc ? buffer : dst + first;
    const Starts from_at = side_ == kSrc ? starts_ : buffered_, to_at = side_ == kSrc ? buffered_ : starts_;
    if (moves_) {
      const CopyKernel copy = stream ? context_.kernels.copy_stream : context_.kernels.copy;
      return copy(from, from_at, kFirst, to, to_at, kFirst, stretches_.count, 1, stretches_.run * element_, 0);
    }
    const int64_t step = stretches_.run_attribute;
    if (joined_)
      return convert_.short_runs(stream, from, from_at, to, to_at, stretches_.count, stretches_.run, attribute,
                                 attributes_, step);
    for (const Call& call : std::span(calls_).first(static_cast<std::size_t>(call_count_))) {
      const int64_t i = call.first, at_stretch = attribute + attributes_[i];
      switch (call.kind) {
        case Call::Kind::value_each:
        case Call::Kind::same_values:
          convert_.runs(stream, from, from_at + i, to, to_at + i, call.count, stretches_.run,
                        convert_.attributes(at_stretch, step, call.kind == Call::Kind::value_each ? 1 : 0).get(), 0);
          break;
        case Call::Kind::one_run:
          convert_.repeat(stream, from + from_at[i], to + to_at[i], to + to_at[i], at_stretch, {stretches_.run, step},
                          call.count * stretches_.run);
          break;
        case Call::Kind::one_by_one:
          for (int64_t k = i; k < i + call.count; ++k)
            convert_.run(from + from_at[k], to + to_at[k], to + to_at[k], at_stretch, step, stretches_.run);
      }
    }
  }

  /// Stretches of a chunk that are converted by one call, from a first one on.
  struct Call {
    /// Those of which each has one attribute value, which follow each other in the table; those that have the same
    /// values, which step along each of them or not; those that also follow each other, so that they are one run in
    /// which the values repeat; and those that a kernel takes only one by one.
    enum class Kind : uint8_t { value_each, same_values, one_run, one_by_one };
    Kind kind;
    int16_t first, count;
  };
  static_assert(Stages::kMaxStretches <= std::numeric_limits<int16_t>::max());

  Call call_from(int64_t i) const {
    const auto alike = [&](int64_t apart) {
      int64_t n = 1;
      while (i + n < stretches_.count && attributes_[i + n] == attributes_[i] + n * apart) ++n;
      return n;
    };
    const auto call = [i](Call::Kind kind, int64_t count) {
      return Call{kind, static_cast<int16_t>(i), static_cast<int16_t>(count)};
    };
    const int64_t step = stretches_.run_attribute, same = alike(0);
    if (same == 1 && step == 0 && convert_.direct) {
      if (const int64_t rows = alike(1); rows > 1) return call(Call::Kind::value_each, rows);
    }
    const int64_t in_memory = stretches_.run * element_, in_buffer = stretches_.run * in_buffer_;
    if (step != 0 && one_stretch(starts_ + i, same, in_memory) && one_stretch(buffered_ + i, same, in_buffer))
      return call(Call::Kind::one_run, same);
    const bool together = convert_.direct && convert_.lists(step, 0);
    return call(together ? Call::Kind::same_values : Call::Kind::one_by_one, same);
  }

  void list_calls() {
    if (moves_ || packed_) return;
    for (int64_t i = 0; i < stretches_.count; i += calls_[call_count_ - 1].count) calls_[call_count_++] = call_from(i);
    // Short stretches are joined where a call converts so few elements that it takes longer to call than to join them.
    constexpr int64_t kManyElements = 128;
    int64_t calls = 0;
    bool one_by_one = false;
    for (const Call& call : std::span(calls_).first(static_cast<std::size_t>(call_count_))) {
      one_by_one |= call.kind == Call::Kind::one_by_one;
      calls += call.kind == Call::Kind::one_by_one ? call.count : 1;
    }
    joined_ = calls > 1 && convert_.joins(stretches_.run, !one_by_one) &&
              stretches_.count * stretches_.run < calls * kManyElements;
  }

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
      count *= axis.extent;
    }
    for (std::size_t base = stretches_.bases.size(); base-- > 0;)
      again(stretches_.bases[base], 0, static_cast<int64_t>(base) * count);
    for (int64_t i = 0; i < stretches_.count; ++i) buffered_[i] = i * stretches_.pitch * in_buffer_;
    if (tile_) list_periods();
    list_calls();
    for (int64_t i = 0; i < stretches_.count; ++i)
      whole_bytes_ = whole_bytes_ && (!packed_ || starts_[i] % byte_period(element_bits_) == 0);
  }

  /// Where the periods of a swizzled chunk lie in memory and in its image, and where the runs of one are in it. The
  /// stretches then follow each other in the tile.
  void list_periods() {
    const Swizzle& swizzle = stretches_.swizzle;
    const auto bytes = [&](int64_t elements) { return elements * element_bits_ / 8; };
    const int64_t period = swizzle.period(), run = swizzle.run();
    const bool in_buffer = moves_ && !packed_;
    piece_bytes_ = bytes(run);
    row_pieces_ = period / run;
    for (int64_t k = 0; k < row_pieces_; ++k) {
      pieces_[k] = bytes(swizzle.apply(k * run));
      in_order_[k] = k * piece_bytes_;
    }
    for (int64_t i = 0; i < stretches_.count; ++i) {
      const int64_t start = packed_ ? bytes(starts_[i]) : starts_[i];
      const int64_t image = in_buffer ? buffered_[i] : bytes(i * stretches_.run);
      for (int64_t done = 0; done < stretches_.run; done += period, ++rows_) {
        memory_rows_[rows_] = start + bytes(done);
        image_rows_[rows_] = image + bytes(done);
      }
      starts_[i] = i * stretches_.run * (packed_ ? 1 : element_);
    }
    at_lines_ = std::all_of(memory_rows_, memory_rows_ + rows_, [](int64_t row) { return row % kCacheLine == 0; });
  }

  void pack(const std::byte* src, std::byte* dst, int64_t first, std::byte* buffer, bool stream) const {
    if (side_ == kSrc) return unpack_(src, first, starts_, stretches_.count, stretches_.run, buffer, stretches_.pitch);
    const int64_t period = byte_period(element_bits_);
    if (!stream || stretches_.run % period != 0 || first % period != 0 || !whole_bytes_)
      return pack_(buffer, stretches_.pitch, dst, first, starts_, stretches_.count, stretches_.run, context_.shared);
    // Elements are packed in the first-level cache, and the lines written from there.
    alignas(64) std::byte packed[kPackedValues];
    const auto bytes = [&](int64_t elements) { return elements * element_bits_ / 8; };
    for (int64_t i = 0; i < stretches_.count; ++i) {
      std::byte* const to = dst + bytes(first + starts_[i]);
      for (int64_t done = 0; done < stretches_.run; done += kPackedValues) {
        const int64_t n = std::min(kPackedValues, stretches_.run - done);
        pack_(buffer + i * stretches_.pitch + done, 0, packed, 0, kFirst, 1, n, false);
        context_.kernels.copy_stream(packed, kFirst, kFirst, to + bytes(done), kFirst, kFirst, 1, 1, bytes(n), 0);
      }
    }
  }

  /// Converts, and packs what is written. (What is read is unpacked without a conversion.)
  void convert_packed(std::byte* dst, int64_t first, const std::byte* buffer, int64_t attribute) const {
    alignas(64) std::byte converted[kPackedValues];
    for (int64_t i = 0; i < stretches_.count; ++i) {
      for (int64_t done = 0; done < stretches_.run; done += kPackedValues) {
        const int64_t n = std::min(kPackedValues, stretches_.run - done);
        if (context_.plan.attributes().beta != 0) unpack_(dst, first + starts_[i] + done, kFirst, 1, n, converted, 0);
        convert_.run(buffer + buffered_[i] + done * in_buffer_, converted, converted,
                     attribute + attributes_[i] + done * stretches_.run_attribute, stretches_.run_attribute, n);
        pack_(converted, 0, dst, first + starts_[i] + done, kFirst, 1, n, context_.shared);
      }
    }
  }

  const RunContext& context_;
  const Stretches& stretches_;
  const Operand side_;
  const bool packed_, moves_;
  UnpackKernel unpack_ = nullptr;  // where elements are packed
  PackKernel pack_ = nullptr;
  bool joined_ = false;  // stretches are converted by short_runs()
  int64_t call_count_ = 0;
  bool whole_bytes_ = true;  // stretches of sub-byte elements start at whole bytes from the first one on
  const int64_t element_;
  const int element_bits_;
  const int64_t in_buffer_;
  const Converter convert_;
  std::byte* const tile_;
  int64_t starts_[Stages::kMaxStretches], buffered_[Stages::kMaxStretches], attributes_[Stages::kMaxStretches];
  Call calls_[Stages::kMaxStretches];
  /// Of a swizzled side: rows are periods, and columns the runs of one.
  int64_t memory_rows_[Stages::kMaxStretches], image_rows_[Stages::kMaxStretches], pieces_[Stages::kMaxStretches],
      in_order_[Stages::kMaxStretches];
  int64_t rows_ = 0, row_pieces_ = 0, piece_bytes_ = 0;
  bool at_lines_ = false;  // stretches start at lines of memory from the first one on
};

/// Runs the boxes between the buffers, or between a buffer and the tensor. The lists of the first few are made once for
/// all chunks.
class Moves {
 public:
  Moves(const RunContext& context, const std::vector<BoxPlan>& moves, const Tables& tables)
      : inside_(context), moves_(moves), tables_(tables) {
    inside_.readable = {};
    for (std::size_t i = 0; i < std::min(moves.size(), kListed); ++i)
      new (memory_ + i * sizeof(BlockLists)) BlockLists(moves[i], tables);
  }

  void run(const std::byte* src, std::byte* dst) {
    inside_.src = src;
    inside_.dst = dst;
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const BoxPlan& box = moves_[i];
      if (box.strided && box.blocks == 1)
        run_strided(inside_.kernels, box, src + box.offset[kSrc], dst + box.offset[kDst], box.along_src.count,
                    box.along_dst.count);
      else if (i < kListed)
        run_blocks(inside_, box, tables_, 0, box.blocks, lists(i));
      else
        run_blocks(inside_, box, tables_, 0, box.blocks);
    }
  }

 private:
  static constexpr std::size_t kListed = 4;

  BlockLists& lists(std::size_t i) {
    return *std::launder(reinterpret_cast<BlockLists*>(memory_ + i * sizeof(BlockLists)));
  }

  RunContext inside_;
  const std::vector<BoxPlan>& moves_;
  const Tables& tables_;
  /// The lists are in plain memory, as arrays of std::optional are set to zero as a whole, lists and all.
  alignas(BlockLists) std::byte memory_[kListed * sizeof(BlockLists)];
};

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

void run_all(const RunContext& context, const Loops& loops, const Stages& method, const Tables& tables, int64_t begin,
             int64_t end) {
  /// Kernels may read and write up to so many bytes before and behind what they are asked for.
  constexpr int64_t kMargin = 64;
  alignas(64) std::byte read[Stages::kMaxBytes + 2 * kMargin], written[Stages::kMaxBytes + 2 * kMargin];
  alignas(64) std::byte tiles[2][Stages::kMaxBytes];
  const DType src = context.plan.src().dtype, dst = context.plan.dst().dtype;
  const bool computes = method.converts && context.plan.attributes().arithmetic();
  const StretchRunner in(context, method.in, kSrc, src, method.between, computes && !method.converts_last, tiles[0]);
  const StretchRunner out(context, method.out, kDst, dst, method.between, computes && method.converts_last, tiles[1]);
  const bool stream = loops.past_cache && context.kernels.copy_stream;
  std::byte *const reads = read + kMargin, *const writes = written + kMargin;
  if (method.fills) fill(writes, method.out.bytes(units(method.between)), units(method.between), method.fill);
  Moves moves(context, method.moves, tables);
  Odometer at(loops, tables);
  at.seek(begin);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    with_rests(method.rests, 0, loops, at, at.offsets, [&](Offsets offsets) {
      offsets[kAttribute] += context.attribute;
      if (method.reads) in.run(offsets, reads, false);
      moves.run(method.reads ? reads : context.src + offsets[kSrc],
                method.writes ? writes : context.dst + offsets[kDst]);
      if (method.writes) out.run(offsets, writes, stream);
    });
    if (chunk + 1 < end) at.next();
  }
  if (stream) context.kernels.flush();
}

}  // namespace relayout::cpu
