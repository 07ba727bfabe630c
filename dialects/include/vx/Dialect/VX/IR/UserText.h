// Text of types, diagnostics and names for messages. A user knows the model and not this compiler.
#ifndef VX_DIALECT_VX_IR_USERTEXT_H
#define VX_DIALECT_VX_IR_USERTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Types.h"
#include "vx/Dialect/VX/IR/VXAttributes.h"
#include <string>

namespace vx {

/// "f32[N,3]", "i64[]", "f32[...]" for any number of dimensions, "sequence of f32[?]".
std::string describeType(mlir::Type type);

/// loops, tile = [1, 128], threads = 128
std::string describeStrategy(StrategyAttrInterface strategy);

/// Returns the text of a diagnostic with its types as above, and without the operation that it is about, since a user
/// knows its source node only.
std::string describeDiagnostic(mlir::Diagnostic &diagnostic);

/// Tells the user a fact that is no fault. Remarks are not printed: MLIR's passes emit them for developers of
/// compilers.
void emitNote(mlir::Location loc, const llvm::Twine &text);

/// Returns `text` with "\x1b" for the character 27, and likewise for all characters that a terminal executes. Names in
/// files may have any character.
std::string escapeControlCharacters(llvm::StringRef text);

} // namespace vx

#endif
