// Hashing plans: see decisions.h.
#include "bench/decisions.h"

#include <bit>
#include <string_view>

#include "relayout/reorder/plan.h"

namespace relayout::bench {
namespace {

/// FNV-1a of 64 bits, byte by byte.
class Hash {
 public:
  void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  void add(uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8) add(static_cast<unsigned char>(word >> shift));
  }
  /// The digits of a text, and one space between two numbers.
  void add_numbers(std::string_view text) {
    bool inside = false;
    for (const char ch : text) {
      const bool digit = ch >= '0' && ch <= '9';
      if (digit || inside) add(static_cast<unsigned char>(digit ? ch : ' '));
      inside = digit;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

uint64_t decisions_of(const std::vector<NamedLayout>& layouts, DType src, DType dst, const Machine& machine) {
  Hash hash;
  for (const NamedLayout& from : layouts) {
    for (const NamedLayout& to : layouts) {
      const Plan plan = Plan::make({from.layout, src}, {to.layout, dst}, {}, machine);
      const Cost cost = plan.cost();
      hash.add_numbers(plan.explain());
      hash.add(std::bit_cast<uint64_t>(cost.nanoseconds));
      hash.add(static_cast<uint64_t>(cost.bytes_read));
      hash.add(static_cast<uint64_t>(cost.bytes_written));
    }
  }
  return hash.value();
}

}  // namespace relayout::bench
