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

/// The default domain's newest version that is known here.
constexpr int64_t newestOpset = 28;
/// The newest IR version of the wire format.
constexpr int64_t newestIrVersion = 14;
/// Subgraphs and functions inside of one another.
constexpr unsigned maxNesting = 16;
/// Nodes imported in all, each as often as its function is called and its loop is looked through again.
constexpr int64_t maxNodes = 1000000;
/// Elements of an integer tensor that are followed as expressions.
constexpr size_t maxContents = 128;

/// What is known of a named value. A value becomes an op when a node asks for it, so that shape computations which end
/// in types leave no ops behind.
struct Entry {
  Entry(mlir::Type type, mlir::Location location) : type(type), location(location) {}

  /// Null for the output of a node that was not imported.
  mlir::Type type;
  mlir::Location location;
  /// Null until asked for. Like `contents`, to be read in `block` and in the regions inside of it only.
  mlir::Value value;
  mlir::Block *block = nullptr;
  /// The elements of an integer tensor as expressions, in row-major order; bools are 0 and 1.
  std::optional<Dims> contents;
  /// The elements of a short list of floats that were made of sizes.
  FloatSizes floatSizes;
  /// The elements of an initializer or constant, and its name in the model.
  mlir::ElementsAttr constant;
  std::string constantName;
  /// The type that the file has for a constant of 6 bits, which is f8E4M3FN here; 0 for every other value.
  int32_t sixBits = 0;
  /// `contents` are symbols that were bound to what the tensor holds, for a node that takes no element below 0.
  bool contentsAreRead = false;
  /// A sequence that no tensor was inserted into: its element type is not binding yet.
  bool isEmptySequence = false;
  /// An optional that holds nothing.
  bool isNone = false;
  /// What the file has as a sequence of maps: the tensor of their values.
  bool standsForMaps = false;
  /// What to do where the value is `unavailable`.
  Advice whenUnavailable = Advice::DropOutput;
  /// Where a call decides between two ranks, as branches of an If may have: the smaller one. The value has the greater
  /// one, with dimensions of size 1 in front; what broadcasts reads it, and nothing else.
  std::optional<int64_t> leastRank;
  /// With `leastRank`, the If that decides.
  Decider decidedBy;
  /// Of a bool that is one comparison: it is true where these are equal. Else null.
  std::pair<DimAttr, DimAttr> equals;
  /// Why an output that its op may leave out is not made; the first to read it fails.
  std::string unavailable;

  bool isPoisoned() const { return !type; }
};

/// Throws for a tensor of one of two ranks, which is named as `what`.
void checkRank(const Entry &entry, const llvm::Twine &what = "a tensor");

/// A node and its number in its graph, by which it is known where it has no name.
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
  /// In a function body, the attributes of the call; null in graphs.
  const FunctionAttributes *functionAttributes = nullptr;
  /// Version of each domain.
  const llvm::StringMap<int64_t> *opsets = nullptr;
  /// The nodes that make the entries, in an order in which each is made before it is read.
  std::vector<NumberedNode> nodes;
  /// Names whose entries stand in the place of what the nodes make.
  llvm::StringSet<> substituted;
  /// In a branch of an If that nodes behind the If are in too, the values that they read by the names of its outputs.
  llvm::StringMap<std::string> aliases;
  /// Nodes that the branches of an If before them have.
  llvm::DenseSet<const NodeProto *> continued;
  /// The names that what is around the scope reads, where these are all.
  std::optional<llvm::SmallVector<std::string>> outputs;
  unsigned depth = 0;
};

