// A module file again, with other first values of variables.
#ifndef VX_MODULE_SAVE_MODULE_H
#define VX_MODULE_SAVE_MODULE_H

#include "base/status.h"
#include "module/module.h"

#include <cstdint>
#include <span>
#include <string>

namespace vx {

// The elements of a variable whose dims are known to the module, row-major.
struct FirstValue {
  uint32_t variable = 0;
  std::span<const uint8_t> bytes;
};

// Writes a module to `path`, in which these variables start with these values. All else is as in `module`; sections of
// external files come into the file. The file appears when it is whole. A module that was saved like this and is saved
// again does not grow. VX_IO_ERROR where it cannot be written; VX_UNSUPPORTED, with the name, for a variable whose size
// depends on the instance.
Status saveModule(const Module &module, std::span<const FirstValue> values, const std::string &path);

} // namespace vx

#endif
