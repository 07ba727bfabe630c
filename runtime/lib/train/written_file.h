// A file that is whole or not there, and that is there after the power has gone.
#ifndef VX_TRAIN_WRITTEN_FILE_H
#define VX_TRAIN_WRITTEN_FILE_H

#include "vx/base/partial_file.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

// Written beside the name; has the name when it is committed. Every function throws Error::io.
class WrittenFile {
public:
  // Removes what killed processes have left in the folder. A folder or a device under the name is refused.
  explicit WrittenFile(const std::string &path);
  void write(const void *data, size_t size);
  void commit();
  // Gives several files their names, in order: all, or none.
  static void commitAll(std::span<WrittenFile *const> files);

private:
  const std::string path;
  PartialFile file;
};

} // namespace vx::train

#endif
