// Dims of destinations: oneDNN accepts those that ops.h infers and no others, and refuses what ops.h refuses.
#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>

#include <functional>
#include <iostream>
#include <random>

#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine);
  }
  Dims list(int count, int64_t least, int64_t most) {
    Dims out;
    while (out.size() < count) out.push_back((*this)(least, most));
    return out;
  }
};

/// A row-major descriptor; a null pointer if there are no dims.
class Desc {
 public:
  Desc(const std::optional<Dims>& dims) {
    if (!dims) return;
    const Dims strides = Layout::contiguous(*dims).outer_strides();
    EXPECT_EQ(dnnl_memory_desc_init_by_strides(&md_, dims->size(), dims->data(), dnnl_f32, strides.data()),
              dnnl_success);
  }
  operator const dnnl_memory_desc_t*() const { return md_.ndims == 0 ? nullptr : &md_; }

 private:
  dnnl_memory_desc_t md_{};
};

using OptionalDims = std::optional<Dims>;

/// A node's operands as random dims, and a function that asks oneDNN whether it accepts destinations of given dims.
struct Case {
  Kind kind;
  NodeAttributes attributes;
  std::vector<OptionalDims> src;
  int dsts = 1;
  std::function<dnnl_status_t(const std::vector<OptionalDims>& src, const std::vector<Dims>& dst)> ask;
  /// By how much the first destination's spatial dims must differ to be wrong.
  Dims step{};
};

/// The inferred dims. If ops.h refuses the node, nothing, and the operand for which it does.
std::optional<std::vector<Dims>> inferred(const Case& c, std::string* refused) {
  Graph g;
  std::vector<TensorId> src;
  for (const OptionalDims& dims : c.src) src.push_back(dims ? g.input("x", *dims) : kNone);
  try {
    std::vector<Dims> out;
    const Node node{.name = "n", .kind = c.kind, .attributes = c.attributes, .src = src};
    for (const auto& spec : infer(g, node, c.dsts)) out.push_back(spec->dims);
    return out;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.message();
    *refused = error.field();
    return std::nullopt;
  }
}

std::string text(const Case& c) {
  std::string out(name(c.kind));
  for (const OptionalDims& dims : c.src) out += "  " + (dims ? join(*dims) : "none");
  const auto add = [&](std::string_view what, const Dims& list) { out += "  " + std::string(what) + " " + join(list); };
  if (const auto* a = std::get_if<ConvolutionAttributes>(&c.attributes)) {
    add("groups", {a->groups}), add("strides", a->strides), add("dilations", a->dilations);
    add("pads", a->pads_begin), add("and", a->pads_end), add("output padding", a->output_padding);
  }
  if (const auto* a = std::get_if<PoolingAttributes>(&c.attributes)) {
    add("kernel", a->kernel), add("strides", a->strides), add("dilations", a->dilations);
    add("pads", a->pads_begin), add("and", a->pads_end), add("algorithm", {static_cast<int64_t>(a->algorithm)});
  }
  return out;
}

struct Counts {
  int accepted = 0, beside = 0, refused = 0;
};

/// Whether ops.h refuses something that oneDNN's descriptors accept. There are three cases: a kernel that does not fit
/// once, if the remainder is above -stride, which oneDNN's division rounds to 0; windows wholly in the padding, which
/// have no maximum; and an RNN's projection, for which there is no kind.
bool stricter(const std::string& refused) {
  return refused.starts_with("dilated kernel") || refused.starts_with("pads of") || refused == "weights_iter";
}

/// Dims that differ from these at one place, by one or by `step`.
std::vector<std::vector<Dims>> neighbours(const std::vector<Dims>& dims, const Dims& step) {
  std::vector<std::vector<Dims>> out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (int d = 0; d < dims[i].size(); ++d) {
      const int64_t by_one = i > 0 || d < 2 || step.empty() ? 1 : step[d - 2];
      for (const int64_t by : {-by_one, by_one}) {
        out.push_back(dims);
        out.back()[i][d] += by;
        if (out.back()[i][d] < 1) out.pop_back();
      }
    }
  }
  return out;
}

