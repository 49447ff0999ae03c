// Which share of the machine's limits each family of implementations reaches: see performance.h. Names that begin with
// "relayout:" are this project's own kernels, which the backend adds to oneDNN's.
//
// The shares are medians over the layers of twelve networks in every layout, measured with oneDNN 2.6 on a
// 4th-generation EPYC with AVX-512. Those of Winograd's algorithm are fitted to 35 times by least squares
// (docs/lab/opaque-formats.md).
#include "relayout/execute/onednn/performance.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "relayout/execute/own/post_ops.h"
#include "relayout/execute/own/widened.h"
#include "relayout/graph/plan/layout_plan.h"

namespace relayout::execute {
namespace {

using graph::Channels;
using graph::Kind;

/// The shares of an implementation whose name contains `word`, if the source's channels are stored as `channels` says.
/// No value stands for any order of the channels.
struct Share {
  std::string_view word;
  double arithmetic, memory;
  std::optional<Channels> channels{};
};
using Shares = std::span<const Share>;

constexpr auto kPlain = Channels::plain, kLast = Channels::last, kBlocked = Channels::blocked;

// The first entry of a list that fits an implementation is used. The last entry of each list fits all.
constexpr Share kConvolution[] = {{"ref", 0.004, 0.03},
                                  {"wino_4x3", 0.8, 0.9},
                                  {"wino", 0.92, 0.9},
                                  {"brdgmm", 0.47, 0.6},
                                  {"jit_dw:sse41", 0.26, 0.3},
                                  {"jit_dw:avx2", 0.48, 0.6},
                                  {"_dw", 0.58, 0.6},
                                  {"brgconv", 0.95, 0.9},
                                  {"gemm", 0.65, 0.9, kLast},
                                  {"gemm", 0.82, 0.9},
                                  {"jit_1x1:sse41", 0.33, 0.9},
                                  {"jit_1x1", 0.955, 0.9},
                                  {"sse41", 0.3, 0.9, kBlocked},
                                  {"sse41", 0.2, 0.9},
                                  {"avx2", 0.71, 0.9},
                                  {"jit", 0.95, 0.9},
                                  {"", 0.5, 0.5}};
constexpr Share kProduct[] = {{"ref", 0.004, 0.03}, {"few_rows", 0.6, 0.9}, {"gemm", 0.8, 0.8}, {"", 0.5, 0.8}};
/// Of kernels that multiply bytes. Their names do not say which are depthwise.
constexpr Share kBytes[] = {{"ref", 0.004, 0.03}, {"gemm", 0.8, 0.8}, {"", 1.15, 0.6}};
constexpr Share kDepthwiseBytes{"", 0.74, 0.6};
constexpr Share kRecurrent[] = {{"ref", 0.1, 0.8}, {"relayout", 0.85, 0.9}, {"", 0.8, 0.6}};
/// The share that Winograd's transforms reach, by the size of tiles: of docs/lab/opaque-formats.md.
constexpr double transforms_of(int tile) { return tile > 2 ? 0.22 : 0.49; }
/// How many times as fast recurrent cells are with packed weights: the median of docs/lab/opaque-formats.md.
constexpr double kPacked = 1.1;
constexpr Share kPooling[] = {{"ref", 0.003, 0.014}, {"simple_nchw", 0.0032, 0.014}, {"simple", 0.035, 0.22},
                              {"sse41", 0.13, 0.4},  {"jit", 0.14, 0.18, kPlain},    {"jit", 0.26, 0.55},
                              {"", 0.05, 0.2}};
constexpr Share kConcat[] = {{"ref", 0.003, 0.02}, {"simple", 1, 0.4, kLast}, {"simple", 1, 0.05}, {"", 1, 0.75}};
constexpr Share kShuffle[] = {{"ref", 0.003, 0.02},
                              {"relayout", 1, 0.8, kPlain},
                              {"relayout", 1, 0.32, kLast},
                              {"relayout", 1, 0.1},
                              {"", 1, 0.22}};
constexpr Share kNormalization[] = {{"relayout", 1, 0.36, kPlain},
                                    {"relayout", 1, 0.3, kLast},
                                    {"relayout", 1, 0.4},
                                    {"ref", 0.003, 0.02},
                                    {"nspc", 1, 0.028},
                                    {"ncsp", 1, 0.08},
                                    {"sse41", 1, 0.14, kLast},
                                    {"sse41", 1, 0.07},
                                    {"jit", 1, 0.3, kLast},
                                    {"jit", 1, 0.53},
                                    {"", 1, 0.1}};
constexpr Share kLayerNormalization[] = {{"ref", 0.003, 0.02}, {"", 1, 0.45}};
constexpr Share kLrn[] = {{"ref", 0.003, 0.02},           {"sse41", 0.045, 0.5, kBlocked}, {"sse41", 0.14, 0.5},
                          {"avx2", 0.045, 0.5, kBlocked}, {"", 0.18, 0.5, kBlocked},       {"", 0.3, 0.5}};
constexpr Share kResampling[] = {
    {"ref", 0.0025, 0.01},        {"jit", 0.11, 0.5, kLast},        {"jit", 0.08, 0.4, kBlocked},
    {"jit", 0.0125, 0.1},         {"relayout", 0.025, 0.06, kLast}, {"relayout", 0.014, 0.03, kBlocked},
    {"relayout", 0.00075, 0.005}, {"", 0.0075, 0.02, kLast},        {"", 0.0075, 0.02, kBlocked},
    {"", 0.0025, 0.006}};
constexpr Share kSoftmax[] = {
    {"ref", 0.003, 0.02}, {"", 0.035, 0.5, kLast}, {"", 0.06, 0.5, kBlocked}, {"", 0.11, 0.5}};
constexpr Share kElementwise[] = {{"ref", 0.003, 0.02},   {"simple", 0.5, 0.55}, {"sse41", 0.15, 0.56},
                                  {"relayout", 0.3, 0.7}, {"jit", 0.3, 0.85},    {"", 0.05, 0.3}};

/// The times of oneDNN's reference implementations, in nanoseconds a step (graph::Performance::step_ns), if the
/// channels of the destination are stored as the name says, and a result. Most compute the offset of each element that
/// they touch from all digits of its layout, which takes longer where channels are blocked. Measured on one thread of
/// an EPYC with AVX-512, by four sizes of each kind (docs/lab/planning-cost-model.md).
struct ReferenceTimes {
  Kind kind;
  double plain, last, blocked, dst = 0;
};
constexpr ReferenceTimes kReferences[] = {{Kind::convolution, 20, 3, 35, 80},
                                          {Kind::deconvolution, 34, 34, 5.5},
                                          {Kind::inner_product, 18, 18, 30},
                                          {Kind::matmul, 17, 17, 17},
                                          {Kind::pooling, 18, 18, 20},
                                          {Kind::batch_normalization, 10, 10, 16},
                                          {Kind::layer_normalization, 68, 68, 76},
                                          {Kind::lrn, 2.75, 2.75, 3},
                                          {Kind::softmax, 72, 72, 90},
                                          {Kind::eltwise, 2, 2, 2},
                                          {Kind::binary, 87, 87, 62},
                                          {Kind::prelu, 30, 30, 32},
                                          {Kind::shuffle, 0.12, 0.5, 2},
                                          {Kind::resampling, 49, 49, 49},
                                          {Kind::reduction, 14, 14, 16},
                                          {Kind::concat, 0.1, 0.1, 0.1}};
/// Of a row-major softmax along the last dim, which has a loop of its own.
constexpr double kSoftmaxOfRows = 7;

Shares shares_of(Kind kind) {
  switch (kind) {
    case Kind::convolution:
    case Kind::deconvolution: return kConvolution;
    case Kind::matmul:
    case Kind::inner_product: return kProduct;
    case Kind::rnn: return kRecurrent;
    case Kind::pooling: return kPooling;
    case Kind::concat: return kConcat;
    case Kind::shuffle: return kShuffle;
    case Kind::batch_normalization: return kNormalization;
    case Kind::layer_normalization: return kLayerNormalization;
    case Kind::lrn: return kLrn;
    case Kind::resampling: return kResampling;
    case Kind::softmax: return kSoftmax;
    default: return kElementwise;
  }
}

bool contains(std::string_view name, std::string_view word) { return name.find(word) != name.npos; }

const Share& share_of(Kind kind, std::string_view name, Channels channels) {
  return *std::ranges::find_if(shares_of(kind), [&](const Share& share) {
    return contains(name, share.word) && share.channels.value_or(channels) == channels;
  });
}

/// Whether a kernel's name says that it multiplies bytes.
bool multiplies_bytes(std::string_view name) {
  return contains(name, "vnni") || contains(name, "int8") || contains(name, "s8u8s32");
}
bool multiplies_bytes_by_group(const graph::Node& node, std::string_view name) {
  return multiplies_bytes(name) && node.kind == Kind::convolution && node.as<graph::ConvolutionAttributes>().groups > 1;
}
const Share& share_of_bytes(const graph::Node& node, std::string_view name) {
  if (multiplies_bytes_by_group(node, name)) return kDepthwiseBytes;
  return *std::ranges::find_if(kBytes, [&](const Share& share) { return contains(name, share.word); });
}

/// f32 elements in a vector of the instruction set that the name says.
int lanes_of(std::string_view name) { return contains(name, "avx512") ? 16 : contains(name, "avx") ? 8 : 4; }

/// Whether the name says that a kernel uses AVX2's vectors or shorter ones on a processor that has longer ones.
bool is_narrow(std::string_view name) {
  constexpr auto kWide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (contains(name, "avx2") || contains(name, "sse41")) &&
         (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWide) == kWide;
}

/// The elements that a tile makes along each spatial dim: the digit before the kernel's in "wino_4x3".
int tile_of(std::string_view name) {
  const std::size_t at = name.find("wino_");
  const char digit = at == name.npos || at + 5 >= name.size() ? '0' : name[at + 5];
  return digit >= '1' && digit <= '9' ? digit - '0' : 0;
}

graph::ConvolutionAlgorithm algorithm_of(std::string_view name) {
  using graph::ConvolutionAlgorithm;
  if (contains(name, "gemm:")) return ConvolutionAlgorithm::unfolding;
  if (contains(name, "_dw")) return ConvolutionAlgorithm::depthwise;
  if (tile_of(name) > 0) return ConvolutionAlgorithm::transforming;
  return name.starts_with("jit:") ? ConvolutionAlgorithm::direct : ConvolutionAlgorithm::other;
}

/// The times of a reference implementation; 0 of one that was not measured.
ReferenceTimes reference_times(const graph::Node& node, const graph::Implementation& implementation) {
  const auto known = std::ranges::find(kReferences, node.kind, &ReferenceTimes::kind);
  if (!implementation.reference || known == std::end(kReferences) || !node.forward()) return {node.kind, 0, 0, 0};
  ReferenceTimes out = *known;
  if (node.kind == Kind::softmax && implementation.src[0]) {
    const int axis = node.as<graph::SoftmaxAttributes>().axis;
    if (axis + 1 == implementation.src[0]->ndims()) out.plain = kSoftmaxOfRows;
  }
  return out;
}

/// The share of memory's bandwidth at which a product reads weights: matrices that are cut into pieces of some columns
/// are read with jumps (docs/lab/models-inference.md).
double cold_share_of(const graph::Node& node, std::string_view name) {
  if (node.kind != Kind::matmul && node.kind != Kind::inner_product) return 1;
  return name.starts_with("brg:") ? 0.45 : contains(name, "gemm:") ? 0.65 : 1;
}

}  // namespace

graph::Performance performance_of(const graph::Node& node, const graph::Implementation& implementation) {
  const std::string_view name = implementation.name;
  const Channels channels = implementation.src[0] ? graph::channels_of(*implementation.src[0]) : kPlain;
  const Share& share = multiplies_bytes(name) ? share_of_bytes(node, name) : share_of(node.kind, name, channels);
  const ReferenceTimes times = reference_times(node, implementation);
  const Channels written =
      !implementation.dst.empty() && implementation.dst[0] ? graph::channels_of(*implementation.dst[0]) : kPlain;
  // Packed weights are read in the order of the multiplication.
  const bool packed = node.kind == Kind::rnn && !implementation.opaque.empty();
  return {
      .arithmetic = share.arithmetic * (packed ? kPacked : 1),
      .memory = share.memory,
      .cold = cold_share_of(node, name),
      .lanes = lanes_of(name),
      .narrow = is_narrow(name),
      .algorithm = multiplies_bytes_by_group(node, name) ? graph::ConvolutionAlgorithm::depthwise : algorithm_of(name),
      .tile = tile_of(name),
      .transforms = transforms_of(tile_of(name)),
      .step_ns = written == kPlain  ? times.plain
                 : written == kLast ? times.last
                                    : times.blocked,
      .dst_ns = times.dst,
      .multiplies_matrices = name.starts_with("gemm"),
      .post_ops_apart = is_with_post_ops(implementation),
      .widens = contains(name, kWidened)};
}

}  // namespace relayout::execute
