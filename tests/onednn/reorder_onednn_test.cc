// Compares reorders with oneDNN's: random pairs of tags and types with odd extents, scales and sum. Values and padding
// must be equal byte for byte.
//
// RELAYOUT_SEED repeats a run, RELAYOUT_ONEDNN_CASES sets the number of cases; the slow tests have twice as many
// as the others. Where the libraries differ by design, inputs are chosen so that it does not show (all seen in
// oneDNN 2.6.3):
// - NaN to an integer: 0 here, whatever the instruction gives there. No NaN is used.
// - -0 and denormals: kept here; some of its paths turn -0 into 0 and flush denormals. Neither is used.
// - bf16 to s8 and u8: saturated here; beyond the range of s32 it wraps (+inf gives 0 or -128). Numbers
//   from bf16 to integers stay below 2^31.
// - s32 to s32: exact here; its general path goes through f32. Numbers there stay within 2^24.
// - Arithmetic: it may fuse scale and sum into one rounding, and works in f32 where s32 goes to s32
//   (f64 here). With attributes, values are small multiples of 1/8 and scales powers of two: all exact.
// - A mask whose bits do not stand together is read wrongly there, without an error. None is used.
// - It takes the padding of a source for zeros. Its source has them; ours is filled with other
//   bytes, which must not be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/reference.h"
#include "tag_names.h"
#include "tests/support/slow_tests.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::pair<DType, dnnl_data_type_t> kTypes[] = {{DType::f32, dnnl_f32},   {DType::s32, dnnl_s32},
                                                         {DType::s8, dnnl_s8},     {DType::u8, dnnl_u8},
                                                         {DType::bf16, dnnl_bf16}, {DType::f16, dnnl_f16}};
constexpr int64_t kMaxElements = 20000;

struct Case {
  const TagName* src_tag;
  const TagName* dst_tag;
  std::pair<DType, dnnl_data_type_t> src_type, dst_type;
  Dims dims;
  std::vector<float> scales;  // empty if there are none
  uint32_t mask = 0;
  float beta = 0;

  std::string text() const {
    return src_tag->name + " " + std::string(name(src_type.first)) + " -> " + dst_tag->name + " " +
           std::string(name(dst_type.first)) + " dims " + join(dims) + " mask " + std::to_string(mask) + " scales " +
           std::to_string(scales.size()) + " beta " + std::to_string(beta);
  }
  bool arithmetic() const { return !scales.empty() || beta != 0; }
};

