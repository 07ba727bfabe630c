#include "load_options.h"

#include "command_line.h"
#include "input_file.h"

#include <cstdlib>

namespace vx::tools {

std::string LoadOptions::key() const {
  std::string key;
  if (!keyFile.empty()) {
    const std::vector<uint8_t> bytes = readFile(keyFile);
    key.assign(bytes.begin(), bytes.end());
    key.erase(key.find_last_not_of(" \t\r\n") + 1);
  } else if (const char *variable = std::getenv("VX_API_KEY")) {
    key = variable;
  }
  if (key.find_first_of("\r\n") != std::string::npos)
    throw fileError("{}: expected a key on one line", keyFile.empty() ? "VX_API_KEY" : keyFile);
  return key;
}

} // namespace vx::tools
