// relayout check: whether a saved plan is what its certificate proves. Shares nothing with the solver.
//
// A certificate writes the choice of layouts as variables (an operation's way, what is wanted of a tensor) and tables
// over few of them; a plan costs the sum of its entries. The tables are dealt to cliques, and each message is added to
// one clique and taken from another, which changes no sum. So no plan costs less than the least values of the cliques
// together. What the variables' labels say is compared with the plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <tuple>

#include "tools/common.h"

namespace relayout::tools {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 30;
/// Entries of all cliques together.
constexpr std::size_t kMaxEntries = std::size_t{1} << 28;
/// Of the cost: sums of thousands of terms round differently by their order.
constexpr double kTolerance = 1e-9;
constexpr double kImpossible = std::numeric_limits<double>::infinity();

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw Failure(kBadData, Error(ErrorCode::corrupt, "check: " + where + ": " + what, where));
}

std::string quoted(const std::string& text) { return "\"" + escaped(text) + "\""; }

/// A value of the file and where it stands, for messages.
struct Item {
  const Json& json;
  std::string where;

  bool has(const char* key) const { return json.is_object() && json.contains(key); }
  Item operator[](const char* key) const {
    if (!json.is_object()) wrong(where, "is no object");
    const auto found = json.find(key);
    if (found == json.end()) wrong(where, fmt::format("has no \"{}\"", key));
    return {*found, where.empty() ? key : where + "." + key};
  }
  std::vector<Item> list() const {
    if (!json.is_array()) wrong(where, "is no list");
    std::vector<Item> out;
    for (const Json& element : json) out.push_back({element, fmt::format("{}[{}]", where, out.size())});
    return out;
  }
  std::size_t size() const {
    if (!json.is_array()) wrong(where, "is no list");
    return json.size();
  }
  Item operator[](std::size_t i) const {
    if (i >= size()) wrong(where, fmt::format("has no element {}", i));
    return {json[i], fmt::format("{}[{}]", where, i)};
  }
  /// A whole number from 0 to under `end`.
  int index(std::size_t end) const {
    if (!json.is_number_integer()) wrong(where, "is no whole number");
    const bool fits = json.is_number_unsigned() && json.get<uint64_t>() < end;
    if (!fits) wrong(where, fmt::format("{} is not under {}", json.dump(), end));
    return json.get<int>();
  }
  std::vector<int> indices(std::size_t end) const {
    std::vector<int> out;
    for (const Item& item : list()) out.push_back(item.index(end));
    return out;
  }
  double number() const {
    if (!json.is_number() || !std::isfinite(json.get<double>())) wrong(where, "is no finite number");
    return json.get<double>();
  }
  /// Null is impossible.
  std::vector<double> costs() const {
    if (!json.is_array()) wrong(where, "is no list");
    std::vector<double> out;
    for (const Json& value : json) {
      const bool given = value.is_number() && std::isfinite(value.get<double>());
      if (!given && !value.is_null())
        wrong(where, fmt::format("value {} is neither a finite number nor null", out.size()));
      out.push_back(given ? value.get<double>() : kImpossible);
    }
    return out;
  }
  bool boolean() const {
    if (!json.is_boolean()) wrong(where, "is neither true nor false");
    return json.get<bool>();
  }
  std::string text() const {
    if (!json.is_string()) wrong(where, "is no text");
    return json.get<std::string>();
  }
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Table {
  std::vector<int> scope;
  std::vector<double> values;
};

struct Verdict {
  double cost = 0, bound = 0, gap = 0;
  bool optimal = false;
};

class Proof {
 public:
  Proof(const Item& plan)
      : plan_(plan), certificate_(plan["certificate"]), variables_(certificate_["variables"].list()) {
    for (const Item& variable : variables_) {
      sizes_.push_back(variable["values"].size());
      if (sizes_.back() == 0) wrong(variable.where, "has no values");
    }
    for (const Item& table : certificate_["tables"].list()) tables_.push_back(read_table(table, true));
    const Item assignment = certificate_["assignment"];
    if (assignment.size() != sizes_.size()) wrong(assignment.where, "has not one value a variable");
    for (std::size_t v = 0; v < sizes_.size(); ++v) values_.push_back(assignment[v].index(sizes_[v]));
  }

