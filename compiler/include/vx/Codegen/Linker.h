// LLD in this process, for targets with ELF images.
#ifndef VX_CODEGEN_LINKER_H
#define VX_CODEGEN_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace vx {

/// Links object files to one image, which exports `exports` and nothing else.
///
/// \param options  LLD's, beside inputs, output and exports.
/// \param image    The linked file's bytes on success.
/// \param error    On failure the reason, with the linker's message.
///
/// Thread-safe. LLD has state in globals, so one link runs at a time in a process, for all targets.
llvm::LogicalResult linkImage(llvm::ArrayRef<std::string> options, llvm::ArrayRef<llvm::ArrayRef<char>> objects,
                              llvm::ArrayRef<std::string> exports, std::vector<char> &image, std::string &error);

} // namespace vx

#endif
