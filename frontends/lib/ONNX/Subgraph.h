// A graph inside of a node. Its nodes become ops of a region, or ops at the node's position.
#ifndef VX_FRONTEND_ONNX_SUBGRAPH_H
#define VX_FRONTEND_ONNX_SUBGRAPH_H

#include "ChooseBranches.h"

namespace vx::onnx {

/// A subgraph under construction: a detached block, or the current one, with a scope inside of the current scope. The
/// destructor restores the importer's state, also after an exception.
class Subgraph {
public:
  /// `isInline`: the nodes go to the insertion point.
  Subgraph(ModelImporter &model, bool isInline)
      : model(model), guard(model.builder), outer(model.scope), outerPath(model.path), facts(model.facts.mark()),
        region(std::make_unique<mlir::Region>()) {
    if (isInline) {
      scope.block = model.builder.getInsertionBlock();
    } else {
      block = new mlir::Block();
      region->push_back(block);
      scope.block = block;
      model.builder.setInsertionPointToStart(block);
    }
    scope.parent = outer;
    scope.functionAttributes = outer->functionAttributes;
    scope.opsets = outer->opsets;
    scope.depth = outer->depth + 1;
    model.scope = &scope;
  }
  ~Subgraph() {
    model.scope = outer;
    model.path = outerPath;
    model.facts.forgetAfter(facts);
    if (block)
      model.forgetBlock(block); // no scope has its values any more, and the owner of the region may erase it
  }
  Subgraph(const Subgraph &) = delete;
  Subgraph &operator=(const Subgraph &) = delete;

  void import(const GraphProto &graph) {
    scope.outputs.emplace();
    for (const ValueInfoProto &output : graph.output())
      scope.outputs->push_back(output.name());
    check([&] {
      model.importInitializers(graph);
      return model.importNodes(graph.node());
    });
  }
  /// The same for a branch of `node`, an If, with the nodes after it that read its outputs. `rest.outputs` are the
  /// values that are read of all of these.
  void importWith(const GraphProto &graph, const NodeProto &node, const Continuation &rest) {
    for (auto [name, output] : llvm::zip(node.output(), graph.output()))
      if (!name.empty() && name != output.name())
        scope.aliases[name] = output.name();
    scope.outputs = rest.outputs;
    check([&] {
      model.importInitializers(graph);
      return model.importNodes(graph.node(), rest.nodes);
    });
  }
  mlir::Value getOutput(const GraphProto &graph, int index) {
    return model.materialize(model.lookup(graph.output(index).name()));
  }
  void define(const ValueInfoProto &input, Entry entry) { model.define(input.name(), std::move(entry)); }
  void yield(NodeImporter &n, mlir::ValueRange values) {
    mlir::OperationState state(n.location, YieldOp::getOperationName());
    YieldOp::build(model.builder, state, values);
    n.finish(state);
  }

  void check(llvm::function_ref<bool()> import) {
    size_t issues = model.countIssues();
    if (!import() || model.countIssues() != issues)
      throw PoisonedInput();
  }

  ModelImporter &model;
  mlir::OpBuilder::InsertionGuard guard;
  Scope *outer;
  const BranchPath *outerPath;
  const size_t facts;
  Scope scope;
  std::unique_ptr<mlir::Region> region;
  mlir::Block *block = nullptr;
};

} // namespace vx::onnx

#endif