/// Expects that oneDNN refuses `dst`, which nearly fit, and all dims next to them.
void expect_refused(const Case& c, const std::vector<Dims>& dst, int* count) {
  auto around = neighbours(dst, c.step);
  around.push_back(dst);
  for (const std::vector<Dims>& wrong : around) {
    EXPECT_NE(c.ask(c.src, wrong), dnnl_success) << text(c) << "  to " << join(wrong[0]);
    ++*count;
  }
}

void check(Random& random, Case c, Counts* counts) {
  std::string refused;
  const auto dst = inferred(c, &refused);
  if (!dst) return;
  EXPECT_EQ(c.ask(c.src, *dst), dnnl_success) << text(c) << "  to " << join((*dst)[0]);
  ++counts->accepted;
  for (const std::vector<Dims>& wrong : neighbours(*dst, c.step)) {
    EXPECT_NE(c.ask(c.src, wrong), dnnl_success) << text(c) << "  not to " << join(wrong[0]);
    ++counts->beside;
  }
  // One extent of a source is wrong by one.
  OptionalDims& src = c.src[static_cast<std::size_t>(random(0, std::ssize(c.src) - 1))];
  if (!src) return;
  (*src)[static_cast<int>(random(0, src->size() - 1))] += 1;
  if (!inferred(c, &refused) && !stricter(refused)) expect_refused(c, *dst, &counts->refused);
}

Dims with(std::initializer_list<int64_t> head, const Dims& tail) {
  Dims out(head);
  for (int64_t extent : tail) out.push_back(extent);
  return out;
}

Dims minus(Dims a, const Dims& b) {
  for (int d = 0; d < a.size(); ++d) a[d] -= b[d];
  return a;
}

Case convolution(Random& random, Kind kind) {
  const int spatial = static_cast<int>(random(1, 3));
  ConvolutionAttributes a{.strides = random.list(spatial, 1, 3),
                          .dilations = random.list(spatial, 1, 2),
                          .pads_begin = random.list(spatial, 0, 2),
                          .pads_end = random.list(spatial, 0, 2),
                          .groups = random(1, 3)};
  if (kind == Kind::deconvolution) {
    for (const int64_t stride : a.strides) a.output_padding.push_back(random(0, stride - 1));
  }
  const int64_t src = random(1, 3), dst = random(1, 3);
  Dims weights = with({dst, src}, random.list(spatial, 1, 3));
  if (a.groups > 1) weights.insert(0, a.groups);
  const OptionalDims bias = random(0, 1) == 0 ? OptionalDims({dst * a.groups}) : std::nullopt;
  const Dims dilates = minus(a.dilations, Dims(spatial, 1));
  return {kind,
          a,
          {with({random(1, 3), src * a.groups}, random.list(spatial, 1, 9)), weights, bias},
          1,
          [=](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            if (kind == Kind::convolution) {
              dnnl_convolution_desc_t desc;
              return dnnl_dilated_convolution_forward_desc_init(
                  &desc, dnnl_forward_inference, dnnl_convolution_direct, Desc(in[0]), Desc(in[1]), Desc(in[2]),
                  Desc(out[0]), a.strides.data(), dilates.data(), a.pads_begin.data(), a.pads_end.data());
            }
            const Dims pads_end = minus(a.pads_end, a.output_padding);
            dnnl_deconvolution_desc_t desc;
            return dnnl_dilated_deconvolution_forward_desc_init(
                &desc, dnnl_forward_inference, dnnl_deconvolution_direct, Desc(in[0]), Desc(in[1]), Desc(in[2]),
                Desc(out[0]), a.strides.data(), dilates.data(), a.pads_begin.data(), pads_end.data());
          },
          kind == Kind::deconvolution ? a.strides : Dims()};
}

