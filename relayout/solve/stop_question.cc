// The members of StopQuestion, which are not inline so that compilers do not look into them.
#include "relayout/solve/assign.h"

namespace relayout::solve {

StopQuestion::StopQuestion() noexcept = default;
StopQuestion::StopQuestion(Wrapped wrapped) : ask_(std::move(wrapped.ask)) {}
StopQuestion::StopQuestion(const StopQuestion& other) = default;
StopQuestion::StopQuestion(StopQuestion&& other) noexcept = default;
StopQuestion& StopQuestion::operator=(const StopQuestion& other) = default;
StopQuestion& StopQuestion::operator=(StopQuestion&& other) noexcept = default;
StopQuestion::~StopQuestion() = default;
StopQuestion::operator bool() const noexcept { return static_cast<bool>(ask_); }
bool StopQuestion::operator()() const { return ask_(); }

}  // namespace relayout::solve
