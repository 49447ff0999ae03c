// Counting wavefronts: the first elements of a request's lanes, then the words of each phase by their banks.
#include "relayout/core/banks.h"

#include <algorithm>
#include <array>
#include <bit>

namespace relayout::banks {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 26;
constexpr int64_t kMostBytes = 16;
constexpr int kMatrixRows = 8;

[[noreturn]] void refuse(const std::string& why, const std::string& field, const std::string& value,
                         const std::string& limit) {
  throw Error(ErrorCode::invalid_argument, "banks: " + why, field, value, limit);
}

/// The accesses of a tile: where the first element of each lane lies under a swizzle, request after request.
struct Requests {
  const TensorDesc* tile;
  int64_t elements = 1;        // of a lane
  int lanes = kLanes;          // of a request; the last one may have fewer
  int phase = kLanes;          // lanes of a phase
  std::vector<Dims> indices;   // of each lane
  std::vector<int64_t> under;  // its offset before the swizzle

  int64_t bits() const { return elements * relayout::bits(tile->dtype); }
};

/// The requests' lanes in the order of `strides`, the numbers that a step of each dim adds to a lane's number.
void walk(Requests& out, const Dims& extents, const Dims& steps, std::span<const int> order) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  for (int64_t n = 0; n < count; ++n) {
    Dims index(extents.size(), 0);
    int64_t rest = n;
    for (const int d : order) {  // the fastest first
      index[d] = rest % extents[d] * steps[d];
      rest /= extents[d];
    }
    out.indices.push_back(index);
  }
}

/// How many elements each lane has, which must divide the last dim and be a width that the hardware has.
void check_width(const Requests& requests, const Access& access) {
  const Layout& layout = requests.tile->layout;
  const int64_t bits = requests.bits();
  const std::string elements = std::to_string(requests.elements), text = access.text();
  if (requests.elements < 1 || bits > 8 * kMostBytes || !std::has_single_bit(static_cast<uint64_t>(bits)))
    refuse(text + ": a lane accesses " + elements + " elements of " + std::string(name(requests.tile->dtype)) +
               " at once; it takes 1 to 16 bytes, a power of two",
           "access", text, "16 bytes");
  const int64_t columns = layout.dim(layout.ndims() - 1);
  if (access.kind != Access::Kind::lanes && columns % requests.elements != 0)
    refuse(text + ": rows of " + std::to_string(columns) + " elements are no whole number of " + elements, "dims",
           std::to_string(columns), "a multiple of " + elements);
}

/// Each lane's elements follow each other, from a multiple of their bytes on.
void check_runs(const Requests& requests, const Access& access) {
  const Layout& layout = requests.tile->layout;
  for (const Dims& first : requests.indices) {
    const int64_t offset = layout.offset(first);
    bool together = offset % requests.elements == 0;
    Dims index = first;
    for (int64_t k = 1; k < requests.elements && together; ++k) {
      ++index[index.size() - 1];
      together = layout.offset(index) == offset + k;
    }
    if (together) continue;
    refuse(access.text() + ": the " + std::to_string(requests.elements) + " elements from (" + join(first) +
               ") on, at offset " + std::to_string(offset) +
               ", do not follow each other from a multiple of their number on, so that no lane gets them at once",
           "access", access.text(), "elements that follow each other");
  }
}

