// onnx-import-print MODEL: prints the imported module, or the report on stderr with exit code 3. The driver of the lit
// tests of the ONNX frontend, which test it without the rest of the compiler.
#include "mlir/IR/MLIRContext.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: onnx-import-print MODEL\n";
    return 2;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  vx::ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module = vx::importOnnx(context, argv[1], vx::ImportOptions(), report);
  if (!module) {
    report.print(llvm::errs());
    return 3;
  }
  mlir::OpPrintingFlags flags;
  flags.elideLargeResourceString(16);
  module->print(llvm::outs(), flags);
  llvm::outs() << "\n";
  return 0;
}
