#include "coverage_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace vx::tools {

namespace {

struct Row {
  size_t cases = 0;
  std::vector<size_t> passing; // by targets and modes
};

} // namespace

// Without inputs that become constants a model is the one of the mode Dynamic.
static bool passes(const CoveredCase &one, const ExpectedList &list, const std::string &target, Mode mode) {
  return list.has(one.name, mode == Mode::Constant && !one.hasConstants ? Mode::Dynamic : mode, target);
}

static std::string textOf(const std::string &title, const Row &row) {
  std::string text = fmt::format("| {} | {} |", title, row.cases);
  for (size_t count : row.passing)
    text += fmt::format(" {} |", count);
  return text + "\n";
}

std::string coveragePage(const std::vector<CoveredCase> &cases, const ExpectedList &list,
                         const std::vector<std::string> &targets, const std::vector<Mode> &modes) {
  std::map<std::string, Row> rows;
  Row all;
  for (const CoveredCase &one : cases) {
    for (Row *row : {&rows[one.op], &all}) {
      ++row->cases;
      row->passing.resize(targets.size() * modes.size());
      for (size_t i = 0; i < row->passing.size(); ++i)
        row->passing[i] += passes(one, list, targets[i / modes.size()], modes[i % modes.size()]);
    }
  }
  const auto whole = std::count_if(rows.begin(), rows.end(), [](const auto &row) {
    return std::all_of(row.second.passing.begin(), row.second.passing.end(),
                       [&](size_t count) { return count == row.second.cases; });
  });
  std::string text = fmt::format(
      "# ONNX coverage\n\n"
      "How many of the tests of the package onnx pass, by the op that they are about, the target and the mode "
      "(`docs/conformance.md`): {} of\n{} ops pass whole. Made by "
      "`vx-conformance --coverage` from `test/conformance/onnx.txt`, which the tests hold against a run.\n\n| op | "
      "cases |",
      whole, rows.size());
  std::string line = "| --- | --- |";
  for (const std::string &target : targets)
    for (Mode mode : modes) {
      text += fmt::format(" {}, {} |", target, modeName(mode));
      line += " --- |";
    }
  text += "\n" + line + "\n" + textOf("all", all);
  for (const auto &[op, row] : rows)
    text += textOf(op, row);
  return text;
}

} // namespace vx::tools
