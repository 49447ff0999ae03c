// The backend in a build without oneDNN: making one is an error that says so.
#include "relayout/execute/onednn/backend.h"

namespace relayout::execute {

std::unique_ptr<graph::Backend> onednn_backend(int) {
  throw Error(ErrorCode::unsupported, "running models: this build has no oneDNN");
}

bool has_onednn() { return false; }

}  // namespace relayout::execute
