// Runs a node's implementations and compares their results: see node_check.h.
#include "tests/support/node_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>

#include "relayout/core/format.h"
#include "relayout/cpu/reorder.h"
#include "relayout/execute/onednn/descriptor.h"

namespace relayout::execute {

using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::LayoutRequest;
using graph::Pass;
using graph::Values;

namespace {

constexpr std::byte kPoison{0xFF};

std::string text_of(const Implementation& implementation) {
  std::string text = implementation.name;
  for (const auto* list : {&implementation.src, &implementation.dst}) {
    text += list == &implementation.src ? " src" : " dst";
    for (const auto& layout : *list) {
      text += layout ? " " + tag_of(*layout).value_or("strides " + join(layout->outer_strides())) + "@" +
                           std::to_string(layout->offset0())
                     : " -";
    }
  }
  return text;
}

std::string text_of(const Graph& graph, const Node& node) {
  std::string text = std::string(name(node.kind)) + " " + std::string(name(node.pass));
  if (node.kind == Kind::eltwise) {
    text += " " + std::string(name(node.as<graph::EltwiseAttributes>().algorithm));
  } else if (node.kind == Kind::binary) {
    text += " algorithm " + std::to_string(static_cast<int>(node.as<graph::BinaryAttributes>().algorithm));
  } else if (node.kind == Kind::rnn) {
    text += " cell " + std::to_string(static_cast<int>(node.as<graph::RnnAttributes>().cell)) + " direction " +
            std::to_string(static_cast<int>(node.as<graph::RnnAttributes>().direction));
  }
  for (const auto* list : {&node.src, &node.dst}) {
    text += list == &node.src ? " (" : " -> (";
    for (TensorId id : *list) {
      text +=
          id == kNone ? "- " : join(graph.tensor(id).dims, "x") + ":" + std::string(name(graph.tensor(id).dtype)) + " ";
    }
    text += ")";
  }
  return text;
}

/// A tensor in a layout. The buffer is as long as the layout's span. All bytes that are neither elements nor padding
/// are poison, and so are the bytes around the buffer.
class Buffer {
 public:
  Buffer(const Layout& layout, DType dtype)
      : desc_(layout, dtype), bytes_(static_cast<std::size_t>(desc_.span_bytes()) + 2 * kGuard, kPoison) {}

