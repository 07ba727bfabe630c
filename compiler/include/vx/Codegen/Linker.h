// LLD in this process, for the targets whose code is an ELF image.
#ifndef VX_CODEGEN_LINKER_H
#define VX_CODEGEN_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>
#include <vector>

namespace vx {

/// Links object files to one image, which exports `exports` and keeps everything else to itself.
///
/// \param options  LLD's, beside inputs, output and exports.
/// \param image    The linked file's bytes on success.
/// \param error    On failure what went wrong, with what the linker said.
///
/// Thread-safe. LLD keeps state in globals, so that one link runs at a time in a process, whatever the target.
llvm::LogicalResult linkImage(llvm::ArrayRef<std::string> options, llvm::ArrayRef<llvm::ArrayRef<char>> objects,
                              llvm::ArrayRef<std::string> exports, std::vector<char> &image, std::string &error);

} // namespace vx

#endif
