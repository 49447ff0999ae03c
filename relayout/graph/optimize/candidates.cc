// Which layouts are requested for a node's operands, and the backend's answers: see candidates.h.
#include "relayout/graph/optimize/candidates.h"

#include <algorithm>

#include "relayout/core/view.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::graph {
namespace {

/// Primitives that write blocked layouts may read a source of at most this many channels unblocked.
constexpr int64_t kMostUnblockedChannels = 4;

void add_number(KeyMaker& maker, int number) { maker.add(static_cast<uint64_t>(number)); }

/// The tensor of a node's operand; sources come first.
TensorId operand(const Node& node, std::size_t i) {
  return i < node.src.size() ? node.src[i] : node.dst[i - node.src.size()];
}

/// Whether an operand is weights or their gradient, whose layout a primitive chooses itself.
bool is_weights(const Node& node, std::size_t i) {
  if (!compute_bound(node.kind) || node.kind == Kind::matmul) return false;
  if (node.kind == Kind::rnn) return true;
  return node.pass == Pass::backward_weights ? i >= node.src.size() : i > 0 && i < node.own_sources();
}

/// Kinds that only move elements, and can do so from any layout to any other.
bool moves(Kind kind) { return kind == Kind::shuffle || kind == Kind::pad || kind == Kind::reorder; }

/// Nodes whose destination may be in another layout than their sources.
bool may_move(const Node& node) {
  return moves(node.kind) || (node.kind == Kind::batch_normalization && node.pass != Pass::forward_inference);
}

/// Row-major but for the last two dims, which are exchanged.
Layout with_columns_first(Dims dims) {
  const int last = dims.size() - 1;
  std::swap(dims[last - 1], dims[last]);
  return transpose(Layout::contiguous(dims), last - 1, last);
}

}  // namespace

int LayoutTable::id(const Layout& layout) {
  if (first_offset(layout) != 0) return id(from_zero(layout));
  const auto [at, is_new] = ids_.try_emplace(KeyMaker().add(layout).key(), static_cast<int>(layouts_.size()));
  if (is_new) layouts_.push_back(layout), opaque_.emplace_back();
  return at->second;
}

int LayoutTable::id(const Layout& layout, const std::optional<Opaque>& opaque) {
  if (!opaque) return id(layout);
  const CostKey key = KeyMaker().add(layout).add(*opaque).key();
  const auto [at, is_new] = ids_.try_emplace(key, static_cast<int>(layouts_.size()));
  if (is_new) layouts_.push_back(layout), opaque_.push_back(opaque);
  return at->second;
}

CandidateFinder::CandidateFinder(const Graph& graph, const Backend& backend, Costs& costs,
                                 const OptimizeOptions& options)
    : graph_(graph), context_(graph), backend_(backend), costs_(costs), options_(options) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    KeyMaker maker(context_.node_key(static_cast<NodeId>(n)));
    if (graph.nodes[n].hint != kNone) {
      const CostKey& hint = context_.node_key(graph.nodes[n].hint);
      maker.add(hint.high).add(hint.low);
    }
    keys_.push_back(maker.key());
  }
}

const std::vector<int>& CandidateFinder::families(const Dims& dims) {
  const auto [at, is_new] = families_.try_emplace({dims.begin(), dims.end()});
  std::vector<int>& out = at->second;
  if (!is_new) return out;
  std::vector<std::string> tags;
  if (dims.size() >= 3) {
    tags.push_back("axb");
    for (int block : options_.blocks) tags.push_back("aBx" + std::to_string(block) + "b");
  }
  out.push_back(layouts_.id(Layout::contiguous(dims)));
  for (const std::string& tag : tags) out.push_back(layouts_.id(Format::parse(tag).bind(dims)));
  return out;
}

std::size_t CandidateFinder::usual_layout_count(const Node& node) {
  std::size_t out = 1;
  if (node.kind == Kind::rnn) return out;
  for (std::size_t i = 0; i < node.src.size() + node.dst.size(); ++i) {
    const TensorId t = operand(node, i);
    if (t != kNone && !is_weights(node, i)) out = std::max(out, families(graph_.tensor(t).dims).size());
  }
  return out;
}

