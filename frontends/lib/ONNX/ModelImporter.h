// The state of one import: values by name, symbols, scopes and the report.
#ifndef VX_FRONTEND_ONNX_MODELIMPORTER_H
#define VX_FRONTEND_ONNX_MODELIMPORTER_H

#include "BranchPaths.h"
#include "ConditionFacts.h"
#include "DimMath.h"
#include "FloatSizes.h"
#include "ImportError.h"
#include "NodeChecks.h"
#include "OnnxSource.h"
#include "OpTable.h"
#include "TensorReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "vx/Frontend/ONNX/GraphRecorder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace vx::onnx {

/// The newest known version of the default domain.
constexpr int64_t newestOpset = 28;
/// The newest IR version of the wire format.
constexpr int64_t newestIrVersion = 14;
/// The greatest depth of nested subgraphs and functions.
constexpr unsigned maxNesting = 16;
/// The most imported nodes. A node counts once for each call of its function and each pass over its loop.
constexpr int64_t maxNodes = 1000000;
/// The most elements of an integer tensor that are tracked as expressions.
constexpr size_t maxContents = 128;

/// The facts about a named value. An op is made when a node reads the value, so shape computations that end in types
/// leave no ops.
struct Entry {
  Entry(mlir::Type type, mlir::Location location) : type(type), location(location) {}

  /// Null for the output of a node that was not imported.
  mlir::Type type;
  mlir::Location location;
  /// Null until a node reads it. Like `contents`, valid in `block` and in the regions inside of it only.
  mlir::Value value;
  mlir::Block *block = nullptr;
  /// The elements of an integer tensor as expressions, in row-major order; bools are 0 and 1.
  std::optional<Dims> contents;
  /// The elements of a short list of floats that are computed from sizes.
  FloatSizes floatSizes;
  /// The elements of an initializer or constant, and its name in the model.
  mlir::ElementsAttr constant;
  std::string constantName;
  /// The file's type of a constant of 6 bits, which is f8E4M3FN here; 0 for every other value.
  int32_t sixBits = 0;
  /// `contents` are symbols that are bound to the tensor's elements, for a node that accepts no element below 0.
  bool contentsAreRead = false;
  /// A sequence without an inserted tensor: its element type is not binding yet.
  bool isEmptySequence = false;
  /// An empty optional.
  bool isNone = false;
  /// The value is a sequence of maps in the file; this is the tensor of the maps' values.
  bool standsForMaps = false;
  /// The advice if the value is `unavailable`.
  Advice whenUnavailable = Advice::DropOutput;
  /// The smaller rank of a value with two possible ranks, as from branches of an If; the call decides. The value has
  /// the greater rank, with leading dimensions of size 1. Only ops that broadcast it may read it.
  std::optional<int64_t> leastRank;
  /// With `leastRank`: the If that decides.
  Decider decidedBy;
  /// For a bool that is one comparison: it is true if these sizes are equal. Null otherwise.
  std::pair<DimAttr, DimAttr> equals;
  /// The reason why an optional output of an op is not made. The first node that reads it fails.
  std::string unavailable;

  bool isPoisoned() const { return !type; }
};

/// Throws for a tensor with two possible ranks; `what` names it.
void checkRank(const Entry &entry, const llvm::Twine &what = "a tensor");

/// A node and its number in its graph, which identifies a node without a name.
struct NumberedNode {
  const NodeProto *proto;
  int number;
};

/// The names of one graph or function body.
struct Scope {
  Scope *parent = nullptr;
  mlir::Block *block = nullptr;
  llvm::StringMap<Entry> entries;
  /// Types that the graph states for its values.
  llvm::StringMap<llvm::SmallVector<const TypeProto *, 1>> declaredTypes;
  /// The attributes of the call, in a function body; null in graphs.
  const FunctionAttributes *functionAttributes = nullptr;
  /// The version of each domain.
  const llvm::StringMap<int64_t> *opsets = nullptr;
  /// The nodes that make the entries, in an order in which each entry is made before it is read.
  std::vector<NumberedNode> nodes;
  /// Names with entries that replace the results of nodes.
  llvm::StringSet<> substituted;
  /// In a continued branch of an If: the values of the branch by the names of the If's outputs, which the nodes after
  /// the If read.
  llvm::StringMap<std::string> aliases;
  /// Nodes that were moved into the branches of an earlier If.
  llvm::DenseSet<const NodeProto *> continued;
  /// The names that the surrounding graph reads, if these are known.
  std::optional<llvm::SmallVector<std::string>> outputs;
  unsigned depth = 0;
};

