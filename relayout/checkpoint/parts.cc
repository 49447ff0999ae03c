// Parts of new tensors, made on several threads: a part is a range of indices of the dim that is outermost in the file,
// so that its bytes follow each other there.
#include "relayout/checkpoint/parts.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "relayout/checkpoint/assembly.h"
#include "relayout/checkpoint/boxes.h"
#include "relayout/checkpoint/mapped.h"
#include "relayout/checkpoint/overflow.h"
#include "relayout/checkpoint/packed/parts.h"
#include "relayout/checkpoint/room.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"
#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/threads.h"

namespace relayout::checkpoint {
namespace {

/// A part that is as large is in the second-level cache when it is written to the file.
constexpr int64_t kPartBytes = 1 << 20;
/// Of a source, what is read before its pages are given back, where memory is short.
constexpr int64_t kLeastSpan = 1 << 20;
/// The memory that is used where none is said. Giving pages back takes no time that could be measured.
constexpr int64_t kOrdinaryMemory = 1 << 30;

/// How a target is cut: along `dim`, `unit` indices of which have `unit_bytes` bytes in the file.
struct Cut {
  int dim = -1;  // -1: it is one part
  int64_t unit = 1, unit_bytes = 0;
};

/// The dim whose outermost digit has the largest step, if all offsets of one step of it come before those of the next.
Cut cut_of(const TensorDesc& memory) {
  const Layout& layout = memory.layout;
  Cut out;
  int64_t step = 0, reach = 0;
  if (layout.swizzled() || layout.offset0() != 0 || layout.empty()) return {};
  for (int d = 0; d < layout.ndims(); ++d) {
    for (const Digit& digit : layout.digits(d)) {
      if (digit.stride <= 0 && digit.extent > 1) return {};
      reach += (digit.extent - 1) * digit.stride;
    }
    const Digit& outer = layout.digits(d).back();
    if (outer.extent > 1 && outer.stride > step) {
      step = outer.stride;
      out = {.dim = d, .unit = layout.block(d)};
    }
  }
  if (out.dim < 0) return {};
  const Digit& outer = layout.digits(out.dim).back();
  const int64_t bits_of_step = step * bits(memory.dtype);
  if (reach - (outer.extent - 1) * outer.stride >= step || bits_of_step % 8 != 0) return {};
  out.unit_bytes = bits_of_step / 8;
  return out;
}

/// A layout from its smallest offset on, which becomes 0.
Layout from_zero(const Layout& layout, int64_t first) {
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.dims(), digits, layout.offset0() - first);
}

bool has_blocks(const Layout& layout) {
  for (int d = 0; d < layout.ndims(); ++d)
    if (layout.swizzled() || layout.block(d) > 1) return true;
  return false;
}

/// One part of a target, or of all targets of a group.
struct Part {
  std::size_t target = 0;
  Cut cut;
  int64_t first = 0, length = 0;  // indices of the cut's dim
};

class Mover {
 public:
  Mover(const Checkpoint& model, const Conversion& conversion, const PartOptions& options, const Sink& sink,
        const std::function<void(std::size_t)>& done)
      : model_(model), conversion_(conversion), options_(options), sink_(sink), done_(done) {
    threads_ = options.threads > 0 ? options.threads : cpu::default_threads();
    const int64_t memory = memory_of(options);
    part_bytes_ = std::clamp(memory / (4 * threads_), int64_t{64} << 10, kPartBytes);
    span_bytes_ = std::max(memory / (2 * threads_), kLeastSpan);
  }

  void run(std::span<const std::size_t> wanted) {
    left_ = std::vector<std::atomic<int64_t>>(conversion_.targets.size());
    for (const std::size_t t : wanted) {
      const int64_t before = static_cast<int64_t>(parts_.size());
      add_parts(t);
      left_[t] = static_cast<int64_t>(parts_.size()) - before;
      if (const auto group = conversion_.targets[t].group) left_[t] = parts_of_group_[*group];
      total_ += conversion_.targets[t].memory.span_bytes();
    }
    const auto work = [](void* self, int64_t begin, int64_t end) { static_cast<Mover*>(self)->work(end - begin); };
    cpu::parallel_for({.threads = threads_}, static_cast<int64_t>(parts_.size()), 1, work, this);
    if (failure_) std::rethrow_exception(failure_);
    // Another thread may have moved the last part, of which nobody was told.
    if (!parts_.empty() && told_ < moved_) ask(moved_);
  }

