// Tasks of mapped files, one after the other.
#include "relayout/redistribute/files/run_tasks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "relayout/io/descriptor.h"
#include "relayout/io/new_file.h"
#include "relayout/io/pages.h"
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

/// One pass between two sides.
class PassRun {
 public:
  PassRun(const Pass& pass, const cpu::SlabSource& src, const cpu::SlabDestination& dst, const Attributes& attributes,
          const cpu::RunOptions& options)
      : pass_(pass), src_(src), dst_(dst), attributes_(attributes), options_(options) {
    if (src.mapped) io::map_small_pages(src.bytes, false);
    if (dst.mapped) io::map_small_pages(dst.bytes, true);
  }

  /// `go_on` gets the elements of each piece that is done.
  bool run(const std::function<bool(int64_t elements)>& go_on) {
    fetch(piece_from(0, 0));
    for (int64_t t = 0; t < pass_.count(); ++t) {
      const Task task = pass_.task(t);
      const SlabGrid pieces(task.dims, pass_.piece);
      for (int64_t p = 0; p < pieces.count(); ++p) {
        const std::optional<Slab> piece = piece_from(t, p);
        fetch(p + 1 < pieces.count() ? piece_from(t, p + 1) : piece_from(t + 1, 0));
        move(*piece);
        if (!go_on(elements(*piece))) return false;
      }
      if (dst_.mapped) io::release_slab(slab_view(dst_.desc, cpu::with_gates(task, dst_.gates)), dst_.bytes);
      if (dst_.descriptor >= 0) io::write_behind(dst_.descriptor);
    }
    return true;
  }

 private:
  static int64_t elements(const Slab& slab) {
    int64_t out = 1;
    for (int64_t extent : slab.dims) out *= extent;
    return out;
  }

  /// Piece p of task t as indices of the whole tensor, or nothing behind the last task.
  std::optional<Slab> piece_from(int64_t t, int64_t p) const {
    if (t >= pass_.count()) return std::nullopt;
    const Task task = pass_.task(t);
    Slab piece = SlabGrid(task.dims, pass_.piece).slab(p);
    for (int d = 0; d < piece.offsets.size(); ++d) piece.offsets[d] += task.offsets[d];
    return piece;
  }

  /// How a piece is read into dense memory, where it can be.
  std::optional<DenseBox> dense(const Slab& piece) const {
    if (src_.descriptor < 0) return std::nullopt;
    return dense_box(slab_view(src_.desc, cpu::with_gates(piece, src_.gates)));
  }

  void fetch(const std::optional<Slab>& piece) const {
    if (!piece) return;
    if (const std::optional<DenseBox> box = dense(*piece)) redistribute::fetch(*box, src_.descriptor, src_.file_offset);
  }

  void move(const Slab& piece) {
    const std::optional<DenseBox> box = dense(piece);
    if (!box) {
      cpu::reorder_box(src_, dst_, piece, attributes_, options_, scratch_);
      if (src_.mapped) io::release_slab(slab_view(src_.desc, cpu::with_gates(piece, src_.gates)), src_.bytes);
      return;
    }
    // The memory stays the largest piece's: a vector that grows would clear what is overwritten at once.
    if (static_cast<int64_t>(piece_.size()) < box->bytes()) piece_.resize(static_cast<std::size_t>(box->bytes()));
    const std::span<std::byte> bytes = std::span(piece_).first(static_cast<std::size_t>(box->bytes()));
    read(*box, src_.descriptor, src_.file_offset, bytes);
    const cpu::SlabSource src{.desc = box->desc, .bytes = bytes, .swap_item_bytes = src_.swap_item_bytes};
    const Slab whole{Dims(piece.dims.size(), 0), piece.dims};
    const TensorDesc to = slab_view(dst_.desc, cpu::with_gates(piece, dst_.gates));
    const Attributes own = part_of(attributes_, dst_.desc.layout.dims(), piece.offsets, piece.dims);
    cpu::reorder_slab(src, whole, to, dst_.bytes, own, options_, scratch_);
  }

  const Pass& pass_;
  const cpu::SlabSource& src_;
  const cpu::SlabDestination& dst_;
  const Attributes& attributes_;
  const cpu::RunOptions& options_;
  std::vector<std::byte> piece_, scratch_;
};

}  // namespace

TaskPlan file_plan(const cpu::SlabSource& src, const cpu::SlabDestination& dst, int64_t max_memory) {
  TaskPlanOptions options{.max_memory = static_cast<double>(max_memory - cpu::held_bytes(src, dst)),
                          .scratch_bytes = static_cast<double>(cpu::scratch_bytes(src))};
  for (const auto& gates : {src.gates, dst.gates}) {
    if (gates) options.one_at_a_time.push_back(gates->dim);
  }
  // An intermediate file has neither gates in an order of their own nor bytes that are to be turned round.
  options.intermediate = options.one_at_a_time.empty() && options.scratch_bytes == 0;
  // What cannot be read into dense memory is read through its mapping.
  const bool read = src.descriptor >= 0 && dense_box(src.desc);
  return make_task_plan(Store::file(src.desc, read ? 0 : io::kReadGranule), Store::file(dst.desc, io::kWriteGranule),
                        options);
}

bool run_tasks(const TaskPlan& plan, const cpu::SlabSource& src, const cpu::SlabDestination& dst,
               const Attributes& attributes, const cpu::RunOptions& options, const std::filesystem::path& beside,
               const std::function<bool(int64_t, int64_t)>& go_on) {
  const int64_t all = src.desc.layout.elements() * static_cast<int64_t>(plan.passes.size());
  int64_t done = 0;
  const auto count = [&](int64_t elements) { return go_on(done += elements, all); };
  if (plan.passes.size() == 1) return PassRun(plan.passes[0], src, dst, attributes, options).run(count);
  const TensorDesc& between = plan.stores[2].desc();
  const IntermediateFile file(beside, between.span_bytes());
  const cpu::SlabDestination first{
      .desc = between, .bytes = file.bytes(), .mapped = true, .descriptor = file.descriptor()};
  const cpu::SlabSource second{.desc = between, .bytes = file.bytes(), .mapped = true, .descriptor = file.descriptor()};
  // The values are converted once, where the type changes.
  const bool converted_first = between.dtype != src.desc.dtype;
  const Attributes none;
  if (!PassRun(plan.passes[0], src, first, converted_first ? attributes : none, options).run(count)) return false;
  return PassRun(plan.passes[1], second, dst, converted_first ? none : attributes, options).run(count);
}

}  // namespace relayout::redistribute
