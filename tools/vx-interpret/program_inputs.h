// The inputs of a program in IR text, as the command line states them.
#ifndef VX_TOOLS_PROGRAM_INPUTS_H
#define VX_TOOLS_PROGRAM_INPUTS_H

#include "vx/Reference/Interpreter.h"

#include <map>
#include <string>
#include <vector>

namespace vx::tools {

// The names of the arguments or results: the attribute `vx.name`, or the number.
std::vector<std::string> argumentNames(mlir::func::FuncOp function);
std::vector<std::string> resultNames(mlir::func::FuncOp function);

// One value per argument of `function`, from texts NAME=@x.npy and NAME=f32[2,3]:random|zeros|ones. What none of them
// names is random, with symbols of `dims`, of other inputs, or of the least size above 0. Throws a ToolError.
std::vector<reference::HostValue> makeProgramInputs(mlir::func::FuncOp function,
                                                    const std::vector<std::string> &specifications,
                                                    const std::map<std::string, int64_t> &dims, uint64_t seed);

// An instance of the program, as the runtime makes one: with the sizes that `dims` gives, each of them in the range
// that its declaration allows, and the variables that start with random values. Throws a ToolError.
reference::ProgramState makeInstance(mlir::ModuleOp module, const std::map<std::string, int64_t> &dims, uint64_t seed);

} // namespace vx::tools

#endif
