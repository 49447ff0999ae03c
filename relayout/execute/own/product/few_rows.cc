// Matmul and inner product of a few rows, as models that make one token after another have them: the time is that of
// reading the other matrix, which is read once, as it lies, along its columns or, where it is transposed, along its
// rows. Threads take columns, so that sums do not depend on how many there are.
#include <algorithm>

#include "relayout/cpu/threads.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"
#include "relayout/execute/own/product/product.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Executable;
using graph::Kind;
using graph::kNone;

namespace {

constexpr int64_t kMostRows = 8;
/// Columns that a task makes at most, so that the rows of the result stay in the second-level cache. A row of the other
/// matrix is best read whole: in pieces of 2,048 columns, memory gives a quarter less.
constexpr int64_t kMostColumns = 1 << 14;
/// Products that make a task worth a thread's while.
constexpr int64_t kLeastProducts = 1 << 16;

/// A matrix of each operand: steps from a row to the next and from a column to the next, and those of the dims before.
struct Matrix {
  int64_t rows = 0, columns = 0, row = 0, column = 0, begin = 0;
  Dims batch{};
};

/// The last two dims of a layout as a matrix; nothing if a dim has several digits.
std::optional<Matrix> matrix_of(const Layout& layout) {
  const int rank = layout.ndims();
  if (rank < 2 || layout.padded()) return std::nullopt;
  const auto step = [&](int d) { return layout.dim(d) == 1 ? 0 : layout.digits(d)[0].stride; };
  for (int d = 0; d < rank; ++d) {
    if (layout.dim(d) != 1 && layout.digits(d).size() != 1) return std::nullopt;
  }
  Matrix out{layout.dim(rank - 2), layout.dim(rank - 1), step(rank - 2), step(rank - 1), layout.offset0()};
  for (int d = 0; d < rank - 2; ++d) out.batch.push_back(step(d));
  return out;
}

/// Row-major elements behind the first dim as the columns of a matrix.
std::optional<Matrix> rows_of(const Layout& layout) {
  if (layout.ndims() == 0 || layout.padded() || !is_row_major(layout)) return std::nullopt;
  const int64_t rows = layout.dim(0), columns = rows == 0 ? 0 : layout.elements() / rows;
  return Matrix{rows, columns, columns, 1, layout.offset0()};
}

/// Whether columns follow each other.
bool along_rows(const Matrix& m) { return m.columns <= 1 || m.column == 1; }

struct Geometry {
  Matrix a, b, out;
  bool transposed = false;  // whether b's rows follow each other
  Dims batch{};             // extents
};

std::optional<Geometry> geometry_of(const OwnRequest& r) {
  Geometry out;
  const bool inner = r.node.kind == Kind::inner_product;
  const auto of = [&](const Layout& layout) { return inner ? rows_of(layout) : matrix_of(layout); };
  const auto a = of(r.src(0)), b = of(r.src(1)), c = of(r.dst());
  if (!a || !b || !c) return std::nullopt;
  out = {*a, *b, *c};
  if (inner) {  // weights are O x I
    std::swap(out.b.rows, out.b.columns);
    std::swap(out.b.row, out.b.column);
  }
  for (int d = 0; d < out.out.batch.size(); ++d) out.batch.push_back(r.dst().dim(d));
  // A single column is read as a row of a transposed matrix, by whole vectors, where its elements follow each other.
  const bool rows_follow = out.b.rows <= 1 || out.b.row == 1;
  out.transposed = !along_rows(out.b) || (out.b.columns == 1 && rows_follow);
  if (out.transposed && !rows_follow) return std::nullopt;
  // Products of empty matrices have as many rows as they like.
  const bool few = out.out.rows <= kMostRows || out.b.rows == 0 || out.out.columns == 0;
  const bool fits = along_rows(out.a) && along_rows(out.out) && few;
  return fits ? std::optional(out) : std::nullopt;
}

class FewRowsExecutable : public Executable {
 public:
  FewRowsExecutable(const OwnRequest& r, const Geometry& geometry)
      : g_(geometry),
        threads_(r.threads),
        product_(g_.transposed ? transposed_product_function() : product_function()),
        has_bias_(r.node.src.size() > 2 && r.node.src[2] != kNone) {
    if (has_bias_) bias_begin_ = r.src(2).offset0();
    for (const int64_t extent : g_.batch) matrices_ *= extent;
    const int64_t products = g_.b.rows * g_.out.rows * g_.out.columns;
    const int64_t most = std::max(r.threads, 1), matrices = std::max<int64_t>(matrices_, 1);
    const int64_t tasks = std::clamp<int64_t>(matrices * products / kLeastProducts, 1, most);
    columns_ = ceil_div(g_.out.columns, ceil_div(tasks, matrices));
    columns_ = std::clamp<int64_t>(ceil_div(columns_, 64) * 64, 64, kMostColumns);  // whole vectors
    pieces_ = ceil_div(g_.out.columns, columns_);
    const int64_t in_piece = g_.b.rows * g_.out.rows * std::min(columns_, g_.out.columns);
    grain_ = ceil_div(kLeastProducts, std::max<int64_t>(in_piece, 1));
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const Pointers at{static_cast<const float*>(src[0]), static_cast<const float*>(src[1]),
                      has_bias_ ? static_cast<const float*>(src[2]) + bias_begin_ : nullptr,
                      static_cast<float*>(dst[0])};
    const auto range = [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) multiply(at, task / pieces_, task % pieces_ * columns_);
    };
    cpu::parallel_for(
        run_options(threads_), matrices_ * pieces_, grain_,
        [](void* state, int64_t begin, int64_t end) { (*static_cast<decltype(range)*>(state))(begin, end); },
        const_cast<void*>(static_cast<const void*>(&range)));
  }

