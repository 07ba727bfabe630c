// Files of a hub's repository, brought into a folder of models.
#ifndef VX_TOOLS_MODEL_HUB_PULL_H
#define VX_TOOLS_MODEL_HUB_PULL_H

#include "hub_repository.h"

#include <functional>
#include <string>
#include <vector>

namespace vx::tools {

struct PullOptions {
  std::string address;           // hf:ORG/NAME[:FILE]
  std::string folder;            // of models; the files go to ORG/NAME in it
  std::string revision = "main"; // a branch, a tag or a commit
  bool isOffline = false;        // nothing is asked of the hub: the files are there already
};

// What is there after a pull.
struct PulledModel {
  std::string name;   // ORG/NAME
  std::string commit; // of the files
  std::string folder; // that they are in
  std::vector<HubFile> files;
  size_t fetched = 0; // files that were not there before
  uint64_t bytes() const;
};

// A file is written as NAME.part, checked by size and hash, and gets its name then. A NAME.part that is there is gone
// on with. `onFetch` is called before each file that the hub is asked for. Throws ToolError.
PulledModel pull(const PullOptions &options, const std::function<void(const HubFile &file)> &onFetch);

} // namespace vx::tools

#endif
