// What the dispatches of a program make, in files: what vx-run compares devices with.
#ifndef VX_TOOLS_DISPATCH_TRACE_H
#define VX_TOOLS_DISPATCH_TRACE_H

#include "tensor.h"
#include "vx/Reference/Interpreter.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace vx::tools {

// A folder with `trace.json` and a file in ONNX's form for each tensor that it names:
//   {"version":1, "dispatches":[{"kernel","nodes":[],"derived","outputs":[FILE]}], "outputs":[{"name","kind","file"}],
//    "variables":[{"name","file"}],
//    "examined":{"inputs":[FILE], "ops":[{"op","nodes":[],"program","value"}]}}
// `derived` dispatches compute what constants and weights decide, which a device does once. `examined` is there when
// one dispatch is looked into: what it reads, and for each op of its kernel in turn a program in IR text of the ops up
// to that one over the same inputs, with the value that the op has.
class DispatchTrace {
public:
  // `examined` is the number of the dispatch that is looked into, if any. Both throw a ToolError for files that cannot
  // be written.
  DispatchTrace(std::string folder, std::optional<uint64_t> examined);
  void observe(const reference::ObservedDispatch &dispatch);
  // Behind the call: its results, and the variables as it leaves them.
  void finish(mlir::func::FuncOp function, llvm::ArrayRef<reference::HostValue> results,
              const reference::ProgramState &state);

private:
  std::string write(const std::string &name, const reference::HostValue &value) const;
  void examine(const reference::ObservedDispatch &dispatch);

  const std::filesystem::path folder;
  const std::optional<uint64_t> examined;
  nlohmann::ordered_json trace;
  std::string problem; // of the first file that could not be written, by an observer that must not throw
};

} // namespace vx::tools

#endif
