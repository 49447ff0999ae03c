// Trace: what a program did, as its log, profile or generated code tells it: operations in their order, with the
// layouts of what they read and write, and their times. Readers fill it (readers.h), and report.h finds the reorders in
// it.
//
//     Trace trace = read_onednn(text);
//     trace.events[0].kind;                  // "reorder"
//     trace.events[0].reads[0].layout;       // "abcd"
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::explaining {

/// A tensor that an event reads or writes, as far as the source says it.
struct Tensor {
  /// The operand's or the tensor's name: "src", "wei", "conv1_out"; may be empty.
  std::string name{};
  /// An expression of a layout (core/format.h) or, where that is not known, the words of the source; may be empty.
  std::string layout{};
  /// The element type in the words of the source, where `desc` has none.
  std::string dtype{};
  std::optional<Dims> dims{};
  /// Layout and type, where the source says both and they are known here.
  std::optional<TensorDesc> desc{};
  /// What a writer and a reader of one tensor have in common: its name where the source names tensors, else all that
  /// is written of it. Empty where nothing may be compared.
  std::string key{};
  /// Whether it holds weights: a constant or an operand that is one for every run.
  bool weights = false;
};

/// The tensors of an event. Copies share them until one of them is changed, as a log says the same in every run.
class Tensors {
 public:
  Tensors() = default;
  Tensors(std::initializer_list<Tensor> all) : all_(std::make_shared<std::vector<Tensor>>(all)) {}

  std::size_t size() const { return all_ ? all_->size() : 0; }
  bool empty() const { return size() == 0; }
  const Tensor* begin() const { return all_ ? all_->data() : nullptr; }
  const Tensor* end() const { return begin() + size(); }
  /// There has to be one.
  const Tensor& front() const { return all_->front(); }
  const Tensor& operator[](std::size_t k) const { return (*all_)[k]; }
  Tensor& front() { return own().front(); }
  Tensor& operator[](std::size_t k) { return own()[k]; }
  void push_back(Tensor tensor) { own().push_back(std::move(tensor)); }

 private:
  std::vector<Tensor>& own() {
    if (!all_) all_ = std::make_shared<std::vector<Tensor>>();
    if (all_.use_count() > 1) all_ = std::make_shared<std::vector<Tensor>>(*all_);
    return *all_;
  }
  std::shared_ptr<std::vector<Tensor>> all_;
};

/// How free an operation is in the layouts of what it reads.
enum class Freedom : uint8_t {
  fixed,          // it reads the layout that it was made for
  any,            // it works on any layout and writes the same one, as elementwise operations and pooling do
  channels_last,  // besides its own blocked layout it takes channels last, as oneDNN's convolutions do
};

/// One operation that was run, or a node of a graph that is run once in each run.
struct Event {
  /// In the source: a line's number, or the place in its list, from 1 on.
  int64_t place = 0;
  std::string name{};            // of the layer or node; empty where operations have no names
  std::string kind{};            // convolution, reorder, Transpose ... in the words of the source
  std::string implementation{};  // jit:uni ...; may be empty
  bool reorder = false;  // it moves elements and computes nothing: the first of `reads` to the first of `writes`
  Freedom freedom = Freedom::fixed;
  Tensors reads{}, writes{};
  /// Whether values change on the way by more than their type: scales, zero points, sums.
  bool arithmetic = false;
  /// Milliseconds of one run; nothing where the source has no times.
  std::optional<double> ms{};
  /// Of a transposition of dims, as ONNX has it: dim d of what is written is dim perm[d] of what is read. `reads` and
  /// `writes` then have descriptors of the same dims, those that are read.
  std::vector<int> perm{};
  /// Set by a reader that knows better than the rules here that the reorder can go: why, and what to do.
  std::string judged{}, advice{};
  /// Words of the source that a reader of the report may want: oneDNN's attributes, the line of generated code.
  std::string detail{};
};

struct Trace {
  std::string system{};   // "oneDNN", "ONNX Runtime" ...
  std::string version{};  // of the system, where the source says it
  std::string source{};   // "verbose log", "profile", "execution graph" ...
  std::vector<Event> events{};
  /// Whether the events are all runs one after the other; else each stands for every run, and `runs` says how many
  /// there were, with times that are means.
  bool in_order = true;
  int64_t runs = 1;
  int threads = 0;  // that the operations ran with; 0 where it is not known
  /// Whether times are predictions for this machine, as the source has none.
  bool predicted = false;
  /// Whether the reader judged every reorder, so that those without `judged` are needed.
  bool decided = false;
  /// Of a system that puts reorders in by itself: a sentence on what its user can do where an operation could take a
  /// layout and is not given it; empty where the program decides.
  std::string recourse{};
  /// What was left out or assumed, as sentences.
  std::vector<std::string> notes{};
};

}  // namespace relayout::explaining
