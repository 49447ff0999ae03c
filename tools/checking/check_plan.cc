// Compares a plan with its certificate: its copies and primitives must be those that the certificate's choices name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tools/checking/check_steps.h"
#include "tools/planning/plan_file.h"

namespace relayout::tools::check {
namespace {

using graph::kNone;

/// A copy of the plan, as the file has it.
struct FileCopy {
  JsonItem json;
  std::string tensor, layout;
  int from = kNone, view_of = kNone;

  std::string name() const { return in_quotes(tensor) + " in " + in_quotes(layout); }
};

class PlanComparison {
 public:
  PlanComparison(const JsonItem& plan, const CertificateFile& file) : plan_(plan), file_(file) {}

  void run() {
    read_copies();
    find_written();
    find_reorders();
    compare_layouts();
    for (std::size_t o = 0; o < file_.operations.size(); ++o) compare_operation(o);
    const std::vector<JsonItem> primitives = plan_["primitives"].list();
    if (at(primitives_) < primitives.size()) {
      bad_item(primitives[at(primitives_)].where,
               "is not in the certificate: " + in_quotes(primitives[at(primitives_)]["name"].text()));
    }
    if (outputs_ != plan_["outputs"].size())
      bad_item("outputs", fmt::format("there are {}, but the certificate has {}", plan_["outputs"].size(), outputs_));
    for (const JsonItem& item : plan_["inputs"].list()) {
      const int id = item.index(copies_.size());
      const auto found = given_.find(id);
      if (found == given_.end())
        bad_item(item.where, copy(id).name() + " is no input of the certificate, or is listed twice");
      given_.erase(found);
    }
    if (!given_.empty()) bad_item("inputs", copy(*given_.begin()).name() + " is missing");
    for (std::size_t c = 0; c < copies_.size(); ++c) {
      if (copies_[c].view_of == kNone || explained_[c]) continue;
      bad_item(copies_[c].json.where, copies_[c].name() + " lies in another copy's memory, but not in the certificate");
    }
  }

 private:
  using Reorder = std::tuple<std::string, std::string, std::string>;

  std::string place(int t, int p) const { return file_.tensors[at(t)]["places"][at(p)].text(); }
  const FileCopy& copy(int id) const { return copies_[at(id)]; }

  void read_copies() {
    const JsonItem tensors = plan_["tensors"], copies = plan_["copies"];
    if (tensors.size() != file_.names.size()) {
      bad_item("tensors", fmt::format("there are {}, but the certificate has {}", tensors.size(), file_.names.size()));
    }
    for (const std::string& name : file_.names) {
      numbers_[name] = static_cast<int>(dims_.size());
      dims_.push_back(read_dims(tensors[name]["dims"]));
      from_data([&] { parse_dtype(tensors[name]["dtype"].text()); });
    }
    for (const JsonItem& json : copies.list()) {
      const auto optional = [&](const char* key) { return json.has(key) ? json[key].index(copies.size()) : kNone; };
      FileCopy& copy = copies_.emplace_back(FileCopy{json, json["tensor"].text(), json["layout"].text()});
      copy.from = optional("from");
      copy.view_of = optional("view_of");
      const auto tensor = numbers_.find(copy.tensor);
      if (tensor == numbers_.end()) bad_item(json.where, in_quotes(copy.tensor) + " is not in the certificate");
      read_layout(json, dims_[at(tensor->second)]);
      check_backend(json);
    }
    for (const FileCopy& of : copies_) {
      if (of.from == kNone || copy(of.from).tensor == of.tensor) continue;
      bad_item(of.json.where, of.name() + " is made from " + copy(of.from).name() + ", a copy of another tensor");
    }
    explained_.resize(copies_.size(), false);
    for (const proof::Tensor& tensor : file_.problem.tensors) made_.emplace_back(at(tensor.places), kNone);
  }

  /// An opaque format means something to the backend that gave it alone, so it must be the plan's.
  void check_backend(const JsonItem& copy) const {
    const std::optional<graph::Opaque> opaque = read_opaque(copy);
    if (!opaque) return;
    const std::string planned = plan_["backend"].text();
    if (opaque->backend == planned) return;
    bad_item(copy["opaque"]["backend"].where, fmt::format("{} is in the opaque format {} of {}, but the plan is for {}",
                                                          in_quotes(copy["tensor"].text()), in_quotes(opaque->name),
                                                          in_quotes(opaque->backend), in_quotes(planned)));
  }

