// Runs tiles of registers. Where their lines are written past the cache, what a block writes is first put together in
// the cache, in an *image* in which the runs of the destination follow each other. Then each run is written past the
// cache as a whole. So no line of the destination is read before it is written, and the lines of a block do not compete
// for few sets of the cache.
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Lists of where the rows and columns of a block are in its image, and of where the runs of the image go.
class ImageLists {
 public:
  explicit ImageLists(const Loops& loops) : loops_(loops) { rows_[0] = cols_[0] = from_[0] = to_[0] = 0; }

  /// Makes the lists for a block of `rows` rows and `cols` columns.
  void seek(int64_t rows, int64_t cols) {
    if (rows == row_count_ && cols == col_count_) return;
    row_count_ = rows;
    col_count_ = cols;
    image_ = *image_of_block(loops_, rows, cols);
    list(0, image_.row_steps, rows_);
    list(image_.row_steps, image_.all_steps, cols_);
    int64_t have = 1;
    for (int k = image_.in_run; k < image_.all_steps; ++k) {
      const BlockImage::Step& step = at(image_.by_distance[static_cast<std::size_t>(k)]);
      repeat(from_, have, step.image, have * step.extent);
      repeat(to_, have, step.dst, have * step.extent);
      have *= step.extent;
    }
  }

  Starts rows() const { return rows_; }
  Starts cols() const { return cols_; }

  void write(const Kernels& kernels, const std::byte* image, std::byte* dst) const {
    kernels.copy_stream(image, from_, kFirst, dst, to_, kFirst, image_.runs, 1, image_.run_bytes, 0);
  }

 private:
  const BlockImage::Step& at(int i) const { return image_.steps[static_cast<std::size_t>(i)]; }

  void list(int begin, int end, int64_t* to) const {
    int64_t have = 1;
    for (int i = begin; i < end; have *= at(i++).extent) repeat(to, have, at(i).image, have * at(i).extent);
  }

  const Loops& loops_;
  BlockImage image_;
  int64_t row_count_ = 0, col_count_ = 0;
  int64_t rows_[kMaxBlockSide], cols_[kMaxBlockSide], from_[kMaxImageRuns], to_[kMaxImageRuns];
};

/// What the kernel is told about a block of `rows` rows and `cols` columns.
TileShape tile_shape(const Loops& loops, const RegisterTiles& method, int64_t rows, int64_t cols, int64_t dst_ahead) {
  return {rows,
          cols,
          std::min(method.row_run, rows),
          std::min(method.col_run, cols),
          method.src_pattern.data(),
          method.dst_pattern.data(),
          loops.ahead,
          dst_ahead};
}

}  // namespace

void make(const RunContext& context, const Loops& loops, const RegisterTiles& method, const Block& block) {
  context.kernels.tiles[log2_size(loops.piece[kSrc])](
      block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols,
      tile_shape(loops, method, block.rows, block.cols, method.dst_ahead));
}

bool run(const RunContext& context, const Loops& loops, const RegisterTiles& method, const Tables& tables,
         int64_t begin, int64_t end) {
  if (!method.by_image || !context.kernels.copy_stream || to_line(context.dst) != 0) return false;
  alignas(kPage) std::byte memory[kMaxImageBytes];
  ImageLists image(loops);
  Starts2 rows(loops.rows), cols(loops.cols);
  const auto tiles = context.kernels.tiles[log2_size(loops.piece[kSrc])];
  each_block(loops, tables, begin, end, [&](const Odometer& at, const IndexRange& row, const IndexRange& col) {
    rows.seek(row.begin, row.count());
    cols.seek(col.begin, col.count());
    image.seek(row.count(), col.count());
    const auto start = [&](Operand k) { return at.offsets[k] + rows.first()[k] + cols.first()[k]; };
    tiles(context.src + start(kSrc), rows.of(kSrc), cols.of(kSrc), memory, image.rows(), image.cols(),
          tile_shape(loops, method, row.count(), col.count(), 0));
    image.write(context.kernels, memory, context.dst + start(kDst));
  });
  context.kernels.flush();
  return true;
}

}  // namespace relayout::cpu
