// Gradient: the nodes between the values `xs` and `y` are imported again, beginning with the values that are passed to
// the node. If these are the same values, both copies are merged when gradients are expanded.
#include "OpFunctions.h"

#include "vx/Dialect/VX/Gradient/ReverseMode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace vx::onnx {

static std::string quote(ArrayRef<StringRef> names) {
  return llvm::join(llvm::map_range(names, [](StringRef name) { return ("'" + name + "'").str(); }), ", ");
}

/// The scope that has an entry of this name, from one outwards; null when nothing has made it.
static Scope *findScope(Scope *from, StringRef name) {
  while (from && !from->entries.contains(name))
    from = from->parent;
  return from;
}

/// Collects the names of the values that a node depends on: its inputs, the outer values of its subgraphs, and `y` of a
/// gradient.
static void collectReads(const NodeProto &node, const Scope &scope, SmallVectorImpl<StringRef> &reads) {
  llvm::append_range(reads, node.input());
  const bool isGradient = node.domain() == trainingDomain && node.op_type() == "Gradient";
  for (const AttributeProto &attribute : node.attribute()) {
    if (isGradient && attribute.name() == "y") {
      const AttributeProto *value = &attribute;
      if (!attribute.ref_attr_name().empty())
        value = scope.functionAttributes ? scope.functionAttributes->lookup(attribute.ref_attr_name()) : nullptr;
      if (value)
        reads.push_back(value->s());
    }
    if (!attribute.has_g())
      continue;
    for (const NodeProto &inner : attribute.g().node())
      collectReads(inner, scope, reads);
    for (const ValueInfoProto &output : attribute.g().output())
      reads.push_back(output.name());
  }
}

namespace {

/// The nodes before a Gradient node that its `y` depends on, up to replaced values.
class Dependences {
public:
  Dependences(Scope *innermost, const llvm::StringSet<> &ends) : innermost(innermost), ends(ends) {}

  void collect(StringRef y) {
    SmallVector<std::pair<StringRef, Scope *>> stack = {{y, innermost}};
    while (!stack.empty()) {
      auto [name, reader] = stack.pop_back_val();
      Scope *scope = name.empty() || ends.contains(name) ? nullptr : findScope(reader, name);
      if (!scope)
        continue; // a value that only a subgraph of the reader makes has no entry here
      if (scope != findScope(innermost, name))
        throwInvalid("expects a name once in a graph and those around it, but '" + name + "' names two values");
      std::optional<size_t> index = findProducer(scope, name);
      if (!index || !nodes.insert({{scope->depth, *index}, scope}).second)
        continue;
      SmallVector<StringRef> reads;
      collectReads(*scope->nodes[*index].proto, *scope, reads);
      for (StringRef read : reads)
        stack.push_back({read, scope});
    }
  }

  /// Of the nodes those that depend on one of `names`, which gains the names of all that these make.
  std::vector<NumberedNode> findReaders(llvm::StringSet<> &names) const {
    std::vector<NumberedNode> readers;
    for (const auto &[place, scope] : nodes) {
      const NumberedNode &node = scope->nodes[place.second];
      SmallVector<StringRef> reads;
      collectReads(*node.proto, *scope, reads);
      if (llvm::none_of(reads, [&](StringRef read) { return names.contains(read); }))
        continue;
      readers.push_back(node);
      for (const std::string &output : node.proto->output())
        if (!ends.contains(output))
          names.insert(output);
    }
    return readers;
  }

private:
  std::optional<size_t> findProducer(Scope *scope, StringRef name) {
    auto [known, isNew] = producers.try_emplace(scope);
    if (isNew)
      for (auto [index, node] : llvm::enumerate(scope->nodes))
        for (const std::string &output : node.proto->output())
          known->second.try_emplace(output, index);
    auto found = known->second.find(name);
    return found == known->second.end() ? std::nullopt : std::optional(found->second);
  }

  Scope *const innermost;
  const llvm::StringSet<> &ends;
  std::map<Scope *, llvm::StringMap<size_t>> producers;
  /// Ordered by the depths of their scopes and their positions there, which is the order in which they are made.
  std::map<std::pair<unsigned, size_t>, Scope *> nodes;
};

/// A scope inside of the current one. Its ops are made at the insertion point.
class InnerScope {
public:
  explicit InnerScope(ModelImporter &model) : model(model), outer(model.scope) {
    scope.parent = outer;
    scope.block = model.builder.getInsertionBlock();
    scope.functionAttributes = outer->functionAttributes;
    scope.opsets = outer->opsets;
    scope.depth = outer->depth + 1;
  }
  ~InnerScope() { model.scope = outer; }
  InnerScope(const InnerScope &) = delete;
  InnerScope &operator=(const InnerScope &) = delete;

