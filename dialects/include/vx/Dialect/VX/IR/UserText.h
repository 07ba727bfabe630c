// Types, diagnostics and names as they stand in messages for people who know the model and not this compiler.
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

/// The text of a diagnostic with its types as above, and without the operation that it is about: its source node is
/// what a user knows it by.
std::string describeDiagnostic(mlir::Diagnostic &diagnostic);

/// `text` with "\x1b" for the character 27, and so on for all that a terminal takes as a command. Names in files hold
/// any character.
std::string escapeControlCharacters(llvm::StringRef text);

} // namespace vx

#endif
