// Programs of the Python package that the command runs, where a task needs packages of Python: its process becomes
// Python's.
#pragma once

#include <string>
#include <vector>

namespace relayout::tools {

/// Becomes `main(arguments, program)` of the module `module`, for example relayout.redistribute.__main__, in the Python
/// that RELAYOUT_PYTHON names, or python3. That Python says what it lacks. It returns only by an error: Error{io} where
/// there is no such Python.
[[noreturn]] void become_python(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace relayout::tools
