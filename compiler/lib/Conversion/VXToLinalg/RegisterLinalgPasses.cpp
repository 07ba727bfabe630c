#include "vx/Conversion/VXToLinalg.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Conversion/VXToLinalg/Passes.h.inc"

void registerVXToLinalgPasses() { registerConversionVXToLinalgPasses(); }
} // namespace vx
