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
    if (module || !undecided || choices.contains(undecided) || ++decided > kMostDecided)
      return module;
    auto attempt = [&](BranchChoice choice, ImportReport &issues) {
      choices[undecided] = choice;
      OwningOpRef<ModuleOp> result = run(issues);
      choices.erase(undecided);
      return result;
    };
    ImportReport ofThen, ofElse;
    module = attempt(BranchChoice::then, ofThen);
    OwningOpRef<ModuleOp> other = attempt(BranchChoice::otherwise, ofElse);
    if (!module && !other)
      return {};
    report.issues.clear();
    if (!module || !other)
      return module ? std::move(module) : std::move(other);
    return attempt(BranchChoice::continued, report);
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

/// Adds the names that a node reads, also in its graphs.
static void collectReads(const NodeProto &node, llvm::StringSet<> &reads) {
  for (const std::string &input : node.input())
    reads.insert(input);
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.has_g()) {
      for (const NodeProto &inner : attribute.g().node())
        collectReads(inner, reads);
      for (const ValueInfoProto &output : attribute.g().output())
        reads.insert(output.name());
    }
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
  auto at = llvm::find_if(scope.nodes, [&](const NumberedNode &node) { return node.proto == &n.proto; });
  for (const NumberedNode &node : llvm::make_range(std::next(at), scope.nodes.end())) {
    llvm::StringSet<> reads;
    collectReads(*node.proto, reads);
    if (llvm::any_of(reads.keys(), [&](StringRef name) { return made.contains(name); })) {
      make(*node.proto);
      rest.nodes.push_back(node);
    } else {
      (void)n.model.importNext(node); // the others may read it
    }
    scope.continued.insert(node.proto);
  }
  for (const std::string &output : scope.outputs.value_or(SmallVector<std::string>()))
    if (made.contains(output))
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