 private:
  static int64_t memory_of(const PartOptions& options) {
    return options.max_memory > 0 ? options.max_memory : kOrdinaryMemory;
  }

  /// Parts of a group are some rows of all its targets.
  void add_parts_of_group(std::size_t t) {
    const std::size_t group = *conversion_.targets[t].group;
    const auto [at, is_new] = groups_.try_emplace(group);
    at->second.push_back(t);
    if (!is_new) return;
    const PartSizes sizes = part_sizes(conversion_.groups[group]);
    const int64_t rows =
        std::max<int64_t>(1, part_bytes_ / std::max<int64_t>(1, sizes.bytes) / sizes.unit) * sizes.unit;
    for (int64_t first = 0; first < sizes.extent || first == 0; first += rows)
      parts_.push_back({.target = t, .first = first, .length = std::min(rows, sizes.extent - first)});
    parts_of_group_[group] = std::max<int64_t>(1, ceil_div(sizes.extent, rows));
  }

  void add_parts(std::size_t t) {
    const Target& target = conversion_.targets[t];
    if (target.group) return add_parts_of_group(t);
    const Cut cut = cut_of(target.memory);
    const int64_t bytes = target.memory.span_bytes();
    if (cut.dim < 0 || bytes <= part_bytes_) {
      parts_.push_back({.target = t});
      return;
    }
    const int64_t extent = target.memory.layout.dim(cut.dim);
    const int64_t length = std::max<int64_t>(1, part_bytes_ / cut.unit_bytes) * cut.unit;
    for (int64_t first = 0; first < extent; first += length)
      parts_.push_back({t, cut, first, std::min(length, extent - first)});
  }

