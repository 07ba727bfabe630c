// A repository of a hub: its files with their sizes and hashes, and which of them a model needs.
#ifndef VX_TOOLS_MODEL_HUB_HUB_REPOSITORY_H
#define VX_TOOLS_MODEL_HUB_HUB_REPOSITORY_H

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

using HubJson = nlohmann::ordered_json;

// "hf:ORG/NAME[:FILE]"
struct HubAddress {
  std::string organisation, name;
  std::string file; // empty: those that the model needs
  std::string repository() const { return organisation + "/" + name; }
};
// Throws usageError.
HubAddress parseHubAddress(std::string_view text);

struct HubFile {
  std::string path;             // within the repository, and never out of it
  std::optional<uint64_t> size; // nothing: the hub does not name it
  std::string hash;             // 64 digits of SHA-256 or 40 of git's hash; empty: the hub does not name it
};

struct HubListing {
  std::string commit;
  std::vector<HubFile> files; // in order of their paths
};

// Reads the hub's description of a repository. Throws fileError.
HubListing parseListing(const std::string &json, const std::string &repository);

// The file of the address, or those of a model: an .onnx file or the only .vxm or .gguf file, and its configuration and
// tokenizer. The model's own file is the last one, so that a folder without it is no model yet. Throws usageError for a
// file that is not there, with near names, and fileError for a repository without one model.
std::vector<HubFile> chooseFiles(const HubListing &listing, const HubAddress &address);

// Whether a path of somebody else's stays in a folder: "onnx/model.onnx".
bool isSafePath(std::string_view path);

} // namespace vx::tools

#endif
