// Random layout expressions, a function for each kind: see random_expressions.h. The views are in random_views.cc.
#include "tests/interop/random_expressions.h"

#include <numeric>
#include <stdexcept>

namespace relayout::test {
namespace {

using Random = RandomNumbers;

/// Mostly small, and now and then without elements.
Dims random_dims(Random& random, int rank) {
  constexpr int64_t kOften[] = {1, 2, 3, 4, 5, 7, 8, 16, 17};
  Dims out;
  for (int d = 0; d < rank; ++d) {
    const int64_t extent = rank <= 3 ? random.one_of(kOften) : random.pick(1, rank > 6 ? 2 : 5);
    out.push_back(random.one_in(80) ? 0 : extent);
  }
  return out;
}

/// The letters from 'a' on, in any order.
std::string shuffled_letters(Random& random, int rank) {
  std::string out;
  for (int d = 0; d < rank; ++d) out += static_cast<char>('a' + d);
  random.shuffle(out);
  return out;
}

char upper(char ch) { return static_cast<char>(ch - 'a' + 'A'); }

/// Gives an outer name such as "nchw" one to three blocks: "nChw8c".
std::string with_blocks(Random& random, std::string outer) {
  constexpr int64_t kBlocks[] = {2, 3, 4, 5, 8, 16};
  const std::string letters = outer;
  std::string blocks;
  for (int64_t k = random.pick(1, 3); k > 0; --k) {
    const char letter = random.one_of(letters);
    std::replace(outer.begin(), outer.end(), letter, upper(letter));
    blocks += std::to_string(random.one_of(kBlocks)) + letter;
  }
  return outer + blocks;
}

std::string plain_name(Random& random, int rank) {
  const std::vector<std::string> names = plain_names(rank);
  return names.empty() || random.one_in(2) ? shuffled_letters(random, rank) : random.one_of(names);
}

Expression plain_tag(Random& random) {
  const int rank = static_cast<int>(random.one_in(10) ? random.pick(7, kMaxDims) : random.pick(1, 6));
  return {"", plain_name(random, rank), random_dims(random, rank)};
}

Expression blocked_tag(Random& random) {
  const int rank = static_cast<int>(random.pick(1, 5));
  std::string outer = plain_name(random, rank);
  if (outer == "x") outer = "w";  // x stands for all dims, and none of them can have blocks
  return {"", with_blocks(random, outer), random_dims(random, rank)};
}

Expression rank_free(Random& random) {
  constexpr std::string_view kTags[] = {"abx", "axb", "xba", "bax", "aBx16b", "ABx4a8b", "BAx2b4a", "x"};
  const std::string_view tag = random.one_of(kTags);
  return {"", std::string(tag), random_dims(random, tag == "x" ? 1 : static_cast<int>(random.pick(2, 6)))};
}

Expression image(Random& random) {
  const int rank = static_cast<int>(random.pick(1, 4));
  std::string outer = shuffled_letters(random, rank);
  const std::string letters = outer;
  std::string blocks;
  for (const char* size : {"2", "2"}) {
    const char letter = random.one_of(letters);
    blocks += size + std::string(1, letter);
    std::replace(outer.begin(), outer.end(), letter, upper(letter));
  }
  if (random.one_in(2)) {
    outer = letters;
    const char letter = random.one_of(letters);
    blocks = "4" + std::string(1, letter);
    std::replace(outer.begin(), outer.end(), letter, upper(letter));
  }
  outer.insert(static_cast<std::size_t>(random.pick(0, rank)), "|");
  Expression out{"", outer + blocks, random_dims(random, rank)};
  const int64_t width = std::max<int64_t>(Format::parse(out.text).image(out.dims).width, 1);
  if (random.one_in(3)) return {"", out.text + ";pitch=" + std::to_string(width + random.pick(0, 9)), out.dims};
  if (random.one_in(3)) out.text += ";align=" + std::to_string(random.pick(1, 16));
  return out;
}

/// Rows have a dim outside them.
Expression aligned(Random& random) {
  Expression out;
  while (out.dims.size() < 2) out = random.one_in(2) ? plain_tag(random) : blocked_tag(random);
  out.text += ";align=" + std::to_string(random.one_in(2) ? 1 << random.pick(0, 5) : random.pick(1, 40));
  return out;
}

/// Strides of a dense order of the dims; gaps, broadcasts, flips and strides of any size where asked for.
Dims random_strides(Random& random, const Dims& dims, bool negative) {
  Dims out(dims.size(), 0);
  int64_t next = 1;
  for (const char letter : shuffled_letters(random, dims.size())) {
    const int d = letter - 'a';
    if (random.one_in(6)) next += random.pick(1, 5);
    out[d] = random.one_in(8) ? 0 : random.one_in(12) ? random.pick(0, 40) : next;
    if (negative && random.one_in(4)) out[d] = -out[d];
    next *= std::max<int64_t>(dims[d], 1);
  }
  return out;
}

/// "@7" for one of three.
std::string random_offset(Random& random) { return random.one_in(3) ? "@" + std::to_string(random.pick(0, 50)) : ""; }

Expression strides(Random& random) {
  const Dims dims = random_dims(random, static_cast<int>(random.pick(0, random.one_in(10) ? kMaxDims : 5)));
  const bool negative = random.one_in(2);
  std::string text = "strides:" + join(random_strides(random, dims, negative));
  if (!negative) text += random_offset(random);
  return {"", text, dims};
}

Expression memory_format(Random& random) {
  switch (random.pick(0, 2)) {
    case 0: return {"", "contiguous", random_dims(random, static_cast<int>(random.pick(0, kMaxDims)))};
    case 1: return {"", "channels_last", random_dims(random, 4)};
    default: return {"", "channels_last_3d", random_dims(random, 5)};
  }
}

Expression directml(Random& random) {
  Dims dims = random_dims(random, static_cast<int>(random.pick(1, 8)));
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  std::string text = "dml:{" + join(dims) + "}";
  if (!random.one_in(4)) text += ",{" + join(random_strides(random, dims, false)) + "}";
  return {"", text, dims};
}

/// A tuple of CuTe and its strides: modes of modes down to `depth`.
std::pair<std::string, std::string> cute_mode(Random& random, int depth, int64_t& next) {
  if (depth == 0 || random.one_in(2)) {
    const int64_t extent = random.pick(1, 5);
    const int64_t stride = random.one_in(8) ? 0 : random.one_in(8) ? random.pick(0, 60) : next;
    next *= extent;
    return {(random.one_in(6) ? "_" : "") + std::to_string(extent), std::to_string(stride)};
  }
  std::string shape, stride;
  for (int64_t k = random.pick(1, 3); k > 0; --k) {
    const auto [inner_shape, inner_stride] = cute_mode(random, depth - 1, next);
    const std::string comma = shape.empty() ? "" : random.one_in(4) ? ", " : ",";
    shape += comma + inner_shape;
    stride += comma + inner_stride;
  }
  return {"(" + shape + ")", "(" + stride + ")"};
}

/// The format's own dims, or some that end inside its capacities.
Dims default_or_less(Random& random, const std::string& text) {
  Dims dims = *Format::parse(text).default_dims();
  for (int64_t& dim : dims) {
    if (random.one_in(8) && dim > 1) dim -= random.pick(1, dim - 1);
  }
  return dims;
}

Expression cute(Random& random) {
  int64_t next = 1;
  auto [shape, stride] = cute_mode(random, 2, next);
  std::string text = "cute:" + shape + (random.one_in(4) ? "" : ":" + stride);
  if (random.one_in(8)) text = "cute:" + std::to_string(random.pick(1, 9)) + ":" + std::to_string(random.pick(0, 9));
  const Dims dims = default_or_less(random, text);
  return {"", text, dims};
}

Expression xla(Random& random) {
  const int rank = static_cast<int>(random.pick(0, 5));
  const Dims dims = random_dims(random, rank);
  std::vector<int64_t> order(static_cast<std::size_t>(rank)), axes(static_cast<std::size_t>(rank), 0);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  std::string tiles;
  for (int64_t k = rank == 0 ? 0 : random.pick(0, 3); k > 0; --k) {
    const auto cut = static_cast<std::size_t>(random.pick(1, std::min<int64_t>(3, static_cast<int64_t>(axes.size()))));
    std::string tile;
    std::vector<int64_t> inner;
    for (std::size_t at = axes.size() - cut; at < axes.size(); ++at) {
      int64_t extent = random.pick(1, 8);
      while (axes[at] % extent != 0) --extent;  // what an earlier tile cut is cut into whole parts
      axes[at] /= extent;
      inner.push_back(extent);
      tile += (tile.empty() ? "" : ",") + std::to_string(extent);
    }
    axes.insert(axes.end(), inner.begin(), inner.end());
    tiles += "(" + tile + ")";
  }
  std::string text = random.one_in(2) ? "xla:[" + join(dims) + "]{" : "xla:{";
  for (const int64_t dim : order) text += (text.back() == '{' ? "" : ",") + std::to_string(dim);
  const std::string space = random.one_in(6) ? "S(" + std::to_string(random.pick(0, 5)) + ")" : "";
  if (!tiles.empty()) tiles = "T" + tiles;
  if (!tiles.empty() || !space.empty()) text += ":" + tiles + space;
  return {"", text + "}", dims};
}

Expression tvm(Random& random) {
  constexpr std::string_view kDomains[] = {"nc", "ncw", "nchw", "ncdhw", "oi", "oihw", "goihw", "oidhw", "tnc"};
  std::string outer(random.one_of(kDomains));
  const int rank = static_cast<int>(outer.size());
  if (outer[0] != 't' && random.one_in(2)) random.shuffle(outer);
  const std::string text = with_blocks(random, outer);
  // The spatial dims stand together in a tag; TVM does not ask for it, so that no shuffled name is refused.
  std::string out = "tvm:";
  bool blocks = false;
  for (const char ch : text) {
    blocks = blocks || (ch >= '0' && ch <= '9');
    out += !blocks && ch >= 'a' ? upper(ch) : ch;
  }
  if (random.one_in(3)) out = out.substr(0, 4 + static_cast<std::size_t>(rank));
  return {"", out, random_dims(random, rank)};
}

/// The ranks of 1 to 6 for which a name has a layout.
std::vector<int> ranks_of(const Format& format) {
  std::vector<int> out;
  for (int rank = 1; rank <= 6; ++rank) {
    try {
      format.bind(Dims(rank, 1));
      out.push_back(rank);
    } catch (const Error&) {  // the name is of other ranks
    }
  }
  return out;
}

/// The names of all systems that have lists of them.
Expression system_name(Random& random) {
  const std::string name = random.one_of(notation_names());
  Expression out{"", name, random_dims(random, random.one_of(ranks_of(Format::parse(name))))};
  if (name == "tensorrt:DLA_HWC4") out.dims[out.dims.size() - 3] = std::array{1, 3, 4}[random.pick(0, 2)];
  if (name.starts_with("ncnn:") || name.starts_with("tflite:") || name == "mace:dw_conv2d_filter") out.dims[0] = 1;
  if (name.starts_with("yuv:") && out.dims.size() == 3) out.dims[0] = random.pick(1, 2);
  if (name.starts_with("mace:") && random.one_in(3)) {
    const int64_t width = std::max<int64_t>(Format::parse(name).image(out.dims).width, 1);
    out.text += ";pitch=" + std::to_string(width + random.pick(0, 9));
  }
  return out;
}

Expression acl(Random& random) {
  constexpr std::string_view kPlain[] = {"acl:OHWI", "acl:OIHW", "acl:HWIO"};
  std::string text(random.one_of(kPlain));
  if (!random.one_in(4)) {
    text = "acl:OHWIo" + std::to_string(1 << random.pick(1, 5));
    if (random.one_in(2)) text += "i" + std::to_string(1 << random.pick(1, 3));
  }
  return {"", text, random_dims(random, 4)};
}

Expression scales(Random& random) { return {"", "scales:128x4", {random.pick(1, 200), random.pick(1, 9)}}; }

/// mdspan's mappings, chunks, TIFF's tiles, and ExecuTorch's dim_order: texts with numbers that are tags.
Expression with_numbers(Random& random) {
  const Dims dims = random_dims(random, static_cast<int>(random.pick(1, 5)));
  const std::string number = std::to_string(random.pick(1, 17));
  switch (random.pick(0, dims.size() == 3 ? 3 : 2)) {
    case 3: return {"", "tiff:tiles(48,16)" + std::string(random.one_in(2) ? ":planar" : ""), dims};
    case 0: {
      const std::string mapping = random.one_in(2) ? "mdspan:layout_left" : "mdspan:layout_right";
      return {"", random.one_in(2) ? mapping : mapping + "_padded<" + number + ">", dims};
    }
    case 1: {
      Dims chunk;
      for (int d = 0; d < dims.size(); ++d) chunk.push_back(random.pick(1, 9));
      return {"", (random.one_in(2) ? "zarr:chunks(" : "hdf5:chunks(") + join(chunk) + ")", dims};
    }
    default: {
      Dims order;
      for (const char letter : shuffled_letters(random, dims.size())) order.push_back(letter - 'a');
      return {"", "executorch:dim_order(" + join(order) + ")", dims};
    }
  }
}

Expression digits(Random& random) {
  std::string text = "digits:";
  int64_t next = 1;
  bool negative = false;
  for (int64_t d = random.pick(0, 4); d > 0; --d) {
    if (text.back() == ')') text += "|";
    for (int64_t k = random.pick(1, 3); k > 0; --k) {
      const int64_t extent = random.pick(1, 5);
      int64_t stride = random.one_in(8) ? 0 : random.one_in(8) ? random.pick(0, 60) : next;
      if (random.one_in(12)) stride = -stride;
      negative = negative || stride < 0;
      next *= extent;
      text += "(" + std::to_string(extent) + "," + std::to_string(stride) + ")";
    }
  }
  if (!negative) text += random_offset(random);
  const Dims dims = default_or_less(random, text);
  return {"", text, dims};
}

/// The orders of gates that are layouts, those of sources included.
Expression gates(Random& random) {
  constexpr std::string_view kThree[] = {"abc", "cba", "bac", "bca"};
  constexpr std::string_view kFour[] = {"abcd", "acbd", "badc", "bdac", "cadb", "cdab", "dbca", "dcba", "bcda", "cbad"};
  constexpr std::string_view kTags[] = {"ldigo", "ldgoi", "ldgo"};
  const std::string tag(random.one_of(kTags));
  const std::string order(random.one_in(2) ? random.one_of(kThree) : random.one_of(kFour));
  Dims dims = random_dims(random, static_cast<int>(tag.size()));
  dims[tag.size() == 4 ? 2 : 3] = static_cast<int64_t>(order.size());
  return {"", tag + ";gates:" + (order.size() == 3 ? "abc" : "abcd") + "->" + order, dims};
}

/// Tiles whose offsets end in an exclusive or, in CuTe's notation and as an option of the others.
Expression swizzled(Random& random) {
  const int64_t bits = random.pick(1, 3), base = random.pick(0, 4);
  const int64_t shift = (bits + random.pick(0, 2)) * (random.one_in(3) ? -1 : 1);
  const std::string numbers = std::to_string(bits) + "," + std::to_string(base) + "," + std::to_string(shift);
  if (random.one_in(2)) {
    Expression out = random.one_in(2) ? digits(random) : blocked_tag(random);
    out.text += ";swizzle=" + numbers;
    return out;
  }
  const int64_t rows = int64_t{1} << random.pick(0, 5), columns = int64_t{1} << random.pick(0, 5);
  const std::string blank = random.one_in(2) ? " " : "";
  return {"",
          "cute:Sw<" + numbers + ">" + blank + "o" + blank + std::to_string(random.one_in(2) ? 0 : random.pick(0, 99)) +
              blank + "o" + blank + "(" + std::to_string(rows) + "," + std::to_string(columns) + "):(" +
              std::to_string(columns) + ",1)",
          {rows, columns}};
}

struct Kind {
  std::string_view name;
  Expression (*make)(Random& random);
};
constexpr Kind kKinds[] = {{"plain tag", plain_tag},
                           {"blocked tag", blocked_tag},
                           {"rank-free tag", rank_free},
                           {"image", image},
                           {"aligned rows", aligned},
                           {"strides", strides},
                           {"dml", directml},
                           {"memory format", memory_format},
                           {"cute", cute},
                           {"xla", xla},
                           {"tvm", tvm},
                           {"names", system_name},
                           {"acl", acl},
                           {"scales", scales},
                           {"numbers", with_numbers},
                           {"digits", digits},
                           {"gates", gates},
                           {"swizzled", swizzled}};

/// Whether the expression has a layout.
bool binds(const Expression& expression) {
  try {
    Format::parse(expression.text).bind(expression.dims);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string_view> RandomExpressions::kinds() {
  std::vector<std::string_view> out;
  for (const Kind& kind : kKinds) out.push_back(kind.name);
  return out;
}

Expression RandomExpressions::next() {
  const Kind& kind = kKinds[count_ % std::size(kKinds)];
  const bool views = count_++ / std::size(kKinds) % 2 == 1;
  Expression out = kind.make(random_);
  out.kind = kind.name;
  if (!binds(out))
    throw std::logic_error("the generator's own expression has no layout: " + out.text + " of dims " + join(out.dims));
  if (views) add_views(out);
  return out;
}

void RandomExpressions::add_views(Expression& expression) {
  for (int64_t wanted = random_.pick(1, 3), tries = 0; wanted > 0 && tries < 20; ++tries) {
    const Layout layout = Format::parse(expression.text).bind(expression.dims);
    Expression next = expression;
    next.text += random_view(random_, layout);
    if (next.text.size() > 400 || !binds(next)) continue;
    expression = next;
    --wanted;
  }
}

}  // namespace relayout::test
