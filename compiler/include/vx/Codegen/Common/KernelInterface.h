// How a kernel of a target that goes through LLVM reads its parameter block (vx/abi/kernel.h): the common part of the
// passes vx-cpu-lower-kernel-interface and vx-gpu-lower-kernel-interface.
#ifndef VX_CODEGEN_COMMON_KERNELINTERFACE_H
#define VX_CODEGEN_COMMON_KERNELINTERFACE_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include <map>

namespace vx {

/// Turns a kernel with vxk ops into two functions: a private one of the block, the workgroup's number and each buffer,
/// and an entry that reads the buffers' addresses from the block and calls it. The target creates the entry, which
/// depends on how it starts a kernel, and lowers the ops of threads and faults.
class KernelInterface {
public:
  /// The block and the buffers lie in the address space `space` of LLVM's. `number` is the type of a workgroup's.
  KernelInterface(mlir::func::FuncOp kernel, unsigned space, mlir::Type number);

  /// Fails with a diagnostic at the kernel if it has arguments or results.
  llvm::LogicalResult check();

  /// Moves the kernel's code to the function `<kernel>.body`.
  mlir::func::FuncOp createBody();

  /// The value that replaces `op` in the body, for the ops that read the block; null for other ops.
  mlir::Value lowerRead(mlir::Operation *op, mlir::Block &entry);

  /// Ends the target's entry: calls `body`, and replaces the kernel.
  void callBody(mlir::OpBuilder &builder, mlir::func::FuncOp body, mlir::Value block, mlir::Value number);

  /// The 64-bit word `index` of the block, which never changes during a call.
  mlir::Value loadWord(mlir::OpBuilder &builder, mlir::Location location, mlir::Value block, int64_t index,
                       mlir::Type type) const;

  /// A memref of the identity layout at `address`. Its descriptor's type states the address space.
  mlir::Value describe(mlir::OpBuilder &builder, mlir::Location location, mlir::MemRefType type, mlir::Value address,
                       mlir::ValueRange sizes) const;

  /// A pointer into the address space of the block.
  mlir::LLVM::LLVMPointerType pointer() const { return pointerType; }

private:
  mlir::Value countWorkgroups(mlir::OpBuilder &builder, mlir::Location location, mlir::Value block) const;
  mlir::Value describeBuffer(mlir::OpBuilder &builder, mlir::Location location, mlir::MemRefType type,
                             mlir::Value address, mlir::ValueRange sizes) const;

  mlir::func::FuncOp kernel;
  mlir::LLVMTypeConverter converter;
  mlir::LLVM::LLVMPointerType pointerType;
  mlir::Type numberType;
  std::map<int64_t, bool> buffers; // by index: true where the kernel writes it
};

/// Counts a fault in the record (vx_fault_record) and gives an i1: true where it is the first.
mlir::Value countFault(mlir::OpBuilder &builder, mlir::Location location, mlir::Value record);

/// Fills in the fields of the first fault, all of them i64. `place` may have more indices than a record has room for.
void storeFault(mlir::OpBuilder &builder, mlir::Location location, mlir::Value record, mlir::Value site,
                mlir::Value value, mlir::Value lower, mlir::Value upper, int64_t rank, mlir::ValueRange place);

} // namespace vx

#endif
