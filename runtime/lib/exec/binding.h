// Checks a call's inputs against the signature, and finds the sizes of its symbols.
#ifndef VX_RUNTIME_EXEC_BINDING_H
#define VX_RUNTIME_EXEC_BINDING_H

#include "exec/value.h"
#include "module/module.h"

namespace vx {

// On success `symbols` has the value of each symbol of the function, which fulfil the function's constraints; a
// data-dependent one is 0. `bound` has the values of the instance's. Every message names the input or the source node,
// what is wanted and what came.
Status bindInputs(const ModuleData &module, const Function &function, std::span<const int64_t> bound,
                  std::span<Value *const> inputs, std::vector<int64_t> &symbols);

// Whether the sizes fulfil what the function wants of them. Messages name the source node.
Status checkConstraints(const ModuleData &module, const Function &function, std::span<const int64_t> symbols);

// The entry of the target that runs the function at these sizes.
size_t chooseEntry(const Target &target, uint32_t function, std::span<const int64_t> symbols);

// The details of a status about a node: {"node":"add_3","op":"Add","expected":"...","got":"..."}.
std::string siteDetails(const FaultSite &site, std::string_view expected, std::string_view got);

// "add_3 (Add): needs sizes 'n' and 'm' equal, got 3 and 5"
inline Status unfulfilled(const FaultSite &site, vx_code code, int64_t a, int64_t b) {
  return failure(code, "{}: needs {}, got {} and {}", site.node, site.what, a, b)
      .attachDetails(siteDetails(site, site.what, fmt::format("{} and {}", a, b)));
}

} // namespace vx

#endif
