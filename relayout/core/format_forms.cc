// Formats whose expression means another tag for other dims (tenstorrent:TILE, of two to four dims): which of them is
// meant, and what is said of dims that none of them takes; and digits that follow from the dims (formula.h).
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/notations/formula.h"
#include "relayout/core/overflow.h"

namespace relayout {
namespace {

std::string capital(char letter) { return {static_cast<char>(letter - 'a' + 'A')}; }

/// "C = 1", "C = 3 to 4".
std::string text_of_limit(const DimLimit& limit, const std::string& letter) {
  return letter + " = " + std::to_string(limit.least) +
         (limit.least == limit.most ? "" : " to " + std::to_string(limit.most));
}

}  // namespace

std::vector<const Format*> Format::forms() const {
  std::vector<const Format*> out{this};
  for (const Format& other : others_) out.push_back(&other);
  return out;
}

bool Format::takes(const Dims& dims) const {
  if (kind_ == Kind::tag && std::ranges::find(outer_, kRest) == outer_.end() && outer_.size() != dims.size())
    return false;
  if (!limit_) return true;
  return dims[limit_->dim] >= limit_->least && dims[limit_->dim] <= limit_->most;
}

const Format& Format::for_dims(const Dims& dims) const {
  if (others_.empty() || takes(dims)) return *this;
  for (const Format& other : others_) {
    if (other.takes(dims)) return other;
  }
  return *this;
}

const Format* Format::for_rank(int ndims) const {
  for (const Format* form : forms()) {
    if (form->outer_.size() == ndims) return form;
  }
  return nullptr;
}

const Format& Format::for_array(const Dims& shape) const {
  if (others_.empty()) return *this;
  for (const Format* form : forms()) {
    const int ndims = form->outer_.size();
    if (shape.size() != ndims + static_cast<int>(form->blocks_.size())) continue;
    bool blocks = true;
    for (std::size_t b = 0; b < form->blocks_.size(); ++b)
      blocks = blocks && shape[ndims + static_cast<int>(b)] == form->blocks_[b].size;
    if (blocks) return *form;
  }
  return *this;
}

void Format::refuse_dims(const Dims& dims) const {
  const std::string given = dims.empty() ? "\"\"" : join(dims);
  std::string wanted, letter;
  const DimLimit* limit = nullptr;
  for (const Format* form : forms()) {  // of this rank
    if (!form->limit_ || form->outer_.size() != dims.size()) continue;
    limit = &*form->limit_;
    letter = capital(form->letters_[static_cast<std::size_t>(form->limit_->dim)]);
    if (letter == "M") letter = "multiplier";  // of a depthwise filter
    wanted += (wanted.empty() ? "" : " or ") + text_of_limit(*form->limit_, letter);
  }
  if (limit != nullptr) {
    const std::string dim = std::to_string(limit->dim), value = std::to_string(dims[limit->dim]);
    const std::string what = letter == "multiplier" ? "multiplier 1" : wanted;
    throw Error(ErrorCode::unsupported,
                "bind: " + text_ + " is defined for " + what + " only, dims has " +
                    (letter == "multiplier" ? "M" : letter) + " = " + value,
                "dims[" + dim + "]", value, limit->most == 1 && others_.empty() ? "1" : wanted);
  }
  std::string ranks;
  for (const Format* form : forms()) {
    const int rank = form->outer_.size();
    std::string letters;
    for (const char ch : form->letters_) letters += (letters.empty() ? "" : ",") + std::string(1, ch);
    const std::string text =
        std::to_string(rank) + (rank == 1 ? " dim" : " dims") + (letters.empty() ? "" : " (" + letters + ")");
    if (!ranks.ends_with(text)) ranks += (ranks.empty() ? "" : " or ") + text;
  }
  throw Error(ErrorCode::invalid_argument,
              "bind: " + escaped(text_) + " has " + ranks + ", dims " + given + " has " + std::to_string(dims.size()),
              "dims", given, ranks);
}

Layout Format::from_formula(const Dims& dims) const {
  const auto digits = formula_->digits(dims);
  const auto offset0 = formula_->offset0 ? formula_->offset0->value(dims) : std::optional<int64_t>(0);
  if (!digits || !offset0) throw_overflow(dims);
  if (!formula_->offset0) return from_digits(dims, *digits, offset0_);
  const auto both = checked_add(*offset0, offset0_.value_or(0));
  if (!both) throw_overflow(dims);
  return from_digits(dims, *digits, both);
}

}  // namespace relayout
