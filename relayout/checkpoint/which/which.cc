// Which layout a weight probably has: see which.h. Start reading at which() at the end.
#include "relayout/checkpoint/which/which.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "relayout/checkpoint/which/values.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

using Layouts = std::vector<std::string>;

/// The layouts of weights of a rank, those of transposed convolutions last.
Layouts layouts_of(int rank) {
  constexpr std::array<std::string_view, 4> kSpatial = {"", "w", "hw", "dhw"};
  if (rank < 2 || rank > 5) return {};
  const std::string s(kSpatial[static_cast<std::size_t>(rank) - 2]);
  if (rank == 2) return {"oi", "io"};
  return {"oi" + s, "o" + s + "i", s + "io", "io" + s, s + "oi"};
}

bool is_transposed(const std::string& layout) {
  return layout.size() > 2 && (layout.starts_with("io") || layout.ends_with("oi"));
}

/// The dims of the kernel.
std::vector<int> spatial_dims(const std::string& layout) {
  std::vector<int> out;
  for (std::size_t d = 0; d < layout.size(); ++d)
    if (layout[d] != 'o' && layout[d] != 'i') out.push_back(static_cast<int>(d));
  return out;
}

template <typename Allowed>
Layouts those(const Layouts& all, Allowed allowed) {
  Layouts out;
  std::ranges::copy_if(all, std::back_inserter(out), allowed);
  return out;
}

std::string dims_list(const std::vector<int>& dims) {
  std::string out;
  for (std::size_t i = 0; i < dims.size(); ++i)
    out += (i == 0 ? "" : i + 1 == dims.size() ? " and " : ", ") + std::to_string(dims[i]);
  return (dims.size() == 1 ? "dim " : "dims ") + out;
}

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

/// The last word of a name, "weight" of "a/b.weight:0".
std::string_view last_word(std::string_view name) {
  name = name.substr(0, name.find(':'));
  const std::size_t at = name.find_last_of("./");
  return at == name.npos ? name : name.substr(at + 1);
}

/// Collects the evidence of one tensor.
class Witness {
 public:
  Witness(const Checkpoint& model, std::size_t i)
      : model_(model), i_(i), t_(model.tensors()[i]), all_(layouts_of(t_.shape.size())) {}

  Finding finding() {
    Finding out{.name = t_.name};
    if (t_.layout && is_told()) return recorded(std::move(out));
    if (t_.layout)
      out.evidence.push_back({"record", "row-major of " + join(*t_.dims, "x") + ", and not which dim is which", {}});
    if (const std::string why = why_no_weight(); !why.empty()) {
      out.evidence.push_back({"name", why, {}});
      return out;
    }
    bias(out);
    shape(out);
    values(out);
    name(out);
    decide(out);
    return out;
  }

 private:
  /// Whether the record says more than that the array is row-major, as all are that nothing was done to.
  bool is_told() const {
    const bool row_major = t_.layout->physical_shape(*t_.dims).has_value() && *t_.dims == t_.shape &&
                           t_.layout->bind(*t_.dims) == Layout::contiguous(t_.shape);
    return !row_major || !t_.notes.from.empty();
  }

  /// Why a tensor is taken for no weight of a layer; "" where it is taken for one.
  std::string why_no_weight() const {
    if (all_.empty()) return "no usual weight has " + std::to_string(t_.shape.size()) + " dims";
    if (last_word(t_.name) == "bias") return "a bias is no weight";
    if (t_.shape.size() == 2 && t_.name.find("emb") != t_.name.npos)
      return "an embedding has (entries, values), and neither inputs nor outputs";
    return "";
  }

  Finding recorded(Finding out) const {
    out.certainty = Certainty::certain;
    out.layouts = {t_.layout->text()};
    out.recorded = true;
    out.evidence.push_back({"record",
                            escaped(t_.layout->text()) + " of " + join(*t_.dims, "x") +
                                (t_.notes.from.empty() ? "" : ", from " + escaped(t_.notes.from)),
                            out.layouts});
    return out;
  }

  /// The bias of a layer has as many values as the layer has outputs.
  void bias(Finding& out) const {
    const std::string_view word = last_word(t_.name);
    const std::size_t begin = t_.name.rfind(word);
    const std::string called = t_.name.substr(0, begin) + "bias" + t_.name.substr(begin + word.size());
    const auto at = model_.lookup(called);
    if (!at || model_.tensors()[*at].shape.size() != 1) return;
    const int64_t outputs = model_.tensors()[*at].shape[0];
    const Layouts allowed =
        those(all_, [&](const std::string& layout) { return t_.shape[static_cast<int>(layout.find('o'))] == outputs; });
    std::vector<int> dims;
    for (int d = 0; d < t_.shape.size(); ++d)
      if (t_.shape[d] == outputs) dims.push_back(d);
    if (allowed.empty() || allowed.size() == all_.size()) return;
    out.evidence.push_back(
        {"bias",
         "\"" + escaped(called, 200) + "\" has " + std::to_string(outputs) + " values, as has " + dims_list(dims),
         allowed});
  }