  void enter() { model.scope = &scope; }

  Scope scope;

private:
  ModelImporter &model;
  Scope *const outer;
};

} // namespace

static Type elementTypeOf(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    type = sequence.getElementType();
  return cast<TensorType>(type).getElementType();
}

static void importGradient(NodeImporter &n) {
  const SmallVector<StringRef> xs = n.getStrings("xs"), zs = n.getStrings("zs");
  const std::string y = n.getString("y", "");
  if (xs.empty() || y.empty())
    throwInvalid(Twine("expects names in attributes 'xs' and 'y', got ") + (xs.empty() ? "none in 'xs'" : "no 'y'"));
  SmallVector<StringRef> names = llvm::to_vector(llvm::concat<const StringRef>(xs, zs));
  if (n.getNumInputs() != names.size())
    throwInvalid("expects an input for each of " + Twine(xs.size()) + " names in 'xs' and " + Twine(zs.size()) +
                 " in 'zs', got " + Twine(n.getNumInputs()) + " inputs");
  if (n.proto.output_size() > int(xs.size()))
    throwInvalid("expects at most an output for each of " + Twine(xs.size()) + " names in 'xs', got " +
                 Twine(n.proto.output_size()));
  auto checkName = [&](StringRef name, StringRef attribute) {
    if (!findScope(n.model.scope, name))
      throwInvalid("expects '" + attribute + "' to name a value of the graph, but nothing before the node makes '" +
                   name + "'");
  };
  checkName(y, "y");
  (void)n.model.lookup(y);

  llvm::StringSet<> ends, changed;
  InnerScope inner(n.model);
  SmallVector<Value> watched;
  for (auto [index, name] : llvm::enumerate(names)) {
    const StringRef attribute = index < xs.size() ? "xs" : "zs";
    checkName(name, attribute);
    if (!ends.insert(name).second)
      throwInvalid("expects each name once in 'xs' and 'zs', but '" + name + "' stands there twice");
    const Entry &named = n.model.lookup(name);
    Entry entry = n.getEntry(index);
    if (elementTypeOf(entry.type) != elementTypeOf(named.type))
      throwInvalid("expects input " + Twine(index) + " to hold what '" + name + "' does: " + describe(named.type) +
                   ", got " + describe(entry.type));
    if (index < xs.size()) {
      if (!isa<RankedTensorType>(entry.type) || !isDifferentiable(entry.type))
        throwInvalid("expects tensors of floats in 'xs', got " + describe(entry.type) + " for '" + name + "'");
      watched.push_back(createWatch(n.builder, n.location, n.getInput(index)));
      Entry mark{entry.type, entry.location};
      mark.value = watched.back();
      entry = std::move(mark);
    }
    // A value that replaces itself keeps its facts, and so do the values that are computed from it.
    if (index < xs.size() || n.proto.input(index) != name)
      changed.insert(name);
    if (!entry.block)
      entry.block = n.builder.getInsertionBlock();
    inner.scope.entries.try_emplace(name, std::move(entry));
  }

  Dependences dependences(n.model.scope, ends);
  dependences.collect(y);
  llvm::StringSet<> reached(llvm::from_range, xs);
  (void)dependences.findReaders(reached);
  if (!reached.contains(y))
    throwInvalid("expects 'y' to depend on a value of 'xs', but '" + y + "' depends on none of " + quote(xs));
  inner.scope.nodes = dependences.findReaders(changed);
  inner.scope.substituted = ends;
  inner.enter();
  if (!n.model.importScopeNodes())
    throw PoisonedInput();
  Value value = n.model.materialize(n.model.lookup(y));
  if (!isa<RankedTensorType>(value.getType()) || !isDifferentiable(value.getType()))
    throwInvalid("expects a tensor of floats as 'y', got " + describe(value.getType()) + " for '" + y + "'");
  n.model.scope = inner.scope.parent;

  SmallVector<unsigned> wanted;
  SmallVector<Value> wrt;
  for (unsigned index = 0; index < xs.size(); ++index)
    if (n.wantsOutput(index)) {
      wanted.push_back(index);
      wrt.push_back(watched[index]);
    }
  if (wrt.empty())
    return;
  OperationState state(n.location, GradientOp::getOperationName());
  GradientOp::build(n.builder, state, value, wrt, Value(), /*zero_unreached=*/false);
  for (auto [index, result] : llvm::zip(wanted, n.finish(state)->getResults()))
    n.setOutput(index, result);
}

static constexpr OpTableEntry trainingTable[] = {
    {"Gradient", 1, newestTrainingOpset, importGradient},
};
const llvm::ArrayRef<OpTableEntry> trainingOps = trainingTable;

} // namespace vx::onnx