  Verdict run() {
    for (const Table& table : tables_) verdict_.cost += table.values[index_of(table, values_)];
    if (verdict_.cost == kImpossible) wrong("certificate.assignment", "is impossible by the tables");
    verdict_.bound = lower_bound();
    expect_near(certificate_["bound"], verdict_.bound, "the cliques together prove");
    expect_near(plan_["predicted_us"], verdict_.cost, "the assignment costs");
    compare_gap();
    return verdict_;
  }

  const Item& certificate() const { return certificate_; }
  const std::vector<Item>& variables() const { return variables_; }
  int value(std::size_t variable) const { return values_[variable]; }
  bool near(double a, double b) const { return std::abs(a - b) <= kTolerance * std::max(1., std::abs(verdict_.cost)); }

 private:
  void expect_near(const Item& item, double value, const char* what) const {
    if (!near(item.number(), value)) wrong(item.where, fmt::format("{}, but {} {}", item.number(), what, value));
  }

  std::vector<int> read_scope(const Item& item) const {
    std::vector<int> out = item["scope"].indices(sizes_.size());
    std::vector<int> sorted = out;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) wrong(item.where + ".scope", "has a variable twice");
    return out;
  }

  std::size_t entries(const std::vector<int>& scope, const std::string& where) const {
    std::size_t out = 1;
    for (int v : scope) {
      out *= sizes_[at(v)];
      if (out > kMaxEntries) wrong(where, fmt::format("has over {} entries", kMaxEntries));
    }
    return out;
  }

  Table read_table(const Item& item, bool may_be_impossible) const {
    Table out{read_scope(item), item["values"].costs()};
    if (!may_be_impossible && std::ranges::find(out.values, kImpossible) != out.values.end()) {
      wrong(item.where, "holds what is no number");
    }
    if (const std::size_t wanted = entries(out.scope, item.where); out.values.size() != wanted) {
      wrong(item.where, fmt::format("has {} values, {} by its scope", out.values.size(), wanted));
    }
    return out;
  }

  std::size_t index_of(const Table& table, const std::vector<int>& values) const {
    std::size_t out = 0;
    for (int v : table.scope) out = out * sizes_[at(v)] + at(values[at(v)]);
    return out;
  }

  static void expect_part(const std::vector<int>& scope, const std::vector<int>& of, const std::string& where) {
    for (int v : scope) {
      if (std::ranges::find(of, v) == of.end()) wrong(where, fmt::format("variable {} is not in the clique", v));
    }
  }

  /// Adds a table, times `sign`, to a clique's sums.
  void add(const Table& table, double sign, const std::vector<int>& scope, std::vector<double>& sums) const {
    std::vector<std::size_t> stride(scope.size(), 0), digit(scope.size(), 0);
    std::size_t step = 1;
    for (std::size_t d = table.scope.size(); d-- > 0; step *= sizes_[at(table.scope[d])]) {
      stride[static_cast<std::size_t>(std::ranges::find(scope, table.scope[d]) - scope.begin())] = step;
    }
    std::size_t from = 0;
    for (double& sum : sums) {
      sum += sign * table.values[from];
      for (std::size_t d = scope.size(); d-- > 0;) {
        from += stride[d];
        if (++digit[d] < sizes_[at(scope[d])]) break;
        from -= sizes_[at(scope[d])] * stride[d];
        digit[d] = 0;
      }
    }
  }

