// Feeds bytes to the ONNX importer: whatever they are, it answers with a module that verifies or with a report.
#include "mutate_protobuf.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Frontend/ONNX/ImportOnnx.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = seed % 4 ? vx::fuzz::mutateProtobuf(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  vx::ImportReport report;
  llvm::MemoryBufferRef bytes(llvm::StringRef(reinterpret_cast<const char *>(data), size), "fuzz.onnx");
  mlir::OwningOpRef<mlir::ModuleOp> module = vx::importOnnx(context, bytes, "", vx::ImportOptions(), report);
  std::string text;
  llvm::raw_string_ostream os(text);
  report.print(os);
  // Exactly one of the two: a module, or a reason why there is none.
  if (!module == report.issues.empty())
    std::abort();
  if (module)
    module->print(os);
  return 0;
}
