// Feeds bytes to the readers of configurations and of keys' files: an error with its place, or what prints as a file
// that reads as the same.
//
// The first byte says which: an even one begins a configuration, an odd one a file of keys.
#include "api_keys.h"
#include "configuration.h"
#include "kind_and_text.h"

#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace vx::serve;

void check(bool condition) {
  if (!condition)
    std::abort();
}

// A file in memory, since the reader looks at files.
class MemoryFile {
public:
  MemoryFile()
      : descriptor(memfd_create("configuration", MFD_CLOEXEC)), path("/proc/self/fd/" + std::to_string(descriptor)) {}
  ~MemoryFile() { close(descriptor); }

  ConfigurationReading read(const std::string &text) {
    check(ftruncate(descriptor, 0) == 0 &&
          pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    return readConfiguration({{}, path, std::vector<std::string>{"HOME=/home/a"}});
  }

private:
  const int descriptor;
  const std::string path;
};

void readConfigurationText(const std::string &text) {
  static MemoryFile file;
  const ConfigurationReading reading = file.read(text);
  for (const ConfigurationMessage &message : reading.messages)
    check(!message.text.empty() && !message.origin.place.empty() && message.line().find('\n') == std::string::npos);
  check(reading.configuration.has_value() == !reading.firstError());
  if (!reading.configuration)
    return;
  const ConfigurationReading again = file.read(printConfiguration(*reading.configuration));
  check(again.configuration.has_value());
  check(compareConfigurations(*reading.configuration, *again.configuration).empty());
}

void readKeys(const std::string &text) {
  const ApiKeysReading reading = parseApiKeys(text, "keys");
  check(reading.keys.has_value() == reading.messages.empty());
  for (const ConfigurationMessage &message : reading.messages)
    check(!message.text.empty() && message.line().find('\n') == std::string::npos);
  // What stands in the file opens nothing.
  check(!reading.keys || (!reading.keys->all().empty() && !reading.keys->find(text)));
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return vx::fuzz::mutateKindAndText(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const vx::fuzz::KindAndText input(data, size);
  if (input.kind % 2 == 0)
    readConfigurationText(input.text);
  else
    readKeys(input.text);
  return 0;
}
