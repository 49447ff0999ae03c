// Folding: computes the results of operators whose sources are constants, so that no shape arithmetic stays in the
// graph. Data is moved for constants of any size and type; arithmetic is done on few numbers only, as shapes have them.
#include <cmath>
#include <cstring>
#include <utility>

#include "relayout/core/overflow.h"
#include "relayout/core/wide.h"
#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// Arithmetic on more elements than this is left to the graph.
constexpr int64_t kFewElements = int64_t{1} << 16;

std::size_t element_bytes(DType dtype) {
  if (bits(dtype) < 8) throw NotExpressible{"a constant of type " + std::string(name(dtype))};
  return static_cast<std::size_t>(bits(dtype)) / 8;
}

/// Copies rows of the last dim, walking the others like an odometer.
void copy_strided(const std::byte* src, std::byte* dst, const Dims& dims, const Dims& strides, std::size_t size) {
  const int last = dims.size() - 1;
  const int64_t row = last < 0 ? 1 : dims[last];
  const int64_t step = last < 0 ? 0 : strides[last] * static_cast<int64_t>(size);
  Dims index(std::max(last, 0), 0);
  int64_t offset = 0;
  for (;;) {
    const std::byte* from = src + offset * static_cast<int64_t>(size);
    if (step == static_cast<int64_t>(size)) {
      std::memcpy(dst, from, static_cast<std::size_t>(row) * size);
      dst += static_cast<std::size_t>(row) * size;
    } else {
      for (int64_t i = 0; i < row; ++i, from += step, dst += size) std::memcpy(dst, from, size);
    }
    int d = last - 1;
    for (; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

Value with_data(const Value& like, const Dims& dims, std::vector<std::byte> bytes) {
  return {.dims = dims,
          .dtype = like.dtype,
          .data = std::make_shared<const std::vector<std::byte>>(std::move(bytes)),
          .name = like.name};
}

std::vector<std::byte> room_for(Import& model, DType dtype, const Dims& dims) {
  charge(model, dtype, dims);
  return std::vector<std::byte>(static_cast<std::size_t>(elements_of(dims)) * element_bytes(dtype));
}

template <typename T>
struct FoldArithmetic;

template <>
struct FoldArithmetic<int64_t> {
  static int64_t apply(const Op& op, std::string_view operation, int64_t a, int64_t b) {
    const auto checked = [&](const std::optional<int64_t>& value) {
      if (value) return *value;
      throw Error(ErrorCode::overflow,
                  "onnx: node \"" + escaped(op.name) + "\": " + std::string(operation) + " of " + std::to_string(a) +
                      " and " + std::to_string(b) + ", a shape's numbers, overflows 64 bits",
                  "src", std::to_string(abs_wide(Wide{a}) >= abs_wide(Wide{b}) ? a : b),
                  std::to_string(std::numeric_limits<int64_t>::max()));
    };
    if (operation == "Add") return checked(checked_add(a, b));
    if (operation == "Sub") {
      int64_t out = 0;
      return checked(__builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out));
    }
    if (operation == "Mul") return checked(checked_mul(a, b));
    if (b == 0) op.corrupt("a division by zero");
    if (b == -1) return operation == "Div" ? apply(op, "Sub", 0, a) : 0;
    // Div and Mod with fmod truncate toward zero in ONNX, as / and % do in C++.
    if (operation == "Div") return a / b;
    const int64_t rest = a % b;
    if (operation == "Fmod") return rest;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

template <>
struct FoldArithmetic<double> {
  static double apply(const Op&, std::string_view operation, double a, double b) {
    if (operation == "Add") return a + b;
    if (operation == "Sub") return a - b;
    if (operation == "Mul") return a * b;
    if (operation == "Div") return a / b;
    const double rest = std::fmod(a, b);
    return operation != "Fmod" && rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
  }
};

template <typename T>
T folded_value(const Op& op, std::string_view operation, T a, T b) {
  // A NaN stays one.
  if (operation == "Min") return a != a || a < b ? a : b;
  if (operation == "Max") return a != a || a > b ? a : b;
  if (operation == "Equal") return a == b;
  if (operation == "Less") return a < b;
  if (operation == "LessOrEqual") return a <= b;
  if (operation == "Greater") return a > b;
  if (operation == "GreaterOrEqual") return a >= b;
  if (operation == "And") return a != 0 && b != 0;
  if (operation == "Or") return a != 0 || b != 0;
  return FoldArithmetic<T>::apply(op, operation, a, b);
}

bool gives_bool(std::string_view operation) {
  static constexpr std::array<std::string_view, 7> kNames = {"Equal",          "Less", "LessOrEqual", "Greater",
                                                             "GreaterOrEqual", "And",  "Or"};
  return std::find(kNames.begin(), kNames.end(), operation) != kNames.end();
}

}  // namespace

int64_t elements_of(const Dims& dims) {
  const auto count = checked_product(dims);
  if (!count) throw_too_many("onnx: ", dims, dims, "elements overflow 64 bits");
  return *count;
}

Dims joined(const Dims& dims, int axis) {
  Dims out, tail;
  for (int d = 0; d < dims.size(); ++d) (d < axis ? out : tail).push_back(dims[d]);
  out.push_back(elements_of(tail));
  return out;
}

void throw_too_many_bytes(const std::string& what, const Dims& dims, DType dtype) {
  throw_too_many(what + ": ", dims, dims, "elements of " + std::string(name(dtype)) + " overflow 64 bits of bytes");
}

Dims dims_of(std::span<const int64_t> values) { return Dims(values); }

Dims row_major_strides(const Dims& dims) {
  // A tensor without elements needs no strides, and the products of its other dims may overflow 64 bits.
  if (elements_of(dims) == 0) return Dims(dims.size(), 0);
  Dims out(dims.size(), 1);
  for (int d = dims.size() - 2; d >= 0; --d) out[d] = out[d + 1] * dims[d + 1];
  return out;
}

void charge(Import& model, DType dtype, const Dims& dims) {
  const auto need = bytes_for(dtype, elements_of(dims));
  const auto total = need ? checked_add(model.made_bytes, *need) : std::nullopt;
  if (!total || *total > model.options.max_file_bytes) {
    throw Error(
        ErrorCode::limit,
        "onnx: constants that operators make take more than " + std::to_string(model.options.max_file_bytes) + " bytes",
        "constants", join(dims, "x"), std::to_string(model.options.max_file_bytes));
  }
  model.made_bytes = *total;
}

Value strided_copy(Import& model, const Value& constant, const Dims& dims, const Dims& strides, int64_t offset) {
  const std::size_t size = element_bytes(constant.dtype);
  std::vector<std::byte> out = room_for(model, constant.dtype, dims);
  if (!out.empty()) {
    copy_strided(constant.data->data() + offset * static_cast<int64_t>(size), out.data(), dims, strides, size);
  }
  return with_data(constant, dims, std::move(out));
}

Value concat_constants(Import& model, const std::vector<Value>& values, int axis, const Dims& dims) {
  std::vector<std::byte> out = room_for(model, values.front().dtype, dims);
  int64_t outer = 1;
  for (int d = 0; d < axis; ++d) outer *= dims[d];
  if (out.empty()) return with_data(values.front(), dims, std::move(out));
  std::byte* to = out.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const Value& value : values) {
      const std::size_t run = value.data->size() / static_cast<std::size_t>(outer);
      if (run != 0) std::memcpy(to, value.data->data() + static_cast<std::size_t>(o) * run, run);
      to += run;
    }
  }
  return with_data(values.front(), dims, std::move(out));
}

Value gather_constant(Op& op, const Value& data, const Value& indices, int axis, const Dims& dims) {
  std::vector<std::byte> out = room_for(op.model, data.dtype, dims);
  if (out.empty()) return with_data(data, dims, std::move(out));
  std::size_t run = element_bytes(data.dtype);
  for (int d = axis + 1; d < data.rank(); ++d) run *= static_cast<std::size_t>(data.dims[d]);
  int64_t outer = 1;
  for (int d = 0; d < axis; ++d) outer *= data.dims[d];
  const std::vector<int64_t> at = integers_of(indices);
  const int64_t extent = data.dims[axis];
  std::byte* to = out.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : at) {
      if (index < -extent || index >= extent) {
        op.corrupt("index " + std::to_string(index) + " of a dim of " + std::to_string(extent));
      }
      const int64_t row = o * extent + (index < 0 ? index + extent : index);
      std::memcpy(to, data.data->data() + static_cast<std::size_t>(row) * run, run);
      to += run;
    }
  }
  return with_data(data, dims, std::move(out));
}

