// Each pass: its stores, the bounds, the borders and the sizes of its tasks, and that they do not meet.
#include "relayout/redistribute/check.h"

#include <algorithm>
#include <numeric>

namespace relayout::redistribute {
namespace {

class PassCheck {
 public:
  PassCheck(const TaskPlan& plan, int number, const std::vector<Task>& tasks, std::vector<std::string>* errors)
      : plan_(plan),
        pass_(plan.passes[static_cast<std::size_t>(number)]),
        dims_(plan.stores[0].dims()),
        number_(number),
        tasks_(tasks),
        errors_(errors) {}

  void run() {
    bool sound = true;
    for (std::size_t t = 0; t < tasks_.size(); ++t) sound &= task_inside(t) && task_shares_no_chunk(t) && task_fits(t);
    if (sound) all_covered_once();
  }

 private:
  bool wrong(const std::string& what) {
    errors_->push_back("pass " + std::to_string(number_) + ": " + what);
    return false;
  }
  std::string named(std::size_t t) const {
    return "task " + std::to_string(t) + " (" + join(tasks_[t].dims) + " from " + join(tasks_[t].offsets) + ")";
  }

  bool task_inside(std::size_t t) {
    const Task& task = tasks_[t];
    if (task.dims.size() != dims_.size() || task.offsets.size() != dims_.size())
      return wrong(named(t) + " has another number of dims than the tensor");
    for (int d = 0; d < dims_.size(); ++d) {
      if (task.offsets[d] >= 0 && task.dims[d] > 0 && task.offsets[d] + task.dims[d] <= dims_[d]) continue;
      return wrong(named(t) + " leaves dim " + std::to_string(d) + ", which has " + std::to_string(dims_[d]));
    }
    return true;
  }

  /// No chunk and no block of what is written belongs to two tasks.
  bool task_shares_no_chunk(std::size_t t) {
    const Task& task = tasks_[t];
    const Dims unit = plan_.stores[static_cast<std::size_t>(pass_.to)].unit();
    for (int d = 0; d < dims_.size(); ++d) {
      const int64_t end = task.offsets[d] + task.dims[d];
      if (task.offsets[d] % unit[d] == 0 && (end % unit[d] == 0 || end == dims_[d])) continue;
      return wrong(named(t) + " cuts a chunk of " + std::to_string(unit[d]) + " indices of dim " + std::to_string(d));
    }
    return true;
  }

  static double bytes_of(const Dims& dims, DType dtype) {
    double out = bits(dtype) / 8.0;
    for (int64_t extent : dims) out *= static_cast<double>(extent);
    return out;
  }

  /// A task holds all that it writes, and of what it reads as many pieces as are in memory at a time.
  bool task_fits(std::size_t t) {
    Dims piece = pass_.piece;
    for (int d = 0; d < piece.size(); ++d) piece[d] = std::min(piece[d], tasks_[t].dims[d]);
    const double need = bytes_of(tasks_[t].dims, plan_.stores[static_cast<std::size_t>(pass_.to)].dtype()) +
                        pass_.pieces * bytes_of(piece, plan_.stores[static_cast<std::size_t>(pass_.from)].dtype());
    if (need <= plan_.max_memory) return true;
    return wrong(named(t) + " holds " + std::to_string(need) + " bytes; " + std::to_string(plan_.max_memory) +
                 " are allowed");
  }

  static bool meet(const Task& a, const Task& b) {
    for (int d = 0; d < a.dims.size(); ++d) {
      if (a.offsets[d] + a.dims[d] <= b.offsets[d] || b.offsets[d] + b.dims[d] <= a.offsets[d]) return false;
    }
    return true;
  }

  /// Tasks that do not meet, and have as many elements as the tensor, have each of them once.
  void all_covered_once() {
    double covered = 0, all = 1;
    for (const Task& task : tasks_) covered += bytes_of(task.dims, DType::u8);
    for (int64_t extent : dims_) all *= static_cast<double>(extent);
    std::vector<std::size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto begin = [&](std::size_t t) { return dims_.empty() ? 0 : tasks_[t].offsets[0]; };
    std::ranges::sort(order, {}, begin);
    std::vector<std::size_t> open;  // tasks that reach as far as the present one begins
    for (std::size_t t : order) {
      std::erase_if(open, [&](std::size_t o) {
        return !dims_.empty() && tasks_[o].offsets[0] + tasks_[o].dims[0] <= tasks_[t].offsets[0];
      });
      for (std::size_t o : open) {
        if (!meet(tasks_[o], tasks_[t])) continue;
        wrong(named(o) + " and " + named(t) + " have elements in common");
        return;
      }
      open.push_back(t);
    }
    if (covered != all) wrong(std::to_string(covered) + " of " + std::to_string(all) + " elements are written");
  }

  const TaskPlan& plan_;
  const Pass& pass_;
  const Dims& dims_;
  int number_;
  const std::vector<Task>& tasks_;
  std::vector<std::string>* errors_;
};

/// The passes lead from the source to the destination, each from what the one before it wrote.
void check_chain(const TaskPlan& plan, std::vector<std::string>* errors) {
  int held = 0;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    const Pass& pass = plan.passes[p];
    if (pass.from != held)
      errors->push_back("pass " + std::to_string(p) + " reads store " + std::to_string(pass.from) + ", but store " +
                        std::to_string(held) + " was written before it");
    held = pass.to;
    if (held <= 0 || held >= static_cast<int>(plan.stores.size())) {
      errors->push_back("pass " + std::to_string(p) + " writes store " + std::to_string(held) +
                        ", which is not to be written");
      return;
    }
    if (plan.stores[static_cast<std::size_t>(held)].dims() != plan.stores[0].dims())
      errors->push_back("store " + std::to_string(held) + " has other dims than the source");
  }
  if (held != 1) errors->push_back("the last pass does not write the destination");
}

}  // namespace

std::vector<std::vector<Task>> tasks_of(const TaskPlan& plan) {
  std::vector<std::vector<Task>> out;
  for (const Pass& pass : plan.passes) {
    out.emplace_back();
    for (int64_t i = 0; i < pass.count(); ++i) out.back().push_back(pass.task(i));
  }
  return out;
}

std::vector<std::string> plan_errors(const TaskPlan& plan, const std::vector<std::vector<Task>>& tasks) {
  std::vector<std::string> out;
  check_chain(plan, &out);
  if (tasks.size() != plan.passes.size())
    out.push_back(std::to_string(tasks.size()) + " lists of tasks for " + std::to_string(plan.passes.size()) +
                  " passes");
  if (!out.empty()) return out;
  for (std::size_t p = 0; p < tasks.size(); ++p) PassCheck(plan, static_cast<int>(p), tasks[p], &out).run();
  return out;
}

}  // namespace relayout::redistribute
