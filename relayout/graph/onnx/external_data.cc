// The data of constants that an ONNX model keeps in other files beside it.
//
// A model may come from anywhere, so a file that it names must lie in the model's folder or below: names with "..",
// absolute ones and links that lead out of it are refused before anything is opened.
#include <charconv>
#include <fstream>

#include "relayout/core/system_error.h"
#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

namespace fs = std::filesystem;

struct ExternalData {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

ExternalData entries_of(const ::onnx::TensorProto& tensor, const std::string& what) {
  ExternalData out;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") out.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    int64_t number = -1;
    const std::string& text = entry.value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
      throw Error(ErrorCode::corrupt, what + ": the " + entry.key() + " " + in_quotes(text) + " of its data",
                  "external_data", escaped(text));
    }
    if (entry.key() == "offset")
      out.offset = number;
    else
      out.length = number;
  }
  return out;
}

/// The file's path. Error{unsupported} where it is not in the folder.
fs::path path_of(const fs::path& folder, const std::string& location, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::unsupported, what + " has its data in the file " + in_quotes(location) + ", " + why,
                "external_data", escaped(location), "a file in the model's folder");
  };
  if (folder.empty()) refuse("and a model that is no file has no other files");
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute() || relative.has_root_name()) refuse("which is no path in its folder");
  for (const fs::path& part : relative) {
    if (part == "..") refuse("which is not in the model's folder");
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder, error);
  const fs::path path = error ? fs::path() : fs::canonical(home / relative, error);
  if (error) {
    throw SystemError(error.value(), what + ": its data in the file " + in_quotes(location) + ": " + error.message(),
                      "external_data", escaped(location));
  }
  // A link may lead elsewhere.
  const auto [at, rest] = std::mismatch(home.begin(), home.end(), path.begin(), path.end());
  if (at != home.end()) refuse("which leads out of the model's folder");
  if (!fs::is_regular_file(path, error)) refuse("which is no file");
  return path;
}

}  // namespace

ConstantData external_data(Import& model, const ::onnx::TensorProto& tensor, int64_t bytes, const std::string& what) {
  const ExternalData data = entries_of(tensor, what);
  const fs::path path = path_of(model.folder, data.location, what);
  if (data.length && *data.length != bytes) {
    throw Error(
        ErrorCode::corrupt,
        what + " has " + std::to_string(*data.length) + " bytes of data, " + std::to_string(bytes) + " are needed",
        "external_data", std::to_string(*data.length), std::to_string(bytes));
  }
  const auto total = checked_add(model.external_bytes, bytes);
  if (!total || *total > model.options.max_file_bytes) {
    throw Error(
        ErrorCode::limit,
        "onnx: the data in other files has more than " + std::to_string(model.options.max_file_bytes) + " bytes",
        "external_data", std::to_string(bytes), std::to_string(model.options.max_file_bytes));
  }
  model.external_bytes = *total;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<int64_t>(file.tellg()) : -1;
  if (size < 0 || data.offset > size || bytes > size - data.offset) {
    throw Error(size < 0 ? ErrorCode::io : ErrorCode::corrupt,
                what + ": the file " + in_quotes(data.location) + " cannot be read or ends before its data does",
                "external_data", escaped(data.location), std::to_string(bytes));
  }
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  file.seekg(data.offset);
  if (bytes > 0 && !file.read(reinterpret_cast<char*>(out.data()), bytes)) {
    throw Error(ErrorCode::io, what + ": reading the file " + in_quotes(data.location), "external_data",
                escaped(data.location));
  }
  return std::make_shared<const std::vector<std::byte>>(std::move(out));
}

}  // namespace relayout::graph::importing
