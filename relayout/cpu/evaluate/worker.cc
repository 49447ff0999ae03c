// One thread's tiles of an evaluation: codes, coefficients, and the kernel that puts them together: see worker.h.
#include "relayout/cpu/evaluate/worker.h"

#include <algorithm>
#include <cmath>

#include "relayout/cpu/kernels/kernels.h"
#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

using Operation = ValueExpression::Operation;

/// The elements of a leaf that a tile needs: where they begin, and how many there are.
Tile elements_of(const Leaf& leaf, const Tile& tile) {
  Tile out{};
  for (int d = 0; d < 2; ++d) {
    out.begin[d] = leaf.whole(d) ? 0 : tile.begin[d] / leaf.group[d];
    out.size[d] = leaf.whole(d) ? 1 : std::max<int64_t>(1, tile.size[d] / leaf.group[d]);
  }
  return out;
}

/// A part of a layout that begins where blocks do, as if its first element were `offset0`.
Layout part(const Layout& layout, const std::array<int64_t, 2>& size, int64_t offset0) {
  std::vector<Digits> digits;
  for (int d = 0; d < 2; ++d) {
    Digits own = layout.digits_of(d);
    own.back().extent = ceil_div(size[static_cast<std::size_t>(d)], layout.block(d));
    digits.push_back(own);
  }
  return Layout::from_digits({size[0], size[1]}, digits, offset0);
}

/// A side of a tile's plan: the layout of the part, and the byte of the buffer at which the plan starts.
struct Side {
  TensorDesc desc;
  int64_t byte;
};
Side side_of(const TensorDesc& desc, const Tile& tile) {
  const int64_t first = desc.layout.offset({tile.begin[0], tile.begin[1]}), width = bits(desc.dtype);
  // What lies before the first element of negative strides stays in front of it.
  const int64_t base = desc.layout.offset0();
  const int64_t byte = (first - base) * width / 8;
  return {{part(desc.layout, tile.size, first - byte * 8 / width), desc.dtype}, byte};
}

constexpr std::size_t kMostPlans = 16;

/// A tile in row-major order.
Layout dense_tile(const Tile& tile) { return Layout::contiguous({tile.size[0], tile.size[1]}); }

}  // namespace

Worker::Worker(const Job& job) : job_(job), plans_(job.leaves.size()) {
  const auto values = static_cast<std::size_t>(job.tile[0] * job.tile[1]);
  codes_.resize(values * static_cast<std::size_t>(bits(job.code_type) / 8));
  if (job.planes.size() > 1) plane_.resize(values);
  if (!job.dense_rows) converted_.resize(values * static_cast<std::size_t>(bits(job.dst.dtype) / 8));
}

void Worker::run(int64_t tile) {
  const Tile at = job_.at(tile);
  fetch_codes(at);
  find_coefficients(at);
  convert(at);
}

Plan Worker::fetch_plan(const Leaf& leaf, const Tile& tile) const {
  const Tile elements = elements_of(leaf, tile);
  return make_plan(side_of(leaf.field->desc, elements).desc, {dense_tile(elements), leaf.tile_type});
}

/// Brings the elements of a leaf that a tile needs into row-major order.
void Worker::fetch(std::size_t leaf, const Tile& tile, void* to) {
  const Leaf& from = job_.leaves[leaf];
  const Side side = side_of(from.field->desc, elements_of(from, tile));
  // Tiles have up to two extents in each dim, and elements of less than a byte may begin anywhere in one.
  std::vector<Plan>& plans = plans_[leaf];
  auto plan = std::ranges::find_if(plans, [&](const Plan& each) { return each.src() == side.desc; });
  if (plan == plans.end()) {
    if (plans.size() == kMostPlans) plans.clear();
    plan = plans.insert(plans.end(), fetch_plan(from, tile));
  }
  cpu::run(*plan, from.bytes + side.byte, to, {.threads = 1});
}

void Worker::fetch_codes(const Tile& tile) {
  for (std::size_t p = 0; p < job_.planes.size(); ++p) {
    const int shift = job_.affine.code[p].shift;
    if (p == 0) {
      fetch(job_.planes[p], tile, codes_.data());
      if (shift != 0) {
        for (std::byte& code : codes_) code <<= shift;
      }
      continue;
    }
    fetch(job_.planes[p], tile, plane_.data());
    auto* code = reinterpret_cast<uint8_t*>(codes_.data());
    for (std::size_t i = 0; i < plane_.size(); ++i) code[i] = static_cast<uint8_t>(code[i] + (plane_[i] << shift));
  }
}
void Worker::find_coefficients(const Tile& tile) {
  for (int d = 0; d < 2; ++d) groups_[d] = std::max<int64_t>(1, tile.size[d] / job_.group[d]);
  set(scale_, job_.affine.scale, 1, false, tile);
  set(subtracted_, job_.affine.subtracted, 0, false, tile);
  // -0 is what changes no value, not even -0.
  set(added_, job_.affine.added, -0.0F, job_.affine.added_is_negative, tile);
  if (ones_.size() < scale_.size()) ones_.assign(scale_.size(), 1);
}

