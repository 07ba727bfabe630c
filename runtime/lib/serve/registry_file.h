// registry.json of a model folder: the files of each model with their sizes and hashes, and the inputs and outputs of
// modules. `vx-models scan --write` makes it. A server compares the files with it and warns of those that differ.
#ifndef VX_SERVE_REGISTRY_FILE_H
#define VX_SERVE_REGISTRY_FILE_H

#include "model_folder.h"

#include <nlohmann/json.hpp>

#include <span>

namespace vx::serve {

inline constexpr char RegistryFileName[] = "registry.json";

struct RegistryFile {
  struct File {
    std::string path; // within the model folder
    uint64_t bytes = 0;
    int64_t modified = 0; // nanoseconds since 1970
    std::string sha256;   // in lower-case hexadecimal
  };
  struct Model {
    std::string name;
    ModelKind kind = ModelKind::module;
    std::vector<File> files; // in order of their paths
  };
  std::vector<Model> models; // in order of their names
  // Why the file cannot be used, "registry.json:3:9: ..." with the line and column where it has them; empty: it can be,
  // or there is none.
  std::string refusal;
};

// Reads the file of a model folder; a folder without one has no models in it.
RegistryFile readRegistryFile(const std::string &folder);

// Describes models that can be served and lie in the folder, as the document of registry.json. Reads all bytes of their
// files. Throws Error::io with the file. `notes` gets a line for each module that cannot be opened, whose functions are
// null then, as those of models that have not been compiled.
nlohmann::ordered_json describeRegistry(const std::string &folder, std::span<const ModelPlace> models,
                                        std::vector<std::string> &notes);

// A line for each file that is not as the registry has it, with both sizes or both hashes, and for each model of the
// registry that is not in `models`. A file whose size and time are those of the registry is not read.
std::vector<std::string> compareWithRegistry(const std::string &folder, const RegistryFile &registry,
                                             std::span<const ModelPlace> models);

} // namespace vx::serve

#endif
