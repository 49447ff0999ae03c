// The linear assignment by which places of a destination are dealt anew: see exchange.h.
#include <limits>

#include "relayout/redistribute/exchange.h"

namespace relayout::redistribute {

// The Hungarian method by shortest augmenting paths (Jonker and Volgenant): rows are added one by one, and the path of
// least reduced cost to a free column changes the matching. Costs are negative gains.
std::vector<int64_t> best_assignment(const std::vector<std::vector<int64_t>>& gain) {
  const std::size_t n = gain.size();
  std::vector<int64_t> row_price(n + 1, 0), column_price(n + 1, 0);
  std::vector<std::size_t> row_of(n + 1, 0);  // of each column; 0: free. Column 0 holds the row that is being added.
  for (std::size_t row = 1; row <= n; ++row) {
    constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> distance(n + 1, kFar);
    std::vector<std::size_t> before(n + 1, 0);
    std::vector<bool> done(n + 1, false);
    std::size_t column = 0;
    row_of[0] = row;
    do {
      done[column] = true;
      const std::size_t from = row_of[column];
      int64_t least = kFar;
      std::size_t next = 0;
      for (std::size_t c = 1; c <= n; ++c) {
        if (done[c]) continue;
        const int64_t reduced = -gain[from - 1][c - 1] - row_price[from] - column_price[c];
        if (reduced < distance[c]) {
          distance[c] = reduced;
          before[c] = column;
        }
        if (distance[c] < least) {
          least = distance[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= n; ++c) {
        if (done[c]) {
          row_price[row_of[c]] += least;
          column_price[c] -= least;
        } else if (distance[c] != kFar) {
          distance[c] -= least;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[before[column]];
      column = before[column];
    }
  }
  std::vector<int64_t> out(n, 0);
  for (std::size_t c = 1; c <= n; ++c) out[row_of[c] - 1] = static_cast<int64_t>(c) - 1;
  return out;
}

}  // namespace relayout::redistribute
