// The ranges of a box, in the order of the file.
#include "relayout/redistribute/files/read_piece.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "relayout/core/error.h"
#include "relayout/io/descriptor.h"

namespace relayout::redistribute {
namespace {

/// A digit of the box's dims, with its place in the list of all digits.
struct Place {
  int dim = 0, digit = 0;
  Digit file;
};

/// Calls f(offset in the file, offset in dense memory) for each range.
template <typename F>
void for_each_range(const DenseBox& box, F f) {
  std::vector<int64_t> index(box.outer.size(), 0);
  int64_t at = box.first, dense = 0;
  for (;;) {
    f(at, dense);
    dense += box.range_bytes;
    std::size_t k = 0;
    for (; k < index.size(); ++k) {
      at += box.outer[k].stride;
      if (++index[k] < box.outer[k].extent) break;
      at -= box.outer[k].stride * box.outer[k].extent;
      index[k] = 0;
    }
    if (k == index.size()) return;
  }
}

}  // namespace

int64_t DenseBox::ranges() const {
  int64_t out = 1;
  for (const Digit& digit : outer) out *= digit.extent;
  return out;
}

std::optional<DenseBox> dense_box(const TensorDesc& view) {
  const Layout& layout = view.layout;
  const int width = bits(view.dtype);
  if (layout.swizzled() || width % 8 != 0 || layout.empty()) return std::nullopt;
  std::vector<Digits> digits(static_cast<std::size_t>(layout.ndims()));
  std::vector<Place> places;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits[static_cast<std::size_t>(d)] = layout.digits_of(d);
    for (int k = 0; k < digits[static_cast<std::size_t>(d)].size(); ++k) {
      const Digit& digit = digits[static_cast<std::size_t>(d)][k];
      if (digit.extent == 1) continue;
      if (digit.stride <= 0) return std::nullopt;
      places.push_back({d, k, digit});
    }
  }
  std::ranges::sort(places, {}, [](const Place& place) { return place.file.stride; });
  DenseBox out;
  int64_t reached = 1, dense = 1;  // elements between the first and the last one, in the file and in dense memory
  bool inside = true;              // of the first range
  for (const Place& place : places) {
    if (place.file.stride < reached) return std::nullopt;
    inside = inside && place.file.stride == dense;
    if (!inside) out.outer.push_back({place.file.extent, place.file.stride * (width / 8)});
    digits[static_cast<std::size_t>(place.dim)][place.digit].stride = dense;
    dense *= place.file.extent;
    reached += place.file.stride * (place.file.extent - 1);
    if (inside) out.range_bytes = dense * (width / 8);
  }
  out.range_bytes = std::max<int64_t>(out.range_bytes, width / 8);
  out.first = layout.offset0() * (width / 8);
  out.desc = TensorDesc(Layout::from_digits(layout.dims(), digits), view.dtype);
  return out;
}

void fetch(const DenseBox& box, int descriptor, int64_t offset) {
  for_each_range(box, [&](int64_t at, int64_t) {
    (void)::posix_fadvise(descriptor, offset + at, box.range_bytes, POSIX_FADV_WILLNEED);
  });
}

int64_t DenseBox::transfers() const { return ranges() * (range_bytes <= kTransfer ? 1 : range_bytes / kTransfer + 2); }

Transfer DenseBox::transfer(int64_t i, int64_t offset) const {
  const int64_t each = range_bytes <= kTransfer ? 1 : range_bytes / kTransfer + 2;
  int64_t range = i / each, at = offset + first;
  const int64_t dense = range * range_bytes;
  for (const Digit& digit : outer) {
    at += range % digit.extent * digit.stride;
    range /= digit.extent;
  }
  if (each == 1) return {at, dense, range_bytes};
  const int64_t begin = std::max(at, (at / kTransfer + i % each) * kTransfer);
  const int64_t end = std::min(at + range_bytes, (at / kTransfer + i % each + 1) * kTransfer);
  return {begin, dense + begin - at, std::max<int64_t>(0, end - begin)};
}

void read(const Transfer& transfer, const ReadFrom& from, std::span<std::byte> own, std::span<std::byte> to) {
  const bool direct = from.direct >= 0 && !own.empty();
  // Past the cache whole blocks are read, of which the ends are left out.
  const int64_t before = direct ? transfer.at % io::kDirectBlock : 0;
  const int64_t wanted = before + transfer.bytes;
  std::byte* const target = direct ? own.data() : to.data() + transfer.dense;
  for (int64_t done = 0; done < wanted;) {
    const int64_t most = direct ? ceil_div(wanted, io::kDirectBlock) * io::kDirectBlock - done : wanted - done;
    const ssize_t got = io::retry([&] {
      return ::pread(direct ? from.direct : from.descriptor, target + done, static_cast<std::size_t>(most),
                     transfer.at - before + done);
    });
    // The cache serves what cannot be read past it: a disk of larger blocks, and what is left of a block where the
    // system, which may read less than it is asked for, ended within one.
    if (direct && (got < 0 ? errno == EINVAL : got % io::kDirectBlock != 0 && done + got < wanted))
      return read(transfer, {.descriptor = from.descriptor}, own, to);
    if (got < 0) io::throw_io("read", "the source", errno);
    if (got == 0)
      throw Error(ErrorCode::corrupt, "the source ends at byte " + std::to_string(transfer.at - before + done) +
                                          ", before its tensor does; it was made shorter while it was read");
    done += got;
  }
  if (direct) std::memcpy(to.data() + transfer.dense, own.data() + before, static_cast<std::size_t>(transfer.bytes));
}

}  // namespace relayout::redistribute
