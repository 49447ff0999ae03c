// relayout checkpoint: the group of verbs. A new one is a file here and its line in add_checkpoint().
#include "tools/verbs/checkpoint/checkpoint.h"

#include <fmt/format.h>

namespace relayout::tools {

std::vector<Verb> add_checkpoint(CommandLine& line) {
  line.add_group("checkpoint", "Look at and convert the checkpoints of models, tensor by tensor",
                 "A checkpoint is a .safetensors, .gguf, .npz or PyTorch file, an index of several\n"
                 "(model.safetensors.index.json), or a folder of one model. Nothing in a file is run.\n"
                 "relayout help checkpoint VERB shows examples.");
  return {add_checkpoint_list(line), add_checkpoint_convert(line), add_checkpoint_compare(line),
          add_checkpoint_reshard(line), add_checkpoint_which(line)};
}

checkpoint::Checkpoint open_checkpoint(const std::string& path) {
  return from_data([&] { return checkpoint::Checkpoint::open(path); });
}

std::string type_text(const checkpoint::CheckpointTensor& tensor) {
  if (holds_blocks(tensor)) return tensor.notes.packed;
  if (tensor.dtype) return std::string(name(*tensor.dtype));
  return tensor.type_name.empty() ? "-" : escaped(tensor.type_name, 30);
}

std::string layout_text(const checkpoint::CheckpointTensor& tensor) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (tensor.layout) add(fmt::format("{} of {}", escaped(tensor.layout->text()), dims_text(*tensor.dims)));
  if (!tensor.notes.packed.empty())
    add((holds_blocks(tensor) ? "" : "of " + tensor.notes.packed + ", ") + "values " +
        dims_text(tensor.notes.packed_dims));
  if (!tensor.notes.from.empty()) add("from " + escaped(tensor.notes.from));
  if (tensor.notes.strides) add("was strides:" + join(*tensor.notes.strides));
  if (!tensor.row_major()) add("strides:" + join(tensor.strides));
  if (tensor.byte_swapped) add("big-endian");
  if (!tensor.mapped) add("compressed");
  return out;
}

}  // namespace relayout::tools
