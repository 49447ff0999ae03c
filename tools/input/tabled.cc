// Indices through tables, and what a table says.
#include "tools/input/tabled.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/command/common.h"
#include "tools/input/index_tables.h"

namespace relayout::tools {
namespace {

/// How often the layout's indices are named by a table.
struct TableFacts {
  int64_t indices = 0, none = 0;
  int64_t named = 0;  // of the layout's indices
  bool repeated = false;
};

/// Where an index of a table's dim stands, or IndexTable::kNone.
int64_t place_of(const IndexTable& table, int64_t index) {
  const int64_t entry = table.entries()[static_cast<std::size_t>(index / table.block())];
  return entry == IndexTable::kNone ? entry : entry * table.block() + index % table.block();
}

TableFacts facts_of(const IndexTable& table, int64_t extent) {
  TableFacts out{.indices = table.indices()};
  std::vector<bool> named(static_cast<std::size_t>((extent + table.block() - 1) / table.block()));
  for (const int64_t entry : table.entries()) {
    if (entry == IndexTable::kNone) {
      out.none += table.block();
    } else if (named[static_cast<std::size_t>(entry)]) {
      out.repeated = true;
    } else {
      named[static_cast<std::size_t>(entry)] = true;
      out.named += std::min(table.block(), extent - entry * table.block());
    }
  }
  return out;
}

}  // namespace

void add_table_option(Command& command, std::vector<std::string>& tables) {
  command
      .add_option("--table", tables,
                  "DIM=FILE: index i of the dim stands at index FILE[i] of the layout, as for convert --index, with "
                  "the same words behind the file; may be given for several dims")
      .one_value_each();
}

TabledLayout::TabledLayout(const Format& format, const Layout& layout, const std::vector<std::string>& tables)
    : layout_(layout), tables_(index_tables(tables, "--table", format, layout.ndims())), dims_(layout.dims()) {
  std::vector<bool> seen(static_cast<std::size_t>(layout.ndims()));
  for (const IndexTable& table : tables_) {
    const int d = table.dim();
    if (seen[static_cast<std::size_t>(d)])
      usage_error(fmt::format("--table: dim {} has two tables", d), "--table", std::to_string(d));
    seen[static_cast<std::size_t>(d)] = true;
    // The last block may reach beyond the extent; its indices that do are none.
    dims_[d] = table.indices();
    from_data([&] {
      const int64_t whole = (layout.dim(d) + table.block() - 1) / table.block() * table.block();
      table.check(table.indices(), whole, false, fmt::format("--table of dim {}", d));
    });
  }
}

const IndexTable* TabledLayout::of(int dim) const {
  const auto found = std::ranges::find(tables_, dim, &IndexTable::dim);
  return found == tables_.end() ? nullptr : &*found;
}

std::optional<Dims> TabledLayout::behind(const Dims& index) const {
  Dims out = index;
  for (int d = 0; d < index.size(); ++d) {
    const IndexTable* table = of(d);
    if (table == nullptr) continue;
    if (index[d] < 0 || index[d] >= dims_[d])
      usage_error(fmt::format("--index {}: the table of dim {} is for 0 to {}", join(index), d, dims_[d] - 1),
                  "--index", join(index), std::to_string(dims_[d]));
    out[d] = place_of(*table, index[d]);
    if (out[d] == IndexTable::kNone || out[d] >= layout_.dim(d)) return std::nullopt;
  }
  return out;
}

std::vector<Dims> TabledLayout::in_front(const Dims& index) const {
  std::vector<Dims> out{index};
  for (const IndexTable& table : tables_) {
    std::vector<Dims> next;
    const int64_t wanted = index[table.dim()];
    const auto entries = table.entries();
    for (const Dims& one : out) {
      for (std::size_t e = 0; e < entries.size(); ++e) {
        if (entries[e] != wanted / table.block()) continue;
        next.push_back(one);
        next.back()[table.dim()] = static_cast<int64_t>(e) * table.block() + wanted % table.block();
      }
    }
    out = std::move(next);
  }
  std::ranges::sort(out, [](const Dims& a, const Dims& b) { return std::ranges::lexicographical_compare(a, b); });
  return out;
}

std::vector<std::string> TabledLayout::texts(const std::string& letters) const {
  std::vector<std::string> out;
  for (const IndexTable& table : tables_) {
    const int d = table.dim();
    const TableFacts facts = facts_of(table, layout_.dim(d));
    std::string text =
        fmt::format("{} goes through {}", letters[static_cast<std::size_t>(d)],
                    table.entries().size() == 1 ? "1 entry" : fmt::format("{} entries", table.entries().size()));
    if (table.block() > 1) text += fmt::format(", each for {} indices", table.block());
    text += fmt::format("; extent {} in front of it, {} of {} named", facts.indices, facts.named, layout_.dim(d));
    if (facts.repeated) text += ", some more than once (a source only)";
    if (facts.none > 0) text += fmt::format(", {} stand nowhere", facts.none);
    out.push_back(std::move(text));
  }
  return out;
}

Json TabledLayout::json() const {
  Json out = Json::array();
  for (const IndexTable& table : tables_) {
    const TableFacts facts = facts_of(table, layout_.dim(table.dim()));
    out.push_back({{"dim", table.dim()},
                   {"entries", table.entries().size()},
                   {"block", table.block()},
                   {"extent", facts.indices},
                   {"named", facts.named},
                   {"none", facts.none},
                   {"repeated", facts.repeated}});
  }
  return out;
}

}  // namespace relayout::tools
