#include "model_table.h"

#include "run_failure.h"

#include "vx/base/file_state.h"
#include "vx/base/names.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <map>

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
    entry->isWaiting |= !isBegun && settings.load != LoadMode::admin && entry->settings.load == LoadMode::admin;
    // What a lazy one would be loaded from is another file by now, or was never made.
    entry->isWaiting |= !isBegun && settings.load == LoadMode::lazy &&
                        (entry->module.empty() || entry->settings.path != settings.path || files != entry->filesTried);
    if (entry->settings.path != settings.path)
      entry->module.clear();
    entry->settings = settings;
    if (files == entry->filesLoaded)
      entry->reason.clear();
    if (entry->model)
      entry->model->setLimits(settings.limits, settings.callMemory);
    return;
  }
  Entry entry;
  entry.settings = settings;
  entry.isWaiting = settings.load != LoadMode::admin;
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

void ModelTable::load(std::string_view given, For whom) {
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
    if (entry.model && whom == For::request)
      return;
    if (entry.model && entry.model->losses().empty() && !entry.isWaiting && entry.reason.empty() &&
        entry.filesLoaded == files)
      return;
    entry.state = State::loading;
  }
  while (loadOnce(name, whom) == Again::yes) {
  }
}

void ModelTable::loadOrPrepare(std::string_view given) {
  ModelSettings settings;
  {
    std::lock_guard guard(lock);
    const Entry &entry = wantEntry(given);
    settings = entry.settings;
    if (settings.load != LoadMode::lazy || entry.model || entry.state == State::loading)
      settings.name.clear();
  }
  if (settings.name.empty())
    return load(given);
  const std::string files = stateOfFiles(settings.path, /*withInodes=*/true);
  std::string module;
  std::optional<ServiceError> failure;
  try {
    module = prepare(settings);
  } catch (...) {
    failure = currentFailure();
  }
  std::optional<Entry> told;
  {
    std::lock_guard guard(lock);
    Entry *entry = entryOf(settings.name);
    if (!entry || entry->settings.path != settings.path)
      return;
    entry->isWaiting = false;
    entry->filesTried = files;
    entry->module = module;
    entry->state = failure ? State::failed : State::unloaded;
    entry->reason = failure ? failure->what() : "";
    if (failure)
      told = *entry;
  }
  if (told && report)
    report(*told);
}

uint64_t ModelTable::bytesWith(const std::string &except, const ServedModel *more) const {
  std::vector<const ServedModel *> all;
  for (const Entry &entry : models)
    if (entry.model && entry.settings.name != except)
      all.push_back(entry.model.get());
  if (more)
    all.push_back(more);
  // Instances of one module on one device share its constants.
  std::map<std::pair<vx_module *, std::string>, uint64_t> constants;
  uint64_t sum = 0;
  for (const ServedModel *model : all)
    for (const auto &place : model->places())
      if (const std::optional<ModelDevice::Memory> memory = place->memory()) {
        uint64_t &bytes = constants[{model->module().get(), place->deviceName()}];
        bytes = std::max(bytes, memory->constants);
        sum += memory->variables;
      }
  for (const auto &[key, bytes] : constants)
    sum += bytes;
  return sum;
}

uint64_t ModelTable::usedBytes() const {
  std::lock_guard guard(lock);
  return bytesWith("", nullptr);
}

bool ModelTable::unloadOne(const std::string &except) {
  std::shared_ptr<ServedModel> last;
  std::optional<Entry> told;
  {
    std::lock_guard guard(lock);
    // One that nobody uses goes before one that is busy.
    const auto orderOf = [](const Entry &entry) {
      return std::pair(entry.model.use_count() > 1 || entry.model->waiting() > 0, entry.lastUsed);
    };
    Entry *victim = nullptr;
    for (Entry &entry : models)
      if (entry.model && entry.settings.name != except && entry.isLoadedForRequests() &&
          entry.state != State::loading && (!victim || orderOf(entry) < orderOf(*victim)))
        victim = &entry;
    if (!victim)
      return false;
    last = std::move(victim->model);
    victim->state = State::unloaded;
    victim->reason.clear();
    told = *victim;
  }
  // Requests that have it are answered; those that come now wait for it to be loaded again.
  retire(std::move(last), std::chrono::minutes(10));
  if (report)
    report(*told);
  return true;
}

