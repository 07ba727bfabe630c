// The text of a list of integers in an attribute: [1, 2].
#ifndef VX_DIALECT_INTEGERLIST_H
#define VX_DIALECT_INTEGERLIST_H

#include "mlir/IR/OpImplementation.h"

namespace vx {

inline mlir::FailureOr<llvm::SmallVector<int64_t>> parseIntegerList(mlir::AsmParser &parser) {
  llvm::SmallVector<int64_t> list;
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(list.emplace_back()); }))
    return mlir::failure();
  return list;
}

inline void printIntegerList(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> list) {
  printer << "[";
  llvm::interleaveComma(list, printer);
  printer << "]";
}

} // namespace vx

#endif