Requests requests_of(const TensorDesc& tile, const Access& access) {
  const Layout& layout = tile.layout;
  const int ndims = layout.ndims(), least = access.kind == Access::Kind::row ? 1 : 2;
  if (access.kind != Access::Kind::lanes && ndims < least)
    refuse(access.text() + ": the tile has " + std::to_string(ndims) + " dims", "dims", std::to_string(ndims),
           std::to_string(least) + " or more");
  if (ndims == 0) refuse("a scalar has no lanes", "dims", "0", "1 or more");
  if (layout.elements() > kMostElements)
    throw Error(ErrorCode::limit, "banks: a tile of " + std::to_string(layout.elements()) + " elements", "dims",
                std::to_string(layout.elements()), std::to_string(kMostElements));
  Requests out{.tile = &tile, .elements = access.elements, .indices = {}, .under = {}};
  if (access.kind == Access::Kind::ldmatrix) {
    out.elements = 8 * kMostBytes / bits(tile.dtype);
    out.lanes = kMatrixRows;
  }
  check_width(out, access);
  out.phase = std::min<int>(out.lanes, out.bits() <= 32 ? 32 : static_cast<int>(32 * 32 / out.bits()));
  Dims extents = layout.dims(), steps(ndims, 1);
  std::vector<int> order;
  for (int d = ndims; d-- > 0;) order.push_back(d);
  extents[ndims - 1] /= out.elements;
  steps[ndims - 1] = out.elements;
  if (access.kind == Access::Kind::lanes) {
    out.indices = access.lanes;
  } else {
    if (access.kind != Access::Kind::row) std::swap(order[0], order[1]);
    if (access.kind == Access::Kind::ldmatrix && layout.dim(ndims - 2) % kMatrixRows != 0)
      refuse("ldmatrix: " + std::to_string(layout.dim(ndims - 2)) + " rows are no whole number of 8", "dims",
             std::to_string(layout.dim(ndims - 2)), "a multiple of 8");
    walk(out, extents, steps, order);
  }
  check_runs(out, access);
  const Layout plain = layout.plain();
  for (const Dims& index : out.indices) out.under.push_back(plain.offset(index));
  return out;
}

/// The wavefronts of some lanes with these words: at most so many different words has a bank. Sets `bank` to that bank.
int wavefronts_of(std::span<const int64_t> first_words, int64_t words_of_lane, int* bank) {
  std::array<std::array<int64_t, kLanes>, kBanks> seen;  // not cleared: `count` says how many there are
  std::array<int, kBanks> count{};
  int most = 0;
  for (const int64_t first : first_words) {
    for (int64_t word = first; word < first + words_of_lane; ++word) {
      const auto at = static_cast<std::size_t>(word % kBanks);
      const auto end = seen[at].begin() + count[at];
      if (std::find(seen[at].begin(), end, word) != end) continue;
      *end = word;
      if (++count[at] <= most) continue;
      most = count[at];
      *bank = static_cast<int>(at);
    }
  }
  return most;
}

/// Calls f(request, phase, first lane, end) for each phase, while it returns true.
template <typename F>
void while_each_phase(const Requests& requests, const F& f) {
  const auto all = static_cast<int64_t>(requests.under.size());
  for (int64_t first = 0; first < all; first += requests.lanes) {
    const int64_t end = std::min(all, first + requests.lanes);
    for (int64_t at = first; at < end; at += requests.phase) {
      if (!f(first / requests.lanes, (at - first) / requests.phase, at, std::min(end, at + requests.phase))) return;
    }
  }
}

/// The wavefronts of lanes first..end-1 under a swizzle.
int wavefronts_of(const Requests& requests, const Swizzle& swizzle, int64_t first, int64_t end, int* bank) {
  std::array<int64_t, kLanes> words;
  const int64_t bits = relayout::bits(requests.tile->dtype), word_bits = 8 * kBankBytes;
  for (int64_t lane = first; lane < end; ++lane) {
    const int64_t offset = swizzle.apply(requests.under[static_cast<std::size_t>(lane)]);
    words[static_cast<std::size_t>(lane - first)] =
        bits >= word_bits ? offset * (bits / word_bits) : offset / (word_bits / bits);
  }
  const int64_t each = std::max<int64_t>(1, requests.bits() / word_bits);
  return wavefronts_of(std::span(words).first(static_cast<std::size_t>(end - first)), each, bank);
}

/// The lanes that want something of a bank.
Collision collision_at(const Requests& requests, const Swizzle& swizzle, int64_t first, int64_t end, int bank) {
  Collision out;
  out.bank = bank;
  const int64_t each = std::max<int64_t>(1, requests.bits() / (8 * kBankBytes));
  for (int64_t lane = first; lane < end; ++lane) {
    const auto at = static_cast<std::size_t>(lane);
    const int64_t word = swizzle.apply(requests.under[at]) * relayout::bits(requests.tile->dtype) / (8 * kBankBytes);
    if ((bank - word % kBanks + kBanks) % kBanks >= each) continue;
    out.lanes.push_back(static_cast<int>(lane % requests.lanes));
    out.indices.push_back(requests.indices[at]);
  }
  return out;
}

bool is_free(const Requests& requests, const Swizzle& swizzle) {
  bool free = true;
  int bank = 0;
  while_each_phase(requests, [&](int64_t, int64_t, int64_t first, int64_t end) {
    return free = wavefronts_of(requests, swizzle, first, end, &bank) == 1;
  });
  return free;
}

}  // namespace

