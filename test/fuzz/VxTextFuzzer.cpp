// Feeds text to the parser of vx programs: it gives a module that verifies and that its own text gives again, or an
// error.
#include "mutate_text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <optional>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

// Between the examples of one file.
static constexpr llvm::StringLiteral separator = "// -----";

/// Keeps one example of several.
static size_t keepOne(uint8_t *data, size_t size, unsigned seed) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(reinterpret_cast<const char *>(data), size).split(parts, separator);
  const std::string part = parts[seed % parts.size()].str();
  std::copy(part.begin(), part.end(), data);
  return part.size();
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  size = keepOne(data, size, seed / 64);
  const size_t made = seed % 8 ? vx::fuzz::mutateText(data, size, maxSize, seed / 8) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

static std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// The text of the module that `text` gives; nothing with an error. In a context of its own: resources of equal names
/// would be renamed.
static std::optional<std::string> parseAndPrint(const std::string &text) { // the lexer reads up to its 0
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<vx::VXDialect, mlir::func::FuncDialect>();
  bool hasError = false;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
    hasError |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module && !hasError)
    std::abort(); // it says why
  return module ? std::optional(textOf(*module)) : std::nullopt;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(reinterpret_cast<const char *>(data), size).split(parts, separator);
  for (llvm::StringRef part : parts)
    if (std::optional<std::string> printed = parseAndPrint(part.str()); printed && parseAndPrint(*printed) != printed)
      std::abort();
  return 0;
}
