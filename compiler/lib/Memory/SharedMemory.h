// Whether values of a program may be one memory.
#ifndef VX_LIB_MEMORY_SHAREDMEMORY_H
#define VX_LIB_MEMORY_SHAREDMEMORY_H

#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace vx {

/// Buffers that are to be one memory. A run through the program knows at each point which of them are what lies there:
/// what a command reads has to be, and what it writes is alone from then on.
class SharedMemory {
public:
  /// At one point, whatever way led there.
  struct State {
    llvm::SmallDenseSet<mlir::Value> current; // names whose value lies in the memory
    bool isHeld = false;                      // a list, loop or branch may know the memory by another name
    bool isWritten = false;
    bool mayBeFaulty = false; // a kernel may have reported a fault that nothing has looked for

    void join(const State &other);
    bool operator==(const State &other) const;
  };

  /// `value` is the memory's under `name`; values of one name are always equal.
  void add(mlir::Value value, mlir::Value name) { names[value] = name; }
  void add(mlir::Value value) { add(value, value); }
  /// A view of some of the bytes: it is read as `name`, and never written.
  void addPart(mlir::Value value, mlir::Value name) {
    add(value, name);
    parts.insert(value);
  }
  /// What the loop begins with is copied there first.
  void addEntry(mlir::OpOperand &init) { entries.insert(&init); }
  /// `value`, other memory, is copied there before `op`, and is it where a loop or branch takes or gives it.
  void addEntry(mlir::Value value, mlir::Operation *op) {
    carried.insert(value);
    carriedFrom = op;
    if (!carriedName)
      carriedName = value;
  }

  bool contains(mlir::Value value) const { return names.contains(value); }

  /// False where a value would be lost.
  bool run(mlir::Block &block, State &state);

  /// Of the runs: copies of the memory to itself; commands that write it where a fault may have been reported; what may
  /// fail the call after it was written; the first op of the block that was run which may write it.
  llvm::SetVector<mlir::Operation *> needless, behindFaults, failing;
  mlir::Operation *firstWrite = nullptr;

private:
  mlir::Value getName(mlir::Value value) const { return names.lookup(value); }
  mlir::Value getCarried(mlir::Value value) const { return carried.contains(value) ? carriedName : getName(value); }
  bool read(mlir::Value value, State &state) const;
  bool write(mlir::Operation *op, mlir::Value name, State &state);
  bool runOp(mlir::Operation *op, State &state);
  bool runLoop(vxrt::WhileOp loop, State &state);
  bool runIf(vxrt::IfOp branch, State &state);
  bool runYield(mlir::Operation *yield, mlir::ValueRange values, mlir::ValueRange results, State &state);
  bool runDispatch(vxrt::DispatchOp dispatch, State &state);
  bool runCopy(vxrt::CopyOp copy, State &state);

  llvm::DenseMap<mlir::Value, mlir::Value> names;
  llvm::DenseSet<mlir::Value> parts, carried;
  llvm::DenseSet<mlir::OpOperand *> entries;
  mlir::Value carriedName;
  mlir::Operation *carriedFrom = nullptr;
};

} // namespace vx

#endif
