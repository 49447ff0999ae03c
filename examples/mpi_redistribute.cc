// A matrix whose rows lie with the ranks in blocks, as a program reads them, brought to what ScaLAPACK works on: blocks
// of 64x64 that go round over a grid of ranks, column-major in each rank's memory.
//
//     mpiexec -n 4 example_mpi_redistribute
#include <cstdio>

#include "relayout/redistribute/mpi.h"

using namespace relayout;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t rows = 1000, columns = 600, grid_rows = ranks % 2 == 0 ? 2 : 1, grid_columns = ranks / grid_rows;

  // One block of rows a rank; then 64x64 blocks round over the grid, whose ranks are numbered row by row.
  const Placement src =
      Placement::of({rows, columns}, ranks, {{(rows + ranks - 1) / ranks, {{ranks, 1}}}, {columns, {}}});
  const Placement dst =
      Placement::of({rows, columns}, ranks, {{64, {{grid_rows, grid_columns}}}, {64, {{grid_columns, 1}}}});

  const Dims here = src.local_dims(rank), there = dst.local_dims(rank);
  std::vector<double> local(static_cast<std::size_t>(here[0] * here[1]));
  for (int64_t i = 0; i < here[0]; ++i) {
    for (int64_t j = 0; j < here[1]; ++j) {
      const Dims index = src.global_index(rank, {i, j});
      local[static_cast<std::size_t>(i * here[1] + j)] = static_cast<double>(index[0] * columns + index[1]);
    }
  }

  std::vector<double> out(static_cast<std::size_t>(there[0] * there[1]));
  redistribute::redistribute(MPI_COMM_WORLD, {Layout::contiguous(here), DType::f64}, local.data(), src,
                             {Layout::strided(there, {1, there[0]}), DType::f64}, out.data(), dst);

  int wrong = 0;
  for (int64_t i = 0; i < there[0]; ++i) {
    for (int64_t j = 0; j < there[1]; ++j) {
      // ScaLAPACK's rule: local row i of grid row p is the global row (i / 64 * grid_rows + p) * 64 + i % 64.
      const int64_t row = (i / 64 * grid_rows + rank / grid_columns) * 64 + i % 64;
      const int64_t column = (j / 64 * grid_columns + rank % grid_columns) * 64 + j % 64;
      wrong += out[static_cast<std::size_t>(i + j * there[0])] != static_cast<double>(row * columns + column);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf(wrong == 0 ? "all elements are where the descriptor says\n" : "%d are not\n", wrong);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