class Random {
 public:
  explicit Random(int64_t seed) : engine_(static_cast<uint64_t>(seed)) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int64_t>(values.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

Dims random_dims(int rank, Random& random) {
  Dims dims;
  for (int d = 0; d < rank; ++d) {
    dims.push_back(random.below(5) == 0 ? 1 + random.below(70) : 1 + random.below(rank > 4 ? 5 : 19));
  }
  return dims;
}

int64_t padded_elements(const TagName& tag, const Dims& dims) {
  return Format::parse(tag.name).bind(dims).padded_elements();
}

Case random_case(const std::map<int, std::vector<TagName>>& tags, Random& random) {
  Case c;
  const int rank = random.below(8) == 0 ? 1 + static_cast<int>(random.below(6)) : 2 + static_cast<int>(random.below(5));
  const auto& of_rank = tags.at(rank);
  c.src_tag = &random.of(of_rank);
  c.dst_tag = &random.of(of_rank);
  c.src_type = kTypes[random.below(6)];
  c.dst_type = kTypes[random.below(6)];
  c.dims = random_dims(rank, random);
  while (std::max(padded_elements(*c.src_tag, c.dims), padded_elements(*c.dst_tag, c.dims)) > kMaxElements) {
    int64_t* largest = std::max_element(c.dims.begin(), c.dims.end());
    if (*largest == 1) break;
    *largest = (*largest + 1) / 2;
  }
  if (random.below(3) == 0) {
    if (random.below(2) == 0) {
      const int64_t first = random.below(rank), count = 1 + random.below(rank - first);
      c.mask = static_cast<uint32_t>(((int64_t{1} << count) - 1) << first);
    }
    int64_t count = 1;
    for (int d = 0; d < rank; ++d) count *= c.mask >> d & 1 ? c.dims[d] : 1;
    for (int64_t i = 0; i < count; ++i) c.scales.push_back(std::ldexp(1.0f, static_cast<int>(random.below(5)) - 2));
  }
  if (random.below(4) == 0) c.beta = std::ldexp(1.0f, static_cast<int>(random.below(3)) - 1);
  return c;
}

/// How large and odd the numbers of a case may be.
enum class Values { small, moderate, any };

Values values_for(const Case& c) {
  if (c.arithmetic()) return Values::small;
  const bool wraps = c.src_type.first == DType::bf16 && is_integer(c.dst_type.first);
  const bool through_f32 = c.src_type.first == DType::s32 && c.dst_type.first == DType::s32;
  return wraps || through_f32 ? Values::moderate : Values::any;
}

/// A random element of the type. Small ones stay exact in all computations of a case.
uint64_t random_element(DType dtype, Values values, Random& random) {
  const int64_t kind = values == Values::small ? 0 : random.below(4);
  double value = static_cast<double>(random.below(2001) - 1000) / (is_floating(dtype) ? 8 : 1);
  if (kind == 1) {
    const int64_t most = values == Values::moderate ? int64_t{1} << 24 : int64_t{1} << 32;
    value = static_cast<double>(random.below(2 * most) - most);
  }
  if (kind == 2 && is_floating(dtype)) {
    static const double kSpecial[] = {0.5, 1.5, 2.5, -0.5, 65519.0, 65520.0, 1e-30, 3e38, -3e38, INFINITY, -INFINITY};
    value = kSpecial[random.below(values == Values::moderate ? 7 : 11)];
  }
  return encode(dtype, value == 0 ? 0 : value);
}

void put(DType dtype, Bytes& buffer, int64_t at, uint64_t element) {
  with_dtype(dtype, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    write_element<kType>(buffer.data(), at, read_element<kType>(&element, 0));
  });
}

/// Two buffers with the same logical elements. In the first all other bytes are zero, in the second they are random.
std::pair<Bytes, Bytes> random_buffers(const TensorDesc& desc, Values values, Random& random) {
  const auto size = static_cast<std::size_t>(desc.size_bytes());
  std::pair<Bytes, Bytes> out{Bytes(size), Bytes(size, std::byte{0x5b})};
  test::each_index(desc.layout.dims(), [&](const Dims& index) {
    const int64_t at = desc.layout.offset(index);
    const uint64_t element = random_element(desc.dtype, values, random);
    put(desc.dtype, out.first, at, element);
    put(desc.dtype, out.second, at, element);
  });
  return out;
}

dnnl::memory::desc memory_desc(const Dims& dims, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  return dnnl::memory::desc(dnnl::memory::dims(dims.begin(), dims.end()), static_cast<dnnl::memory::data_type>(type),
                            static_cast<dnnl::memory::format_tag>(tag));
}

/// Runs the case in oneDNN. False if oneDNN refuses the pair.
bool run_onednn(const dnnl::engine& engine, const Case& c, const Bytes& src, Bytes& dst) {
  dnnl::primitive_attr attr;
  if (!c.scales.empty()) attr.set_output_scales(static_cast<int>(c.mask), c.scales);
  if (c.beta != 0) {
    dnnl::post_ops sum;
    sum.append_sum(c.beta);
    attr.set_post_ops(sum);
  }
  const auto src_md = memory_desc(c.dims, c.src_type.second, c.src_tag->tag);
  const auto dst_md = memory_desc(c.dims, c.dst_type.second, c.dst_tag->tag);
  const dnnl::reorder::primitive_desc primitive(engine, src_md, engine, dst_md, attr, true);
  if (!primitive) return false;
  dnnl::memory from(src_md, engine, const_cast<std::byte*>(src.data())), to(dst_md, engine, dst.data());
  dnnl::stream stream(engine);
  dnnl::reorder(primitive).execute(stream, from, to);
  stream.wait();
  return true;
}

std::string first_difference(const TensorDesc& desc, const Bytes& a, const Bytes& b) {
  const int size = bits(desc.dtype) / 8;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto at = static_cast<int64_t>(i) / size;
    Dims index;
    const Slot slot = desc.layout.inverse(at, &index);
    const auto number = [&](const Bytes& of) {
      uint64_t bits_read = 0;
      __builtin_memcpy(&bits_read, of.data() + at * size, static_cast<std::size_t>(size));
      return bits_read;
    };
    return (slot == Slot::padding ? "padding (" : "element (") + join(index) + "): bits " + std::to_string(number(a)) +
           " here, " + std::to_string(number(b)) + " there";
  }
  return "";
}

std::map<int, std::vector<TagName>> tags_by_rank() {
  std::map<int, std::vector<TagName>> tags;
  for (const TagName& tag : onednn_tag_names()) {
    if (tag.ndims > 0 && tag.name == tag.canonical) tags[tag.ndims].push_back(tag);
  }
  return tags;
}

TEST(OneDnnReorder, RandomPairsGiveTheSameBytes) {
  const int64_t seed = test::number_from("RELAYOUT_SEED", 20240613);
  const int64_t wanted = test::number_from("RELAYOUT_ONEDNN_CASES", test::slow_tests() ? 5000 : 2500);
  const auto tags = tags_by_rank();
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Random random(seed);
  int64_t compared = 0, refused = 0, scaled = 0, summed = 0, failed = 0;
  while (compared + refused < wanted) {
    const Case c = random_case(tags, random);
    const TensorDesc src_desc(Format::parse(c.src_tag->name).bind(c.dims), c.src_type.first);
    const TensorDesc dst_desc(Format::parse(c.dst_tag->name).bind(c.dims), c.dst_type.first);
    const auto src = random_buffers(src_desc, values_for(c), random);
    auto dst = random_buffers(dst_desc, Values::small, random);
    Bytes by_reference = dst.second;
    if (!run_onednn(engine, c, src.first, dst.first)) {
      ++refused;
      continue;
    }
    Attributes attributes;
    attributes.src_scale = {{c.scales.begin(), c.scales.end()}, c.mask};
    attributes.beta = c.beta;
    cpu::reorder(src_desc, src.second, dst_desc, dst.second, attributes, {static_cast<int>(1 + compared % 2)});
    reference_reorder(src_desc, src.second.data(), dst_desc, by_reference.data(), attributes);
    ++compared;
    scaled += !c.scales.empty();
    summed += c.beta != 0;
    const std::string cpu_differs = first_difference(dst_desc, dst.second, dst.first);
    const std::string reference_differs = first_difference(dst_desc, by_reference, dst.first);
    if (!cpu_differs.empty() || !reference_differs.empty()) {
      ADD_FAILURE() << c.text() << "\n  cpu: " << cpu_differs << "\n  reference: " << reference_differs;
      if (++failed == 30) break;
    }
  }
  std::cout << "seed " << seed << ": compared " << compared << " reorders with oneDNN (" << scaled << " with scales, "
            << summed << " with sum); it refused " << refused << " others\n";
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace relayout