Count count(const TensorDesc& tile, const Access& access) {
  const Requests requests = requests_of(tile, access);
  const Swizzle& swizzle = tile.layout.swizzle();
  Count out;
  out.requests = ceil_div(static_cast<int64_t>(requests.under.size()), requests.lanes);
  while_each_phase(requests, [&](int64_t request, int64_t phase, int64_t first, int64_t end) {
    int bank = 0;
    const int ways = wavefronts_of(requests, swizzle, first, end, &bank);
    ++out.phases;
    out.wavefronts += ways;
    if (ways <= out.ways) return true;
    out.ways = ways;
    out.worst = collision_at(requests, swizzle, first, end, bank);
    out.worst->request = request;
    out.worst->phase = phase;
    return true;
  });
  return out;
}

std::optional<Swizzle> find(const TensorDesc& tile, std::span<const Access> accesses) {
  if (tile.layout.swizzled())
    refuse("find: the tile is swizzled already, by " + tile.layout.swizzle().text() + "; give the layout under it",
           "layout", tile.layout.swizzle().text(), "a layout without a swizzle");
  if (accesses.empty()) refuse("find: no access is given", "access", "", "1 or more");
  std::vector<Requests> all;
  int64_t run = 1;
  for (const Access& access : accesses) {
    all.push_back(requests_of(tile, access));
    run = std::max(run, all.back().elements);
  }
  const auto frees = [&](const Swizzle& swizzle) {
    return std::ranges::all_of(all, [&](const Requests& requests) { return is_free(requests, swizzle); });
  };
  if (frees({})) return Swizzle();
  // A swizzle must keep what a lane accesses together, and reads nothing from above the last offset.
  const int least = std::countr_zero(static_cast<uint64_t>(run));
  const int top = std::bit_width(static_cast<uint64_t>(tile.layout.span() - 1));
  for (int bits = 1; 2 * bits <= top - least; ++bits) {
    for (int base = least; base + 2 * bits <= top; ++base) {
      for (int shift = bits; base + shift + bits <= top; ++shift) {
        for (const int way : {shift, -shift}) {
          const Swizzle swizzle = Swizzle::make(bits, base, way);
          if (frees(swizzle)) return swizzle;
        }
      }
    }
  }
  return std::nullopt;
}

Access Access::parse(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::parse, "access \"" + escaped(text) + "\": " + why, "access", escaped(text),
                "row, row:8, column, column:8, ldmatrix, lanes:0,0/1,0");
  };
  Access out;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (word == "row" || word == "column") {
    out.kind = word == "row" ? Kind::row : Kind::column;
    if (colon != std::string_view::npos) out.elements = parse_int(rest, "access: elements of a lane");
  } else if (word == "ldmatrix") {
    out.kind = Kind::ldmatrix;
    if (colon != std::string_view::npos) fail("ldmatrix has 16 bytes a lane, and takes no number");
  } else if (word == "lanes") {
    out.kind = Kind::lanes;
    if (const std::size_t second = rest.find(':'); second != std::string_view::npos) {
      out.elements = parse_int(rest.substr(0, second), "access: elements of a lane");
      rest = rest.substr(second + 1);
    }
    if (rest.empty()) fail("each lane has an index, as in lanes:0,0/1,0");
    while (true) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      out.lanes.push_back(parse_dims(rest.substr(0, slash)));
      if (slash == rest.size()) break;
      rest = rest.substr(slash + 1);
    }
    if (static_cast<int>(out.lanes.size()) > kLanes) fail("a warp has 32 lanes");
  } else {
    fail("there are row, column, ldmatrix and lanes");
  }
  if (out.elements < 1) fail("a lane has 1 element or more");
  return out;
}

std::string Access::text() const {
  static constexpr const char* kNames[] = {"row", "column", "ldmatrix", "lanes"};
  std::string out = kNames[static_cast<std::size_t>(kind)];
  if (kind != Kind::ldmatrix && elements != 1) out += ":" + std::to_string(elements);
  for (std::size_t k = 0; k < lanes.size(); ++k) out += (k == 0 ? ":" : "/") + join(lanes[k]);
  return out;
}

}  // namespace relayout::banks
