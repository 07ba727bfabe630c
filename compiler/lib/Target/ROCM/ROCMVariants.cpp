// A code object is for one GPU, so each has its variant. The default is one desktop GPU (gfx1100), one integrated one
// (gfx1151) and one for data centres (gfx942).
#include "ROCMVariants.h"

#include "PinProducts.h"

#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;

namespace vx::rocm {

namespace {

enum class Unit { None, WMMA, MFMA };

struct Variant {
  StringLiteral name;
  int wavefront;
  Unit unit;
};

// RDNA 4 has a WMMA whose fragments lie otherwise; there is no code for it yet.
constexpr Variant known[] = {{"gfx90a", 64, Unit::MFMA},  {"gfx942", 64, Unit::MFMA},  {"gfx1030", 32, Unit::None},
                             {"gfx1100", 32, Unit::WMMA}, {"gfx1101", 32, Unit::WMMA}, {"gfx1102", 32, Unit::WMMA},
                             {"gfx1150", 32, Unit::WMMA}, {"gfx1151", 32, Unit::WMMA}, {"gfx1200", 32, Unit::None},
                             {"gfx1201", 32, Unit::None}};
constexpr StringLiteral defaults[] = {"gfx1100", "gfx1151", "gfx942"};

/// Fragments of 16 x 16 x 16. A thread holds a part of one column of an accumulator: with WMMA every second row, from
/// row t / 16 on; with MFMA four rows below each other.
MatrixUnit getMatrixUnit(const Variant &variant) {
  MatrixUnit unit;
  if (variant.unit == Unit::None)
    return unit;
  bool isWMMA = variant.unit == Unit::WMMA;
  unit.depths = {{"f16", 16}, {"bf16", 16}};
  unit.subgroup = variant.wavefront;
  unit.laneColumns = 16;
  unit.rowStep = isWMMA ? 1 : 4;
  for (int64_t k = 0; k < MatrixUnit::rows * MatrixUnit::columns / unit.subgroup; ++k)
    unit.elements.emplace_back(isWMMA ? 2 * k : k, 0);
  return unit;
}

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
  });
}

} // namespace

FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) {
  auto describe = [](const Variant &variant, TargetSpec &spec) {
    spec.triple = "amdgcn-amd-amdhsa";
    // Desktop GPUs run wavefronts of either size; all code is for one.
    spec.features = variant.wavefront == 32 ? "+wavefrontsize32" : "+wavefrontsize64";
    // LLVM 22 makes a dot product of bytes of a * b + (condition ? c * d : 0) too, which adds c * d in any case.
    spec.features += ",-dot1-insts,-dot7-insts,-dot8-insts";
    spec.matrixUnit = getMatrixUnit(variant);
  };
  return chooseLLVMGPUVariants<Variant>("rocm", known, defaults, request, describe, error);
}

int64_t getWavefrontSize(const TargetSpec &spec) {
  return llvm::find_if(known, [&](const Variant &variant) { return variant.name == spec.variant; })->wavefront;
}

MachineOptions getMachineOptions(const TargetSpec &spec, bool isAssembly) {
  return {spec, initializeTarget, isAssembly, pinProducts};
}

} // namespace vx::rocm
