// Tensors of ranks put together and cut anew. Start reading at plan_reshard() at the end.
#include "relayout/checkpoint/reshard.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "relayout/checkpoint/assembly.h"
#include "relayout/core/error.h"
#include "relayout/core/print.h"

namespace relayout::checkpoint {
namespace {

class Resharder {
 public:
  Resharder(const Checkpoint& joined, int from, const Rules& rules, int to)
      : joined_(joined), rules_(rules), from_(from), to_(to) {
    if (from < 1 || to < 1) throw Error(ErrorCode::invalid_argument, "reshard: there are 1 rank or more", "ranks");
    out_.resize(static_cast<std::size_t>(to));
  }

  std::vector<Conversion> plan() {
    std::vector<bool> used(rules_.rules.size());
    const auto all = joined_.tensors();
    for (std::size_t i = 0; i < all.size() && all[i].name.starts_with("0/"); ++i) take(i, used);
    check_others();
    for (Conversion& rank : out_) {
      for (std::size_t r = 0; r < used.size(); ++r)
        if (!used[r]) rank.idle.push_back(r);
      rank.metadata.assign(joined_.metadata().begin(), joined_.metadata().end());
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why, ErrorCode code = ErrorCode::invalid_argument) const {
    throw Error(code, "tensor \"" + escaped(name_, 200) + "\": " + why, "tensor", escaped(name_, 200));
  }

  const Rule* rule_of(const CheckpointTensor& tensor, std::vector<bool>& used) const {
    for (std::size_t r = 0; r < rules_.rules.size(); ++r) {
      const Rule& rule = rules_.rules[r];
      if (rule.rank && *rule.rank != tensor.shape.size()) continue;
      for (const NamePattern& pattern : rule.match) {
        if (!pattern.match(name_)) continue;
        used[r] = true;
        if (rule.from || rule.type || rule.rename || rule.permute || rule.split || rule.merge)
          fail(rule.where + " converts it, and ranks are only cut anew: convert what comes out");
        return &rule;
      }
    }
    return nullptr;
  }

  /// The tensor of this name of every rank.
  std::vector<std::size_t> in_all_ranks(std::size_t first) const {
    std::vector<std::size_t> out;
    const CheckpointTensor& model = joined_.tensors()[first];
    for (int k = 0; k < from_; ++k) {
      const auto at = joined_.lookup(std::to_string(k) + "/" + name_);
      if (!at) fail("rank " + std::to_string(k) + " lacks it");
      const CheckpointTensor& tensor = joined_.tensors()[*at];
      if (tensor.problem) throw Error(*tensor.problem);
      const bool same_record = tensor.layout.has_value() == model.layout.has_value() &&
                               (!tensor.layout || tensor.layout->text() == model.layout->text());
      if (tensor.dtype != model.dtype || tensor.type_name != model.type_name || tensor.shape != model.shape ||
          tensor.notes.packed != model.notes.packed || !same_record)
        fail("rank " + std::to_string(k) + " has another type, shape or record of it than rank 0");
      out.push_back(*at);
    }
    return out;
  }

  void take(std::size_t first, std::vector<bool>& used) {
    const CheckpointTensor& tensor = joined_.tensors()[first];
    name_ = tensor.name.substr(2);
    const Rule* rule = rule_of(tensor, used);
    if (rule && rule->skip) {
      for (Conversion& rank : out_) rank.skipped.push_back(first);
      return;
    }
    const std::vector<std::size_t> ranks = in_all_ranks(first);
    if (!rule || !rule->shard) {
      copy(ranks);
    } else {
      cut(ranks, *rule->shard);
    }
  }

  /// What is the same in all ranks goes to each new one.
  void copy(const std::vector<std::size_t>& ranks) {
    const CheckpointTensor& tensor = joined_.tensors()[ranks[0]];
    if (!tensor.row_major() || tensor.byte_swapped) fail("its elements do not lie in order", ErrorCode::unsupported);
    const Contents first = joined_.contents(ranks[0]);
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      const Contents other = joined_.contents(ranks[k]);
      if (first.bytes.size() != other.bytes.size() ||
          !std::equal(first.bytes.begin(), first.bytes.end(), other.bytes.begin()))
        fail("no rule says along which dim it is cut, and ranks 0 and " + std::to_string(k) + " have different values");
    }
    const Layout bytes = Layout::contiguous(Dims{tensor.byte_size});
    Target target{.spec = spec_of(tensor), .memory = {bytes, DType::u8}, .pieces = whole(ranks[0], bytes).pieces};
    target.spec.name = name_;
    for (Conversion& rank : out_) rank.targets.push_back(target);
  }

