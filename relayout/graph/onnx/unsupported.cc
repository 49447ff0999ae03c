// ONNX operators that no node of the graph computes, and what about each is in the way: a refusal says more than that
// an operator is not known.
#include <algorithm>
#include <array>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

struct Unsupported {
  std::string_view name, reason;
};

constexpr std::string_view kSequences = "sequences of tensors are not supported", kText = "text is not supported",
                           kRandom = "random numbers are not supported",
                           kCount = "how many results it has is known at run time only",
                           kTraining = "steps of training are not supported";

constexpr auto kUnsupported = std::to_array<Unsupported>({
    {"SequenceAt", kSequences},
    {"SequenceConstruct", kSequences},
    {"SequenceEmpty", kSequences},
    {"SequenceErase", kSequences},
    {"SequenceInsert", kSequences},
    {"SequenceLength", kSequences},
    {"SequenceMap", kSequences},
    {"SplitToSequence", kSequences},
    {"ConcatFromSequence", kSequences},
    {"Optional", "optional values are not supported"},
    {"StringConcat", kText},
    {"StringNormalizer", kText},
    {"StringSplit", kText},
    {"RegexFullMatch", kText},
    {"TfIdfVectorizer", "counts of n-grams are not supported"},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"Bernoulli", kRandom},
    {"Multinomial", kRandom},
    {"NonMaxSuppression", kCount},
    {"Unique", kCount},
    {"ImageDecoder", "compressed images are not supported"},
    {"Det", "determinants are not supported"},
    {"DeformConv", "windows whose places are computed at run time are not supported"},
    {"RoiAlign", "windows whose places are computed at run time are not supported"},
    {"MaxRoiPool", "windows whose places are computed at run time are not supported"},
    {"MaxUnpool", "maxima put back by indices are not supported"},
    {"STFT", "spectra of frames are not supported"},
    {"MelWeightMatrix", "filters of spectra are not supported"},
    {"Gradient", kTraining},
    {"Adam", kTraining},
    {"Adagrad", kTraining},
    {"Momentum", kTraining},
});

}  // namespace

std::string unsupported_reason(const ::onnx::NodeProto& node) {
  if (!standard_domain(node.domain())) return "operators of the domain " + in_quotes(node.domain()) + " are not known";
  const auto found = std::ranges::find(kUnsupported, std::string_view(node.op_type()), &Unsupported::name);
  return found == kUnsupported.end() ? "ONNX has no operator of that name" : std::string(found->reason);
}

}  // namespace relayout::graph::importing
