// The stack machine of pickles, without what it would run: see pickle.h.
#include "relayout/checkpoint/formats/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "relayout/core/error.h"

namespace relayout::checkpoint {

class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, std::size_t most) : bytes_(bytes), most_(most) {}

  PickleValues read() {
    for (;;) {
      begin_ = at_;
      const auto opcode = number<uint8_t>();
      if (opcode == '.') break;
      if (!plain(opcode) && !text(opcode) && !container(opcode) && !memo(opcode) && !object(opcode)) unknown(opcode);
    }
    values_.root_ = pop();
    return std::move(values_);
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& what, std::string value = {}) const {
    throw Error(code, "pickle: at byte " + std::to_string(begin_) + ": " + what, "pickle", std::move(value));
  }
  [[noreturn]] void unknown(uint8_t opcode) const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::string hex = std::string("0x") + kDigits[opcode >> 4] + kDigits[opcode & 15];
    fail(ErrorCode::unsupported, "opcode " + hex + ", which pickles of plain values in protocols 2 to 5 do not have",
         hex);
  }

  // The bytes.
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_)
      fail(ErrorCode::corrupt,
           std::to_string(count) + " bytes are wanted, and the pickle has " + std::to_string(bytes_.size() - at_) +
               " more",
           std::to_string(count));
    const std::string_view out(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return out;
  }
  template <typename T>
  T number() {
    T out;
    std::memcpy(&out, take(sizeof out).data(), sizeof out);
    return out;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail(ErrorCode::corrupt, "a name without an end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // The stack.
  uint32_t add(PickleNode node) {
    if (values_.nodes_.size() >= most_)
      throw Error(ErrorCode::limit, "pickle: more than " + std::to_string(most_) + " values", "values", {},
                  std::to_string(most_));
    values_.nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(values_.nodes_.size() - 1);
  }
  void push(PickleNode node) { stack_.push_back(add(std::move(node))); }
  uint32_t pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail(ErrorCode::corrupt, "the stack is empty");
    const uint32_t out = stack_.back();
    stack_.pop_back();
    return out;
  }
  uint32_t top() {
    const uint32_t out = pop();
    stack_.push_back(out);
    return out;
  }
  /// What was pushed since the last mark, which is removed.
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) fail(ErrorCode::corrupt, "there is no mark on the stack");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<uint32_t> out(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return out;
  }
  void push_items(PickleKind kind, std::vector<uint32_t> items) {
    if (kind == PickleKind::dict && items.size() % 2 != 0) fail(ErrorCode::corrupt, "a dict has a key without a value");
    push({.kind = kind, .items = std::move(items)});
  }
  /// Adds to a container, or behind a call, as to an OrderedDict, which is made without arguments and then gets its
  /// items. What else is added to is an object of a class, which nobody builds.
  void extend(PickleKind kind, std::span<const uint32_t> items) {
    if (kind == PickleKind::dict && items.size() % 2 != 0) fail(ErrorCode::corrupt, "a dict has a key without a value");
    PickleNode& target = values_.nodes_[top()];
    if (target.kind != kind && target.kind != PickleKind::call) return;
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  /// Numbers and constants.
  bool plain(uint8_t opcode) {
    switch (opcode) {
      case 0x80: take(1); return true;  // the protocol
      case 0x95: take(8); return true;  // a frame, whose end says nothing more
      case 'N': push({}); return true;
      case 0x88: push({.kind = PickleKind::boolean, .number = 1}); return true;
      case 0x89: push({.kind = PickleKind::boolean}); return true;
      case 'J': push({.kind = PickleKind::integer, .number = number<int32_t>()}); return true;
      case 'K': push({.kind = PickleKind::integer, .number = number<uint8_t>()}); return true;
      case 'M': push({.kind = PickleKind::integer, .number = number<uint16_t>()}); return true;
      case 0x8a: push_long(number<uint8_t>()); return true;
      case 0x8b: push_long(number<uint32_t>()); return true;
      case 'G': {
        uint64_t big_endian = 0;
        for (const char byte : take(8)) big_endian = big_endian << 8 | static_cast<unsigned char>(byte);
        push({.kind = PickleKind::real, .real = std::bit_cast<double>(big_endian)});
        return true;
      }
      default: return false;
    }
  }
  /// An integer of any length, little-endian in two's complement.
  void push_long(uint64_t count) {
    const std::string_view digits = take(count);
    if (count > 8) return push({.kind = PickleKind::long_int, .text = digits});
    uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    push({.kind = PickleKind::integer, .number = static_cast<int64_t>(value)});
  }

  bool text(uint8_t opcode) {
    const auto push_text = [&](PickleKind kind, uint64_t count) {
      const std::string_view characters = take(count);
      push({.kind = kind, .text = characters});
      return true;
    };
    switch (opcode) {
      case 'X': return push_text(PickleKind::text, number<uint32_t>());
      case 0x8c: return push_text(PickleKind::text, number<uint8_t>());
      case 0x8d: return push_text(PickleKind::text, number<uint64_t>());
      case 'T':  // texts of Python 2
      case 'B': return push_text(opcode == 'B' ? PickleKind::bytes : PickleKind::text, number<uint32_t>());
      case 'U':
      case 'C': return push_text(opcode == 'C' ? PickleKind::bytes : PickleKind::text, number<uint8_t>());
      case 0x8e:
      case 0x96: return push_text(PickleKind::bytes, number<uint64_t>());
      default: return false;
    }
  }

  std::vector<uint32_t> popped(std::size_t count) {
    std::vector<uint32_t> out(count);
    for (std::size_t i = count; i-- > 0;) out[i] = pop();
    return out;
  }

  bool container(uint8_t opcode) {
    switch (opcode) {
      case '(': marks_.push_back(stack_.size()); return true;
      case '0': pop_or_mark(); return true;
      case '1': pop_to_mark(); return true;
      case '2': stack_.push_back(top()); return true;
      case ')': push({.kind = PickleKind::tuple}); return true;
      case 't': push_items(PickleKind::tuple, pop_to_mark()); return true;
      case 0x85:
      case 0x86:
      case 0x87: push_items(PickleKind::tuple, popped(opcode - 0x84U)); return true;
      case ']':
      case 0x8f: push({.kind = PickleKind::list}); return true;
      case 'l':
      case 0x91: push_items(PickleKind::list, pop_to_mark()); return true;
      case 'a': extend(PickleKind::list, popped(1)); return true;
      case 'e':
      case 0x90: extend(PickleKind::list, pop_to_mark()); return true;
      case '}': push({.kind = PickleKind::dict}); return true;
      case 'd': push_items(PickleKind::dict, pop_to_mark()); return true;
      case 's': extend(PickleKind::dict, popped(2)); return true;
      case 'u': extend(PickleKind::dict, pop_to_mark()); return true;
      default: return false;
    }
  }
  void pop_or_mark() {
    if (!marks_.empty() && stack_.size() == marks_.back()) {
      marks_.pop_back();
    } else {
      pop();
    }
  }

  bool memo(uint8_t opcode) {
    switch (opcode) {
      case 'q': keep(number<uint8_t>()); return true;
      case 'r': keep(number<uint32_t>()); return true;
      case 0x94: keep(static_cast<uint32_t>(memo_.size())); return true;
      case 'h': recall(number<uint8_t>()); return true;
      case 'j': recall(number<uint32_t>()); return true;
      default: return false;
    }
  }
  void keep(uint32_t key) { memo_[key] = top(); }
  void recall(uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end())
      fail(ErrorCode::corrupt, "value " + std::to_string(key) + " was not kept", std::to_string(key));
    stack_.push_back(found->second);
  }

  /// Names, calls and what is outside. Nothing is called.
  bool object(uint8_t opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = line();
        push({.kind = PickleKind::global, .module = module, .text = line()});
        return true;
      }
      case 0x93: {
        const std::vector<uint32_t> names = popped(2);
        const PickleNode &module = values_.nodes_[names[0]], &name = values_.nodes_[names[1]];
        if (module.kind != PickleKind::text || name.kind != PickleKind::text)
          fail(ErrorCode::corrupt, "a name that is no text");
        push({.kind = PickleKind::global, .module = module.text, .text = name.text});
        return true;
      }
      case 'R':
      case 0x81: push({.kind = PickleKind::call, .items = popped(2)}); return true;
      case 0x92: {
        std::vector<uint32_t> parts = popped(3);
        parts.pop_back();  // the named arguments
        push({.kind = PickleKind::call, .items = std::move(parts)});
        return true;
      }
      case 'o': {
        std::vector<uint32_t> parts = pop_to_mark();
        if (parts.empty()) fail(ErrorCode::corrupt, "an object without a class");
        const uint32_t arguments = add({.kind = PickleKind::tuple, .items = {parts.begin() + 1, parts.end()}});
        push({.kind = PickleKind::call, .items = {parts[0], arguments}});
        return true;
      }
      case 'i': {
        const std::string_view module = line();
        const uint32_t called = add({.kind = PickleKind::global, .module = module, .text = line()});
        const uint32_t arguments = add({.kind = PickleKind::tuple, .items = pop_to_mark()});
        push({.kind = PickleKind::call, .items = {called, arguments}});
        return true;
      }
      case 'b':
        pop();
        top();
        return true;  // the state of an object, which nobody builds
      case 'Q': push({.kind = PickleKind::persistent, .items = popped(1)}); return true;
      default: return false;
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t most_;
  std::size_t at_ = 0, begin_ = 0;
  PickleValues values_;
  std::vector<uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint32_t, uint32_t> memo_;
};

PickleValues read_pickle(std::span<const std::byte> bytes, std::size_t most) {
  return PickleReader(bytes, most).read();
}

std::string PickleValues::name_of(uint32_t node) const {
  // A call may call what a call returns.
  for (int depth = 0; depth < 8; ++depth) {
    const PickleNode& at = nodes_[node];
    if (at.kind == PickleKind::global) return std::string(at.module) + "." + std::string(at.text);
    if (at.kind != PickleKind::call) break;
    node = at.items[0];
  }
  return "";
}

}  // namespace relayout::checkpoint
