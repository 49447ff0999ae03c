// interop/onednn_verbose.h against what the library prints: reorders between random descriptors. It compiles with
// oneDNN 2 and 3; verbose_primitives_test.cc has the other primitives.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "relayout/interop/onednn_desc.h"
#include "tag_names.h"
#include "verbose_lines.h"

namespace relayout {
namespace {

using dnnl::memory;
using onednn::VerboseTensor;

int64_t pick(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

constexpr memory::data_type kTypes[] = {memory::data_type::f32, memory::data_type::bf16, memory::data_type::s32,
                                        memory::data_type::s8, memory::data_type::u8};

class VerboseReorders : public testing::Test {
 protected:
  VerboseReorders() : version_(library_version()) {
    for (const TagName& tag : onednn_tag_names()) {
      if (tag.ndims >= 1 && tag.ndims <= 5 && tag.name == tag.canonical) tags_.push_back(tag);
    }
  }

  /// A descriptor by a tag, by strides, or a part of one by a tag.
  memory::desc random_desc(const memory::dims& dims) {
    const memory::data_type type = kTypes[pick(rng_, 0, 4)];
    const auto rank = dims.size();
    if (pick(rng_, 0, 3) == 0) {
      for (int attempt = 0; attempt < 20; ++attempt) {
        memory::dims strides(rank);
        for (int64_t& stride : strides) stride = pick(rng_, 1, 4000);
        const memory::desc md(dims, type, strides, true);
        if (onednn::fields_of(md)) return md;
      }
    }
    const auto count = static_cast<int64_t>(tags_.size());
    const TagName* tag = nullptr;
    do tag = &tags_[static_cast<std::size_t>(pick(rng_, 0, count - 1))];
    while (static_cast<std::size_t>(tag->ndims) != rank);
    const auto number = static_cast<memory::format_tag>(tag->tag);
    if (pick(rng_, 0, 3) != 0) return {dims, type, number};
    // The part behind the first 32 of a dim, which is a multiple of most blocks.
    memory::dims larger = dims, offsets(rank, 0);
    const auto d = static_cast<std::size_t>(pick(rng_, 0, static_cast<int64_t>(rank) - 1));
    larger[d] += 32;
    offsets[d] = 32;
    const memory::desc part = memory::desc(larger, type, number).submemory_desc(dims, offsets, true);
    return onednn::fields_of(part) ? part : memory::desc(dims, type, number);
  }

  /// Compares one tensor's text with the descriptor it is of.
  void check(const VerboseTensor& tensor, const memory::desc& md, const std::string& name) {
    const TensorDesc desc = onednn::from_desc(md);
    ASSERT_EQ(onednn::to_verbose(desc, name, version_), to_text(tensor));
    ++texts_;
    const TensorDesc read = onednn::tensor_of(tensor, desc.layout.offset0());
    if (read == desc) {
      ++equal_;
      offsets_ += desc.layout.offset0() != 0;
      return;
    }
    // Without strides in the text, a tensor with gaps reads as one without.
    ASSERT_EQ(tensor.syntax, onednn::VerboseSyntax::without_strides) << to_text(tensor);
    ASSERT_FALSE(desc.layout.packed()) << to_text(tensor);
    ++gaps_;
  }

  onednn::LibraryVersion version_;
  std::mt19937 rng_{41};
  std::vector<TagName> tags_;
  int texts_ = 0, equal_ = 0, offsets_ = 0, gaps_ = 0;
};

TEST_F(VerboseReorders, TextsAreThoseOfTheLibrary) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  int reorders = 0, run = 0;
  for (int round = 0; round < 1000 && reorders < 400 && !HasFatalFailure(); ++round) {
    memory::dims dims(static_cast<std::size_t>(pick(rng_, 1, 5)));
    for (int64_t& dim : dims) dim = pick(rng_, 0, 3) == 0 ? 1 : pick(rng_, 1, 9);
    const memory::desc src = random_desc(dims), dst = random_desc(dims);
    const dnnl::reorder::primitive_desc found(engine, src, engine, dst, {}, true);
    if (!found) continue;  // there is no such reorder
    ++reorders;
    const bool runs = src.get_size() > 0 && dst.get_size() > 0;  // a part has no size
    const auto lines = verbose_lines_of([&] {
      const dnnl::reorder reorder(found);
      if (!runs) return;
      memory from(src, engine), to(dst, engine);
      reorder.execute(stream, from, to);
      stream.wait();
    });
    ASSERT_EQ(lines.size(), runs ? 2u : 1u);
    for (const onednn::VerboseLine& line : lines) {
      ASSERT_EQ(line.primitive, "reorder");
      check(line.tensor("src"), src, "src");
      check(line.tensor("dst"), dst, "dst");
    }
    run += runs;
  }
  std::cout << "oneDNN " << version_.major << "." << version_.minor << ": " << reorders << " reorders, " << run
            << " of them run; of " << texts_ << " texts " << equal_ << " are read as the same layout (" << offsets_
            << " with an offset), and " << gaps_ << " without strides as one without gaps\n";
  EXPECT_GE(reorders, 300);
  EXPECT_GT(equal_, texts_ / 3);
}

}  // namespace
}  // namespace relayout
