// Records a graph that a program builds, one ONNX node at a time. A node is imported when it is recorded, so its errors
// are reported there and its results have the types that the importer infers. A recorded graph therefore has the
// meaning of the same graph in a file, and an export has the recorded nodes.
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
  /// A loss and its accuracy as values of the graph. A LossFunction makes them from the text of a node `Loss`; the loss
  /// is null after an error.
  struct LossValues {
    mlir::Value loss, accuracy; // `accuracy` is null if the loss has none
  };
  /// `target` is null for a loss without one, and `weights`, one for each row, where all count alike.
  using LossFunction = std::function<LossValues(GraphBuilder &g, llvm::StringRef loss, mlir::Value output,
                                                mlir::Value target, mlir::Value weights)>;
  LossFunction buildLoss;
};

/// A position in the user's program. Messages, faults and profiles name it.
struct RecordedPlace {
  std::string scope; // of the layer, "h/0/attn"; empty outside of layers
  std::string layer; // "Linear", or the function's name
  std::string file;  // without its folder
  unsigned line = 0;
};

/// A size: a number, a symbol or an expression over symbols. Neither: any size.
struct RecordedDim {
  int64_t size = -1;
  std::string name;
};

struct RecordedType {
  int32_t elementType = 0; // as ONNX numbers them
  std::vector<RecordedDim> dims;
};

/// A recorded subgraph, by its number.
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
  /// A value or variable of the graph. A value is valid while its function or body is being recorded.
  using Value = int32_t;

  /// `context` outlives the recorder. One thread at a time may use it.
  GraphRecorder(mlir::MLIRContext &context, llvm::StringRef name, RecorderOptions options);
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder &) = delete;
  GraphRecorder &operator=(const GraphRecorder &) = delete;

  /// The message of the first failure of any function below: "FILE:LINE: SCOPE (LAYER): REASON". After a failure all
  /// functions fail.
  const std::string &getError() const;
  /// Records a failure, as these functions do.
  bool fail(const RecordedPlace *place, const llvm::Twine &reason);

  /// States the range of a symbol, for all later functions.
  bool declareSymbol(llvm::StringRef name, int64_t min, int64_t max, int64_t multiple);
  /// Adds a variable to the module. A function that uses it as a value reads it.
  std::optional<Value> addVariable(const RecordedVariable &variable, const RecordedPlace &place);

  struct Input {
    std::string name;
    RecordedType type;
  };
  /// Begins a function, outside of any other function. Its inputs are its first values.
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
  /// Stores a value in a variable: its value after the function, and the result of later reads in the function.
  bool store(Value variable, Value value, const RecordedPlace &place);

  /// Begins the body of a Loop or a branch. The first values of a Loop's body are the number of the iteration and one
  /// for each of `carried`; a branch has none. Bodies may use the values around them.
  bool beginBody(bool isLoop, llvm::ArrayRef<Value> carried, const RecordedPlace &place, std::vector<Value> &values);
  /// Ends a body with its results. Those of a loop are the carried values, with unchanged types, and then the stacked
  /// ones.
  std::optional<RecordedBody> endBody(llvm::ArrayRef<Value> results);

  /// Returns the type of a value, with a text for each dimension; nullopt for a value that is not valid any more.
  std::optional<RecordedType> getType(Value value);

  bool isRecording() const;
  /// Returns the finished functions, in their order.
  std::vector<std::string> getFunctions() const;
  /// Returns the module of the finished functions. The recorder owns it.
  mlir::ModuleOp getModule();

  /// Returns a function as a model with this version of ONNX's ops, with a gap for each of its variables. Returns
  /// nullopt, with the reason in `error`, if ONNX has no ops for it. `module` is the recorder's, or derived from it.
  std::optional<ExportSkeleton> makeSkeleton(llvm::StringRef function, int64_t opset, mlir::ModuleOp module,
                                             const ExportOptions &options, std::string &error);

private:
  class State;
  std::unique_ptr<State> state;
};

/// The range of versions of ONNX's ops for exports of a recorded graph.
constexpr int64_t oldestExportOpset = 20, newestExportOpset = 28;

} // namespace vx

#endif
