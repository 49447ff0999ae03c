// Shapes and strides of PyTorch and NumPy: see tensor_text.h.
#include "relayout/interop/array_text.h"

#include "relayout/core/error.h"

namespace relayout {
namespace {

bool is_name_letter(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.';
}
bool is_number_start(char ch) { return ch == '-' || (ch >= '0' && ch <= '9'); }

/// The word at the begin of a text, a name with points.
std::string_view first_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_letter(text[end])) ++end;
  return text.substr(0, end);
}

/// "torch" of "torch.empty_strided".
std::string_view module_of(std::string_view word) { return word.substr(0, word.find('.')); }

[[noreturn]] void fail_array(const std::string& why, std::string_view value = {}) {
  throw Error(ErrorCode::parse,
              "array: " + why +
                  "; a text is, for example, torch (2,3) strides (3,1) or numpy (2,3) strides (24,8) "
                  "float64",
              "layout", escaped(value), why);
}

/// Reads an array's text from left to right.
class ArrayReader {
 public:
  explicit ArrayReader(std::string_view text) : text_(text) {}

  ArrayText read() {
    system_ = module_of(word());
    while (at_ < text_.size()) step();
    if (!shape_) fail_array("no shape, a list of numbers in brackets", text_);
    if (strides_ && strides_->size() != shape_->size()) {
      throw Error(ErrorCode::invalid_argument,
                  "array: " + std::to_string(strides_->size()) + " strides of a shape of " +
                      std::to_string(shape_->size()) + " dims",
                  "strides", join(*strides_), std::to_string(shape_->size()));
    }
    if (system_ != "torch") bytes_to_elements();
    return {.expression = expression(), .dims = *shape_, .dtype = dtype_};
  }

 private:
  void step() {
    const char ch = text_[at_];
    if (ch == '(' || ch == '[') return bracket();
    if (is_number_start(ch) && expects_offset_) return offset();
    if (is_number_start(ch)) fail_array("a number that is in no list", text_.substr(at_));
    if (is_name_letter(ch) || ch == '<' || ch == '|') return named();
    ++at_;  // signs between the parts
  }

  std::string_view word() {
    const std::string_view out = first_word(text_.substr(at_));
    at_ += out.size();
    return out;
  }

  /// A list, or a bracket round something else.
  void bracket() {
    const char close = text_[at_] == '(' ? ')' : ']';
    std::size_t next = at_ + 1;
    while (next < text_.size() && text_[next] == ' ') ++next;
    if (next == text_.size() || (!is_number_start(text_[next]) && text_[next] != close)) {
      ++at_;
      return;
    }
    const std::size_t end = text_.find(close, next);
    if (end == std::string_view::npos) fail_array(std::string("the closing '") + close + "' is missing", text_);
    take_list(text_.substr(next, end - next));
    at_ = end + 1;
  }

  void take_list(std::string_view items) {
    std::string numbers;
    for (const char ch : items) {
      if (ch != ' ') numbers += ch;
    }
    if (numbers.ends_with(',')) numbers.pop_back();  // (5,)
    std::optional<Dims>& list = list_ ? *list_ : shape_ ? strides_ : shape_;
    if (list) fail_array("a list too many", items);
    list = parse_dims(numbers, &list == &shape_ ? "shape" : "strides");
    list_ = nullptr;
  }

  /// A word: what the next list or number is, or a type.
  void named() {
    std::size_t end = at_;
    while (end < text_.size() && (is_name_letter(text_[end]) || text_[end] == '<' || text_[end] == '|')) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    const bool called = at_ < text_.size() && text_[at_] == '(';
    if (name == "strides" || name == "stride") {
      list_ = &strides_;
    } else if (name == "shape" || name == "size" || name == "sizes" || name == "dims") {
      list_ = &shape_;
    } else if (name.ends_with("offset")) {
      expects_offset_ = true;
    } else if (name == "buffer") {
      while (at_ < text_.size() && (text_[at_] == '=' || text_[at_] == ' ')) ++at_;
      word();
    } else if (name != "dtype" && !(called && module_of(name) == system_)) {
      if (dtype_) fail_array("a second type", name);
      dtype_ = parse_dtype(name);
    }
  }

  void offset() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    offset_ = parse_int(text_.substr(at_, end - at_), "offset");
    if (*offset_ < 0) fail_array("an offset is 0 or more", text_.substr(at_, end - at_));
    expects_offset_ = false;
    at_ = end;
  }

  /// Whole elements of NumPy's bytes.
  int64_t in_elements(int64_t bytes, const char* what) const {
    const int64_t item = bits(*dtype_) / 8;
    if (item == 0 || bytes % item != 0) {
      throw Error(ErrorCode::unsupported,
                  std::string("array: the ") + what + " " + std::to_string(bytes) +
                      " is in bytes, of which an element of " + std::string(name(*dtype_)) + " has " +
                      std::to_string(item) + ", and it is no whole number of these",
                  what, std::to_string(bytes), std::to_string(item));
    }
    return bytes / item;
  }

  void bytes_to_elements() {
    if (!strides_ && !offset_) return;
    if (!dtype_) fail_array("NumPy's strides are in bytes, so the text must also say the type, as float32", text_);
    if (strides_) {
      // A dim of one index has any stride, also one of NumPy's own that is no whole elements.
      for (int d = 0; d < strides_->size(); ++d)
        (*strides_)[d] = (*shape_)[d] > 1 ? in_elements((*strides_)[d], "stride") : 0;
    }
    if (offset_) offset_ = in_elements(*offset_, "offset");
  }

  std::string expression() const {
    const std::string offset = offset_ && *offset_ != 0 ? "@" + std::to_string(*offset_) : "";
    return (strides_ ? "strides:" + join(*strides_) : "contiguous") + offset;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view system_{};
  std::optional<Dims> shape_{}, strides_{};
  std::optional<Dims>* list_ = nullptr;  // which of them comes next, where a word said it
  std::optional<DType> dtype_{};
  std::optional<int64_t> offset_{};
  bool expects_offset_ = false;
};

}  // namespace

bool is_array_text(std::string_view text) {
  const std::string_view word = first_word(text), module = module_of(word);
  if (module != "torch" && module != "numpy" && module != "np") return false;
  return text.find_first_of("([", word.size()) != std::string_view::npos;
}

ArrayText read_array_text(std::string_view text) { return ArrayReader(text).read(); }

}  // namespace relayout
