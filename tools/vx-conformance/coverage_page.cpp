#include "coverage_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace vx::tools {

namespace {

// Of a column: the cases that the mode has, and those of them that pass.
struct Cell {
  size_t cases = 0, passing = 0;
};

struct Row {
  size_t cases = 0;
  std::vector<Cell> cells; // by columns
};

struct Column {
  std::string target;
  Mode mode;
};

} // namespace

// A model without inputs that become constants is none of the mode Constant.
static bool isOf(const CoveredCase &one, const Column &column) {
  return column.mode != Mode::Constant || one.hasConstants;
}

static std::string textOf(const std::string &title, const Row &row) {
  std::string text = fmt::format("| {} | {} |", title, row.cases);
  for (const Cell &cell : row.cells) {
    if (cell.cases == row.cases)
      text += fmt::format(" {} |", cell.passing);
    else if (cell.cases == 0)
      text += " none |";
    else
      text += fmt::format(" {} of {} |", cell.passing, cell.cases);
  }
  return text + "\n";
}

static std::string headOf(std::string_view title, const std::vector<Column> &columns) {
  std::string text = fmt::format("\n| {} | cases |", title), line = "| --- | --- |";
  for (const Column &column : columns) {
    text += fmt::format(" {}, {} |", column.target, modeName(column.mode));
    line += " --- |";
  }
  return text + "\n" + line + "\n";
}

// Which run each column is from, as scripts/figures has it.
static std::string originsOf(const std::vector<Column> &columns, const ExpectedList &list) {
  std::map<std::string, std::vector<std::string>> origins; // the columns by the text
  for (const Column &column : columns)
    origins[list.origin(column.target, column.mode)].push_back(
        fmt::format("{}, {}", column.target, modeName(column.mode)));
  std::string text;
  for (const auto &[origin, titles] : origins)
    text += fmt::format("\n{} Columns: {}.\n", origin.empty() ? "No run is known." : origin, fmt::join(titles, "; "));
  return text;
}

std::string coveragePage(const std::vector<CoveredCase> &cases, const ExpectedList &list,
                         const std::vector<std::string> &targets, const std::vector<Mode> &modes) {
  std::vector<Column> columns;
  for (const std::string &target : targets)
    for (Mode mode : modes)
      if (std::any_of(list.entries().begin(), list.entries().end(),
                      [&](const auto &entry) { return entry.first.second == mode && entry.second.contains(target); }))
        columns.push_back({target, mode});
  std::map<std::string, Row> sets, ops;
  Row all;
  for (const CoveredCase &one : cases)
    for (Row *row : {&sets[one.set], &ops[one.op], &all}) {
      ++row->cases;
      row->cells.resize(columns.size());
      for (size_t i = 0; i < columns.size(); ++i) {
        if (!isOf(one, columns[i]))
          continue;
        ++row->cells[i].cases;
        row->cells[i].passing += list.has(one.name, columns[i].mode, columns[i].target);
      }
    }
  const auto whole = std::count_if(ops.begin(), ops.end(), [](const auto &op) {
    return std::all_of(op.second.cells.begin(), op.second.cells.end(),
                       [](const Cell &cell) { return cell.passing == cell.cases; });
  });
  std::string text =
      fmt::format("# ONNX coverage\n\n"
                  "How many of the tests of the package onnx pass, by the set and the op that they are about, the "
                  "target and the mode "
                  "(`docs/conformance.md`): {} of\n{} ops pass whole. Made by "
                  "`vx-conformance --coverage` from `test/conformance/onnx.txt`, which the tests hold against a run. "
                  "What an op draws "
                  "is\njudged by its range, its mean and spread, and by what repeats, as its text has "
                  "them.\nThe mode constant has the cases whose models have inputs that become constants, as many as "
                  "a cell says beside those that pass. What is\nrefused in the mode symbolic, where all sizes of all "
                  "inputs are symbols, stands in the list with its reason.\n",
                  whole, ops.size());
  text += originsOf(columns, list);
  text += headOf("set", columns) + textOf("all", all);
  for (const auto &[set, row] : sets)
    text += textOf(set, row);
  text += headOf("op", columns);
  for (const auto &[op, row] : ops)
    text += textOf(op, row);
  return text;
}

} // namespace vx::tools
