#include "dispatch_trace.h"

#include "host_values.h"
#include "program_inputs.h"
#include "tensor_file.h"
#include "tool_error.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/base/json_text.h"

#include <fstream>

namespace vx::tools {

using Json = nlohmann::ordered_json;
using reference::HostTensor;
using reference::HostValue;

// Of a folder that nobody reads before it is whole: there is nothing to rename.
static void writePart(const std::filesystem::path &path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw workError("cannot write '{}'", path.string());
}

static Json nodesOf(mlir::Location location) {
  Json nodes = Json::array();
  for (const std::string &node : getSourceNodes(location))
    nodes.push_back(node);
  return nodes;
}

DispatchTrace::DispatchTrace(std::string path, std::optional<uint64_t> number)
    : folder(std::move(path)), examined(number),
      trace{{"version", 1}, {"dispatches", Json::array()}, {"outputs", Json::array()}, {"variables", Json::array()}} {}

std::string DispatchTrace::write(const std::string &name, const HostValue &value) const {
  const std::vector<uint8_t> bytes = formatTensorFile(name, toValue(value));
  writePart(folder / name, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  return name;
}

// A program of the ops of a kernel up to `last`, whose value it returns. Sizes are those of the kernel's symbols, bound
// by its inputs, or by one more input each where no input's size is the symbol alone.
static mlir::OwningOpRef<mlir::ModuleOp> makeProgram(KernelOp kernel, mlir::Operation *last,
                                                     const reference::SymbolValues &values,
                                                     llvm::SmallVectorImpl<HostValue> &inputs) {
  mlir::Block &body = kernel.getBody().front();
  mlir::MLIRContext *context = kernel.getContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(kernel.getLoc());
  mlir::OpBuilder builder(context);
  builder.setInsertionPointToEnd(module->getBody());
  llvm::SmallVector<mlir::Type> types(body.getArgumentTypes());
  const auto ranges = kernel->getAttrOfType<mlir::DenseI64ArrayAttr>(kSymbolRangesAttr);
  for (auto [index, symbol] : llvm::enumerate(kernel.getSymbols().getAsValueRange<mlir::StringAttr>())) {
    mlir::OperationState state(kernel.getLoc(), SymbolOp::getOperationName());
    state.addAttribute("name", builder.getStringAttr(symbol));
    if (ranges)
      for (auto [place, name] : {std::pair(0, "min"), {1, "max"}, {2, "multiple"}})
        state.addAttribute(name, builder.getI64IntegerAttr(ranges[3 * index + static_cast<size_t>(place)]));
    builder.create(state);
    const bool isBound = llvm::any_of(types, [&](mlir::Type type) {
      auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
      return tensor && llvm::any_of(getDims(tensor), [&](DimAttr dim) {
               return dim && dim.asSymbol() && dim.asSymbol().getValue() == symbol;
             });
    });
    if (isBound)
      continue;
    types.push_back(getTensorType({DimAttr::symbolNamed(context, symbol)}, builder.getI8Type()));
    inputs.push_back(HostTensor(reference::ElementType::I8, {values.lookup(symbol)}));
  }
  const mlir::Type result = last->getResult(0).getType();
  auto function =
      mlir::func::FuncOp::create(builder, kernel.getLoc(), "main", builder.getFunctionType(types, {result}));
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  mlir::IRMapping mapping;
  for (unsigned index = 0; index < types.size(); ++index) {
    if (index < body.getNumArguments())
      mapping.map(body.getArgument(index), block->getArgument(index));
    function.setArgAttr(index, "vx.name", builder.getStringAttr(std::to_string(index)));
  }
  for (mlir::Operation &op : body.without_terminator()) {
    builder.clone(op, mapping)->removeAttr(kAnchorAttr);
    if (&op == last)
      break;
  }
  mlir::func::ReturnOp::create(builder, kernel.getLoc(), mapping.lookup(last->getResult(0)));
  function.setResultAttr(0, "vx.name", builder.getStringAttr("value"));
  return module;
}

void DispatchTrace::examine(const reference::ObservedDispatch &dispatch) {
  Json &entry = trace["examined"] = {{"inputs", Json::array()}, {"ops", Json::array()}};
  KernelOp kernel = dispatch.kernel;
  llvm::SmallVector<HostValue> all(dispatch.inputs);
  for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 || !llvm::isa<mlir::RankedTensorType>(op.getResult(0).getType()) ||
        llvm::isa<ConstantOp>(op))
      continue;
    llvm::SmallVector<HostValue> inputs(dispatch.inputs);
    mlir::OwningOpRef<mlir::ModuleOp> module = makeProgram(kernel, &op, dispatch.symbols, inputs);
    const std::string number = std::to_string(entry["ops"].size());
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    writePart(folder / ("op" + number + ".mlir"), text);
    reference::ProgramState state;
    auto value = reference::evaluateFunction(module->lookupSymbol<mlir::func::FuncOp>("main"), inputs, state);
    if (!value)
      throw workError("{}", llvm::toString(value.takeError()));
    entry["ops"].push_back({{"op", op.getName().getStringRef().str()},
                            {"nodes", nodesOf(op.getLoc())},
                            {"program", "op" + number + ".mlir"},
                            {"value", write("op" + number + ".pb", value->front())}});
    all = inputs; // the same for all ops of the kernel
  }
  for (const HostValue &input : all)
    entry["inputs"].push_back(write("input" + std::to_string(entry["inputs"].size()) + ".pb", input));
}

void DispatchTrace::observe(const reference::ObservedDispatch &dispatch) {
  if (!problem.empty())
    return;
  try {
    const uint64_t number = trace["dispatches"].size();
    if (number == examined)
      examine(dispatch);
    Json outputs = Json::array();
    for (const HostValue &output : dispatch.outputs)
      outputs.push_back(write(std::to_string(number) + "_" + std::to_string(outputs.size()) + ".pb", output));
    mlir::func::FuncOp function = dispatch.function;
    KernelOp kernel = dispatch.kernel;
    DispatchOp op = dispatch.op;
    trace["dispatches"].push_back({{"kernel", kernel.getSymName().str()},
                                   {"nodes", nodesOf(op.getLoc())},
                                   {"derived", function->hasAttr("vx.derived")},
                                   {"outputs", std::move(outputs)}});
  } catch (const std::exception &error) {
    problem = error.what();
  }
}

void DispatchTrace::finish(mlir::func::FuncOp function, llvm::ArrayRef<HostValue> results,
                           const reference::ProgramState &state) {
  if (!problem.empty())
    throw workError("{}", problem);
  if (examined && !trace.contains("examined"))
    throw usageError("--examine: expected a dispatch from 0 to {}, got {}", trace["dispatches"].size() - 1, *examined);
  for (auto [index, name] : llvm::enumerate(resultNames(function))) {
    static constexpr const char *kinds[] = {"tensor", "sequence", "optional sequence"}; // as the variant has them
    trace["outputs"].push_back({{"name", name},
                                {"kind", kinds[results[index].index()]},
                                {"file", write("output" + std::to_string(index) + ".pb", results[index])}});
  }
  for (const auto &variable : state.variables)
    trace["variables"].push_back(
        {{"name", variable.getKey().str()},
         {"file", write("variable" + std::to_string(trace["variables"].size()) + ".pb", variable.getValue())}});
  writePart(folder / "trace.json", vx::jsonText(trace, 2) + "\n");
}

} // namespace vx::tools