Case pooling(Random& random) {
  const int spatial = static_cast<int>(random(1, 3));
  PoolingAttributes a{.algorithm = static_cast<PoolingAlgorithm>(random(0, 2)),
                      .kernel = random.list(spatial, 1, 4),
                      .strides = random.list(spatial, 1, 3),
                      .dilations = random.list(spatial, 1, 2),
                      .pads_begin = random.list(spatial, 0, 2),
                      .pads_end = random.list(spatial, 0, 2)};
  const Dims src = random.list(spatial, 2, 9);
  for (int d = 0; d < spatial; ++d) {
    // oneDNN averages without padding only if every padding is smaller than the kernel.
    const int64_t reach = (a.kernel[d] - 1) * a.dilations[d];
    const bool small = a.pads_begin[d] <= reach && a.pads_end[d] <= reach && a.dilations[d] <= src[d];
    if (!small && a.algorithm == PoolingAlgorithm::average_exclude_padding) a.algorithm = PoolingAlgorithm::max;
  }
  const dnnl_alg_kind_t algorithms[] = {dnnl_pooling_max, dnnl_pooling_avg_include_padding,
                                        dnnl_pooling_avg_exclude_padding};
  const dnnl_alg_kind_t algorithm = algorithms[static_cast<int>(a.algorithm)];
  const Dims dilation = minus(a.dilations, Dims(spatial, 1));
  return {Kind::pooling,
          a,
          {with({random(1, 3), random(1, 3)}, src)},
          1,
          [=](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            dnnl_pooling_v2_desc_t desc;
            return dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, algorithm, Desc(in[0]),
                                                     Desc(out[0]), a.strides.data(), a.kernel.data(), dilation.data(),
                                                     a.pads_begin.data(), a.pads_end.data());
          }};
}

Case matmul(Random& random) {
  const int batch = static_cast<int>(random(0, 3));
  Dims a = random.list(batch, 1, 3), b = a;
  for (int d = 0; d < batch; ++d) {
    if (random(0, 2) == 0) (random(0, 1) == 0 ? a : b)[d] = 1;
  }
  const int64_t m = random(1, 5), k = random(2, 5), n = random(2, 5);
  a.push_back(m), a.push_back(k), b.push_back(k), b.push_back(n);
  const OptionalDims bias = random(0, 1) == 0 ? OptionalDims({n}) : std::nullopt;
  return {Kind::matmul,
          MatmulAttributes{},
          {a, b, bias},
          1,
          [](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            OptionalDims whole = in[2];
            while (whole && whole->size() < in[0]->size()) whole->insert(0, 1);
            dnnl_matmul_desc_t desc;
            return dnnl_matmul_desc_init(&desc, Desc(in[0]), Desc(in[1]), Desc(whole), Desc(out[0]));
          }};
}

Case inner_product(Random& random) {
  const Dims inner = random.list(static_cast<int>(random(1, 4)), 1, 5);
  const int64_t channels = random(2, 6);
  const OptionalDims bias = random(0, 1) == 0 ? OptionalDims({channels}) : std::nullopt;
  return {Kind::inner_product,
          InnerProductAttributes{},
          {with({random(1, 4)}, inner), with({channels}, inner), bias},
          1,
          [](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            dnnl_inner_product_desc_t desc;
            return dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, Desc(in[0]), Desc(in[1]),
                                                        Desc(in[2]), Desc(out[0]));
          }};
}

Case binary(Random& random) {
  Dims a = random.list(static_cast<int>(random(1, 5)), 2, 5), b = a;
  for (int d = 0; d < a.size(); ++d) {
    if (random(0, 2) == 0) b[d] = 1;
  }
  return {Kind::binary,
          BinaryAttributes{},
          {a, b},
          1,
          [](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            dnnl_binary_desc_t desc;
            return dnnl_binary_desc_init(&desc, dnnl_binary_add, Desc(in[0]), Desc(in[1]), Desc(out[0]));
          }};
}

Case reduction(Random& random) {
  const Dims src = random.list(static_cast<int>(random(1, 5)), 3, 5);  // 3, as one less must not be 1
  ReductionAttributes a;
  for (int d = 0; d < src.size(); ++d) {
    if (random(0, 1) == 0) a.axes.push_back(d);
  }
  if (a.axes.empty()) a.axes.push_back(0);
  return {Kind::reduction, a, {src}, 1, [](const std::vector<OptionalDims>& in, const std::vector<Dims>& out) {
            dnnl_reduction_desc_t desc;
            return dnnl_reduction_desc_init(&desc, dnnl_reduction_sum, Desc(in[0]), Desc(out[0]), 0, 0);
          }};
}