  /// Does parts in their order, whichever is next, so that files are written from their begin to their end.
  void work(int64_t count) noexcept {
    std::vector<std::byte> buffer;
    for (; count > 0; --count) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= parts_.size()) return;
      if (failed_) continue;
      try {
        move(parts_[next], buffer);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  void move(const Part& part, std::vector<std::byte>& buffer) {
    const Target& target = conversion_.targets[part.target];
    if (target.group) return move_group(part, *target.group);
    const Layout& all = target.memory.layout;
    Dims extents = all.dims(), begin = origin(all.ndims());
    int64_t at = 0;
    Layout memory = all;
    if (part.cut.dim >= 0) {
      begin[part.cut.dim] = part.first;
      extents[part.cut.dim] = part.length;
      at = part.first / part.cut.unit * part.cut.unit_bytes;
      memory = from_zero(boxed(all, begin, extents), at * 8 / bits(target.memory.dtype));
    }
    const TensorDesc dst(memory, target.memory.dtype);
    std::vector<Contents> held;
    const std::span<const std::byte> made = make(target, dst, begin, buffer, held);
    sink_(part.target, at, made);
    if (options_.beyond) count_beyond(part, {memory, DType::f64}, begin, made);
    const bool mapped = made.data() != buffer.data() && !held.empty() && !held[0].owner;
    if (mapped) release(held[0].bytes, made);
    count_done(part.target, static_cast<int64_t>(made.size()));
  }

  /// Some rows of all targets of a group.
  void move_group(const Part& part, std::size_t g) {
    const PackedGroup& group = conversion_.groups[g];
    std::vector<Contents> held;
    std::vector<cpu::PackedBuffer> sources;
    for (const auto& [buffer, source] : group.sources) {
      held.push_back(contents_of(source));
      sources.emplace_back(buffer, ConstElements(held.back().bytes));
    }
    // Whole matrices, where no fewer rows can be made, wait for each other.
    const int64_t bytes = part.length * part_sizes(group).bytes;
    const int64_t large = bytes > part_bytes_ ? bytes : 0;
    const Room::Taken taken(room_, large);
    const MadePart made = make_part(group, sources, part.first, part.length);
    if (!made.exact && options_.rounded) {
      const std::lock_guard lock(mutex_);
      options_.rounded(g, part.length, made.largest_error, made.rms_error);
    }
    for (const std::size_t t : groups_.at(g)) {
      const auto buffer = std::ranges::find(made.buffers, conversion_.targets[t].buffer, &MadeBuffer::buffer);
      const bool has = buffer != made.buffers.end();
      if (has) sink_(t, buffer->at, buffer->bytes);
      count_done(t, has ? static_cast<int64_t>(buffer->bytes.size()) : 0);
    }
    // Rows of one side may be columns of the other, so that each part meets all pages.
    for (const Contents& contents : held)
      if (!contents.owner && (left_[part.target] == 0 || static_cast<int64_t>(contents.bytes.size()) > span_bytes_))
        release(contents.bytes, contents.bytes);
  }

  /// A part of a target is done.
  void count_done(std::size_t t, int64_t bytes) {
    if (--left_[t] == 0) {
      done_(t);
      forget(conversion_.targets[t]);
    }
    const int64_t moved = moved_ += bytes;
    // Only the caller's thread asks, as Python's handlers of signals are its own.
    if (std::this_thread::get_id() == caller_ && !failed_) ask(moved);
  }

  /// Values that the target's type cannot hold are counted by the part as f64, which is made only where the part has
  /// what such values become.
  void count_beyond(const Part& part, const TensorDesc& wide, const Dims& begin, std::span<const std::byte> made) {
    const Target& target = conversion_.targets[part.target];
    const DType dtype = target.memory.dtype;
    if (!may_overflow(target.src_type, dtype) || !has_extremes(made, target.src_type, dtype)) return;
    std::vector<std::byte> buffer;
    std::vector<Contents> held;
    const std::span<const std::byte> bytes = make(target, wide, begin, buffer, held);
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    const int64_t count = beyond_range(values, dtype);
    if (count > 0) options_.beyond(part.target, count);
  }

  /// Tells the caller how far the work is, on his own thread. Error{interrupted}.
  void ask(int64_t moved) {
    told_ = moved;
    if (options_.go_on && !options_.go_on(moved, total_)) throw Error(ErrorCode::interrupted, "convert: interrupted");
  }

  /// The bytes of the box of a target that begins at `begin`, in the layout `dst`.
  std::span<const std::byte> make(const Target& target, const TensorDesc& dst, const Dims& begin,
                                  std::vector<std::byte>& buffer, std::vector<Contents>& held) {
    const auto bytes = static_cast<std::size_t>(dst.span_bytes());
    if (target.pieces.size() == 1 && is_one_box(target.pieces[0].src, begin, dst.layout.dims())) {
      const Piece& piece = target.pieces[0];
      const Layout src = boxed(piece.src, begin, dst.layout.dims());
      const Contents& contents = held.emplace_back(contents_of(piece.source));
      // What is stored already as it should be is not copied first.
      if (target.src_type == dst.dtype && bits(dst.dtype) % 8 == 0 && !src.empty() &&
          from_zero(src, src.offset_range().first) == dst.layout && dst.layout.dense()) {
        const auto same = contents.bytes.subspan(
            static_cast<std::size_t>(src.offset_range().first) * static_cast<std::size_t>(bits(dst.dtype) / 8), bytes);
        return same;
      }
      buffer.resize(std::max(buffer.size(), bytes));
      reorder(src, target.src_type, contents, dst, buffer.data());
      return std::span(buffer).first(bytes);
    }
    buffer.resize(std::max(buffer.size(), bytes));
    // Pieces need not end where blocks do, so a layout with blocks is made of all pieces together.
    if (has_blocks(dst.layout)) {
      const TensorDesc plain(Layout::contiguous(dst.layout.dims()), target.src_type);
      std::vector<std::byte> together(static_cast<std::size_t>(plain.span_bytes()));
      make_of_pieces(target, plain, begin, together.data(), held);
      cpu::run(cpu::cached_plan(plain, dst), together.data(), buffer.data(), {.threads = 1});
    } else {
      make_of_pieces(target, dst, begin, buffer.data(), held);
    }
    return std::span(buffer).first(bytes);
  }

  /// The box that begins at `begin`, of every piece that meets it.
  void make_of_pieces(const Target& target, const TensorDesc& dst, const Dims& begin, std::byte* out,
                      std::vector<Contents>& held) {
    std::fill_n(out, dst.span_bytes(), std::byte{});
    for (const Piece& piece : target.pieces) {
      Dims from = begin, to = begin, length = begin;
      bool meets = true;
      for (int d = 0; d < begin.size(); ++d) {
        const int64_t low = std::max(begin[d], piece.begin[d]);
        const int64_t high = std::min(begin[d] + dst.layout.dim(d), piece.begin[d] + piece.src.dim(d));
        from[d] = low - piece.begin[d], to[d] = low - begin[d], length[d] = high - low;
        meets = meets && high > low;
      }
      if (!meets) continue;
      const Contents& contents = held.emplace_back(contents_of(piece.source));
      each_box(piece.src, from, length, [&](const Layout& src, const Dims& first) {
        Dims at = to;
        for (int d = 0; d < at.size(); ++d) at[d] += first[d] - from[d];
        reorder(src, target.src_type, contents, {boxed(dst.layout, at, src.dims()), dst.dtype}, out);
      });
    }
  }

  /// Reorders in steps that touch no more of the source than memory allows, as far as cutting a dim in two helps.
  void reorder(const Layout& src, DType type, const Contents& contents, const TensorDesc& dst, std::byte* out) {
    const std::span<const std::byte> bytes = contents.bytes;
    const double whole = mapped_bytes(src, type);
    int dim = -1;
    int64_t half = 0;
    if (whole > static_cast<double>(span_bytes_) && !src.swizzled()) {
      constexpr double kGain = 0.75;  // less is not worth another step
      double least = kGain * whole;
      for (int d = 0; d < src.ndims(); ++d) {
        const int64_t block = std::lcm(src.block(d), dst.layout.block(d)), length = src.dim(d) / 2 / block * block;
        if (length == 0) continue;
        const double left = mapped_bytes(narrow(src, d, 0, length), type);
        if (left < least) least = left, dim = d, half = length;
      }
    }
    if (dim >= 0) {
      const int64_t rest = src.dim(dim) - half;
      reorder(narrow(src, dim, 0, half), type, contents, {narrow(dst.layout, dim, 0, half), dst.dtype}, out);
      reorder(narrow(src, dim, half, rest), type, contents, {narrow(dst.layout, dim, half, rest), dst.dtype}, out);
      return;
    }
    const TensorDesc from(src, type);
    if (from.span_bytes() > static_cast<int64_t>(bytes.size()))
      throw Error(ErrorCode::corrupt, "convert: a tensor has fewer bytes than its shape says");
    cpu::run(cpu::cached_plan(from, dst), bytes.data(), out, {.threads = 1});
    if (!contents.owner) release(bytes, touched(src, type, bytes));
  }

  /// What is compressed in the file is decoded once for all parts.
  Contents contents_of(std::size_t source) {
    if (model_.tensors()[source].mapped) return model_.contents(source);
    const std::lock_guard lock(decoding_);
    const auto [at, is_new] = decoded_.try_emplace(source);
    if (is_new) at->second = model_.contents(source);
    return at->second;
  }
  void forget(const Target& target) {
    const std::lock_guard lock(decoding_);
    for (const Piece& piece : target.pieces) decoded_.erase(piece.source);
  }

  const Checkpoint& model_;
  const Conversion& conversion_;
  const PartOptions& options_;
  const Sink& sink_;
  const std::function<void(std::size_t)>& done_;
  int threads_ = 1;
  int64_t part_bytes_ = 0, span_bytes_ = 0;
  std::vector<Part> parts_;
  std::vector<std::atomic<int64_t>> left_;
  std::map<std::size_t, std::vector<std::size_t>> groups_;  // their wanted targets
  std::map<std::size_t, int64_t> parts_of_group_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_, decoding_;
  Room room_{memory_of(options_) / 2};
  std::map<std::size_t, Contents> decoded_;
  std::exception_ptr failure_;
  std::atomic<int64_t> moved_{0};
  int64_t total_ = 0, told_ = 0;
  std::thread::id caller_ = std::this_thread::get_id();
};

}  // namespace

void each_part(const Checkpoint& model, const Conversion& conversion, std::span<const std::size_t> wanted,
               const PartOptions& options, const Sink& sink, const std::function<void(std::size_t)>& done) {
  Mover(model, conversion, options, sink, done).run(wanted);
}

}  // namespace relayout::checkpoint
