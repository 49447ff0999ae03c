// Reads a layout expression by the grammar in format.h, from left to right, with one function for each rule.
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/gates.h"
#include "relayout/core/letters.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/packed/packed.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
bool is_letter(char ch) { return is_capital(ch) || (ch >= 'a' && ch <= 'z'); }

}  // namespace

struct Format::Parser {
  std::string_view text;
  Format out;
  std::string_view tag_word{};  // while a tag is read, that tag
  bool advises = true;          // whether errors name what comes near, for which texts are parsed in turn

  [[noreturn]] void fail(std::size_t at, const std::string& why, std::span<const std::string> near = {}) const {
    // A long text is cut to a window around the position, so that it fits on one line.
    const std::size_t from = at > 48 ? at - 40 : 0;
    const std::string before = (from ? "..." : "") + escaped(text.substr(from, at - from), 400);
    const std::string after =
        at < text.size() ? escaped(text.substr(at, 24), 100) + (text.size() > at + 24 ? "..." : "") : "";
    std::string message =
        "layout: " + why + "\n  " + before + after + "\n  " + std::string(characters(before), ' ') + "^";
    const bool asks = advises && !tag_word.empty();
    const std::vector<std::string> meant = asks ? names_meant_here() : std::vector<std::string>{};
    const std::string notation = meant.empty() && asks ? notation_meant(tag_word) : "";
    if (!meant.empty()) near = meant;
    if (!notation.empty()) {
      message += "\n  " + notation;
    } else if (!near.empty()) {
      message += "\n  did you mean ";
      for (std::size_t i = 0; i < near.size(); ++i) message += (i ? ", " : "") + near[i];
      message += "?";
    }
    throw Error(ErrorCode::parse, message, "layout", escaped(text), why);
  }

  /// What the tag means that is being read, or the word behind its last point (torch.channels_last).
  std::vector<std::string> names_meant_here() const {
    std::vector<std::string> meant = names_meant(tag_word);
    const std::size_t point = text.rfind('.');
    if (meant.empty() && point != std::string_view::npos) {
      meant = names_meant(text.substr(point + 1));
      if (const std::string word(text.substr(point + 1)); meant.empty() && memory_format(word)) meant.push_back(word);
    }
    return meant;
  }

  /// What f() reads; its errors get a caret under a position.
  template <typename F>
  auto read_at(std::size_t at, const F& f) const {
    try {
      return f();
    } catch (const Error& e) {
      fail(at, e.message());
    }
  }
  int64_t number(std::size_t from, std::size_t to, const char* what) const {
    return read_at(from, [&] { return parse_int(text.substr(from, to - from), what); });
  }

