// Binds layout expressions, one a line, for run.py.
//
//     standard input     nchw.narrow(1,0,2)<tab>2,3,5,4         the expression and its dims, before its views
//     standard output    view<tab>2,2,5,4<tab>0<tab>60,20,4,1<tab>0,1,2,...<tab>
//
// That is the dims behind the views, the offset of the first element, a stride for each dim ("-" where a dim has more
// than one digit), the offsets of all elements in row-major order, and padding of the view that is an element of the
// buffer. What is refused gives "error", the code and the message instead.
#include <string>

#include "relayout/core/format.h"
#include "tests/support/answer_lines.h"

namespace {

using relayout::Dims;

std::string strides_of(const relayout::Layout& layout) {
  const relayout::Layout simple = layout.canonical();
  for (int d = 0; d < simple.ndims(); ++d) {
    if (simple.digits(d).size() > 1) return "-";
  }
  return relayout::join(simple.outer_strides());
}

std::string offsets_of(const relayout::Layout& layout) {
  std::string out;
  Dims index(layout.ndims(), 0);
  for (int64_t i = 0; i < layout.elements(); ++i) {
    int64_t rest = i;
    for (int d = layout.ndims(); d-- > 0;) {
      index[d] = rest % layout.dim(d);
      rest /= layout.dim(d);
    }
    out += (i == 0 ? "" : ",") + std::to_string(layout.offset(index));
  }
  return out;
}

/// What the view counts as padding but the buffer holds as an element, or has not at all: "5 (2,3)" for offset 5 and
/// the view's index 2,3. "" where there is none.
std::string foreign_padding(const relayout::Layout& layout, const relayout::Layout& buffer) {
  const Dims padded = layout.padded_dims();
  if (layout.empty()) return "";
  for (int64_t i = 0; i < layout.padded_elements(); ++i) {
    Dims index(layout.ndims(), 0), found;
    bool padding = false;
    int64_t rest = i;
    for (int d = layout.ndims(); d-- > 0;) {
      index[d] = rest % padded[d];
      rest /= padded[d];
      padding |= index[d] >= layout.dim(d);
    }
    const int64_t offset = layout.offset(index);
    if (padding && (offset >= buffer.span() || buffer.inverse(offset, &found) == relayout::Slot::element))
      return std::to_string(offset) + " (" + relayout::join(index) + ")";
  }
  return "";
}

std::string answer(const std::string& line) {
  const std::size_t tab = line.find('\t');
  try {
    const std::string text = line.substr(0, tab);
    const Dims dims = relayout::parse_dims(line.substr(tab + 1));
    const relayout::Layout layout = relayout::Format::parse(text).bind(dims);
    const relayout::Layout buffer = relayout::Format::parse(text.substr(0, text.find('.'))).bind(dims);
    return "view\t" + relayout::join(layout.dims()) + "\t" + std::to_string(layout.offset0()) + "\t" +
           strides_of(layout) + "\t" + offsets_of(layout) + "\t" + foreign_padding(layout, buffer);
  } catch (const relayout::Error& error) {
    return relayout::test::refusal_line(error);
  }
}

}  // namespace

int main() { return relayout::test::answer_lines(answer); }