/// The additional data of a recorded graph (GraphRecorder.h).
struct Recording {
  /// The location of a node in the user's program.
  std::function<mlir::Location(const NodeProto &node, llvm::StringRef label)> locate;
  RecorderOptions::LossFunction buildLoss;
};

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext *context, const ModelProto &model, std::shared_ptr<const void> owner,
                llvm::StringRef file, llvm::StringRef folder, const ImportOptions &options, ImportReport &report,
                OnnxSource *source);

  /// Imports the model. Returns null, with issues in the report, if it fails.
  mlir::OwningOpRef<mlir::ModuleOp> run();
  /// The first step of `run`: returns an empty module, or null with issues in the report.
  mlir::OwningOpRef<mlir::ModuleOp> begin();

  mlir::MLIRContext *context;
  const ImportOptions options;
  mlir::OpBuilder builder;
  TensorReader tensors;
  OnnxSource *source;                   // null if it is not stored
  const Recording *recording = nullptr; // null for models of files
  BranchPaths *paths = nullptr;         // null if no branches are chosen
  BranchChoices choices;
  /// The continued branches around the insertion point.
  const BranchPath *path = nullptr;
  /// For each issue: the branches around it, and an If with both branches imported of which one alone may let the node
  /// succeed.
  struct Failure {
    const BranchPath *path;
    Decider undecided;
  };
  llvm::SmallVector<Failure> failures;
  /// The known conditions of Ifs at the insertion point.
  ConditionFacts facts;
  Scope *scope = nullptr;
  /// The current node reads constants of 6 bits.
  bool readsSixBits = false;

  // Values.
  /// Returns the entry of a name in this scope or one around it. Throws if there is none, and PoisonedInput if its node
  /// failed.
  Entry &lookup(llvm::StringRef name);
  /// Returns the name that a name is an alias of, in this scope or one around it; nullopt if it is no alias.
  std::optional<llvm::StringRef> findAlias(llvm::StringRef name) const;
  /// Returns the value of an entry. It is made at the insertion point, or for constants at the start of the entry's
  /// block.
  mlir::Value materialize(Entry &entry);
  void define(llvm::StringRef name, Entry entry);
  /// Runs `body` with the error handling of a node: a thrown error or an MLIR diagnostic becomes an issue. Returns
  /// false in this case.
  bool guard(const NodeProto *node, llvm::StringRef label, int64_t version, llvm::function_ref<void()> body);

  // Symbols.
  /// Declares a symbol with an unused name. Data-dependent ones are bound at run time.
  DimAttr declareSymbol(const llvm::Twine &wanted, bool isDataDependent, int64_t min = 0);
  /// Declares "tensor.shape[axis]": a size that is known at run time only.
  DimAttr declareSize(llvm::StringRef tensor, int64_t axis);
  /// `withdrawSymbols` removes the symbols that were declared after a mark. The caller has erased the ops with these
  /// symbols.
  size_t markSymbols() const { return freshSymbols.size(); }
  void withdrawSymbols(size_t mark);
  llvm::StringSet<> getSymbolsAfter(size_t mark) const;
  bool isDataDependent(mlir::StringAttr symbol) const { return dataDependent.contains(symbol.getValue()); }
  /// Returns the name of a variable of the module, an i64 that starts at 0. The first call makes it.
  llvm::StringRef declareCounter();

  // Graphs.
  /// Begins a function of the module, without nodes. Its inputs are entries of `top`, which becomes the current scope.
  mlir::func::FuncOp beginFunction(const GraphProto &graph, llvm::StringRef name, Scope &top);
  /// Ends a function with these outputs.
  void endFunction(const GraphProto &graph, mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> results);
  /// Imports the nodes of a graph or function body into the current scope, and then those of `rest`, which are in
  /// order. Returns false if one of them failed.
  bool importNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, llvm::ArrayRef<NumberedNode> rest = {});
  /// The same for the nodes of the current scope.
  bool importScopeNodes();
  /// The same for one node.
  bool importNext(NumberedNode node);
  /// Imports the initializers and the declared types of `graph`.
  void importInitializers(const GraphProto &graph);
  /// Returns the vx type of a graph input; unknown sizes become new symbols named after `name`.
  mlir::Type importType(const TypeProto &type, llvm::StringRef name);
  mlir::Location getLocation(llvm::StringRef node, llvm::StringRef opType);
  const FunctionProto *findFunction(const NodeProto &node) const;
  void importCall(const NodeProto &node, const FunctionProto &function, llvm::StringRef label);

  /// Adds a note, or adds the place to an existing note of the same `group`. An empty `group` matches none.
  void addNote(ImportNote::Kind kind, llvm::StringRef group, const llvm::Twine &text, llvm::StringRef place = "");

  /// Records a diagnostic of MLIR about the current node.
  void addDiagnostic(mlir::Diagnostic &diagnostic);
  /// Returns and removes the text of the diagnostics of the current node.
  std::string takeDiagnostics();
  size_t countIssues() const { return report.issues.size(); }
  /// Forgets the values of a block. To be called before the block and its ops are erased.
  void forgetBlock(mlir::Block *block) {
    lastConstants.erase(block);
    expressionNames.erase(block);
  }
  /// The name in the file of symbols of inputs that share one name there and may differ (SharedSizes.h).
  llvm::StringMap<std::string> namesakes;
  /// The symbols that name expressions in a block and in the regions inside of it (NameExpressions.h).
  llvm::DenseMap<mlir::Block *, llvm::DenseMap<DimAttr, DimAttr>> expressionNames;