/// What a graph has that is recorded and not read from a file (GraphRecorder.h).
struct Recording {
  /// Where a node was written.
  std::function<mlir::Location(const NodeProto &node, llvm::StringRef label)> locate;
  RecorderOptions::LossFunction buildLoss;
};

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext *context, const ModelProto &model, std::shared_ptr<const void> owner,
                llvm::StringRef file, llvm::StringRef folder, const ImportOptions &options, ImportReport &report,
                OnnxSource *source);

  /// The module, or null with issues in the report.
  mlir::OwningOpRef<mlir::ModuleOp> run();
  /// What `run` begins with: an empty module, or null with issues in the report.
  mlir::OwningOpRef<mlir::ModuleOp> begin();

  mlir::MLIRContext *context;
  const ImportOptions options;
  mlir::OpBuilder builder;
  TensorReader tensors;
  OnnxSource *source;                   // null where nobody keeps it
  const Recording *recording = nullptr; // null for models of files
  BranchPaths *paths = nullptr;         // null where no branches are chosen
  BranchChoices choices;
  /// The branches that are continued, and in which the importer is.
  const BranchPath *path = nullptr;
  /// For each issue the branches that it is in, and an If of which both branches are imported, where one alone may let
  /// the node succeed.
  struct Failure {
    const BranchPath *path;
    Decider undecided;
  };
  llvm::SmallVector<Failure> failures;
  /// What holds for the conditions of Ifs at the insertion point.
  ConditionFacts facts;
  Scope *scope = nullptr;
  /// The node that is imported reads constants of 6 bits.
  bool readsSixBits = false;

  // Values.
  /// The entry of a name in this scope or one around it. Throws when there is none, or PoisonedInput.
  Entry &lookup(llvm::StringRef name);
  /// The other name of a value in this scope or one around it, by an alias; nothing where there is none.
  std::optional<llvm::StringRef> findAlias(llvm::StringRef name) const;
  /// The value of an entry, made at the insertion point or, for constants, at the start of the entry's block.
  mlir::Value materialize(Entry &entry);
  void define(llvm::StringRef name, Entry entry);
  /// Runs `body` with the error handling of a node: turns a thrown error or an MLIR diagnostic into an issue.
  bool guard(const NodeProto *node, llvm::StringRef label, int64_t version, llvm::function_ref<void()> body);

  // Symbols.
  /// Declares a symbol that is not the name of another; data-dependent ones are bound while the program runs.
  DimAttr declareSymbol(const llvm::Twine &wanted, bool isDataDependent, int64_t min = 0);
  /// Declares "tensor.shape[axis]": a size that the running program finds.
  DimAttr declareSize(llvm::StringRef tensor, int64_t axis);
  /// Symbols declared after `mark` are withdrawn: the ops that named them were erased.
  size_t markSymbols() const { return freshSymbols.size(); }
  void withdrawSymbols(size_t mark);
  llvm::StringSet<> getSymbolsAfter(size_t mark) const;
  bool isDataDependent(mlir::StringAttr symbol) const { return dataDependent.contains(symbol.getValue()); }
  /// The name of a variable of the module, an i64 that starts at 0; made when it is first asked for.
  llvm::StringRef declareCounter();

  // Graphs.
  /// A function of the module without nodes: its inputs are entries of `top`, which becomes the current scope.
  mlir::func::FuncOp beginFunction(const GraphProto &graph, llvm::StringRef name, Scope &top);
  /// Its end: `results` are its outputs.
  void endFunction(const GraphProto &graph, mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> results);
  /// Imports the nodes of a graph or function body into the current scope, and then those of `rest`, which are in
  /// order; false when one of them failed.
  bool importNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, llvm::ArrayRef<NumberedNode> rest = {});
  /// The same for the nodes that the current scope has.
  bool importScopeNodes();
  /// The same for one of them.
  bool importNext(NumberedNode node);
  /// Initializers and the declared types of `graph`.
  void importInitializers(const GraphProto &graph);
  /// The vx type of a graph input; unknown sizes become new symbols named after `name`.
  mlir::Type importType(const TypeProto &type, llvm::StringRef name);
  mlir::Location getLocation(llvm::StringRef node, llvm::StringRef opType);
  const FunctionProto *findFunction(const NodeProto &node) const;
  void importCall(const NodeProto &node, const FunctionProto &function, llvm::StringRef label);

  /// Adds a note, or the place to one that is there already of the same `group`, an empty one being of none.
  void addNote(ImportNote::Kind kind, llvm::StringRef group, const llvm::Twine &text, llvm::StringRef place = "");

  /// Keeps what MLIR says of the node at hand.
  void addDiagnostic(mlir::Diagnostic &diagnostic);
  /// The text of the diagnostics of the node at hand.
  std::string takeDiagnostics();
  size_t countIssues() const { return report.issues.size(); }
  /// To be called before the block and its ops are erased.
  void forgetBlock(mlir::Block *block) {
    lastConstants.erase(block);
    expressionNames.erase(block);
  }
  /// Of symbols of inputs that have one name in the file, and may differ, that name (SharedSizes.h).
  llvm::StringMap<std::string> namesakes;
  /// The symbols that stand for expressions in a block and in the regions inside of it (NameExpressions.h).
  llvm::DenseMap<mlir::Block *, llvm::DenseMap<DimAttr, DimAttr>> expressionNames;

