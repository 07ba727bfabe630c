#include "reference_model.h"

#include "host_values.h"

#include "mlir/IR/Diagnostics.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "vx/Reference/Interpreter.h"

using namespace mlir;

namespace vx::tools {

namespace {

class ImportedModel : public ReferenceModel {
public:
  explicit ImportedModel(OwningOpRef<ModuleOp> imported)
      : module(std::move(imported)), function(module->lookupSymbol<func::FuncOp>("main")) {}

  bool call(const Values &inputs, Values &outputs, std::string &refusal) override {
    llvm::SmallVector<reference::HostValue> given;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      given.push_back(toHostValue(inputs.at(nameOf(function.getArgAttrOfType<StringAttr>(i, "vx.name")))));
    reference::ProgramState state;
    auto results = reference::evaluateFunction(function, given, state);
    if (!results) {
      refusal = llvm::toString(results.takeError());
      return false;
    }
    outputs.clear();
    for (auto [index, value] : llvm::enumerate(*results))
      outputs.emplace(nameOf(function.getResultAttrOfType<StringAttr>(static_cast<unsigned>(index), "vx.name")),
                      toValue(value));
    return true;
  }

  // What the evaluator does not know, or nothing.
  std::string unknown() const { return llvm::toString(reference::checkEvaluable(function)); }

private:
  static std::string nameOf(StringAttr name) { return name ? name.getValue().str() : ""; }

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

MLIRContext &importContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<VXDialect, func::FuncDialect>();
    return new MLIRContext(registry, MLIRContext::Threading::DISABLED); // lives as long as the process
  }();
  return *context;
}

} // namespace

std::unique_ptr<ReferenceModel> importReference(const std::string &model, const std::string &dataFolder,
                                                std::string &problem) {
  MLIRContext &context = importContext();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    problem += (problem.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  ImportReport report;
  report.file = "model.onnx";
  OwningOpRef<ModuleOp> module = importOnnx(context, llvm::MemoryBufferRef(model, report.file), dataFolder, {}, report);
  if (!module) {
    llvm::raw_string_ostream os(problem);
    report.print(os);
    return nullptr;
  }
  auto imported = std::make_unique<ImportedModel>(std::move(module));
  problem = imported->unknown();
  return problem.empty() ? std::move(imported) : nullptr;
}

} // namespace vx::tools