  void put(const Values& values) {
    const TensorDesc plain(Layout::contiguous(desc_.layout.dims()), desc_.dtype);
    const std::vector<std::byte> stored = graph::store(values, desc_.dtype);
    cpu::run(Plan::make(plain, desc_), stored.data(), data(), {.threads = 1});
  }
  void poison() { std::fill(bytes_.begin(), bytes_.end(), kPoison); }
  Values values() const {
    const TensorDesc plain(Layout::contiguous(desc_.layout.dims()), desc_.dtype);
    std::vector<std::byte> stored(static_cast<std::size_t>(plain.span_bytes()));
    cpu::run(Plan::make(desc_, plain), bytes_.data() + kGuard, stored.data(), {.threads = 1});
    return graph::load(stored, desc_.dtype, desc_.layout.elements());
  }
  std::byte* data() { return bytes_.data() + kGuard; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

  /// Says where padding is not zero, or where a byte was written that is neither element nor padding; empty if nowhere.
  std::string fault() const {
    const int64_t size = bits(desc_.dtype) / 8, span = desc_.span_bytes();
    const std::vector<std::byte> marked = elements_and_padding();
    for (int64_t at = 0; at < static_cast<int64_t>(bytes_.size()); ++at) {
      const int64_t byte = at - kGuard;
      const bool within = byte >= 0 && byte < span;
      const std::byte expected = within ? marked[static_cast<std::size_t>(byte / size)] : kPoison;
      if (expected == kElement || bytes_[static_cast<std::size_t>(at)] == expected) continue;
      Dims index;
      if (expected == kPoison) return "a gap was written, byte " + std::to_string(byte) + " of " + std::to_string(span);
      desc_.layout.inverse(byte / size, &index);
      return "padding at " + join(index) + " is not zero";
    }
    return "";
  }

 private:
  static constexpr std::byte kElement{1};
  /// By offset: kElement, 0 for padding, and kPoison for what is neither.
  std::vector<std::byte> elements_and_padding() const {
    const TensorDesc plain(Layout::contiguous(desc_.layout.dims()), DType::u8), marks(desc_.layout, DType::u8);
    const std::vector<std::byte> elements(static_cast<std::size_t>(plain.span_bytes()), kElement);
    std::vector<std::byte> out(static_cast<std::size_t>(marks.span_bytes()), kPoison);
    cpu::run(Plan::make(plain, marks), elements.data(), out.data(), {.threads = 1});
    return out;
  }
  /// The number of poison bytes on each side; whole lines.
  static constexpr int64_t kGuard = 1024;
  TensorDesc desc_;
  std::vector<std::byte> bytes_;
};

bool is_weights(const Node& node, std::size_t i) {
  if (node.kind != Kind::convolution && node.kind != Kind::deconvolution && node.kind != Kind::inner_product)
    return false;
  return node.pass == Pass::backward_weights ? i >= node.src.size() : i == 1;
}

/// A layout whose rows have gaps between them and do not begin at offset 0.
Layout with_gaps(const Dims& dims) {
  Dims wide = dims;
  wide[dims.size() - 1] += 3;
  Dims strides = Layout::contiguous(wide).outer_strides();
  return Layout::strided(dims, strides, 5);
}

constexpr int kMixedRequests = 20;
constexpr int kRequests = 6;  // any, row-major, channels last, blocked by 16 and 8, with gaps

/// The layout request number `request` for an operand. Only data operands have one; others are left open.
LayoutRequest request_for(const Graph& graph, const Node& node, std::size_t i, TensorId id, int request) {
  if (id == kNone || request == 0 || is_weights(node, i)) return {};
  const Dims& dims = graph.tensor(id).dims;
  if (dims.size() < 2) return {};
  if (request == kRequests - 1) return with_gaps(dims);
  return layout_in(dims, static_cast<Spelling>(request));
}

double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return 1.0 / 256;
    case DType::f16: return 1.0 / 2048;
    default: return 6e-8;
  }
}

/// Expects the values but for rounding, zeros in the padding, and untouched gaps.
void expect_values(const Buffer& destination, const Values& expected, DType type, const CheckOptions& options,
                   const std::string& what) {
  const Values got = destination.values();
  double largest = 0;
  for (double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const double unit = is_floating(type) ? rounding_of(type) : 0;
  const double tolerance = std::max(largest, 1e-3) * (options.relative + 2 * unit + options.terms * 1e-7) +
                           (is_floating(type) || options.exact ? 0 : 1);
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (std::isfinite(got[k]) && std::fabs(got[k] - expected[k]) <= tolerance) continue;
    if (std::isnan(expected[k]) ? std::isnan(got[k]) : std::isinf(expected[k]) && got[k] == expected[k]) continue;
    ADD_FAILURE() << what << " element " << k << " is " << got[k] << ", expected " << expected[k] << " within "
                  << tolerance;
    break;
  }
  const std::string fault = destination.fault();
  EXPECT_EQ(fault, "") << what;
}

}  // namespace

Values NodeCheck::values_for(const Graph& graph, const Node& node, std::size_t i, const CheckOptions& options) {
  if (const auto given = options.given.find(i); given != options.given.end()) return given->second;
  const graph::Tensor& tensor = graph.tensor(node.src[i]);
  auto [low, high] = std::pair(options.low, options.high);
  if (const auto range = options.ranges.find(i); range != options.ranges.end()) std::tie(low, high) = range->second;
  Values values(static_cast<std::size_t>(*checked_product(tensor.dims)));
  for (double& value : values) {
    if (is_integer(tensor.dtype)) {
      value = static_cast<double>(random_.between(kind(tensor.dtype) == DTypeKind::unsigned_integer ? 0 : -128,
                                                  kind(tensor.dtype) == DTypeKind::unsigned_integer ? 255 : 127));
    } else if (options.special && random_.one_in(12)) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      value = random_.of({std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 1e-42, -1e-42, -0.0, 0.0});
    } else {
      value = random_.real(low, high);
    }
  }
  return graph::load(graph::store(values, tensor.dtype), tensor.dtype, static_cast<int64_t>(values.size()));
}

