// Ensembles of decision trees. Each row walks down all trees at once, a loop's round for each level, in tables of the
// nodes; a leaf leads to itself.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace vx::onnx {

namespace {

enum class Mode { leq, lt, gte, gt, eq, neq, member };

/// The tables of a TreeEnsemble. Place `nodes + l` of one is leaf l's.
class TreeEnsemble {
public:
  explicit TreeEnsemble(NodeImporter &n) : n(n) {}

  void import() {
    input = n.getTensor(0);
    elementType = elementOf(input);
    if (typeOf(input).getRank() != 2 || !isa<FloatType>(elementType))
      throwInvalid("expects rows of floats, got " + describe(input.getType()));
    readNodes();
    readLeaves();
    readMembers();
    int64_t depth = findDepth();
    Dims dims = vx::getDims(typeOf(input));
    rows = dims[0];
    places = {rows, n.dim(roots.size())};
    if (!features.empty())
      n.require(ConstraintKind::at_least, dims[1], n.dim(*llvm::max_element(features) + 1));
    flat = n.reshape(input, productOf(n.context, dims));
    Value start = n.broadcastInDim(emitTable(roots), places, {1});
    n.setOutput(0, transform(aggregate(walk(start, depth))));
  }

private:
  int64_t getNodes() const { return static_cast<int64_t>(modes.size()); }

  SmallVector<int64_t> readInts(StringRef name) {
    std::optional<SmallVector<int64_t>> values = n.getInts(name);
    if (!values)
      throwInvalid("expects attribute '" + name + "', got none");
    return *values;
  }

  /// A list of the nodes, each from `low` to `high`.
  SmallVector<int64_t> readNodeInts(StringRef name, int64_t low, int64_t high) {
    SmallVector<int64_t> values = readInts(name);
    if (static_cast<int64_t>(values.size()) != getNodes())
      throwInvalid("expects one of '" + name + "' for each of " + Twine(getNodes()) + " nodes, got " +
                   Twine(values.size()));
    for (int64_t value : values)
      if (value < low || value > high)
        throwInvalid("expects '" + name + "' from " + Twine(low) + " to " + Twine(high) + ", got " + Twine(value));
    return values;
  }

  DenseElementsAttr readFloats(StringRef name) {
    std::optional<DenseElementsAttr> values = n.getTensorAttribute(name);
    if (!values || values->getType().getRank() != 1 || values->getElementType() != elementType)
      throwInvalid("expects a list of the input's " + describe(elementType) + " as '" + name + "', got " +
                   (values ? describe(values->getType()) : "none"));
    return *values;
  }

  void readNodes() {
    std::optional<DenseElementsAttr> given = n.getTensorAttribute("nodes_modes");
    if (!given || !given->getElementType().isUnsignedInteger(8) || given->getType().getRank() != 1)
      throwInvalid("expects a list of u8 as 'nodes_modes', got " + (given ? describe(given->getType()) : "none"));
    if (given->getNumElements() > INT32_MAX)
      throwUnsupported("expects at most 2147483647 nodes, got " + Twine(given->getNumElements()));
    for (uint8_t mode : given->getValues<uint8_t>()) {
      if (mode > static_cast<uint8_t>(Mode::member))
        throwInvalid("expects 'nodes_modes' from 0 to 6, got " + Twine(static_cast<unsigned>(mode)));
      modes.push_back(static_cast<Mode>(mode));
    }
    features = readNodeInts("nodes_featureids", 0, INT32_MAX - 1);
    DenseElementsAttr values = readFloats("nodes_splits");
    if (values.getNumElements() != getNodes())
      throwInvalid("expects one of 'nodes_splits' for each of " + Twine(getNodes()) + " nodes, got " +
                   Twine(values.getNumElements()));
    splits = llvm::to_vector(values.getValues<APFloat>());
    missing.assign(getNodes(), 0);
    if (n.hasAttribute("nodes_missing_value_tracks_true"))
      missing = readNodeInts("nodes_missing_value_tracks_true", 0, 1);
    roots = readInts("tree_roots");
    for (int64_t root : roots)
      if (root < 0 || root >= getNodes())
        throwInvalid("expects 'tree_roots' from 0 to " + Twine(getNodes() - 1) + ", got " + Twine(root));
  }

