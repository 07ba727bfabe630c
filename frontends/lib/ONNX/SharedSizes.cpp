#include "SharedSizes.h"

#include "NodeOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// The comparison of the sizes of a node's inputs.
enum class Comparison {
  /// No comparison: the sizes of the result are those of each input.
  None,
  /// By the axis, counted from the last one.
  Broadcast,
  /// As Broadcast, but for the rows of the first factor and the columns of the second one.
  Product,
  /// By the axis, but for the one along which the node concatenates.
  Concat,
  /// Any size with any other.
  Any,
};

const AttributeProto *findAttribute(const NodeProto &node, StringRef name) {
  for (const AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// The sizes of its inputs that a node compares.
class ComparedPlaces {
public:
  /// Keys of the sizes that a product sums over, and of sizes that are compared with any other.
  static constexpr int64_t summed = 1 << 20, any = summed + 1;

  explicit ComparedPlaces(const NodeProto &node) : kind(getKind(node)) {
    auto getNumber = [&](StringRef name, int64_t otherwise) {
      const AttributeProto *attribute = findAttribute(node, name);
      return attribute ? attribute->i() : otherwise;
    };
    concatAxis = getNumber("axis", 1);
    isTransposed = {node.op_type() == "Gemm" && getNumber("transA", 0) != 0,
                    node.op_type() == "Gemm" && getNumber("transB", 0) != 0};
  }

  /// Returns the key by which an input's axis is compared with axes of other inputs; nullopt if it is not compared.
  std::optional<int64_t> find(unsigned input, int64_t axis, int64_t rank) const {
    const int64_t fromLast = axis - rank;
    switch (kind) {
    case Comparison::None:
      return std::nullopt;
    case Comparison::Any:
      return any;
    case Comparison::Concat:
      return axis == getConcatAxis(rank) ? std::nullopt : std::optional(fromLast);
    case Comparison::Broadcast:
      return fromLast;
    case Comparison::Product:
      if (input >= 2 || fromLast < -2)
        return fromLast;
      if (rank == 1)
        return summed;
      const bool isLast = fromLast == -1, sumsLast = (input == 0) != isTransposed[input];
      return isLast == sumsLast ? summed : input == 0 ? -2 : -1;
    }
    llvm_unreachable("each comparison is handled");
  }

  int64_t getConcatAxis(int64_t rank) const { return concatAxis < 0 ? concatAxis + rank : concatAxis; }

  Comparison kind;

private:
  static Comparison getKind(const NodeProto &node) {
    // With 'broadcast', as before opset 7, axes are not counted from the last one.
    if (!normalizeDomain(node.domain()).empty() || findAttribute(node, "broadcast"))
      return Comparison::Any;
    return llvm::StringSwitch<Comparison>(node.op_type())
        .Cases({"Gather", "Shape", "Size"}, Comparison::None)
        .Cases({"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Mean", "Sum", "Where"}, Comparison::Broadcast)
        .Cases({"And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"}, Comparison::Broadcast)
        .Cases({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}, Comparison::Broadcast)
        .Cases({"MatMul", "Gemm"}, Comparison::Product)
        .Case("Concat", Comparison::Concat)
        .Default(Comparison::Any);
  }

  int64_t concatAxis;
  std::array<bool, 2> isTransposed;
};

/// A named dimension of an input of the graph, by its number; null without a name.
struct NamedDim {
  unsigned number = 0;
  StringRef name;
};

using NamedDims = SmallVector<NamedDim, 4>;

/// Tracks the inputs that values are computed from, and the sizes of inputs that values have.
class Grouping {
public:
  explicit Grouping(const GraphProto &graph) : graph(graph), count(graph.input_size()), isRead(count) {
    for (const ValueInfoProto &input : graph.input())
      inputDims.push_back(numberDims(input));
    classes.grow(dimCount);
    llvm::StringSet<> initialized;
    for (const TensorProto &tensor : graph.initializer())
      initialized.insert(tensor.name());
    for (unsigned index = 0; index < count; ++index) {
      if (initialized.contains(graph.input(index).name()))
        continue;
      llvm::BitVector self(count);
      self.set(index);
      sources.try_emplace(graph.input(index).name(), std::move(self));
      dims.try_emplace(graph.input(index).name(), inputDims[index]);
    }
  }

  SizeGroups run() {
    // Nodes out of order need one more pass for each step against the order.
    for (unsigned round = 0; hasChanged && round < mostRounds; ++round) {
      hasChanged = false;
      for (const NodeProto &node : graph.node())
        visit(node);
    }
    if (hasChanged)
      return SizeGroups(count);
    for (const ValueInfoProto &output : graph.output())
      if (auto found = sources.find(output.name()); found != sources.end())
        isRead |= found->second;
    return number();
  }

private:
  static constexpr unsigned mostRounds = 8;

  /// Equal names of one input are one dimension.
  NamedDims numberDims(const ValueInfoProto &input) {
    NamedDims result;
    llvm::StringMap<unsigned> numbers;
    for (const TensorShapeProto::Dimension &dim : input.type().tensor_type().shape().dim()) {
      if (!hasName(dim)) {
        result.emplace_back();
        continue;
      }
      auto [known, isNew] = numbers.try_emplace(dim.dim_param(), dimCount);
      dimCount += isNew;
      result.push_back({known->second, dim.dim_param()});
    }
    return result;
  }

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
    if (operands > 1 && !isIf)
      join(node, all);
    for (const std::string &output : node.output()) {
      llvm::BitVector &known = sources.try_emplace(output, llvm::BitVector(count)).first->second;
      const llvm::BitVector before = known;
      known |= all;
      hasChanged |= known != before;
    }
    followDims(node);
  }

  /// Merges the groups of sizes of one name that the node compares. If these are not known, merges all sizes of one
  /// name of `inputs`.
  void join(const NodeProto &node, const llvm::BitVector &inputs) {
    const ComparedPlaces places(node);
    if (places.kind == Comparison::None || (places.kind == Comparison::Concat && concatenatesOneName(node, places)))
      return;
    const bool isKnown = places.kind != Comparison::Any && llvm::all_of(node.input(), [&](const std::string &operand) {
                           return !hasSources(operand) || dims.contains(operand);
                         });
    llvm::DenseMap<std::pair<int64_t, StringRef>, unsigned> first;
    auto joinAt = [&](int64_t place, const NamedDim &dim) {
      if (!dim.name.empty())
        classes.join(first.try_emplace({place, dim.name}, dim.number).first->second, dim.number);
    };
    if (!isKnown) {
      for (int index : inputs.set_bits())
        for (const NamedDim &dim : inputDims[index])
          joinAt(ComparedPlaces::any, dim);
      return;
    }
    for (auto [operand, name] : llvm::enumerate(node.input())) {
      const NamedDims named = dims.lookup(name);
      for (auto [axis, dim] : llvm::enumerate(named))
        if (auto place = places.find(operand, axis, named.size()))
          joinAt(*place, dim);
    }
  }

  bool hasSources(StringRef value) const {
    auto found = sources.find(value);
    return found != sources.end() && found->second.any();
  }

  /// Returns true if two operands of a Concat have one name along its axis. If an operand's dimensions are not known,
  /// those of the inputs that it is computed from count.
  bool concatenatesOneName(const NodeProto &node, const ComparedPlaces &places) const {
    llvm::StringSet<> names;
    for (const std::string &operand : node.input()) {
      llvm::StringSet<> own;
      auto add = [&](const NamedDims &named) {
        const int64_t axis = places.getConcatAxis(named.size());
        if (axis >= 0 && axis < static_cast<int64_t>(named.size()) && !named[axis].name.empty())
          own.insert(named[axis].name);
      };
      if (auto known = dims.find(operand); known != dims.end())
        add(known->second);
      else if (auto from = sources.find(operand); from != sources.end())
        for (int index : from->second.set_bits())
          add(inputDims[index]);
      for (const auto &name : own)
        if (!names.insert(name.getKey()).second)
          return true;
    }
    return false;
  }

  /// Records the dimensions that the node's first result has from its operands.
  void followDims(const NodeProto &node) {
    if (node.output_size() == 0)
      return;
    if (std::optional<NamedDims> result = getResultDims(node))
      dims.insert_or_assign(node.output(0), std::move(*result));
  }

  std::optional<NamedDims> getResultDims(const NodeProto &node) const {
    if (node.input_size() == 0 || !normalizeDomain(node.domain()).empty())
      return std::nullopt;
    SmallVector<NamedDims> operands;
    for (const std::string &operand : node.input()) {
      auto known = dims.find(operand);
      if (known != dims.end())
        operands.push_back(known->second);
      else if (hasSources(operand))
        return std::nullopt;
    }
    const StringRef type = node.op_type();
    if (type == "Shape" || type == "Size")
      return NamedDims(type == "Shape");
    if (operands.empty() || !dims.contains(node.input(0)))
      return std::nullopt;
    const NamedDims &first = operands.front();
    if (llvm::is_contained({"Identity", "Cast", "Neg", "Abs", "Relu", "Tanh", "Sigmoid", "Exp", "Sqrt", "Softmax"},
                           type))
      return first;
    if (type == "Transpose")
      return transpose(first, findAttribute(node, "perm"));
    if (type == "MatMul" && operands.size() == 2 && first.size() == 2 && operands[1].size() == 2)
      return NamedDims{first[0], operands[1][1]};
    return std::nullopt;
  }

  static NamedDims transpose(const NamedDims &named, const AttributeProto *order) {
    NamedDims result(named.rbegin(), named.rend());
    if (order && order->ints_size() == static_cast<int>(named.size()))
      for (auto [place, from] : llvm::enumerate(order->ints()))
        if (from >= 0 && from < static_cast<int64_t>(named.size()))
          result[place] = named[from];
    return result;
  }

  /// Numbers the groups of each name by their count of inputs. Inputs that nothing reads get the last numbers.
  SizeGroups number() {
    classes.compress();
    SmallVector<unsigned> sizes(classes.getNumClasses(), 0);
    llvm::StringMap<SetVector<unsigned>> ofName;
    for (unsigned index = 0; index < count; ++index)
      for (const NamedDim &dim : inputDims[index])
        if (isRead[index] && !dim.name.empty()) {
          ++sizes[classes[dim.number]];
          ofName[dim.name].insert(classes[dim.number]);
        }
    SmallVector<unsigned> places(sizes.size());
    for (const auto &entry : ofName) {
      SmallVector<unsigned> order(entry.second.begin(), entry.second.end());
      llvm::sort(order, [&](unsigned a, unsigned b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });
      for (auto [place, group] : llvm::enumerate(order))
        places[group] = place;
    }
    SizeGroups groups(count);
    for (unsigned index = 0; index < count; ++index)
      for (const NamedDim &dim : inputDims[index])
        if (!dim.name.empty())
          groups[index][dim.name] = isRead[index] ? places[classes[dim.number]] : sizes.size() + index;
    return groups;
  }

  const GraphProto &graph;
  const unsigned count;
  unsigned dimCount = 0;
  SmallVector<NamedDims> inputDims;
  llvm::IntEqClasses classes;
  llvm::BitVector isRead;
  llvm::StringMap<llvm::BitVector> sources;
  llvm::StringMap<NamedDims> dims;
  bool hasChanged = true;
};

/// A dimension of an input, and the key by which the node compares it with dimensions of other inputs.
struct ComparedDim {
  DimAttr dim;
  int64_t place;
};

SmallVector<ComparedDim> getComparedDims(NodeImporter &n, unsigned index, const Entry &entry) {
  SmallVector<ComparedDim> result;
  const ComparedPlaces places(n.proto);
  if (auto type = dyn_cast<RankedTensorType>(entry.type); type && !entry.leastRank) {
    const Dims dims = vx::getDims(type);
    for (auto [axis, dim] : llvm::enumerate(dims))
      if (auto place = places.find(index, axis, dims.size()))
        result.push_back({dim, *place});
  }
  // Sums and lists of sizes need no sizes to be equal.
  const bool computesSizes = normalizeDomain(n.proto.domain()).empty() &&
                             llvm::is_contained({"Concat", "Gather", "Add", "Sub", "Mul", "Div"}, n.proto.op_type());
  if (entry.contents && !computesSizes)
    for (DimAttr dim : *entry.contents)
      result.push_back({dim, ComparedPlaces::any});
  return result;
}

} // namespace