  /// Kernels are small, and most often as wide as high.
  void shape(Finding& out) const {
    constexpr int64_t kMostExtent = 32;
    if (all_.size() < 3) return;
    int64_t least = kMostExtent + 1;
    const auto extent_of = [&](const std::string& layout) {
      const std::vector<int> dims = spatial_dims(layout);
      const int64_t extent = t_.shape[dims[0]];
      if (dims.size() == 1 && (extent % 2 == 0 || extent > 11)) return kMostExtent + 1;  // it may be experts, or heads
      return std::ranges::all_of(dims, [&](int d) { return t_.shape[d] == extent; }) ? extent : kMostExtent + 1;
    };
    for (const std::string& layout : all_) least = std::min(least, extent_of(layout));
    if (least > kMostExtent) {
      out.evidence.push_back({"shape", "no dims are small and equal, as those of kernels are", {}});
      return;
    }
    const Layouts allowed = those(all_, [&](const std::string& layout) { return extent_of(layout) == least; });
    std::string places;
    for (const std::string& layout : allowed) {
      const std::string place = dims_list(spatial_dims(layout));
      if (places.find(place) == places.npos) places += (places.empty() ? "" : ", or ") + place;
    }
    out.evidence.push_back({"shape", "kernels of extent " + std::to_string(least) + " may be " + places, allowed});
  }

  /// Neighbours in a trained kernel are alike, and channels are in no order.
  void values(Finding& out) const {
    constexpr double kDeviations = 6, kLeast = 0.05;
    if (all_.size() < 3) return;
    const std::vector<Likeness> dims = likeness(model_, i_);
    const auto mean_of = [&](const std::string& layout) {
      double sum = 0, chance = 0;
      const std::vector<int> spatial = spatial_dims(layout);
      for (const int d : spatial) {
        sum += dims[static_cast<std::size_t>(d)].correlation;
        chance = std::max(chance, dims[static_cast<std::size_t>(d)].chance);
      }
      return Likeness{sum / static_cast<double>(spatial.size()), chance};
    };
    Likeness best{-1, 0};
    for (const std::string& layout : all_)
      if (mean_of(layout).correlation > best.correlation) best = mean_of(layout);
    const Layouts allowed = those(all_, [&](const std::string& layout) {
      const Likeness own = mean_of(layout);
      return best.correlation - own.correlation <= std::max(kDeviations * std::max(own.chance, best.chance), kLeast);
    });
    std::string text = "neighbours correlate by ";
    for (std::size_t d = 0; d < dims.size(); ++d) text += (d == 0 ? "" : ", ") + two_digits(dims[d].correlation + 0.0);
    const bool says = best.correlation > std::max(kDeviations * best.chance, kLeast) && allowed.size() < all_.size();
    out.evidence.push_back(
        {"values", text + " along the dims" + (says ? "" : ", which decides nothing"), says ? allowed : Layouts()});
  }

  /// Words that frameworks have in names.
  void name(Finding& out) const {
    const std::string_view word = last_word(t_.name);
    const bool kernel = word == "kernel", weight = word == "weight";
    if (t_.file < model_.files().size() && model_.files()[t_.file].kind == FileKind::pytorch) {
      out.evidence.push_back({"name", "the file is PyTorch's", those(all_, [](const std::string& layout) {
                                return layout.starts_with("oi") || (layout.size() > 2 && layout.starts_with("io"));
                              })});
    } else if (kernel || weight) {
      const std::string_view ends = kernel ? "io" : "";
      out.evidence.push_back(
          {"name",
           kernel ? "\"kernel\" is TensorFlow's word, Keras's and Flax's" : "\"weight\" is PyTorch's word, and MLX's",
           those(all_, [&](const std::string& layout) {
             if (layout.size() == 2) return layout == (kernel ? "io" : "oi");
             const bool last = layout.ends_with("io") || layout.ends_with("oi");
             return ends.empty() ? !last : last;
           })});
    }
  }

  /// What all evidence allows. Names are the weakest: what contradicts the rest alone is said and does not count.
  void decide(Finding& out) const {
    Layouts left = all_;
    bool says = false, contradicts = false;
    for (Evidence& each : out.evidence) {
      if (each.layouts.empty()) continue;
      says = true;
      const Layouts both = those(left, [&](const std::string& layout) {
        return std::ranges::find(each.layouts, layout) != each.layouts.end();
      });
      if (!both.empty()) {
        left = both;
      } else if (each.kind == "name") {
        each.text += ", which contradicts the rest";
      } else {
        contradicts = true;
        each.text += ", which contradicts what stands before";
      }
    }
    // A transposed convolution is meant only where nothing else is left.
    const Layouts usual = those(left, [](const std::string& layout) { return !is_transposed(layout); });
    out.layouts = usual.empty() ? left : usual;
    const bool probable = says && !contradicts && out.layouts.size() == 1;
    out.certainty = probable ? Certainty::probably : Certainty::cannot_tell;
    if (!says || contradicts) out.layouts = {};
  }

  const Checkpoint& model_;
  std::size_t i_;
  const CheckpointTensor& t_;
  Layouts all_;
};

}  // namespace

std::string_view name(Certainty certainty) {
  return certainty == Certainty::certain ? "certain" : certainty == Certainty::probably ? "probably" : "cannot tell";
}

std::vector<Finding> which(const Checkpoint& model, const GoOn& go_on) {
  std::vector<Finding> out;
  const auto total = static_cast<int64_t>(model.tensors().size());
  for (int64_t i = 0; i < total; ++i) {
    if (go_on && !go_on(i, total)) throw Error(ErrorCode::interrupted, "which: interrupted");
    const CheckpointTensor& t = model.tensors()[static_cast<std::size_t>(i)];
    if (t.problem || !t.dtype || !t.notes.packed.empty() || t.byte_swapped || t.shape.size() < 2) continue;
    out.push_back(Witness(model, static_cast<std::size_t>(i)).finding());
  }
  return out;
}

}  // namespace relayout::checkpoint