private:
  void checkModel();
  void importGraph(const GraphProto &graph);
  void importInputs(const GraphProto &graph);
  void bindInputSymbols(const GraphProto &graph);
  DimAttr importDim(const TensorShapeProto::Dimension &dim, llvm::StringRef name, int64_t index);
  /// The symbol of a name in a group of inputs: in each but the first one that has it a symbol of its own.
  DimAttr declareNamesake(llvm::StringRef name);
  /// The nodes of a graph or function body in an order in which each value is made before it is read: the file's, where
  /// it is one, as it should be. Throws for a cycle.
  std::vector<NumberedNode> orderNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes);
  /// Notes what the file says of devices and vx has no use for.
  void noteConfigurations();
  void importNode(const NodeProto &node, llvm::StringRef label);
  void poisonOutputs(const NodeProto &node);
  /// Makes the ops of a node that no function is. One whose sizes get too many terms is tried once more with names for
  /// those that it reads.
  void makeOps(const NodeProto &node, int64_t version, llvm::StringRef label, ImportFunction function);
  /// The op that a node is, where it is no function's call. Throws for what is not imported, and, with issues in the
  /// report, for what its signature forbids.
  OpLookup findNodeOp(const NodeProto &node, llvm::StringRef label);
  /// Reports what is wrong with nodes that are not imported, since what is around them cannot be.
  void checkNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, unsigned depth);
  void checkSubgraphs(const NodeProto &node, unsigned depth);
  /// Throws for a call that the function cannot take.
  static void checkCall(const NodeProto &node, const FunctionProto &function);
  /// Reports what is wrong with functions, whoever calls them.
  void checkFunctions();
  /// Reports what is wrong with the nodes of functions that nothing calls.
  void checkUncalledFunctions();
  /// Throws when the graph states another type for a value than what makes it: another kind or another element type.
  /// Another number of dimensions, or another size where both are numbers, is a hint that is wrong, of which there is a
  /// warning; it is an error where the import is strict, and where `isBinding`.
  void checkDeclared(const llvm::Twine &what, llvm::StringRef name, const TypeProto &declared, const Entry &entry,
                     bool isBinding = false);
  void addIssue(const ImportError &error, const NodeProto *node = nullptr, llvm::StringRef label = "",
                int64_t version = 0);
  mlir::Value materializeContents(Entry &entry);

  const ModelProto &model;
  std::string fileName;
  ImportReport &report;
  mlir::ModuleOp module;
  VariableOp counter; // null until asked for
  llvm::StringMap<int64_t> opsets;
  std::vector<std::string> diagnostics;
  llvm::DenseMap<mlir::Block *, mlir::Operation *> lastConstants;
  llvm::StringSet<> symbolNames, dataDependent;
  /// Plain symbols of the inputs: the ones that a call binds. Other texts that name them are expressions over them.
  llvm::StringSet<> inputSymbols;
  /// Those that expressions of inputs name: they are one size each.
  llvm::StringSet<> expressionSymbols;
  /// Texts of the inputs' dimensions that are not declared yet: no new symbol takes one.
  llvm::StringSet<> reservedNames;
  /// The groups of the names of the input at hand (SharedSizes.h), and the symbols of names by groups.
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

/// False where a size has no name. Some exporters write "?" where a size is not known: two of these are two sizes.
bool hasName(const TensorShapeProto::Dimension &dim);

/// "conv1", or "Conv_3" for a node without a name.
std::string getNodeLabel(const NodeProto &node, int index);

} // namespace vx::onnx

#endif
