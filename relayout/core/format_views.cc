// Format: the views at the end of an expression, the buffer in front of them, and the names of dims.
#include <algorithm>
#include <limits>

#include "relayout/core/format.h"

namespace relayout {
namespace {

/// Letters a.. for dims that have no names.
std::string plain_letters(int ndims) {
  std::string out;
  for (int d = 0; d < ndims; ++d) out += static_cast<char>('a' + d);
  return out;
}

std::string comma_separated(const std::string& letters) {
  std::string out;
  for (char letter : letters) out += (out.empty() ? "" : ",") + std::string(1, letter);
  return out;
}

}  // namespace

Layout Format::bind(const Dims& dims) const {
  const Format& form = for_dims(dims);
  return form.through_views(form.before_views(dims));
}

int64_t Format::buffer_span(const Dims& dims) const { return before_views(dims).span(); }

Layout Format::through_views(Layout layout) const {
  std::optional<std::string> letters = letters_.empty() ? std::nullopt : std::optional(letters_);
  for (const ViewStep& step : views_) {
    try {
      Layout next = apply(layout, step);
      if (letters) letters = letters_after(*letters, step);
      layout = std::move(next);
    } catch (const Error& error) {
      const std::string named = letters ? " (" + comma_separated(*letters) + ")" : "";
      throw Error(error.code(),
                  "bind: " + step.text + " of dims " + (layout.ndims() == 0 ? "\"\"" : join(layout.dims())) + named +
                      " in " + escaped(text_, 200) + ": " + error.message(),
                  error.field(), error.value(), error.limit());
    }
  }
  return layout;
}

std::optional<Format::GateOrder> Format::gates() const {
  if (views_.empty() || !views_[0].text.starts_with("gates:")) return std::nullopt;
  return GateOrder{static_cast<int>(views_[0].arguments[0][0]), views_[0].arguments[1]};
}

Format Format::without_gates() const {
  Format out = *this;
  if (gates()) out.views_.erase(out.views_.begin());
  return out;
}

std::optional<Dims> Format::default_dims() const {
  if (fixed_dims_ || kind_ != Kind::digits || packed_ != nullptr || formula_) return fixed_dims_;
  Dims dims;
  for (const Digits& digits : digits_) {
    std::optional<int64_t> capacity = 1;
    for (const Digit& digit : digits) capacity = capacity ? checked_mul(*capacity, digit.extent) : capacity;
    if (!capacity) {
      throw Error(ErrorCode::overflow,
                  "bind: dim " + std::to_string(dims.size()) + " of " + escaped(text_) +
                      " has a capacity that does not fit 63 bits",
                  "dims[" + std::to_string(dims.size()) + "]", escaped(text_),
                  std::to_string(std::numeric_limits<int64_t>::max()));
    }
    dims.push_back(*capacity);
  }
  return dims;
}

std::optional<Dims> Format::dims_before_views(const Dims& after) const {
  if (fixed_dims_) return fixed_dims_;
  std::optional<Dims> dims = after;
  for (std::size_t k = views_.size(); k-- > 0 && dims;) dims = dims_before(*dims, views_[k]);
  return dims;
}

Format Format::with_names(std::string_view letters) const {
  const auto refuse_names = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "names: \"" + escaped(letters) + "\" for " + escaped(text_) + ": " + why,
                "names", escaped(letters), "a letter for each dim");
  };
  const auto fixed = rank();
  const auto count = static_cast<int>(letters.size());
  if (!others_.empty() && for_rank(count) == nullptr) refuse_names("each of its dims takes a letter");
  if (count < 1 || count > kMaxDims || (fixed && *fixed != count))
    refuse_names(fixed ? "it has " + std::to_string(*fixed) + " dims, each of which takes a letter"
                       : "each dim takes a letter, of which there are 1 to " + std::to_string(kMaxDims));
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (letters[k] < 'a' || letters[k] > 'z') refuse_names("a name is a letter from a to z");
    if (letters.find(letters[k], k + 1) != std::string_view::npos)
      refuse_names(std::string("'").append(1, letters[k]).append("' stands twice"));
  }
  Format out = *this;
  out.letters_ = std::string(letters);
  std::erase_if(out.others_, [&](const Format& other) { return other.rank() != count; });
  for (Format& other : out.others_) other.letters_ = out.letters_;
  return out;
}

std::string Format::dim_names(int ndims) const {
  std::optional<std::string> letters = letters_.empty() ? std::nullopt : std::optional(letters_);
  for (const ViewStep& step : views_) {
    if (letters) letters = letters_after(*letters, step);
  }
  for (const Format& other : others_) {
    if (letters && static_cast<int>(letters->size()) == ndims) break;
    if (std::string names = other.dim_names(ndims); names != plain_letters(ndims)) return names;
  }
  // Names that were given to a format of any rank may be of another one.
  if (!letters || static_cast<int>(letters->size()) != ndims) return plain_letters(ndims);
  return *letters;
}

std::optional<int> Format::dim_named(char letter, int ndims) const {
  const std::string names = dim_names(ndims);
  const std::size_t at = names.find(letter);
  if (at == std::string::npos || names == plain_letters(ndims)) return std::nullopt;
  return static_cast<int>(at);
}

}  // namespace relayout
