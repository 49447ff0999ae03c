// Random pairs of placements over the ranks that there are: what each rank gets, against an array that it computes by
// itself, one index after the other.
//
//     mpiexec -n 4 mpi_pairs 2000
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "relayout/core/format.h"
#include "relayout/redistribute/mpi.h"

namespace {

using namespace relayout;

class Draw {
 public:
  int64_t from_to(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool of(int in) { return from_to(1, in) == 1; }

 private:
  std::mt19937_64 engine_{7};
};

/// The axes of a mesh of all ranks go over dims, in blocks of any size; what no dim takes holds copies.
Placement drawn(Draw& draw, const Dims& dims, int64_t ranks) {
  std::vector<DimPlaces> of_dims(static_cast<std::size_t>(dims.size()));
  int64_t stride = 1;
  for (int64_t left = ranks; left > 1;) {
    int64_t extent = draw.from_to(2, left);
    while (left % extent != 0) --extent;
    if (extent == 1) extent = left;
    const int64_t d = draw.from_to(0, dims.size());  // behind the last dim: copies
    if (d < dims.size()) of_dims[static_cast<std::size_t>(d)].places.push_back({extent, stride});
    stride *= extent;
    left /= extent;
  }
  for (int d = 0; d < dims.size(); ++d) {
    DimPlaces& dim = of_dims[static_cast<std::size_t>(d)];
    const int64_t even = (dims[d] + dim.count() - 1) / dim.count();
    dim.block = draw.of(2) ? std::max<int64_t>(1, even) : draw.from_to(1, 5);
    dim.first = draw.from_to(0, dim.count() - 1);
  }
  return Placement::of(dims, ranks, of_dims);
}

/// What stands at an index: its row-major number, in elements of so many bytes.
int64_t value_at(const Dims& dims, const Dims& index) {
  int64_t out = 0;
  for (int d = 0; d < dims.size(); ++d) out = out * dims[d] + index[d];
  return out * 2654435761 + 12345;
}

template <typename F>
void each_index(const Dims& dims, F f) {
  int64_t all = 1;
  for (int64_t extent : dims) all *= extent;
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < all; ++i) {
    f(index);
    for (int d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

/// Memory of a place in row-major or in column-major order, with a gap behind each row or column.
struct Local {
  Local(const Dims& dims, DType dtype, bool columns) : desc(Layout::contiguous({0}), dtype) {
    Dims strides(dims.size(), 1);
    int64_t stride = 1;
    for (int k = 0; k < dims.size(); ++k) {
      const int d = columns ? k : dims.size() - 1 - k;
      strides[d] = stride;
      stride *= std::max<int64_t>(1, dims[d]) + (k == 0 ? 1 : 0);
    }
    desc = TensorDesc(Layout::strided(dims, strides), dtype);
    bytes.resize(static_cast<std::size_t>(stride * bits(dtype) / 8));
  }
  std::byte* at(const Dims& index) { return bytes.data() + desc.layout.offset(index) * (bits(desc.dtype) / 8); }
  TensorDesc desc;
  std::vector<std::byte> bytes;
};

struct Pair {
  Placement src, dst;
  DType dtype = DType::f64;
  bool src_columns = false, dst_columns = false;
  redistribute::MpiOptions options{};
};

Pair drawn_pair(Draw& draw, int64_t ranks) {
  Dims dims;
  for (int64_t d = draw.from_to(1, 3); d > 0; --d) dims.push_back(draw.from_to(1, 13));
  const auto of_three = [&] { return static_cast<std::size_t>(draw.from_to(0, 2)); };
  Pair out{drawn(draw, dims, ranks), drawn(draw, dims, ranks)};
  out.dtype = draw.of(4) ? DType::f64 : std::array{DType::u8, DType::f16, DType::f32}[of_three()];
  out.src_columns = draw.of(2);
  out.dst_columns = draw.of(2);
  out.options.relabel = draw.of(3);
  out.options.max_memory = std::array<int64_t, 3>{0, 64, 4096}[of_three()];
  return out;
}

bool equal(const Pair& pair, int64_t rank) {
  const Dims& dims = pair.src.dims();
  const auto item = static_cast<std::size_t>(bits(pair.dtype) / 8);
  const redistribute::MpiRedistribution move(MPI_COMM_WORLD, pair.src, pair.dst, pair.options);
  Local local(pair.src.local_dims(rank), pair.dtype, pair.src_columns);
  Local out(pair.dst.local_dims(move.place()), pair.dtype, pair.dst_columns);
  each_index(local.desc.layout.dims(), [&](const Dims& index) {
    const int64_t value = value_at(dims, pair.src.global_index(rank, index));
    std::memcpy(local.at(index), &value, item);
  });
  move.run(local.desc, local.bytes.data(), out.desc, out.bytes.data());
  bool all = true;
  each_index(out.desc.layout.dims(), [&](const Dims& index) {
    const int64_t value = value_at(dims, pair.dst.global_index(move.place(), index));
    all = all && std::memcmp(out.at(index), &value, item) == 0;
  });
  return all;
}

/// Rank 0 first has its part in blocks of 4 columns, of which 3 go to each rank: it must say so while MPI has nothing
/// of it, so that the same exchange is right when it comes with a part by rows.
bool right_after_an_error(int rank, int ranks) {
  const Dims dims{4 * ranks, 3 * ranks};
  Pair pair{Placement::of(dims, ranks, {{4, {{ranks, 1}}}, {}}), Placement::of(dims, ranks, {{}, {3, {{ranks, 1}}}})};
  pair.options.max_memory = 64;
  bool refused = rank != 0;
  if (rank == 0) {
    const TensorDesc blocked(Format::parse("Ba4b").bind(pair.src.local_dims(0)), DType::f64);
    Local out(pair.dst.local_dims(0), DType::f64, false);
    const std::vector<std::byte> bytes(static_cast<std::size_t>(blocked.span_bytes()));
    const redistribute::RankPlan plan(pair.src, pair.dst, 0);
    plan.keep(blocked, bytes.data(), out.desc, out.bytes.data());  // what it keeps is in one block
    // The constructor asks nothing of the others, and a bound is given, so that run() asks nothing before it packs.
    const redistribute::MpiRedistribution move(MPI_COMM_WORLD, pair.src, pair.dst, pair.options);
    try {
      move.run(blocked, bytes.data(), out.desc, out.bytes.data());
    } catch (const Error& error) {
      refused = error.code() == ErrorCode::needs_copy;
    }
  }
  return refused && equal(pair, rank);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Draw draw;
  for (int pair = 0; pair < (argc > 1 ? std::atoi(argv[1]) : 100); ++pair) {
    if (!equal(drawn_pair(draw, ranks), rank) && ++failed == 1) std::printf("pair %d differs at rank %d\n", pair, rank);
  }
  // So large that it goes by rounds though no bound is given: rows, to columns.
  const Dims large{3000, 2800};
  const Pair rows_to_columns{Placement::of(large, ranks, {{(3000 + ranks - 1) / ranks, {{ranks, 1}}}, {}}),
                             Placement::of(large, ranks, {{}, {100, {{ranks, 1}}}})};
  if (!equal(rows_to_columns, rank)) ++failed;
  if (!right_after_an_error(rank, ranks)) ++failed;
  // What cannot be is said by every rank.
  int refused = 0;
  try {
    const Placement other = Placement::of({4}, ranks + 1, {{1, {{ranks + 1, 1}}, 0}});
    const redistribute::MpiRedistribution move(MPI_COMM_WORLD, other, other);
  } catch (const Error& error) {
    refused = error.field() == "comm";
  }
  int all = failed + 1 - refused;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf(all == 0 ? "all equal\n" : "%d differ\n", all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
