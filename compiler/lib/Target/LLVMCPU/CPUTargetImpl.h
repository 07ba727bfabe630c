// What the parts of the CPU target share. Private to this folder.
#ifndef VX_LIB_TARGET_LLVMCPU_CPUTARGETIMPL_H
#define VX_LIB_TARGET_LLVMCPU_CPUTARGETIMPL_H

#include "vx/Target/TargetBackend.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace vx::cpu {

/// See TargetBackend::variants.
mlir::FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request, std::string &error);

/// See TargetBackend::checkSupported.
llvm::LogicalResult checkSupported(mlir::Operation *op);

/// True when a kernel of the strategy `cpu_flash` can be made for it: both depths are known, and neither 0 nor large.
bool hasKernelFor(AttentionOp op);

/// True for a contraction or convolution of factors of 8 bits with sums of 32.
bool hasByteFactors(mlir::Operation *product);

/// True for a product of bytes whose kernel sums those of four neighbours at once: its factors have 8 bits, its
/// sums 32.
bool multipliesBytes(mlir::Operation *product);

/// True for a convolution with groups whose vectors run along the filters, if its channels are last: so few filters a
/// group that a product of them would leave most lanes idle, and no more channels than two vectors for each vector of
/// filters.
bool isDepthwise(ConvOp conv);

/// See TargetBackend::chooseProduct.
llvm::SmallVector<ProductCandidate> chooseProduct(mlir::Operation *product, const ProductFacts &facts);

/// See TargetBackend::estimateMove.
double estimateMove(mlir::Value tensor);

/// See TargetBackend::chooseStrategy.
StrategyAttrInterface chooseStrategy(FusionOp region);

enum class Output { Object, Assembly, LLVM };

/// Compiles a module in the LLVM dialect. Diagnostics go to the module's location.
mlir::FailureOr<llvm::SmallVector<char, 0>> compile(mlir::ModuleOp module, const TargetSpec &spec, Output output);

/// Names of the functions that the support library defines.
const llvm::StringSet<> &supportFunctions();

/// The object code of the support library for one variant.
mlir::FailureOr<llvm::SmallVector<char, 0>> compileSupportLibrary(const TargetSpec &spec, std::string &error);

/// See TargetBackend::link.
mlir::FailureOr<LinkedImage> link(llvm::ArrayRef<KernelBinary> kernels, const TargetSpec &spec, std::string &error);

} // namespace vx::cpu

#endif
