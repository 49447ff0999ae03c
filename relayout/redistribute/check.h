// Proves that the tasks of a plan are complete: every element of every store that is written is written once, from a
// store that holds it, and that the elements which a task holds at a time fit the bound of memory.
//
// Memory beside these elements is the planner's word alone (Pass::memory): blocks of the disk that are read with them,
// chunks that are decoded or encoded, what the reorder itself needs.
//
// It shares no code with the planner. Tasks come as a list, so that what a scheduler was really given can be checked.
#pragma once

#include <string>
#include <vector>

#include "relayout/redistribute/task_plan.h"

namespace relayout::redistribute {

/// The tasks of each pass, as the plan lists them.
std::vector<std::vector<Task>> tasks_of(const TaskPlan& plan);

/// What is wrong, in sentences that name the pass and the task; empty of a right plan. Cost: some steps for each pair
/// of tasks that share indices of the first dim.
std::vector<std::string> plan_errors(const TaskPlan& plan, const std::vector<std::vector<Task>>& tasks);

}  // namespace relayout::redistribute
