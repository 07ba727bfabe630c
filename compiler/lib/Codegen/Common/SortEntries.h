// What sorts keep of an element: its code and its place.
#ifndef VX_LIB_CODEGEN_COMMON_SORTENTRIES_H
#define VX_LIB_CODEGEN_COMMON_SORTENTRIES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace vx {

/// One entry, or a vector of them: one i64 of code and place where 64 bits hold both, else an i64 and an i32.
struct SortEntry {
  llvm::SmallVector<mlir::Value, 2> parts;
};

/// Makes, compares and moves entries. Of two of a row one is before the other, since their places differ: the order of
/// equal elements is no matter of how they are sorted.
class SortEntries {
public:
  /// `code` is i32 or i64; the least comes first.
  SortEntries(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type code) : builder(builder), loc(loc), code(code) {}

  llvm::SmallVector<mlir::Type, 2> getTypes() const;
  mlir::Type getCodeType() const { return code; }

  /// `places` are of i64, and below 2^32; codes and places are vectors of one length, or scalars.
  SortEntry make(mlir::Value codes, mlir::Value places);
  /// What stands behind all of a row.
  SortEntry last();
  /// The same, where entries must differ: another one for each of `numbers`, which are as places are.
  SortEntry filler(mlir::Value numbers);
  /// Whether the code is below the greatest there is, which is that of what stands behind all.
  mlir::Value isBelowLast(const SortEntry &entry);
  mlir::Value isBefore(const SortEntry &a, const SortEntry &b);
  SortEntry select(mlir::Value condition, const SortEntry &a, const SortEntry &b);
  SortEntry broadcast(const SortEntry &entry, int64_t lanes);
  /// Of a scalar: its code, and its place as i64.
  mlir::Value getCode(const SortEntry &entry);
  mlir::Value getPlace(const SortEntry &entry);

  /// One memref for each part.
  SortEntry load(mlir::ValueRange memory, mlir::Value at, int64_t lanes = 1);
  void store(const SortEntry &entry, mlir::ValueRange memory, mlir::Value at);

private:
  bool isPacked() const { return code.isInteger(32); }
  mlir::Value constant(mlir::Type like, int64_t value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type code;
};

/// The least power of two of entries, and at least 16, in which `count` fit.
int64_t getSortCapacity(int64_t count);

} // namespace vx

#endif
