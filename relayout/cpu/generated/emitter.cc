// What stays in registers: the masks and permutations that a pattern uses most, and windows that several lines use.
#include "relayout/cpu/generated/emitter.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <variant>

namespace relayout::cpu {
namespace {

using Xbyak::Opmask;
using Xbyak::Zmm;

/// 64 bytes of constants: which byte, or which four, each place takes.
using Places = std::array<uint8_t, 64>;

struct Operation {
  // The accumulator becomes: a window; or, under a mask, its bytes; bytes in another order; fours of it; fours of the
  // accumulator and of a window.
  enum class Kind : uint8_t { load, load_masked, bytes, bytes_masked, fours, fours_of_two };
  Kind kind;
  int64_t from = 0;
  uint64_t mask = 0;
  bool clears = false;  // what the mask leaves out becomes 0
  bool whole = false;   // the window is one that may stay in a register
  Places places{};

  bool permutes() const { return kind >= Kind::bytes; }
  bool masked() const { return kind == Kind::load_masked || kind == Kind::bytes_masked; }
};

/// The operations of a line.
class LineOperations {
 public:
  LineOperations(const ListedPattern& in, const PatchLines::Line& line) : in_(in), line_(line) {}

  std::vector<Operation> all() {
    for (std::size_t w = 0; w < line_.windows; ++w) {
      const PatchLines::Window& window = at(w);
      const bool first = w == 0, clears = line_.zeros != 0;
      if (window.shifted) {
        const bool free = first && !clears && in_.readable.has(window.from);
        out_.push_back({free ? Operation::Kind::load : Operation::Kind::load_masked, window.from, window.taken, first});
      } else if (line_.fours && !(first && clears)) {
        if (first && line_.windows > 1) {
          // Of the first two windows one is the accumulator as it is.
          out_.push_back({Operation::Kind::load, window.from, 0, false, true});
          add_fours(Operation::Kind::fours_of_two, at(++w), &window);
        } else {
          add_fours(first ? Operation::Kind::fours : Operation::Kind::fours_of_two, window, nullptr);
        }
      } else {
        add_bytes(window, first, clears);
      }
    }
    return std::move(out_);
  }

 private:
  const PatchLines::Window& at(std::size_t w) const { return in_.lines.windows[line_.first_window + w]; }

  template <typename Each>
  void each_piece(const PatchLines::Window& window, const Each& each) const {
    for (std::size_t k = 0; k < window.pieces; ++k) {
      const PatchLines::Piece& p = in_.lines.pieces[window.first_piece + k];
      for (int64_t i = 0; i < p.bytes; ++i) each(p.dst + i, p.src + i - window.from);
    }
  }

  void add_bytes(const PatchLines::Window& window, bool first, bool clears) {
    const bool masked = !first || clears;
    Operation op{masked ? Operation::Kind::bytes_masked : Operation::Kind::bytes, window.from, window.taken, first,
                 true};
    // The sign says which bytes are taken, as a mask may be made of it.
    each_piece(window, [&](int64_t to, int64_t from) {
      op.places[static_cast<std::size_t>(to)] = static_cast<uint8_t>(from | 128);
    });
    out_.push_back(op);
  }

  /// `before`: the window that the accumulator holds; where this is null, it holds a part of the line.
  void add_fours(Operation::Kind kind, const PatchLines::Window& window, const PatchLines::Window* before) {
    Operation op{kind, window.from, 0, false, true};
    std::array<uint32_t, 16> fours;
    const bool two = kind == Operation::Kind::fours_of_two;
    for (uint32_t i = 0; i < 16; ++i) fours[i] = two && !before ? i : 0;
    const auto set = [&](const PatchLines::Window& w, uint32_t table) {
      each_piece(w, [&](int64_t to, int64_t from) {
        fours[static_cast<std::size_t>(to / 4)] = table + static_cast<uint32_t>(from / 4);
      });
    };
    if (before) set(*before, 0);
    set(window, two ? 16 : 0);
    std::memcpy(op.places.data(), fours.data(), op.places.size());
    out_.push_back(op);
  }

  const ListedPattern& in_;
  const PatchLines::Line& line_;
  std::vector<Operation> out_;
};

/// Constants that the code reads, each once.
template <typename T>
class Constants {
 public:
  Xbyak::Label& label(const T& value) {
    for (std::size_t k = values_.size(); k-- > 0;) {
      if (values_[k] == value) return labels_[k];
    }
    values_.push_back(value);
    return labels_.emplace_back();
  }
  template <typename Write>
  void write(const Write& one) {
    for (std::size_t k = 0; k < values_.size(); ++k) one(labels_[k], values_[k]);
  }

