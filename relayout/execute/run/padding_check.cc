// Filling buffers with ones, and the error about padding that is not zero.
#include "relayout/execute/run/padding_check.h"

#include <array>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/cpu/reorder.h"

namespace relayout::execute {

void fill_ones(const TensorDesc& desc, void* data) {
  const Layout& layout = desc.layout;
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  const Dims dims = layout.padded_dims();
  std::array<std::byte, 16> ones;
  ones.fill(std::byte{0xff});
  const Layout repeated = Layout::strided(dims, Dims(dims.size(), 0));
  const Layout all = Layout::from_digits(dims, digits, layout.offset0());
  cpu::run(cpu::make_plan({repeated, desc.dtype}, {all, desc.dtype}), ones.data(), data);
}

void throw_dirty(const std::string& step, const std::string& implementation, const std::string& tensor,
                 const Dims& index) {
  throw Error(ErrorCode::internal,
              "run: after " + escaped(step) + " (" + implementation + ") the padding of \"" + escaped(tensor) +
                  "\" is not zero at index " + join(index),
              escaped(step), join(index));
}

}  // namespace relayout::execute
