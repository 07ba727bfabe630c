// The facts of a target, and the results of its compilation, as data: code generation and the module writer read it and
// know no target.
#ifndef VX_ANALYSIS_TARGETSPEC_H
#define VX_ANALYSIS_TARGETSPEC_H

#include "mlir/IR/Types.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>
#include <utility>
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
  /// Factors may also be read from memory in which neighbours are across the sum, not along it.
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
  std::vector<std::string> requires_; // features that the device must report at load, as the runtime spells them
  int64_t vectorBits = 128;           // native vector width
  int64_t registers = 16;             // vector registers
  int64_t maskedBits = 8;             // the least element that masked loads and stores take, cpu only
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  int64_t maxThreads = 1;      // threads of a workgroup, GPU
  int64_t workgroupMemory = 0; // bytes of workgroup memory, GPU
  MatrixUnit matrixUnit;
  int64_t asyncCopyBytes = 0; // the largest `vxk.async_copy`; 0: there is none
  bool hasByteDots = false;   // one instruction does a `vxk.dot` of an unsigned and a signed factor
};

/// The code of one kernel for one variant: an object file (cpu) or a SPIR-V module (vulkan).
struct KernelBinary {
  std::string entry; // symbol or entry point
  std::vector<char> code;
  /// The strategy of this code, if it is not the one that was asked for, and the reason.
  std::string takenStrategy, declineReason;
};

/// All kernels of one variant as a code section of the module file.
struct LinkedImage {
  std::vector<char> bytes;
  std::vector<uint64_t> offsets;      // if kernels are addressed by range, n + 1 values; else empty
  std::vector<std::string> requires_; // features that these kernels need beyond the variant's own list
};

} // namespace vx

#endif
