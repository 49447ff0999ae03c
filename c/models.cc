// Models in C: what they say of themselves, and running them.
#include "c/models.h"

namespace relayout::c {
namespace {

std::vector<std::string> output_names(const graph::Graph& graph) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) out.push_back(graph.output_name(i));
  return out;
}

/// The name or tensor of that number; Error{invalid_argument} where there are not so many.
template <typename List>
const auto& numbered(const List& list, size_t i, const char* what) {
  if (i < list.size()) return list[i];
  refuse(what, "is " + std::to_string(i) + ", and the model has " + std::to_string(list.size()));
}

void give_desc(const graph::Tensor& tensor, relayout_desc** desc) {
  relayout_desc*& out = result(desc, "desc");
  out = new relayout_desc({Layout::contiguous(tensor.dims), tensor.dtype}, "");
}

/// What is said of one entry of the caller's list: "sources[2].bytes".
std::string entry(std::string_view list, std::size_t i, const char* field) {
  return std::string(list) + "[" + std::to_string(i) + "]." + field;
}

/// The caller's list in the model's order, as Source or Destination, with buffers that hold their layouts.
template <typename Tensor, typename Given>
std::vector<Tensor> tensors_of(std::span<const Given> given, const std::vector<std::string>& names,
                               std::string_view list) {
  std::vector<Tensor> out;
  const auto places = places_of(given, names, list);
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (!places[n]) refuse_list(list, "lacks \"" + escaped(names[n]) + "\"", escaped(names[n]), names);
    const std::size_t i = *places[n];
    const TensorDesc& desc = checked(given[i].desc, entry(list, i, "desc")).desc;
    memory<const std::byte>(given[i].data, given[i].bytes, entry(list, i, "data"));
    check_size(entry(list, i, "bytes"), given[i].bytes, desc.span_bytes());
    out.emplace_back(desc, given[i].data);
  }
  return out;
}

/// Error{overlap} where a destination shares memory with a source or another destination.
void check_apart(const relayout_model& handle, std::span<const execute::Source> sources,
                 std::span<const execute::Destination> destinations) {
  const auto refuse_overlap = [&](std::size_t output, const std::string& other) {
    const std::string& name = handle.outputs[output];
    throw Error(ErrorCode::overlap, "destination \"" + escaped(name) + "\" shares memory with " + other, "destinations",
                escaped(name));
  };
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const auto meets = [&](const auto& other) {
      return share_memory(destinations[i].data, destinations[i].desc.span_bytes(), other.data, other.desc.span_bytes());
    };
    for (std::size_t k = 0; k < sources.size(); ++k)
      if (meets(sources[k])) refuse_overlap(i, "source \"" + escaped(handle.inputs[k]) + "\"");
    for (std::size_t k = 0; k < i; ++k)
      if (meets(destinations[k])) refuse_overlap(i, "destination \"" + escaped(handle.outputs[k]) + "\"");
  }
}

}  // namespace

/// The shared library librelayout keeps the errors of both.
void set_error(const ErrorTexts& error) noexcept {
  relayout_error_set(error.message.text, error.field.text, error.value.text, error.limit.text);
}

std::vector<std::string> input_names(const graph::Graph& graph) {
  std::vector<std::string> out;
  for (const graph::TensorId t : graph.inputs) out.push_back(graph.tensor(t).name);
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ");
    out += "\"" + escaped(names[i]) + "\"";
  }
  return out;
}

void refuse_list(std::string_view list, const std::string& problem, const std::string& value,
                 const std::vector<std::string>& names) {
  throw Error(ErrorCode::invalid_argument,
              std::string(list) + " " + problem + "; the model has " + std::to_string(names.size()) +
                  (names.empty() ? "" : ": " + listed(names)),
              std::string(list), value, listed(names));
}

}  // namespace relayout::c

relayout_model::relayout_model(relayout::c::PlannedModel made)
    : Tagged(relayout::c::HandleKind<relayout_model>::kNumber),
      inputs(relayout::c::input_names(made.model.graph())),
      outputs(relayout::c::output_names(made.model.graph())),
      explanation(std::move(made.explanation)),
      warnings(std::move(made.warnings)),
      speeds(made.speeds),
      model(std::move(made.model)) {}

