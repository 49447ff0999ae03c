// Tasks of mapped files, one after the other.
#include "relayout/redistribute/files/run_tasks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/io/descriptor.h"
#include "relayout/io/direct.h"
#include "relayout/io/new_file.h"
#include "relayout/io/pages.h"
#include "relayout/redistribute/files/lanes.h"
#include "relayout/redistribute/files/range_writer.h"
#include "relayout/redistribute/files/read_piece.h"

namespace relayout::redistribute {
namespace {

/// A mapped file without a name.
class IntermediateFile {
 public:
  IntermediateFile(const std::filesystem::path& beside, int64_t size) : file_(io::NewFile::make(beside)) {
    if (size == 0) return;
    file_.reserve(size);
    void* data =
        ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), 0);
    if (data == MAP_FAILED) io::throw_io("map an intermediate file beside", beside, errno);
    bytes_ = {static_cast<std::byte*>(data), static_cast<std::size_t>(size)};
  }
  IntermediateFile(const IntermediateFile&) = delete;
  IntermediateFile& operator=(const IntermediateFile&) = delete;
  ~IntermediateFile() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return file_.descriptor(); }

 private:
  io::NewFile file_;
  std::span<std::byte> bytes_;
};

/// Below this bound nothing passes the cache by, as the memory of lanes would be most of it.
constexpr int64_t kLeastDirect = 4 << 20;
/// Of shorter ranges a block has several, and the cache collects them.
constexpr int64_t kLeastRange = io::kDirectBlock;

/// The most memory that the parts of blocks at both ends of a range take, with that of their lists.
constexpr int64_t kKeptGranule = io::kDirectBlock * 3 / 2;

/// How many lanes read, and as many write: so many that their memory is at most a sixteenth of the bound.
constexpr double kMostLanes = 32;

double memory_of_lanes(double max_memory) {
  if (max_memory < static_cast<double>(kLeastDirect)) return 0;
  return 2.0 * kLaneBytes * std::clamp(max_memory / (32.0 * kLaneBytes), 1.0, kMostLanes);
}

/// As many as fit beside the tasks; none below the least bound, where pieces are too short to begin threads for.
int lanes_beside(const Pass& pass, double max_memory) {
  if (max_memory < static_cast<double>(kLeastDirect)) return 0;
  return static_cast<int>(std::clamp((max_memory - pass.memory) / (2.0 * kLaneBytes), 1.0, kMostLanes));
}

/// A piece of a task: which of which, and where it is.
struct Piece {
  int64_t task = 0, number = 0;
  Slab slab;                    // indices of the whole tensor
  std::optional<DenseBox> box;  // where it can be read into dense memory
};

/// One pass between two sides. While a piece is reordered, lanes read the next one; a task's part of the output is
/// written when all its pieces are there.
class PassRun {
 public:
  PassRun(const Pass& pass, const cpu::SlabSource& src, const cpu::SlabDestination& dst, const Attributes& attributes,
          const cpu::RunOptions& options, double max_memory)
      : pass_(pass),
        src_(src),
        dst_(dst),
        attributes_(attributes),
        options_(options),
        readers_(lanes_beside(pass, max_memory)),
        writers_(lanes_beside(pass, max_memory)) {
    if (src.mapped) io::map_small_pages(src.bytes, false);
    if (dst.mapped) io::map_small_pages(dst.bytes, true);
    if (max_memory < static_cast<double>(kLeastDirect)) return;
    if (src.descriptor >= 0 && !io::mostly_cached(src.descriptor, src.file_offset, src.desc.span_bytes()))
      src_direct_ = io::open_direct(src.descriptor, false);
    // What the destination's padding holds is known only of what is written.
    if (dst.descriptor >= 0 && attributes.padding.kind != Padding::Kind::keep)
      dst_direct_ = io::open_direct(dst.descriptor, true);
  }

