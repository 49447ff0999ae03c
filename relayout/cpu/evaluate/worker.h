// One thread's part of an evaluation (internal to cpu): its buffers, the plans of its tiles, and the tiles themselves.
//
// A tile takes three steps. Plans bring the elements of each code into row-major order, a byte each, and put planes
// together. The coefficients of the tile's groups are computed, one for each group. A kernel converts the codes with
// them, run by run where a run shares a coefficient, into the destination's rows or a buffer that a plan then moves.
#pragma once

#include <optional>
#include <vector>

#include "relayout/cpu/evaluate/job.h"
#include "relayout/reorder/plan.h"

namespace relayout::cpu {

class Worker {
 public:
  /// The job must live as long as the worker.
  explicit Worker(const Job& job);

  /// Writes the values of a tile, by its number.
  void run(int64_t tile);

 private:
  /// A coefficient for each group of the tile, or one number for all.
  struct Coefficient {
    std::vector<float> values{};
    float number = 0;
    bool is_number = false;
    float at(std::size_t i) const { return is_number ? number : values[i]; }
  };

  Plan fetch_plan(const Leaf& leaf, const Tile& tile) const;
  void fetch(std::size_t leaf, const Tile& tile, void* to);
  void fetch_codes(const Tile& tile);
  void find_coefficients(const Tile& tile);
  void set(std::vector<float>& list, std::optional<std::size_t> node, float otherwise, bool negative, const Tile& tile);
  Coefficient coefficient(std::size_t node, const Tile& tile);
  Coefficient leaf_coefficient(std::size_t leaf, const Tile& tile);
  void convert(const Tile& tile);
  void put(const Tile& tile);

  const Job& job_;
  std::vector<std::vector<Plan>> plans_;  // of each leaf, a plan for each size of a tile
  std::optional<Plan> put_;
  std::vector<std::byte> codes_, row_, converted_;
  std::vector<uint8_t> plane_;
  std::array<int64_t, 2> groups_{};  // how many the tile has in each dim
  std::vector<float> scale_, subtracted_, added_, ones_;
  std::vector<int64_t> starts_;
};

}  // namespace relayout::cpu
