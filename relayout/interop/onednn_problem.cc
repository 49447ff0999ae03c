// Problems of oneDNN's verbose lines, in the words of its tool benchdnn, as dims of tensors: see onednn_problem.h.
#include "relayout/interop/onednn_problem.h"

#include <algorithm>
#include <map>

#include "relayout/interop/onednn_numbers.h"

namespace relayout::onednn {
namespace {

using Sizes = std::map<std::string, int64_t, std::less<> >;

/// "2x3:3x4" as a list; an entry that is no dims is nothing. DNNL 1 has a space before the last.
std::vector<std::optional<Dims> > dims_list(std::string_view text) {
  std::vector<std::optional<Dims> > out;
  while (true) {
    const std::size_t end = std::min(text.find_first_of(": "), text.size());
    out.push_back(numbers_of(text.substr(0, end)));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

/// "mb1_ic3oc64_ih224" as sizes by name. Numbers that are not whole are left out (lrn's beta).
Sizes sizes_of(std::string_view text) {
  Sizes out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '_') {
      ++at;
      continue;
    }
    const std::size_t first = at;
    while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
    const std::string_view name = text.substr(first, at - first);
    const std::size_t number = at;
    at = std::min(text.find_first_not_of("0123456789.-", at), text.size());
    const std::string_view value = text.substr(number, at - number);
    if (name.empty() || value.empty()) return {};
    if (value.size() <= 18 && are_digits(value)) out[std::string(name)] = parse_int(value, "problem");
  }
  return out;
}

/// Gives these dims to all tensors of a name.
void set_dims(VerboseLine& line, std::string_view name, const std::optional<Dims>& dims) {
  for (VerboseTensor& tensor : line.tensors) {
    if (tensor.name == name) tensor.dims = dims;
  }
}

/// The sizes of these names one after the other, each with the beginning `before`; those that are missing are left out.
void append(Dims& dims, const Sizes& sizes, std::string_view before, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = sizes.find(std::string(before) + std::string(name));
    if (found != sizes.end() && dims.size() < kMaxDims) dims.push_back(found->second);
  }
}

std::optional<Dims> with_spatial(const Sizes& sizes, std::string_view channels, std::string_view before) {
  if (!sizes.contains("mb") || !sizes.contains(channels)) return std::nullopt;
  Dims out{sizes.find("mb")->second, sizes.find(channels)->second};
  append(out, sizes, before, {"d", "h", "w"});
  return out;
}

void bind_convolution(VerboseLine& line) {
  const Sizes sizes = sizes_of(line.problem);
  if (!sizes.contains("ic") || !sizes.contains("oc")) return;
  set_dims(line, "src", with_spatial(sizes, "ic", "i"));
  // A fused depthwise convolution makes the destination of a size that the problem does not have.
  if (line.attributes.find("dw:") == std::string::npos) set_dims(line, "dst", with_spatial(sizes, "oc", "o"));
  const int64_t groups = sizes.contains("g") ? sizes.find("g")->second : 1;
  if (groups < 1) return;
  Dims weights;
  if (sizes.contains("g")) weights.push_back(groups);
  weights.push_back(sizes.find("oc")->second / groups);
  weights.push_back(sizes.find("ic")->second / groups);
  append(weights, sizes, "k", {"d", "h", "w"});
  set_dims(line, "wei", weights);
  set_dims(line, "bia", Dims{sizes.find("oc")->second});
}

void bind_inner_product(VerboseLine& line) {
  const Sizes sizes = sizes_of(line.problem);
  const std::optional<Dims> src = with_spatial(sizes, "ic", "i");
  if (!src || !sizes.contains("oc")) return;
  const int64_t channels = sizes.find("oc")->second;
  Dims weights = *src;
  weights[0] = channels;
  set_dims(line, "src", src);
  set_dims(line, "wei", weights);
  set_dims(line, "bia", Dims{channels});
  set_dims(line, "dst", Dims{(*src)[0], channels});
}

/// Pooling and resampling, whose workspace is as large as the destination.
void bind_window(VerboseLine& line) {
  const Sizes sizes = sizes_of(line.problem);
  set_dims(line, "src", with_spatial(sizes, "ic", "i"));
  for (const char* name : {"dst", "ws"}) set_dims(line, name, with_spatial(sizes, "ic", "o"));
}

/// The larger of two dims each, which is what a binary operation gives; dims of extent 1 repeat.
std::optional<Dims> broadcast_of(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims out = *a;
  for (int d = 0; d < out.size(); ++d) out[d] = out[d] == 1 ? (*b)[d] : out[d];
  return out;
}

/// Sources in the order of the line; what is beyond the list stays open.
void bind_sources(VerboseLine& line, const std::vector<std::optional<Dims> >& list) {
  std::size_t next = 0;
  for (VerboseTensor& tensor : line.tensors) {
    if (tensor.name == "src" && next < list.size()) tensor.dims = list[next++];
  }
}

/// The dims of a matmul of DNNL 1, "b2m3n4k5": source, weights and destination.
std::vector<std::optional<Dims> > sizes_of_matmul(std::string_view problem) {
  const Sizes sizes = sizes_of(problem);
  if (!sizes.contains("m") || !sizes.contains("n") || !sizes.contains("k")) return {};
  std::vector<std::optional<Dims> > out;
  for (const auto& [rows, columns] : {std::pair("m", "k"), std::pair("k", "n"), std::pair("m", "n")}) {
    Dims dims;
    append(dims, sizes, "", {"b", rows, columns});
    out.emplace_back(dims);
  }
  return out;
}

/// Matrices, also those of gemm, which oneDNN's GPU primitives are made of.
void bind_matmul(VerboseLine& line, std::vector<std::optional<Dims> > list) {
  if (list.size() < 2) list = sizes_of_matmul(line.problem);
  if (list.size() < 2) return;
  for (const char* name : {"src", "src_a"}) set_dims(line, name, list[0]);
  for (const char* name : {"wei", "src_b"}) set_dims(line, name, list[1]);
  std::optional<Dims> dst;
  if (list.size() >= 3) {
    dst = list[2];
  } else if (list[0] && list[1] && list[0]->size() == list[1]->size() && list[0]->size() >= 2) {
    const int last = list[0]->size() - 1;
    dst = broadcast_of(list[0], list[1]);
    (*dst)[last - 1] = (*list[0])[last - 1];
    (*dst)[last] = (*list[1])[last];
  }
  set_dims(line, "dst", dst);
  for (VerboseTensor& tensor : line.tensors) {
    if (tensor.name != "bia" || !dst || tensor.mask.empty() || tensor.mask.size() > 4) continue;
    const int64_t mask = parse_int(tensor.mask, "mask");
    Dims dims = *dst;
    for (int d = 0; d < dims.size(); ++d) dims[d] = ((mask >> d) & 1) != 0 ? dims[d] : 1;
    tensor.dims = dims;
  }
}

/// Attention: queries x keys of equal width, and as many values as keys. The problem has no dims of the mask.
void bind_attention(VerboseLine& line, const std::vector<std::optional<Dims> >& list) {
  if (list.size() < 3) return;
  std::optional<Dims> dst;
  if (list[0] && list[2] && !list[0]->empty() && list[0]->size() == list[2]->size()) {
    dst = list[0];
    dst->back() = list[2]->back();
  }
  const std::pair<std::string, std::optional<Dims> > tensors[] = {
      {"query", list[0]}, {"key", list[1]}, {"val", list[2]}, {"dst", dst}};
  for (const auto& [name, dims] : tensors) {
    set_dims(line, name, dims);
    set_dims(line, "diff_" + name, dims);
  }
}

/// A gated layer of two matrices side by side (gate, up) and one behind them (down): "mb2ic8oc32".
void bind_gated_mlp(VerboseLine& line) {
  const Sizes sizes = sizes_of(line.problem);
  for (const char* name : {"mb", "ic", "oc"}) {
    if (!sizes.contains(name)) return;
  }
  const auto matrix = [&](const char* rows, const char* columns) {
    return Dims{sizes.find(rows)->second, sizes.find(columns)->second};
  };
  for (const char* name : {"src", "dst"}) set_dims(line, name, matrix("mb", "ic"));
  for (const char* name : {"wei_gate", "wei_up"}) set_dims(line, name, matrix("ic", "oc"));
  set_dims(line, "wei_down", matrix("oc", "ic"));
}

void bind_concat(VerboseLine& line, const std::vector<std::optional<Dims> >& list) {
  bind_sources(line, list);
  constexpr std::string_view kAxis = "axis:";
  const std::size_t at = line.auxiliary.find(kAxis);
  if (at == std::string::npos || !list[0]) return;
  const std::optional<Dims> axis = numbers_of(std::string_view(line.auxiliary).substr(at + kAxis.size()));
  if (!axis || (*axis)[0] >= list[0]->size()) return;
  const auto d = static_cast<int>((*axis)[0]);
  Dims dst = *list[0];
  dst[d] = 0;
  for (const std::optional<Dims>& src : list) {
    if (!src || src->size() != dst.size()) return;
    const auto sum = checked_add(dst[d], (*src)[d]);
    if (!sum) return;  // no tensor is so large
    dst[d] = *sum;
  }
  set_dims(line, "dst", dst);
}

/// Data of one shape, and the statistics and scales of a layer normalization.
void bind_same(VerboseLine& line, const std::optional<Dims>& dims) {
  for (VerboseTensor& tensor : line.tensors) {
    const bool statistics = tensor.name == "stats";
    const bool scales = tensor.name.ends_with("scale") || tensor.name.ends_with("shift");
    tensor.dims = dims;
    if (dims && statistics) tensor.dims->pop_back();
    if (dims && scales) tensor.dims = Dims{dims->back()};
  }
}

/// Recurrent layers: l layers of t steps, with slc and sic channels of the sources, dhc of the hidden state and dic of
/// the projected one.
void bind_rnn(VerboseLine& line) {
  const Sizes sizes = sizes_of(line.problem);
  for (const char* name : {"l", "t", "mb", "sic", "slc", "dhc", "dic"}) {
    if (!sizes.contains(name)) return;
  }
  const auto size = [&](const char* name) { return sizes.find(name)->second; };
  const auto says = [&](std::string_view word) { return line.auxiliary.find(word) != std::string::npos; };
  const int64_t directions = says("bidirectional") ? 2 : 1;
  const int64_t gates = says("lstm") ? 4 : (says("gru") ? 3 : 1);
  const auto state = [&](const Dims& rest) {
    Dims out{size("l"), directions};
    for (const int64_t dim : rest) out.push_back(dim);
    return out;
  };
  const std::pair<std::string_view, Dims> tensors[] = {
      {"src_layer", {size("t"), size("mb"), size("slc")}},
      {"src_iter", state({size("mb"), size("sic")})},
      {"wei_layer", state({size("slc"), gates, size("dhc")})},
      {"wei_iter", state({size("sic"), gates, size("dhc")})},
      {"wei_peephole", state({3, size("dhc")})},
      {"wei_proj", state({size("dhc"), size("dic")})},
      {"bias", state({gates + (says("lbr_") ? 1 : 0), size("dhc")})},
      {"dst_layer", {size("t"), size("mb"), size("dic") * (says("bidirectional_concat") ? 2 : 1)}},
      {"dst_iter", state({size("mb"), size("dic")})}};
  for (const auto& [name, dims] : tensors) {
    set_dims(line, name, dims);
    set_dims(line, "diff_" + std::string(name), dims);
  }
}

/// "mb2ic16ih5iw4", "x5" for rank 1, "2x3x4x5x6x7" for ranks over 5.
std::optional<Dims> described_dims(std::string_view text) {
  if (const std::optional<Dims> dims = numbers_of(text)) return dims;
  if (text.starts_with('x')) return numbers_of(text.substr(1));
  return with_spatial(sizes_of(text), "ic", "i");
}

void bind_all(VerboseLine& line) {
  const std::string_view kind = line.primitive;
  const std::vector<std::optional<Dims> > list = dims_list(line.problem);
  if (kind == "convolution" || kind == "deconvolution") return bind_convolution(line);
  if (kind == "inner_product") return bind_inner_product(line);
  if (kind == "pooling" || kind == "pooling_v2" || kind == "resampling") return bind_window(line);
  if (kind == "matmul" || kind == "gemm") return bind_matmul(line, list);
  if (kind == "sdpa") return bind_attention(line, list);
  if (kind == "gated_mlp") return bind_gated_mlp(line);
  if (kind == "concat") return bind_concat(line, list);
  if (kind == "batch_normalization" || kind == "group_normalization" || kind == "lrn") {
    return bind_same(line, described_dims(line.problem));
  }
  if (kind == "rnn") return bind_rnn(line);
  if (list.size() == 1) return bind_same(line, list[0]);
  if (kind == "binary") {
    bind_sources(line, list);
    set_dims(line, "dst", broadcast_of(list[0], list[1]));
  } else if (kind == "prelu") {
    for (const char* name : {"data", "diff"}) set_dims(line, name, list[0]);
    for (const char* name : {"wei", "diff_wei"}) set_dims(line, name, list[1]);
  } else if (kind == "reduction") {
    set_dims(line, "src", list[0]);
    set_dims(line, "dst", list[1]);
  }
}

}  // namespace

void bind_problem(VerboseLine& line) {
  bind_all(line);
  // A tensor that the primitive does not have is written all the same.
  for (VerboseTensor& tensor : line.tensors) {
    if (tensor.data_type == "undef") tensor.dims.reset();
  }
}

}  // namespace relayout::onednn
