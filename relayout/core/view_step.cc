// View steps: reading them, and calling the functions of view.h. All views stand in one table.
#include "relayout/core/view_step.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/nearest.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

/// A dim's number as int. One that is far outside stays outside, so that the view refuses it.
int dim_of(int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, -1000, 1000)); }

std::vector<int> dim_list(const Dims& list) {
  std::vector<int> out;
  for (int64_t number : list) out.push_back(dim_of(number));
  return out;
}

Layout flip_all(const Layout& layout, const Dims& dims) {
  Layout out = layout;
  std::vector<bool> flipped(static_cast<std::size_t>(layout.ndims()), false);
  for (int64_t number : dims) {
    out = flip(out, dim_of(number));  // which refuses other dims than those of the layout
    const auto d = static_cast<std::size_t>(number < 0 ? number + layout.ndims() : number);
    if (flipped[d]) {
      throw Error(ErrorCode::invalid_argument, "flip: dim " + std::to_string(d) + " stands twice", "dim",
                  std::to_string(number), "each dim once");
    }
    flipped[d] = true;
  }
  return out;
}

/// The number at a place of a list, where numbers at its end may be left out.
int64_t number_or(const Dims& list, int place, int64_t otherwise) {
  return place < list.size() ? list[place] : otherwise;
}

Layout strided_at(const Layout& layout, const Dims& dims, const Dims& strides, const Dims& offset) {
  if (offset.size() != 1)
    throw Error(ErrorCode::invalid_argument, "as_strided: " + std::to_string(offset.size()) + " offsets", "offset",
                join(offset), "one offset");
  return as_strided(layout, dims, strides, offset[0]);
}

Dims tail(const Dims& list) { return Dims(std::span<const int64_t>(list).subspan(1)); }

/// How a view is written, and what it does. `lists` lists of `least` to `most` numbers each.
struct ViewRule {
  std::string_view name, form;
  int lists, least, most;
  Layout (*apply)(const Layout&, std::span<const Dims>);
};

using Lists = std::span<const Dims>;

constexpr ViewRule kRules[] = {
    {"as_strided", "as_strided(EXTENT,...:STRIDE,...:OFFSET)", 3, 0, kMaxDims,
     [](const Layout& l, Lists a) { return strided_at(l, a[0], a[1], a[2]); }},
    {"diagonal", "diagonal(), diagonal(OFFSET), diagonal(OFFSET,DIM,DIM)", 1, 0, 3,
     [](const Layout& l, Lists a) {
       return diagonal(l, number_or(a[0], 0, 0), dim_of(number_or(a[0], 1, 0)), dim_of(number_or(a[0], 2, 1)));
     }},
    {"expand", "expand(EXTENT,...)", 1, 1, kMaxDims, [](const Layout& l, Lists a) { return expand(l, a[0]); }},
    {"flatten", "flatten(), flatten(FIRST), flatten(FIRST,LAST)", 1, 0, 2,
     [](const Layout& l, Lists a) {
       return flatten(l, dim_of(number_or(a[0], 0, 0)), dim_of(number_or(a[0], 1, -1)));
     }},
    {"flip", "flip(DIM,...)", 1, 1, kMaxDims, [](const Layout& l, Lists a) { return flip_all(l, a[0]); }},
    {"merge", "merge(FIRST,LAST)", 1, 2, 2,
     [](const Layout& l, Lists a) { return merge(l, dim_of(a[0][0]), dim_of(a[0][1])); }},
    {"narrow", "narrow(DIM,START,LENGTH)", 1, 3, 3,
     [](const Layout& l, Lists a) { return narrow(l, dim_of(a[0][0]), a[0][1], a[0][2]); }},
    {"permute", "permute(DIM,...)", 1, 0, kMaxDims,
     [](const Layout& l, Lists a) { return permute(l, dim_list(a[0])); }},
    {"permute_axes", "permute_axes(DIM,...)", 1, 0, kMaxDims,
     [](const Layout& l, Lists a) { return permute_axes(l, dim_list(a[0])); }},
    {"reindex", "reindex(DIM:PLACE,...)", 2, 1, kMaxDims,
     [](const Layout& l, Lists a) { return reindex(l, dim_of(a[0][0]), a[1]); }},
    {"reshape", "reshape(EXTENT,...)", 1, 0, kMaxDims, [](const Layout& l, Lists a) { return view(l, a[0]); }},
    {"select", "select(DIM,INDEX)", 1, 2, 2,
     [](const Layout& l, Lists a) { return select(l, dim_of(a[0][0]), a[0][1]); }},
    {"slice", "slice(DIM,START,STOP[,STEP])", 1, 3, 4,
     [](const Layout& l, Lists a) {
       return slice(l, dim_of(a[0][0]), a[0][1], a[0][2], a[0].size() == 4 ? a[0][3] : 1);
     }},
    {"split", "split(DIM,EXTENT,...)", 1, 2, kMaxDims,
     [](const Layout& l, Lists a) { return split(l, dim_of(a[0][0]), tail(a[0])); }},
    {"squeeze", "squeeze(), squeeze(DIM)", 1, 0, 1,
     [](const Layout& l, Lists a) { return a[0].empty() ? squeeze(l) : squeeze(l, dim_of(a[0][0])); }},
    {"submemory", "submemory(OFFSET,...:EXTENT,...)", 2, 0, kMaxDims,
     [](const Layout& l, Lists a) { return submemory(l, a[1], a[0]); }},
    {"transpose", "transpose(DIM,DIM)", 1, 2, 2,
     [](const Layout& l, Lists a) { return transpose(l, dim_of(a[0][0]), dim_of(a[0][1])); }},
    {"unfold", "unfold(DIM,SIZE,STEP)", 1, 3, 3,
     [](const Layout& l, Lists a) { return unfold(l, dim_of(a[0][0]), a[0][1], a[0][2]); }},
    {"unsqueeze", "unsqueeze(DIM)", 1, 1, 1, [](const Layout& l, Lists a) { return unsqueeze(l, dim_of(a[0][0])); }},
    {"view", "view(EXTENT,...)", 1, 0, kMaxDims, [](const Layout& l, Lists a) { return view(l, a[0]); }},
};