 private:
  struct Pointers {
    const float *a, *b, *bias;
    float* out;
  };

  void multiply(const Pointers& at, int64_t matrix, int64_t column) const {
    MatrixProduct p{.a = at.a + g_.a.begin,
                    .b = at.b + g_.b.begin + column * (g_.transposed ? g_.b.column : 1),
                    .out = at.out + g_.out.begin + column,
                    .rows = g_.out.rows,
                    .inner = g_.b.rows,
                    .columns = std::min(columns_, g_.out.columns - column),
                    .a_row = g_.a.row,
                    .b_row = g_.transposed ? g_.b.column : g_.b.row,
                    .out_row = g_.out.row,
                    .fetches_ahead = true};
    for (int d = g_.batch.size() - 1; d >= 0; --d) {
      const int64_t i = matrix % g_.batch[d];
      matrix /= g_.batch[d];
      p.a += i * g_.a.batch[d];
      p.b += i * g_.b.batch[d];
      p.out += i * g_.out.batch[d];
    }
    for (int64_t row = 0; row < p.rows; ++row) {
      float* to = p.out + row * p.out_row;
      at.bias ? std::copy_n(at.bias + column, p.columns, to) : std::fill_n(to, p.columns, 0.0f);
    }
    product_(p);
  }

  Geometry g_;
  int threads_;
  ProductFunction product_;
  bool has_bias_;
  int64_t bias_begin_ = 0, matrices_ = 1, columns_ = 0, pieces_ = 0, grain_ = 1;
};

}  // namespace

std::unique_ptr<Executable> make_few_rows(const OwnRequest& r) {
  if (r.node.pass != graph::Pass::forward_inference) return nullptr;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) {
    if (r.node.src[i] != kNone && r.src_tensor(i).dtype != DType::f32) return nullptr;
  }
  if (r.dst_tensor().dtype != DType::f32 || !r.dst().injective()) return nullptr;
  if (r.node.src.size() > 2 && r.node.src[2] != kNone) {
    // The bias is one row: a value for each column.
    const Layout& bias = r.src(2);
    if (bias.elements() != r.dst().dim(r.dst().ndims() - 1) || !is_row_major(bias)) return nullptr;
  }
  const std::optional<Geometry> geometry = geometry_of(r);
  return geometry ? std::make_unique<FewRowsExecutable>(r, *geometry) : nullptr;
}

}  // namespace relayout::execute