std::optional<Value> fold_binary(const Op& op, const Value& a, const Value& b, std::string_view operation,
                                 const Dims& dims) {
  if (!a.constant() || !b.constant() || elements_of(dims) > kFewElements) return std::nullopt;
  // Strides of each source over the dims of the result; 0 where the source repeats.
  const auto strides_of = [&](const Value& value) {
    Dims out(dims.size(), 0);
    const Dims own = row_major_strides(value.dims);
    for (int d = 0; d < value.rank(); ++d) {
      if (value.dims[d] != 1) out[dims.size() - value.rank() + d] = own[d];
    }
    return out;
  };
  const std::array<Dims, 2> strides = {strides_of(a), strides_of(b)};
  const auto run = [&]<typename T>(const std::vector<T>& x, const std::vector<T>& y) {
    std::vector<T> out;
    const int64_t count = elements_of(dims);
    out.reserve(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      std::array<int64_t, 2> at{};
      for (int64_t d = dims.size() - 1, rest = i; d >= 0; --d) {
        const int64_t index = rest % dims[static_cast<int>(d)];
        rest /= dims[static_cast<int>(d)];
        for (std::size_t s = 0; s < 2; ++s) at[s] += index * strides[s][static_cast<int>(d)];
      }
      out.push_back(
          folded_value(op, operation, x[static_cast<std::size_t>(at[0])], y[static_cast<std::size_t>(at[1])]));
    }
    return out;
  };
  const DType dtype = gives_bool(operation) ? DType::boolean : a.dtype;
  charge(op.model, dtype, dims);
  if (is_floating(a.dtype) || is_floating(b.dtype)) {
    return number_constant(dims, run(numbers_of(a), numbers_of(b)), dtype);
  }
  return integer_constant(dims, run(integers_of(a), integers_of(b)), dtype);
}

}  // namespace relayout::graph::importing
