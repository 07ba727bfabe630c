// Which models there are, and which one a name means.
#ifndef VX_SERVE_MODEL_REGISTRY_H
#define VX_SERVE_MODEL_REGISTRY_H

#include "configuration.h"
#include "registry_file.h"

#include <memory>

namespace vx::serve {

struct RegisteredModel : ModelPlace {
  std::vector<std::string> aliases;
  // How it is served; null: as [vx] and [vx.server.limits] have it.
  std::shared_ptr<const ModelConfiguration> configuration;

  bool isUsable() const { return refusal.empty(); }
};

// What a name means: a model, or what is wrong with the name.
struct ModelChoice {
  const RegisteredModel *model = nullptr; // of the registry
  bool isAmbiguous = false;
  std::string problem; // "model 'bge' is ambiguous: bge-small-en-v1.5, bge-base-en-v1.5"
};

// Immutable: a folder that has changed is read by a new one. A name never becomes a path.
class ModelRegistry {
public:
  // What lies in the configuration's model folder and what it lists; only the latter where flags say so.
  static ModelRegistry read(const Configuration &configuration);
  // What lies in a folder.
  static ModelRegistry read(const std::string &folder);

  // In the order of their names.
  const std::vector<RegisteredModel> &models() const { return all; }
  // Why the model folder was not read; empty: it was.
  const std::string &refusal() const { return folderRefusal; }
  const std::string &folder() const { return folderPath; }
  // Of models that are served though others may change them, each with the flag or line that names it. Of files of the
  // folder that are not as its registry.json has them: their bytes are read where sizes are equal and times differ.
  std::vector<ConfigurationMessage> warnings(const Configuration &configuration) const;

  // The lines of `warnings` about registry.json.
  std::vector<std::string> compareFiles() const;

  // What the configuration names and is not to be had: a model of its list or of a flag, or a folder that somebody gave
  // it. What merely lies in the folder is refused without a word here, and so is what a server has already, which may
  // have turned wrong since.
  struct Present {
    std::vector<std::string> models;
    std::string folder;
  };
  std::vector<ConfigurationMessage> missing(const Configuration &configuration, const Present &present = {}) const;

  // See chooseModel.
  ModelChoice find(std::string_view name) const;

private:
  void addFolder(const std::string &path);
  void addConfigured(const ModelConfiguration &model);
  void refuseDuplicates();

  std::string folderPath, folderRefusal, folderWarning;
  std::vector<RegisteredModel> all;
  std::vector<ModelPlace> inFolder; // all that lie there
  RegistryFile registryFile;
};

} // namespace vx::serve

#endif
