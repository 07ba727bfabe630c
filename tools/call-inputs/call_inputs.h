// The inputs of a call as the command line states them.
#ifndef VX_TOOLS_CALL_INPUTS_H
#define VX_TOOLS_CALL_INPUTS_H

#include "signature.h"
#include "tensor.h"

#include <string>
#include <vector>

namespace vx::tools {

// Makes one value per input of `function`.
//
// `specifications` are texts of --input: NAME=@x.npy, NAME=@x.pb, NAME=f32[2,3]:random, NAME=f32[2,3]:zeros,
// NAME=...:ones. An input that none of them names is random, with its dims from `symbols` (--dim), from the files of
// the other inputs, or the smallest size allowed. `symbols` gets what was bound. The same `seed` gives the same bytes.
// What indexes something gets values that the module states as allowed; where it knows none the input is zeros, and its
// name is added to `zeros`.
//
// Throws a ToolError: exit 2 for what is wrong in the text, exit 3 for what is wrong in a file.
std::vector<Value> makeInputs(const vx_function_info &function, const std::vector<std::string> &specifications,
                              uint64_t seed, SymbolValues &symbols, std::vector<std::string> *zeros = nullptr);

// What a tool says about them.
std::string zerosNote(const std::vector<std::string> &zeros);

// Hands a value to the runtime.
vx::Value toRuntime(const Value &value);

// Takes a copy of a value of the runtime.
Value fromRuntime(const vx::Value &value);

} // namespace vx::tools

#endif
