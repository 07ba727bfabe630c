// The interface of a target to the compiler: questions and no state.
//
// A backend includes no other backend and needs no device. It is registered by name in a TargetRegistry that the tools
// fill.
#ifndef VX_TARGET_TARGETBACKEND_H
#define VX_TARGET_TARGETBACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "vx/Analysis/ProductCandidates.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace vx {

class TargetBackend {
public:
  virtual ~TargetBackend() = default;

  /// The `--target=` spelling, also the name of the lib/Target folder and of the runtime's driver.
  virtual llvm::StringRef name() const = 0;

  /// The variants to build, best first. `request` is the user's list (`--cpu=native,x86-64-v3`) or empty for the
  /// default. Fails with `error` set to a message that lists the names known.
  virtual mlir::FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request,
                                                            std::string &error) const = 0;

  /// False for a default variant that differs from the next one only for other kernels than these.
  virtual bool needsVariant(llvm::ArrayRef<KernelOp> /*kernels*/, const TargetSpec & /*spec*/) const { return true; }

  /// Fails with a diagnostic at `op` that names the first thing unsupported. Asked for every vx op of the
  /// `optimised` phase.
  virtual llvm::LogicalResult checkSupported(mlir::Operation *op, const TargetSpec &spec) const = 0;

  /// True for a composite op (a softmax, a norm, attention) that this target needs in parts. The others stay whole.
  virtual bool decomposes(mlir::Operation *composite, const TargetSpec &spec) const = 0;

  /// The ways to compute a contraction, a convolution or the gradient of a filter: family, layout of images, packing of
  /// the second factor, prologue, and an estimate, in any order; at least one. `vx-choose-products` ranks them and
  /// picks one, `chooseStrategy` chooses only its tile.
  virtual llvm::SmallVector<ProductCandidate> chooseProduct(mlir::Operation *product, const ProductFacts &facts,
                                                            const TargetSpec &spec) const = 0;

  /// How many nanoseconds the move of a tensor from one layout to the other takes.
  virtual double estimateMove(mlir::Value tensor, const TargetSpec &spec) const = 0;

  /// Bytes of a row of a tile of packed weights: the widest vector of any variant. 0: packed weights have no tiles.
  virtual int64_t packedRowBytes(const TargetSpec & /*spec*/) const { return 0; }

  /// True if few workgroups with much work each are slow, so that long rows are reduced in two stages.
  virtual bool splitsReductions() const { return false; }

  /// True if vectors go along the last dimension, so that each element of a window that crosses its borders has a mask.
  virtual bool masksPaddedWindows() const { return false; }

  /// The schedule config of a fusion region (`fused` phase); of a region with a product one of the family that the
  /// product's `vx.product` names. All variants of a target share the grid, so the workgroup tile must not depend on
  /// the variant.
  virtual StrategyAttrInterface chooseStrategy(FusionOp region, const TargetSpec &spec) const = 0;

  /// Appends the passes from the `kernels` phase (a module with one vx.kernel) to the target's own dialect.
  virtual void buildPipeline(mlir::OpPassManager &pm, const TargetSpec &spec) const = 0;

  /// Serialises a module that `buildPipeline` produced. Touches no device. Fails with a diagnostic if the kernel is the
  /// reason, and with `error` set if this machine is.
  virtual mlir::FailureOr<KernelBinary> serialize(mlir::ModuleOp kernel, const TargetSpec &spec,
                                                  std::string &error) const = 0;

  /// Concatenates kernels to one code section, in order.
  virtual mlir::FailureOr<LinkedImage> link(llvm::ArrayRef<KernelBinary> kernels, const TargetSpec &spec,
                                            std::string &error) const = 0;
};

} // namespace vx

#endif
