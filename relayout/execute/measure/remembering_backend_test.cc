// Answers are the same from the backend, from memory and from a file; files that are none are left alone.
#include "relayout/execute/measure/remembering_backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "relayout/execute/onednn/backend.h"
#include "relayout/graph/models/models.h"
#include "relayout/graph/optimize/optimize.h"
#include "tests/support/simple_costs.h"

namespace relayout::execute {
namespace {

using graph::Implementation;

class Remembering : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onednn()) GTEST_SKIP() << "built without oneDNN";
    backend_ = onednn_backend(1);
    file_ =
        std::filesystem::path(testing::TempDir()) / ("relayout_implementations_" + std::to_string(::getpid()) + ".txt");
    std::filesystem::remove(file_);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  graph::ChoiceSpace space(const graph::Backend& backend) const {
    test::ByteCosts costs;
    return graph::choice_space(graph_, backend, costs);
  }
  void expect_equal(const graph::ChoiceSpace& a, const graph::ChoiceSpace& b) const {
    ASSERT_EQ(a.choices.size(), b.choices.size());
    for (std::size_t n = 0; n < a.choices.size(); ++n) {
      ASSERT_EQ(a.choices[n].size(), b.choices[n].size());
      for (std::size_t c = 0; c < a.choices[n].size(); ++c) {
        const Implementation &one = *a.choices[n][c].implementation, &other = *b.choices[n][c].implementation;
        EXPECT_EQ(one.name, other.name);
        EXPECT_EQ(one.src, other.src);
        EXPECT_EQ(one.dst, other.dst);
        EXPECT_EQ(one.reference, other.reference);
      }
    }
  }

  std::unique_ptr<graph::Backend> backend_;
  std::filesystem::path file_;
  graph::Graph graph_ = graph::inception();
};

TEST_F(Remembering, AnswersAreTheBackends) {
  const graph::ChoiceSpace want = space(*backend_);
  int64_t asked = 0;
  {
    const auto first = remembering_backend(*backend_, file_);
    expect_equal(space(*first), want);
    EXPECT_GT(first->asked(), 100);
    asked = first->asked();
    expect_equal(space(*first), want);
    EXPECT_EQ(first->asked(), asked);
  }
  const auto second = remembering_backend(*backend_, file_);
  EXPECT_FALSE(second->file_error());
  expect_equal(space(*second), want);
  EXPECT_EQ(second->asked(), 0);
  // Another number of threads is another question.
  const auto threads = onednn_backend(2);
  const auto third = remembering_backend(*threads, file_);
  space(*third);
  EXPECT_EQ(third->asked(), asked);
}

TEST_F(Remembering, ThreadsMayAskAtTheSameTime) {
  const graph::ChoiceSpace want = space(*backend_);
  const auto shared = remembering_backend(*backend_, file_);
  std::vector<graph::ChoiceSpace> found(4);
  std::vector<std::thread> threads;
  for (graph::ChoiceSpace& each : found) threads.emplace_back([&] { each = space(*shared); });
  for (std::thread& thread : threads) thread.join();
  for (const graph::ChoiceSpace& each : found) expect_equal(each, want);
  const auto alone = remembering_backend(*backend_);
  space(*alone);
  EXPECT_EQ(shared->asked(), alone->asked());
}

TEST_F(Remembering, EqualRequestsAreOneQuestion) {
  graph::Graph graph;
  const Dims dims{1, 16, 8, 8};
  graph.eltwise(graph.input("x", dims), {.algorithm = graph::EltwiseAlgorithm::relu});
  const auto backend = remembering_backend(*backend_, file_);
  // Strides of a dim of extent 1 do not count.
  const std::vector<graph::LayoutRequest> plain{Layout::contiguous(dims)},
      other{Layout::strided(dims, {7777, 64, 8, 1})};
  ASSERT_EQ(plain[0], other[0]);
  const auto first = backend->implementations(graph, 0, plain, {}, nullptr);
  const auto second = backend->implementations(graph, 0, other, {}, nullptr);
  EXPECT_EQ(backend->asked(), 1);
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(first[0].src[0]->outer_stride(0), second[0].src[0]->outer_stride(0));
}

TEST_F(Remembering, WhatIsNoAnswerIsAskedAnew) {
  int64_t asked = 0;
  {
    const auto first = remembering_backend(*backend_, file_);
    space(*first);
    asked = first->asked();
  }
  std::string text;
  {
    std::ifstream in(file_);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string wrong;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const bool is_answer = line.size() > 40;
    wrong.append(line, 0, is_answer ? 33 : line.size()).append(is_answer ? "3 jit 0 4 1 9 9\n" : "\n");
  }
  std::ofstream(file_) << wrong;
  const auto backend = remembering_backend(*backend_, file_);
  EXPECT_FALSE(backend->file_error());
  expect_equal(space(*backend), space(*backend_));
  EXPECT_EQ(backend->asked(), asked);
}

TEST_F(Remembering, DamagedFilesAreReplacedAndOthersLeftAlone) {
  for (const char* text :
       {"", "relayout-implementations", "relayout-implementations 1\n", "relayout-implementations 1\nend 1\n",
        "relayout-implementations 1\nend 0\nmore\n", "relayout-implementations 1\nshort\nend 1\n", "something else",
        "relayout-implementations 2\nend 0\n"}) {
    std::ofstream(file_) << text;
    bool damaged = false;
    {
      const auto backend = remembering_backend(*backend_, file_);
      ASSERT_TRUE(backend->file_error()) << text;
      EXPECT_FALSE(backend->file_error()->message().empty());
      damaged = backend->file_error()->code() == ErrorCode::corrupt;
      space(*backend);
    }
    std::ifstream in(file_);
    const std::string after(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(damaged,
              text != std::string("something else") && text != std::string("relayout-implementations 2\nend 0\n"));
    EXPECT_EQ(after == text, !damaged) << text;
    const auto again = remembering_backend(*backend_, file_);
    EXPECT_EQ(!again->file_error(), damaged) << text;
  }
}

}  // namespace
}  // namespace relayout::execute
