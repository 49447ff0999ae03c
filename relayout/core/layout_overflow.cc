// The dim to blame for a size, and the message: see overflow.h.
#include "relayout/core/layout.h"
#include "relayout/core/overflow.h"
#include "relayout/core/wide.h"

namespace relayout {
namespace {

[[noreturn]] void throw_named(const std::string& message, const std::string& field, const std::string& value) {
  throw Error(ErrorCode::overflow, message, field, value, std::to_string(std::numeric_limits<int64_t>::max()));
}
[[noreturn]] void throw_named(const std::string& message, const std::string& field, int64_t value) {
  throw_named(message, field, std::to_string(value));
}

}  // namespace

int largest_dim(const Dims& sizes) { return static_cast<int>(std::ranges::max_element(sizes) - sizes.begin()); }

std::string largest_dim_text(const Dims& sizes, const Dims& dims) {
  const int worst = largest_dim(sizes);
  const std::string padded = sizes[worst] == dims[worst] ? "" : ", padded to " + std::to_string(sizes[worst]);
  return "dim " + std::to_string(worst) + " (" + std::to_string(dims[worst]) + padded + ") is the largest";
}

void throw_too_many(const std::string& what, const Dims& sizes, const Dims& dims, const std::string& why,
                    std::string_view list) {
  if (dims.empty()) {
    throw_named(what + join(sizes, " x ") + (sizes.empty() ? "" : " ") + why +
                    "; a scalar is one element, and the others are its padding",
                "padding", join(sizes));
  }
  const int worst = largest_dim(sizes);
  throw_named(what + join(sizes, " x ") + " " + why + "; " + largest_dim_text(sizes, dims),
              std::string(list) + "[" + std::to_string(worst) + "]", dims[worst]);
}

void throw_too_far(const std::string& what, const Dims& dims, const std::vector<std::span<const Digit>>& digits,
                   int64_t offset0) {
  Wide farthest = -1;
  int worst = -1;
  Digit step;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    for (const Digit& digit : digits[d]) {
      const Wide reach = abs_wide(Wide{digit.extent - 1} * digit.stride);
      if (reach <= farthest) continue;
      farthest = reach;
      worst = static_cast<int>(d);
      step = digit;
    }
  }
  if (worst < 0 || offset0 > farthest)
    throw_named(what + "; offset0 is " + std::to_string(offset0), "offset0", offset0);
  const std::string by =
      " reaches farthest, by " + std::to_string(step.extent - 1) + " x " + std::to_string(step.stride);
  if (dims.empty()) throw_named(what + "; the padding of a scalar" + by, "padding", step.extent);
  throw_named(what + "; dim " + std::to_string(worst) + " (" + std::to_string(dims[worst]) + ")" + by,
              "dims[" + std::to_string(worst) + "]", dims[worst]);
}

}  // namespace relayout