 private:
  std::vector<T> values_;
  std::deque<Xbyak::Label> labels_;
};

/// Values and how often each is used.
template <typename T>
class Uses {
 public:
  void add(const T& value) {
    for (auto& [known, times] : all_) {
      if (known == value) return void(++times);
    }
    all_.push_back({value, 1});
  }
  /// Those that are used `least` times and more, the most used first, at most `most` of them.
  std::vector<T> best(std::size_t most, int least) {
    std::ranges::stable_sort(all_, std::ranges::greater{}, &std::pair<T, int>::second);
    std::vector<T> out;
    for (const auto& [value, times] : all_) {
      if (out.size() < most && times >= least) out.push_back(value);
    }
    return out;
  }
  std::size_t size() const { return all_.size(); }
  int times(const T& value) const {
    for (const auto& [known, times] : all_) {
      if (known == value) return times;
    }
    return 0;
  }

 private:
  std::vector<std::pair<T, int>> all_;
};

class Emitter : public Xbyak::CodeGenerator {
 public:
  static constexpr std::size_t kMostBytes = 64 << 10;

  explicit Emitter(void* memory) : Xbyak::CodeGenerator(kMostBytes, memory) {}

  void pattern(const ListedPattern& in) {
    std::vector<std::vector<Operation>> lines;
    for (const PatchLines::Line& line : in.lines.lines) lines.push_back(LineOperations(in, line).all());
    keep_constants(in, lines);
    Xbyak::Label top;
    start_instances(in.pattern, top);
    for (std::size_t l = 0; l < lines.size(); ++l) line(in.lines.lines[l], lines[l], Zmm(static_cast<int>(l) % kMade));
    if (in.pattern.instances.size() > 1) {
      add(rdx, 8);
      cmp(rdx, rcx);
      jb(top, T_NEAR);
    }
  }

  void finish() {
    vzeroupper();
    ret();
    align(kCacheLine);
    places_.write([&](Xbyak::Label& label, const Places& value) {
      L(label);
      for (const uint8_t one : value) db(one);
    });
    masks_.write([&](Xbyak::Label& label, uint64_t value) {
      L(label);
      dq(value);
    });
    instances_.write([&](Xbyak::Label& label, const std::vector<Instance>* list) {
      L(label);
      for (const Instance& one : *list) {
        dd(static_cast<uint32_t>(one.src));
        dd(static_cast<uint32_t>(one.dst));
      }
    });
    ready();
  }

 private:
  static constexpr int kMade = 4;  // registers in which lines are made
  static constexpr std::size_t kKeptPlaces = 16, kKeptMasks = 6;
  static constexpr int64_t kNoWindow = std::numeric_limits<int64_t>::min();

  void keep_constants(const ListedPattern& in, const std::vector<std::vector<Operation>>& lines) {
    Uses<Places> places;
    Uses<uint64_t> masks;
    windows_ = {};
    for (const PatchLines::Line& one : in.lines.lines) {
      if (~one.written != 0) masks.add(one.written);
    }
    for (const auto& operations : lines) {
      for (const Operation& op : operations) {
        if (op.permutes()) places.add(op.places);
        if (op.masked()) masks.add(op.mask);
        if (op.whole) windows_.add(op.from);
      }
    }
    // What is used once, in one instance, need not stay.
    const int least = in.pattern.instances.size() > 1 ? 1 : 2;
    // If not all permutations fit, more registers are left for windows.
    kept_places_ = places.best(places.size() <= kKeptPlaces ? kKeptPlaces : kKeptPlaces - 4, least);
    kept_masks_ = masks.best(kKeptMasks, least);
    for (std::size_t k = 0; k < kept_masks_.size(); ++k)
      kmovq(mask_register(k), ptr[rip + masks_.label(kept_masks_[k])]);
    for (std::size_t k = 0; k < kept_places_.size(); ++k)
      vmovdqa64(places_register(k), ptr[rip + places_.label(kept_places_[k])]);
    first_window_ = kMade + static_cast<int>(kept_places_.size()) + 1;
    held_.fill(kNoWindow);
    used_.fill(0);
    clock_ = 0;
  }

  static Opmask mask_register(std::size_t k) { return Opmask(1 + static_cast<int>(k)); }
  static Zmm places_register(std::size_t k) { return Zmm(kMade + static_cast<int>(k)); }

