// The TOML file of a configuration.
#ifndef VX_SERVE_CONFIGURATION_FILE_H
#define VX_SERVE_CONFIGURATION_FILE_H

#include "configuration_messages.h"
#include "configuration_values.h"

namespace vx::serve {

// Sets what the file has, and says all that is wrong with it. `named` is what said that it is to be read, a flag or a
// variable, or the file itself. Paths that it has begin at its folder.
void readConfigurationFile(const std::string &path, const Origin &named, const PathContext &paths,
                           Configuration &configuration, ConfigurationMessages &messages);

} // namespace vx::serve

#endif
