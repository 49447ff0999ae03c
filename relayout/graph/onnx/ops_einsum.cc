// ONNX's Einsum as transposes, sums and products of matrices, from the first source to the last.
//
// Each dim has a label: a letter of the equation, or a number below 0 for the dims of an ellipsis, counted from the
// end.
#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

using Labels = std::vector<int>;

bool has_label(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

/// A value with a label for each dim.
struct Term {
  Value value;
  Labels labels;

  int64_t extent(int label) const {
    const auto at = std::ranges::find(labels, label) - labels.begin();
    return value.dims[static_cast<int>(at)];
  }
};

/// The labels of one term of the equation, for a value of `rank` dims, or for `ellipsis` dims in its ellipsis.
Labels labels_of(const Op& op, std::string_view text, int ellipsis) {
  Labels out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      for (int d = ellipsis; d > 0; --d) out.push_back(-d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      out.push_back(text[i]);
    } else {
      op.corrupt("equation with " + in_quotes(text));
    }
  }
  return out;
}

int letters_of(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](unsigned char c) { return std::isalpha(c) != 0; }));
}

/// The value with its dims in the order of `labels`, which are all of its own.
Value ordered(Op& op, const Term& term, const Labels& labels) {
  std::vector<int> order;
  for (const int label : labels) {
    order.push_back(static_cast<int>(std::ranges::find(term.labels, label) - term.labels.begin()));
  }
  return transpose(op, term.value, order);
}

/// Takes the diagonal of two dims of one label until every label is there once.
void take_diagonals(Op& op, Term& term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const auto twin =
        std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end(), term.labels[i]);
    if (twin == term.labels.end()) continue;
    const auto j = static_cast<std::size_t>(twin - term.labels.begin());
    const int64_t extent = term.value.dims[static_cast<int>(i)];
    if (term.value.dims[static_cast<int>(j)] != extent) op.corrupt("a diagonal of " + join(term.value.dims, "x"));
    std::vector<int> order;
    for (std::size_t d = 0; d < term.labels.size(); ++d) {
      if (d != i && d != j) order.push_back(static_cast<int>(d));
    }
    Labels rest;
    for (const int d : order) rest.push_back(term.labels[static_cast<std::size_t>(d)]);
    rest.push_back(term.labels[i]);
    order.push_back(static_cast<int>(i));
    order.push_back(static_cast<int>(j));
    Value turned = transpose(op, term.value, order);
    Dims dims = turned.dims;
    dims.erase(dims.size() - 1);
    dims[dims.size() - 1] = extent * extent;
    turned = reshape(op, turned, dims);
    SliceAttributes diagonal{Dims(dims.size(), 0), dims, Dims(dims.size(), 1)};
    diagonal.steps[dims.size() - 1] = extent + 1;
    term = {slice(op, turned, diagonal), rest};
    i = static_cast<std::size_t>(-1);
  }
}

/// Adds up the dims whose label is not kept.
void sum_others(Op& op, Term& term, const Labels& kept) {
  std::vector<int> axes;
  Dims dims;
  Labels labels;
  for (std::size_t d = 0; d < term.labels.size(); ++d) {
    if (has_label(kept, term.labels[d])) {
      dims.push_back(term.value.dims[static_cast<int>(d)]);
      labels.push_back(term.labels[d]);
    } else {
      axes.push_back(static_cast<int>(d));
    }
  }
  if (axes.empty()) return;
  term = {reshape(op, reduce(op, term.value, ReductionAlgorithm::sum, axes), dims), labels};
}

Dims label_extents(const Term& term, const Labels& labels) {
  Dims out;
  for (const int label : labels) out.push_back(term.extent(label));
  return out;
}