std::vector<Implementation> NodeCheck::implementations_of(const Graph& graph, NodeId id,
                                                          const Implementation* forward) {
  const Node& node = graph.node(id);
  std::vector<Implementation> out;
  std::set<std::string> known;
  // Requests for sources and destinations are combined in all pairs; then each operand gets a layout of its own.
  for (int pair = 0; pair < kRequests * kRequests + kMixedRequests; ++pair) {
    const bool mixed = pair >= kRequests * kRequests;
    auto number = [&](bool is_src) {
      if (mixed) return static_cast<int>(random_.between(0, kRequests - 1));
      return is_src ? pair / kRequests : pair % kRequests;
    };
    std::vector<LayoutRequest> src, dst;
    for (std::size_t i = 0; i < node.src.size(); ++i) {
      src.push_back(request_for(graph, node, i, node.src[i], number(true)));
    }
    for (std::size_t i = 0; i < node.dst.size(); ++i) {
      dst.push_back(request_for(graph, node, node.src.size() + i, node.dst[i], number(false)));
    }
    for (Implementation& implementation : backend_->implementations(graph, id, src, dst, forward)) {
      for (std::size_t i = 0; i < src.size(); ++i)
        EXPECT_TRUE(!src[i] || implementation.src[i] == src[i]) << text_of(implementation);
      for (std::size_t i = 0; i < dst.size(); ++i)
        EXPECT_TRUE(!dst[i] || implementation.dst[i] == dst[i]) << text_of(implementation);
      if (known.insert(text_of(implementation)).second) out.push_back(std::move(implementation));
    }
  }
  return out;
}

std::vector<Implementation> NodeCheck::some_of(std::vector<Implementation> all, std::size_t most) {
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    std::swap(all[i], all[static_cast<std::size_t>(random_.between(static_cast<int64_t>(i), std::ssize(all) - 1))]);
  }
  if (all.size() > most) all.resize(most);
  return all;
}

std::unique_ptr<graph::Executable> NodeCheck::run(const Graph& graph, NodeId id, const Implementation& implementation,
                                                  const Implementation* forward_implementation,
                                                  graph::Executable* forward, const std::vector<Values>& src,
                                                  const std::vector<Values>& expected, const CheckOptions& options) {
  const Node& node = graph.node(id);
  const std::string what = text_of(graph, node) + " by " + text_of(implementation) +
                           (forward_implementation ? " after " + text_of(*forward_implementation) : std::string());
  std::unique_ptr<graph::Executable> executable;
  try {
    executable = backend_->make(graph, id, implementation, forward_implementation, forward);
  } catch (const Error& error) {
    ADD_FAILURE() << what << ": " << error.what();
    return nullptr;
  }
  std::vector<Buffer> sources, destinations;
  constexpr std::size_t kLine = 64;
  std::vector<std::vector<std::byte>> formatted;  // sources in a format of the library's own
  std::vector<const void*> src_data;
  std::vector<void*> dst_data;
  sources.reserve(src.size());
  destinations.reserve(node.dst.size());
  for (std::size_t i = 0; i < src.size(); ++i) {
    sources.emplace_back(implementation.src[i].value_or(Layout()),
                         node.src[i] == kNone ? DType::f32 : graph.tensor(node.src[i]).dtype);
    if (node.src[i] != kNone) sources.back().put(src[i]);
    src_data.push_back(node.src[i] == kNone ? nullptr : sources.back().data());
    if (const auto& opaque = implementation.opaque_src(i)) {
      auto room = static_cast<std::size_t>(opaque->bytes) + kLine;
      void* start = formatted.emplace_back(room).data();
      std::align(kLine, static_cast<std::size_t>(opaque->bytes), start, room);
      backend_->reorder_into(graph, id, implementation, i, src_data.back(), start);
      src_data.back() = start;
    }
  }
  for (std::size_t i = 0; i < node.dst.size(); ++i) {
    destinations.emplace_back(implementation.dst[i].value_or(Layout()),
                              node.dst[i] == kNone ? DType::f32 : graph.tensor(node.dst[i]).dtype);
    dst_data.push_back(node.dst[i] == kNone ? nullptr : destinations.back().data());
  }
  std::vector<std::vector<std::byte>> before;
  for (const Buffer& buffer : sources) before.push_back(buffer.bytes());
  // What a run leaves behind in the executable must not change the next one; slow references run once.
  for (int round = 0; round < (implementation.reference ? 1 : 2); ++round) {
    for (Buffer& buffer : destinations) buffer.poison();
    executable->run(src_data, dst_data);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_TRUE(sources[i].bytes() == before[i]) << what << ": source " << i << " was written";
  }
  CheckCounts& counts = counts_[std::string(name(node.kind)) + " " + std::string(name(node.pass))];
  ++counts.runs;
  counts.reference_runs += implementation.reference;
  counts.names.insert(implementation.name);
  for (std::size_t i = 0; i < node.dst.size(); ++i) {
    if (node.dst[i] == kNone) continue;
    expect_values(destinations[i], expected[i], graph.tensor(node.dst[i]).dtype, options,
                  what + ": destination " + std::to_string(i));
  }
  return executable;
}

