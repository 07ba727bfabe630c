// Sizes of a function's arguments: what the caller bound, what files bound, and defaults for the rest.
#ifndef VX_TOOLS_SIGNATURE_H
#define VX_TOOLS_SIGNATURE_H

#include "vx/runtime/vx.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

using SymbolValues = std::map<std::string, int64_t>;

// "image: f32[batch,1,8,8]"; a sequence or optional has its kind before the type.
std::string argumentText(const vx_argument_info &argument);

// The function called `name`, or the first one when it is empty. Throws a usage error with the names there are.
const vx_function_info &findFunction(const vx::Module &module, const std::string &name);

// Index of an argument; throws a usage error with the names there are. `what` is "input" or "output".
size_t findArgument(std::string_view what, std::string_view name, const vx_argument_info *arguments, size_t count);

// Checks names and ranges of `--dim`: sizes of the function, and those that are bound when an instance is made. Throws
// a usage error with the symbols there are.
void checkDims(std::span<const vx_symbol_info> ofInstance, const vx_function_info &function, const SymbolValues &dims);

// The values of the module's own symbols, for an instance. What is not in `values` gets its default there.
std::vector<std::pair<std::string, int64_t>> instanceSizes(const vx::Module &module, SymbolValues &values);

// Binds the symbols that stand alone as a dimension of `argument` to the sizes in `dims`, unless they are bound
// already.
void bindSymbols(const vx_argument_info &argument, const std::vector<int64_t> &dims, SymbolValues &values);

// Binds each symbol that is not bound to the smallest size above 0 that it allows.
void bindDefaults(const vx_function_info &function, SymbolValues &values);

// The sizes of an argument. Where they need symbols that are not bound, these get their defaults.
std::vector<int64_t> argumentDims(const vx_function_info &function, const vx_argument_info &argument,
                                  SymbolValues &values);

// Value of an expression as signatures print it, e.g. "past + 1", "2 * max(a, b)", "n ceildiv 4". Throws a usage error
// for a name that has no value and for anything else that is not understood.
int64_t evaluateDim(std::string_view expression, const SymbolValues &values);

} // namespace vx::tools

#endif