  void start_instances(const Pattern& pattern, Xbyak::Label& top) {
    const auto& list = pattern.instances;
    if (list.size() == 1) {
      lea(r8, ptr[rdi + static_cast<int>(list[0].src)]);
      lea(r9, ptr[rsi + static_cast<int>(list[0].dst)]);
      return;
    }
    lea(rdx, ptr[rip + instances_.label(&list)]);
    lea(rcx, ptr[rdx + static_cast<int>(8 * list.size())]);
    align(32);
    L(top);
    movsxd(r8, dword[rdx]);
    movsxd(r9, dword[rdx + 4]);
    add(r8, rdi);
    add(r9, rsi);
  }

  void line(const PatchLines::Line& line, const std::vector<Operation>& operations, const Zmm& made) {
    if (operations.empty()) vpxord(made, made, made);
    for (const Operation& op : operations) operation(op, made);
    const auto to = ptr[r9 + static_cast<int>(line.dst)];
    if (~line.written == 0)
      vmovdqu64(to, made);
    else
      vmovdqu8(to | mask(line.written), made);
  }

  void operation(const Operation& op, const Zmm& made) {
    if (op.kind == Operation::Kind::load_masked) {
      const Opmask k = mask(op.mask);
      return vmovdqu8(op.clears ? made | k | T_z : made | k, window(op.from));
    }
    if (!op.permutes() && op.whole) return vmovdqu64(made, held(op.from));
    if (!op.permutes()) return vmovdqu64(made, window(op.from));
    const Zmm by = places(op.places);
    if (op.kind == Operation::Kind::bytes_masked) {
      const auto kept = std::ranges::find(kept_masks_, op.mask);
      const Opmask k =
          kept != kept_masks_.end() ? mask_register(static_cast<std::size_t>(kept - kept_masks_.begin())) : k7;
      if (kept == kept_masks_.end()) vpmovb2m(k7, by);
      const Xbyak::Operand& from = held(op.from);
      return vpermb(op.clears ? made | k | T_z : made | k, by, from);
    }
    const Xbyak::Operand& from = held(op.from);
    if (op.kind == Operation::Kind::bytes) return vpermb(made, by, from);
    if (op.kind == Operation::Kind::fours) return vpermd(made, by, from);
    vpermt2d(made, by, from);
  }

  Opmask mask(uint64_t value) {
    const auto kept = std::ranges::find(kept_masks_, value);
    if (kept != kept_masks_.end()) return mask_register(static_cast<std::size_t>(kept - kept_masks_.begin()));
    kmovq(k7, ptr[rip + masks_.label(value)]);
    return k7;
  }

  Zmm places(const Places& value) {
    const auto kept = std::ranges::find(kept_places_, value);
    if (kept != kept_places_.end()) return places_register(static_cast<std::size_t>(kept - kept_places_.begin()));
    const Zmm other(first_window_ - 1);
    vmovdqa64(other, ptr[rip + places_.label(value)]);
    return other;
  }

  Xbyak::Address window(int64_t from) { return ptr[r8 + static_cast<int>(from)]; }

  /// A window in a register if several lines use it, else in memory.
  const Xbyak::Operand& held(int64_t from) {
    int oldest = first_window_;
    for (int r = first_window_; r < 32; ++r) {
      const auto at = static_cast<std::size_t>(r);
      if (held_[at] == from) {
        used_[at] = ++clock_;
        return operand_.emplace<Zmm>(r);
      }
      if (used_[at] < used_[static_cast<std::size_t>(oldest)]) oldest = r;
    }
    if (windows_.times(from) < 2) return operand_.emplace<Xbyak::Address>(window(from));
    held_[static_cast<std::size_t>(oldest)] = from;
    used_[static_cast<std::size_t>(oldest)] = ++clock_;
    vmovdqu64(Zmm(oldest), window(from));
    return operand_.emplace<Zmm>(oldest);
  }

  Constants<Places> places_;
  Constants<uint64_t> masks_;
  Constants<const std::vector<Instance>*> instances_;
  // Of the pattern at hand:
  std::vector<Places> kept_places_;
  std::vector<uint64_t> kept_masks_;
  Uses<int64_t> windows_;
  int first_window_ = 0, clock_ = 0;
  std::array<int64_t, 32> held_{};
  std::array<int, 32> used_{};
  std::variant<std::monostate, Zmm, Xbyak::Address> operand_;
};

}  // namespace

std::vector<std::byte> emit(const std::vector<ListedPattern>& patterns) {
  std::vector<std::byte> memory(Emitter::kMostBytes + kCacheLine);
  auto* const start = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + kCacheLine - 1) &
                                                   ~static_cast<uintptr_t>(kCacheLine - 1));
  try {
    Emitter emitter(start);
    for (const ListedPattern& one : patterns) emitter.pattern(one);
    emitter.finish();
    return {start, start + emitter.getSize()};
  } catch (const Xbyak::Error&) {
    return {};
  }
}

}  // namespace relayout::cpu
