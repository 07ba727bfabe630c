// What an export of a trained model completes: the model's file in pieces, with places for what is trained.
#ifndef VX_DIALECT_VX_IR_EXPORTSKELETON_H
#define VX_DIALECT_VX_IR_EXPORTSKELETON_H

#include "mlir/IR/BuiltinAttributes.h"

#include <memory>
#include <string>
#include <vector>

namespace vx {

struct ExportPiece {
  enum class Kind {
    Bytes,    // `bytes` as they stand here
    Variable, // the elements of a variable when the model is exported
    Constant, // `bytes`, which are those of a constant that a module may have anyway
    Location, // the plain name of the file of weights beside the model's
    Length,   // how many bytes the next `count` pieces are, as a varint
    Zeros
  };
  Kind kind = Kind::Bytes;
  llvm::StringRef bytes;
  uint64_t size = 0; // Variable, Zeros
  uint32_t count = 0;
  std::string variable;
  mlir::ElementsAttr constant;
};

struct ExportSkeleton {
  std::vector<ExportPiece> model;
  std::vector<ExportPiece> weights;                // of the file beside it; none: there is none
  std::vector<std::shared_ptr<const void>> owners; // of the bytes that pieces refer to
};

} // namespace vx

#endif