  void readLeaves() {
    weights = readFloats("leaf_weights");
    targets = readInts("leaf_targetids");
    int64_t leaves = weights.getNumElements();
    if (static_cast<int64_t>(targets.size()) != leaves)
      throwInvalid("expects one of 'leaf_targetids' for each of " + Twine(leaves) + " leaves, got " +
                   Twine(targets.size()));
    if (leaves > INT32_MAX - getNodes())
      throwUnsupported("expects at most 2147483647 nodes and leaves, got " + Twine(leaves) + " leaves");
    count = n.getInt("n_targets");
    if (count < 1 || count > maxElements)
      throwInvalid("expects 'n_targets' from 1 to " + Twine(maxElements) + ", got " + Twine(count));
    for (int64_t target : targets)
      if (target < 0 || target >= count)
        throwInvalid("expects 'leaf_targetids' from 0 to " + Twine(count - 1) + ", got " + Twine(target));
    auto readBranch = [&](StringRef name, StringRef isLeaf, SmallVector<int64_t> &branch) {
      branch = readNodeInts(name, 0, std::max(getNodes(), leaves) - 1);
      for (auto [to, leaf] : llvm::zip(branch, readNodeInts(isLeaf, 0, 1))) {
        if (to >= (leaf ? leaves : getNodes()))
          throwInvalid("expects '" + name + "' below " + Twine(leaf ? leaves : getNodes()) + ", got " + Twine(to));
        to += leaf ? getNodes() : 0;
      }
      for (int64_t leaf = 0; leaf < leaves; ++leaf)
        branch.push_back(getNodes() + leaf);
    };
    readBranch("nodes_truenodeids", "nodes_trueleafs", whenTrue);
    readBranch("nodes_falsenodeids", "nodes_falseleafs", whenFalse);
    features.append(leaves, 0);
    missing.append(leaves, 0);
    splits.append(leaves, APFloat::getZero(cast<FloatType>(elementType).getFloatSemantics()));
  }

  /// The sets stand one behind the other, in the order of their nodes, with a NaN behind each or between them.
  void readMembers() {
    SmallVector<int64_t> withSets;
    for (auto [node, mode] : llvm::enumerate(modes))
      if (mode == Mode::member)
        withSets.push_back(node);
    size_t sets = 0;
    bool isOpen = false;
    if (n.hasAttribute("membership_values"))
      for (APFloat value : readFloats("membership_values").getValues<APFloat>()) {
        sets += !isOpen;
        isOpen = !value.isNaN();
        if (isOpen && sets <= withSets.size()) {
          members.push_back(value);
          owners.push_back(withSets[sets - 1]);
        }
      }
    if (sets != withSets.size())
      throwInvalid("expects a set in 'membership_values' for each of " + Twine(withSets.size()) +
                   " nodes with mode 6, got " + Twine(sets));
  }

  /// The number of nodes on the longest way from a root to a leaf. Walks without recursion: a file may hold a long way.
  int64_t findDepth() {
    enum : int64_t { unseen = -1, open = -2 };
    std::vector<int64_t> depths(getNodes(), unseen);
    auto depthOf = [&](int64_t node) { return node < getNodes() ? depths[node] : 0; };
    int64_t deepest = 0;
    SmallVector<int64_t> stack(roots);
    while (!stack.empty()) {
      int64_t node = stack.back();
      if (depths[node] >= 0) {
        stack.pop_back();
        continue;
      }
      int64_t next[] = {whenTrue[node], whenFalse[node]};
      bool isOpened = depths[node] == open;
      depths[node] = open;
      for (int64_t child : next) {
        if (depthOf(child) == open)
          throwInvalid("expects trees, but node " + Twine(child) + " leads to itself");
        if (depthOf(child) == unseen)
          stack.push_back(child);
      }
      if (stack.back() != node) {
        if (isOpened)
          throwInvalid("expects trees, but node " + Twine(node) + " leads to itself");
        continue;
      }
      depths[node] = 1 + std::max(depthOf(next[0]), depthOf(next[1]));
      deepest = std::max(deepest, depths[node]);
      stack.pop_back();
    }
    return deepest;
  }

