// Reading a layout expression: the grammar in format.h, left to right, one function a rule.
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
bool is_upper(char ch) { return ch >= 'A' && ch <= 'Z'; }
bool is_letter(char ch) { return is_upper(ch) || (ch >= 'a' && ch <= 'z'); }
char lower(char ch) { return is_upper(ch) ? static_cast<char>(ch - 'A' + 'a') : ch; }

}  // namespace

struct Format::Parser {
  std::string_view text;
  Format out;

  [[noreturn]] void fail(std::size_t at, const std::string& why, std::span<const std::string> near = {}) const {
    // A window around the position, so that a long text stays one line.
    const std::size_t from = at > 48 ? at - 40 : 0;
    const std::string before = (from ? "..." : "") + escaped(text.substr(from, at - from), 400);
    const std::string after =
        at < text.size() ? escaped(text.substr(at, 24), 100) + (text.size() > at + 24 ? "..." : "") : "";
    std::string message = "layout: " + why + "\n  " + before + after + "\n  " + std::string(before.size(), ' ') + "^";
    if (!near.empty()) {
      message += "\n  did you mean ";
      for (std::size_t i = 0; i < near.size(); ++i) message += (i ? ", " : "") + near[i];
      message += "?";
    }
    throw Error(ErrorCode::parse, message, "layout", escaped(text), why);
  }

  int64_t number(std::size_t from, std::size_t to, const char* what) const {
    try {
      return parse_int(text.substr(from, to - from), what);
    } catch (const Error& e) {
      fail(from, e.message());
    }
  }

  Format parse() {
    if (text.empty()) fail(0, "the expression is empty");
    if (text.size() > kMaxText) fail(0, "over " + std::to_string(kMaxText) + " characters");
    std::size_t end = text.size();
    if (const std::size_t at = text.find(";"); at != std::string_view::npos) {
      constexpr std::string_view kPitch = ";pitch=";
      if (!text.substr(at).starts_with(kPitch)) fail(at, "after ';' only pitch=TEXELS can stand");
      out.pitch_ = number(at + kPitch.size(), end, "pitch");
      if (*out.pitch_ < 1) fail(at + kPitch.size(), "a pitch is 1 texel or more");
      end = at;
    }
    if (const std::size_t at = text.substr(0, end).find('@'); at != std::string_view::npos) {
      out.offset0_ = number(at + 1, end, "offset0");
      if (*out.offset0_ < 0) fail(at + 1, "an offset is 0 or more");
      end = at;
    }
    body(end);
    if (out.pitch_ && !out.is_image()) fail(text.find(';'), "only an image layout (a tag with '|') has a pitch");
    if (out.offset0_ && (out.kind_ == Kind::undef || out.kind_ == Kind::any))
      fail(end, "a layout without elements has no offset");
    out.text_ = std::string(text);
    return std::move(out);
  }