  /// `go_on` gets the elements of each piece that is done.
  bool run(const std::function<bool(int64_t elements)>& go_on) {
    RangeWriter writer(dst_.descriptor, dst_direct_.get());
    std::optional<Piece> piece = piece_from(0, 0);
    start_reading(piece);
    for (int64_t t = 0; t < pass_.count(); ++t) {
      const TensorDesc part = slab_view(dst_.desc, cpu::with_gates(pass_.task(t), dst_.gates));
      std::optional<DenseBox> box = dst_direct_.get() >= 0 ? dense_box(part) : std::nullopt;
      if (box && box->range_bytes < kLeastRange) box.reset();
      if (box) make_room(task_, box->bytes());
      while (piece && piece->task == t) {
        readers_.wait();
        std::optional<Piece> next = piece_after(*piece);
        std::swap(now_, next_);
        if (pass_.pieces > 1) {
          start_reading(next);
        } else if (next && next->box && !direct(*next->box)) {
          fetch(*next->box, src_.descriptor, src_.file_offset);
        }
        move(*piece, box);
        if (pass_.pieces == 1) {  // into the same memory
          std::swap(now_, next_);
          start_reading(next);
        }
        if (!go_on(elements(piece->slab))) return false;
        piece = std::move(next);
      }
      if (box) {
        writer.write(writers_, *box, dst_.file_offset, task_.bytes());
      } else {
        if (dst_.mapped) io::release_slab(part, dst_.bytes);
        if (dst_.descriptor >= 0) io::write_behind(dst_.descriptor);
      }
    }
    writer.finish();
    return true;
  }

 private:
  static int64_t elements(const Slab& slab) {
    int64_t out = 1;
    for (int64_t extent : slab.dims) out *= extent;
    return out;
  }

  /// The memory stays the largest one's.
  static void make_room(io::BlockMemory& memory, int64_t bytes) {
    if (std::ssize(memory.bytes()) >= bytes) return;
    memory = {};
    memory = io::BlockMemory(static_cast<std::size_t>(bytes));
  }

  /// Piece p of task t, or nothing behind the last task.
  std::optional<Piece> piece_from(int64_t t, int64_t p) const {
    if (t >= pass_.count()) return std::nullopt;
    const Task task = pass_.task(t);
    Piece out{.task = t, .number = p, .slab = SlabGrid(task.dims, pass_.piece).slab(p)};
    for (int d = 0; d < out.slab.offsets.size(); ++d) out.slab.offsets[d] += task.offsets[d];
    if (src_.descriptor >= 0) out.box = dense_box(slab_view(src_.desc, cpu::with_gates(out.slab, src_.gates)));
    return out;
  }

  std::optional<Piece> piece_after(const Piece& piece) const {
    const bool last = piece.number + 1 == SlabGrid(pass_.task(piece.task).dims, pass_.piece).count();
    return last ? piece_from(piece.task + 1, 0) : piece_from(piece.task, piece.number + 1);
  }

  bool direct(const DenseBox& box) const { return box.range_bytes >= kLeastRange && src_direct_.get() >= 0; }

  /// Lanes begin to read a piece into `next_`.
  void start_reading(const std::optional<Piece>& piece) {
    if (!piece || !piece->box) return;
    const DenseBox& box = *piece->box;
    const ReadFrom from{.descriptor = src_.descriptor, .direct = direct(box) ? src_direct_.get() : -1};
    if (pass_.pieces > 1 && !direct(box)) fetch(box, src_.descriptor, src_.file_offset);
    make_room(next_, box.bytes());
    readers_.start(box.transfers(),
                   [box, from, offset = src_.file_offset, to = next_.bytes()](int64_t i, std::span<std::byte> own) {
                     read(box.transfer(i, offset), from, own, to);
                   });
  }

  /// Reorders a piece to where its task has it: in `task_`, which is dense as `box` says, or in the mapped output.
  void move(const Piece& piece, const std::optional<DenseBox>& box) {
    const Attributes own = part_of(attributes_, dst_.desc.layout.dims(), piece.slab.offsets, piece.slab.dims);
    Slab inside = piece.slab;
    const Task task = pass_.task(piece.task);
    for (int d = 0; d < inside.offsets.size(); ++d) inside.offsets[d] -= task.offsets[d];
    const TensorDesc to =
        box ? slab_view(box->desc, inside) : slab_view(dst_.desc, cpu::with_gates(piece.slab, dst_.gates));
    const std::span<std::byte> bytes = box ? task_.bytes() : dst_.bytes;
    if (!piece.box) {
      const Slab from = cpu::with_gates(piece.slab, src_.gates);
      cpu::reorder_slab(src_, from, to, bytes, own, options_, scratch_);
      if (src_.mapped) io::release_slab(slab_view(src_.desc, from), src_.bytes);
      return;
    }
    const cpu::SlabSource src{.desc = piece.box->desc, .bytes = now_.bytes(), .swap_item_bytes = src_.swap_item_bytes};
    cpu::reorder_slab(src, {Dims(piece.slab.dims.size(), 0), piece.slab.dims}, to, bytes, own, options_, scratch_);
  }

