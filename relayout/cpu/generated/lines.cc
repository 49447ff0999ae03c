// Choosing windows.
#include "relayout/cpu/generated/lines.h"

#include <algorithm>
#include <bit>

#include "relayout/reorder/price.h"

namespace relayout::cpu {
namespace {

using Piece = PatchLines::Piece;

uint64_t bits_of(int64_t first, int64_t count) {
  return (count >= kCacheLine ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

class LineMaker {
 public:
  LineMaker(const Origins& origins, const Instance& first, const Readable& readable, std::size_t most_windows)
      : origins_(origins), first_(first), readable_(readable), most_windows_(most_windows) {}

  bool add(int64_t dst, int64_t bytes) {
    PatchLines::Line line{dst};
    line.first_window = out_.windows.size();
    list(line, bytes);
    while (!left_.empty()) {
      if (++line.windows > most_windows_) return false;
      take_window();
    }
    for (std::size_t w = line.first_window; w < out_.windows.size(); ++w) line.fours = line.fours && by_fours(w);
    for (int64_t i = 0; i < kCacheLine; i += 4) {
      const uint64_t four = line.zeros >> i & 15;
      line.fours = line.fours && (four == 0 || four == 15);
    }
    // Shifted windows first, and of these the one of most bytes, as the first one needs no mask.
    std::stable_sort(out_.windows.begin() + static_cast<std::ptrdiff_t>(line.first_window), out_.windows.end(),
                     [](const auto& a, const auto& b) { return order(a) < order(b); });
    out_.lines.push_back(line);
    return true;
  }

  PatchLines& made() { return out_; }

 private:
  static std::pair<bool, int> order(const PatchLines::Window& w) { return {!w.shifted, -std::popcount(w.taken)}; }

  /// Lists the pieces of a line.
  void list(PatchLines::Line& line, int64_t bytes) {
    const int64_t element = origins_.element;
    const int32_t* const at = origins_.at.data() + (first_.dst + line.dst) / element;
    for (int64_t i = 0; i * element < bytes; ++i) {
      const int64_t from = at[i];
      if (from == Origins::kGap) continue;
      const uint64_t bits = bits_of(i * element, element);
      line.written |= bits;
      if (from == Origins::kPadding) {
        line.zeros |= bits;
      } else if (const int64_t src = from - first_.src; !left_.empty() &&
                                                        left_.back().src + left_.back().bytes == src &&
                                                        left_.back().dst + left_.back().bytes == i * element) {
        left_.back().bytes += element;
      } else {
        left_.push_back({src, i * element, element});
      }
    }
  }

  int64_t covered(int64_t from) const {
    int64_t bytes = 0;
    for (const Piece& p : left_)
      bytes += std::max<int64_t>(0, std::min(p.src + p.bytes, from + kCacheLine) - std::max(p.src, from));
    return bytes;
  }

  /// Takes the window that has the first byte of what is left, and most of the others. Of equal ones it takes one that
  /// another line has too, as that is loaded only once.
  void take_window() {
    const int64_t first = std::ranges::min_element(left_, {}, &Piece::src)->src;
    int64_t from = std::clamp(first, readable_.least, std::max(readable_.least, readable_.most)), most = covered(from);
    for (const int64_t other : known_) {
      if (other > first || other + kCacheLine <= first) continue;
      if (const int64_t bytes = covered(other); bytes >= most) most = bytes, from = other;
    }
    PatchLines::Window window{from, 0, true, out_.pieces.size(), 0};
    std::size_t kept = 0;
    for (Piece p : left_) {
      const int64_t inside = p.src >= from ? std::min(p.bytes, from + kCacheLine - p.src) : 0;
      if (inside > 0) {
        out_.pieces.push_back({p.src, p.dst, inside});
        window.taken |= bits_of(p.dst, inside);
        const Piece& start = out_.pieces[window.first_piece];
        window.shifted = window.shifted && p.src - p.dst == start.src - start.dst;
        p = {p.src + inside, p.dst + inside, p.bytes - inside};
      }
      if (p.bytes > 0) left_[kept++] = p;
    }
    left_.resize(kept);
    window.pieces = out_.pieces.size() - window.first_piece;
    if (window.shifted)
      window.from = out_.pieces[window.first_piece].src - out_.pieces[window.first_piece].dst;
    else if (std::ranges::find(known_, from) == known_.end())
      remember(from);
    out_.windows.push_back(window);
  }

  void remember(int64_t from) {
    static constexpr std::size_t kMost = 16;
    if (known_.size() == kMost) known_.erase(known_.begin());
    known_.push_back(from);
  }

  bool by_fours(std::size_t w) const {
    const PatchLines::Window& window = out_.windows[w];
    for (std::size_t k = 0; k < window.pieces; ++k) {
      const Piece& p = out_.pieces[window.first_piece + k];
      if (p.dst % 4 != 0 || p.bytes % 4 != 0 || (!window.shifted && (p.src - window.from) % 4 != 0)) return false;
    }
    return true;
  }

  const Origins& origins_;
  const Instance& first_;
  const Readable& readable_;
  const std::size_t most_windows_;
  std::vector<Piece> left_;
  std::vector<int64_t> known_;  // windows of other lines that are not shifted
  PatchLines out_;
};

}  // namespace

Readable readable_by(const Pattern& pattern, int64_t src_bytes) {
  const auto [least, most] = pattern.reach();
  return {-least, src_bytes - kCacheLine - most};
}

std::optional<PatchLines> lines_of(const Origins& origins, const Instance& first, int64_t bytes,
                                   const Readable& readable, std::size_t most_windows) {
  LineMaker maker(origins, first, readable, most_windows);
  const int64_t line = std::min(bytes, kCacheLine);
  for (int64_t at = 0; at < bytes; at += line) {
    if (!maker.add(std::min(at, bytes - line), line)) return std::nullopt;
  }
  return std::move(maker.made());
}

double instance_ns(const PatchLines& lines) {
  double ns = 0;
  for (const PatchLines::Line& line : lines.lines) {
    ns += price::kCodeLine + (~line.written == 0 ? 0 : price::kCodePart);
    for (std::size_t w = 0; w < line.windows; ++w) {
      const bool shifted = lines.windows[line.first_window + w].shifted;
      const bool free = w == 0 && line.zeros == 0;
      ns += shifted ? (free ? price::kLoaded : price::kShifted) : line.fours ? price::kByFours : price::kByBytes;
    }
  }
  return ns;
}

}  // namespace relayout::cpu