  /// An extent over a number of ranks.
  int64_t share(int64_t extent, int ranks) const {
    if (extent % ranks != 0)
      fail("an extent of " + std::to_string(extent) + " is not " + std::to_string(ranks) + " equal parts");
    return extent / ranks;
  }

  void cut(const std::vector<std::size_t>& ranks, const RankCut& shard) {
    const CheckpointTensor& tensor = joined_.tensors()[ranks[0]];
    if (!tensor.dtype || !tensor.notes.packed.empty() || tensor.byte_swapped)
      fail("it is cut, and its elements are of no type that is known here", ErrorCode::unsupported);
    const bool recorded = tensor.layout && tensor.layout->physical_shape(*tensor.dims);
    std::vector<Assembly> parts;
    for (const std::size_t i : ranks) {
      const CheckpointTensor& each = joined_.tensors()[i];
      parts.push_back(whole(i, recorded ? each.layout->bind_physical(*each.dims, each.strides) : each.memory()));
    }
    const int dim = checked_dim(shard.dim, parts[0].dims.size());
    const int64_t extent = parts[0].dims[dim] * from_;
    const std::vector<int64_t> sizes = shard.parts.empty() ? std::vector<int64_t>{extent} : shard.parts;
    if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != extent)
      fail("the parts " + join(sizes) + " do not add up to extent " + std::to_string(extent) + " of dim " +
           std::to_string(dim) + " in all ranks");
    std::vector<Assembly> whole_parts;  // each part from all ranks
    int64_t at = 0;
    for (const int64_t size : sizes) {
      const int64_t each = share(size, from_);
      std::vector<Assembly> pieces;
      for (const Assembly& rank : parts) pieces.push_back(narrowed(rank, dim, at, each));
      whole_parts.push_back(joined(pieces, dim));
      at += each;
    }
    for (int j = 0; j < to_; ++j) {
      std::vector<Assembly> pieces;
      for (std::size_t p = 0; p < sizes.size(); ++p) {
        const int64_t each = share(sizes[p], to_);
        pieces.push_back(narrowed(whole_parts[p], dim, j * each, each));
      }
      add(joined(pieces, dim), tensor, recorded, j);
    }
  }

  void add(const Assembly& made, const CheckpointTensor& tensor, bool recorded, int rank) {
    Target target{.state = TargetState::converted, .src_type = *tensor.dtype};
    if (recorded) {
      target.spec = spec_of(*tensor.layout, made.dims, *tensor.dtype, name_);
      target.memory = TensorDesc(tensor.layout->bind(made.dims), *tensor.dtype);
      target.spec.notes.from = tensor.notes.from;
    } else {
      target.spec = {.name = name_, .dtype = *tensor.dtype, .shape = made.dims};
      target.memory = TensorDesc(Layout::contiguous(made.dims), *tensor.dtype);
    }
    target.pieces = made.pieces;
    out_[static_cast<std::size_t>(rank)].targets.push_back(std::move(target));
  }

  /// Every tensor of every rank is one of rank 0's too.
  void check_others() {
    for (const CheckpointTensor& tensor : joined_.tensors()) {
      name_ = tensor.name.substr(tensor.name.find('/') + 1);
      if (!joined_.lookup("0/" + name_)) fail("rank 0 lacks it, and \"" + escaped(tensor.name, 200) + "\" is there");
    }
  }

  const Checkpoint& joined_;
  const Rules& rules_;
  int from_, to_;
  std::string name_;
  std::vector<Conversion> out_;
};

}  // namespace

std::vector<Conversion> plan_reshard(const Checkpoint& joined, int from, const Rules& rules, int to) {
  return Resharder(joined, from, rules, to).plan();
}

}  // namespace relayout::checkpoint