const ViewRule* find_rule(std::string_view name) {
  const auto* found = std::ranges::find(kRules, name, &ViewRule::name);
  return found == std::end(kRules) ? nullptr : found;
}

std::string all_names() {
  std::string out;
  for (const ViewRule& rule : kRules) out += (out.empty() ? "" : ", ") + std::string(rule.name);
  return out;
}

/// Reads one view after another from a text.
struct ViewReader {
  std::string_view text;
  std::size_t at;
  const std::function<void(std::size_t, const std::string&)>& fail;

  void skip_blanks() {
    while (at < text.size() && text[at] == ' ') ++at;
  }

  /// The numbers up to a colon or the closing parenthesis, which is left to be read.
  Dims list(const ViewRule& rule) {
    Dims out;
    for (skip_blanks(); at < text.size() && text[at] != ')' && text[at] != ':';) {
      const std::size_t from = at;
      while (at < text.size() && (text[at] == '-' || (text[at] >= '0' && text[at] <= '9'))) ++at;
      if (out.size() == kMaxDims) fail(from, "more than " + std::to_string(kMaxDims) + " numbers");
      if (from == at) fail(at, "expected a number; the view is written " + std::string(rule.form));
      try {
        out.push_back(parse_int(text.substr(from, at - from), rule.name));
      } catch (const Error& error) {
        fail(from, error.message());
      }
      skip_blanks();
      if (at >= text.size() || text[at] != ',') break;
      ++at;
      skip_blanks();
      if (at < text.size() && (text[at] == ')' || text[at] == ':')) fail(at, "a number is missing behind the comma");
    }
    return out;
  }

  ViewStep step() {
    const std::size_t start = at;
    while (at < text.size() && ((text[at] >= 'a' && text[at] <= 'z') || text[at] == '_')) ++at;
    ViewStep out{std::string(text.substr(start, at - start)), {}, {}};
    const ViewRule* rule = find_rule(out.name);
    if (rule == nullptr) {
      std::vector<std::string_view> names;
      for (const ViewRule& known : kRules) names.push_back(known.name);
      fail(start, "no view of this name; the views are " + all_names() + did_you_mean(out.name, names));
    }
    if (at >= text.size() || text[at] != '(') fail(at, "expected '('; the view is written " + std::string(rule->form));
    do {
      const std::size_t from = ++at;
      out.arguments.push_back(list(*rule));
      const int count = out.arguments.back().size();
      if (count < rule->least || count > rule->most)
        fail(from, std::to_string(count) + (count == 1 ? " number" : " numbers") + "; the view is written " +
                       std::string(rule->form));
    } while (at < text.size() && text[at] == ':');
    if (at >= text.size() || text[at] != ')') fail(at, "expected ')' at the end of a view");
    if (static_cast<int>(out.arguments.size()) != rule->lists)
      fail(start, "the view is written " + std::string(rule->form));
    out.text = std::string(text.substr(start, ++at - start));
    return out;
  }
};

