// Runs of a trace, links between its events, and verdicts, on traces that are written down.
#include "relayout/explain/runs.h"

#include <gtest/gtest.h>

#include <utility>

#include "relayout/explain/links.h"
#include "relayout/explain/readers/tensors.h"
#include "relayout/explain/report.h"

namespace relayout::explaining {
namespace {

/// Events by letters: capital ones are reorders, of tensors whose keys are the letters.
Trace lettered(const std::string& letters) {
  Trace out{.system = "test", .source = "letters"};
  for (const char letter : letters) {
    Event event{.place = static_cast<int64_t>(out.events.size()) + 1, .kind = std::string(1, letter), .ms = 1};
    event.reorder = letter >= 'A' && letter <= 'Z';
    event.reads = {Tensor{.key = std::string(1, letter)}};
    event.writes = {Tensor{.key = std::string("to ") + letter}};
    out.events.push_back(event);
  }
  return out;
}

int64_t runs_of(const std::string& letters) { return find_runs(lettered(letters)).count; }

TEST(Runs, AreWhatRepeats) {
  EXPECT_EQ(runs_of("abcabcabc"), 3);
  EXPECT_EQ(runs_of("AbAbAbAb"), 4);
  EXPECT_EQ(runs_of("aaaa"), 4);
  EXPECT_EQ(runs_of("abcabd"), 1);
  EXPECT_EQ(runs_of("a"), 1);
  EXPECT_EQ(runs_of("xababyxababy"), 2);
  EXPECT_EQ(runs_of("AbCAbC"), 2);
}

TEST(Runs, TheFirstMayHaveReordersOfItsOwn) {
  EXPECT_EQ(runs_of("WaVbabab"), 3);
  EXPECT_EQ(runs_of("WaVbab"), 2);
  EXPECT_EQ(runs_of("WVababab"), 3);  // in front of the first run
}

TEST(Runs, AreWhatTheCallerSays) {
  const Runs runs = find_runs(lettered("abcd"), 2);
  EXPECT_EQ(runs.count, 2);
  EXPECT_EQ(runs.run_of, (std::vector<int64_t>{0, 0, 1, 1}));
}

TEST(Runs, HaveTheirReordersWhereAllIsRepeated) {
  EXPECT_EQ(find_runs(lettered("AbCAbC"), 0).run_of, (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
}

TEST(Runs, AreNoMoreThanOperations) {
  try {
    explain(lettered("abc"), {.runs = 4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 runs of 3 operations"), std::string::npos) << error.what();
  }
}

TEST(Runs, TakeNoQuadraticTimeWhereNothingRepeats) {
  std::string letters;
  for (int i = 0; i < 200'000; ++i) letters += static_cast<char>('a' + (i * i / 7) % 20);
  EXPECT_GE(runs_of(letters), 1);
}

Tensor tensor(const std::string& tag, const Dims& dims) {
  Tensor out = described("", tag, dims, "f32");
  out.key = tag;
  return out;
}

Event event(const std::string& kind, const std::string& from, const std::string& to, Freedom freedom, bool reorder) {
  Event out{.place = 0, .kind = kind, .reorder = reorder, .freedom = freedom, .ms = 0.5};
  out.reads = {tensor(from, {1, 16, 4, 4})};
  out.writes = {tensor(to, {1, 16, 4, 4})};
  return out;
}

Trace of_events(std::vector<Event> events) {
  Trace out{.system = "test", .source = "events", .events = std::move(events)};
  for (std::size_t i = 0; i < out.events.size(); ++i) out.events[i].place = static_cast<int64_t>(i) + 1;
  return out;
}

Verdict verdict_of(const Trace& trace, const std::string& src) {
  for (const Reorder& reorder : explain(trace).reorders) {
    if (reorder.src.layout == src) return reorder.verdict;
  }
  ADD_FAILURE() << "no reorder from " << src;
  return Verdict::needed;
}

TEST(Verdicts, AReorderBetweenTwoThatWantDifferentLayoutsIsNeeded) {
  const Trace trace = of_events({event("convolution", "acdb", "acdb", Freedom::fixed, false),
                                 event("reorder", "acdb", "aBcd8b", Freedom::fixed, true),
                                 event("convolution", "aBcd8b", "aBcd4b", Freedom::fixed, false)});
  EXPECT_EQ(verdict_of(trace, "acdb"), Verdict::needed);
  EXPECT_EQ(explain(trace).reorders[0].maker, "convolution (line 1)");
  EXPECT_EQ(explain(trace).reorders[0].reader, "convolution (line 3)");
}

TEST(Verdicts, BlocksOfChannelsLastForAConvolutionAreAvoidable) {
  const Trace trace = of_events({event("reorder", "acdb", "aBcd8b", Freedom::fixed, true),
                                 event("convolution", "aBcd8b", "aBcd4b", Freedom::channels_last, false)});
  EXPECT_EQ(verdict_of(trace, "acdb"), Verdict::avoidable);
}

TEST(Verdicts, PaddingOnly) {
  Trace trace = of_events({event("reorder", "acdb", "acdB8b", Freedom::fixed, true)});
  trace.events[0].reads = {tensor("acdb", {1, 3, 4, 4})};
  trace.events[0].writes = {tensor("acdB8b", {1, 3, 4, 4})};
  EXPECT_EQ(verdict_of(trace, "acdb"), Verdict::padding_only);
}

TEST(Verdicts, SlowIsByTheMachinesTimes) {
  const Trace trace = of_events({event("reorder", "abcd", "acdb", Freedom::fixed, true)});
  MachineTimes machine{.name = "test"};
  machine.planned_ms = [](const TensorDesc&, const TensorDesc&) { return std::optional<double>(0.1); };
  const Report report = explain(trace, {.machine = machine});
  EXPECT_EQ(report.reorders[0].verdict, Verdict::slow);
  EXPECT_DOUBLE_EQ(report.reorders[0].saves_ms, 0.4);
  machine.planned_ms = [](const TensorDesc&, const TensorDesc&) { return std::optional<double>(0.4); };
  EXPECT_EQ(explain(trace, {.machine = machine}).reorders[0].verdict, Verdict::needed);
}

TEST(Verdicts, AnOperandThatIsInTheLayoutAlreadyKeepsTheReorder) {
  Trace trace = of_events({event("convolution", "abcd", "aBcd8b", Freedom::fixed, false),
                           event("reorder", "acdb", "aBcd8b", Freedom::fixed, true),
                           event("binary", "aBcd8b", "aBcd8b", Freedom::any, false)});
  trace.events[1].writes[0].key = "other";
  trace.events[2].reads.push_back(trace.events[1].writes[0]);
  EXPECT_EQ(verdict_of(trace, "acdb"), Verdict::needed);
}

// Each operation of a layer reads all five of the layer before: 5^16 ways lead on from the reorder within the depth
// that the rules look.
TEST(Verdicts, TakeNoExponentialTimeWhereWaysMeetAgain) {
  std::vector<Event> events{event("reorder", "abcd", "acdb", Freedom::fixed, true)};
  std::vector<Tensor> before{events[0].writes.front()};
  const auto add_layer = [&](int layer) {
    std::vector<Tensor> written;
    for (int i = 0; i < 5; ++i) {
      Event sum = event("sum", "acdb", "acdb", Freedom::any, false);
      sum.reads = {};
      for (const Tensor& tensor : before) sum.reads.push_back(tensor);
      sum.writes[0].key = std::to_string(layer) + "." + std::to_string(i);
      written.push_back(sum.writes.front());
      events.push_back(sum);
    }
    before = written;
  };
  for (int layer = 0; layer < 10; ++layer) add_layer(layer);
  EXPECT_EQ(verdict_of(of_events(events), "abcd"), Verdict::avoidable);
  for (int layer = 10; layer < 19; ++layer) add_layer(layer);
  EXPECT_EQ(verdict_of(of_events(events), "abcd"), Verdict::avoidable);
  // One that is not free, 12 layers behind the reorder, makes it needed.
  events[5 * 12].freedom = Freedom::fixed;
  EXPECT_EQ(verdict_of(of_events(events), "abcd"), Verdict::needed);
}

TEST(Tensors, AreSharedUntilOneIsChanged) {
  Event first;
  first.reads = {Tensor{.name = "src"}, Tensor{.name = "wei"}};
  Event second = first;
  EXPECT_EQ(std::as_const(first).reads.begin(), std::as_const(second).reads.begin());
  second.reads[1].name = "bia";
  second.writes.push_back(Tensor{.name = "dst"});
  EXPECT_EQ(std::as_const(first).reads[1].name, "wei");
  EXPECT_EQ(std::as_const(second).reads[1].name, "bia");
  EXPECT_EQ(first.writes.size(), 0u);
  EXPECT_EQ(second.writes.size(), 1u);
}

TEST(Links, NameTheMakerOfEachOperand) {
  Trace trace{.system = "test", .source = "list"};
  for (const char* name : {"a", "b"}) {
    Event event{.kind = name};
    event.writes = {Tensor{.key = name}};
    trace.events.push_back(event);
  }
  Event sum{.kind = "sum"};
  sum.reads = {Tensor{.key = "a"}, Tensor{.key = "b"}, Tensor{.key = "of the program"}};
  trace.events.push_back(sum);
  const Links links = find_links(trace, find_runs(trace, 1));
  EXPECT_EQ(links.maker[2], 0u);
  EXPECT_EQ(links.makers[2], (std::vector<std::optional<std::size_t>>{0, 1, std::nullopt}));
  EXPECT_EQ(links.readers[1], std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace relayout::explaining
