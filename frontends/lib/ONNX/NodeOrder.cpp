#include "NodeOrder.h"

#include "ModelImporter.h"

using namespace mlir;

namespace vx::onnx {

static void collectReads(const GraphProto &graph, ReadNames &reads) {
  llvm::StringSet<> made;
  for (const ValueInfoProto &input : graph.input())
    made.insert(input.name());
  for (const TensorProto &tensor : graph.initializer())
    made.insert(tensor.name());
  for (const SparseTensorProto &tensor : graph.sparse_initializer())
    made.insert(tensor.values().name());
  for (const NodeProto &node : graph.node())
    made.insert(node.output().begin(), node.output().end());
  ReadNames inner;
  for (const NodeProto &node : graph.node())
    collectReads(node, inner);
  for (const ValueInfoProto &output : graph.output())
    inner.insert(output.name());
  for (StringRef name : inner)
    if (!made.contains(name))
      reads.insert(name);
}

void collectReads(const NodeProto &node, ReadNames &reads) {
  for (const std::string &input : node.input())
    if (!input.empty())
      reads.insert(input);
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.has_g())
      collectReads(attribute.g(), reads);
}

namespace {

/// Visits the producers of a node before the node.
class Sorter {
public:
  Sorter(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, const llvm::StringMap<int> &producers)
      : nodes(nodes), states(nodes.size(), State::New), reads(nodes.size()) {
    for (int reader = 0; reader < nodes.size(); ++reader) {
      ReadNames names;
      collectReads(nodes[reader], names);
      for (StringRef name : names)
        if (auto producer = producers.find(name); producer != producers.end())
          reads[reader].push_back({name, producer->second});
    }
  }

  struct Read {
    StringRef name;
    int producer;
  };
  ArrayRef<Read> getReads(int node) const { return reads[node]; }

  std::vector<NumberedNode> run() {
    for (int node = 0; node < nodes.size(); ++node)
      visit(node);
    return std::move(order);
  }

  std::string describe(int node) const {
    return "'" + getNodeLabel(nodes[node], node) + "' (" + nodes[node].op_type() + ")";
  }

private:
  enum class State { New, Open, Done };
  /// A node whose producers are being visited, and the next of them.
  struct Step {
    int node;
    size_t next = 0;
  };

  void visit(int first) {
    if (states[first] != State::New)
      return;
    SmallVector<Step> steps = {{first}};
    states[first] = State::Open;
    while (!steps.empty()) {
      Step &step = steps.back();
      if (step.next == reads[step.node].size()) {
        states[step.node] = State::Done;
        order.push_back({&nodes[step.node], step.node});
        steps.pop_back();
        continue;
      }
      const int producer = reads[step.node][step.next++].producer;
      if (states[producer] == State::Open)
        refuseCycle(steps, producer);
      if (states[producer] == State::Done)
        continue;
      states[producer] = State::Open;
      steps.push_back({producer});
    }
  }

  /// Each node of the steps reads the one after it, and the last one reads `first`.
  [[noreturn]] void refuseCycle(ArrayRef<Step> steps, int first) {
    constexpr int maxListed = 16;
    std::string cycle;
    int listed = 0;
    for (const Step &step : llvm::reverse(steps)) {
      if (++listed <= maxListed)
        cycle += (cycle.empty() ? "" : " -> ") + describe(step.node);
      if (step.node == first)
        break;
    }
    if (listed > maxListed)
      cycle += " and " + std::to_string(listed - maxListed) + " more";
    throwInvalid("expects a graph without cycles, but these nodes feed one another: " + cycle);
  }

  const google::protobuf::RepeatedPtrField<NodeProto> &nodes;
  std::vector<State> states;
  std::vector<SmallVector<Read>> reads;
  std::vector<NumberedNode> order;
};

} // namespace

std::vector<NumberedNode> ModelImporter::orderNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes) {
  llvm::StringMap<int> producers;
  for (auto [index, node] : llvm::enumerate(nodes))
    for (const std::string &output : node.output())
      if (!output.empty() && !scope->entries.contains(output)) // otherwise it is made twice, which `define` reports
        producers.try_emplace(output, index);
  auto isOuter = [&](StringRef name) {
    for (Scope *at = scope->parent; at; at = at->parent)
      if (at->entries.contains(name))
        return true;
    return false;
  };
  Sorter sorter(nodes, producers);
  std::string early; // the first node that reads a value of a later one
  for (int reader = 0; reader < nodes.size(); ++reader)
    for (auto [name, producer] : sorter.getReads(reader)) {
      if (producer < reader)
        continue;
      if (isOuter(name))
        throwInvalid("expects a name for one value, but node " + sorter.describe(reader) + " reads '" + name +
                     "' of a graph around it before node " + sorter.describe(producer) + " makes another");
      if (early.empty())
        early = ("node " + sorter.describe(reader) + " reads '" + name + "' before node " + sorter.describe(producer) +
                 " makes it")
                    .str();
    }
  std::vector<NumberedNode> order = sorter.run();
  if (early.empty())
    return order;
  if (options.strict)
    throwInvalid("expects nodes in the order of their values, but " + early);
  addNote(ImportNote::Kind::Note, "", "the nodes are not in the order of their values: " + early + "; they are sorted");
  return order;
}

} // namespace vx::onnx
