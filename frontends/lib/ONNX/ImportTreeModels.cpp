// TreeEnsembleClassifier and TreeEnsembleRegressor: trees with explicit ids of nodes and leaves.
#include "DecisionTrees.h"
#include "OpFunctions.h"
#include "Scores.h"

#include "llvm/ADT/StringSwitch.h"
#include <map>
#include <set>

using namespace mlir;

namespace vx::onnx {

namespace {

class TreeModel {
public:
  /// `votes` is the prefix of the names of votes.
  TreeModel(NodeImporter &n, StringRef votes, StringRef targets) : n(n), votes(votes), targets(targets) {
    rows = getFloatRows(n);
    hasTensors = n.hasAttribute("nodes_values_as_tensor") || n.hasAttribute((votes + "_weights_as_tensor").str()) ||
                 n.hasAttribute("base_values_as_tensor");
    if (hasTensors) // of f64, in which all is compared and summed then
      rows = n.cast(rows, n.builder.getF64Type());
    elementType = elementOf(rows);
  }

  /// Reads the trees of so many targets.
  void read(int64_t count) {
    if (count < 1 || count > INT32_MAX)
      throwInvalid("expects from 1 to 2147483647 targets, got " + Twine(count));
    trees.targets = count;
    readNodes();
    readVotes();
    base = readFloats("base_values");
  }

  TreeScores score(TreeAggregate how) {
    TreeScores result = scoreByTrees(n, rows, trees, how, /*unspoken=*/0);
    result.scores = n.cast(result.scores, elementType);
    return result;
  }
  /// Adds those of the base values that are given, from the first score on.
  Value addBase(Value scores) {
    if (base.empty())
      return scores;
    SmallVector<APFloat> all(base);
    all.resize(trees.targets, APFloat::getZero(base[0].getSemantics()));
    auto type = RankedTensorType::get({trees.targets}, elementType);
    Value list = n.emitConstant(DenseElementsAttr::get(type, ArrayRef<APFloat>(all)));
    return n.emit<AddOp>(scores, n.broadcastInDim(list, vx::getDims(typeOf(scores)), {1}));
  }

  NodeImporter &n;
  Value rows;
  Type elementType;
  DecisionTrees trees;
  SmallVector<APFloat> base;

private:
  SmallVector<APFloat> readFloats(const Twine &name) {
    std::string plain = name.str(), tensor = plain + "_as_tensor";
    SmallVector<APFloat> values;
    const llvm::fltSemantics &semantics = cast<FloatType>(elementType).getFloatSemantics();
    if (std::optional<DenseElementsAttr> given = n.getTensorAttribute(tensor)) {
      if (n.hasAttribute(plain))
        throwInvalid("expects one of '" + plain + "' and '" + tensor + "', got both");
      Type type = given->getElementType();
      if (given->getType().getRank() != 1 || (!type.isF32() && !type.isF64()))
        throwInvalid("expects a list of f32 or f64 as '" + tensor + "', got " + describe(given->getType()));
      values = llvm::to_vector(given->getValues<APFloat>());
    } else {
      for (float value : n.getFloats(plain))
        values.push_back(APFloat(value));
    }
    bool losesInfo;
    for (APFloat &value : values)
      value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return values;
  }

  /// A list of as many elements as `count` things have.
  SmallVector<int64_t> readInts(const Twine &name, size_t count, StringRef things) {
    SmallVector<int64_t> values = readList(n, name.str());
    if (values.size() != count)
      throwInvalid("expects one of '" + name + "' for each of " + Twine(count) + " " + things + ", got " +
                   Twine(values.size()));
    return values;
  }

