// Which layout each weight of a checkpoint probably has, and the evidence. Nothing in the library acts on it: rules say
// what a tensor is, and this helps to write them.
//
//     for (const Finding& f : which(model)) { f.name; f.certainty; f.layouts; f.evidence; }
//
// Layouts are those that weights of convolutions and linear layers have in frameworks, with o and i for the output's
// and the input's channels: oihw (PyTorch), ohwi (MLX), hwio (TensorFlow, Keras, Flax), and iohw and hwoi of transposed
// convolutions. Each piece of evidence says which of these it allows; a layout that all allow is probable, and only a
// record or the same values in another checkpoint make it certain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relayout/checkpoint/checkpoint.h"

namespace relayout::checkpoint {

enum class Certainty : uint8_t { certain, probably, cannot_tell };
/// "certain", "probably", "cannot tell".
std::string_view name(Certainty certainty);

/// "shape", "kernels of extent 7 may be dims 2 and 3", and the layouts that it allows; none where it allows all.
struct Evidence {
  std::string kind, text;
  std::vector<std::string> layouts;
};

struct Finding {
  std::string name;
  Certainty certainty = Certainty::cannot_tell;
  /// One that is certain or probable, or those among which nothing decides. Against another checkpoint: orders of dims,
  /// "acdb" where dim 1 of the other one's tensor is dim 2 here.
  std::vector<std::string> layouts;
  std::vector<Evidence> evidence;
  /// Of which(): whether the record, and not the evidence, says it.
  bool recorded = false;
};

/// Of every tensor of 2 dims or more whose elements have a known type. Evidence: "record"; "bias", whose extent is the
/// output's; "shape", kernels being small and as wide as high; "values", as neighbours in a kernel are alike; "name".
/// Cost: reads at most some million values a tensor. Errors: those of Checkpoint::contents; interrupted.
std::vector<Finding> which(const Checkpoint& model, const GoOn& go_on = {});

/// The orders of dims in which tensors have the same values as those of another checkpoint: of the same name, or else
/// of any of the same extents. Values of two types are compared as those of the narrower one. One order is certain, and
/// so is that there is none; where several are, as of constant values and extents of 1, they are listed and it cannot
/// be told. Cost: reads both tensors once for each order that fits the extents, though most orders differ at once.
/// Errors as above.
std::vector<Finding> which(const Checkpoint& model, const Checkpoint& other, const GoOn& go_on = {});

}  // namespace relayout::checkpoint