  const Pass& pass_;
  const cpu::SlabSource& src_;
  const cpu::SlabDestination& dst_;
  const Attributes& attributes_;
  const cpu::RunOptions& options_;
  io::Descriptor src_direct_, dst_direct_;
  std::vector<std::byte> scratch_;
  io::BlockMemory now_, next_, task_;  // the piece that is reordered, the one that is read, what the task writes
  Lanes readers_, writers_;            // behind what they use, so that they end before it does
};

}  // namespace

TaskPlan file_plan(const cpu::SlabSource& src, const cpu::SlabDestination& dst, int64_t max_memory) {
  const auto bound = static_cast<double>(max_memory - cpu::held_bytes(src, dst));
  const double lanes = memory_of_lanes(static_cast<double>(max_memory));
  TaskPlanOptions options{.max_memory = bound, .scratch_bytes = static_cast<double>(cpu::scratch_bytes(src))};
  const bool direct = lanes > 0 && dst.mapped;
  if (direct) options.write = kDirectWriteSpeed;
  for (const auto& gates : {src.gates, dst.gates}) {
    if (gates) options.one_at_a_time.push_back(gates->dim);
  }
  // An intermediate file has neither gates in an order of their own nor bytes that are to be turned round.
  options.intermediate = options.one_at_a_time.empty() && options.scratch_bytes == 0;
  // What cannot be read into dense memory is read through its mapping.
  const bool read = src.descriptor >= 0 && dense_box(src.desc);
  const Store from = Store::file(src.desc, read ? 0 : io::kReadGranule);
  const Store to = Store::file(dst.desc, direct ? kKeptGranule : io::kWriteGranule);
  // One piece is read while the one before it is reordered, by many lanes; where large blocks leave no room for that,
  // by few, one piece after the other.
  TaskPlanOptions roomy = options;
  roomy.max_memory -= lanes;
  if (read && lanes > 0) roomy.pieces = 2;
  try {
    TaskPlan plan = make_task_plan(from, to, roomy);
    plan.max_memory = bound;
    return plan;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit) throw;
    return make_task_plan(from, to, options);
  }
}

bool run_tasks(const TaskPlan& plan, const cpu::SlabSource& src, const cpu::SlabDestination& dst,
               const Attributes& attributes, const cpu::RunOptions& options, const std::filesystem::path& beside,
               const std::function<bool(int64_t, int64_t)>& go_on) {
  const int64_t all = src.desc.layout.elements() * static_cast<int64_t>(plan.passes.size());
  int64_t done = 0;
  const auto count = [&](int64_t elements) { return go_on(done += elements, all); };
  if (plan.passes.size() == 1)
    return PassRun(plan.passes[0], src, dst, attributes, options, plan.max_memory).run(count);
  const TensorDesc& between = plan.stores[2].desc();
  const IntermediateFile file(beside, between.span_bytes());
  const cpu::SlabDestination first{
      .desc = between, .bytes = file.bytes(), .mapped = true, .descriptor = file.descriptor()};
  const cpu::SlabSource second{.desc = between, .bytes = file.bytes(), .mapped = true, .descriptor = file.descriptor()};
  // The values are converted once, where the type changes.
  const bool converted_first = between.dtype != src.desc.dtype;
  const Attributes none;
  if (!PassRun(plan.passes[0], src, first, converted_first ? attributes : none, options, plan.max_memory).run(count))
    return false;
  return PassRun(plan.passes[1], second, dst, converted_first ? none : attributes, options, plan.max_memory).run(count);
}

}  // namespace relayout::redistribute
