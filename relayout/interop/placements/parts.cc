// Texts without spaces, and meshes.
#include "relayout/interop/placements/parts.h"

#include <algorithm>

#include "relayout/core/error.h"

namespace relayout::placements {
namespace {

[[noreturn]] void fail_in(std::string_view text, std::size_t at, const std::string& why) {
  const std::size_t column = escaped(text.substr(0, at), 400).size();
  throw Error(ErrorCode::parse,
              "placement: " + why + "\n  " + escaped(text, 400) + "\n  " + std::string(column, ' ') + "^", "placement",
              escaped(text), "jax:P('x',None) mesh(x=4,y=2), dtensor:[Shard(0)] mesh(4), zarr:chunks=(8,30)");
}

bool word_character(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

}  // namespace

Reader::Reader(std::string_view text, std::size_t at)
    : text_(text, at, text.size(), [text](std::size_t where, const std::string& why) { fail_in(text, where, why); }) {
  skip_spaces();
}

void Reader::skip_spaces() {
  while (text_.take(' ') || text_.take('\n')) {
  }
}

bool Reader::take(char ch) {
  if (!text_.take(ch)) return false;
  skip_spaces();
  return true;
}

bool Reader::take_word(std::string_view word) {
  const std::string_view rest = text_.rest();
  if (!rest.starts_with(word) || (rest.size() > word.size() && word_character(rest[word.size()]))) return false;
  text_.take(word);
  skip_spaces();
  return true;
}

void Reader::expect(char ch) {
  text_.expect(ch);
  skip_spaces();
}

int64_t Reader::number(const std::string& what, int64_t least) {
  const int64_t out = text_.number(what, least);
  skip_spaces();
  return out;
}

std::string Reader::name(const std::string& what) {
  const char quote = peek();
  std::string out;
  if (quote == '\'' || quote == '"') {
    text_.take(quote);
    while (!done() && peek() != quote) {
      out += peek();
      text_.take(peek());
    }
    text_.expect(quote);
  } else {
    while (word_character(peek())) {
      out += peek();
      text_.take(peek());
    }
  }
  if (out.empty()) fail("expected " + what);
  skip_spaces();
  return out;
}

std::vector<int64_t> Reader::numbers(const std::string& what, int64_t least) {
  std::vector<int64_t> out;
  const char close = peek() == '[' ? ']' : ')';
  expect(close == ']' ? '[' : '(');
  while (!take(close)) {
    out.push_back(number(what, least));
    if (take(close)) break;
    if (!take(',')) fail(std::string("expected ',' or '") + close + "'");
  }
  return out;
}

void Reader::skip_value() {
  int depth = 0;
  while (!done()) {
    const char ch = peek();
    if (depth == 0 && (ch == ',' || ch == ')' || ch == ']' || ch == '}')) return;
    if (ch == '(' || ch == '[' || ch == '{') ++depth;
    if (ch == ')' || ch == ']' || ch == '}') --depth;
    take(ch);
  }
}

void number_by_rows(PlacementText& out) {
  for (std::size_t k = out.mesh.size(); k-- > 0;) {
    out.mesh[k].step = out.places;
    const std::optional<int64_t> all = checked_mul(out.places, out.mesh[k].extent);
    if (!all) throw Error(ErrorCode::overflow, "placement: the number of places overflows 63 bits", "mesh");
    out.places = *all;
  }
}

Mesh mesh_of(const Placement& placement, std::span<const MeshAxis> given) {
  struct Axis {
    MeshAxis axis;
    std::size_t dim;  // the number of dims: copies
    std::size_t at;   // among the axes of its dim, innermost first
  };
  std::vector<Axis> all;
  const auto add = [&](const Digit& digit, std::size_t dim, std::size_t& at) {
    std::vector<int64_t> steps{digit.stride};
    for (const MeshAxis& axis : given) steps.push_back(axis.step);
    std::ranges::sort(steps);
    const int64_t end = digit.stride * digit.extent;
    int64_t from = digit.stride;
    steps.push_back(end);
    for (const int64_t step : steps) {
      if (step <= from || step > end || step % from != 0 || end % step != 0) continue;
      all.push_back({{"", step / from, from}, dim, at++});
      from = step;
    }
  };
  const auto dims = static_cast<std::size_t>(placement.dims().size());
  for (std::size_t d = 0; d < dims; ++d) {
    std::size_t at = 0;
    for (const Digit& digit : placement.of_dims()[d].places) add(digit, d, at);
  }
  std::size_t copies = 0;
  for (const Digit& digit : placement.copies()) add(digit, dims, copies);
  std::ranges::sort(all, std::ranges::greater{}, [](const Axis& axis) { return axis.axis.step; });
  Mesh out;
  out.of_dims.resize(dims);
  for (Axis& axis : all) {
    for (const MeshAxis& named : given) {
      if (named.step == axis.axis.step && named.extent == axis.axis.extent) axis.axis.name = named.name;
    }
    out.axes.push_back(axis.axis);
  }
  for (std::size_t d = 0; d < dims; ++d) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k].dim == d) out.of_dims[d].push_back(k);
    }
    std::ranges::sort(out.of_dims[d], std::ranges::greater{}, [&](std::size_t k) { return all[k].at; });
  }
  return out;
}

std::string quoted(const std::string& name) {
  const char* quote = name.find('\'') == std::string::npos ? "'" : "\"";
  return quote + name + quote;
}

std::string as_word(const std::string& name) { return std::ranges::all_of(name, word_character) ? name : quoted(name); }

void refuse(const std::string& why) { throw Error(ErrorCode::unsupported, why, "placement"); }

void need_one_block(const Placement& placement, const std::string& system) {
  for (int d = 0; d < placement.dims().size(); ++d) {
    const DimPlaces& dim = placement.of_dims()[static_cast<std::size_t>(d)];
    const int64_t whole = std::max<int64_t>(1, ceil_div(placement.dims()[d], dim.count()));
    const std::string named = "dim " + std::to_string(d);
    if (dim.block != whole)
      refuse(system + " gives each place one block of a dim: " + named + " of " + std::to_string(placement.dims()[d]) +
             " has blocks of " + std::to_string(dim.block) + " over " + std::to_string(dim.count()) + ", not of " +
             std::to_string(whole));
    if (dim.first != 0)
      refuse(system + " gives the first block to the first place: that of " + named + " is at coordinate " +
             std::to_string(dim.first));
  }
}

}  // namespace relayout::placements
