// What the algebra of dimension expressions has computed before. Expressions share their parts, and the sizes of a
// model are made of each other: the same sums, quotients and proofs are asked for over and over.
#ifndef VX_LIB_DIALECT_VX_IR_DIMMEMO_H
#define VX_LIB_DIALECT_VX_IR_DIMMEMO_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/IR/DialectInterface.h"
#include "mlir/Support/ThreadLocalCache.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// The least and the greatest value that an expression may have; none where there is no bound.
struct DimInterval {
  std::optional<int64_t> low, high;
};

/// Of one context and one thread: no locks are taken, and what is known goes with the context. All that is kept follows
/// from the expressions alone, so that a result is the same whatever was asked before.
struct DimMemo {
  using Pair = std::pair<DimAttr, DimAttr>;

  /// The results of an operation by its operands.
  llvm::DenseMap<Pair, DimAttr> &getResults(DimKind kind) { return results[static_cast<unsigned>(kind)]; }
  /// Whether the first is at most the second.
  llvm::DenseMap<Pair, bool> orders;
  llvm::DenseMap<DimAttr, DimInterval> intervals;

  /// Adds to one of the tables. A table that is full is begun again, so that memory stays bounded.
  template <typename Table, typename Key, typename Value>
  static void keep(Table &table, const Key &key, const Value &value) {
    constexpr unsigned kMostEntries = 1 << 16;
    if (table.size() >= kMostEntries)
      table.clear();
    table.try_emplace(key, value);
  }

  /// That of the context of `dim` and of this thread; it stays where it is.
  static DimMemo &of(DimAttr dim);

private:
  llvm::DenseMap<Pair, DimAttr> results[static_cast<unsigned>(DimKind::Broadcast) + 1];
};

/// Keeps the memos in the dialect.
class DimMemoInterface : public mlir::DialectInterface::Base<DimMemoInterface> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DimMemoInterface)
  explicit DimMemoInterface(mlir::Dialect *dialect) : Base(dialect) {}

  DimMemo &get() const { return memos.get(); }

private:
  mutable mlir::ThreadLocalCache<DimMemo> memos;
};

} // namespace vx

#endif
