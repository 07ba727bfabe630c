#include "ChooseBranches.h"

using namespace mlir;

namespace vx::onnx {

namespace {

class Search {
public:
  using Import =
      llvm::function_ref<OwningOpRef<ModuleOp>(const BranchChoices &, ImportReport &, const NodeProto *&undecided)>;

  explicit Search(Import import) : import(import) {}

  OwningOpRef<ModuleOp> run(ImportReport &report) {
    const NodeProto *undecided = nullptr;
    OwningOpRef<ModuleOp> module = import(choices, report, undecided);
    if (module || !undecided || ++decided > kMostDecided)
      return module;
    OwningOpRef<ModuleOp> results[2];
    for (bool isThen : {false, true}) {
      ImportReport trial;
      choices[undecided] = isThen;
      results[isThen] = run(trial);
    }
    choices.erase(undecided);
    if (!results[0] == !results[1])
      return {};
    report.issues.clear();
    return std::move(results[results[1] ? 1 : 0]);
  }

private:
  /// Nodes that are tried both ways, in all: each doubles the imports.
  static constexpr unsigned kMostDecided = 32;

  Import import;
  BranchChoices choices;
  unsigned decided = 0;
};

} // namespace

OwningOpRef<ModuleOp> importChoosingBranches(Search::Import import, ImportReport &report) {
  return Search(import).run(report);
}

void requireBranch(NodeImporter &n, bool isThen) {
  Entry &condition = n.getEntry(0);
  if (isThen && condition.equals.first)
    return n.require(ConstraintKind::equal, condition.equals.first, condition.equals.second);
  Value value = n.cast(n.reshape(n.getTensor(0), {}), n.builder.getI64Type());
  n.require(ConstraintKind::equal, n.bindSymbol(value, n.proto.input(0)), n.dim(isThen));
}

} // namespace vx::onnx