  /// Finds the copies that operations write. Of each tensor, at most one copy is not made by a reorder.
  void find_written() {
    std::vector<int> written(file_.names.size(), kNone);
    written_ = written;
    for (std::size_t o = 0; o < file_.operations.size(); ++o) {
      const proof::Operation& op = file_.problem.operations[o];
      const proof::Choice& choice = op.choices[at(file_.chosen.choices[o])];
      for (std::size_t i = 0; i < op.dst.size(); ++i) written[at(op.dst[i])] = choice.dst[i];
    }
    for (std::size_t c = 0; c < copies_.size(); ++c) {
      if (copies_[c].from != kNone) continue;
      const std::size_t t = at(numbers_.at(copies_[c].tensor));
      if (written[t] == kNone)
        bad_item(copies_[c].json.where, copies_[c].name() + " is made by no reorder and written by no operation");
      if (written_[t] != kNone) {
        bad_item(copies_[c].json.where, copies_[c].name() + " is the second copy of its tensor that no reorder makes");
      }
      written_[t] = made_[t][at(written[t])] = static_cast<int>(c);
      if (const std::string wanted = place(static_cast<int>(t), written[t]); copies_[c].layout != wanted) {
        bad_item(copies_[c].json.where + ".layout",
                 fmt::format("{}, but in {} in the certificate", copies_[c].name(), in_quotes(wanted)));
      }
    }
  }

  /// The reorders that the plan lists, each with its place in the file.
  std::multimap<Reorder, std::string> listed_reorders() const {
    std::multimap<Reorder, std::string> out;
    for (const char* key : {"reorders", "load_reorders"}) {
      for (const JsonItem& item : plan_[key].list()) {
        out.emplace(Reorder{item["tensor"].text(), item["from"].text(), item["to"].text()}, item.where);
      }
    }
    return out;
  }

  /// Each reorder of the certificate makes one of the plan's copies and is one that the plan lists, and there are no
  /// others. Where several make the same layout from the same copy, they are taken in the order of both.
  void find_reorders() {
    std::multimap<Reorder, std::string> listed = listed_reorders();
    std::multimap<std::pair<int, std::string>, int> made_from;
    for (std::size_t c = 0; c < copies_.size(); ++c) {
      if (copies_[c].from != kNone)
        made_from.emplace(std::pair{copies_[c].from, copies_[c].layout}, static_cast<int>(c));
    }
    for (const auto& [t, from, to] : file_.chosen.reorders) {
      const Reorder reorder{file_.names[at(t)], place(t, from), place(t, to)};
      const auto copy = made_from.find({made_[at(t)][at(from)], place(t, to)});
      if (copy == made_from.end())
        bad_item("copies", "none is made by the certificate's reorder of " + described(reorder));
      made_[at(t)][at(to)] = copy->second;
      made_from.erase(copy);
      const auto found = listed.find(reorder);
      if (found == listed.end()) bad_item("reorders", described(reorder) + " is missing, but is in the certificate");
      listed.erase(found);
    }
    if (!made_from.empty()) {
      const FileCopy& copy = copies_[at(made_from.begin()->second)];
      bad_item(copy.json.where, copy.name() + " is made by a reorder that is not in the certificate");
    }
    if (!listed.empty()) {
      bad_item(listed.begin()->second, described(listed.begin()->first) + " is not in the certificate");
    }
  }

  static std::string described(const Reorder& reorder) {
    return fmt::format("{} from {} to {}", in_quotes(std::get<0>(reorder)), in_quotes(std::get<1>(reorder)),
                       in_quotes(std::get<2>(reorder)));
  }

  /// "layouts" has, for each tensor, the layout in which it is written.
  void compare_layouts() const {
    const JsonItem layouts = plan_["layouts"];
    for (std::size_t t = 0; t < file_.names.size(); ++t) {
      if (written_[t] == kNone) bad_item("copies", in_quotes(file_.names[t]) + " has no copy that an operation writes");
      const JsonItem layout = layouts[file_.names[t]];
      const std::string& wanted = copy(written_[t]).layout;
      if (layout.text() != wanted) {
        bad_item(layout.where, fmt::format("{}, but the copy is in {}", in_quotes(layout.text()), in_quotes(wanted)));
      }
    }
    if (layouts.size() != file_.names.size()) bad_item("layouts", "names tensors that are not in the certificate");
  }

  void compare_operation(std::size_t o) {
    const JsonItem& operation = file_.operations[o];
    const proof::Operation& op = file_.problem.operations[o];
    const proof::Choice& choice = op.choices[at(file_.chosen.choices[o])];
    if (operation.has("primitive")) {
      const int number = operation["primitive"].index(plan_["primitives"].size());
      if (number != primitives_++) bad_item(operation["primitive"].where, "primitives must stand in their order");
      return compare_primitive(operation, op, choice, file_.choice(o), plan_["primitives"][at(number)]);
    }
    if (op.src.empty() == op.dst.empty()) bad_item(operation.where, "is no primitive, input, constant or output");
    if (op.src.size() == 1) compare_read(plan_["outputs"][outputs_++], op.src[0], choice.src[0], "the output");
    if (op.dst.size() > 1) bad_item(operation.where, "writes several tensors, which only a primitive may");
    const bool constant = operation.has("constant") && operation["constant"].boolean();
    for (int t : op.dst) {
      if (!constant) given_.insert(written_[at(t)]);
    }
  }