  void readNodes() {
    SmallVector<StringRef> modes = n.getStrings("nodes_modes");
    size_t count = modes.size();
    if (count > INT32_MAX)
      throwUnsupported(Advice::SplitModel, "expects at most 2147483647 nodes, got " + Twine(count));
    SmallVector<int64_t> treeIds = readInts("nodes_treeids", count, "nodes"),
                         nodeIds = readInts("nodes_nodeids", count, "nodes"),
                         features = readInts("nodes_featureids", count, "nodes"),
                         whenTrue = readInts("nodes_truenodeids", count, "nodes"),
                         whenFalse = readInts("nodes_falsenodeids", count, "nodes"), missing(count, 0);
    if (n.hasAttribute("nodes_missing_value_tracks_true"))
      missing = readInts("nodes_missing_value_tracks_true", count, "nodes");
    SmallVector<APFloat> values = readFloats("nodes_values");
    if (values.size() != count)
      throwInvalid("expects one of 'nodes_values' for each of " + Twine(count) + " nodes, got " + Twine(values.size()));
    SmallVector<std::optional<BranchMode>> kinds; // none is a leaf's
    for (StringRef mode : modes)
      kinds.push_back(readMode(mode));
    int64_t branches = llvm::count_if(kinds, [](auto kind) { return kind.has_value(); });
    for (size_t node = 0, branch = 0; node < count; ++node) {
      int64_t place = kinds[node] ? branch++ : branches + trees.leaves++;
      if (!placeOf.insert({{treeIds[node], nodeIds[node]}, place}).second)
        throwInvalid("expects node " + Twine(nodeIds[node]) + " of tree " + Twine(treeIds[node]) +
                     " once, got it twice");
      if (seenTrees.insert(treeIds[node]).second) // a tree begins with the first of its nodes
        trees.roots.push_back(place);
    }
    for (size_t node = 0; node < count; ++node) {
      if (!kinds[node])
        continue;
      if (features[node] < 0 || features[node] >= INT32_MAX)
        throwInvalid("expects 'nodes_featureids' from 0 to 2147483646, got " + Twine(features[node]));
      trees.modes.push_back(*kinds[node]);
      trees.features.push_back(features[node]);
      trees.missing.push_back(missing[node] == 1);
      trees.splits.push_back(values[node]);
      trees.whenTrue.push_back(getPlace(treeIds[node], whenTrue[node], "nodes_truenodeids"));
      trees.whenFalse.push_back(getPlace(treeIds[node], whenFalse[node], "nodes_falsenodeids"));
    }
  }

  static std::optional<BranchMode> readMode(StringRef mode) {
    if (mode == "LEAF")
      return std::nullopt;
    auto kind = llvm::StringSwitch<std::optional<BranchMode>>(mode)
                    .Case("BRANCH_LEQ", BranchMode::leq)
                    .Case("BRANCH_LT", BranchMode::lt)
                    .Case("BRANCH_GTE", BranchMode::gte)
                    .Case("BRANCH_GT", BranchMode::gt)
                    .Case("BRANCH_EQ", BranchMode::eq)
                    .Case("BRANCH_NEQ", BranchMode::neq)
                    .Default(std::nullopt);
    if (!kind)
      throwInvalid("expects 'nodes_modes' to be LEAF, BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ or "
                   "BRANCH_NEQ, got '" +
                   mode + "'");
    return kind;
  }

  int64_t getPlace(int64_t tree, int64_t node, const Twine &name) {
    auto found = placeOf.find({tree, node});
    if (found == placeOf.end())
      throwInvalid("expects '" + name + "' to name nodes, but tree " + Twine(tree) + " has no node " + Twine(node));
    return found->second;
  }

  void readVotes() {
    std::string ids = (votes + "_ids").str(), things = "votes";
    SmallVector<int64_t> voted = readList(n, ids);
    SmallVector<int64_t> treeIds = readInts(votes + "_treeids", voted.size(), things),
                         nodeIds = readInts(votes + "_nodeids", voted.size(), things);
    SmallVector<APFloat> weights = readFloats(votes + "_weights");
    if (weights.size() != voted.size())
      throwInvalid("expects one of '" + votes + "_weights' for each of " + Twine(voted.size()) + " votes, got " +
                   Twine(weights.size()));
    for (size_t vote = 0; vote < voted.size(); ++vote) {
      if (voted[vote] < 0 || voted[vote] >= trees.targets)
        throwInvalid("expects '" + ids + "' from 0 to " + Twine(trees.targets - 1) + ", the " + targets + ", got " +
                     Twine(voted[vote]));
      int64_t leaf = getPlace(treeIds[vote], nodeIds[vote], votes + "_nodeids") - trees.getNodes();
      if (leaf < 0) // old converters let branches vote, which counts for nothing
        continue;
      trees.votingLeaves.push_back(leaf);
      trees.votedTargets.push_back(voted[vote]);
      trees.weights.push_back(weights[vote]);
    }
  }