void ModelTable::fitBudget() {
  std::lock_guard one(budgeting);
  while (budget != 0 && usedBytes() > budget && unloadOne("")) {
  }
}

std::shared_ptr<ServedModel> ModelTable::open(const ModelSettings &settings, const std::string &moduleState) {
  std::optional<Module> same;
  std::unique_lock<std::mutex> one(budgeting, std::defer_lock);
  const uint64_t most = budget;
  if (most != 0)
    one.lock();
  const auto bytes = [&](const ServedModel *more) {
    std::lock_guard guard(lock);
    return bytesWith(settings.name, more);
  };
  const auto findSame = [&] {
    std::lock_guard guard(lock);
    for (const Entry &entry : models)
      if (entry.model && entry.moduleState == moduleState && !moduleState.empty())
        return std::optional(entry.model->module());
    return std::optional<Module>();
  };
  if (most != 0 && !findSame()) {
    // About as much as the file.
    std::error_code unknown;
    const uint64_t size = std::filesystem::file_size(settings.path, unknown);
    while (!unknown && bytes(nullptr) + size > most && unloadOne(settings.name)) {
    }
  }
  same = findSame();
  auto model = std::make_shared<ServedModel>(settings, same ? *same : Module(settings.path), metrics, warn);
  if (most == 0)
    return model;
  ::malloc_trim(0); // as `retire`
  while (bytes(model.get()) > most && unloadOne(settings.name)) {
  }
  if (const uint64_t all = bytes(model.get()); all > most)
    throw serviceError(ErrorCode::out_of_memory, "all models would take {} bytes, and memory_budget is {}", all, most)
        .with("needed", all)
        .with("available", most);
  return model;
}

ModelTable::Again ModelTable::loadOnce(const std::string &name, For whom) {
  ModelSettings settings;
  std::string module;
  {
    std::lock_guard guard(lock);
    Entry *entry = entryOf(name);
    if (!entry)
      throw serviceError(ErrorCode::model_not_found, "model '{}' has been taken out meanwhile", name).about("model");
    entry->isWaiting = false;
    settings = entry->settings;
    if (whom == For::request && !settings.path.ends_with(".vxm"))
      module = entry->module;
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
  ModelSettings prepared = settings;
  std::string moduleState;
  try {
    prepared.path = module.empty() ? prepare(settings) : module;
    std::error_code unknown;
    const std::string file = std::filesystem::canonical(prepared.path, unknown).string();
    moduleState = unknown ? "" : file + " " + stateOfFile(file, /*withInodes=*/true);
    model = open(prepared, moduleState);
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
      entry->lastUsed = Clock::now();
      if (!failure) {
        entry->model.swap(model);
        entry->filesLoaded = files;
        entry->module = prepared.path;
        entry->moduleState = moduleState;
        entry->model->setLimits(entry->settings.limits, entry->settings.callMemory);
      }
      // The next request for a lazy model may find more room.
      const bool mayComeAgain = failure && failure->code == ErrorCode::out_of_memory && entry->isLoadedForRequests();
      entry->state = isOther        ? State::loading
                     : entry->model ? State::ready
                     : mayComeAgain ? State::unloaded
                                    : State::failed;
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

void ModelTable::retire(std::shared_ptr<ServedModel> model, std::chrono::seconds most) {
  const Clock::time_point end = Clock::now() + most;
  while ((model.use_count() > 1 || model->waiting() > 0) && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  model.reset();
  // Freed weights would stay with the process otherwise.
  ::malloc_trim(0);
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

std::shared_ptr<ServedModel> ModelTable::find(std::string_view name) {
  std::lock_guard guard(lock);
  Entry &entry = wantEntry(name);
  entry.lastUsed = Clock::now();
  if (entry.model)
    return entry.model;
  if (entry.isLoadedForRequests())
    throw ModelNotLoaded(entry.settings.name);
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