  double lower_bound() const {
    const std::vector<Item> cliques = certificate_["cliques"].list();
    std::vector<std::vector<int>> scopes;
    std::size_t total = 0;
    for (const Item& clique : cliques) {
      scopes.push_back(read_scope(clique));
      total += entries(scopes.back(), clique.where);
      if (total > kMaxEntries) wrong("certificate.cliques", fmt::format("have over {} entries", kMaxEntries));
    }
    struct Sent {
      Table table;
      int from, to;
    };
    std::vector<Sent> messages;
    std::vector<std::vector<std::size_t>> ends(cliques.size());
    for (const Item& item : certificate_["messages"].list()) {
      Sent sent{read_table(item, false), item["from"].index(cliques.size()), item["to"].index(cliques.size())};
      if (sent.from == sent.to) wrong(item.where, "goes from a clique to itself");
      for (int end : {sent.from, sent.to}) {
        expect_part(sent.table.scope, scopes[at(end)], item.where);
        ends[at(end)].push_back(messages.size());
      }
      messages.push_back(std::move(sent));
    }
    std::vector<bool> counted(tables_.size(), false);
    double bound = 0;
    for (std::size_t c = 0; c < cliques.size(); ++c) {
      std::vector<double> sums(entries(scopes[c], cliques[c].where), 0);
      for (int t : cliques[c]["tables"].indices(tables_.size())) {
        if (counted[at(t)]) wrong(cliques[c].where, fmt::format("table {} stands in two cliques", t));
        counted[at(t)] = true;
        expect_part(tables_[at(t)].scope, scopes[c], cliques[c].where);
        add(tables_[at(t)], 1, scopes[c], sums);
      }
      for (std::size_t m : ends[c]) add(messages[m].table, at(messages[m].to) == c ? 1 : -1, scopes[c], sums);
      bound += *std::ranges::min_element(sums);
    }
    if (const auto left = std::ranges::find(counted, false); left != counted.end()) {
      wrong("certificate.cliques", fmt::format("table {} stands in none", left - counted.begin()));
    }
    return bound;
  }

  /// A plan may claim more than the certificate shows where a search went on from there, and says so.
  void compare_gap() {
    verdict_.optimal = near(verdict_.bound, verdict_.cost);
    verdict_.gap = verdict_.optimal ? 0 : (verdict_.cost - verdict_.bound) / verdict_.cost;
    const bool claimed = plan_["optimal"].boolean();
    const double gap = plan_["gap"].number();
    const bool searched = certificate_.has("search") && certificate_["search"].boolean();
    const bool agrees =
        searched ? gap >= 0 && gap <= verdict_.gap + kTolerance : std::abs(gap - verdict_.gap) <= kTolerance;
    if (!agrees) wrong("gap", fmt::format("{}, but the certificate leaves {}", gap, verdict_.gap));
    if (claimed != verdict_.optimal && !(claimed && searched)) {
      wrong("optimal",
            fmt::format("{}, but the plan costs {} us and {} us are proven", claimed, verdict_.cost, verdict_.bound));
    }
  }

  Item plan_, certificate_;
  std::vector<Item> variables_;
  std::vector<std::size_t> sizes_;
  std::vector<Table> tables_;
  std::vector<int> values_;
  Verdict verdict_;
};

/// What the labels of the assignment say, beside what the plan says.
class Labels {
 public:
  Labels(const Item& plan, const Proof& proof) : plan_(plan), proof_(proof), made_(proof.variables().size()) {}

  void run(double cost) {
    double sum = 0;
    read_written();
    sum += read_reorders();
    compare_layouts();
    const std::vector<Item> primitives = plan_["primitives"].list();
    std::vector<bool> seen(primitives.size(), false);
    for (std::size_t v = 0; v < made_.size(); ++v) {
      const Item& variable = proof_.variables()[v];
      if (!is_operation(variable)) continue;
      const Item label = chosen(v);
      sum += label["us"].number();
      const std::vector<std::vector<std::string>> read = readable(variable, label);
      if (!variable.has("primitive")) continue;
      const auto p = at(variable["primitive"].index(primitives.size()));
      if (seen[p]) wrong(variable.where, fmt::format("primitive {} has two variables", p));
      seen[p] = true;
      compare_primitive(variable, label, read, primitives[p]);
      compare_copies(variable, label, read, primitives[p]);
    }
    if (const auto left = std::ranges::find(seen, false); left != seen.end()) {
      const Item& item = primitives[static_cast<std::size_t>(left - seen.begin())];
      wrong(item.where, "is not in the certificate: " + quoted(item["name"].text()));
    }
    compare_reordered();
    if (!proof_.near(sum, cost))
      wrong("certificate", fmt::format("the labels add up to {} us, the tables to {}", sum, cost));
  }

