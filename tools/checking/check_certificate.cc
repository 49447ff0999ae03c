// Reads a certificate (certificate_json.h says what it holds), and compares what a plan claims with what it proves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tools/checking/check_steps.h"

namespace relayout::tools::check {
namespace {

/// The share of the plan's cost by which two sums may differ: sums of thousands of terms round differently in different
/// orders.
constexpr double kTolerance = 1e-9;

void expect_size(const JsonItem& item, std::size_t size, const char* of) {
  if (item.size() != size)
    bad_item(item.where, fmt::format("has {} elements, but there are {} {}", item.size(), size, of));
}

std::vector<double> read_costs(const JsonItem& item) {
  std::vector<double> out = item.costs();
  if (std::ranges::any_of(out, [](double us) { return us < 0; })) bad_item(item.where, "has a cost below 0");
  return out;
}

double read_cost(const JsonItem& item) {
  if (item.json.is_null()) return std::numeric_limits<double>::infinity();
  if (item.number() < 0) bad_item(item.where, "is a cost below 0");
  return item.number();
}

std::vector<int> read_scope(const JsonItem& item, std::size_t variables) {
  std::vector<int> out = item.indices(variables);
  if (std::set<int>(out.begin(), out.end()).size() != out.size()) bad_item(item.where, "names a variable twice");
  return out;
}

proof::Tensor read_tensor(const JsonItem& item) {
  item.expect_keys({"name", "places", "reorder_us"});
  const std::size_t places = item["places"].size();
  if (places > proof::kMaxPlaces)
    bad_item(item["places"].where, fmt::format("has {} elements; at most {} are allowed", places, proof::kMaxPlaces));
  for (const JsonItem& place : item["places"].list()) place.text();
  proof::Tensor out{.places = static_cast<int>(places)};
  expect_size(item["reorder_us"], places, "places");
  for (const JsonItem& row : item["reorder_us"].list()) {
    expect_size(row, places, "places");
    for (double us : read_costs(row)) out.reorder_us.push_back(us);
  }
  for (std::size_t p = 0; p < places; ++p) {
    if (out.reorder_us[p * (places + 1)] != 0)
      bad_item(item["reorder_us"].where, "a reorder from a place to itself has a cost");
  }
  return out;
}

proof::PlacementSet read_places(const JsonItem& item, int places) {
  proof::PlacementSet out = 0;
  for (int place : item.indices(at(places))) {
    if ((out >> place & 1) != 0) bad_item(item.where, "names a place twice");
    out |= proof::PlacementSet{1} << place;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const JsonItem& json) : out_{json, json["operations"].list(), json["tensors"].list()} {}

  CertificateFile run() {
    out_.json.expect_keys({"operations", "tensors", "choices", "reorders", "cliques", "messages", "bound", "search"});
    for (const JsonItem& tensor : out_.tensors) {
      out_.names.push_back(tensor["name"].text());
      if (!taken_.insert(out_.names.back()).second)
        bad_item(tensor.where, "the name " + in_quotes(out_.names.back()) + " occurs twice");
      out_.problem.tensors.push_back(read_tensor(tensor));
    }
    written_.resize(out_.tensors.size(), false);
    for (const JsonItem& operation : out_.operations) out_.problem.operations.push_back(read_operation(operation));
    const JsonItem choices = out_.json["choices"];
    expect_size(choices, out_.operations.size(), "operations");
    for (std::size_t o = 0; o < out_.operations.size(); ++o) {
      out_.chosen.choices.push_back(choices[o].index(out_.problem.operations[o].choices.size()));
    }
    for (const JsonItem& item : out_.json["reorders"].list()) {
      item.expect_keys({"tensor", "from", "to"});
      const int t = item["tensor"].index(out_.tensors.size());
      const std::size_t places = at(out_.problem.tensors[at(t)].places);
      out_.chosen.reorders.push_back({t, item["from"].index(places), item["to"].index(places)});
    }
    read_proof();
    return std::move(out_);
  }

 private:
  proof::Operation read_operation(const JsonItem& item) {
    item.expect_keys({"name", "primitive", "constant", "src", "dst", "hint", "choices"});
    item["name"].text();
    const std::size_t number = out_.problem.operations.size();
    proof::Operation out{.src = item["src"].indices(out_.tensors.size()),
                         .dst = item["dst"].indices(out_.tensors.size())};
    for (int t : out.src) {
      if (!written_[at(t)])
        bad_item(item["src"].where, fmt::format("no earlier operation writes {}", in_quotes(out_.names[at(t)])));
    }
    for (int t : out.dst) {
      if (written_[at(t)]) bad_item(item["dst"].where, in_quotes(out_.names[at(t)]) + " is written twice");
      written_[at(t)] = true;
    }
    if (item.has("hint")) out.hint = item["hint"].index(number);
    for (const JsonItem& choice : item["choices"].list()) out.choices.push_back(read_choice(item, choice, out));
    if (out.choices.empty()) bad_item(item.where, "has no choices");
    return out;
  }

  proof::Choice read_choice(const JsonItem& operation, const JsonItem& item, const proof::Operation& of) const {
    const bool primitive = operation.has("primitive");
    if (primitive) {
      item.expect_keys({"us", "src", "dst", "with_hint", "implementation", "in_place"});
      item["implementation"].text();
      if (item.has("in_place")) item["in_place"].boolean();
    } else {
      item.expect_keys({"us", "src", "dst"});
    }
    proof::Choice out{.us = read_cost(item["us"])};
    expect_size(item["src"], of.src.size(), "sources");
    expect_size(item["dst"], of.dst.size(), "destinations");
    for (std::size_t i = 0; i < of.src.size(); ++i) {
      out.src.push_back(read_places(item["src"][i], out_.problem.tensors[at(of.src[i])].places));
    }
    for (std::size_t i = 0; i < of.dst.size(); ++i) {
      out.dst.push_back(item["dst"][i].index(at(out_.problem.tensors[at(of.dst[i])].places)));
    }
    if (item.has("with_hint")) {
      if (of.hint < 0) bad_item(item["with_hint"].where, "the operation has no hint");
      out.with_hint = item["with_hint"].indices(out_.problem.operations[at(of.hint)].choices.size());
      if (out.with_hint.empty()) bad_item(item["with_hint"].where, "has no choices");
    }
    return out;
  }

  void read_proof() {
    const std::size_t variables = out_.operations.size() + out_.tensors.size();
    const std::vector<JsonItem> cliques = out_.json["cliques"].list();
    for (const JsonItem& item : cliques) {
      item.expect_keys({"scope", "tables"});
      proof::Clique& clique = out_.certificate.cliques.emplace_back();
      clique.scope = read_scope(item["scope"], variables);
      for (const JsonItem& table : item["tables"].list()) clique.tables.push_back(read_scope(table, variables));
    }
    for (const JsonItem& item : out_.json["messages"].list()) {
      item.expect_keys({"from", "to", "scope", "values"});
      proof::Message& message = out_.certificate.messages.emplace_back();
      message.from = item["from"].index(cliques.size());
      message.to = item["to"].index(cliques.size());
      if (message.from == message.to) bad_item(item.where, "goes from a clique to itself");
      message.scope = read_scope(item["scope"], variables);
      message.values = item["values"].costs();
      const bool finite = std::ranges::all_of(message.values, [](double value) { return std::isfinite(value); });
      if (!finite) bad_item(item["values"].where, "holds null, which is infinity: a message must be finite");
    }
  }

  CertificateFile out_;
  std::set<std::string> taken_;
  std::vector<bool> written_;  // by tensor
};

bool near(double a, double b, double cost) { return std::abs(a - b) <= kTolerance * std::max(1., cost); }

}  // namespace

CertificateFile read_certificate(const JsonItem& certificate) { return Reader(certificate).run(); }

Verdict prove(const JsonItem& plan, const CertificateFile& file) {
  Verdict out;
  out.cost = proof::cost(file.problem, file.chosen);
  out.bound = proof::lower_bound(file.problem, file.certificate);
  out.optimal = near(out.bound, out.cost, out.cost);
  out.gap = out.optimal ? 0 : (out.cost - out.bound) / out.cost;
  const auto expect = [&](const JsonItem& item, double value, const char* what) {
    if (!near(item.number(), value, out.cost))
      bad_item(item.where, fmt::format("{}, but {} {:.9g}", item.number(), what, value));
  };
  expect(plan["cost_us"], out.cost, "what is chosen costs");
  expect(file.json["bound"], out.bound, "the cliques together prove");
  // The solver may have searched on after it made the certificate. Where the file says so ("search"), the plan may
  // claim a smaller gap than the certificate proves.
  const bool claimed = plan["optimal"].boolean(), searched = file.json.has("search") && file.json["search"].boolean();
  const double gap = plan["gap"].number();
  const bool agrees = searched ? gap >= 0 && gap <= out.gap + kTolerance : std::abs(gap - out.gap) <= kTolerance;
  if (!agrees) bad_item("gap", fmt::format("{}, but the certificate leaves a gap of {:.9g}", gap, out.gap));
  if (claimed != out.optimal && !(claimed && searched)) {
    bad_item("optimal", fmt::format("{}, but the plan costs {:.9g} us and the proven lower bound is {:.9g} us", claimed,
                                    out.cost, out.bound));
  }
  return out;
}

}  // namespace relayout::tools::check