  /// The memory format of that name.
  static std::optional<MemoryFormat> memory_format(std::string_view word) {
    for (auto format : {MemoryFormat::contiguous, MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
      if (word == name(format)) return format;
    }
    return std::nullopt;
  }

  /// An offset of digits that follows from the dims, "@BC", is read with them.
  bool is_formula(std::string_view offset) const {
    return text.starts_with("digits:") && std::ranges::any_of(offset, [](char ch) { return ch >= 'A' && ch <= 'Z'; });
  }

  Format parse() {
    if (text.empty()) fail(0, "the expression is empty");
    if (text.size() > kMaxText) fail(0, "over " + std::to_string(kMaxText) + " characters");
    // Of the parts, which only views and options can hold, the last is split off first.
    const std::size_t packed = packed_length(text);  // whose field stands behind a point too
    const std::size_t views = std::min(text.find('.', packed), text.size());
    const std::size_t options = std::min(text.find(';', packed), views);
    std::size_t end = options;
    // An '@' inside parentheses is CuTe's; it refuses that itself.
    if (const std::size_t at = text.substr(0, end).rfind('@');
        at != std::string_view::npos && text.substr(at, end - at).find(')') == std::string_view::npos &&
        !is_formula(text.substr(at, end - at))) {
      out.offset0_ = number(at + 1, end, "offset0");
      if (*out.offset0_ < 0) fail(at + 1, "an offset is 0 or more");
      end = at;
    }
    if (packed > 0) {
      if (packed < end) fail(packed, "behind a packed format and its field can stand '@', ';' or a view");
      packed_field(end);
    } else {
      body(end);
    }
    if (out.offset0_ && (out.kind_ == Kind::undef || out.kind_ == Kind::any))
      fail(end, "a layout without elements has no offset");
    for (std::size_t at = options; at < views;) at = option(at + 1, std::min(text.find(';', at + 1), views));
    if (views < text.size() && (out.kind_ == Kind::undef || out.kind_ == Kind::any))
      fail(views, "a layout without elements has no views");
    for (ViewStep& step : read_views(text, views, [&](std::size_t at, const std::string&why) { fail(at, why); }))
      out.views_.push_back(std::move(step));
    out.text_ = std::string(text);
    for (Format& other : out.others_) {
      other.text_ = out.text_;
      other.offset0_ = out.offset0_;
      other.swizzle_ = out.swizzle_;
      other.views_ = out.views_;
    }
    return std::move(out);
  }

  /// One of the options behind ";", from its first letter up to `end`, which it returns.
  std::size_t option(std::size_t at, std::size_t end) {
    const std::string_view word = text.substr(at, end - at);
    const std::size_t value = at + std::min(word.find_first_of("=:"), word.size()) + 1;
    if (word.starts_with("pitch=")) {
      if (!out.is_image()) fail(at - 1, "only an image layout (a tag with '|') has a pitch");
      if (out.pitch_) fail(at, "the pitch can stand only once");
      out.pitch_ = number(value, end, "pitch");
      if (*out.pitch_ < 1) fail(value, "a pitch is 1 texel or more");
    } else if (word.starts_with("align=")) {
      if (out.kind_ != Kind::tag && out.kind_ != Kind::memory_format)
        fail(at - 1, "only rows of a tag or a memory format can be aligned");
      if (out.align_) fail(at, "the alignment can stand only once");
      out.align_ = number(value, end, "align");
      if (*out.align_ < 1) fail(value, "rows are aligned to 1 element or more");
      for (Format& other : out.others_) other.align_ = out.align_;
    } else if (word.starts_with("swizzle=")) {
      swizzle(at, value, end);
    } else if (word.starts_with("gates:")) {
      gates(at, value, end);
    } else {
      fail(at - 1, "after ';' can stand pitch=TEXELS, align=ELEMENTS, swizzle=BITS,BASE,SHIFT and gates:ORDER->ORDER");
    }
    if (out.pitch_ && out.align_) fail(at, "a pitch says all, so the rows cannot be aligned besides");
    return end;
  }

  /// "swizzle=3,3,3", whose numbers are from `value` to `end`.
  void swizzle(std::size_t at, std::size_t value, std::size_t end) {
    if (out.kind_ == Kind::undef || out.kind_ == Kind::any || out.is_image())
      fail(at - 1, "neither an image, whose memory has two dimensions, nor undef and any have a swizzle");
    if (!out.swizzle_.identity()) fail(at, "the swizzle can stand only once");
    out.swizzle_ = read_at(value, [&] { return Swizzle::parse(text.substr(value, end - value)); });
  }

  /// "gates:zrh->rzh", whose orders are from `value` to `end`: memory has the gates in the first order, and index g
  /// counts them in the second.
  void gates(std::size_t at, std::size_t value, std::size_t end) {
    const std::size_t d = out.letters_.starts_with("ld") ? out.letters_.find('g') : std::string::npos;
    if (d == std::string::npos)
      fail(at, "only weights and biases of recurrent networks (ldigo, ldgoi, ldgo) have gates");
    if (!out.views_.empty()) fail(at, "the order of the gates can stand only once");
    const std::string_view orders = text.substr(value, end - value);
    const std::size_t arrow = orders.find("->");
    if (arrow == std::string_view::npos) fail(value, "the gates are written gates:ORDER->ORDER, for example zrh->rzh");
    const Dims places = read_at(value, [&] { return gate_places(orders.substr(0, arrow), orders.substr(arrow + 2)); });
    out.views_.push_back({"reindex", std::string(text.substr(at, end - at)), {Dims{static_cast<int64_t>(d)}, places}});
  }

  void body(std::size_t end) {
    const std::string_view word = text.substr(0, end);
    if (word == "undef" || word == "any") {
      out.kind_ = word == "any" ? Kind::any : Kind::undef;
      return;
    }
    if (const auto format = memory_format(word)) {
      out.kind_ = Kind::memory_format;
      out.memory_format_ = *format;
      return;
    }
    if (word.starts_with("strides:")) return strides(end);
    if (const Notation* foreign = notation_of(word)) return notation(*foreign, end);
    if (word.starts_with("opaque:")) {
      fail(0, "an opaque format is no layout: only the backend that gave it reorders into and out of it, in a plan");
    }
    tag(end);
  }

  /// A field of a packed format, "ggml:q4_0.q", or the field that the format's name alone means.
  void packed_field(std::size_t end) {
    const std::size_t point = std::min(text.substr(0, end).find('.'), end);
    try {
      const PackedFormat& format = packed_format(text.substr(0, point));
      out.packed_ = &format;
      out.packed_field_ = &format.field(point < end ? text.substr(point + 1, end - point - 1) : format.alone);
    } catch (const Error& error) {
      fail(0, error.message());
    }
    out.kind_ = Kind::digits;
    out.letters_ = out.packed_->dims;
    out.digits_.resize(out.packed_->dims.size());
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

  /// What another system's notation means: the fields of the tag, the strides or the digits that it says.
  void notation(const Notation& notation, std::size_t end) {
    NotationText rest(text, notation.name.size() + 1, end,
                      [&](std::size_t at, const std::string& why) { fail(at, why); });
    const Spelled spelled = notation.read(rest);
    out.notation_ = notation.name;
    out.fixed_dims_ = spelled.dims;
    out.swizzle_ = spelled.swizzle;
    if (spelled.offset0 && std::exchange(out.offset0_, spelled.offset0)) fail(end, "there is an offset in front");
    if (spelled.strides) {
      out.kind_ = Kind::strides;
      out.strides_ = spelled.strides;
    } else if (spelled.digits) {
      out.kind_ = Kind::digits;
      out.digits_ = *spelled.digits;
      out.formula_ = spelled.formula;
    } else if (spelled.tag.empty() && spelled.blocks_of_no_dim.empty()) {
      out.kind_ = Kind::memory_format;
      out.memory_format_ = MemoryFormat::contiguous;
    } else {
      as_tag(spelled);
    }
    if (!spelled.names.empty()) out.letters_ = spelled.names;
    for (const Spelled& other : spelled.others) {
      Parser form{.text = text, .out = {}};
      form.as_tag(other);
      if (!other.names.empty()) form.out.letters_ = other.names;
      form.out.notation_ = notation.name;
      out.others_.push_back(std::move(form.out));
    }
  }

  void as_tag(const Spelled& spelled) {
    const Format tag = spelled.tag.empty() ? Format() : Format::parse(spelled.tag);  // a scalar has no letters
    out.kind_ = Kind::tag;
    out.letters_ = tag.letters_;
    out.outer_ = tag.outer_;
    out.rows_ = tag.rows_;
    out.blocks_ = tag.blocks_;
    out.align_ = tag.align_;
    out.limit_ = spelled.limit;
    bool as_in_memory = true;
    for (std::size_t k = 0; k < spelled.places.size(); ++k) {
      const auto behind =
          std::ranges::count_if(out.blocks_.begin() + static_cast<std::ptrdiff_t>(k) + 1, out.blocks_.end(),
                                [&](const Block& b) { return b.dim == out.blocks_[k].dim; });
      as_in_memory = as_in_memory && behind == spelled.places[k];
    }
    for (std::size_t k = 0; k < spelled.places.size() && !as_in_memory; ++k) out.blocks_[k].place = spelled.places[k];
    for (const auto& [place, size] : spelled.blocks_of_no_dim)
      out.blocks_.insert(out.blocks_.begin() + static_cast<std::ptrdiff_t>(place), {-1, size});
  }

  /// Letters with at most one row break, then blocks.
  void tag(std::size_t end) {
    tag_word = text.substr(0, end);
    out.kind_ = Kind::tag;
    std::string letters;                // outer, lower case
    std::vector<std::size_t> position;  // of each letter, in text
    std::size_t at = 0;
    for (; at < end && !is_digit(text[at]); ++at) {
      if (text[at] == '|') {
        if (out.rows_ >= 0) fail(at, "a second row break");
        out.rows_ = static_cast<int>(letters.size());
        continue;
      }
      if (!is_letter(text[at])) fail(at, "expected a letter", names_near(text.substr(0, end)));
      if (letters.find(small_letter(text[at])) != std::string::npos)
        fail(at, std::string("dim '") + small_letter(text[at]) + "' stands here a second time",
             names_near(text.substr(0, end)));
      letters += small_letter(text[at]);
      position.push_back(at);
    }
    if (letters.empty()) fail(0, "a tag begins with letters");
    name_dims(letters, position, text.substr(0, end));

    while (at < end) block(at, end, letters);
    const bool all_capitals = std::ranges::all_of(position, [&](std::size_t k) { return is_capital(text[k]); });
    for (std::size_t k = 0; k < letters.size(); ++k) {
      const bool blocked =
          std::ranges::any_of(out.blocks_, [&](const Block& b) { return b.dim == out.outer_[static_cast<int>(k)]; });
      const std::string quoted = std::string("'") + text[position[k]] + "'";
      // oneDNN spells some blocked names with a capital too many (OhwI32o), so in domain tags with blocks a capital may
      // lack its block. Many frameworks write plain names in capitals as a whole (NCHW).
      const bool excused = !out.letters_.empty() && (!out.blocks_.empty() || all_capitals);
      if (is_capital(text[position[k]]) && !blocked && !excused)
        fail(position[k], "capital " + quoted + " has no block (a number and its letter at the end)",
             names_near(letters));
      if (blocked && !is_capital(text[position[k]])) {
        fail(position[k], quoted + " has a block, so it must be a capital");
      }
    }
    tag_word = {};
    if (!out.is_image()) return;
    int64_t lanes = 1;
    for (const Block& b : out.blocks_) lanes = std::min(lanes * b.size, kMaxBlock);
    if (lanes != 4) fail(end, "a texel has 4 lanes: an image's blocks multiply to 4, not " + std::to_string(lanes));
  }

  /// Fills outer_ (and letters_) from the outer letters.
  void name_dims(const std::string& letters, const std::vector<std::size_t>& position, std::string_view word) {
    if (letters == "x") {  // oneDNN's name for a tensor of one dim
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

  /// Takes the letters from a on, and x, as dims.
  void generic_dims(const std::string& letters, const std::vector<std::size_t>& position) {
    const auto named = static_cast<int>(letters.size()) - (letters.find('x') != std::string::npos);
    for (std::size_t k = 0; k < letters.size(); ++k) {
      if (letters[k] == 'x') {
        if (is_capital(text[position[k]])) fail(position[k], "x stands for all other dims; it has no blocks");
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

  /// Reads one inner block: a number and a letter.
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

bool Format::is_expression(std::string_view text) {
  try {
    (void)Parser{.text = text, .out = {}, .advises = false}.parse();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace relayout