  StringRef votes, targets;
  bool hasTensors;
  std::map<std::pair<int64_t, int64_t>, int64_t> placeOf; // of a tree's number and a node's
  std::set<int64_t> seenTrees;
};

} // namespace

static void importTreeRegressor(NodeImporter &n) {
  std::string name = n.getString("aggregate_function", "SUM");
  auto how = llvm::StringSwitch<std::optional<TreeAggregate>>(name)
                 .Case("AVERAGE", TreeAggregate::average)
                 .Case("SUM", TreeAggregate::sum)
                 .Case("MIN", TreeAggregate::min)
                 .Case("MAX", TreeAggregate::max)
                 .Default(std::nullopt);
  if (!how)
    throwInvalid("expects 'aggregate_function' to be AVERAGE, SUM, MIN or MAX, got '" + name + "'");
  ScoreTransform transform = readTransform(n);
  TreeModel model(n, "target", "targets");
  model.read(n.getInt("n_targets"));
  if (!model.base.empty() && static_cast<int64_t>(model.base.size()) != model.trees.targets)
    throwInvalid("expects a base value for each of " + Twine(model.trees.targets) + " targets, got " +
                 Twine(model.base.size()));
  Value scores = model.addBase(model.score(*how).scores);
  n.setOutput(0, transformScores(n, n.cast(scores, n.builder.getF32Type()), transform));
}

/// The scores of two classes, of which one score may be that of the second one, and the class that has won.
static void setBothClasses(TreeModel &model, DenseElementsAttr labels, TreeScores result, ScoreTransform transform) {
  NodeImporter &n = model.n;
  const DecisionTrees &trees = model.trees;
  Type f32 = n.builder.getF32Type();
  Value scores = model.addBase(result.scores);
  Dims dims = vx::getDims(typeOf(scores));
  auto column = [&](int64_t place) { return n.slice(scores, {n.dim(0), n.dim(place)}, {dims[0], n.dim(1)}, {1, 1}); };
  auto isAbove = [&](Value score, double limit) {
    return n.reshape(n.emit<CompareOp>(ComparePredicate::gt, score, n.splatLike(limit, score)), dims[0]);
  };
  bool isOne = llvm::all_equal(trees.votedTargets) && !trees.votedTargets.empty();
  // Weights that are not negative are shares of all trees' votes.
  bool areShares = llvm::none_of(
      trees.weights, [](const APFloat &weight) { return weight < APFloat::getZero(weight.getSemantics()); });
  double limit = areShares ? 0.5 : 0;
  if (isOne && trees.votedTargets[0] == 0 && model.base.size() < 2) {
    n.setOutput(0, chooseLabel(n, labels, isAbove(column(0), limit)));
    n.setOutput(1, scoreBothClasses(n, n.cast(column(0), f32), areShares, transform));
    return;
  }
  n.setOutput(0, isOne && model.base.empty() ? chooseLabel(n, labels, isAbove(column(1), limit))
                                             : labelGreatest(n, labels, scores));
  n.setOutput(1, transformScores(n, n.cast(scores, f32), transform));
}

static void importTreeClassifier(NodeImporter &n) {
  ScoreTransform transform = readTransform(n);
  DenseElementsAttr labels = readClassLabels(n, "classlabels_int64s");
  TreeModel model(n, "class", "classes");
  model.read(labels.getNumElements());
  int64_t classes = model.trees.targets, given = model.base.size();
  if (given > 0 && given != classes && !(classes == 2 && given == 1))
    throwInvalid("expects a base value for each of " + Twine(classes) + " classes, got " + Twine(given));
  TreeScores result = model.score(TreeAggregate::sum);
  if (classes == 2)
    return setBothClasses(model, labels, result, transform);
  Value scores = model.addBase(result.scores);
  if (classes == 1) {
    Value isSecond = n.emit<CompareOp>(ComparePredicate::gt, scores, n.splatLike(0, scores));
    n.setOutput(0, chooseLabel(n, labels, n.reshape(isSecond, vx::getDim(typeOf(scores), 0))));
  } else {
    // A class that no leaf spoke of wins over none.
    Value ranked = scores;
    if (result.areGiven && model.base.empty())
      ranked = n.emit<SelectOp>(result.areGiven, scores, n.splatLike(-std::numeric_limits<double>::infinity(), scores));
    n.setOutput(0, labelGreatest(n, labels, ranked));
  }
  n.setOutput(1, transformScores(n, n.cast(scores, n.builder.getF32Type()), transform));
}

static constexpr OpTableEntry treeModelsTable[] = {
    {"TreeEnsembleClassifier", 1, 4, importTreeClassifier},
    {"TreeEnsembleRegressor", 1, 4, importTreeRegressor},
};
const llvm::ArrayRef<OpTableEntry> treeModelsOps = treeModelsTable;

} // namespace vx::onnx
