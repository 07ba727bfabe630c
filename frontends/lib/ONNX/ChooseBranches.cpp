#include "ChooseBranches.h"

#include "NodeOrder.h"

using namespace mlir;

namespace vx::onnx {

Decider findUndecided(ArrayRef<ModelImporter::Failure> failures) {
  Decider undecided;
  for (const ModelImporter::Failure &failure : failures) {
    if (failure.undecided) {
      undecided = undecided ? undecided : failure.undecided;
      continue;
    }
    // A failure stays if its branches are reached with each choice of the undecided If.
    auto mayChange = [&](const ModelImporter::Failure &other) {
      return other.undecided && BranchPath::isInside(failure.path, other.undecided.path);
    };
    if (llvm::none_of(failures, mayChange))
      return {};
  }
  return undecided;
}

namespace {

class Search {
public:
  using Import = llvm::function_ref<OwningOpRef<ModuleOp>(const BranchChoices &, ImportReport &, Decider &undecided)>;

  explicit Search(Import import) : import(import) {}

  OwningOpRef<ModuleOp> run(ImportReport &report) {
    OwningOpRef<ModuleOp> module = search(report);
    if (!isExhausted)
      return module;
    // The report so far may lack options that the model has.
    ImportIssue issue;
    issue.kind = ImportIssue::Kind::Unsupported;
    issue.reason = "expects at most " + std::to_string(mostDecided) +
                   " choices between branches that give tensors of two ranks, and there are more";
    issue.advice = describeAdvice(Advice::FixSizes, "", "", 0);
    report.issues = {std::move(issue)};
    return {};
  }

private:
  OwningOpRef<ModuleOp> search(ImportReport &report) {
    Decider undecided;
    OwningOpRef<ModuleOp> module = import(choices, report, undecided);
    if (module || !undecided || choices.contains(undecided) || isExhausted)
      return module;
    isExhausted = ++decided > mostDecided;
    auto attempt = [&](BranchChoice choice, ImportReport &issues) {
      issues.file = report.file;
      choices[undecided] = choice;
      OwningOpRef<ModuleOp> result = search(issues);
      choices.erase(undecided);
      return result;
    };
    ImportReport ofBoth, ofThen, ofElse;
    if ((module = attempt(BranchChoice::continued, ofBoth)))
      return accept(std::move(module), report, ofBoth);
    module = attempt(BranchChoice::then, ofThen);
    OwningOpRef<ModuleOp> other = attempt(BranchChoice::otherwise, ofElse);
    if (module && other) { // but a result of the graph has two ranks
      report.issues = std::move(ofBoth.issues);
      return {};
    }
    if (module)
      return accept(std::move(module), report, ofThen);
    return other ? accept(std::move(other), report, ofElse) : OwningOpRef<ModuleOp>();
  }

  static OwningOpRef<ModuleOp> accept(OwningOpRef<ModuleOp> module, ImportReport &report, ImportReport &found) {
    report.issues.clear();
    report.notes = std::move(found.notes);
    return module;
  }

  /// The most Ifs that are tried in all ways. Each needs up to three more imports.
  static constexpr unsigned mostDecided = 64;

  Import import;
  BranchChoices choices;
  unsigned decided = 0;
  bool isExhausted = false;
};

} // namespace

OwningOpRef<ModuleOp> importChoosingBranches(Search::Import import, ImportReport &report) {
  return Search(import).run(report);
}

Continuation takeContinuation(NodeImporter &n) {
  Scope &scope = *n.model.scope;
  Continuation rest;
  llvm::StringSet<> made;
  auto make = [&](const NodeProto &node) {
    for (const std::string &output : node.output())
      if (!output.empty())
        made.insert(output);
  };
  make(n.proto);
  auto isMade = [&](StringRef name) {
    std::optional<StringRef> next = name;
    for (unsigned hops = 0; next && hops < maxNesting; ++hops, next = n.model.findAlias(*next))
      if (made.contains(*next))
        return true;
    return false;
  };
  auto at = llvm::find_if(scope.nodes, [&](const NumberedNode &node) { return node.proto == &n.proto; });
  for (const NumberedNode &node : llvm::make_range(std::next(at), scope.nodes.end())) {
    ReadNames reads;
    collectReads(*node.proto, reads);
    if (llvm::any_of(reads, isMade)) {
      make(*node.proto);
      rest.nodes.push_back(node);
    } else {
      (void)n.model.importNext(node); // the others may read it
    }
    scope.continued.insert(node.proto);
  }
  for (const std::string &output : scope.outputs.value_or(SmallVector<std::string>()))
    if (isMade(output))
      rest.outputs.push_back(output);
  return rest;
}

void requireBranch(NodeImporter &n, bool isThen) {
  Entry &condition = n.getEntry(0);
  if (isThen && condition.equals.first)
    return n.require(ConstraintKind::equal, condition.equals.first, condition.equals.second);
  Value value = n.cast(n.reshape(n.getTensor(0), {}), n.builder.getI64Type());
  n.require(ConstraintKind::equal, n.bindSymbol(value, n.proto.input(0)), n.dim(isThen));
}

} // namespace vx::onnx
