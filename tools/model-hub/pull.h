// vx-models pull: files of a hub's repository into a folder of models.
#ifndef VX_TOOLS_MODEL_HUB_PULL_H
#define VX_TOOLS_MODEL_HUB_PULL_H

#include <string>

namespace vx::tools {

struct PullOptions {
  std::string address;           // hf:ORG/NAME[:FILE]
  std::string folder;            // of models; the files go to ORG/NAME in it
  std::string revision = "main"; // a branch, a tag or a commit
  bool isOffline = false;        // nothing is asked of the hub: the files are there already
  bool json = false;
};

// A file is written as NAME.part, checked by size and hash, and gets its name then. A NAME.part that is there is gone
// on with. Throws ToolError.
void pull(const char *tool, const PullOptions &options);

} // namespace vx::tools

#endif
