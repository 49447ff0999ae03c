// The dims of a model's inputs: what the file states, what the caller says by name, what the arrays have that the model
// will be run with, and what a plan has that was made before.
#include <algorithm>

#include "relayout/core/nearest.h"
#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

std::string quoted_name(std::string_view text) { return "\"" + escaped(text) + "\""; }

std::string place_of(const OnnxInput& input, int d) { return input.name + "[" + std::to_string(d) + "]"; }

/// What a dim without a value is called: its symbol, or INPUT[DIM] where it has none. Dims of one name are equal.
std::string key_of(const OnnxInput& input, int d) {
  const std::string& symbol = input.dims[static_cast<std::size_t>(d)].symbol;
  return symbol.empty() ? place_of(input, d) : symbol;
}

/// A dim in messages: dim 2 of input "x" ("height").
std::string described_dim(const OnnxInput& input, int d) {
  const std::string& symbol = input.dims[static_cast<std::size_t>(d)].symbol;
  return "dim " + std::to_string(d) + " of input " + quoted_name(input.name) +
         (symbol.empty() ? "" : " (" + quoted_name(symbol) + ")");
}

int rank_of(const OnnxInput& input) { return static_cast<int>(input.dims.size()); }

/// Finds out the extents of the dims that have none in the file.
class DimBinder {
 public:
  DimBinder(Import& model, std::span<const OnnxInput> inputs) : model_(model), inputs_(inputs) {}

  std::vector<Dims> run() {
    std::ranges::for_each(model_.options.dims, [&](const auto& given) { take_named(given.first, given.second); });
    take_batch();
    take_arrays();
    take_plan();
    find_batch();
    std::vector<Dims> out;
    for (const OnnxInput& input : inputs_) {
      Dims& dims = out.emplace_back();
      for (int d = 0; d < rank_of(input); ++d) dims.push_back(extent_of_dim(input, d));
    }
    for (const auto& [name, known] : known_) model_.extents.emplace(name, known.extent);
    return out;
  }

 private:
  /// An extent, and who says so.
  struct Known {
    int64_t extent = 0;
    std::string by;
  };

  [[noreturn]] static void fail(const std::string& what, const std::string& name) {
    throw Error(ErrorCode::invalid_argument, "onnx: " + what, "dims", escaped(name));
  }

  void learn(const std::string& name, int64_t extent, const std::string& by) {
    const auto [at, fresh] = known_.try_emplace(name, Known{extent, by});
    if (fresh || at->second.extent == extent) return;
    fail("dim " + quoted_name(name) + " is " + std::to_string(at->second.extent) + " " + at->second.by + ", and " +
             std::to_string(extent) + " " + by,
         name);
  }

  bool is_open(const OnnxInput& input, int d) const { return !input.dims[static_cast<std::size_t>(d)].extent; }

  /// Takes the extent of a dim by its symbol, or as INPUT[DIM].
  void take_named(const std::string& name, int64_t extent) {
    if (extent < 0) fail("dim " + quoted_name(name) + " cannot be " + std::to_string(extent), name);
    for (const OnnxInput& input : inputs_) {
      for (int d = 0; d < rank_of(input); ++d) {
        const OnnxDim& dim = input.dims[static_cast<std::size_t>(d)];
        if (dim.symbol == name && !name.empty()) return learn(name, extent, "as given");
        if (place_of(input, d) != name) continue;
        if (!dim.extent) return learn(key_of(input, d), extent, "as given");
        if (*dim.extent == extent) return;
        fail(described_dim(input, d) + " is " + std::to_string(*dim.extent) + " in the file, and cannot be " +
                 std::to_string(extent),
             name);
      }
    }
    throw_unknown(name);
  }

  [[noreturn]] void throw_unknown(const std::string& name) const {
    std::vector<std::string> open;
    for (const OnnxInput& input : inputs_) {
      for (int d = 0; d < rank_of(input); ++d) {
        if (is_open(input, d) && std::ranges::find(open, key_of(input, d)) == open.end())
          open.push_back(key_of(input, d));
      }
    }
    std::string list;
    for (const std::string& key : open) list += (list.empty() ? "" : ", ") + escaped(key);
    const std::vector<std::string_view> names(open.begin(), open.end());
    const std::string_view near = nearest_name(name, names);
    throw Error(ErrorCode::invalid_argument,
                "onnx: no dim of the model's inputs is called " + quoted_name(name) + "; " +
                    (open.empty() ? "all of them have values in the file" : "those without a value are " + list) +
                    (near.empty() ? "" : "; did you mean " + escaped(near) + "?"),
                "dims", escaped(name), list);
  }