private:
  void checkModel();
  void importGraph(const GraphProto &graph);
  void importInputs(const GraphProto &graph);
  void bindInputSymbols(const GraphProto &graph);
  DimAttr importDim(const TensorShapeProto::Dimension &dim, llvm::StringRef name, int64_t index);
  /// Returns the symbol of a name in the current group of inputs. The first group with the name has the name's symbol;
  /// each other group has a symbol of its own.
  DimAttr declareNamesake(llvm::StringRef name);
  /// Returns the nodes of a graph or function body in an order in which each value is made before it is read: the
  /// file's order, if it is one. Throws for a cycle.
  std::vector<NumberedNode> orderNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes);
  /// Adds notes about device configurations in the file, which vx does not use.
  void noteConfigurations();
  void importNode(const NodeProto &node, llvm::StringRef label);
  void poisonOutputs(const NodeProto &node);
  /// Makes the ops of a node that is not a function call. If its sizes get too many terms, tries once more with names
  /// for the sizes that it reads.
  void makeOps(const NodeProto &node, int64_t version, llvm::StringRef label, ImportFunction function);
  /// Returns the op of a node that is not a function call. Throws for an op that is not imported, and, with issues in
  /// the report, for a node that violates its signature.
  OpLookup findNodeOp(const NodeProto &node, llvm::StringRef label);
  /// Reports mistakes in nodes that are not imported because the graph or node around them cannot be.
  void checkNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, unsigned depth);
  void checkSubgraphs(const NodeProto &node, unsigned depth);
  /// Throws for a call that does not fit the function.
  static void checkCall(const NodeProto &node, const FunctionProto &function);
  /// Reports mistakes in functions, independent of their calls.
  void checkFunctions();
  /// Reports mistakes in the nodes of functions without calls.
  void checkUncalledFunctions();
  /// Throws if the graph states another kind or element type for a value than its node makes. Another number of
  /// dimensions, or another size if both are numbers, is a wrong hint: it is a warning, or an error if the import is
  /// strict or `isBinding`.
  void checkDeclared(const llvm::Twine &what, llvm::StringRef name, const TypeProto &declared, const Entry &entry,
                     bool isBinding = false);
  void addIssue(const ImportError &error, const NodeProto *node = nullptr, llvm::StringRef label = "",
                int64_t version = 0);
  mlir::Value materializeContents(Entry &entry);

  const ModelProto &model;
  std::string fileName;
  ImportReport &report;
  mlir::ModuleOp module;
  VariableOp counter; // null until it is made
  llvm::StringMap<int64_t> opsets;
  std::vector<std::string> diagnostics;
  llvm::DenseMap<mlir::Block *, mlir::Operation *> lastConstants;
  llvm::StringSet<> symbolNames, dataDependent;
  /// Plain symbols of the inputs, which a call binds. Other texts with these names are expressions over them.
  llvm::StringSet<> inputSymbols;
  /// Symbols in expressions of inputs. Each is one size.
  llvm::StringSet<> expressionSymbols;
  /// Texts of the inputs' dimensions that are not declared yet. No new symbol may have one of them as its name.
  llvm::StringSet<> reservedNames;
  /// The groups of the names of the current input (SharedSizes.h), and the symbols of names by groups.
  const llvm::StringMap<unsigned> *inputGroups = nullptr;
  llvm::StringMap<llvm::SmallVector<std::pair<unsigned, std::string>, 1>> groupSymbols;
  int64_t importedNodes = 0;
  std::vector<mlir::Operation *> freshSymbols;
  mlir::Operation *lastSymbol = nullptr;
  llvm::StringMap<unsigned> activeFunctions;
  llvm::StringMap<size_t> noteGroups; // places in the report
  llvm::StringSet<> notedPlaces;
  llvm::DenseSet<const FunctionProto *> calledFunctions;
};

/// Returns false if a size has no name. Some exporters write "?" for an unknown size: two of these are two sizes.
bool hasName(const TensorShapeProto::Dimension &dim);

/// "conv1", or "Conv_3" for a node without a name.
std::string getNodeLabel(const NodeProto &node, int index);

} // namespace vx::onnx

#endif