  void compare_primitive(const JsonItem& operation, const proof::Operation& op, const proof::Choice& choice,
                         const JsonItem& label, const JsonItem& primitive) {
    for (const auto& [key, wanted] :
         {std::pair{"name", operation["name"]}, {"implementation", label["implementation"]}}) {
      if (primitive[key].text() == wanted.text()) continue;
      bad_item(primitive[key].where,
               in_quotes(primitive[key].text()) + ", but " + in_quotes(wanted.text()) + " in the certificate");
    }
    const std::string called = primitive["name"].text();
    std::vector<int> src, dst;
    for (const JsonItem& item : operands(primitive["src"], op.src.size())) {
      const std::size_t i = src.size();
      src.push_back(compare_read(item, op.src[i], choice.src[i], called));
    }
    for (const JsonItem& item : operands(primitive["dst"], op.dst.size())) {
      const std::size_t i = dst.size();
      dst.push_back(compare_read(item, op.dst[i], proof::PlacementSet{1} << choice.dst[i], called));
    }
    compare_names(primitive["layouts"], src, dst);
    compare_memory(label, primitive, src, dst);
  }

  /// The copies that a primitive reads or writes. Operands that are absent (null) are left out.
  static std::vector<JsonItem> operands(const JsonItem& item, std::size_t count) {
    std::vector<JsonItem> out;
    for (JsonItem& operand : item.list()) {
      if (!operand.json.is_null()) out.push_back({operand.json, std::move(operand.where)});
    }
    if (out.size() != count)
      bad_item(item.where, fmt::format("has {} copies, but {} in the certificate", out.size(), count));
    return out;
  }

  /// The number of the copy that an operand names. It must lie in one of these places of tensor t.
  int compare_read(const JsonItem& item, int t, proof::PlacementSet places, const std::string& reader) const {
    const int id = item.index(copies_.size());
    std::string allowed;
    for (int p = 0; p < file_.problem.tensors[at(t)].places; ++p) {
      const int made = made_[at(t)][at(p)];
      if ((places >> p & 1) == 0 || made == kNone) continue;
      if (made == id) return id;
      allowed += (allowed.empty() ? "" : " or ") + fmt::format("copy {}, {}", made, copy(made).name());
    }
    bad_item(item.where, fmt::format("{} has copy {}, {}, but in the certificate {}", in_quotes(reader), id,
                                     copy(id).name(), allowed.empty() ? "a place that nothing makes" : allowed));
  }

  void compare_names(const JsonItem& layouts, const std::vector<int>& src, const std::vector<int>& dst) const {
    std::map<std::string, std::string> wanted;
    for (const std::vector<int>* ids : {&src, &dst}) {
      for (int id : *ids) wanted[copy(id).tensor] = copy(id).layout;
    }
    for (const auto& [name, layout] : wanted) {
      const JsonItem item = layouts[name];
      if (item.text() != layout)
        bad_item(item.where, in_quotes(item.text()) + ", but the copy is in " + in_quotes(layout));
    }
    if (layouts.size() != wanted.size())
      bad_item(layouts.where, "names tensors that are not operands of the primitive");
  }

  /// Copies must lie in each other's memory where the choice (`label`) says so: in views, in concats that move nothing,
  /// and where a primitive writes over its source.
  void compare_memory(const JsonItem& label, const JsonItem& primitive, const std::vector<int>& src,
                      const std::vector<int>& dst) {
    const auto expect_in = [&](int inner, int outer, const char* how) {
      if (copy(inner).view_of != outer)
        bad_item(copy(inner).json.where,
                 copy(inner).name() + " is not " + how + ", but the certificate says that it is");
      explained_[at(inner)] = true;
    };
    if (src.empty() || dst.empty()) return;
    if (label["implementation"].text() == "view") {
      if (primitive["kind"].text() != "concat") return expect_in(dst[0], src[0], "a view of the source");
      for (int id : src) expect_in(id, dst[0], "a part of the destination");
    } else if (label.has("in_place") && label["in_place"].boolean()) {
      expect_in(dst[0], src[0], "written over the source");
    }
  }

  const JsonItem& plan_;
  const CertificateFile& file_;
  std::vector<Dims> dims_;              // by tensor
  std::map<std::string, int> numbers_;  // of tensors by name
  std::vector<FileCopy> copies_;
  std::vector<int> written_;            // by tensor: the copy that no reorder makes
  std::vector<std::vector<int>> made_;  // by tensor and place: the copy
  std::vector<bool> explained_;         // by copy: a choice says whose memory it is in
  std::multiset<int> given_;            // copies of inputs
  int primitives_ = 0;
  std::size_t outputs_ = 0;
};

}  // namespace

void compare_plan(const JsonItem& plan, const CertificateFile& file) { PlanComparison(plan, file).run(); }

}  // namespace relayout::tools::check
