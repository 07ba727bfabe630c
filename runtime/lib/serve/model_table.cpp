#include "model_table.h"

#include "run_failure.h"

#include "vx/base/file_state.h"
#include "vx/base/names.h"

#include <algorithm>

namespace vx::serve {

std::string_view ModelTable::Entry::stateText() const {
  static constexpr std::array names = {"unloaded", "loading", "ready", "failed"};
  if (model)
    return model->isLost() ? "device_lost" : "ready";
  return names[static_cast<size_t>(state)];
}

// Whether a model that was loaded by the one settings does for the others.
static bool isLoadedAlike(const ModelSettings &a, const ModelSettings &b) {
  return a.path == b.path && a.instance.device == b.instance.device &&
         a.instance.deviceOrder == b.instance.deviceOrder && a.instance.noFallback == b.instance.noFallback &&
         a.instance.threads == b.instance.threads && a.devices == b.devices && a.deterministic == b.deterministic &&
         a.stateful == b.stateful;
}

ModelTable::ModelTable(Metrics &metrics, Prepare prepare, Report report, ModelDevice::Warn warn)
    : metrics(metrics), prepare(std::move(prepare)), report(std::move(report)), warn(std::move(warn)) {}

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

ModelTable::Entry *ModelTable::entryOf(const std::string &name) {
  const auto place =
      std::find_if(models.begin(), models.end(), [&](const Entry &entry) { return entry.settings.name == name; });
  return place == models.end() ? nullptr : &*place;
}

ModelTable::Entry &ModelTable::wantEntry(std::string_view name) {
  const NameChoice choice = choose(name);
  if (choice.index)
    return models[*choice.index];
  for (const Refused &model : refused)
    if (model.name == name)
      throw serviceError(ErrorCode::model_not_found, "model '{}' is refused: {}", name, model.reason).about("model");
  throw serviceError(ErrorCode::model_not_found, "{}", choice.problem).about("model");
}

void ModelTable::add(const ModelSettings &settings) {
  const std::string files = stateOfFiles(settings.path, /*withInodes=*/true);
  std::lock_guard guard(lock);
  if (Entry *entry = entryOf(settings.name)) {
    const bool isBegun = entry->model || entry->state == State::loading;
    entry->isWaiting |= isBegun && (!isLoadedAlike(entry->settings, settings) || files != entry->filesTried);
    // One that waited for an admin does no more.
    entry->isWaiting |= !isBegun && settings.preload && !entry->settings.preload;
    entry->settings = settings;
    if (files == entry->filesLoaded)
      entry->reason.clear();
    if (entry->model)
      entry->model->setLimits(settings.limits, settings.callMemory);
    return;
  }
  Entry entry;
  entry.settings = settings;
  entry.isWaiting = settings.preload;
  models.push_back(std::move(entry));
}

void ModelTable::refuse(const std::vector<Refused> &given) {
  std::lock_guard guard(lock);
  refused = given;
}

bool ModelTable::keep(const std::string &name, const std::string &reason) {
  std::lock_guard guard(lock);
  Entry *entry = entryOf(name);
  if (!entry || !entry->model)
    return false;
  entry->reason = reason;
  return true;
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

void ModelTable::load(std::string_view given) {
  std::string name, path;
  {
    std::lock_guard guard(lock);
    const Entry &entry = wantEntry(given);
    name = entry.settings.name;
    path = entry.settings.path;
  }
  const std::string files = stateOfFiles(path, /*withInodes=*/true);
  {
    std::lock_guard guard(lock);
    Entry &entry = wantEntry(name);
    if (entry.state == State::loading)
      throw serviceError(ErrorCode::conflict, "model '{}' is being loaded", name);
    if (entry.model && entry.model->losses().empty() && !entry.isWaiting && entry.reason.empty() &&
        entry.filesLoaded == files)
      return;
    entry.state = State::loading;
  }
  while (loadOnce(name) == Again::yes) {
  }
}

ModelTable::Again ModelTable::loadOnce(const std::string &name) {
  ModelSettings settings;
  {
    std::lock_guard guard(lock);
    Entry *entry = entryOf(name);
    if (!entry)
      throw serviceError(ErrorCode::model_not_found, "model '{}' has been taken out meanwhile", name).about("model");
    entry->isWaiting = false;
    settings = entry->settings;
  }
  // As they are before they are read: what changes meanwhile is seen the next time.
  const std::string files = stateOfFiles(settings.path, /*withInodes=*/true);
  {
    std::lock_guard guard(lock);
    if (Entry *entry = entryOf(name))
      entry->filesTried = files;
  }
  std::shared_ptr<ServedModel> model;
  std::optional<ServiceError> failure;
  try {
    ModelSettings prepared = settings;
    prepared.path = prepare(settings);
    model = std::make_shared<ServedModel>(prepared, Module(prepared.path), metrics, warn);
  } catch (...) {
    failure = currentFailure();
  }
  std::optional<Entry> told;
  bool isOther = false;
  {
    std::lock_guard guard(lock);
    if (Entry *entry = entryOf(name)) {
      isOther = entry->isWaiting;
      entry->reason = failure ? failure->what() : "";
      if (!failure) {
        entry->model.swap(model);
        entry->filesLoaded = files;
        entry->model->setLimits(entry->settings.limits, entry->settings.callMemory);
      }
      entry->state = isOther ? State::loading : entry->model ? State::ready : State::failed;
      told = *entry;
    } else if (!failure) {
      failure = serviceError(ErrorCode::model_not_found, "it has been taken out meanwhile");
    }
  }
  if (told && report)
    report(*told);
  told.reset();
  if (model)
    retire(std::move(model));
  if (isOther)
    return Again::yes;
  if (failure)
    throw ServiceError(failure->code == ErrorCode::invalid_value ? ErrorCode::internal : failure->code,
                       fmt::format("model '{}' cannot be loaded: {}", name, failure->what()));
  return Again::no;
}

void ModelTable::retire(std::shared_ptr<ServedModel> model) {
  static constexpr std::chrono::seconds most{30};
  const Clock::time_point end = Clock::now() + most;
  while ((model.use_count() > 1 || model->waiting() > 0) && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void ModelTable::unload(std::string_view name) {
  std::shared_ptr<ServedModel> last;
  std::lock_guard guard(lock);
  Entry &entry = wantEntry(name);
  if (entry.state == State::loading)
    throw serviceError(ErrorCode::conflict, "model '{}' is being loaded", entry.settings.name);
  entry.state = State::unloaded;
  entry.isWaiting = false;
  entry.reason.clear();
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

std::vector<ModelTable::Refused> ModelTable::refusals() const {
  std::lock_guard guard(lock);
  return refused;
}

ModelTable::Entry ModelTable::entry(std::string_view name) const {
  std::lock_guard guard(lock);
  return const_cast<ModelTable *>(this)->wantEntry(name);
}

} // namespace vx::serve
