// Swizzled layouts by this library, one a line, for swizzles.py.
//
//     standard input     Sw<3,3,3> o 0 o (2,64):(64,1)
//     standard output    layout<tab>span<tab>offsets of all indices, the last dim fastest<tab>the text again
//
// What is refused gives "error", the code and the message instead.
#include <string>

#include "relayout/interop/cute.h"
#include "tests/support/answer_lines.h"

namespace {

using relayout::Dims;
using relayout::Layout;

std::string answer(const std::string& line) {
  try {
    const Layout layout = relayout::cute::from_cute(line);
    std::string offsets;
    Dims index(layout.ndims(), 0);
    for (int64_t n = 0; n < layout.elements(); ++n) {
      int64_t rest = n;
      for (int d = layout.ndims(); d-- > 0; rest /= layout.dim(d)) index[d] = rest % layout.dim(d);
      const int64_t offset = layout.offset(index);
      Dims back;
      if (layout.inverse(offset, &back) != relayout::Slot::element || layout.offset(back) != offset)
        return "error\tinternal\tinverse() does not lead back to offset " + std::to_string(offset);
      offsets += (n > 0 ? "," : "") + std::to_string(offset);
    }
    return "layout\t" + std::to_string(layout.span()) + "\t" + offsets + "\t" + relayout::cute::to_cute(layout);
  } catch (const relayout::Error& error) {
    return relayout::test::refusal_line(error);
  }
}

}  // namespace

int main() { return relayout::test::answer_lines(answer); }