SizeGroups groupSizes(const GraphProto &graph) {
  llvm::StringMap<int> names;
  bool areShared = false;
  for (auto [index, input] : llvm::enumerate(graph.input()))
    for (const TensorShapeProto::Dimension &dim : input.type().tensor_type().shape().dim())
      if (hasName(dim))
        areShared |= names.try_emplace(dim.dim_param(), index).first->second != static_cast<int>(index);
  return areShared ? Grouping(graph).run() : SizeGroups(graph.input_size());
}

void joinSharedSizes(NodeImporter &n) {
  const llvm::StringMap<std::string> &namesakes = n.model.namesakes;
  if (namesakes.empty() || n.getNumInputs() < 2)
    return;
  // The symbols of each input, by name and key. A size that only one input has there is not compared.
  struct Symbols {
    SetVector<StringAttr> all;
    llvm::SmallDenseSet<unsigned> inputs;
  };
  llvm::MapVector<std::pair<StringRef, int64_t>, Symbols> seen;
  for (unsigned index = 0; index < n.getNumInputs(); ++index) {
    if (!n.hasInput(index))
      continue;
    for (const ComparedDim &compared : getComparedDims(n, index, n.getEntry(index))) {
      SetVector<StringAttr> symbols;
      compared.dim.collectSymbols(symbols);
      for (StringAttr symbol : symbols)
        if (auto name = namesakes.find(symbol.getValue()); name != namesakes.end()) {
          Symbols &place = seen[{name->second, compared.place}];
          place.all.insert(symbol);
          place.inputs.insert(index);
        }
    }
  }
  llvm::EquivalenceClasses<StringAttr> equal;
  llvm::DenseMap<StringAttr, DimAttr> joined;
  for (auto &[place, symbols] : seen)
    if (symbols.inputs.size() > 1)
      for (StringAttr symbol : ArrayRef(symbols.all.getArrayRef()).drop_front()) {
        const StringAttr first = symbols.all.front();
        if (equal.isEquivalent(first, symbol))
          continue;
        equal.unionSets(first, symbol);
        n.require(ConstraintKind::equal, DimAttr::symbolNamed(n.context, symbol.getValue()),
                  DimAttr::symbolNamed(n.context, first.getValue()));
      }
  for (auto &[place, symbols] : seen)
    for (StringAttr symbol : symbols.all)
      if (auto leader = equal.findLeader(symbol); leader != equal.member_end() && *leader != symbol)
        joined[symbol] = DimAttr::symbolNamed(n.context, leader->getValue());
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
