// Cases with their modules in one folder, for machines that have no compiler:
//
//     NAME/model.onnx, NAME/test_data_set_N/*.pb    as in the folders they are from
//     NAME/MODE.TARGET.vxm                          what the compiler makes of it, or
//     NAME/MODE.TARGET.unsupported                  why it makes nothing
//     NAME/MODE.second/call.json, output_K.pb       the second sizes, and the evaluator's outputs at these
//     NAME/MODE.second/own_N_K.pb                   the evaluator's outputs for test_data_set_N
#ifndef VX_TOOLS_PACKED_CASES_H
#define VX_TOOLS_PACKED_CASES_H

#include "case_compiler.h"
#include "case_folder.h"
#include "second_sizes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// Copies models and data into `folder`, which is made. Throws a ToolError: exit 2 where something is in it already,
// exit 1 where it cannot be written.
void packCases(const std::vector<CaseFolder> &cases, const std::string &folder);

// What came of compiling one of them. A failed compilation leaves nothing. Throws as writeFile.
void packCompiled(const std::string &folder, const std::string &name, Mode mode, const std::string &target,
                  const CompiledCase &compiled);

// Whether there is something of a mode and target in a packed case.
bool isPacked(const CaseFolder &folder, Mode mode, const std::string &target);

// The second sizes of a case and a mode, without the calls at others, and the calls at the sizes of the files. The
// inputs are made anew from those of the files, so the pack has the outputs alone. Throws as writeFile, and a ToolError
// (exit 3) for files that cannot be read. A case that was packed without second sizes has the result Untried.
void packSecondSizes(const std::string &folder, const std::string &name, Mode mode, const SecondSizes &second);
SecondSizes unpackSecondSizes(const CaseFolder &folder, Mode mode, const CaseData &data);

// A hash of the module's bytes, or of the reason, and of the second sizes. Throws a ToolError (exit 3) where there is
// neither file.
uint64_t packedHash(const CaseFolder &folder, Mode mode, const std::string &target);

// Throws a ToolError (exit 3) where there is neither file.
CompiledCase unpackCompiled(const CaseFolder &folder, Mode mode, const std::string &target);

} // namespace vx::tools

#endif
