// Files of what was trained. None of it is lost where one cannot be written.
#ifndef VX_TRAIN_TOOL_TRAINED_FILES_H
#define VX_TRAIN_TOOL_TRAINED_FILES_H

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace vx::tools {

class TrainedFiles {
public:
  // `checkpointFolder` may be empty.
  explicit TrainedFiles(const std::string &checkpointFolder);

  // Writes one thing under each of its names. If that fails for all of them, it is written as rescued-NAME, or
  // rescued-2-NAME and so on where that exists, beside the folder of checkpoints, or else to TMPDIR (/tmp), or else to
  // the working folder. Nothing is thrown: `problems` has what failed.
  void write(const std::string &what, std::span<const std::string> paths,
             const std::function<void(const std::string &path)> &write);

  // What could not be written, why, and where it is instead; empty where all was written.
  const std::string &problems() const { return text; }

private:
  bool rescue(const std::string &what, const std::string &path,
              const std::function<void(const std::string &path)> &write);
  void tell(const std::string &problem) { text += (text.empty() ? "" : "; ") + problem; }

  std::vector<std::string> folders;
  std::string text;
};

} // namespace vx::tools

#endif