Labels all_labels(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The sum over the labels that both have and that are not kept, as one product of batches of matrices.
Term contracted(Op& op, const Term& a, const Term& b, const Labels& kept) {
  Labels batch, summed, left, right;
  for (const int label : a.labels) {
    (!has_label(b.labels, label) ? left : has_label(kept, label) ? batch : summed).push_back(label);
  }
  for (const int label : b.labels) {
    if (!has_label(a.labels, label)) right.push_back(label);
  }
  Dims batches;
  for (const int label : batch) {
    const int64_t x = a.extent(label), y = b.extent(label);
    if (x != y && x != 1 && y != 1) op.corrupt("extents " + std::to_string(x) + " and " + std::to_string(y));
    batches.push_back(x == 1 ? y : x);
  }
  if (label_extents(a, summed) != label_extents(b, summed)) op.corrupt("sums over different extents");
  const auto matrices = [&](const Term& term, const Labels& outer, const Labels& rows, const Labels& columns) {
    const Value turned = ordered(op, term, all_labels(all_labels(outer, rows), columns));
    Dims dims = batches;
    for (int d = static_cast<int>(outer.size()); d < turned.rank(); ++d) dims.push_back(turned.dims[d]);
    return reshape(
        op, broadcast(op, turned, dims),
        {elements_of(batches), elements_of(label_extents(term, rows)), elements_of(label_extents(term, columns))});
  };
  const Value product =
      op.add(Kind::matmul, MatmulAttributes{}, {matrices(a, batch, left, summed), matrices(b, batch, summed, right)});
  Dims dims = batches;
  for (const int64_t extent : label_extents(a, left)) dims.push_back(extent);
  for (const int64_t extent : label_extents(b, right)) dims.push_back(extent);
  return {reshape(op, product, dims), all_labels(all_labels(batch, left), right)};
}

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> result;
};

Equation equation_of(const Op& op) {
  std::string text = op.text("equation", "");
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  Equation out;
  if (const std::size_t arrow = text.find("->"); arrow != std::string::npos) {
    out.result = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    out.terms.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  if (static_cast<int>(out.terms.size()) != op.inputs()) op.corrupt("equation for " + std::to_string(op.inputs()));
  return out;
}

/// The labels of the result where the equation does not state them: those that are there once, in alphabetical order,
/// behind the dims of an ellipsis.
Labels implied_labels(const std::vector<Term>& terms) {
  std::map<int, int> counts;
  for (const Term& term : terms) {
    for (const int label : term.labels) ++counts[label];
  }
  Labels out;
  for (const auto& [label, count] : counts) {
    if (label < 0 || count == 1) out.push_back(label);
  }
  return out;
}

void einsum(Op& op) {
  const Equation equation = equation_of(op);
  std::vector<Term> terms;
  int most = 0;
  for (int i = 0; i < op.inputs(); ++i) {
    const std::string& text = equation.terms[static_cast<std::size_t>(i)];
    const int ellipsis = op.input(i).rank() - letters_of(text);
    const bool fits = text.find("...") != std::string::npos ? ellipsis >= 0 : ellipsis == 0;
    if (!fits) op.corrupt(in_quotes(text) + " for " + join(op.input(i).dims, "x"));
    most = std::max(most, ellipsis);
    terms.push_back({op.input(i), labels_of(op, text, ellipsis)});
  }
  const Labels result = equation.result ? labels_of(op, *equation.result, most) : implied_labels(terms);
  for (Term& term : terms) take_diagonals(op, term);
  Term out = terms.front();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Labels needed = result;
    for (std::size_t k = i + 1; k < terms.size(); ++k) needed = all_labels(needed, terms[k].labels);
    if (i > 0) {
      Term next = terms[i];
      sum_others(op, next, all_labels(needed, out.labels));
      out = contracted(op, out, next, needed);
    }
    sum_others(op, out, needed);
  }
  for (const int label : result) {
    if (!has_label(out.labels, label)) op.corrupt("a result with a label that no source has");
  }
  op.set(0, ordered(op, out, result));
}

}  // namespace

std::span<const Operator> einsum_operators() {
  static constexpr std::array<Operator, 1> kOperators = {{{"Einsum", einsum, "equation"}}};
  return kOperators;
}

}  // namespace relayout::graph::importing
