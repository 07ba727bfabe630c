// The model's file in pieces, with gaps for the trained values. An export of a trained model fills the gaps.
#ifndef VX_DIALECT_VX_IR_EXPORTSKELETON_H
#define VX_DIALECT_VX_IR_EXPORTSKELETON_H

#include "mlir/IR/BuiltinAttributes.h"

#include <memory>
#include <string>
#include <vector>

namespace vx {

struct ExportPiece {
  enum class Kind {
    Bytes,    // `bytes` as they are
    Variable, // the elements of a variable when the model is exported
    Constant, // `bytes`, of a constant that the module may store for its programs too
    Location, // the name, without a folder, of the file of weights beside the model
    Length,   // the number of bytes of the next `count` pieces, as a varint
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
  std::vector<ExportPiece> weights;                // of the file of weights; empty without such a file
  std::vector<std::shared_ptr<const void>> owners; // of the bytes that pieces refer to
};

} // namespace vx

#endif
