// ONNX files: from bytes to protobuf's classes, within bounds; model.cc goes on from there.
#include "relayout/graph/onnx/onnx.h"

#ifdef RELAYOUT_HAVE_ONNX
#include <google/protobuf/stubs/common.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif

#include "relayout/core/system_error.h"
#include "relayout/graph/models/random_weights.h"
#include "relayout/graph/onnx/importer.h"
#include "relayout/graph/onnx/transposing.h"
#include "relayout/graph/passes/simplify.h"
#endif
#include "relayout/graph/onnx/transposes.h"

namespace relayout::graph {
namespace {

#ifndef RELAYOUT_HAVE_ONNX
[[noreturn]] void throw_absent() {
  throw Error(ErrorCode::unsupported, "onnx: this build has no ONNX (libonnx-dev and libprotobuf-dev were not there)");
}
#else
int64_t largest_file(const OnnxOptions& options) {
  // protobuf stores sizes in int.
  return std::min<int64_t>(options.max_file_bytes, std::numeric_limits<int>::max());
}

void check_model_size(int64_t bytes, const OnnxOptions& options, const std::string& what) {
  if (bytes <= largest_file(options)) return;
  throw Error(ErrorCode::limit, "onnx: " + what + " has more than " + std::to_string(largest_file(options)) + " bytes",
              "bytes", std::to_string(bytes), std::to_string(largest_file(options)));
}

std::vector<std::byte> read_file(const std::filesystem::path& path, const OnnxOptions& options) {
  const std::string shown = "\"" + escaped(path.string(), 256) + "\"";
  const auto fail = [&](const char* operation) -> SystemError {
    const int number = errno;
    return {number, std::string(operation) + " " + shown + ": " + std::strerror(number), "path", shown};
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw fail("open");
  std::vector<std::byte> bytes;
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  for (std::size_t have = 0;;) {
    bytes.resize(have + kChunk);
    const std::size_t got = std::fread(bytes.data() + have, 1, kChunk, file.get());
    have += got;
    check_model_size(static_cast<int64_t>(have), options, shown);
    if (got == kChunk) continue;
    if (std::ferror(file.get()) != 0) throw fail("read");
    bytes.resize(have);
    return bytes;
  }
}

/// Fills `model` from bytes. protobuf refuses messages that are nested deeper than 100, so that nothing recurses far.
void parse(std::span<const std::byte> bytes, const OnnxOptions& options, ::onnx::ModelProto* model) {
  check_model_size(static_cast<int64_t>(bytes.size()), options, "the model");
#if GOOGLE_PROTOBUF_VERSION < 4022000
  const google::protobuf::LogSilencer no_messages;
#endif
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(ErrorCode::corrupt, "onnx: no ONNX model: its " + std::to_string(bytes.size()) +
                                        " bytes are no protobuf message, or nested too deeply");
  }
}

OnnxModel finish(::onnx::ModelProto& proto, const OnnxOptions& options, const std::filesystem::path& folder) {
  importing::Import model{.options = options};
  model.folder = folder;
  importing::import_model(model, proto);
  prune(model.graph);
  if (options.random_weights != 0) randomize_weights(model.graph, options.random_weights);
  return {std::move(model.graph), model.opset, std::move(model.warnings)};
}

/// Calls import(options), and turns a lack of memory and protobuf's exceptions into Error. What the caller's own
/// functions throw is passed on as it is.
template <typename F>
auto guarded(const OnnxOptions& given, F&& import) {
  bool by_caller = false;
  OnnxOptions options = given;
  for (DimsOfInputs* dims_of : {&options.dims_of_arrays, &options.dims_of_plan}) {
    if (!*dims_of) continue;
    *dims_of = [&by_caller, call = *dims_of](std::span<const OnnxInput> inputs) {
      by_caller = true;
      auto dims = call(inputs);
      by_caller = false;
      return dims;
    };
  }
  try {
    return import(options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (by_caller) throw;
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
      throw Error(ErrorCode::limit, "onnx: not enough memory for this model");
    throw Error(ErrorCode::corrupt, "onnx: " + escaped(error.what(), 256));
  }
}
#endif

}  // namespace

#ifdef RELAYOUT_HAVE_ONNX
bool has_onnx() { return true; }

OnnxModel read_onnx(const std::filesystem::path& path, const OnnxOptions& given) {
  return guarded(given, [&](const OnnxOptions& options) {
    ::onnx::ModelProto proto;
    parse(read_file(path, options), options, &proto);
    const std::filesystem::path folder = path.parent_path();
    return finish(proto, options, folder.empty() ? "." : folder);
  });
}

OnnxModel parse_onnx(std::span<const std::byte> bytes, const OnnxOptions& given) {
  return guarded(given, [&](const OnnxOptions& options) {
    ::onnx::ModelProto proto;
    parse(bytes, options, &proto);
    return finish(proto, options, {});
  });
}

std::vector<OnnxNode> read_onnx_nodes(const std::filesystem::path& path) {
  return guarded({}, [&](const OnnxOptions& options) {
    ::onnx::ModelProto proto;
    parse(read_file(path, options), options, &proto);
    return importing::nodes_of(proto);
  });
}

OnnxTransposes move_transposes(const std::filesystem::path& path, const OnnxOptions& given, const TransposeCost& cost) {
  return guarded(given, [&](const OnnxOptions& options) {
    ::onnx::ModelProto proto;
    parse(read_file(path, options), options, &proto);
    const std::filesystem::path folder = path.parent_path();
    return importing::moved_transposes(proto, folder.empty() ? "." : folder, options, cost);
  });
}
#else
bool has_onnx() { return false; }

std::vector<OnnxNode> read_onnx_nodes(const std::filesystem::path&) { throw_absent(); }
OnnxTransposes move_transposes(const std::filesystem::path&, const OnnxOptions&, const TransposeCost&) {
  throw_absent();
}

OnnxModel read_onnx(const std::filesystem::path&, const OnnxOptions&) { throw_absent(); }
OnnxModel parse_onnx(std::span<const std::byte>, const OnnxOptions&) { throw_absent(); }
#endif

}  // namespace relayout::graph