void NodeCheck::check(const Graph& graph, NodeId id, const CheckOptions& options) {
  const Node& node = graph.node(id);
  ++counts_[std::string(name(node.kind)) + " " + std::string(name(node.pass))].nodes;
  std::map<TensorId, Values> known;
  auto operands = [&](const Node& of, const CheckOptions& how) {
    std::vector<Values> out;
    for (std::size_t i = 0; i < of.src.size(); ++i) {
      if (of.src[i] != kNone && !known.contains(of.src[i])) known[of.src[i]] = values_for(graph, of, i, how);
      out.push_back(of.src[i] == kNone ? Values() : known[of.src[i]]);
    }
    return out;
  };
  auto pointers = [](const Node& of, const std::vector<Values>& values) {
    std::vector<const Values*> out;
    for (std::size_t i = 0; i < values.size(); ++i) out.push_back(of.src[i] == kNone ? nullptr : &values[i]);
    return out;
  };
  if (node.forward()) {
    const std::vector<Values> src = operands(node, options);
    const std::vector<Values> expected = graph::evaluate_node(graph, node, pointers(node, src));
    const std::vector<Implementation> found = implementations_of(graph, id, nullptr);
    EXPECT_FALSE(found.empty()) << text_of(graph, node);
    for (const Implementation& implementation : found)
      run(graph, id, implementation, nullptr, nullptr, src, expected, options);
    return;
  }
  const Node& hint = graph.node(node.hint);
  const std::vector<Values> forward_src = operands(hint, options);
  const std::vector<Values> forward_dst = graph::evaluate_node(graph, hint, pointers(hint, forward_src));
  for (std::size_t i = 0; i < hint.dst.size(); ++i) {
    if (hint.dst[i] != kNone) known[hint.dst[i]] = forward_dst[i];
  }
  const std::vector<Values> src = operands(node, options);
  const std::vector<Values> expected =
      graph::evaluate_node(graph, node, pointers(node, src), pointers(hint, forward_src));
  bool any = false;
  // All forward implementations have the same backward ones, except for the hint's layouts. So some pairs are enough.
  for (const Implementation& forward_implementation : some_of(implementations_of(graph, node.hint, nullptr), 5)) {
    const std::vector<Implementation> found = some_of(implementations_of(graph, id, &forward_implementation), 25);
    if (found.empty()) continue;
    const auto forward =
        run(graph, node.hint, forward_implementation, nullptr, nullptr, forward_src, forward_dst, options);
    for (const Implementation& implementation : found)
      run(graph, id, implementation, &forward_implementation, forward.get(), src, expected, options);
    any = true;
  }
  EXPECT_TRUE(any) << text_of(graph, node);
}

void NodeCheck::print() const {
  for (const auto& [kind, counts] : counts_) {
    std::cout << kind << ": " << counts.nodes << " nodes, " << counts.runs << " runs (" << counts.reference_runs
              << " by reference implementations), " << counts.names.size() << " implementations:";
    for (const std::string& one : counts.names) std::cout << " " << one;
    std::cout << "\n";
  }
}

}  // namespace relayout::execute
