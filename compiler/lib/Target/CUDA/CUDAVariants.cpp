// PTX is assembled by the driver for whatever GPU is there, so a variant is a lower bound: code for sm_80 runs on every
// later GPU. Names with an `a` are the exception: their instructions exist on that one generation only.
//
// The default is two. sm_80 is the first with asynchronous copies and with matrix instructions for tf32 and bf16, and
// what it can do every GPU since 2020 can. sm_90a is Hopper with what is Hopper's alone: its warpgroup matrix
// instructions and register reallocation are not part of sm_90, and no later GPU has them.
//
// The PTX version is the oldest that knows the GPU, and not below 7.6, which the oldest driver that the runtime takes
// understands (CUDA 11.6): a newer version would shut out drivers for nothing.
#include "CUDAVariants.h"

#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;

namespace vx::cuda {

namespace {

struct Variant {
  StringLiteral name;
  int ptx; // 76 is 7.6
};

constexpr Variant known[] = {{"sm_80", 76},  {"sm_86", 76},  {"sm_87", 76},   {"sm_89", 78},  {"sm_90", 78},
                             {"sm_90a", 80}, {"sm_100", 86}, {"sm_100a", 86}, {"sm_120", 87}, {"sm_120a", 87}};
constexpr StringLiteral defaults[] = {"sm_90a", "sm_80"};

/// mma.sync, which every GPU since sm_80 has, with two products of 8 columns side by side. The tables are those of the
/// PTX manual for m16n8k16 (f16, bf16) and m16n8k8 (tf32): four neighbouring threads share a row, of which each holds
/// two neighbours.
MatrixUnit getMatrixUnit() {
  MatrixUnit unit;
  unit.depths = {{"f16", 16}, {"bf16", 16}, {"tf32", 8}};
  unit.laneColumns = 4;
  unit.columnStep = 2;
  for (int64_t column : {0, 8})
    for (int64_t row : {0, 8})
      for (int64_t neighbour : {0, 1})
        unit.elements.emplace_back(row, column + neighbour);
  unit.readsAcross = true;
  return unit;
}

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

} // namespace

FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) {
  auto describe = [](const Variant &variant, TargetSpec &spec) {
    std::string ptx = "ptx" + std::to_string(variant.ptx);
    spec.triple = "nvptx64-nvidia-cuda";
    spec.features = "+" + ptx;
    spec.requires_.push_back(ptx);
    spec.asyncCopyBytes = 16;
    spec.matrixUnit = getMatrixUnit();
    spec.hasByteDots = true;
  };
  return chooseLLVMGPUVariants<Variant>("cuda", known, defaults, request, describe, error);
}

MachineOptions getMachineOptions(const TargetSpec &spec) { return {spec, initializeTarget}; }

} // namespace vx::cuda
