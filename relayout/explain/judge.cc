// The rules by which a reorder is called avoidable, repeated or padding only, the first that applies: see judge.h.
#include "relayout/explain/judge.h"

#include <algorithm>
#include <unordered_map>

#include "relayout/core/decide.h"

namespace relayout::explaining {
namespace {

/// A reorder with what stands round it.
struct Case {
  const Surroundings& all;
  std::size_t at;
  int64_t in_runs;

  const Event& event() const { return all.trace.events[at]; }
  const Event& event(std::size_t i) const { return all.trace.events[i]; }
  const Tensor& src() const { return event().reads.front(); }
  const Tensor& dst() const { return event().writes.front(); }
  std::optional<std::size_t> maker() const { return all.links.maker[at]; }
  const std::vector<std::size_t>& readers() const { return all.links.readers[at]; }
  std::string place(std::size_t i) const { return place_of(all.trace, i); }
  std::string words(std::size_t i) const { return named(all.trace, i); }
};
using Found = std::optional<Judgement>;

bool same_form(const Tensor& a, const Tensor& b) {
  if (a.desc && b.desc)
    return a.desc->dtype == b.desc->dtype && a.desc->layout.dims() == b.desc->layout.dims() &&
           a.desc->layout == b.desc->layout;
  return !a.layout.empty() && a.layout == b.layout && a.dims == b.dims && a.dtype == b.dtype;
}

/// Whether the second of two moves undoes the first.
bool undoes(const Event& first, const Event& second) {
  if (first.arithmetic || second.arithmetic) return false;
  if (first.perm.empty() != second.perm.empty()) return false;
  if (first.perm.empty()) return same_form(first.reads.front(), second.writes.front());
  if (first.perm.size() != second.perm.size()) return false;
  for (std::size_t d = 0; d < first.perm.size(); ++d) {
    if (first.perm[static_cast<std::size_t>(second.perm[d])] != static_cast<int>(d)) return false;
  }
  return true;
}

bool channels_last(const Tensor& tensor) {
  return tensor.desc && (tensor.desc->layout.contiguous_in(MemoryFormat::channels_last) ||
                         tensor.desc->layout.contiguous_in(MemoryFormat::channels_last_3d));
}

bool plain(const Tensor& tensor) { return tensor.desc && tensor.desc->layout.contiguous_in(MemoryFormat::contiguous); }

bool same_type(const Case& c) {
  if (c.src().desc && c.dst().desc) return c.src().desc->dtype == c.dst().desc->dtype;
  return c.src().dtype == c.dst().dtype;
}

/// How far behind an event the rules look.
constexpr int kDepth = 16;

/// The events that one question has come to. Ways that part and meet again are as many as 2^kDepth, so each event is
/// looked at once, and again only where a shorter way leads to it.
class Reached {
 public:
  bool nearer(std::size_t event, int depth) {
    const auto [found, is_new] = depths_.try_emplace(event, depth);
    if (!is_new && found->second <= depth) return false;
    found->second = depth;
    return true;
  }

