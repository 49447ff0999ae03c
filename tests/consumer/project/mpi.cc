// A user's program of one rank: rows of a matrix that go into its columns.
#include <cstdio>
#include <vector>

#include "relayout/redistribute/mpi.h"

int main(int argc, char** argv) {
  using namespace relayout;
  MPI_Init(&argc, &argv);
  const Placement all = Placement::of({2, 3}, 1, {{2, {}}, {3, {}}});
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  std::vector<float> columns(6, 0);
  redistribute::redistribute(MPI_COMM_SELF, {Layout::contiguous({2, 3}), DType::f32}, rows.data(), all,
                             {Layout::strided({2, 3}, {1, 2}), DType::f32}, columns.data(), all);
  const bool equal = columns == std::vector<float>{1, 4, 2, 5, 3, 6};
  std::printf(equal ? "equal\n" : "not equal\n");
  MPI_Finalize();
  return equal ? 0 : 1;
}
