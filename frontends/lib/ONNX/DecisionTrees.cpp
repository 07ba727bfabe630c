#include "DecisionTrees.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace vx::onnx {

namespace {

class TreeWalk {
public:
  TreeWalk(NodeImporter &n, Value rows, DecisionTrees trees)
      : n(n), trees(std::move(trees)), elementType(elementOf(rows)), dims(vx::getDims(typeOf(rows))) {
    places = {dims[0], n.dim(this->trees.roots.size())};
    flat = n.reshape(rows, productOf(n.context, dims));
  }

  TreeScores score(TreeAggregate how, double unspoken) {
    int64_t depth = findDepth();
    if (trees.getNodes() > 0)
      n.require(ConstraintKind::at_least, dims[1], n.dim(*llvm::max_element(trees.features) + 1));
    if (trees.roots.empty() || trees.votedTargets.empty()) {
      RankedTensorType type = makeTensorType({dims[0], n.dim(trees.targets)}, elementType);
      return {n.splat(how == TreeAggregate::min || how == TreeAggregate::max ? unspoken : 0, type),
              n.splat(0, makeTensorType(vx::getDims(type), n.builder.getI1Type()))};
    }
    return aggregate(walk(depth), how, unspoken);
  }

private:
  /// The number of nodes on the longest way from a root to a leaf. Walks without recursion: a file may hold a long way.
  int64_t findDepth() {
    enum : int64_t { unseen = -1, open = -2 };
    std::vector<int64_t> depths(trees.getNodes(), unseen);
    auto depthOf = [&](int64_t node) { return node < trees.getNodes() ? depths[node] : 0; };
    int64_t deepest = 0;
    SmallVector<int64_t> stack;
    llvm::copy_if(trees.roots, std::back_inserter(stack), [&](int64_t root) { return root < trees.getNodes(); });
    while (!stack.empty()) {
      int64_t node = stack.back();
      if (depths[node] >= 0) {
        stack.pop_back();
        continue;
      }
      int64_t next[] = {trees.whenTrue[node], trees.whenFalse[node]};
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
  /// The table of the nodes, followed by the same value for each leaf.
  template <typename T>
  Value emitPlaces(ArrayRef<T> values, const T &ofLeaves) {
    SmallVector<T> all(values);
    all.append(trees.leaves, ofLeaves);
    return emitTable(ArrayRef<T>(all));
  }
  Value emitWays(ArrayRef<int64_t> ways) {
    SmallVector<int64_t> all(ways);
    llvm::append_range(all, llvm::seq<int64_t>(trees.getNodes(), trees.getNodes() + trees.leaves));
    return emitTable(ArrayRef<int64_t>(all));
  }
  /// Looks up each of `at` in a table. The indices stay inside of the tables.
  Value look(Value table, Value at) { return n.emit<GatherOp>(table, at, 0, IntegerAttr(), /*in_range=*/true); }

  /// The leaf of each row and tree.
  Value walk(int64_t depth) {
    Value start = n.broadcastInDim(emitTable(ArrayRef<int64_t>(trees.roots)), places, {1});
    Value nodes = n.broadcastInDim(n.emitScalar(trees.getNodes(), n.builder.getI32Type()), places, {});
    if (depth == 0)
      return n.emit<SubOp>(start, nodes);
    APFloat none = APFloat::getZero(cast<FloatType>(elementType).getFloatSemantics());
    Value tables[] = {emitPlaces<int64_t>(trees.features, 0), emitPlaces<APFloat>(trees.splits, none),
                      emitWays(trees.whenTrue), emitWays(trees.whenFalse)};
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
    return n.emit<SubOp>(n.finish(state)->getResult(0), nodes);
  }

  /// Returns whether nodes `at` take the true branch.
  Value isTrue(Value at, Value feature, Value split) {
    Type i64 = n.builder.getI64Type();
    RankedTensorType placesType = makeTensorType(places, i64);
    Value width = n.broadcastInDim(n.emitDim(dims[1], i64), places, {});
    Value place = n.emit<AddOp>(n.emit<MulOp>(n.emitAs<IotaOp>(placesType, 0), width), n.cast(feature, i64));
    Value value = look(flat, place), result;
    SmallVector<int64_t> numbers;
    for (BranchMode mode : trees.modes)
      numbers.push_back(static_cast<int64_t>(mode));
    Value mode = llvm::all_equal(trees.modes) ? Value() : look(emitPlaces<int64_t>(numbers, 0), at);
    for (BranchMode each : {BranchMode::leq, BranchMode::lt, BranchMode::gte, BranchMode::gt, BranchMode::eq,
                            BranchMode::neq, BranchMode::member}) {
      if (!llvm::is_contained(trees.modes, each))
        continue;
      Value holds = compare(each, at, value, split);
      if (result) {
        Value isEach = n.emit<CompareOp>(ComparePredicate::eq, mode, n.splatLike(static_cast<double>(each), mode));
        holds = n.emit<SelectOp>(isEach, holds, result);
      }
      result = holds;
    }
    if (llvm::is_contained(trees.missing, 1)) {
      Value tracked = look(emitPlaces<int64_t>(trees.missing, 0), at);
      Value tracks = n.emit<CompareOp>(ComparePredicate::ne, tracked, n.splatLike(0, tracked));
      result = n.emit<OrOp>(result, n.emit<AndOp>(n.emit<IsNanOp>(value), tracks));
    }
    return result;
  }

  Value compare(BranchMode mode, Value at, Value value, Value split) {
    switch (mode) {
    case BranchMode::leq:
      return n.emit<CompareOp>(ComparePredicate::le, value, split);
    case BranchMode::lt:
      return n.emit<CompareOp>(ComparePredicate::lt, value, split);
    case BranchMode::gte:
      return n.emit<CompareOp>(ComparePredicate::ge, value, split);
    case BranchMode::gt:
      return n.emit<CompareOp>(ComparePredicate::gt, value, split);
    case BranchMode::eq:
      return n.emit<CompareOp>(ComparePredicate::eq, value, split);
    case BranchMode::neq:
      return n.emit<CompareOp>(ComparePredicate::ne, value, split);
    case BranchMode::member:
      break;
    }
    if (trees.members.empty())
      return n.splat(0, makeTensorType(places, n.builder.getI1Type()));
    Dims pairs = places;
    pairs.push_back(n.dim(trees.members.size()));
    auto pair = [&](Value each, Value member) {
      return n.emit<CompareOp>(ComparePredicate::eq, n.broadcastInDim(each, pairs, {0, 1}),
                               n.broadcastInDim(member, pairs, {2}));
    };
    Value isMember = n.emit<AndOp>(pair(at, emitTable(ArrayRef<int64_t>(trees.owners))),
                                   pair(value, emitTable(ArrayRef<APFloat>(trees.members))));
    return n.reduce(ReduceKind::or_, isMember, 2);
  }

  /// Aggregates the votes of the leaves at [rows, trees]. In the tables each leaf has a row with as many votes as the
  /// leaf with the most.
  TreeScores aggregate(Value leaves, TreeAggregate how, double unspoken) {
    SmallVector<int64_t> votes(trees.leaves, 0);
    for (int64_t leaf : trees.votingLeaves)
      ++votes[leaf];
    int64_t most = *llvm::max_element(votes), all = trees.votingLeaves.size();
    if (most > 1 && trees.leaves > (64 * all + (1 << 20)) / most)
      throwUnsupported(Advice::SplitModel, "expects leaves of about as many votes, got one of " + Twine(most) +
                                               " among " + Twine(all) + " votes of " + Twine(trees.leaves) + " leaves");
    APFloat none = APFloat::getZero(cast<FloatType>(elementType).getFloatSemantics());
    SmallVector<APFloat> weights(trees.leaves * most, none);
    SmallVector<int64_t> targets(trees.leaves * most, -1), used(trees.leaves, 0);
    // Where each leaf speaks of each target once and in their order, the row of its weights is that of its scores.
    bool isWhole = most == trees.targets && all == trees.leaves * most;
    for (auto [leaf, target, weight] : llvm::zip(trees.votingLeaves, trees.votedTargets, trees.weights)) {
      isWhole &= target == used[leaf];
      int64_t at = leaf * most + used[leaf]++;
      weights[at] = weight;
      targets[at] = target;
    }
    auto lookUp = [&](Value table) {
      return look(most == 1 ? table : n.reshape(table, {n.dim(trees.leaves), n.dim(most)}), leaves);
    };
    Value weight = lookUp(emitTable(ArrayRef<APFloat>(weights)));
    if (isWhole && most > 1) // [rows, trees, targets]
      return {reduce(weight, how, 1), Value()};
    DimAttr voters = mulDims(places[1], n.dim(most));
    Dims pairs = {dims[0], n.dim(trees.targets), voters};
    auto spread = [&](Value each) { return n.broadcastInDim(n.reshape(each, {dims[0], voters}), pairs, {0, 2}); };
    Value target = spread(lookUp(emitTable(ArrayRef<int64_t>(targets))));
    Value isOwn = n.emit<CompareOp>(ComparePredicate::eq, target,
                                    n.emitAs<IotaOp>(makeTensorType(pairs, n.builder.getI32Type()), 1));
    // A target without votes has the identity of the aggregation as its score at first.
    bool isSum = how == TreeAggregate::average || how == TreeAggregate::sum;
    APFloat greatest = APFloat::getLargest(none.getSemantics(), how == TreeAggregate::max);
    Value spoken = spread(weight), other = n.splatLike(isSum ? 0 : greatest.convertToDouble(), spoken);
    Value scores = reduce(n.emit<SelectOp>(isOwn, spoken, other), how, 2);
    Value areGiven = isWhole ? Value() : n.reduce(ReduceKind::or_, isOwn, 2);
    if (!isSum && areGiven && unspoken != greatest.convertToDouble())
      scores = n.emit<SelectOp>(areGiven, scores, n.splatLike(unspoken, scores));
    return {scores, areGiven};
  }

  Value reduce(Value weights, TreeAggregate how, int64_t axis) {
    if (how == TreeAggregate::min || how == TreeAggregate::max)
      return n.reduce(how == TreeAggregate::min ? ReduceKind::min : ReduceKind::max, weights, axis);
    Value sum = n.reduce(ReduceKind::sum, n.widen(weights), axis);
    return how == TreeAggregate::sum ? sum : n.emit<DivOp>(sum, n.splatLike(trees.roots.size(), sum));
  }

  NodeImporter &n;
  DecisionTrees trees;
  Type elementType;
  Dims dims, places; // [rows, features], [rows, trees]
  Value flat;        // the features as a list
};

} // namespace

TreeScores scoreByTrees(NodeImporter &n, Value rows, DecisionTrees trees, TreeAggregate how, double unspoken) {
  return TreeWalk(n, rows, std::move(trees)).score(how, unspoken);
}

SmallVector<int64_t> readList(NodeImporter &n, StringRef name) {
  std::optional<SmallVector<int64_t>> values = n.getInts(name);
  if (!values)
    throwInvalid("expects attribute '" + name + "', got none");
  return *values;
}

} // namespace vx::onnx