std::vector<CandidateFinder::RequestedLayouts> CandidateFinder::requests_of(NodeId id, const std::vector<int>& leads) {
  const Node& node = graph_.node(id);
  const std::vector<OperandRule> rules = operand_rules(graph_, node);
  const std::size_t count = rules.size();
  const auto dims = [&](std::size_t i) -> const Dims& { return graph_.tensor(operand(node, i)).dims; };
  const auto each = [&](auto request) {
    RequestedLayouts out(count, kNone);
    for (std::size_t i = 0; i < count; ++i) {
      if (operand(node, i) == kNone) continue;
      if (rules[i] == OperandRule::plain) {
        out[i] = families(dims(i))[0];
      } else if (!is_weights(node, i)) {
        out[i] = request(i);
      }
    }
    return out;
  };
  /// The operand's usual layout at index f; its last one if it has fewer.
  const auto family = [&](std::size_t i, std::size_t f) {
    const std::vector<int>& all = families(dims(i));
    return all[std::min(f, all.size() - 1)];
  };
  std::vector<RequestedLayouts> out;
  const auto add = [&](RequestedLayouts requests) {
    if (std::ranges::find(out, requests) == out.end()) out.push_back(std::move(requests));
  };
  const auto is_src = [&](std::size_t i) { return i < node.src.size(); };
  const std::size_t kinds = usual_layout_count(node);
  if (compute_bound(node.kind)) add(each([](std::size_t) { return kNone; }));
  for (std::size_t f = 0; f < kinds; ++f) {
    // An operand that has a single usual layout, such as one of few dims, has it in every request.
    add(each([&](std::size_t i) { return families(dims(i)).size() == 1 ? families(dims(i))[0] : family(i, f); }));
  }
  const bool few =
      node.kind == Kind::convolution && node.pass != Pass::backward_data && dims(0)[1] <= kMostUnblockedChannels;
  if (few || may_move(node)) {
    for (std::size_t f = 0; f < kinds; ++f) {
      for (std::size_t g = 0; g < kinds; ++g) {
        // With few channels, only the first source differs from all other operands; else the sources from the
        // destinations.
        add(each([&](std::size_t i) { return family(i, (few ? i == 0 : is_src(i)) ? f : g); }));
      }
    }
  }
  // The second matrix of a product may be stored transposed, as keys are that attention multiplies queries by.
  if (node.kind == Kind::matmul && !graph_.tensor(node.src[1]).constant()) {
    const int exchanged = layouts_.id(with_columns_first(dims(1)));
    add(each([&](std::size_t i) { return i == 1 ? exchanged : families(dims(i))[0]; }));
  }
  for (int lead : leads) {
    add(each([&](std::size_t i) { return dims(i) == layouts_.layout(lead).dims() ? lead : kNone; }));
  }
  // One request for each destination whose layout a user fixed; all other operands may have any layout.
  for (TensorId t : node.dst) {
    if (t == kNone || !graph_.tensor(t).layout) continue;
    const int asked = layouts_.id(*graph_.tensor(t).layout);
    add(each([&](std::size_t i) { return operand(node, i) == t ? asked : kNone; }));
  }
  return out;
}

void CandidateFinder::check_stop() const {
  if (!options_.solve.stop || !options_.solve.stop()) return;
  throw Error(ErrorCode::interrupted, "optimize: stopped while implementations were listed, before there was a plan");
}

std::vector<Candidate> CandidateFinder::found(NodeId id, const std::vector<RequestedLayouts>& list,
                                              const Candidate* forward) {
  const Node& node = graph_.node(id);
  std::vector<Candidate> out;
  const auto request = [&](int layout) {
    return layout == kNone ? LayoutRequest() : LayoutRequest(layouts_.layout(layout));
  };
  for (const RequestedLayouts& requests : list) {
    std::vector<LayoutRequest> src, dst;
    for (std::size_t i = 0; i < requests.size(); ++i) (i < node.src.size() ? src : dst).push_back(request(requests[i]));
    check_stop();
    for (Implementation& each :
         backend_.implementations(graph_, id, src, dst, forward ? forward->implementation.get() : nullptr)) {
      if (each.rounds_more && !options_.may_round_more) continue;
      Candidate candidate;
      const auto number = [&](const std::optional<Layout>& layout) { return layout ? layouts_.id(*layout) : kNone; };
      for (std::size_t i = 0; i < each.src.size(); ++i) {
        candidate.src.push_back(each.src[i] ? layouts_.id(*each.src[i], each.opaque_src(i)) : kNone);
      }
      std::ranges::transform(each.dst, std::back_inserter(candidate.dst), number);
      const auto same = [&](const Candidate& other) {
        return other.src == candidate.src && other.dst == candidate.dst && other.implementation->name == each.name;
      };
      // If a source is broadcast (stride 0), a destination of the same layout would write one element several times.
      const auto repeats = [&](int layout) {
        return layout != kNone && !layouts_.layout(layout).injective_with_padding();
      };
      if (std::ranges::any_of(out, same) || std::ranges::any_of(candidate.dst, repeats)) continue;
      candidate.implementation = std::make_shared<const Implementation>(std::move(each));
      out.push_back(std::move(candidate));
    }
  }
  return out;
}

void CandidateFinder::price(NodeId id, const Candidate* forward, bool in_place, Candidate& candidate) {
  check_stop();
  const Implementation* hint = forward ? forward->implementation.get() : nullptr;
  candidate.cost =
      (1 + margin_of(graph_.node(id))) * costs_.primitive(context_, id, *candidate.implementation, hint, false);
  if (in_place && candidate.src[0] == candidate.dst[0]) {
    candidate.in_place_cost = costs_.primitive(context_, id, *candidate.implementation, hint, true);
  }
}