/// order[i] is the dim before a permutation that is dim i behind it; nothing where the view is no permutation of so
/// many dims.
std::optional<std::vector<int>> order_of(const ViewStep& step, int ndims) {
  if (step.name != "permute" && step.name != "permute_axes" && step.name != "transpose") return std::nullopt;
  try {
    // The strides of a layout whose every dim has another one say where each dim went.
    Dims numbers(ndims, 1);
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    const Layout permuted = apply(Layout::strided(Dims(ndims, 2), numbers), step);
    std::vector<int> out;
    for (int d = 0; d < ndims; ++d) out.push_back(static_cast<int>(permuted.outer_stride(d)));
    return out;
  } catch (const Error&) {
    return std::nullopt;  // a permutation of other dims
  }
}

/// The dim that squeeze(DIM), select(DIM,..) and unsqueeze(DIM) take out or put in, counted from the front.
int first_dim(const ViewStep& step, int ndims) {
  const int d = dim_of(step.arguments[0][0]);
  return d < 0 ? d + ndims : d;
}

}  // namespace

std::span<const std::string_view> view_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    for (const ViewRule& rule : kRules) out.push_back(rule.name);
    return out;
  }();
  return names;
}

std::vector<ViewStep> read_views(std::string_view text, std::size_t at,
                                 const std::function<void(std::size_t, const std::string&)>& fail) {
  std::vector<ViewStep> out;
  ViewReader reader{text, at, fail};
  while (reader.at < text.size()) {
    if (text[reader.at] != '.') fail(reader.at, "expected '.' and a view");
    ++reader.at;
    out.push_back(reader.step());
  }
  return out;
}

Layout apply(const Layout& layout, const ViewStep& step) {
  const ViewRule* rule = find_rule(step.name);
  if (rule == nullptr || static_cast<int>(step.arguments.size()) != rule->lists ||
      std::ranges::any_of(step.arguments,
                          [&](const Dims& list) { return list.size() < rule->least || list.size() > rule->most; })) {
    throw Error(ErrorCode::invalid_argument,
                "apply: \"" + escaped(step.name) + "\" with these arguments is no view; the views are " + all_names(),
                "step", escaped(step.name), all_names());
  }
  return rule->apply(layout, step.arguments);
}

std::optional<std::string> letters_after(const std::string& letters, const ViewStep& step) {
  static constexpr std::string_view kKeep[] = {"narrow", "slice", "flip", "submemory", "reindex"};
  const int ndims = static_cast<int>(letters.size());
  if (std::ranges::find(kKeep, step.name) != std::end(kKeep)) return letters;
  if (step.name == "expand" && step.arguments[0].size() == ndims) return letters;
  if (step.name == "select" || (step.name == "squeeze" && !step.arguments[0].empty())) {
    const int d = first_dim(step, ndims);
    if (d < 0 || d >= ndims) return std::nullopt;
    return std::string(letters).erase(static_cast<std::size_t>(d), 1);
  }
  const auto order = order_of(step, ndims);
  if (!order) return std::nullopt;
  std::string out;
  for (int d : *order) out += letters[static_cast<std::size_t>(d)];
  return out;
}

std::optional<Dims> dims_before(const Dims& after, const ViewStep& step) {
  const int ndims = after.size();
  if (step.name == "flip" || step.name == "reindex") return after;
  Dims out = after;
  if (step.name == "unsqueeze") {
    const int d = first_dim(step, ndims);
    if (d < 0 || d >= ndims || after[d] != 1) return std::nullopt;
    out.erase(d);
    return out;
  }
  if (step.name == "squeeze" && !step.arguments[0].empty() && ndims < kMaxDims) {
    const int d = first_dim(step, ndims + 1);
    if (d < 0 || d > ndims) return std::nullopt;
    out.insert(d, 1);
    return out;
  }
  const auto order = order_of(step, ndims);
  if (!order) return std::nullopt;
  for (int d = 0; d < ndims; ++d) out[(*order)[static_cast<std::size_t>(d)]] = after[d];
  return out;
}

}  // namespace relayout