namespace c = relayout::c;
using relayout::Error;
using relayout::ErrorCode;

extern "C" {

void relayout_model_free(relayout_model* model) { c::free_handle(model); }

relayout_status relayout_model_input_count(const relayout_model* model, size_t* inputs) {
  return c::guarded([&] { c::result(inputs, "inputs") = c::checked(model, "model").inputs.size(); });
}

relayout_status relayout_model_output_count(const relayout_model* model, size_t* outputs) {
  return c::guarded([&] { c::result(outputs, "outputs") = c::checked(model, "model").outputs.size(); });
}

relayout_status relayout_model_input_name(const relayout_model* model, size_t input, char* name, size_t capacity,
                                          size_t* length) {
  return c::guarded(
      [&] { c::give_text(c::numbered(c::checked(model, "model").inputs, input, "input"), name, capacity, length); });
}

relayout_status relayout_model_output_name(const relayout_model* model, size_t output, char* name, size_t capacity,
                                           size_t* length) {
  return c::guarded(
      [&] { c::give_text(c::numbered(c::checked(model, "model").outputs, output, "output"), name, capacity, length); });
}

relayout_status relayout_model_input_desc(const relayout_model* model, size_t input, relayout_desc** desc) {
  return c::guarded([&] {
    const relayout::graph::Graph& graph = c::checked(model, "model").model.graph();
    c::give_desc(graph.tensor(c::numbered(graph.inputs, input, "input")), desc);
  });
}

relayout_status relayout_model_output_desc(const relayout_model* model, size_t output, relayout_desc** desc) {
  return c::guarded([&] {
    const relayout::graph::Graph& graph = c::checked(model, "model").model.graph();
    c::give_desc(graph.tensor(c::numbered(graph.outputs, output, "output")), desc);
  });
}

relayout_status relayout_model_explain(const relayout_model* model, char* text, size_t capacity, size_t* length) {
  return c::guarded([&] { c::give_text(c::checked(model, "model").explanation, text, capacity, length); });
}

relayout_status relayout_model_warnings(const relayout_model* model, char* text, size_t capacity, size_t* length) {
  return c::guarded([&] { c::give_text(c::checked(model, "model").warnings, text, capacity, length); });
}

relayout_status relayout_model_speeds(const relayout_model* model, relayout_speeds* speeds) {
  return c::guarded([&] {
    const auto& known = c::checked(model, "model").speeds;
    relayout_speeds& out = c::result(speeds, "speeds");
    if (!known) throw Error(ErrorCode::unsupported, "the plan was chosen by measured times, not by speeds", "model");
    out = {known->flops_per_us, known->near_bytes_per_us, known->cache_bytes_per_us, known->memory_bytes_per_us,
           known->call_us,      known->step_us,           known->narrow_share};
  });
}

relayout_status relayout_model_run(const relayout_model* model, const relayout_model_source* sources,
                                   size_t source_count, const relayout_model_destination* destinations,
                                   size_t destination_count, const relayout_model_run_options* options) {
  return c::guarded([&] {
    const relayout_model& handle = c::checked(model, "model");
    const auto how = c::options_from<relayout_model_run_options>(options, RELAYOUT_MODEL_RUN_OPTIONS_INIT, "options");
    const auto in = c::tensors_of<relayout::execute::Source>(c::checked_list(sources, source_count, "sources"),
                                                             handle.inputs, "sources");
    const auto out = c::tensors_of<relayout::execute::Destination>(
        c::checked_list(destinations, destination_count, "destinations"), handle.outputs, "destinations");
    c::check_apart(handle, in, out);
    const auto go_on = [&](int64_t done, int64_t total) {
      return how.progress == nullptr || how.progress(how.context, done, total) == 0;
    };
    const std::lock_guard lock(handle.running);
    if (!handle.model.run(in, out, go_on))
      throw Error(ErrorCode::interrupted, "progress() asked to stop; the destinations hold anything", "progress");
  });
}

}  // extern "C"
