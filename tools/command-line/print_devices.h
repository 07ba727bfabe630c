// Every device there is, or why there is none.
#ifndef VX_TOOLS_PRINT_DEVICES_H
#define VX_TOOLS_PRINT_DEVICES_H

namespace vx::tools {

// On standard output, for people or as vx_list_devices has it.
void printDevices(bool asJson);

} // namespace vx::tools

#endif