  Value emitTable(ArrayRef<int64_t> values) {
    SmallVector<int32_t> narrow(values.begin(), values.end());
    auto type = RankedTensorType::get({int64_t(values.size())}, n.builder.getI32Type());
    return n.emitConstant(DenseElementsAttr::get(type, ArrayRef(narrow)));
  }
  Value emitTable(ArrayRef<APFloat> values) {
    return n.emitConstant(DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, elementType), values));
  }
  /// What a table has for each of `at`. The walk stays inside of the tables.
  Value look(Value table, Value at) { return n.emit<GatherOp>(table, at, 0, IntegerAttr(), /*in_range=*/true); }

  /// The leaf of each row and tree.
  Value walk(Value start, int64_t depth) {
    if (depth == 0)
      return start; // no trees
    Value tables[] = {emitTable(features), emitTable(ArrayRef<APFloat>(splits)), emitTable(whenTrue),
                      emitTable(whenFalse)};
    DimAttr iteration = n.model.declareSymbol("level", true);
    Value trips = n.emitDim(n.dim(depth), n.builder.getI64Type());
    Region body;
    {
      OpBuilder::InsertionGuard guard(n.builder);
      Block *block = n.builder.createBlock(&body, {}, start.getType(), n.location);
      Value at = block->getArgument(0);
      Value goes = isTrue(at, look(tables[0], at), look(tables[1], at));
      Value next = n.emit<SelectOp>(goes, look(tables[2], at), look(tables[3], at));
      YieldOp::create(n.builder, n.location, ValueRange{n.emitScalar(1, n.builder.getI1Type()), next});
    }
    OperationState state(n.location, LoopOp::getOperationName());
    LoopOp::build(n.builder, state, TypeRange(start.getType()), trips, Value(), start,
                  iteration.getSymbol().getValue());
    state.regions[0]->takeBody(body);
    Value nodes = n.broadcastInDim(n.emitScalar(getNodes(), n.builder.getI32Type()), places, {});
    return n.emit<SubOp>(n.finish(state)->getResult(0), nodes);
  }

  /// Whether the way from nodes `at` goes on by the true branch.
  Value isTrue(Value at, Value feature, Value split) {
    Type i64 = n.builder.getI64Type();
    RankedTensorType placesType = makeTensorType(places, i64);
    Value width = n.broadcastInDim(n.emitDim(vx::getDims(typeOf(input))[1], i64), places, {});
    Value place = n.emit<AddOp>(n.emit<MulOp>(n.emitAs<IotaOp>(placesType, 0), width), n.cast(feature, i64));
    Value value = look(flat, place), result;
    Value mode = llvm::all_equal(modes) ? Value() : look(emitModes(), at);
    for (Mode each : {Mode::leq, Mode::lt, Mode::gte, Mode::gt, Mode::eq, Mode::neq, Mode::member}) {
      if (!llvm::is_contained(modes, each))
        continue;
      Value holds = compare(each, at, value, split);
      if (result) {
        Value isEach = n.emit<CompareOp>(ComparePredicate::eq, mode, n.splatLike(static_cast<double>(each), mode));
        holds = n.emit<SelectOp>(isEach, holds, result);
      }
      result = holds;
    }
    if (llvm::is_contained(missing, 1)) {
      Value tracked = look(emitTable(missing), at);
      Value tracks = n.emit<CompareOp>(ComparePredicate::ne, tracked, n.splatLike(0, tracked));
      result = n.emit<OrOp>(result, n.emit<AndOp>(n.emit<IsNanOp>(value), tracks));
    }
    return result;
  }

  Value emitModes() {
    SmallVector<int64_t> values;
    for (Mode mode : modes)
      values.push_back(static_cast<int64_t>(mode));
    values.append(targets.size(), 0);
    return emitTable(values);
  }

  Value compare(Mode mode, Value at, Value value, Value split) {
    switch (mode) {
    case Mode::leq:
      return n.emit<CompareOp>(ComparePredicate::le, value, split);
    case Mode::lt:
      return n.emit<CompareOp>(ComparePredicate::lt, value, split);
    case Mode::gte:
      return n.emit<CompareOp>(ComparePredicate::ge, value, split);
    case Mode::gt:
      return n.emit<CompareOp>(ComparePredicate::gt, value, split);
    case Mode::eq:
      return n.emit<CompareOp>(ComparePredicate::eq, value, split);
    case Mode::neq:
      return n.emit<CompareOp>(ComparePredicate::ne, value, split);
    case Mode::member:
      break;
    }
    if (members.empty())
      return n.splat(0, makeTensorType(places, n.builder.getI1Type()));
    Dims pairs = places;
    pairs.push_back(n.dim(members.size()));
    auto pair = [&](Value each, Value member) {
      return n.emit<CompareOp>(ComparePredicate::eq, n.broadcastInDim(each, pairs, {0, 1}),
                               n.broadcastInDim(member, pairs, {2}));
    };
    Value isMember = n.emit<AndOp>(pair(at, emitTable(owners)), pair(value, emitTable(ArrayRef<APFloat>(members))));
    return n.reduce(ReduceKind::or_, isMember, 2);
  }

  /// The scores of each row and target of what the trees' leaves say.
  Value aggregate(Value leaves) {
    int64_t how = n.getInt("aggregate_function", 1);
    if (how < 0 || how > 3)
      throwInvalid("expects 'aggregate_function' from 0 to 3, got " + Twine(how));
    Dims pairs = {rows, n.dim(count), places[1]};
    if (roots.empty() || targets.empty())
      return n.splat(0, makeTensorType({rows, n.dim(count)}, elementType));
    Value weight = n.broadcastInDim(look(n.emitConstant(weights), leaves), pairs, {0, 2});
    Value target = n.broadcastInDim(look(emitTable(targets), leaves), pairs, {0, 2});
    Value isOwn = n.emit<CompareOp>(ComparePredicate::eq, target,
                                    n.emitAs<IotaOp>(makeTensorType(pairs, n.builder.getI32Type()), 1));
    // What no tree speaks of has the score that any other takes the place of.
    double greatest = APFloat::getLargest(cast<FloatType>(elementType).getFloatSemantics(), how == 3).convertToDouble();
    Value other = n.splatLike(how < 2 ? 0 : greatest, weight);
    Value scores = n.emit<SelectOp>(isOwn, weight, other);
    if (how >= 2)
      return n.reduce(how == 2 ? ReduceKind::min : ReduceKind::max, scores, 2);
    scores = n.reduce(ReduceKind::sum, n.widen(scores), 2);
    if (how == 0)
      scores = n.emit<DivOp>(scores, n.splatLike(roots.size(), scores));
    return n.cast(scores, elementType);
  }

  Value transform(Value scores) {
    switch (int64_t how = n.getInt("post_transform", 0)) {
    case 0:
      return scores;
    case 1:
      return n.emit<SoftmaxOp>(scores, 1, /*log=*/false);
    case 2:
      return n.cast(emitSigmoid(n, n.widen(scores)), elementType);
    case 3: { // of those that are not 0; the others stay
      Value zero = n.splatLike(0, scores), isZero = n.emit<CompareOp>(ComparePredicate::eq, scores, zero);
      Value none = n.splatLike(-std::numeric_limits<double>::infinity(), scores);
      Value shares = n.emit<SoftmaxOp>(n.emit<SelectOp>(isZero, none, scores), 1, /*log=*/false);
      return n.emit<SelectOp>(isZero, zero, shares);
    }
    case 4:
      throwUnsupported("expects 'post_transform' from 0 to 3, got 4 (PROBIT)");
    default:
      throwInvalid("expects 'post_transform' from 0 to 4, got " + Twine(how));
    }
  }

  NodeImporter &n;
  Value input, flat; // of [rows, features], and as a list
  Type elementType;
  DimAttr rows;
  Dims places; // [rows, trees]
  SmallVector<Mode> modes;
  SmallVector<int64_t> features, missing, roots, whenTrue, whenFalse, targets, owners;
  SmallVector<APFloat> splits, members;
  DenseElementsAttr weights;
  int64_t count = 0;
};

} // namespace

static void importTreeEnsemble(NodeImporter &n) { TreeEnsemble(n).import(); }

static constexpr OpTableEntry treesTable[] = {
    {"TreeEnsemble", 5, newestMlOpset, importTreeEnsemble},
};
const llvm::ArrayRef<OpTableEntry> treesOps = treesTable;

} // namespace vx::onnx
