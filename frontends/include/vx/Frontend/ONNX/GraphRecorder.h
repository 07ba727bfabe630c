// Records a graph that a program builds, one ONNX node at a time. A node is imported when it is recorded: what is wrong
// with it is told there, and what it makes has the type that the importer finds. So the ops of a recorded graph mean
// what those of a file mean, and it is exported as the nodes that it was recorded as.
#ifndef VX_FRONTEND_ONNX_GRAPHRECORDER_H
#define VX_FRONTEND_ONNX_GRAPHRECORDER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Frontend/ONNX/ExportOnnx.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace vx {

struct RecorderOptions {
  /// A loss and its metrics by the name of an op `Loss`, as graphs; a null loss after an error.
  struct LossValues {
    mlir::Value loss, accuracy; // `accuracy` is null where the loss has none
  };
  using LossFunction =
      std::function<LossValues(GraphBuilder &g, llvm::StringRef loss, mlir::Value output, mlir::Value target)>;
  LossFunction buildLoss;
};

/// Where in the user's program something was written: messages, faults and profiles name it.
struct RecordedPlace {
  std::string scope; // of the layer, "h/0/attn"; empty outside of layers
  std::string layer; // "Linear", or the function's name
  std::string file;  // without its folder
  unsigned line = 0;
};

/// A size: a number, a symbol or an expression over symbols, or neither, which is any size.
struct RecordedDim {
  int64_t size = -1;
  std::string name;
};

struct RecordedType {
  int32_t elementType = 0; // as ONNX numbers them
  std::vector<RecordedDim> dims;
};

/// A subgraph that was recorded, by its number.
struct RecordedBody {
  int number;
};

struct RecordedAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
               RecordedBody>
      value;
};

struct RecordedVariable {
  std::string name;
  RecordedType type;
  VariableRole role = VariableRole::parameter;
  std::optional<InitKind> init; // neither this nor elements: zeros
  double a = 0, b = 0;          // of `init`
  llvm::StringRef elements;     // copied
  bool hasElements = false;
};

class GraphRecorder {
public:
  /// A value or variable of the graph. A value lives as long as its function or body is recorded.
  using Value = int32_t;

  /// `context` outlives the recorder, and is used by one thread at a time.
  GraphRecorder(mlir::MLIRContext &context, llvm::StringRef name, RecorderOptions options);
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder &) = delete;
  GraphRecorder &operator=(const GraphRecorder &) = delete;

  /// All functions below fail with a message here, "FILE:LINE: SCOPE (LAYER): REASON". The first one is kept, and all
  /// that comes after it fails.
  const std::string &getError() const;
  /// Fails as they do.
  bool fail(const RecordedPlace *place, const llvm::Twine &reason);

  /// States the range of a symbol, for functions that come after it.
  bool declareSymbol(llvm::StringRef name, int64_t min, int64_t max, int64_t multiple);
  /// A variable of the module, which functions read where they take it for a value.
  std::optional<Value> addVariable(const RecordedVariable &variable, const RecordedPlace &place);

  struct Input {
    std::string name;
    RecordedType type;
  };
  /// Begins a function; none is going on. Its inputs are its first values.
  bool beginFunction(llvm::StringRef name, llvm::ArrayRef<Input> inputs, const RecordedPlace &place,
                     std::vector<Value> &values);
  bool endFunction(llvm::ArrayRef<std::string> names, llvm::ArrayRef<Value> results);

  /// A node of the default domain, or one of `vx.builder`: As, Gradient, Loss, StopGradient.
  bool addNode(llvm::StringRef op, llvm::ArrayRef<Value> inputs, llvm::ArrayRef<RecordedAttribute> attributes,
               const RecordedPlace &place, unsigned numOutputs, std::vector<Value> &outputs);
  /// `elements` are copied.
  std::optional<Value> addConstant(const RecordedType &type, llvm::StringRef elements, const RecordedPlace &place);
  /// Sizes as a list of i64, each of them a number or a symbol that an input of the function has; -1 for any size.
  std::optional<Value> addSizes(llvm::ArrayRef<RecordedDim> dims, const RecordedPlace &place);
  /// What a variable holds behind the function, and what reading it there gives from now on.
  bool store(Value variable, Value value, const RecordedPlace &place);

  /// Begins the body of a Loop, with the number of the iteration as its first value and one for each of `carried`, or
  /// of a branch, which has neither. Bodies see the values around them.
  bool beginBody(bool isLoop, llvm::ArrayRef<Value> carried, const RecordedPlace &place, std::vector<Value> &values);
  /// Of a loop: the carried values, which keep their types, and then what is stacked.
  std::optional<RecordedBody> endBody(llvm::ArrayRef<Value> results);

  /// The type of a value, with a text for each dimension; nothing for a value that is not alive.
  std::optional<RecordedType> getType(Value value);

  bool isRecording() const;
  /// The functions that have ended, in their order.
  std::vector<std::string> getFunctions() const;
  /// The module of the functions that have ended. Belongs to the recorder.
  mlir::ModuleOp getModule();

  /// A function as a model of this version of ONNX's ops, with a place for each of its variables; nothing, with the
  /// reason in `error`, where ONNX has no ops for what it does. `module` is the recorder's, or made of it.
  std::optional<ExportSkeleton> makeSkeleton(llvm::StringRef function, int64_t opset, mlir::ModuleOp module,
                                             const ExportOptions &options, std::string &error);

private:
  class State;
  std::unique_ptr<State> state;
};

/// The versions of ONNX's ops that a recorded graph may be exported as.
constexpr int64_t oldestExportOpset = 20, newestExportOpset = 28;

} // namespace vx

#endif
