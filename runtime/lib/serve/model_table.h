// The models that clients may name.
#ifndef VX_SERVE_MODEL_TABLE_H
#define VX_SERVE_MODEL_TABLE_H

#include "model_names.h"
#include "served_model.h"

#include <functional>

namespace vx::serve {

// A request needs a model that is to be loaded for it first.
class ModelNotLoaded final : public ServiceError {
public:
  explicit ModelNotLoaded(const std::string &model)
      : ServiceError(
            ServiceError(ErrorCode::loading, fmt::format("model '{}' is loaded for requests, and is not yet", model))
                .about("model")
                .after(1)),
        model(model) {}
  const std::string model;
};

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
    // Of a lazy one: its module file, once it has been made; empty: not yet.
    std::string module;
    // The module file that `model` was loaded from, with its state.
    std::string moduleState;
    Clock::time_point lastUsed;

    bool isLost() const { return model && model->isLost(); }
    // Loaded, or loaded for the first request that comes.
    bool takesRequests() const { return model ? !model->isLost() : isLoadedForRequests(); }
    bool isLoadedForRequests() const {
      return settings.load == LoadMode::lazy && !module.empty() && state != State::failed;
    }
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
  void load(std::string_view name) { load(name, For::admin); }
  // The same for a request of any client: no model is compiled for it.
  void loadForRequest(std::string_view name) { load(name, For::request); }
  // Of a lazy model that is not loaded, only makes its module file. Throws as `load`.
  void loadOrPrepare(std::string_view name);
  // The most memory of all models' weights and variables on their devices; 0: no limit. A model that is loaded above it
  // unloads lazy ones, those that were used least recently first; if that is not enough it fails with out_of_memory.
  void setBudget(uint64_t bytes) { budget = bytes; }
  uint64_t memoryBudget() const { return budget; }
  // Unloads lazy models until all are within the budget, or none is left.
  void fitBudget();
  // Of all models together; what instances share counts once.
  uint64_t usedBytes() const;
  // Requests that wait fail; one that is running is done first. Throws as `load`.
  void unload(std::string_view name);
  // Of the device or what else is lost.
  void unloadAll();

  // Throws ErrorCode::model_not_found, with names that are near; ModelNotLoaded for a lazy model that is not loaded,
  // and ErrorCode::loading for another one.
  std::shared_ptr<ServedModel> find(std::string_view name);
  // The name that the table has for it, or nothing.
  std::optional<std::string> knownName(std::string_view name) const;
  std::vector<Entry> entries() const;
  Entry entry(std::string_view name) const;
  std::vector<Refused> refusals() const;

private:
  enum class Again : bool { no, yes };
  enum class For : bool { admin, request };
  void load(std::string_view name, For whom);
  // Whether its settings have become others meanwhile.
  Again loadOnce(const std::string &name, For whom);
  // From the file, or of a model that has the same one.
  std::shared_ptr<ServedModel> open(const ModelSettings &settings, const std::string &moduleState);
  // Unloads the lazy model that was used least recently, but not `except`, when its requests are done. False: there is
  // none.
  bool unloadOne(const std::string &except);
  // Of all but one of a name, and of `more`, which may be null.
  uint64_t bytesWith(const std::string &except, const ServedModel *more) const;
  // Ends a model that no request finds any more, when the requests that have it or wait for it are done, or after
  // `most`.
  static void retire(std::shared_ptr<ServedModel> model, std::chrono::seconds most = std::chrono::seconds(30));
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
  std::atomic<uint64_t> budget = 0;
  std::mutex budgeting; // one at a time is loaded where there is a budget
};

} // namespace vx::serve

#endif