 private:
  using Reorder = std::tuple<std::string, std::string, std::string>;

  static bool is_operation(const Item& variable) {
    const std::string kind = variable["kind"].text();
    if (kind != "operation" && kind != "tensor") wrong(variable.where + ".kind", quoted(kind) + " is no kind");
    return kind == "operation";
  }
  Item chosen(std::size_t v) const { return proof_.variables()[v]["values"][at(proof_.value(v))]; }
  const Item& tensor(const Item& index) const {
    const Item& out = proof_.variables()[at(index.index(made_.size()))];
    if (is_operation(out)) wrong(index.where, "is no tensor");
    return out;
  }
  static std::size_t places(const Item& tensor) { return tensor["places"].size(); }
  static std::string place(const Item& tensor, int p) { return tensor["places"][at(p)].text(); }

  void read_written() {
    for (std::size_t v = 0; v < made_.size(); ++v) {
      const Item& variable = proof_.variables()[v];
      if (!is_operation(variable)) continue;
      const std::vector<Item> tensors = variable["dst"].list(), written = chosen(v)["dst"].list();
      if (tensors.size() != written.size()) wrong(chosen(v).where, "has not one place a destination");
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Item& to = tensor(tensors[i]);
        std::vector<int>& made = made_[at(tensors[i].index(made_.size()))];
        if (!made.empty()) wrong(tensors[i].where, quoted(to["name"].text()) + " is written twice");
        made.push_back(written[i].index(places(to)));
      }
    }
  }

  /// What the plan lists, and where.
  std::multimap<Reorder, std::string> listed_reorders() const {
    std::multimap<Reorder, std::string> out;
    for (const char* key : {"reorders", "load_reorders"}) {
      if (!plan_.has(key)) continue;
      for (const Item& item : plan_[key].list()) {
        out.emplace(Reorder{item["tensor"].text(), item["from"].text(), item["to"].text()}, item.where);
      }
    }
    return out;
  }

  /// Their costs. The plan must have just these.
  double read_reorders() {
    double sum = 0;
    std::multimap<Reorder, std::string> listed = listed_reorders();
    for (const Item& item : proof_.certificate()["reorders"].list()) {
      const Item& of = tensor(item["tensor"]);
      std::vector<int>& made = made_[at(item["tensor"].index(made_.size()))];
      const int from = item["from"].index(places(of)), to = item["to"].index(places(of));
      if (std::ranges::find(made, from) == made.end()) wrong(item.where, "its source is not made before it");
      made.push_back(to);
      sum += item["us"].number();
      const Reorder reorder{of["name"].text(), place(of, from), place(of, to)};
      const auto found = listed.find(reorder);
      if (found == listed.end()) {
        wrong("reorders", fmt::format("{} from {} to {} is missing; the certificate has it", quoted(of["name"].text()),
                                      quoted(place(of, from)), quoted(place(of, to))));
      }
      listed.erase(found);
    }
    if (!listed.empty()) {
      const auto& [reorder, where] = *listed.begin();
      wrong(where, fmt::format("{} from {} to {} is not in the certificate", quoted(std::get<0>(reorder)),
                               quoted(std::get<1>(reorder)), quoted(std::get<2>(reorder))));
    }
    return sum;
  }

  void compare_layouts() const {
    const Item layouts = plan_["layouts"];
    for (std::size_t v = 0; v < made_.size(); ++v) {
      const Item& variable = proof_.variables()[v];
      if (is_operation(variable) || made_[v].empty()) continue;
      const std::string name = variable["name"].text();
      const std::string layout = layouts[name.c_str()].text(), made = place(variable, made_[v][0]);
      if (layout != made) wrong("layouts." + escaped(name), quoted(layout) + ", in the certificate " + quoted(made));
    }
  }

  /// The layouts in which each source may be read: of the places that the label allows, those that are made.
  std::vector<std::vector<std::string>> readable(const Item& variable, const Item& label) const {
    const std::vector<Item> tensors = variable["src"].list(), allowed = label["src"].list();
    if (tensors.size() != allowed.size()) wrong(label.where, "has not one list of places a source");
    std::vector<std::vector<std::string>> out(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Item& from = tensor(tensors[i]);
      const std::vector<int>& made = made_[at(tensors[i].index(made_.size()))];
      for (int p : allowed[i].indices(places(from))) {
        if (std::ranges::find(made, p) != made.end()) out[i].push_back(place(from, p));
      }
      if (out[i].empty()) {
        wrong(variable.where, fmt::format("{} reads {} in a place that is not made", quoted(variable["name"].text()),
                                          quoted(from["name"].text())));
      }
    }
    return out;
  }

  void compare_primitive(const Item& variable, const Item& label, const std::vector<std::vector<std::string>>& readable,
                         const Item& primitive) const {
    for (const auto& [key, wanted] :
         {std::pair{"name", variable["name"]}, {"implementation", label["implementation"]}}) {
      if (primitive[key].text() == wanted.text()) continue;
      wrong(primitive[key].where, quoted(primitive[key].text()) + ", in the certificate " + quoted(wanted.text()));
    }
    std::map<std::string, std::vector<std::string>> allowed;
    const std::vector<Item> src = variable["src"].list(), dst = variable["dst"].list();
    for (std::size_t i = 0; i < src.size(); ++i) {
      std::vector<std::string>& layouts = allowed[tensor(src[i])["name"].text()];
      layouts.insert(layouts.end(), readable[i].begin(), readable[i].end());
    }
    for (const Item& item : dst) {
      allowed[tensor(item)["name"].text()] = {place(tensor(item), made_[at(item.index(made_.size()))][0])};
    }
    const Item layouts = primitive["layouts"];
    for (const auto& [name, any] : allowed) {
      const std::string layout = layouts[name.c_str()].text();
      if (std::ranges::find(any, layout) != any.end()) continue;
      wrong(layouts.where,
            fmt::format("{} in {}, in the certificate {}", quoted(name), quoted(layout), quoted(any[0])));
    }
    if (layouts.json.size() != allowed.size()) wrong(layouts.where, "has tensors that the certificate has not");
  }

  /// Copies that are made from others are the reorders that the plan lists.
  void compare_reordered() const {
    std::multimap<Reorder, std::string> listed = listed_reorders();
    const Item copies = plan_["copies"];
    for (const Item& copy : copies.list()) {
      if (!copy.has("from")) continue;
      const Item from = copies[at(copy["from"].index(copies.size()))];
      const auto found = listed.find({copy["tensor"].text(), from["layout"].text(), copy["layout"].text()});
      if (found == listed.end()) wrong(copy.where, "is made by no reorder that the plan lists");
      listed.erase(found);
    }
    if (!listed.empty()) wrong(listed.begin()->second, "makes none of the plan's copies");
  }

  /// The copies are what runs: they must be those of the label, and in each other's memory only where it says so.
  void compare_copies(const Item& variable, const Item& label, const std::vector<std::vector<std::string>>& readable,
                      const Item& primitive) const {
    std::vector<std::vector<std::string>> written;
    for (const Item& item : variable["dst"].list()) {
      written.push_back({place(tensor(item), made_[at(item.index(made_.size()))][0])});
    }
    const std::vector<int> src = compare_operands(variable["src"], primitive["src"], readable);
    const std::vector<int> dst = compare_operands(variable["dst"], primitive["dst"], written);
    if (src.empty() || dst.empty() || label["implementation"].text() == "view") return;
    const Item copy = plan_["copies"][at(dst[0])];
    const bool over = copy.has("view_of") && copy["view_of"].index(plan_["copies"].size()) == src[0];
    const bool wanted = label.has("in_place") && label["in_place"].boolean();
    if (over != wanted) {
      wrong(copy.where, fmt::format("is {}written over its source, in the certificate it is {}", over ? "" : "not ",
                                    wanted ? "so" : "not"));
    }
  }

  /// The copies of a primitive's operands that are present.
  std::vector<int> compare_operands(const Item& tensors, const Item& operands,
                                    const std::vector<std::vector<std::string>>& layouts) const {
    const Item copies = plan_["copies"];
    std::vector<int> out;
    for (const Item& item : operands.list()) {
      if (item.json.is_null()) continue;
      const std::size_t i = out.size();
      if (i >= layouts.size()) wrong(operands.where, fmt::format("has more copies than {}", layouts.size()));
      out.push_back(item.index(copies.size()));
      const Item copy = copies[at(out.back())];
      const std::string name = tensor(tensors[i])["name"].text(), layout = copy["layout"].text();
      if (copy["tensor"].text() == name && std::ranges::find(layouts[i], layout) != layouts[i].end()) continue;
      wrong(item.where, fmt::format("{} in {}, in the certificate {} in {}", quoted(copy["tensor"].text()),
                                    quoted(layout), quoted(name), quoted(layouts[i][0])));
    }
    if (out.size() != layouts.size()) {
      wrong(operands.where, fmt::format("has {} copies, in the certificate {}", out.size(), layouts.size()));
    }
    return out;
  }

  const Item& plan_;
  const Proof& proof_;
  /// By variable of a tensor: the places in which it exists, what is written first.
  std::vector<std::vector<int>> made_;
};

