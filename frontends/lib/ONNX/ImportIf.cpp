// If: both branches become regions, or the nodes of one go where the node stands.
#include "ChooseBranches.h"
#include "DimMath.h"
#include "OpFunctions.h"
#include "Subgraph.h"

using namespace mlir;

namespace vx::onnx {

/// Returns a common type for the results of two branches. Sizes that differ, or that only one branch knows, become new
/// symbols.
static Type joinBranchTypes(NodeImporter &n, StringRef name, Type lhs, Type rhs, const llvm::StringSet<> &inner) {
  auto left = dyn_cast<RankedTensorType>(lhs), right = dyn_cast<RankedTensorType>(rhs);
  if (Type joined = joinHostTypes(lhs, rhs))
    return joined;
  if (!left || !right || left.getElementType() != right.getElementType())
    throwInvalid("expects branches that give the same types, got " + describe(lhs) + " and " + describe(rhs));
  Dims dims;
  for (auto [l, r] : llvm::zip(vx::getDims(left), vx::getDims(right)))
    dims.push_back(l == r && !namesAnyOf(l, inner) ? l : n.model.declareSize(name, dims.size()));
  return makeTensorType(dims, left.getElementType());
}

static void importBranchInline(NodeImporter &n, const GraphProto &graph) {
  std::vector<Entry> results;
  OpBuilder::InsertPoint end;
  {
    Subgraph branch(n.model, /*isInline=*/true);
    branch.import(graph);
    for (const ValueInfoProto &output : graph.output())
      results.push_back(n.model.lookup(output.name()));
    end = n.builder.saveInsertionPoint();
  }
  n.builder.restoreInsertionPoint(end);
  for (auto [index, result] : llvm::enumerate(results))
    n.setEntry(index, std::move(result));
}

/// Where two branches give tensors of two ranks, that of the smaller one gets dimensions of size 1 in front.
static void joinRanks(NodeImporter &n, unsigned output, MutableArrayRef<SmallVector<Type>> types,
                      ArrayRef<std::unique_ptr<Region>> regions) {
  auto left = dyn_cast<RankedTensorType>(types[0][output]), right = dyn_cast<RankedTensorType>(types[1][output]);
  if (!left || !right || left.getRank() == right.getRank())
    return;
  size_t smaller = left.getRank() < right.getRank() ? 0 : 1;
  Dims dims = vx::getDims(smaller == 0 ? left : right);
  dims.insert(dims.begin(), std::abs(left.getRank() - right.getRank()), n.dim(1));
  OpBuilder::InsertionGuard guard(n.builder);
  Operation *yield = regions[smaller]->front().getTerminator();
  n.builder.setInsertionPoint(yield);
  Value padded = n.reshape(yield->getOperand(output), dims);
  yield->setOperand(output, padded);
  types[smaller][output] = padded.getType();
}

/// Where one branch gives an optional, so does the other.
static void wrapOptionals(NodeImporter &n, ArrayRef<Type> results, Region &region) {
  OpBuilder::InsertionGuard guard(n.builder);
  Operation *yield = region.front().getTerminator();
  n.builder.setInsertionPoint(yield);
  for (auto [index, type] : llvm::enumerate(results))
    yield->setOperand(index, wrapOptional(n.builder, n.location, yield->getOperand(index), type));
}

static void importIf(NodeImporter &n) {
  const GraphProto &thenGraph = n.getGraph("then_branch"), &elseGraph = n.getGraph("else_branch");
  for (const GraphProto *graph : {&thenGraph, &elseGraph}) {
    if (graph->input_size() > 0)
      throwInvalid("expects branches without inputs, got " + Twine(graph->input_size()));
    if (graph->output_size() != n.proto.output_size())
      throwInvalid("expects one output of each branch for each of the node's " + Twine(n.proto.output_size()) +
                   ", got " + Twine(graph->output_size()));
  }
  std::optional<Dims> known = n.getContents(0);
  if (known && known->size() == 1)
    return importBranchInline(n, (*known)[0].asConstant() == 0 ? elseGraph : thenGraph);

  Value condition = n.reshape(n.getTensor(0), {});
  if (!elementOf(condition).isInteger(1))
    throwInvalid("expects a bool as input 0, got " + describe(condition.getType()));
  if (std::optional<bool> holds = n.model.facts.find(condition))
    return importBranchInline(n, *holds ? thenGraph : elseGraph);

  const Decider self = {&n.proto, n.model.path};
  auto choice = n.model.choices.find(self);
  bool isContinued = choice != n.model.choices.end() && choice->second == BranchChoice::continued;
  if (choice != n.model.choices.end() && !isContinued) {
    bool isThen = choice->second == BranchChoice::then;
    requireBranch(n, isThen);
    n.model.facts.add(condition, isThen);
    return importBranchInline(n, isThen ? thenGraph : elseGraph);
  }
  size_t mark = n.model.markSymbols();
  Continuation rest;
  if (isContinued)
    rest = takeContinuation(n);
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<SmallVector<Type>> types;
  SmallVector<SmallVector<std::optional<int64_t>>> ranks; // the least that each branch gives
  for (const GraphProto *graph : {&thenGraph, &elseGraph}) {
    Subgraph branch(n.model, /*isInline=*/false);
    const bool isThen = graph == &thenGraph;
    n.model.facts.add(condition, isThen);
    if (isContinued)
      n.model.path = n.model.paths->enter(n.model.path, n.proto, isThen);
    SmallVector<Value> values;
    if (isContinued) {
      branch.importWith(*graph, n.proto, rest);
      for (const std::string &name : rest.outputs)
        values.push_back(n.model.materialize(n.model.lookup(name)));
    } else {
      branch.import(*graph);
      for (const ValueInfoProto &output : graph->output()) {
        Entry &entry = n.model.lookup(output.name());
        values.push_back(entry.leastRank ? entry.value : n.model.materialize(entry));
      }
    }
    ranks.emplace_back();
    for (auto [index, value] : llvm::enumerate(values)) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      std::optional<int64_t> least = type ? std::optional(type.getRank()) : std::nullopt;
      if (!isContinued)
        if (std::optional<int64_t> inner = n.model.lookup(graph->output(index).name()).leastRank)
          least = inner;
      ranks.back().push_back(least);
    }
    branch.yield(n, values);
    types.emplace_back(ValueRange(values).getTypes());
    regions.push_back(std::move(branch.region));
  }
  llvm::StringSet<> inner = n.model.getSymbolsAfter(mark);
  SmallVector<Type> results;
  SmallVector<std::optional<int64_t>> leastRanks;
  for (size_t index = 0; index < types[0].size(); ++index) {
    joinRanks(n, index, types, regions);
    StringRef name = n.label;
    if (isContinued)
      name = rest.outputs[index];
    else if (n.wantsOutput(index))
      name = n.proto.output(index);
    results.push_back(joinBranchTypes(n, name, types[0][index], types[1][index], inner));
    auto tensor = dyn_cast<RankedTensorType>(results.back());
    std::optional<int64_t> least = std::min(ranks[0][index], ranks[1][index]);
    leastRanks.push_back(tensor && least && *least < tensor.getRank() ? least : std::nullopt);
  }
  for (const std::unique_ptr<Region> &region : regions)
    wrapOptionals(n, results, *region);
  OperationState state(n.location, IfOp::getOperationName());
  IfOp::build(n.builder, state, TypeRange(results), condition);
  for (auto [region, body] : llvm::zip(state.regions, regions))
    region->takeBody(*body);
  for (auto [index, result] : llvm::enumerate(n.finish(state)->getResults())) {
    Entry entry{result.getType(), n.location};
    entry.value = result;
    entry.leastRank = leastRanks[index];
    entry.decidedBy = self;
    if (isContinued)
      n.model.define(rest.outputs[index], std::move(entry));
    else
      n.setEntry(index, std::move(entry));
  }
  for (const std::string &name : n.proto.output()) {
    if (!isContinued || llvm::is_contained(rest.outputs, name))
      continue;
    Entry entry{Type(), n.location};
    entry.unavailable = "'" + name + "' is known in the branches alone";
    entry.whenUnavailable = Advice::FixSizes;
    n.model.define(name, std::move(entry));
  }
}

static constexpr OpTableEntry ifTable[] = {
    {"If", 1, newestOpset, importIf},
};
const llvm::ArrayRef<OpTableEntry> ifOps = ifTable;

} // namespace vx::onnx
