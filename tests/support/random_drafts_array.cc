// Random nodes of operations on row-major arrays: see random_drafts.h.
#include "tests/support/random_drafts.h"

namespace relayout::execute {

using namespace graph;

namespace {

/// Indices of an extent, some counted from the end, as the values of operand 1.
TensorId indices(RandomNode& out, Random& random, const Dims& dims, int64_t extent) {
  Values values;
  for (int64_t i = 0; i < *checked_product(dims); ++i) {
    values.push_back(static_cast<double>(random.between(-extent, extent - 1)));
  }
  out.options.given[1] = values;
  return random_source(out, dims, random.of({DType::s32, DType::s64}));
}

Draft select(RandomNode& out, Random& random, DType dtype) {
  const Dims dst = random_data_dims(random);
  const auto some = [&] {
    Dims dims = dst;
    for (int64_t& extent : dims) extent = random.one_in(3) ? 1 : extent;
    return dims;
  };
  const TensorId condition = random_source(out, some(), random.of({DType::boolean, DType::s32}));
  return {ArrayAttributes{.operation = ArrayOperation::select},
          {condition, random_source(out, some(), dtype), random_source(out, some(), dtype)}};
}

/// Gathers and scatters by an index for each element of a part of the data.
Draft along_axis(RandomNode& out, Random& random, ArrayOperation operation, DType dtype) {
  const Dims data = random_data_dims(random);
  ArrayAttributes a{.operation = operation, .axis = static_cast<int>(random.between(0, data.size() - 1))};
  Dims part = data;
  for (int64_t& extent : part) extent = random.between(1, extent);
  Draft draft{a, {random_source(out, data, dtype), indices(out, random, part, data[a.axis])}};
  if (operation == ArrayOperation::scatter_elements) {
    a.scatter = static_cast<ScatterAlgorithm>(random.between(0, 4));
    draft.attributes = a;
    draft.src.push_back(random_source(out, part, dtype));
  }
  return draft;
}

Draft by_slices(RandomNode& out, Random& random, ArrayOperation operation, DType dtype) {
  // All dims that are picked have one extent, so that an index fits each.
  const int64_t extent = random.between(1, 4), depth = random.between(1, 3), picks = random.between(1, 5);
  Dims data(static_cast<int>(depth), extent), slices{picks};
  if (random.one_in(2)) data.push_back(random.between(1, 5));
  for (auto d = static_cast<int>(depth); d < data.size(); ++d) slices.push_back(data[d]);
  ArrayAttributes a{.operation = operation};
  Draft draft{a, {random_source(out, data, dtype), indices(out, random, {picks, depth}, extent)}};
  if (operation == ArrayOperation::scatter_nd) {
    a.scatter = static_cast<ScatterAlgorithm>(random.between(0, 4));
    draft.attributes = a;
    draft.src.push_back(random_source(out, slices, dtype));
  }
  return draft;
}

Draft along_lines(RandomNode& out, Random& random, ArrayOperation operation, DType dtype) {
  const Dims src = random_data_dims(random);
  ArrayAttributes a{.operation = operation,
                    .axis = static_cast<int>(random.between(0, src.size() - 1)),
                    .reverse = random.one_in(2),
                    .exclusive = random.one_in(2),
                    .scatter = random.one_in(2) ? ScatterAlgorithm::add : ScatterAlgorithm::mul};
  a.count = random.between(1, src[a.axis]);
  return {a, {random_source(out, src, dtype)}, operation == ArrayOperation::top_k ? 2 : 1};
}

Draft grid_sample(RandomNode& out, Random& random) {
  const Dims src = random_data_dims(random);
  Dims grid{src[0]};
  for (int d = 2; d < src.size(); ++d) grid.push_back(random.between(1, 4));
  grid.push_back(src.size() - 2);
  Values positions;
  for (int64_t i = 0; i < *checked_product(grid); ++i) {
    positions.push_back(static_cast<double>(random.between(-140, 140)) / 100 + 0.003);
  }
  out.options.given[1] = positions;
  out.options.relative = 1e-4;
  return {ArrayAttributes{.operation = ArrayOperation::grid_sample,
                          .interpolation = static_cast<GridInterpolation>(random.between(0, 2)),
                          .padding = static_cast<GridPadding>(random.between(0, 2)),
                          .align_corners = random.one_in(2)},
          {random_source(out, src), random_source(out, grid)}};
}

}  // namespace

Draft array_draft(RandomNode& out, Random& random, Kind kind, DType dtype) {
  if (kind != Kind::array) return {};
  const auto operation = static_cast<ArrayOperation>(random.between(0, kArrayCount - 1));
  switch (operation) {
    case ArrayOperation::select: return select(out, random, dtype);
    case ArrayOperation::gather_elements:
    case ArrayOperation::scatter_elements: return along_axis(out, random, operation, dtype);
    case ArrayOperation::gather_nd:
    case ArrayOperation::scatter_nd: return by_slices(out, random, operation, dtype);
    case ArrayOperation::grid_sample: return grid_sample(out, random);
    case ArrayOperation::bit_cast:
      return {ArrayAttributes{.operation = operation, .dtype = DType::s32},
              {random_source(out, random_data_dims(random), random.of({DType::f32, DType::u32}))}};
    case ArrayOperation::wrap:
      out.options.low = -1000;
      out.options.high = 1000;
      return {ArrayAttributes{.operation = operation, .dtype = random.of({DType::u8, DType::s8, DType::u32})},
              {random_source(out, random_data_dims(random), random.of({DType::s32, DType::s64, DType::s16}))}};
    default: return along_lines(out, random, operation, dtype);
  }
}

}  // namespace relayout::execute