std::string read_text(const std::string& path) {
  std::error_code status;
  const std::uintmax_t bytes = std::filesystem::file_size(path, status);
  std::ifstream file(path, std::ios::binary);
  if (status || !file) {
    const std::string why = status ? status.message() : "cannot be opened";
    throw Failure(kIo, Error(ErrorCode::io, escaped(path, 4096) + ": " + why, "path", escaped(path, 4096)));
  }
  if (bytes > kMaxBytes) {
    throw Failure(kBadData, Error(ErrorCode::limit,
                                  fmt::format("{}: {} bytes; at most {}", escaped(path, 4096), bytes, kMaxBytes),
                                  "bytes", std::to_string(bytes), std::to_string(kMaxBytes)));
  }
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (file.gcount() != static_cast<std::streamsize>(bytes)) {
    throw Failure(kIo, Error(ErrorCode::io, escaped(path, 4096) + ": cannot be read", "path", escaped(path, 4096)));
  }
  return text;
}

Json parse(const std::string& path) {
  const std::string text = read_text(path);
  try {
    return Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) wrong("json", fmt::format("is nested deeper than {}", kMaxDepth));
      return true;
    });
  } catch (const Json::exception& error) {
    throw Failure(kBadData, Error(ErrorCode::corrupt, escaped(path, 4096) + ": is no JSON: " + printable(error.what()),
                                  "path", escaped(path, 4096)));
  }
}