Case rnn(Random& random) {
  RnnAttributes a{.cell = static_cast<RnnCell>(random(0, 5)), .direction = static_cast<RnnDirection>(random(0, 3))};
  const int64_t directions = a.direction >= RnnDirection::bidirectional_concat ? 2 : 1, layers = random(1, 2);
  const int64_t gates = a.cell == RnnCell::lstm ? 4 : a.cell >= RnnCell::gru ? 3 : 1;
  const bool lstm = a.cell == RnnCell::lstm, states = random(0, 1) == 0, projected = lstm && random(0, 1) == 0;
  const int64_t n = random(1, 3), channels = random(2, 5), given = projected ? random(2, 5) : channels;
  const int64_t in = layers > 1 ? given : random(2, 5);
  const Dims state{layers, directions, n, given}, cell_state{layers, directions, n, channels};
  const auto maybe = [](bool is, const Dims& dims) { return is ? OptionalDims(dims) : std::nullopt; };
  const Dims bias{layers, directions, gates + (a.cell == RnnCell::lbr_gru ? 1 : 0), channels};
  const dnnl_rnn_direction_t direction[] = {dnnl_unidirectional_left2right, dnnl_unidirectional_right2left,
                                            dnnl_bidirectional_concat, dnnl_bidirectional_sum};
  const dnnl_rnn_direction_t way = direction[static_cast<int>(a.direction)];
  return {Kind::rnn,
          a,
          {Dims{random(1, 4), n, in}, maybe(states, state), maybe(states && lstm, cell_state),
           Dims{layers, directions, in, gates, channels}, Dims{layers, directions, given, gates, channels},
           maybe(random(0, 1) == 0, bias), maybe(projected, {layers, directions, channels, given})},
          states ? (lstm ? 3 : 2) : 1,
          [=](const std::vector<OptionalDims>& s, const std::vector<Dims>& out) {
            const Desc x(s[0]), h(s[1]), c(s[2]), w(s[3]), u(s[4]), b(s[5]), y(out[0]);
            const Desc y_h(out.size() > 1 ? OptionalDims(out[1]) : std::nullopt);
            const Desc y_c(out.size() > 2 ? OptionalDims(out[2]) : std::nullopt);
            dnnl_rnn_desc_t desc;
            const dnnl_prop_kind_t pass = dnnl_forward_inference;
            switch (a.cell) {
              case RnnCell::lstm:
                if (projected) {
                  return dnnl_lstm_forward_desc_init_v3(&desc, pass, way, x, h, c, w, u, nullptr, Desc(s[6]), b, y, y_h,
                                                        y_c, 0);
                }
                return dnnl_lstm_forward_desc_init(&desc, pass, way, x, h, c, w, u, b, y, y_h, y_c, 0);
              case RnnCell::gru: return dnnl_gru_forward_desc_init(&desc, pass, way, x, h, w, u, b, y, y_h, 0);
              case RnnCell::lbr_gru: return dnnl_lbr_gru_forward_desc_init(&desc, pass, way, x, h, w, u, b, y, y_h, 0);
              default:
                return dnnl_vanilla_rnn_forward_desc_init(&desc, pass, dnnl_eltwise_tanh, way, x, h, w, u, b, y, y_h, 0,
                                                          0, 0);
            }
          }};
}

void compare(std::string_view what, int rounds, const std::function<Case(Random&)>& make) {
  Random random{std::mt19937(11)};
  Counts counts;
  for (int i = 0; i < rounds; ++i) check(random, make(random), &counts);
  std::cout << what << ": oneDNN accepts " << counts.accepted << " inferred dims, refuses " << counts.beside
            << " beside them and " << counts.refused << " of operands that do not fit\n";
  EXPECT_GT(counts.accepted, rounds / 3);
  EXPECT_GT(counts.beside, rounds);
}

TEST(OneDnnShapes, Convolution) {
  compare("convolution", 3000, [](Random& r) { return convolution(r, Kind::convolution); });
}
TEST(OneDnnShapes, Deconvolution) {
  compare("deconvolution", 3000, [](Random& r) { return convolution(r, Kind::deconvolution); });
}
TEST(OneDnnShapes, Pooling) { compare("pooling", 3000, pooling); }
TEST(OneDnnShapes, Matmul) { compare("matmul", 2000, matmul); }
TEST(OneDnnShapes, InnerProduct) { compare("inner_product", 2000, inner_product); }
TEST(OneDnnShapes, Binary) { compare("binary", 2000, binary); }
TEST(OneDnnShapes, Reduction) { compare("reduction", 2000, reduction); }
TEST(OneDnnShapes, Rnn) { compare("rnn", 3000, rnn); }

}  // namespace
}  // namespace relayout::graph
