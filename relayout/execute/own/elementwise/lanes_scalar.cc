// Where Highway is missing, the plain functions of f32 elements are all there are.
#include "relayout/execute/own/elementwise/lanes.h"

namespace relayout::execute {

const LaneTable<float>& vector_lanes() { return plain_lanes<float>(); }

}  // namespace relayout::execute