  void take_batch() {
    if (model_.options.batch <= 0) return;
    for (const OnnxInput& input : inputs_) {
      if (!input.dims.empty() && is_open(input, 0)) learn(key_of(input, 0), model_.options.batch, "by the batch size");
    }
  }

  void take_arrays() {
    if (!model_.options.dims_of_arrays || all_known()) return;
    take_dims(model_.options.dims_of_arrays(inputs_), "its array",
              [](const OnnxInput& input) { return "in input " + quoted_name(input.name); });
  }

  void take_plan() {
    if (!model_.options.dims_of_plan) return;
    take_dims(model_.options.dims_of_plan(inputs_), "the plan",
              [](const OnnxInput&) { return std::string("in the plan, which is for that size alone"); });
  }

  /// Takes open dims from whole ones, which `holder` has; by(input) says so in messages about a dim.
  template <typename By>
  void take_dims(const std::vector<std::optional<Dims>>& dims, const std::string& holder, By by) {
    for (std::size_t i = 0; i < std::min(dims.size(), inputs_.size()); ++i) {
      const OnnxInput& input = inputs_[i];
      if (!dims[i]) continue;
      if (dims[i]->size() != rank_of(input)) {
        throw Error(ErrorCode::invalid_argument,
                    "onnx: input " + quoted_name(input.name) + " has " + std::to_string(rank_of(input)) +
                        " dims, and " + holder + " has " + std::to_string(dims[i]->size()),
                    escaped(input.name), join(*dims[i], "x"), std::to_string(rank_of(input)));
      }
      for (int d = 0; d < rank_of(input); ++d) {
        if (is_open(input, d)) learn(key_of(input, d), (*dims[i])[d], by(input));
      }
    }
  }

  bool all_known() const {
    return std::ranges::all_of(inputs_, [&](const OnnxInput& input) {
      for (int d = 0; d < rank_of(input); ++d) {
        if (is_open(input, d) && !known_.contains(key_of(input, d))) return false;
      }
      return true;
    });
  }

  /// The batch that is replaced, and the one that inputs have whose first dim nothing else says.
  void find_batch() {
    const auto first = std::ranges::find_if(inputs_, [](const OnnxInput& input) { return !input.dims.empty(); });
    if (first == inputs_.end()) return;
    const auto known = known_.find(key_of(*first, 0));
    model_.batch = model_.options.batch > 0 ? model_.options.batch
                   : first->dims[0].extent  ? *first->dims[0].extent
                   : known != known_.end()  ? known->second.extent
                                            : 1;
    // Where the file leaves the batch open, its shapes are right for each batch.
    model_.file_batch = first->dims[0].extent.value_or(model_.batch);
    for (const OnnxInput& input : inputs_) {
      if (input.dims.empty() || !is_open(input, 0) || known_.contains(key_of(input, 0))) continue;
      model_.warnings.push_back(described_dim(input, 0) + " has no value, and is taken as " +
                                std::to_string(model_.batch));
      learn(key_of(input, 0), model_.batch, "by default");
    }
  }

  int64_t extent_of_dim(const OnnxInput& input, int d) const {
    if (d == 0 && model_.options.batch > 0) return model_.options.batch;
    if (!is_open(input, d)) return *input.dims[static_cast<std::size_t>(d)].extent;
    const auto known = known_.find(key_of(input, d));
    if (known != known_.end()) return known->second.extent;
    if (model_.options.unknown_extent > 0) return model_.options.unknown_extent;
    throw Error(ErrorCode::unsupported, "onnx: " + described_dim(input, d) + " has no value", "dims",
                escaped(key_of(input, d)));
  }

  Import& model_;
  const std::span<const OnnxInput> inputs_;
  std::map<std::string, Known> known_;
};

}  // namespace

std::vector<Dims> bound_dims(Import& model, std::span<const OnnxInput> inputs) {
  return DimBinder(model, inputs).run();
}

}  // namespace relayout::graph::importing
