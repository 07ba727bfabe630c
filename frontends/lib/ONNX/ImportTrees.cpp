// TreeEnsemble's form of decision trees, with indices of nodes and of leaves.
#include "DecisionTrees.h"
#include "OpFunctions.h"
#include "Scores.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// The tables of a TreeEnsemble.
class TreeEnsemble {
public:
  explicit TreeEnsemble(NodeImporter &n) : n(n) {}

  void import() {
    Value input = n.getTensor(0);
    elementType = elementOf(input);
    if (typeOf(input).getRank() != 2 || !isa<FloatType>(elementType))
      throwInvalid("expects rows of floats, got " + describe(input.getType()));
    readNodes();
    readLeaves();
    readMembers();
    int64_t how = n.getInt("aggregate_function", 1), transform = n.getInt("post_transform", 0);
    if (how < 0 || how > 3)
      throwInvalid("expects 'aggregate_function' from 0 to 3, got " + Twine(how));
    if (transform < 0 || transform > 4)
      throwInvalid("expects 'post_transform' from 0 to 4, got " + Twine(transform));
    auto aggregate = static_cast<TreeAggregate>(how);
    // A target that no leaf speaks of has the score that any other takes the place of.
    double greatest =
        APFloat::getLargest(cast<FloatType>(elementType).getFloatSemantics(), aggregate == TreeAggregate::max)
            .convertToDouble();
    Value scores = scoreByTrees(n, input, std::move(trees), aggregate, greatest).scores;
    n.setOutput(0, transformScores(n, n.cast(scores, elementType), static_cast<ScoreTransform>(transform)));
  }

private:
  /// A list of the nodes, each from `low` to `high`.
  SmallVector<int64_t> readNodeInts(StringRef name, int64_t low, int64_t high) {
    SmallVector<int64_t> values = readList(n, name);
    if (static_cast<int64_t>(values.size()) != trees.getNodes())
      throwInvalid("expects one of '" + name + "' for each of " + Twine(trees.getNodes()) + " nodes, got " +
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
      throwUnsupported(Advice::SplitModel, "expects at most 2147483647 nodes, got " + Twine(given->getNumElements()));
    for (uint8_t mode : given->getValues<uint8_t>()) {
      if (mode > static_cast<uint8_t>(BranchMode::member))
        throwInvalid("expects 'nodes_modes' from 0 to 6, got " + Twine(static_cast<unsigned>(mode)));
      trees.modes.push_back(static_cast<BranchMode>(mode));
    }
    trees.features = readNodeInts("nodes_featureids", 0, INT32_MAX - 1);
    DenseElementsAttr values = readFloats("nodes_splits");
    if (values.getNumElements() != trees.getNodes())
      throwInvalid("expects one of 'nodes_splits' for each of " + Twine(trees.getNodes()) + " nodes, got " +
                   Twine(values.getNumElements()));
    trees.splits = llvm::to_vector(values.getValues<APFloat>());
    trees.missing.assign(trees.getNodes(), 0);
    if (n.hasAttribute("nodes_missing_value_tracks_true"))
      trees.missing = readNodeInts("nodes_missing_value_tracks_true", 0, 1);
    trees.roots = readList(n, "tree_roots");
    for (int64_t root : trees.roots)
      if (root < 0 || root >= trees.getNodes())
        throwInvalid("expects 'tree_roots' from 0 to " + Twine(trees.getNodes() - 1) + ", got " + Twine(root));
  }

  void readLeaves() {
    trees.weights = llvm::to_vector(readFloats("leaf_weights").getValues<APFloat>());
    trees.votedTargets = readList(n, "leaf_targetids");
    int64_t leaves = trees.weights.size();
    if (static_cast<int64_t>(trees.votedTargets.size()) != leaves)
      throwInvalid("expects one of 'leaf_targetids' for each of " + Twine(leaves) + " leaves, got " +
                   Twine(trees.votedTargets.size()));
    if (leaves > INT32_MAX - trees.getNodes())
      throwUnsupported(Advice::SplitModel,
                       "expects at most 2147483647 nodes and leaves, got " + Twine(leaves) + " leaves");
    trees.leaves = leaves;
    trees.votingLeaves = llvm::to_vector(llvm::seq<int64_t>(0, leaves));
    trees.targets = n.getInt("n_targets");
    if (trees.targets < 1 || trees.targets > INT32_MAX)
      throwInvalid("expects 'n_targets' from 1 to 2147483647, got " + Twine(trees.targets));
    for (int64_t target : trees.votedTargets)
      if (target < 0 || target >= trees.targets)
        throwInvalid("expects 'leaf_targetids' from 0 to " + Twine(trees.targets - 1) + ", got " + Twine(target));
    auto readBranch = [&](StringRef name, StringRef isLeaf, SmallVector<int64_t> &branch) {
      branch = readNodeInts(name, 0, std::max(trees.getNodes(), leaves) - 1);
      for (auto [to, leaf] : llvm::zip(branch, readNodeInts(isLeaf, 0, 1))) {
        if (to >= (leaf ? leaves : trees.getNodes()))
          throwInvalid("expects '" + name + "' below " + Twine(leaf ? leaves : trees.getNodes()) + ", got " +
                       Twine(to));
        to += leaf ? trees.getNodes() : 0;
      }
    };
    readBranch("nodes_truenodeids", "nodes_trueleafs", trees.whenTrue);
    readBranch("nodes_falsenodeids", "nodes_falseleafs", trees.whenFalse);
  }

  /// The sets are concatenated, in the order of their nodes, with a NaN after each or between them.
  void readMembers() {
    SmallVector<int64_t> withSets;
    for (auto [node, mode] : llvm::enumerate(trees.modes))
      if (mode == BranchMode::member)
        withSets.push_back(node);
    size_t sets = 0;
    bool isOpen = false;
    if (n.hasAttribute("membership_values"))
      for (APFloat value : readFloats("membership_values").getValues<APFloat>()) {
        sets += !isOpen;
        isOpen = !value.isNaN();
        if (isOpen && sets <= withSets.size()) {
          trees.members.push_back(value);
          trees.owners.push_back(withSets[sets - 1]);
        }
      }
    if (sets != withSets.size())
      throwInvalid("expects a set in 'membership_values' for each of " + Twine(withSets.size()) +
                   " nodes with mode 6, got " + Twine(sets));
  }

  NodeImporter &n;
  Type elementType;
  DecisionTrees trees;
};

} // namespace

static void importTreeEnsemble(NodeImporter &n) { TreeEnsemble(n).import(); }

static constexpr OpTableEntry treesTable[] = {
    {"TreeEnsemble", 5, newestMlOpset, importTreeEnsemble},
};
const llvm::ArrayRef<OpTableEntry> treesOps = treesTable;

} // namespace vx::onnx
