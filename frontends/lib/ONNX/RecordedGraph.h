// The recorded graph of a GraphRecorder.
#ifndef VX_FRONTEND_ONNX_RECORDEDGRAPH_H
#define VX_FRONTEND_ONNX_RECORDEDGRAPH_H

#include "ModelImporter.h"
#include "NodeImporter.h"
#include "OpTable.h"
#include "vx/Frontend/ONNX/GraphRecorder.h"
#include "llvm/ADT/MapVector.h"

#include <deque>
#include <map>

namespace vx {

/// An omitted input of a node.
constexpr GraphRecorder::Value kNone = -1;

/// The messages that the module's constants refer to.
struct RecordedProtos {
  onnx::ModelProto model; // with the versions of the domains, and no node
  google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
};

struct RecordedFunction {
  std::string name;
  RecordedPlace place;
  onnx::GraphProto graph;
  std::vector<std::string> results;  // names of values, in the order of the outputs
  std::vector<VariableOp> variables; // the variables that it reads
  llvm::MapVector<VariableOp, std::string> stored;
  /// The input and axis that a size of this name is taken from.
  std::map<std::string, std::pair<std::string, int64_t>> symbols;
  llvm::StringSet<> names; // of inputs, nodes and values
  mlir::func::FuncOp op;
};

class GraphRecorder::State {
public:
  State(mlir::MLIRContext &context, llvm::StringRef name, RecorderOptions options);

  /// A function or body that is being recorded.
  struct Frame {
    Frame(int number, onnx::GraphProto *graph) : number(number), graph(graph) {}
    ~Frame() {
      if (region)
        region->dropAllReferences();
    }

    const int number;
    onnx::GraphProto *graph;
    onnx::Scope scope;
    // Of a body.
    std::unique_ptr<onnx::GraphProto> own;
    std::unique_ptr<mlir::Region> region; // where it is imported, to infer its types
    mlir::OpBuilder::InsertPoint saved;
    RecordedPlace place;
    llvm::SmallVector<mlir::Type> carried;
    bool isLoop = false;
    size_t mark = 0;
  };
  struct KnownValue {
    std::string name;
    int frame; // -1: of none
    std::optional<VariableOp> variable = {};
  };
  struct Range {
    int64_t min, max, multiple;
  };

  bool fail(const RecordedPlace *place, const llvm::Twine &reason);
  bool attempt(const RecordedPlace &place, llvm::function_ref<void()> body);
  mlir::Location locate(const RecordedPlace &place, llvm::StringRef label) const;
  /// "fc1", or "relu_1" outside of layers, for a node of the current function.
  std::string makeName(const RecordedPlace &place, llvm::StringRef op);
  Value addValue(std::string name);
  std::optional<std::string> nameOf(Value value, const RecordedPlace &place);
  std::string readVariable(VariableOp variable);
  bool setAttribute(onnx::AttributeProto &proto, const RecordedAttribute &attribute, const RecordedPlace &place);
  bool record(onnx::NodeProto &node, const RecordedPlace &place);

  mlir::MLIRContext &context;
  std::shared_ptr<RecordedProtos> protos;
  ImportReport report;
  std::optional<onnx::ModelImporter> importer;
  onnx::Recording recording;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *lastVariable = nullptr;

  std::string error;
  std::vector<KnownValue> values;
  std::vector<std::unique_ptr<RecordedFunction>> functions;
  RecordedFunction *function = nullptr;       // that is being recorded
  std::vector<std::unique_ptr<Frame>> frames; // that function, and the bodies inside of it that are being recorded
  std::map<int, std::string> frameFunctions;
  int nextFrame = 0;
  std::vector<std::unique_ptr<onnx::GraphProto>> bodies; // the finished ones; null if a node has them
  llvm::DenseMap<const onnx::NodeProto *, RecordedPlace> places;
  llvm::StringMap<Range> ranges;
};

} // namespace vx

#endif
