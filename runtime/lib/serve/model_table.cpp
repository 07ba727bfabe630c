#include "model_table.h"

#include "run_failure.h"

#include "vx/base/names.h"

#include <algorithm>

namespace vx::serve {

std::string_view stateName(ModelTable::State state) {
  static constexpr std::array names = {"unloaded", "loading", "ready", "failed"};
  return names[static_cast<size_t>(state)];
}

// Whether a model that was loaded by the one settings does for the others.
static bool isLoadedAlike(const ModelSettings &a, const ModelSettings &b) {
  return a.path == b.path && a.instance.device == b.instance.device &&
         a.instance.deviceOrder == b.instance.deviceOrder && a.instance.noFallback == b.instance.noFallback &&
         a.instance.threads == b.instance.threads && a.deterministic == b.deterministic && a.stateful == b.stateful;
}

ModelTable::ModelTable(Metrics &metrics, Prepare prepare, Report report)
    : metrics(metrics), prepare(std::move(prepare)), report(std::move(report)) {}

NameChoice ModelTable::choose(std::string_view name) const {
  std::vector<ModelNames> names;
  for (const Entry &entry : models)
    names.push_back({entry.settings.name, entry.settings.aliases});
  return chooseModel(names, name);
}

ModelTable::Entry *ModelTable::findEntry(std::string_view name) {
  const NameChoice choice = choose(name);
  return choice.index ? &models[*choice.index] : nullptr;
}

ModelTable::Entry &ModelTable::wantEntry(std::string_view name) {
  const NameChoice choice = choose(name);
  if (!choice.index)
    throw serviceError(ErrorCode::model_not_found, "{}", choice.problem).about("model");
  return models[*choice.index];
}

void ModelTable::add(const ModelSettings &settings) {
  std::lock_guard guard(lock);
  for (Entry &entry : models)
    if (entry.settings.name == settings.name) {
      entry.isWaiting |= entry.model && !isLoadedAlike(entry.settings, settings);
      entry.settings = settings;
      if (entry.model)
        entry.model->setLimits(settings.limits);
      return;
    }
  Entry entry;
  entry.settings = settings;
  entry.isWaiting = settings.preload;
  models.push_back(std::move(entry));
}

void ModelTable::remove(const std::string &name) {
  std::shared_ptr<ServedModel> last; // goes without the lock: it waits for what is running
  std::lock_guard guard(lock);
  const auto place =
      std::find_if(models.begin(), models.end(), [&](const Entry &entry) { return entry.settings.name == name; });
  if (place == models.end())
    return;
  last = std::move(place->model);
  models.erase(place);
}

void ModelTable::load(std::string_view name) {
  ModelSettings settings;
  {
    std::lock_guard guard(lock);
    Entry &entry = wantEntry(name);
    if (entry.state == State::loading)
      throw serviceError(ErrorCode::conflict, "model '{}' is being loaded", entry.settings.name);
    if (entry.state == State::ready && !entry.model->isLost() && !entry.isWaiting)
      return;
    entry.state = State::loading;
    entry.isWaiting = false;
    settings = entry.settings;
  }
  std::shared_ptr<ServedModel> model;
  std::optional<ServiceError> failure;
  try {
    ModelSettings prepared = settings;
    prepared.path = prepare(settings);
    model = std::make_shared<ServedModel>(prepared, metrics);
  } catch (...) {
    failure = currentFailure();
  }
  std::optional<Entry> told;
  {
    std::lock_guard guard(lock);
    // It may have been taken out of the configuration meanwhile.
    if (Entry *entry = findEntry(settings.name)) {
      entry->state = failure ? State::failed : State::ready;
      entry->reason = failure ? failure->what() : "";
      entry->model.swap(model);
      told = *entry;
    }
  }
  if (told && report)
    report(*told);
  if (failure)
    throw ServiceError(failure->code == ErrorCode::invalid_value ? ErrorCode::internal : failure->code,
                       fmt::format("model '{}' cannot be loaded: {}", settings.name, failure->what()));
}

void ModelTable::unload(std::string_view name) {
  std::shared_ptr<ServedModel> last;
  std::lock_guard guard(lock);
  Entry &entry = wantEntry(name);
  if (entry.state == State::loading)
    throw serviceError(ErrorCode::conflict, "model '{}' is being loaded", entry.settings.name);
  entry.state = State::unloaded;
  entry.isWaiting = false;
  last = std::move(entry.model);
}

void ModelTable::unloadAll() {
  std::vector<Entry> all;
  std::lock_guard guard(lock);
  all.swap(models);
}

std::shared_ptr<ServedModel> ModelTable::find(std::string_view name) const {
  std::lock_guard guard(lock);
  const Entry &entry = const_cast<ModelTable *>(this)->wantEntry(name);
  // What is loaded serves until its successor does.
  if (entry.model)
    return entry.model;
  if (entry.state == State::failed)
    throw serviceError(ErrorCode::loading, "model '{}' could not be loaded: {}", entry.settings.name, entry.reason)
        .about("model");
  throw serviceError(ErrorCode::loading, "model '{}' {}", entry.settings.name,
                     entry.state == State::loading || entry.isWaiting ? "is being loaded" : "is not loaded")
      .about("model")
      .after(1);
}

std::optional<std::string> ModelTable::knownName(std::string_view name) const {
  std::lock_guard guard(lock);
  const Entry *entry = const_cast<ModelTable *>(this)->findEntry(name);
  return entry ? std::optional(entry->settings.name) : std::nullopt;
}

std::vector<ModelTable::Entry> ModelTable::entries() const {
  std::lock_guard guard(lock);
  return models;
}

ModelTable::Entry ModelTable::entry(std::string_view name) const {
  std::lock_guard guard(lock);
  return const_cast<ModelTable *>(this)->wantEntry(name);
}

} // namespace vx::serve
