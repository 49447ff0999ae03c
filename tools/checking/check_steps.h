// The steps of `relayout check`: reads a certificate, proves what it can (check_proof.h), and compares the certificate
// with the plan and with the model.
#pragma once

#include "relayout/graph/ir/graph.h"
#include "tools/checking/check_proof.h"
#include "tools/command/json_file.h"

namespace relayout::tools::check {

/// A number as an index.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A certificate that was read: the numbers that the proof is about, and the JSON that says what they stand for.
struct CertificateFile {
  JsonItem json;
  /// "operations" and "tensors". No two tensors have the same name.
  std::vector<JsonItem> operations, tensors;
  std::vector<std::string> names;  // of tensors
  proof::Problem problem;
  proof::Chosen chosen;
  proof::Certificate certificate;

  /// The JSON of the choice that an operation made.
  JsonItem choice(std::size_t operation) const {
    return operations[operation]["choices"][static_cast<std::size_t>(chosen.choices[operation])];
  }
};

/// Reads the whole certificate. Keys that are not known are refused, and so are operations that read what no earlier
/// one wrote.
CertificateFile read_certificate(const JsonItem& certificate);

/// What was proven: times in microseconds, and the gap as a share of the cost.
struct Verdict {
  double cost = 0, bound = 0, gap = 0;
  bool optimal = false;
};
/// Runs the proof. Refuses a plan that claims more than is proven.
Verdict prove(const JsonItem& plan, const CertificateFile& file);

/// Refuses a plan whose primitives, copies, reorders or shared memory are not those that the certificate's choices
/// name.
void compare_plan(const JsonItem& plan, const CertificateFile& file);

/// Refuses a certificate whose operations are not those of the model, or in other layouts than the model fixes.
void compare_model(const CertificateFile& file, const graph::Graph& graph, const std::vector<std::string>& names);

}  // namespace relayout::tools::check