 private:
  std::unordered_map<std::size_t, int> depths_;
};

/// The first event behind one that is wanted, through operations that work in any layout and keep it.
template <typename F>
std::optional<std::size_t> first_behind(const Case& c, std::size_t event, const F& wanted, Reached& reached,
                                        int depth = 0) {
  for (const std::size_t reader : c.all.links.readers[event]) {
    const Event& next = c.event(reader);
    if (wanted(next)) return reader;
    if (next.reorder || next.freedom != Freedom::any || depth == kDepth || !reached.nearer(reader, depth)) continue;
    if (const auto found = first_behind(c, reader, wanted, reached, depth + 1)) return found;
  }
  return std::nullopt;
}

/// The first event that reads the tensor in a layout of its own; reorders and the program are none.
std::optional<std::size_t> fixed_reader(const Case& c, std::size_t event) {
  Reached reached;
  return first_behind(
      c, event, [](const Event& next) { return !next.reorder && next.freedom != Freedom::any; }, reached);
}

/// Whether a reorder ends every way on from an event.
bool ends_in_reorders(const Case& c, std::size_t event, Reached& reached, int depth = 0) {
  const std::vector<std::size_t>& readers = c.all.links.readers[event];
  if (readers.empty()) return false;
  return std::ranges::all_of(readers, [&](std::size_t reader) {
    const Event& next = c.event(reader);
    if (next.reorder) return true;
    if (next.freedom != Freedom::any || depth == kDepth) return false;
    return !reached.nearer(reader, depth) || ends_in_reorders(c, reader, reached, depth + 1);
  });
}

bool ends_in_reorders(const Case& c, std::size_t event) {
  Reached reached;
  return ends_in_reorders(c, event, reached);
}

Found copy_rule(const Case& c) {
  if (!c.src().desc || !c.dst().desc || !same_form(c.src(), c.dst())) return {};
  return Judgement{Verdict::avoidable, "Both sides have the same layout and type, so that it is a copy.",
                   "Use the source where the copy is read, or let who makes it write there."};
}

bool read_as_weights(const Case& c) {
  return std::ranges::any_of(c.readers(), [&](std::size_t reader) {
    return std::ranges::any_of(c.event(reader).reads,
                               [&](const Tensor& tensor) { return tensor.weights && tensor.key == c.dst().key; });
  });
}

Found weights_rule(const Case& c) {
  const bool weights = c.src().weights || (!c.maker() && read_as_weights(c));
  if (!weights) return {};
  const std::string reader = c.readers().empty() ? "their reader" : c.words(c.readers().front());
  if (c.all.trains)
    return Judgement{Verdict::needed, "The weights of " + reader + " change in every run, as the program trains.",
                     "Keep the weights in " + c.dst().layout + " and let the optimiser work on them there."};
  if (c.in_runs < 2 && c.all.trace.in_order)
    return Judgement{Verdict::needed,
                     "The weights of " + reader + " are brought into its layout" +
                         (c.all.runs.count > 1 ? " once."
                                               : "; the source has one run, so that it "
                                                 "does not show whether that is repeated."),
                     ""};
  return Judgement{
      Verdict::repeated,
      "The weights of " + reader + " are brought into its layout in " +
          (c.all.trace.in_order ? "each of " + std::to_string(c.in_runs) + " runs." : "every run."),
      "Do it once, before the first run, and keep the result in " + c.dst().layout +
          " (oneDNN: query weights_desc() and keep that memory). PyTorch does it in each call; "
          "torch.jit.optimize_for_inference keeps them, but goes back to the plain layout, so compare "
          "whole times." +
          std::string(channels_last(c.src())
                          ? " Copies that PyTorch itself makes where channels last is lost are in no log of "
                            "oneDNN; relayout.explain(module, x) in Python finds them."
                          : "")};
}

Found round_trip_rule(const Case& c) {
  if (!same_type(c)) return {};
  if (c.maker() && c.event(*c.maker()).reorder && undoes(c.event(*c.maker()), c.event()))
    return Judgement{Verdict::avoidable,
                     "It undoes the reorder at " + c.place(*c.maker()) + ", whose source is the same tensor in " +
                         c.dst().layout + ".",
                     "Read that source; what runs between the two, if anything does, has to work in " + c.dst().layout +
                         " (PyTorch: keep the tensor in channels_last)."};
  for (const std::size_t reader : c.readers()) {
    if (!c.event(reader).reorder || !undoes(c.event(), c.event(reader))) continue;
    if (const auto other = fixed_reader(c, c.at))
      return Judgement{Verdict::needed, c.words(*other) + " reads " + c.dst().layout + ".",
                       "The reorder back at " + c.place(reader) + " is not needed."};
    return Judgement{
        Verdict::avoidable,
        "The reorder at " + c.place(reader) + " undoes it, and nothing else that is seen reads " + c.dst().layout + ".",
        "Leave the tensor in " + c.src().layout +
            "; what runs between the two, if anything does, has to work in it (PyTorch: keep the tensor "
            "in channels_last)."};
  }
  return {};
}

/// Another operand of an operation that is in the layout already, made so by something that is no reorder.
std::optional<std::size_t> partner(const Case& c, std::size_t reader) {
  const Tensors& reads = c.event(reader).reads;
  const auto& makers = c.all.links.makers[reader];
  for (std::size_t k = 0; k < makers.size(); ++k) {
    const bool other = !reads[k].weights && reads[k].key != c.dst().key && reads[k].layout == c.dst().layout;
    if (other && makers[k] && !c.event(*makers[k]).reorder) return makers[k];
  }
  return std::nullopt;
}

/// The reorder behind an event, through operations that work in any layout, that comes back to a layout.
std::optional<std::size_t> way_back(const Case& c, std::size_t event, const std::string& layout) {
  Reached reached;
  return first_behind(
      c, event, [&](const Event& next) { return next.reorder && next.writes.front().layout == layout; }, reached);
}

Found free_reader_rule(const Case& c) {
  if (!same_type(c) || c.readers().empty() || !c.event().perm.empty()) return {};
  std::size_t first = c.readers().front();
  if (!std::ranges::all_of(c.readers(), [&](std::size_t i) { return c.event(i).freedom == Freedom::any; })) return {};
  if (fixed_reader(c, c.at)) return {};
  const bool to_program = !ends_in_reorders(c, c.at);
  if (to_program && plain(c.dst())) return {};
  if (partner(c, first)) return {};
  std::string advice = c.all.trace.recourse;
  if (advice.empty()) advice = "Give " + c.words(first) + " the tensor in " + c.src().layout + " as it is.";
  if (const auto back = way_back(c, c.at, c.src().layout))
    advice += " The reorder back at " + c.place(*back) + " then goes as well.";
  return Judgement{Verdict::avoidable,
                   c.words(first) + " works in any layout, " + c.src().layout +
                       " as well, and nobody behind it needs " + c.dst().layout + ".",
                   advice};
}

Found free_maker_rule(const Case& c) {
  if (!same_type(c) || !c.maker() || !c.event().perm.empty()) return {};
  const Event& maker = c.event(*c.maker());
  if (maker.reorder || maker.freedom != Freedom::any) return {};
  std::optional<std::size_t> before = c.all.links.maker[*c.maker()];
  for (int depth = 0; before && !c.event(*before).reorder && c.event(*before).freedom == Freedom::any && depth < kDepth;
       ++depth)
    before = c.all.links.maker[*before];
  if (!before || !c.event(*before).reorder || c.event(*before).reads.front().layout != c.dst().layout) return {};
  return Judgement{Verdict::avoidable,
                   c.words(*c.maker()) + " works in any layout, and its source was in " + c.dst().layout +
                       " before the reorder at " + c.place(*before) + ".",
                   "It goes with that reorder: without it " + c.words(*c.maker()) + " writes " + c.dst().layout + "."};
}

Found channels_last_rule(const Case& c) {
  if (!same_type(c) || plain(c.src()) || plain(c.dst())) return {};
  const auto takes = [&](std::size_t i) { return c.event(i).freedom == Freedom::channels_last; };
  if (channels_last(c.src()) && !c.readers().empty() && std::ranges::all_of(c.readers(), takes))
    return Judgement{Verdict::avoidable,
                     c.words(c.readers().front()) + " could take channels last (" + c.src().layout + ") as it is.",
                     "Create it with the tag of the tensor in place of format_tag::any, and compare the two times."};
  if (channels_last(c.dst()) && c.maker() && takes(*c.maker()))
    return Judgement{Verdict::avoidable,
                     c.words(*c.maker()) + " could write channels last (" + c.dst().layout + ") itself.",
                     "Create it with that tag for its destination in place of format_tag::any, and compare the times."};
  return {};
}

Found padding_rule(const Case& c) {
  if (!same_type(c) || c.event().arithmetic || !c.src().desc || !c.dst().desc) return {};
  if (!(c.src().desc->layout.dims() == c.dst().desc->layout.dims())) return {};
  if (same_memory_order(c.src().desc->layout, c.dst().desc->layout).answer != relayout::Answer::yes) return {};
  return Judgement{
      Verdict::padding_only, "Elements keep their order; only padding or gaps between them change.",
      "Allocate the tensor with the padding of " + c.dst().layout + " from the start, and write it there."};
}

Judgement needed(const Case& c) {
  const std::string maker = c.maker() ? c.words(*c.maker()) : "the program";
  std::string why = maker + " makes " + (c.src().layout.empty() ? "one layout" : c.src().layout) + ", and ";
  const auto fixed = fixed_reader(c, c.at);
  why += (fixed                 ? c.words(*fixed)
          : c.readers().empty() ? "the program"
                                : c.words(c.readers().front())) +
         " reads " + (c.dst().layout.empty() ? "another" : c.dst().layout) + ".";
  why[0] = static_cast<char>(why[0] >= 'a' && why[0] <= 'z' ? why[0] - 'a' + 'A' : why[0]);
  if (!same_type(c)) why += " It also converts the type.";
  std::string advice;
  if (!c.maker() && fixed && !c.dst().layout.empty())
    advice = "The program would save it by making the tensor in " + c.dst().layout + " itself.";
  return {Verdict::needed, why, advice};
}

}  // namespace

std::string place_of(const Trace& trace, std::size_t event) {
  const Event& found = trace.events[event];
  return found.name.empty() ? "line " + std::to_string(found.place) : escaped(found.name, 100);
}

std::string named(const Trace& trace, std::size_t event) {
  return escaped(trace.events[event].kind) + " (" + place_of(trace, event) + ")";
}

Judgement judge(const Surroundings& all, std::size_t event, int64_t times_in_runs) {
  const Case c{all, event, times_in_runs};
  if (!c.event().judged.empty()) return {Verdict::avoidable, c.event().judged, c.event().advice};
  if (all.trace.decided) return needed(c);
  using Rule = Found (*)(const Case&);
  for (const Rule rule : {weights_rule, copy_rule, round_trip_rule, free_reader_rule, free_maker_rule,
                          channels_last_rule, padding_rule}) {
    if (c.event().arithmetic && rule != static_cast<Rule>(weights_rule)) continue;
    if (const Found answer = rule(c)) return *answer;
  }
  return needed(c);
}

}  // namespace relayout::explaining
