// What a target is to the compiler: five questions and no state.
//
// A backend includes no other backend and needs no device. It is registered by name in a TargetRegistry that the tools
// fill.
#ifndef VX_TARGET_TARGETBACKEND_H
#define VX_TARGET_TARGETBACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vx {

/// The matrix instructions of a GPU: a subgroup multiplies fragments of 16 rows and 16 columns (!vxk.fragment) and adds
/// the products to f32.
struct MatrixUnit {
  static constexpr int64_t rows = 16, columns = 16;

  /// The depth of the product of two fragments by their element type: "f16", "bf16", "tf32". Empty: there is no unit.
  std::map<std::string, int64_t> depths;
  int64_t subgroup = 32; // threads that hold a fragment together
  /// Where thread t holds the elements of an accumulator, in the order of `vxk.fragment_elements`: in row
  /// t / laneColumns * rowStep + first and column t % laneColumns * columnStep + second.
  std::vector<std::pair<int64_t, int64_t>> elements;
  int64_t laneColumns = 1, rowStep = 1, columnStep = 1;
  /// Factors are read as well from memory in which neighbours lie across the sum, not along it.
  bool readsAcross = false;

  /// The depth for factors of this type, 0 where there is none.
  int64_t depthOf(mlir::Type element) const {
    std::string name;
    llvm::raw_string_ostream(name) << element;
    auto found = depths.find(name);
    return found == depths.end() ? 0 : found->second;
  }
};

/// One variant of a target: the facts that code generation may rely on, as data.
struct TargetSpec {
  std::string target;                 // "cpu", "vulkan"
  std::string variant;                // "x86-64-v3", "avx512", "baseline": the name in the module file
  std::string triple;                 // LLVM triple, cpu only
  std::string cpu;                    // LLVM CPU name, cpu only
  std::string features;               // LLVM feature string, cpu only
  std::vector<std::string> requires_; // what the device must report at load, as the runtime spells it
  int64_t vectorBits = 128;           // native vector width
  int64_t registers = 16;             // vector registers
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  int64_t maxThreads = 1;      // threads of a workgroup, GPU
  int64_t workgroupMemory = 0; // bytes of workgroup memory, GPU
  MatrixUnit matrixUnit;
  int64_t asyncCopyBytes = 0; // the largest `vxk.async_copy`; 0: there is none
};

/// The code of one kernel for one variant: an object file (cpu) or a SPIR-V module (vulkan).
struct KernelBinary {
  std::string entry; // symbol or entry point
  std::vector<char> code;
};

/// All kernels of one variant as a code section of the module file.
struct LinkedImage {
  std::vector<char> bytes;
  std::vector<uint64_t> offsets;      // where kernels are addressed by range: n + 1 values; else empty
  std::vector<std::string> requires_; // what these kernels need of a device beyond the variant's own list
};

/// The layouts of tensors that a target's kernels read best.
struct LayoutPolicy {
  bool channelsLast = false; // convolutions with their channels innermost
  /// The element types of factors for which that holds; empty: for all.
  std::vector<std::string> channelsLastFactors;
  bool packedWeights = false;    // constant weights in the order in which kernels read them
  int64_t packedWeightBytes = 0; // a row of a tile of them; 0: of filters only, without tiles
};

class TargetBackend {
public:
  virtual ~TargetBackend() = default;

  /// The `--target=` spelling, also the name of the lib/Target folder and of the runtime's driver.
  virtual llvm::StringRef name() const = 0;

  /// The variants to build, best first. `request` is the user's list (`--cpu=native,x86-64-v3`) or empty for the
  /// default. Fails with `error` set to a message that lists the names known.
  virtual mlir::FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request,
                                                            std::string &error) const = 0;

  /// Fails with a diagnostic at `op` that names the first thing unsupported. Asked for every vx op of the `graph`
  /// phase.
  virtual llvm::LogicalResult checkSupported(mlir::Operation *op, const TargetSpec &spec) const = 0;

  /// True for a composite op (a softmax, a norm, attention) that this target wants in parts. The others stay whole.
  virtual bool decomposes(mlir::Operation *composite, const TargetSpec &spec) const = 0;

  virtual LayoutPolicy layouts(const TargetSpec & /*spec*/) const { return {}; }

  /// False where no kernel can hold bf16, so that factors cannot be rounded to it.
  virtual bool hasBF16() const { return true; }

  /// The schedule config of a fusion region (`fused` phase). All variants of a target share the grid, so the workgroup
  /// tile must not depend on the variant.
  virtual StrategyAttr chooseStrategy(FusionOp region, const TargetSpec &spec) const = 0;

  /// Appends the passes from the `kernels` phase (a module with one vx.kernel) to the target's own dialect.
  virtual void buildPipeline(mlir::OpPassManager &pm, const TargetSpec &spec) const = 0;

  /// Serialises a module that `buildPipeline` produced. Touches no device. Fails with a diagnostic where the kernel is
  /// the reason, and with `error` set where this machine is.
  virtual mlir::FailureOr<KernelBinary> serialize(mlir::ModuleOp kernel, const TargetSpec &spec,
                                                  std::string &error) const = 0;

  /// Joins kernels to one code section, in order.
  virtual mlir::FailureOr<LinkedImage> link(llvm::ArrayRef<KernelBinary> kernels, const TargetSpec &spec,
                                            std::string &error) const = 0;
};

} // namespace vx

#endif
