// A user of the core alone: binds a tag and asks for one offset.
#include <cstdio>

#include "relayout/core/format.h"

int main() {
  const relayout::Layout layout = relayout::Format::parse("nChw8c").bind({2, 17, 5, 4});
  const int64_t offset = layout.offset(relayout::Dims{0, 16, 2, 3});
  std::printf("nChw8c 2x17x5x4: (0,16,2,3) is at %lld\n", static_cast<long long>(offset));
  return offset == 408 ? 0 : 1;
}
