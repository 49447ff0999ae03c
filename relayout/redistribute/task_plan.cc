// What a plan says of itself.
#include "relayout/redistribute/task_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace relayout::redistribute {
namespace {

/// "8.00 GB", "512.00 MB", "96 bytes".
std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(static_cast<int64_t>(bytes)) + " bytes";
  int unit = 0;
  for (bytes /= 1000; bytes >= 1000 && unit < 5; bytes /= 1000) ++unit;
  char out[32];
  std::snprintf(out, sizeof out, "%.2f %s", bytes, kUnits[unit]);
  return out;
}

std::string joined(const Dims& dims) {
  std::string out;
  for (int64_t extent : dims) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out.empty() ? "1" : out;
}

const char* store_name(int number) {
  static constexpr const char* kNames[] = {"the source", "the destination", "an intermediate file"};
  return kNames[number];
}

/// "2000 ranges of 16.00 kB".
std::string access_text(const Store& store, const Access& access) {
  char count[32];
  std::snprintf(count, sizeof count, "%.0f", access.count);
  return std::string(count) + (store.in_chunks() ? " chunks of " : " ranges of ") +
         bytes_text(access.count > 0 ? access.bytes / access.count : 0);
}

/// "0.016 ms a range and 1 s a GB".
std::string speed_text(const Speed& speed, const char* each) {
  char out[96];
  std::snprintf(out, sizeof out, "%.3g ms a %s and %.3g s a GB", speed.seconds_for_each * 1e3, each,
                1e9 / speed.bytes_per_second);
  return out;
}

std::string assumed_text(const TaskPlan& plan) {
  const char* each = plan.stores[0].in_chunks() || plan.stores[1].in_chunks() ? "chunk" : "range";
  const std::string read = speed_text(plan.read, each), write = speed_text(plan.write, each);
  if (read == write) return "reading and writing take " + read;
  return "reading takes " + read + ", writing " + write;
}

}  // namespace

int64_t Pass::count() const {
  int64_t out = 1;
  for (int d = 0; d < dims.size(); ++d) out *= dims[d] == 0 ? 0 : ceil_div(dims[d], step[d]);
  return out;
}

Task Pass::task(int64_t i) const {
  Task out{Dims(dims.size(), 0), Dims(dims.size(), 0)};
  for (int k = order.size(); k-- > 0;) {
    const int d = static_cast<int>(order[k]);
    const int64_t count = ceil_div(dims[d], step[d]);
    out.offsets[d] = i % count * step[d];
    out.dims[d] = std::min(step[d], dims[d] - out.offsets[d]);
    i /= count;
  }
  return out;
}

double TaskPlan::bytes_read() const {
  double out = 0;
  for (const Pass& pass : passes) out += pass.read.bytes;
  return out;
}

double TaskPlan::bytes_written() const {
  double out = 0;
  for (const Pass& pass : passes) out += pass.written.bytes;
  return out;
}

double TaskPlan::seconds() const {
  double out = 0;
  for (const Pass& pass : passes) out += pass.seconds;
  return out;
}

int64_t TaskPlan::tasks() const {
  int64_t out = 0;
  for (const Pass& pass : passes) out += pass.count();
  return out;
}

bool TaskPlan::whole() const { return tasks() <= 1 && passes[0].piece == passes[0].step; }

std::string TaskPlan::explain() const {
  std::string out = joined(stores[0].dims()) + " in " + std::to_string(passes.size()) +
                    (passes.size() == 1 ? " pass, " : " passes, ") + std::to_string(tasks()) +
                    (tasks() == 1 ? " task" : " tasks") + "\n";
  for (const Pass& pass : passes) {
    const Store &from = stores[static_cast<std::size_t>(pass.from)], &to = stores[static_cast<std::size_t>(pass.to)];
    out += std::string("  ") + store_name(pass.from) + " -> " + store_name(pass.to) + ": " +
           std::to_string(pass.count()) + " tasks of " + joined(pass.step) + ", read by pieces of " +
           joined(pass.piece) + ", " + bytes_text(pass.memory) + " each\n    reads " + access_text(from, pass.read) +
           ", writes " + access_text(to, pass.written) + "\n";
    if (pass.to == 2) out += "    the intermediate file has blocks of " + joined(to.unit()) + "\n";
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", this->seconds());
  out += "  moves " + bytes_text(bytes_read() + bytes_written()) + ", at least " + bytes_text(least_bytes()) +
         " are needed; about " + seconds + " s\n    where " + assumed_text(*this);
  return out;
}

}  // namespace relayout::redistribute