std::vector<Candidate>& CandidateFinder::remembered(const Node& node, KeyMaker question, const Candidate* forward,
                                                    bool& is_new) {
  for (const auto& [i, layout] : fixed_of(node)) {
    add_number(question, static_cast<int>(i));
    add_number(question, layout);
  }
  if (forward) {
    question.add(std::string_view(forward->implementation->name));
    for (const auto* list : {&forward->src, &forward->dst}) {
      for (int layout : *list) add_number(question, layout);
    }
  }
  const auto [at, inserted] = candidates_.try_emplace(question.key());
  is_new = inserted;
  return at->second;
}

std::vector<std::pair<std::size_t, int>> CandidateFinder::fixed_of(const Node& node) {
  std::vector<std::pair<std::size_t, int>> out;
  for (const auto& [tensor, layout] : options_.fixed) {
    const auto at = std::ranges::find(node.dst, tensor);
    if (at != node.dst.end()) out.emplace_back(at - node.dst.begin(), layouts_.id(layout));
  }
  return out;
}

void CandidateFinder::finish(NodeId id, const Candidate* forward, bool in_place, std::vector<Candidate>& candidates) {
  const auto fixed = fixed_of(graph_.node(id));
  const auto fast = [](const Candidate& candidate) { return !candidate.implementation->reference; };
  const auto fits = [&](const Candidate& candidate) {
    return std::ranges::all_of(fixed, [&](const auto& each) { return candidate.dst[each.first] == each.second; });
  };
  const bool any_fast = std::ranges::any_of(candidates, fast);
  const bool fast_fits = std::ranges::any_of(candidates, [&](const Candidate& c) { return fast(c) && fits(c); });
  std::erase_if(candidates, [&](const Candidate& c) { return any_fast && !fast(c) && (fast_fits || !fits(c)); });
  for (Candidate& candidate : candidates) price(id, forward, in_place, candidate);
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.cost == kImpossible; });
}

const std::vector<Candidate>& CandidateFinder::candidates(NodeId id, const std::vector<int>& leads,
                                                          const Candidate* forward, bool in_place) {
  const Node& node = graph_.node(id);
  KeyMaker question(keys_[static_cast<std::size_t>(id)]);
  add_number(question, in_place);
  for (int lead : leads) add_number(question, lead);
  for (TensorId t : node.dst) {
    add_number(question, t != kNone && graph_.tensor(t).layout ? layouts_.id(*graph_.tensor(t).layout) : kNone);
  }
  bool is_new = false;
  std::vector<Candidate>& out = remembered(node, question, forward, is_new);
  if (!is_new) return out;
  out = found(id, requests_of(id, leads), forward);
  if (std::ranges::all_of(out, [](const Candidate& candidate) { return candidate.implementation->reference; })) {
    // All answers are slow references. The backend may have other implementations for row-major operands.
    RequestedLayouts plain;
    for (std::size_t i = 0; i < node.src.size() + node.dst.size(); ++i) {
      const TensorId t = operand(node, i);
      plain.push_back(t == kNone ? kNone : layouts_.id(Layout::contiguous(graph_.tensor(t).dims)));
    }
    for (Candidate& candidate : found(id, {plain}, forward)) out.push_back(std::move(candidate));
  }
  finish(id, forward, in_place, out);
  return out;
}

const std::vector<Candidate>& CandidateFinder::candidates_with(NodeId id, const Candidate& forward) {
  const Node& node = graph_.node(id);
  bool is_new = false;
  std::vector<Candidate>& out = remembered(node, KeyMaker(keys_[static_cast<std::size_t>(id)]), &forward, is_new);
  if (!is_new) return out;
  std::vector<RequestedLayouts> requests{RequestedLayouts(node.src.size() + node.dst.size(), kNone)};
  // Nodes that only move elements need nothing that the forward node left. They may read and write any layouts, which
  // saves the reorders before and after them.
  if (moves(node.kind)) std::ranges::copy(requests_of(id, {}), std::back_inserter(requests));
  out = found(id, requests, &forward);
  finish(id, &forward, false, out);
  return out;
}

bool CandidateFinder::may_reorder(TensorId tensor, int from, int to) {
  // The backend reorders constants from row-major; nothing else is known of an opaque format.
  if (layouts_.opaque(from) || layouts_.opaque(to))
    return layouts_.opaque(to) && from == families(graph_.tensor(tensor).dims)[0];
  return layouts_.layout(to).injective_with_padding();
}

double CandidateFinder::reorder_cost(TensorId tensor, int from, int to) {
  const DType dtype = graph_.tensor(tensor).dtype;
  const ReorderSetting setting = context_.reorder_setting(tensor);
  KeyMaker key;
  for (int number : {static_cast<int>(dtype), from, to, int{setting.far_source} + 2 * int{setting.far_destination}})
    add_number(key, number);
  const auto [at, is_new] = reorders_.try_emplace(key.key());
  if (!is_new) return at->second;
  check_stop();
  if (!may_reorder(tensor, from, to)) return at->second = kImpossible;
  const TensorDesc src{layouts_.layout(from), dtype};
  const double cost = layouts_.opaque(to) ? costs_.opaque_reorder(setting, src, *layouts_.opaque(to))
                                          : costs_.reorder(setting, src, {layouts_.layout(to), dtype});
  return at->second = (1 + kMoveMargin) * cost;
}

}  // namespace relayout::graph
