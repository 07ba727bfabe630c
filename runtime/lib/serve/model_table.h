// The models that clients may name.
#ifndef VX_SERVE_MODEL_TABLE_H
#define VX_SERVE_MODEL_TABLE_H

#include "model_names.h"
#include "served_model.h"

#include <functional>

namespace vx::serve {

class ModelTable {
public:
  enum class State : uint8_t { unloaded, loading, ready, failed };
  struct Entry {
    ModelSettings settings;
    State state = State::unloaded;
    std::string reason;     // why it failed; or why what its file has become is not served
    bool isWaiting = false; // for somebody to load it, for the first time or since its settings or files are others
    // Serves until its successor does.
    std::shared_ptr<ServedModel> model;
    // See stateOfFiles: what it was last tried to be loaded from, and what it was loaded from.
    std::string filesTried, filesLoaded;

    bool isLost() const { return model && model->isLost(); }
    // "ready", "device_lost", "loading", "failed", "unloaded"
    std::string_view stateText() const;
  };
  // A model that is there, and cannot be served as it is.
  struct Refused {
    std::string name, reason;
  };
  // Makes the module file of a model, where it is none itself. Throws Error for what cannot be made.
  using Prepare = std::function<std::string(const ModelSettings &)>;
  // Told of each model that has been loaded, or not.
  using Report = std::function<void(const Entry &)>;

  // `warn` is told of lost devices.
  ModelTable(Metrics &metrics, Prepare prepare, Report report, ModelDevice::Warn warn);

  // Names and aliases are each there once, which the configuration sees to. A model that is there already and has other
  // settings, or whose files are others, waits to be loaded, and serves as it is until then; other aliases and limits
  // hold at once.
  void add(const ModelSettings &settings);
  // What clients are told of these names where no model has them.
  void refuse(const std::vector<Refused> &models);
  // What is there now cannot be served for that reason; what is loaded is served on. False: it is not.
  bool keep(const std::string &name, const std::string &reason);
  void remove(const std::string &name);

  // Loads it on this thread where it is not loaded, has others settings or files by now, or has lost a device. Where
  // that fails, what is served goes on. Throws ErrorCode::conflict while another thread does, model_not_found,
  // out_of_memory, and internal with the reason.
  void load(std::string_view name);
  // Requests that wait fail; one that is running is done first. Throws as `load`.
  void unload(std::string_view name);
  // Of the device or what else is lost.
  void unloadAll();

  // Throws ErrorCode::model_not_found, with names that are near, and ErrorCode::loading where it is not loaded.
  std::shared_ptr<ServedModel> find(std::string_view name) const;
  // The name that the table has for it, or nothing.
  std::optional<std::string> knownName(std::string_view name) const;
  std::vector<Entry> entries() const;
  Entry entry(std::string_view name) const;
  std::vector<Refused> refusals() const;

private:
  enum class Again : bool { no, yes };
  // Whether its settings have become others meanwhile.
  Again loadOnce(const std::string &name);
  // Ends a model that has a successor, when those who have it by now and what waits for it are done.
  static void retire(std::shared_ptr<ServedModel> model);
  NameChoice choose(std::string_view name) const;
  Entry *findEntry(std::string_view name);
  // By the very name.
  Entry *entryOf(const std::string &name);
  Entry &wantEntry(std::string_view name);

  Metrics &metrics;
  const Prepare prepare;
  const Report report;
  const ModelDevice::Warn warn;
  mutable std::mutex lock;
  std::vector<Entry> models;
  std::vector<Refused> refused;
};

} // namespace vx::serve

#endif
