// The verbs of the group checkpoint: one file each, and what they share.
#pragma once

#include <string>

#include "relayout/checkpoint/checkpoint.h"
#include "tools/command/common.h"

namespace relayout::tools {

Verb add_checkpoint_list(CommandLine& line);
Verb add_checkpoint_convert(CommandLine& line);
Verb add_checkpoint_compare(CommandLine& line);
Verb add_checkpoint_reshard(CommandLine& line);
Verb add_checkpoint_which(CommandLine& line);

/// The checkpoint of an operand. Failure: bad data, io, unsupported.
checkpoint::Checkpoint open_checkpoint(const std::string& path);

/// What a tensor's elements are, for people: a type of relayout's, a packed format, or the file's own name.
std::string type_text(const checkpoint::CheckpointTensor& tensor);
/// What is recorded of its layout, and strides that are not row-major: "ohwi of 2x3x1x1, from oihw"; "" where there is
/// nothing to say.
std::string layout_text(const checkpoint::CheckpointTensor& tensor);

}  // namespace relayout::tools
