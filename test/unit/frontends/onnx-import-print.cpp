// onnx-import-print [--strict] MODEL: prints the imported module and, on stderr, its notes; or the report with exit
// code 3. The driver of the lit tests of the ONNX frontend, which test it without the rest of the compiler.
#include "mlir/IR/MLIRContext.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  vx::ImportOptions options;
  options.strict = argc > 1 && llvm::StringRef(argv[1]) == "--strict";
  const char *path = argv[argc - 1];
  if (argc != 2 + options.strict) {
    llvm::errs() << "usage: onnx-import-print [--strict] MODEL\n";
    return 2;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  vx::ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module = vx::importOnnx(context, path, options, report);
  if (!module) {
    report.print(llvm::errs());
    return 3;
  }
  for (const vx::ImportNote &note : report.notes)
    llvm::errs() << path << (note.kind == vx::ImportNote::Kind::Warning ? ": warning: " : ": note: ") << note.str()
                 << "\n";
  mlir::OpPrintingFlags flags;
  flags.elideLargeResourceString(16);
  module->print(llvm::outs(), flags);
  llvm::outs() << "\n";
  return 0;
}