int run(const std::string& path, bool json) {
  const Json file = parse(path);
  const Item plan{file, ""};
  if (!plan.has("certificate")) {
    wrong("certificate", escaped(path, 4096) + " has none; relayout plan --policy optimal -o writes one");
  }
  Proof proof(plan);
  const Verdict verdict = proof.run();
  Labels(plan, proof).run(verdict.cost);
  if (json) {
    write_stdout(json_text({{"valid", true},
                            {"optimal", verdict.optimal},
                            {"cost_us", verdict.cost},
                            {"bound_us", verdict.bound},
                            {"gap", verdict.gap}}));
  } else if (verdict.optimal) {
    write_stdout(fmt::format("optimal: {:.6g} us proven\n", verdict.cost));
  } else {
    write_stdout(fmt::format("not proven optimal: {:.6g} us, of which {:.6g} are proven (gap {:.2g}%)\n", verdict.cost,
                             verdict.bound, 100 * verdict.gap));
  }
  return kOk;
}

}  // namespace

Verb add_check(CLI::App& app) {
  auto [command, json] =
      add_verb(app, "check", "Check that a saved plan is the cheapest, by its certificate",
               "  relayout plan net.onnx -o plan.json\n"
               "  relayout check plan.json\n"
               "A plan that is not what its certificate proves is bad data; the message says where.");
  auto path = std::make_shared<std::string>();
  command->add_option("PLAN", *path, "Plan, a .json file")->required();
  return {command, [path, json = json] { return run(*path, *json); }, json};
}

}  // namespace relayout::tools
