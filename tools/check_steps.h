// Steps of `relayout check`: reading a certificate, and what the plan beside it must be. The proof is check_proof.h.
#pragma once

#include "relayout/graph/ir/graph.h"
#include "tools/check_proof.h"
#include "tools/json_file.h"

namespace relayout::tools::check {

/// A certificate as it stands in the file: what the proof is about, and the labels that say what its numbers mean.
struct CertificateFile {
  JsonItem json;
  /// "operations" and "tensors"; names of tensors differ.
  std::vector<JsonItem> operations, tensors;
  std::vector<std::string> names;  // of tensors
  proof::Problem problem;
  proof::Chosen chosen;
  proof::Certificate certificate;

  /// What an operation chose.
  JsonItem choice(std::size_t operation) const {
    return operations[operation]["choices"][static_cast<std::size_t>(chosen.choices[operation])];
  }
};

/// Everything in it is read, and what is not known is refused. Each operation reads what earlier ones wrote.
CertificateFile read_certificate(const JsonItem& certificate);

/// What was proven.
struct Verdict {
  double cost = 0, bound = 0, gap = 0;
  bool optimal = false;
};
/// The proof; the plan claims no more than it says.
Verdict prove(const JsonItem& plan, const CertificateFile& file);

/// The plan is what the certificate's choices say: its primitives, copies, reorders, and whose memory is whose.
void compare_plan(const JsonItem& plan, const CertificateFile& file);

/// The certificate is about this model: its operations are the model's, in the layouts that are fixed there.
void compare_model(const CertificateFile& file, const graph::Graph& graph, const std::vector<std::string>& names);

}  // namespace relayout::tools::check
