// The grids of groups, and codes on them: see quantise.h.
#include "relayout/cpu/repack/quantise.h"

#include <algorithm>
#include <cmath>

#include "relayout/cpu/repack/codes.h"

namespace relayout::cpu {
namespace {

/// The grid of one group of values: where the destination's field for a coefficient is, it is chosen.
struct Quantiser {
  Target scale, subtracted, added;
  float low, high;  // codes

  struct Choice {
    float scale = 0, subtracted = 0, added = 0;
  };
  Choice choose(float least, float most) const {
    Choice out{0, subtracted.number, added.number};
    const float range = std::max(most, 0.0F) - std::min(least, 0.0F);
    if (added.field != nullptr) {
      out.scale = (most - least) / (high - low);
      out.added = least - low * out.scale;
    } else if (subtracted.field != nullptr) {
      out.scale = range / (high - low);
      const float zero = out.scale > 0 ? std::nearbyint(-std::min(least, 0.0F) / out.scale) + low : low;
      out.subtracted = std::clamp(zero, low + subtracted.number, high + subtracted.number);
      // A field without that zero point, as GPTQ's has no 0, leaves fewer codes on one side of it.
      if (out.subtracted != zero) {
        const float above = high - out.subtracted, below = out.subtracted - low;
        out.scale = std::max(above > 0 ? most / above : 0, below > 0 ? -least / below : 0);
      }
    } else {
      // The value of the largest size becomes the lowest code, which is farther from the middle than the highest.
      out.scale = (-least > most ? least : most) / (low - subtracted.number);
    }
    return out;
  }
};

/// Chooses the coefficients of every group, and stores them.
std::array<Groups, 3> choose_grid(const Quantiser& quantiser, const std::vector<float>& values, const Dims& dims) {
  const std::array<int64_t, 2> count = dims_of(*quantiser.scale.field);
  const int64_t rows = dims[0] / count[0], columns = dims[1] / count[1];
  std::array<Groups, 3> out{Groups{count, {}}, Groups{count, {}}, Groups{count, {}}};
  for (int64_t r = 0; r < count[0]; ++r) {
    for (int64_t c = 0; c < count[1]; ++c) {
      float least = INFINITY, most = -INFINITY;
      for (int64_t i = 0; i < rows; ++i) {
        const float* row = values.data() + (r * rows + i) * dims[1] + c * columns;
        const auto [low, high] = std::minmax_element(row, row + columns);
        least = std::min(least, *low);
        most = std::max(most, *high);
      }
      const Quantiser::Choice choice = quantiser.choose(least, most);
      out[0].values.push_back(choice.scale);
      out[1].values.push_back(choice.subtracted);
      out[2].values.push_back(choice.added);
    }
  }
  // What the fields hold of them is what counts.
  const Target targets[] = {quantiser.scale, quantiser.subtracted, quantiser.added};
  for (std::size_t k = 0; k < 3; ++k) {
    if (targets[k].field == nullptr) continue;
    for (float& value : out[k].values) value -= targets[k].number;
    store(on_grid(out[k], dims_of(*targets[k].field), "a coefficient"), *targets[k].field);
    out[k] = fetched(*targets[k].field);
    for (float& value : out[k].values) value += targets[k].number;
  }
  return out;
}

}  // namespace

Rounding quantise(const std::vector<float>& values, const Dims& dims, const Packed& to) {
  const CodeRange range(to);
  if (!range.integers)
    throw Error(ErrorCode::unsupported,
                "repack: values are rounded to integer codes of up to 8 bits, and those of " +
                    std::string(to.format.name) + " are " + codes_text(to),
                "to", std::string(to.format.name), "integer codes");
  const Quantiser quantiser{target_of(to, to.affine.scale, 1), target_of(to, to.affine.subtracted, 0),
                            target_of(to, to.affine.added, 0), static_cast<float>(range.low),
                            static_cast<float>(range.high)};
  const auto [scale, subtracted, added] = choose_grid(quantiser, values, dims);
  const std::array<int64_t, 2> fine{dims[0], dims[1]};
  std::vector<uint8_t> codes(values.size());
  Rounding out;
  double squares = 0;
  for (int64_t r = 0; r < dims[0]; ++r) {
    for (int64_t c = 0; c < dims[1]; ++c) {
      const auto i = static_cast<std::size_t>(r * dims[1] + c);
      const float s = scale.at(r, c, fine), z = subtracted.at(r, c, fine), m = added.at(r, c, fine);
      const float wanted = s == 0 ? z : std::nearbyint((values[i] - m) / s) + z;
      const float code = std::clamp(wanted, quantiser.low, quantiser.high);
      const double error = std::abs(double{(code - z) * s + m} - double{values[i]});
      if (!std::isfinite(error)) {
        throw Error(ErrorCode::invalid_argument,
                    "repack: value (" + std::to_string(r) + "," + std::to_string(c) + ") is " +
                        std::to_string(values[i]) + ", and its scale in " + std::string(to.format.name) + " is " +
                        std::to_string(s) + "; infinities, NaN and scales that overflow their type have no codes",
                    "scale", std::to_string(s), "finite values and scales");
      }
      codes[i] = static_cast<uint8_t>(static_cast<int>(code));
      out.largest_error = std::max(out.largest_error, error);
      squares += error * error;
    }
  }
  out.rms_error = values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
  store_codes(to, codes, dims, {});
  return out;
}

}  // namespace relayout::cpu
