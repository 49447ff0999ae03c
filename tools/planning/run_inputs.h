// The inputs of `relayout run`: which file is for which input of the model, and what is done to its values.
#pragma once

#include "tools/input/tensor_input.h"
#include "tools/input/values.h"
#include "tools/planning/model.h"
#include "tools/planning/resize.h"

namespace relayout::tools {

struct InputFlags {
  std::vector<std::string> inputs;  // FILE or NAME=FILE
  std::optional<std::string> random, layout, resize;
  double scale = 1;
  ValueOptions values;  // its mean and std
};
void add_input_flags(Command& command, InputFlags& flags);

/// An input of the graph with its values: of a file, or random.
struct Input {
  std::optional<TensorInput> file{};
  TensorDesc desc{};
  std::vector<std::byte> held{};

  const void* data() const { return held.empty() && file ? file->bytes.data() : held.data(); }
};

/// Opens the files of a model's inputs. Where the model leaves dims open, the files are opened first and say them.
class RunInputs {
 public:
  explicit RunInputs(const InputFlags& flags);

  /// For load_model(); `this` must stay.
  graph::DimsOfInputs dims_of_arrays();
  /// The inputs of the graph, in its order.
  std::vector<Input> open(const graph::Graph& graph);
  /// By which values of inputs are still to be multiplied.
  double scale() const { return normalizes() ? 1 : flags_.scale; }

 private:
  /// An input of the model, as far as its dims are known.
  struct Wanted {
    std::string name;
    DType dtype = DType::f32;
    std::optional<Dims> dims{};
    std::string shown{};  // for messages
  };

  bool normalizes() const { return flags_.values.mean || flags_.values.std; }
  /// The path of each input, "" where none is given. `strict`: a file for which there is no input is an error.
  std::vector<std::string> paths_of(const std::vector<Wanted>& wanted, bool strict) const;
  Input opened(const Wanted& wanted, const std::string& path) const;
  void take_resized(const Wanted& wanted, const std::string& path, Input& input) const;
  /// --resize without any picture would be ignored, so it is a usage error.
  void check_pictures(const std::vector<Input>& inputs) const;
  void check_dims(const Wanted& wanted, const std::string& path, const Input& input) const;
  /// The input in the model's type, row-major, less the mean and by the deviation.
  void normalize(const Wanted& wanted, Input& input) const;

  const InputFlags& flags_;
  std::optional<PictureSize> size_;
  /// What dims_of_arrays() has opened, by input.
  std::vector<std::optional<Input>> early_;
};

}  // namespace relayout::tools