void Worker::set(std::vector<float>& list, std::optional<std::size_t> node, float otherwise, bool negative,
                 const Tile& tile) {
  const auto count = static_cast<std::size_t>(groups_[0] * groups_[1]);
  if (!node) {
    if (list.size() != count) list.assign(count, otherwise);
    return;
  }
  Coefficient value = coefficient(*node, tile);
  if (value.is_number) value.values.assign(count, value.number);
  list = std::move(value.values);
  if (negative) {
    for (float& each : list) each = -each;
  }
}

Worker::Coefficient Worker::coefficient(std::size_t k, const Tile& tile) {
  const ValueExpression::Node& node = job_.nodes[k];
  if (node.operation == Operation::number) return {{}, static_cast<float>(node.number), true};
  if (node.operation == Operation::name) return leaf_coefficient(*job_.of[k], tile);
  Coefficient a = coefficient(node.a, tile);
  const auto each = [&](const Coefficient& b, auto operation) {
    Coefficient out{{}, operation(a.number, b.number), a.is_number && b.is_number};
    const auto count = static_cast<std::size_t>(groups_[0] * groups_[1]);
    if (!out.is_number) out.values.resize(count);
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = operation(a.at(i), b.at(i));
    return out;
  };
  switch (node.operation) {
    case Operation::add: return each(coefficient(node.b, tile), [](float x, float y) { return x + y; });
    case Operation::subtract: return each(coefficient(node.b, tile), [](float x, float y) { return x - y; });
    case Operation::multiply: return each(coefficient(node.b, tile), [](float x, float y) { return x * y; });
    default: {
      const auto factor = static_cast<float>(std::ldexp(1.0, static_cast<int>(node.number)));
      return each({{}, factor, true}, [](float x, float y) { return x * y; });
    }
  }
}

/// The elements of a field, each as often as the groups of all coefficients ask for.
Worker::Coefficient Worker::leaf_coefficient(std::size_t k, const Tile& tile) {
  const Leaf& leaf = job_.leaves[k];
  const Tile elements = elements_of(leaf, tile);
  Coefficient out;
  std::vector<float> fetched(static_cast<std::size_t>(elements.size[0] * elements.size[1]));
  fetch(k, tile, fetched.data());
  if (elements.size[0] == groups_[0] && elements.size[1] == groups_[1]) return {std::move(fetched)};
  out.values.resize(static_cast<std::size_t>(groups_[0] * groups_[1]));
  const int64_t rows = groups_[0] / elements.size[0], columns = groups_[1] / elements.size[1];
  auto to = out.values.begin();
  for (int64_t r = 0; r < groups_[0]; ++r) {
    const float* row = fetched.data() + r / rows * elements.size[1];
    for (int64_t c = 0; c < elements.size[1]; ++c) to = std::fill_n(to, columns, row[c]);
  }
  return out;
}

/// Codes to values, by the runs that share a coefficient, or whole rows with a coefficient for each value.
void Worker::convert(const Tile& tile) {
  using Step = RunAttributes::Step;
  const int64_t columns = tile.size[1], length = columns / groups_[1], runs = length == 1 ? 1 : groups_[1];
  const int64_t n = length == 1 ? columns : length, rows_of_group = tile.size[0] / groups_[0];
  const StreamedPair pair = streamed_pair(kernels(), job_.code_type, job_.dst.dtype);
  starts_.resize(static_cast<std::size_t>(2 * runs));
  for (int64_t i = 0; i < runs; ++i) {
    starts_[static_cast<std::size_t>(i)] = i * length * pair.src_bytes;
    starts_[static_cast<std::size_t>(runs + i)] = i * length * pair.dst_bytes;
  }
  const int64_t row_bytes = columns * pair.dst_bytes;
  const bool streams = job_.streams && job_.dense_rows && kernels().copy_stream != nullptr;
  if (streams) row_.resize(static_cast<std::size_t>(row_bytes));
  for (int64_t r = 0; r < tile.size[0]; ++r) {
    std::byte* dst = converted_.data() + r * row_bytes;
    if (job_.dense_rows) dst = job_.out + job_.dst.layout.offset({tile.begin[0] + r, tile.begin[1]}) * pair.dst_bytes;
    const int64_t first = r / rows_of_group * groups_[1];
    const RunAttributes lists{scale_.data() + first,
                              ones_.data(),
                              subtracted_.data() + first,
                              added_.data() + first,
                              length == 1 ? Step::element : Step::run,
                              false};
    const std::byte* src = codes_.data() + r * columns * pair.src_bytes;
    pair.convert(src, starts_.data(), streams ? row_.data() : dst, starts_.data() + runs, runs, n, &lists, 0);
    if (streams) kernels().copy_stream(row_.data(), kFirst, kFirst, dst, kFirst, kFirst, 1, 1, row_bytes, 0);
  }
  if (!job_.dense_rows) put(tile);
}

/// The converted tile to its place in a destination of any layout.
void Worker::put(const Tile& tile) {
  const Side side = side_of(job_.dst, tile);
  if (!put_ || !(put_->dst() == side.desc)) {
    const Tuning::Stream stream = job_.streams ? Tuning::Stream::always : Tuning::Stream::by_size;
    put_ = make_plan({dense_tile(tile), job_.dst.dtype}, side.desc, {}, {.stream = stream});
  }
  cpu::run(*put_, converted_.data(), job_.out + side.byte, {.threads = 1});
}

}  // namespace relayout::cpu
