// Threads: a pool of one's own for a reorder, and two reorders at the same time. The bytes are the same whoever does
// the work.
#include <relayout/relayout.h>

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

using namespace relayout;

namespace {

/// Threads that are started for each call; a program would have them already.
class OwnThreads : public cpu::ThreadPool {
 public:
  void run(int threads, void (*body)(void* state, int thread, int count), void* state) const noexcept override {
    std::vector<std::thread> others;
    // The work does not depend on how many threads there are: where none can be started, the caller does it alone.
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back(body, state, i, threads);
    } catch (const std::exception&) {
    }
    body(state, 0, threads);
    for (std::thread& other : others) other.join();
  }
};

}  // namespace

int main() {
  const Dims dims{4, 64, 56, 56};
  const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
  const TensorDesc dst(Format::parse("nhwc").bind(dims), DType::f32);
  std::vector<float> in(static_cast<std::size_t>(src.layout.span()));
  std::iota(in.begin(), in.end(), 0.0f);
  const std::vector<float> empty(in.size());

  const Plan plan = cpu::make_plan(src, dst);
  std::vector<float> alone = empty, pooled = empty, first = empty, second = empty;
  cpu::run(plan, in, alone, {.threads = 1});

  const OwnThreads pool;
  cpu::run(plan, in, pooled, {.threads = 3, .pool = &pool});

  // One plan and one source, two destinations.
  std::thread other([&] { cpu::run(plan, in, first); });
  cpu::run(plan, in, second);
  other.join();

  const bool equal = alone == pooled && alone == first && alone == second;
  std::puts(equal ? "one thread, a pool and two calls at once: the same bytes" : "the bytes differ");
  return equal ? 0 : 1;
}
