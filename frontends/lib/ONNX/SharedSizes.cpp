#include "SharedSizes.h"

#include "NodeOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// Follows from which inputs values are computed.
class Grouping {
public:
  explicit Grouping(const GraphProto &graph) : graph(graph), count(graph.input_size()), classes(count), isRead(count) {
    llvm::StringSet<> initialized;
    for (const TensorProto &tensor : graph.initializer())
      initialized.insert(tensor.name());
    for (int index = 0; index < static_cast<int>(count); ++index) {
      if (initialized.contains(graph.input(index).name()))
        continue;
      llvm::BitVector self(count);
      self.set(index);
      sources.try_emplace(graph.input(index).name(), std::move(self));
    }
  }

  SmallVector<unsigned> run() {
    // Nodes that are out of order are looked through once more for each step that is against the order.
    for (unsigned round = 0; hasChanged && round < mostRounds; ++round) {
      hasChanged = false;
      for (const NodeProto &node : graph.node())
        visit(node);
    }
    if (hasChanged)
      return SmallVector<unsigned>(count, 0);
    for (const ValueInfoProto &output : graph.output())
      if (auto found = sources.find(output.name()); found != sources.end())
        isRead |= found->second;
    return number();
  }

private:
  static constexpr unsigned mostRounds = 8;

  void visit(const NodeProto &node) {
    ReadNames reads;
    collectReads(node, reads);
    llvm::BitVector all(count);
    const bool isIf = node.op_type() == "If" && normalizeDomain(node.domain()).empty();
    unsigned operands = 0;
    for (StringRef name : reads) {
      auto found = sources.find(name);
      if (found == sources.end() || found->second.none())
        continue;
      ++operands;
      all |= found->second;
    }
    isRead |= all;
    if (operands > 1 && !isIf && !joinsNamedAxis(node, all))
      for (int index : all.set_bits())
        classes.join(all.find_first(), index);
    for (const std::string &output : node.output()) {
      llvm::BitVector &known = sources.try_emplace(output, llvm::BitVector(count)).first->second;
      const llvm::BitVector before = known;
      known |= all;
      hasChanged |= known != before;
    }
  }

  /// True for a Concat along an axis of which two inputs have one name, which need not be equal there.
  bool joinsNamedAxis(const NodeProto &node, const llvm::BitVector &inputs) const {
    if (node.op_type() != "Concat" || !normalizeDomain(node.domain()).empty())
      return false;
    int64_t axis = 1;
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.name() == "axis")
        axis = attribute.i();
    llvm::StringSet<> names;
    for (int index : inputs.set_bits()) {
      const auto &dims = graph.input(index).type().tensor_type().shape().dim();
      const int64_t place = axis < 0 ? axis + dims.size() : axis;
      if (place >= 0 && place < dims.size() && hasName(dims[place]) && !names.insert(dims[place].dim_param()).second)
        return true;
    }
    return false;
  }

  /// Numbers the groups by their sizes, and behind them each input that nothing reads.
  SmallVector<unsigned> number() {
    classes.compress();
    SmallVector<unsigned> sizes(classes.getNumClasses(), 0);
    for (unsigned index = 0; index < count; ++index)
      sizes[classes[index]] += isRead[index];
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, sizes.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });
    SmallVector<unsigned> places(sizes.size());
    for (auto [place, group] : llvm::enumerate(order))
      places[group] = place;
    SmallVector<unsigned> groups(count);
    for (unsigned index = 0; index < count; ++index)
      groups[index] = isRead[index] ? places[classes[index]] : sizes.size() + index;
    return groups;
  }

  const GraphProto &graph;
  const unsigned count;
  llvm::IntEqClasses classes;
  llvm::BitVector isRead;
  llvm::StringMap<llvm::BitVector> sources;
  bool hasChanged = true;
};

/// The dimensions of an input that the node may compare with those of others.
Dims getComparedDims(NodeImporter &n, const Entry &entry) {
  auto type = dyn_cast<RankedTensorType>(entry.type);
  if (!type || entry.leastRank)
    return {};
  Dims dims = vx::getDims(type);
  if (n.proto.op_type() == "Concat" && !dims.empty())
    dims.erase(dims.begin() + n.getAxis("axis", 1, dims.size()));
  return dims;
}

} // namespace

SmallVector<unsigned> groupInputs(const GraphProto &graph) {
  llvm::StringMap<int> names;
  bool areShared = false;
  for (auto [index, input] : llvm::enumerate(graph.input()))
    for (const TensorShapeProto::Dimension &dim : input.type().tensor_type().shape().dim())
      if (hasName(dim))
        areShared |= names.try_emplace(dim.dim_param(), index).first->second != static_cast<int>(index);
  return areShared ? Grouping(graph).run() : SmallVector<unsigned>(graph.input_size(), 0);
}

void joinSharedSizes(NodeImporter &n) {
  const llvm::StringMap<std::string> &namesakes = n.model.namesakes;
  if (namesakes.empty() || n.getNumInputs() < 2)
    return;
  llvm::MapVector<StringRef, SetVector<StringAttr>> seen;
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    if (!n.hasInput(index))
      continue;
    const Entry &entry = n.getEntry(index);
    SetVector<StringAttr> symbols;
    for (DimAttr dim : getComparedDims(n, entry))
      dim.collectSymbols(symbols);
    if (entry.contents && n.proto.op_type() != "Concat")
      for (DimAttr dim : *entry.contents)
        dim.collectSymbols(symbols);
    for (StringAttr symbol : symbols)
      if (auto name = namesakes.find(symbol.getValue()); name != namesakes.end())
        seen[name->second].insert(symbol);
  }
  llvm::DenseMap<StringAttr, DimAttr> joined;
  for (auto &[name, symbols] : seen)
    for (StringAttr symbol : ArrayRef(symbols.getArrayRef()).drop_front()) {
      DimAttr first = DimAttr::symbolNamed(n.context, symbols.front().getValue());
      n.require(ConstraintKind::equal, DimAttr::symbolNamed(n.context, symbol.getValue()), first);
      joined[symbol] = first;
    }
  if (joined.empty())
    return;
  auto replace = [&](ArrayRef<DimAttr> dims) {
    Dims result;
    for (DimAttr dim : dims)
      result.push_back(dim.substitute([&](StringAttr symbol) { return joined.lookup(symbol); }));
    return result;
  };
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    if (!n.hasInput(index))
      continue;
    const Entry &entry = n.getEntry(index);
    auto type = dyn_cast<RankedTensorType>(entry.type);
    if (!type || entry.leastRank || entry.constant)
      continue;
    Entry one = entry;
    if (entry.contents)
      one.contents = replace(*entry.contents);
    if (Dims dims = replace(vx::getDims(type)); dims != vx::getDims(type)) {
      one.value = n.reshape(n.getInput(index), dims);
      one.type = one.value.getType();
    } else if (one.contents == entry.contents) {
      continue;
    }
    one.block = n.builder.getInsertionBlock();
    n.model.scope->entries.insert_or_assign(n.proto.input(index), std::move(one));
  }
}

} // namespace vx::onnx