  void body(std::size_t end) {
    const std::string_view word = text.substr(0, end);
    if (word == "undef" || word == "any") {
      out.kind_ = word == "any" ? Kind::any : Kind::undef;
      return;
    }
    for (auto format : {MemoryFormat::contiguous, MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
      if (word != name(format)) continue;
      out.kind_ = Kind::memory_format;
      out.memory_format_ = format;
      return;
    }
    if (word.starts_with("strides:")) return strides(end);
    if (word.starts_with("mace:")) return mace(word);
    if (word.starts_with("opaque:")) {
      fail(0, "an opaque format is no layout: only the backend that gave it reorders into and out of it, in a plan");
    }
    tag(end);
  }

  void strides(std::size_t end) {
    out.kind_ = Kind::strides;
    out.strides_.emplace();
    std::size_t from = std::string_view("strides:").size();
    if (from == end) return;  // a scalar
    while (true) {
      if (out.strides_->size() == kMaxDims) fail(from, "more than " + std::to_string(kMaxDims) + " strides");
      const std::size_t comma = std::min(text.find(',', from), end);
      out.strides_->push_back(number(from, comma, "stride"));
      if (comma == end) return;
      from = comma + 1;
    }
  }

  void mace(std::string_view word) {
    for (const auto& [mace_name, mace_tag] : mace_names()) {
      if (word != mace_name) continue;
      const Format as_tag = Format::parse(mace_tag);
      out.kind_ = Kind::tag;
      out.letters_ = as_tag.letters_;
      out.outer_ = as_tag.outer_;
      out.rows_ = as_tag.rows_;
      out.blocks_ = as_tag.blocks_;
      out.unit_multiplier_ = out.letters_[0] == 'm';
      return;
    }
    fail(std::string_view("mace:").size(), "MACE has no such image", names_near(word));
  }

  /// Letters with at most one row break, then blocks.
  void tag(std::size_t end) {
    out.kind_ = Kind::tag;
    std::string letters;                // outer, lower case
    std::vector<std::size_t> position;  // of each in text
    std::size_t at = 0;
    for (; at < end && !is_digit(text[at]); ++at) {
      if (text[at] == '|') {
        if (out.rows_ >= 0) fail(at, "a second row break");
        out.rows_ = static_cast<int>(letters.size());
        continue;
      }
      if (!is_letter(text[at])) fail(at, "expected a letter", names_near(text.substr(0, end)));
      if (letters.find(lower(text[at])) != std::string::npos)
        fail(at, std::string("dim '") + lower(text[at]) + "' stands here a second time",
             names_near(text.substr(0, end)));
      letters += lower(text[at]);
      position.push_back(at);
    }
    if (letters.empty()) fail(0, "a tag begins with letters");
    name_dims(letters, position, text.substr(0, end));

    while (at < end) block(at, end, letters);
    for (std::size_t k = 0; k < letters.size(); ++k) {
      const bool blocked =
          std::ranges::any_of(out.blocks_, [&](const Block& b) { return b.dim == out.outer_[static_cast<int>(k)]; });
      const std::string quoted = std::string("'") + text[position[k]] + "'";
      // oneDNN spells some blocked names with a capital too many (OhwI32o), so in those it means nothing.
      const bool excused = !out.letters_.empty() && !out.blocks_.empty();
      if (is_upper(text[position[k]]) && !blocked && !excused)
        fail(position[k], "capital " + quoted + " has no block (a number and its letter at the end)",
             names_near(letters));
      if (!is_upper(text[position[k]]) && blocked) fail(position[k], quoted + " has a block, so it must be a capital");
    }
    if (!out.is_image()) return;
    int64_t lanes = 1;
    for (const Block& b : out.blocks_) lanes = std::min(lanes * b.size, kMaxBlock);
    if (lanes != 4) fail(end, "a texel has 4 lanes: an image's blocks multiply to 4, not " + std::to_string(lanes));
  }

  /// Fills outer_ (and letters_) from the outer letters.
  void name_dims(const std::string& letters, const std::vector<std::size_t>& position, std::string_view word) {
    if (letters == "x") {  // oneDNN's name for one dim
      out.outer_.push_back(0);
      if (text[position[0]] == 'X') fail(position[0], "x has no blocks");
      return;
    }
    if (letters.find('a') != std::string::npos || letters.find('x') != std::string::npos)
      return generic_dims(letters, position);
    const auto order = logical_order(letters);
    if (!order) {
      for (std::size_t k = 0; k < letters.size(); ++k) {
        if (std::string_view("ncdhwoigtlm").find(letters[k]) == std::string_view::npos)
          fail(position[k], std::string("letter '") + letters[k] + "' names no dim of any domain", names_near(word));
      }
      fail(0, "these letters are the dims of no domain", names_near(word));
    }
    if (!out.is_image()) {
      if (const auto wrong = misplaced_letter(letters, *order))
        fail(position[wrong->first], wrong->second, names_near(word));
    }
    out.letters_ = *order;
    for (char letter : letters) out.outer_.push_back(static_cast<int8_t>(order->find(letter)));
  }

  /// Letters a.. and x.
  void generic_dims(const std::string& letters, const std::vector<std::size_t>& position) {
    const auto named = static_cast<int>(letters.size()) - (letters.find('x') != std::string::npos);
    for (std::size_t k = 0; k < letters.size(); ++k) {
      if (letters[k] == 'x') {
        if (is_upper(text[position[k]])) fail(position[k], "x stands for all other dims; it has no blocks");
        if (out.is_image()) fail(position[k], "an image names all its dims");
        out.outer_.push_back(kRest);
        continue;
      }
      const int d = letters[k] - 'a';
      if (d >= kMaxDims)
        fail(position[k],
             std::string("letter '") + letters[k] + "' is beyond dim l; a tag has at most " + std::to_string(kMaxDims) +
                 " dims",
             names_near(letters));
      if (d >= named) {
        char missing = 'a';
        while (letters.find(missing) != std::string::npos) ++missing;
        fail(position[k], std::string("dim '") + letters[k] + "' without dim '" + missing + "'", names_near(letters));
      }
      out.outer_.push_back(static_cast<int8_t>(d));
    }
  }

  /// One inner block: number, letter.
  void block(std::size_t& at, std::size_t end, const std::string& letters) {
    const std::size_t from = at;
    if (!is_digit(text[at])) fail(at, "expected a block: a number and a letter");
    int64_t size = 0;
    for (; at < end && is_digit(text[at]); ++at) size = std::min(size * 10 + (text[at] - '0'), kMaxBlock + 1);
    if (size == 0 || text[from] == '0') fail(from, "a block has a size of 1 or more");
    if (size > kMaxBlock) fail(from, "a block of over " + std::to_string(kMaxBlock));
    if (at == end) fail(at, "a block's letter is missing");
    const std::size_t k = letters.find(text[at]);
    if (text[at] == 'x' || k == std::string::npos)
      fail(at, std::string("a block of '") + (is_letter(text[at]) ? std::string(1, text[at]) : "?") +
                   "', which is no dim of this tag");
    if (out.blocks_.size() == static_cast<std::size_t>(kMaxBlocks))
      fail(from, "more than " + std::to_string(kMaxBlocks) + " blocks");
    out.blocks_.push_back({out.outer_[static_cast<int>(k)], size});
    ++at;
  }
};

Format Format::parse(std::string_view text) { return Parser{text, {}}.parse(); }

}  // namespace relayout
