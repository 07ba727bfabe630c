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
    std::string reason;     // why it failed
    bool isWaiting = false; // for somebody to load it, for the first time or since its settings are others
    std::shared_ptr<ServedModel> model;
  };
  // Makes the module file of a model, where it is none itself. Throws Error for what cannot be made.
  using Prepare = std::function<std::string(const ModelSettings &)>;
  // Told of each model that has been loaded, or not.
  using Report = std::function<void(const Entry &)>;

  ModelTable(Metrics &metrics, Prepare prepare, Report report);

  // Names and aliases are each there once, which the configuration sees to. A model that is there already and has other
  // settings waits to be loaded, and serves as it is until then; other aliases and limits hold at once.
  void add(const ModelSettings &settings);
  void remove(const std::string &name);

  // Loads it on this thread. Throws ErrorCode::conflict while another thread does, model_not_found, out_of_memory,
  // and internal with the reason.
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

private:
  NameChoice choose(std::string_view name) const;
  Entry *findEntry(std::string_view name);
  Entry &wantEntry(std::string_view name);

  Metrics &metrics;
  const Prepare prepare;
  const Report report;
  mutable std::mutex lock;
  std::vector<Entry> models;
};

std::string_view stateName(ModelTable::State state);

} // namespace vx::serve

#endif
