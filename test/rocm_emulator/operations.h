// The meaning of each instruction by its name.
#ifndef VX_TEST_ROCM_EMULATOR_OPERATIONS_H
#define VX_TEST_ROCM_EMULATOR_OPERATIONS_H

#include "instruction.h"

namespace vx::rocm_emulator {

// Null when it is not known. The name is without its encoding: no _e32, _e64, _dpp, _sdwa.
const Operation *findOperation(std::string_view name);

std::vector<Operation> scalarOperations();
std::vector<Operation> floatOperations();
std::vector<Operation> integerOperations();
std::vector<Operation> comparisons();
std::vector<Operation> packedOperations();
std::vector<Operation> crossLaneOperations();
std::vector<Operation> memoryOperations();
std::vector<Operation> matrixOperations();

} // namespace vx::rocm_emulator

#endif
