// Fuzzes layout expressions. One that parses must parse again to the same layout, bind or say why it cannot, and keep
// the layout's laws.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "relayout/core/error.h"
#include "relayout/core/format.h"

namespace {

using relayout::Dims;
using relayout::Format;
using relayout::Layout;
using relayout::Slot;

void require(bool law) {
  if (!law) std::abort();
}

/// Extents for a rank: none, ones, odd ones with tails, large ones, or with a zero.
Dims dims_for(int rank, int variant) {
  constexpr std::array<int64_t, 6> kOdd{2, 17, 5, 4, 3, 7};
  Dims dims;
  for (int d = 0; d < rank; ++d) {
    const int64_t odd = kOdd[static_cast<std::size_t>(d) % kOdd.size()];
    dims.push_back(variant == 0 ? odd : variant == 1 ? 1 : variant == 2 ? int64_t{1} << 20 : d == 1 ? 0 : odd);
  }
  return dims;
}

/// Checks offset() against inverse() for the corners and some indices between them.
void check_inverse(const Layout& layout) {
  if (layout.empty()) return;
  for (int64_t step = 0; step < 5; ++step) {
    Dims index;
    for (int d = 0; d < layout.ndims(); ++d) {
      index.push_back(step == 4 ? layout.dim(d) - 1 : (step * (d + 3)) % layout.dim(d));
    }
    const int64_t offset = layout.offset(index);
    require(offset >= 0 && offset < layout.span());
    Dims found;
    // Several indices may share an offset. inverse() may return any of them.
    require(layout.inverse(offset, &found) == Slot::element);
    require(layout.offset(found) == offset);
  }
}

void check(const Format& format, const Dims& dims) {
  const Layout layout = format.bind(dims);
  require(!format.views().empty() || layout.dims() == dims);
  // A view is a part of its buffer.
  require(layout.empty() || layout.span() <= format.buffer_span(dims));
  require(layout.canonical() == layout);
  check_inverse(layout);
  if (const auto shape = format.physical_shape(dims)) {
    // The physical array has room for the span (an image's last row may end before its pitch).
    const auto elements = relayout::checked_product(*shape);
    require(elements && *elements >= layout.span());
  }
  if (const auto tag = relayout::tag_of(layout)) require(Format::parse(*tag).bind(layout.dims()) == layout);
  require(static_cast<int>(format.dim_names(layout.ndims()).size()) == layout.ndims());
  require(Format::parse(relayout::digits_expression(layout)).bind(layout.dims()) == layout);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Format format = Format::parse(text);
    require(format.text() == text);
    const Format again = Format::parse(format.text());
    require(again.kind() == format.kind() && again.rank() == format.rank());
    const int first = format.rank().value_or(0), last = format.rank().value_or(relayout::kMaxDims);
    for (int rank = first; rank <= last; ++rank) {
      for (int variant = 0; variant < 4; ++variant) {
        try {
          const Dims odd = dims_for(rank, variant);
          const Dims dims = variant == 3 ? odd : format.default_dims().value_or(odd);
          check(format, dims);
          require(again.bind(dims) == format.bind(dims));
        } catch (const relayout::Error& error) {
          require(error.code() != relayout::ErrorCode::internal);
        }
      }
    }
  } catch (const relayout::Error& error) {
    require(error.code() != relayout::ErrorCode::internal);
  }
  return 0;
}
