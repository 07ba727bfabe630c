// The C interface: handles, argument checks and contexts around the runtime's own classes.
#include "vx/runtime/vx.h"

#include "api/dlpack.h"
#include "api/drivers.h"
#include "api/handle.h"
#include "base/log.h"
#include "exec/call_state.h"
#include "exec/device_values.h"
#include "exec/fallback.h"
#include "exec/instance.h"
#include "exec/memory_estimate.h"
#include "exec/pending_runs.h"
#include "exec/transfer_memory.h"
#include "exec/value.h"
#include "module/module.h"

#include "vx/abi/version.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace vx;

namespace {

// What a vx_call is: a state, and the instance that it needs.
class CallObject : public RefCounted {
public:
  Ref<Instance> instance;
  std::unique_ptr<CallState> state;
  std::unique_ptr<PendingRuns> pending; // once a run is submitted

  std::atomic<bool> isUsed = false; // by a function of a thread

  const Function &function() const { return instance->data().functions[state->function()]; }
  // Its place, when no submitted run uses it.
  CallState &idleState() {
    if (pending)
      pending->waitForAll();
    return *state;
  }

protected:
  ~CallObject() override {
    pending = nullptr;
    // The state goes back before the instance that owns the pool may go.
    if (state)
      instance->returnCall(std::move(state));
  }
};

// A call in the hands of one function.
class CallUse {
public:
  explicit CallUse(CallObject &call) : call(call), isOurs(!call.isUsed.exchange(true, std::memory_order_acquire)) {}
  CallUse(const CallUse &) = delete;
  CallUse &operator=(const CallUse &) = delete;
  ~CallUse() {
    if (isOurs)
      call.isUsed.store(false, std::memory_order_release);
  }
  Status check() const {
    return isOurs ? okStatus()
                  : failure(VX_INVALID_ARGUMENT,
                            "argument 'call' is in use by another thread, or by the run whose observer asks; a call "
                            "is for one at a time, and each thread may have its own");
  }

private:
  CallObject &call;
  const bool isOurs;
};

// What a vx_pending is: the run, and the call that does it.
class PendingObject : public RefCounted {
public:
  Ref<CallObject> call;
  PendingRun run;

protected:
  ~PendingObject() override { call->pending->drop(run); }
};

// What the pointers of the interface are.
Handle<Module> *handleOf(const vx_module *module) {
  return reinterpret_cast<Handle<Module> *>(const_cast<vx_module *>(module));
}
Handle<Instance> *handleOf(const vx_instance *instance) {
  return reinterpret_cast<Handle<Instance> *>(const_cast<vx_instance *>(instance));
}
Handle<Value> *handleOf(const vx_value *value) {
  return reinterpret_cast<Handle<Value> *>(const_cast<vx_value *>(value));
}
Handle<CallObject> *handleOf(const vx_call *call) {
  return reinterpret_cast<Handle<CallObject> *>(const_cast<vx_call *>(call));
}
Handle<PendingObject> *handleOf(const vx_pending *pending) {
  return reinterpret_cast<Handle<PendingObject> *>(const_cast<vx_pending *>(pending));
}

template <typename C, typename T>
void give(Ref<T> object, C **place) {
  *place = reinterpret_cast<C *>(Handle<T>::make(std::move(object)));
}

// A module is a file and its description; all else may have threads or a device.
bool isLeftBehind(const Handle<Module> &) { return false; }
bool isLeftBehind(const Handle<Value> &handle) { return handle.isBeforeFork() && !handle.object()->isOnHost(); }
template <typename T>
bool isLeftBehind(const Handle<T> &handle) {
  return handle.isBeforeFork();
}

template <typename T>
Status checkHandle(const Handle<T> &handle, std::string_view argument) {
  if (handle.isReleased())
    return failure(VX_INVALID_ARGUMENT, "argument '{}' has been released", argument);
  if (isLeftBehind(handle))
    return failure(
        VX_UNSUPPORTED,
        "argument '{}' was made before the process was forked, whose threads and devices it uses; make one here",
        argument);
  return okStatus();
}

Status checkPointer(const void *pointer, std::string_view argument) {
  if (pointer)
    return okStatus();
  return failure(VX_INVALID_ARGUMENT, "argument '{}' is a null pointer", argument);
}

// The object of an argument, which stays there while the function runs, whoever releases the handle meanwhile.
template <typename C, typename T>
Status take(C *argument, std::string_view name, Ref<T> &object) {
  VX_RETURN_IF_ERROR(checkPointer(argument, name));
  VX_RETURN_IF_ERROR(checkHandle(*handleOf(argument), name));
  object = handleOf(argument)->object();
  return okStatus();
}

// The same for a function without a status: none for what is null, released or left behind.
template <typename C>
auto objectOf(C *argument) {
  using Object = std::decay_t<decltype(handleOf(argument)->object())>;
  return argument && checkHandle(*handleOf(argument), "").ok() ? handleOf(argument)->object() : Object();
}

template <typename C>
void retain(C *argument, const char *function) {
  if (argument && !handleOf(argument)->retain())
    log(VX_LOG_ERROR, "{}: the object has been released before", function);
}

template <typename C>
void release(C *argument, const char *function) {
  if (!argument)
    return;
  // What is left behind can't be ended here: its threads are not there to be waited for.
  const bool isLeft = !std::is_same_v<std::remove_const_t<C>, vx_module> && handleOf(argument)->isBeforeFork();
  if (!handleOf(argument)->release(/*abandon=*/isLeft))
    log(VX_LOG_ERROR, "{}: the object has been released before", function);
}

// Null stays null, which whoever takes the values names.
Status valuesOf(size_t count, vx_value *const *values, const char *argument, std::vector<Ref<Value>> &objects,
                std::vector<Value *> &pointers) {
  if (count)
    VX_RETURN_IF_ERROR(checkPointer(values, argument));
  for (size_t i = 0; i < count; ++i) {
    Ref<Value> &object = objects.emplace_back();
    if (values[i])
      VX_RETURN_IF_ERROR(take(values[i], fmt::format("{}[{}]", argument, i), object));
    pointers.push_back(object.get());
  }
  return okStatus();
}

// A table of the signature; none of a module that is null.
template <typename Info>
const Info *tableOf(const vx_module *module, std::vector<Info> SignatureTables::*table, size_t *count) {
  const Ref<Module> object = objectOf(module);
  const std::vector<Info> *found = object ? &(object->signature().*table) : nullptr;
  if (count)
    *count = found ? found->size() : 0;
  return found ? found->data() : nullptr;
}

// Runs `body` for the function `name`: no exception leaves, and every message begins with the name.
template <typename F>
vx_status guarded(const char *name, F &&body) {
  Status status;
  try {
    status = body();
  } catch (const std::bad_alloc &) {
    status = Status(VX_OUT_OF_MEMORY, "the system has no more memory");
  } catch (const std::exception &error) {
    status = Status(VX_INTERNAL, error.what());
  }
  return std::move(status).addContext(name).makePrintable().release();
}

Status copyString(std::string_view text, char **result) {
  char *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return Status(VX_OUT_OF_MEMORY, "the system has no more memory");
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  *result = copy;
  return okStatus();
}

Status checkOutputCount(const Function &function, size_t count) {
  if (count == function.outputs.size())
    return okStatus();
  return failure(VX_INVALID_ARGUMENT, "function '{}' gives {} outputs, got places for {}", function.name,
                 function.outputs.size(), count);
}

// Arguments of a run, which stay there for it.
struct RunArguments {
  std::vector<Ref<Value>> kept;
  std::vector<Value *> inputs;
  std::vector<ResultPlace> places;

  Status take(size_t inputCount, vx_value *const *given, size_t placeCount = 0,
              const vx_result_place *results = nullptr) {
    VX_RETURN_IF_ERROR(valuesOf(inputCount, given, "inputs", kept, inputs));
    for (size_t i = 0; i < placeCount; ++i) {
      Ref<Value> value;
      if (results[i].value)
        VX_RETURN_IF_ERROR(::take(results[i].value, fmt::format("places[{}].value", i), value));
      places.push_back({results[i].data, results[i].size, value.get()});
      kept.push_back(std::move(value));
    }
    return okStatus();
  }
};

Status runCall(CallState &state, const RunArguments &arguments, size_t outputCount, vx_value **outputs,
               const Function &function) {
  VX_RETURN_IF_ERROR(checkOutputCount(function, outputCount));
  std::vector<Ref<Value>> results;
  VX_RETURN_IF_ERROR(state.run(arguments.inputs, results, arguments.places));
  for (size_t i = 0; i < outputCount; ++i)
    give(std::move(results[i]), &outputs[i]);
  return okStatus();
}

// With a vx_call, whose submitted runs come first.
Status runCall(CallObject &call, RunArguments arguments, size_t outputCount, vx_value **outputs) {
  const CallUse use(call);
  VX_RETURN_IF_ERROR(use.check());
  Status status = runCall(call.idleState(), arguments, outputCount, outputs, call.function());
  if (status.code() == VX_OUT_OF_MEMORY && call.pending)
    call.pending->dropIdleMemory();
  return status;
}

// Does something with the state of a call that no run uses.
template <typename F>
Status withIdleState(const vx_call *call, F &&body) {
  Ref<CallObject> object;
  VX_RETURN_IF_ERROR(take(call, "call", object));
  const CallUse use(*object);
  VX_RETURN_IF_ERROR(use.check());
  return body(object->idleState());
}

// The same for a function without a status: what is wrong is told to the log.
template <typename F>
void withIdleStateQuietly(vx_call *call, const char *name, F &&body) {
  if (!call)
    return;
  const Status status = withIdleState(call, [&](CallState &state) {
    body(state);
    return okStatus();
  });
  if (!status.ok())
    log(VX_LOG_ERROR, "{}: {}", name, status.message());
}

// A copy of `options`, where there are any. A caller built against an older header gives a smaller struct; what it
// lacks is 0.
template <typename Options>
Status copyOptions(const Options *options, Options &given) {
  given = {};
  if (!options)
    return okStatus();
  constexpr size_t least = sizeof(size_t);
  if (options->struct_size < least || options->struct_size > sizeof(given))
    return failure(VX_INVALID_ARGUMENT, "options have {} bytes, expected {} to {}", options->struct_size, least,
                   sizeof(given));
  std::memcpy(&given, options, options->struct_size);
  return okStatus();
}

Status namesOf(size_t count, const char *const *names, std::vector<std::string_view> &result) {
  if (count)
    VX_RETURN_IF_ERROR(checkPointer(names, "names"));
  for (size_t i = 0; i < count; ++i) {
    VX_RETURN_IF_ERROR(checkPointer(names[i], "names[]"));
    result.emplace_back(names[i]);
  }
  return okStatus();
}

Status clearOutputs(size_t outputCount, vx_value **outputs, const char *argument = "out_outputs") {
  if (outputCount == 0)
    return okStatus();
  VX_RETURN_IF_ERROR(checkPointer(outputs, argument));
  std::fill(outputs, outputs + outputCount, nullptr);
  return okStatus();
}

// Empties `*place` first, so that a failing function leaves nothing there.
template <typename T>
Status clearPlace(T **place, const char *argument) {
  VX_RETURN_IF_ERROR(checkPointer(place, argument));
  *place = nullptr;
  return okStatus();
}

Status dimsOf(uint32_t rank, const int64_t *dims, std::span<const int64_t> &result) {
  if (rank)
    VX_RETURN_IF_ERROR(checkPointer(dims, "dims"));
  result = {dims, rank};
  return okStatus();
}

} // namespace

// --- Status

vx_code vx_status_code(vx_status status) { return status ? status->code : VX_OK; }
const char *vx_status_message(vx_status status) { return status ? status->message.c_str() : "ok"; }
const char *vx_status_report(vx_status status) {
  return status && !status->report.empty() ? status->report.c_str() : nullptr;
}
const char *vx_status_details(vx_status status) {
  return status && !status->details.empty() ? status->details.c_str() : nullptr;
}
vx_status vx_status_create(vx_code code, const char *message, const char *report, const char *details) {
  std::optional<Status> made;
  const vx_status failed = guarded("vx_status_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(message, "message"));
    // C gives any number for an enum.
    if (const int number = std::bit_cast<int>(code); number <= VX_OK || number > VX_TIMED_OUT)
      return failure(VX_INVALID_ARGUMENT, "expected a code from {} to {}, got {}", int(VX_INVALID_ARGUMENT),
                     int(VX_TIMED_OUT), number);
    made =
        Status(code, message).makePrintable().attachReport(report ? report : "").attachDetails(details ? details : "");
    return okStatus();
  });
  return failed ? failed : std::move(*made).release();
}

void vx_status_release(vx_status status) { delete status; }
void vx_string_release(char *string) { std::free(string); }

void vx_set_log(vx_log_fn function, void *user, vx_log_level least) { setLog(function, user, least); }

const char *vx_version(void) {
  static const std::string version =
      fmt::format("vx {} (module abi {}.{})", VX_VERSION_STRING, VX_MODULE_ABI_MAJOR, VX_MODULE_ABI_MINOR);
  return version.c_str();
}

const char *vx_element_type_name(vx_element_type type) { return elementTypeName(type); }
uint32_t vx_element_type_bits(vx_element_type type) { return elementTypeBits(type); }

// --- Modules

vx_status vx_module_load(const char *path, vx_module **out_module) {
  return guarded("vx_module_load", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_module, "out_module"));
    VX_RETURN_IF_ERROR(checkPointer(path, "path"));
    Ref<Module> module;
    VX_RETURN_IF_ERROR(Module::load(path, module));
    give(std::move(module), out_module);
    return okStatus();
  });
}

vx_status vx_module_load_bytes(const void *bytes, size_t size, const char *name, vx_module **out_module) {
  return guarded("vx_module_load_bytes", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_module, "out_module"));
    VX_RETURN_IF_ERROR(checkPointer(bytes, "bytes"));
    constexpr uintptr_t alignment = 64;
    if (uintptr_t past = reinterpret_cast<uintptr_t>(bytes) % alignment)
      return failure(VX_INVALID_ARGUMENT,
                     "argument 'bytes' is {} bytes past a multiple of {}, expected an aligned address", past,
                     alignment);
    Ref<Module> module;
    VX_RETURN_IF_ERROR(
        Module::fromMemory(name ? name : "module in memory", {static_cast<const uint8_t *>(bytes), size}, module));
    give(std::move(module), out_module);
    return okStatus();
  });
}

void vx_module_retain(vx_module *module) { retain(module, "vx_module_retain"); }
void vx_module_release(vx_module *module) { release(module, "vx_module_release"); }

const vx_function_info *vx_module_functions(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::functions, out_count);
}

const vx_variable_info *vx_module_variables(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::variables, out_count);
}

const vx_alias_info *vx_module_aliases(const vx_module *module, size_t function, size_t *out_count) {
  const std::vector<vx_alias_info> *found = nullptr;
  if (const Ref<Module> object = objectOf(module); object && function < object->signature().aliases.size())
    found = &object->signature().aliases[function];
  if (out_count)
    *out_count = found ? found->size() : 0;
  return found ? found->data() : nullptr;
}

const vx_batch_info *vx_module_batch(const vx_module *module, size_t function) {
  const Ref<Module> object = objectOf(module);
  if (!object || function >= object->signature().batches.size())
    return nullptr;
  const std::optional<vx_batch_info> &found = object->signature().batches[function];
  return found ? &*found : nullptr;
}

int vx_module_has_loops(const vx_module *module, size_t function) {
  const Ref<Module> object = objectOf(module);
  if (!object)
    return 0;
  const ModuleData &data = object->data();
  return std::ranges::any_of(data.targets, [&](const Target &target) {
    return std::ranges::any_of(target.entries, [&](const Entry &entry) {
      return entry.function == function && data.programs[entry.program].hasUnknownLoops;
    });
  });
}

const char *vx_variable_role_name(vx_variable_role role) {
  return role >= 0 && static_cast<size_t>(role) < roles ? roleName(static_cast<Role>(role)) : "unknown";
}

const vx_symbol_info *vx_module_symbols(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::instanceSymbols, out_count);
}

const vx_asset_info *vx_module_assets(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::assets, out_count);
}

const vx_constant_info *vx_module_constants(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::constants, out_count);
}

const vx_training_info *vx_module_training(const vx_module *module) {
  const Ref<Module> object = objectOf(module);
  return object && object->signature().training ? &*object->signature().training : nullptr;
}

vx_status vx_module_describe(const vx_module *module, char **out_json) {
  return guarded("vx_module_describe", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_json, "out_json"));
    Ref<Module> object;
    VX_RETURN_IF_ERROR(take(module, "module", object));
    return copyString(object->describe(), out_json);
  });
}

vx_status vx_module_verify(const vx_module *module) {
  return guarded("vx_module_verify", [&]() -> Status {
    Ref<Module> object;
    VX_RETURN_IF_ERROR(take(module, "module", object));
    for (uint32_t i = 0; i < object->data().sections.size(); ++i)
      VX_RETURN_IF_ERROR(object->verifySection(i));
    return okStatus();
  });
}

// --- Devices and instances

vx_status vx_list_devices(char **out_json) {
  return guarded("vx_list_devices", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_json, "out_json"));
    return copyString(listDevices(allDrivers()), out_json);
  });
}

vx_status vx_device_find(const char *device, vx_device_info *out_info) {
  return guarded("vx_device_find", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(out_info, "out_info"));
    *out_info = {};
    FoundDevice found;
    VX_RETURN_IF_ERROR(describeDevice(device, allDrivers(), found));
    auto copy = [](const std::string &text, auto &place) { text.copy(place, sizeof(place) - 1); };
    copy(found.device, out_info->device);
    copy(found.info.name, out_info->name);
    out_info->total_memory = found.info.totalMemory;
    out_info->software = found.info.isSoftware;
    return okStatus();
  });
}

vx_status vx_device_free_memory(const char *device, uint64_t *out_bytes) {
  return guarded("vx_device_free_memory", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(out_bytes, "out_bytes"));
    *out_bytes = 0;
    return freeMemoryOf(device, allDrivers(), *out_bytes);
  });
}

static Status copySymbols(size_t count, const vx_symbol_value *symbols, std::vector<BoundSymbol> &result) {
  if (count)
    VX_RETURN_IF_ERROR(checkPointer(symbols, "symbols"));
  for (size_t i = 0; i < count; ++i) {
    VX_RETURN_IF_ERROR(checkPointer(symbols[i].name, "symbols[].name"));
    result.push_back({symbols[i].name, symbols[i].value});
  }
  return okStatus();
}

// `isLoaded`: see InstanceSetup.
static Status makeInstance(vx_module *module, const vx_instance_options *options, bool isLoaded,
                           Ref<Instance> &instance) {
  Ref<Module> object;
  VX_RETURN_IF_ERROR(take(module, "module", object));
  vx_instance_options given;
  VX_RETURN_IF_ERROR(copyOptions(options, given));
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest(given.device, given.device_order, allDrivers(), request));
  request.noFallback = given.no_fallback != 0;
  request.threads = given.threads;
  request.waitLimitMs = given.wait_limit_ms;
  request.variant = given.variant ? given.variant : "";
  InstanceSetup setup;
  setup.seed = given.seed;
  setup.memoryLimit = given.memory_limit;
  setup.isLoaded = isLoaded;
  if (given.share)
    VX_RETURN_IF_ERROR(take(given.share, "options.share", setup.share));
  if (given.share && (given.device || given.device_order || given.no_fallback || given.threads || given.variant ||
                      given.wait_limit_ms))
    return failure(VX_INVALID_ARGUMENT, "options choose a device and an instance to share with, which has its own");
  if (given.share && given.memory_limit)
    return failure(VX_INVALID_ARGUMENT,
                   "options set a memory limit of {} bytes and an instance to share with, which has its own",
                   given.memory_limit);
  VX_RETURN_IF_ERROR(copySymbols(given.symbol_count, given.symbols, setup.symbols));
  return Instance::create(std::move(object), request, allDrivers(), instance, setup);
}

vx_status vx_instance_create(vx_module *module, const vx_instance_options *options, vx_instance **out_instance) {
  return guarded("vx_instance_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_instance, "out_instance"));
    Ref<Instance> instance;
    VX_RETURN_IF_ERROR(makeInstance(module, options, /*isLoaded=*/true, instance));
    give(std::move(instance), out_instance);
    return okStatus();
  });
}

vx_status vx_instance_limit_calls(vx_instance *instance, uint64_t bytes) {
  return guarded("vx_instance_limit_calls", [&]() -> Status {
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    object->memory().limitCalls(bytes);
    return okStatus();
  });
}

void vx_instance_retain(vx_instance *instance) { retain(instance, "vx_instance_retain"); }
void vx_instance_release(vx_instance *instance) { release(instance, "vx_instance_release"); }

vx_status vx_instance_report(const vx_instance *instance, vx_report_format format, char **out_report) {
  return guarded("vx_instance_report", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_report, "out_report"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    DeviceReport report = object->report();
    report.explain(allDrivers());
    switch (format) {
    case VX_REPORT_TEXT:
      return copyString(report.text(), out_report);
    case VX_REPORT_JSON:
      return copyString(report.json(), out_report);
    default:
      break;
    }
    return failure(VX_INVALID_ARGUMENT, "report format has the unknown number {}", static_cast<int>(format));
  });
}

static Status clearEstimate(vx_memory_estimate *place) {
  VX_RETURN_IF_ERROR(checkPointer(place, "out_estimate"));
  const size_t size = place->struct_size;
  if (size != sizeof(vx_memory_estimate))
    return failure(VX_INVALID_ARGUMENT, "estimate has {} bytes, expected {}", size, sizeof(vx_memory_estimate));
  *place = {size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, nullptr};
  return okStatus();
}

static Status estimateFunction(const Instance &instance, const char *function, size_t symbolCount,
                               const vx_symbol_value *symbols, vx_memory_estimate *place) {
  std::vector<BoundSymbol> sizes;
  VX_RETURN_IF_ERROR(copySymbols(symbolCount, symbols, sizes));
  uint32_t index = 0;
  VX_RETURN_IF_ERROR(instance.findFunction(function, index));
  vx_memory_estimate estimate = {};
  VX_RETURN_IF_ERROR(estimateMemory(instance, index, sizes, estimate));
  estimate.struct_size = place->struct_size;
  *place = estimate;
  return okStatus();
}

vx_status vx_instance_estimate_memory(const vx_instance *instance, const char *function, size_t symbol_count,
                                      const vx_symbol_value *symbols, vx_memory_estimate *out_estimate) {
  return guarded("vx_instance_estimate_memory", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearEstimate(out_estimate));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    return estimateFunction(*object, function, symbol_count, symbols, out_estimate);
  });
}

vx_status vx_module_estimate_memory(vx_module *module, const vx_instance_options *options, const char *function,
                                    size_t symbol_count, const vx_symbol_value *symbols,
                                    vx_memory_estimate *out_estimate) {
  return guarded("vx_module_estimate_memory", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearEstimate(out_estimate));
    Ref<Instance> instance;
    VX_RETURN_IF_ERROR(makeInstance(module, options, /*isLoaded=*/false, instance));
    return estimateFunction(*instance, function, symbol_count, symbols, out_estimate);
  });
}

// --- Values

vx_status vx_tensor_create(vx_element_type type, uint32_t rank, const int64_t *dims, const void *data, uint64_t size,
                           vx_value **out_value) {
  return guarded("vx_tensor_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    std::span<const int64_t> shape;
    VX_RETURN_IF_ERROR(dimsOf(rank, dims, shape));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::copyTensor(type, shape, data, size, value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

vx_status vx_tensor_wrap(vx_element_type type, uint32_t rank, const int64_t *dims, const void *data, uint64_t size,
                         void (*release)(void *user), void *user, vx_value **out_value) {
  return guarded("vx_tensor_wrap", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    std::span<const int64_t> shape;
    VX_RETURN_IF_ERROR(dimsOf(rank, dims, shape));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::wrapTensor(type, shape, data, size, release, user, value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

vx_status vx_tensor_from_dlpack(DLManagedTensorVersioned *tensor, vx_value **out_value) {
  return guarded("vx_tensor_from_dlpack", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    VX_RETURN_IF_ERROR(checkPointer(tensor, "tensor"));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(valueFromDlpack(*tensor, value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

vx_status vx_tensor_to_dlpack(vx_value *value, DLManagedTensorVersioned **out_tensor) {
  return guarded("vx_tensor_to_dlpack", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_tensor, "out_tensor"));
    Ref<Value> object;
    VX_RETURN_IF_ERROR(take(value, "value", object));
    return valueToDlpack(object, /*inPlace=*/false, *out_tensor);
  });
}

vx_status vx_tensor_to_dlpack_in_place(vx_value *value, DLManagedTensorVersioned **out_tensor) {
  return guarded("vx_tensor_to_dlpack_in_place", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_tensor, "out_tensor"));
    Ref<Value> object;
    VX_RETURN_IF_ERROR(take(value, "value", object));
    return valueToDlpack(object, /*inPlace=*/true, *out_tensor);
  });
}

vx_status vx_strings_create(uint32_t rank, const int64_t *dims, size_t count, const char *const *strings,
                            const size_t *lengths, vx_value **out_value) {
  return guarded("vx_strings_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    std::span<const int64_t> shape;
    VX_RETURN_IF_ERROR(dimsOf(rank, dims, shape));
    if (count) {
      VX_RETURN_IF_ERROR(checkPointer(strings, "strings"));
      VX_RETURN_IF_ERROR(checkPointer(lengths, "lengths"));
    }
    std::vector<std::string_view> texts(count);
    for (size_t i = 0; i < count; ++i) {
      if (!strings[i] && lengths[i])
        return failure(VX_INVALID_ARGUMENT, "argument 'strings[{}]' is a null pointer", i);
      if (strings[i])
        texts[i] = {strings[i], lengths[i]};
    }
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::strings(shape, texts, value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

vx_status vx_strings_element(const vx_value *value, size_t index, const char **out_string, size_t *out_length) {
  return guarded("vx_strings_element", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(out_string, "out_string"));
    VX_RETURN_IF_ERROR(checkPointer(out_length, "out_length"));
    *out_string = nullptr;
    *out_length = 0;
    Ref<Value> object;
    VX_RETURN_IF_ERROR(take(value, "value", object));
    if (object->kind() != VX_TENSOR || object->elementType() != VX_STRING)
      return failure(VX_INVALID_ARGUMENT, "expected a tensor of strings, got {}", object->typeString());
    if (index >= object->stringCount())
      return failure(VX_INVALID_ARGUMENT, "index is {}, {} has {} elements", index, object->typeString(),
                     object->stringCount());
    const std::string_view text = object->string(index);
    *out_string = text.data();
    *out_length = text.size();
    return okStatus();
  });
}

vx_status vx_sequence_create(vx_element_type type, size_t count, vx_value *const *elements, vx_value **out_value) {
  return guarded("vx_sequence_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    std::vector<Ref<Value>> parts;
    std::vector<Value *> pointers;
    VX_RETURN_IF_ERROR(valuesOf(count, elements, "elements", parts, pointers));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::list(VX_SEQUENCE, type, std::move(parts), value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

// An optional that holds `element`, the argument `name`, or nothing where that is null.
static Status createOptional(vx_value_kind kind, vx_element_type type, vx_value *element, const char *name,
                             vx_value **out_value) {
  VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
  std::vector<Ref<Value>> parts;
  if (element)
    VX_RETURN_IF_ERROR(take(element, name, parts.emplace_back()));
  Ref<Value> value;
  VX_RETURN_IF_ERROR(Value::list(kind, type, std::move(parts), value));
  give(std::move(value), out_value);
  return okStatus();
}

vx_status vx_optional_create(vx_element_type type, vx_value *element, vx_value **out_value) {
  return guarded("vx_optional_create",
                 [&] { return createOptional(VX_OPTIONAL, type, element, "element", out_value); });
}

vx_status vx_optional_sequence_create(vx_element_type type, vx_value *sequence, vx_value **out_value) {
  return guarded("vx_optional_sequence_create",
                 [&] { return createOptional(VX_OPTIONAL_SEQUENCE, type, sequence, "sequence", out_value); });
}

void vx_value_retain(vx_value *value) { retain(value, "vx_value_retain"); }
void vx_value_release(vx_value *value) { release(value, "vx_value_release"); }

vx_value_info vx_value_get_info(const vx_value *value) {
  vx_value_info info = {};
  if (!value || handleOf(value)->isReleased())
    return info;
  const Value &object = *handleOf(value)->object();
  info.kind = object.kind();
  info.element_type = object.elementType();
  info.rank = static_cast<uint32_t>(object.dims().size());
  info.dims = object.dims().data();
  info.size = object.size();
  info.count = object.elements().size() + object.stringCount();
  return info;
}

vx_status vx_value_element(const vx_value *value, size_t index, vx_value **out_element) {
  return guarded("vx_value_element", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_element, "out_element"));
    Ref<Value> object;
    VX_RETURN_IF_ERROR(take(value, "value", object));
    if (object->kind() == VX_TENSOR)
      return failure(VX_INVALID_ARGUMENT, "expected a sequence or an optional, got {}", object->typeString());
    if (index >= object->elements().size())
      return failure(VX_INVALID_ARGUMENT, "element {} does not exist, there are {}", index, object->elements().size());
    give(Ref<Value>(object->elements()[index]), out_element);
    return okStatus();
  });
}

vx_status vx_tensor_data(const vx_value *value, const void **out_data) {
  return guarded("vx_tensor_data", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(out_data, "out_data"));
    *out_data = nullptr;
    Ref<Value> object;
    VX_RETURN_IF_ERROR(take(value, "value", object));
    return object->hostBytes(*out_data);
  });
}

vx_status vx_value_to_device(vx_value *value, const char *device, vx_value **out_value) {
  return guarded("vx_value_to_device", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    Ref<Value> source, placed;
    VX_RETURN_IF_ERROR(take(value, "value", source));
    VX_RETURN_IF_ERROR(copyToDevice(source, device, allDrivers(), placed));
    give(std::move(placed), out_value);
    return okStatus();
  });
}

const char *vx_value_device(const vx_value *value) {
  if (!value || handleOf(value)->isReleased() || handleOf(value)->object()->kind() != VX_TENSOR)
    return nullptr;
  return deviceOf(*handleOf(value)->object()).data(); // of a whole std::string or a literal, which end with a zero
}

// --- Variables

vx_status vx_instance_read_variable(vx_instance *instance, const char *name, vx_value **out_value) {
  return guarded("vx_instance_read_variable", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    VX_RETURN_IF_ERROR(checkPointer(name, "name"));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(object->readVariable(name, value));
    give(std::move(value), out_value);
    return okStatus();
  });
}

vx_status vx_instance_write_variable(vx_instance *instance, const char *name, vx_value *value) {
  return guarded("vx_instance_write_variable", [&]() -> Status {
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    VX_RETURN_IF_ERROR(checkPointer(name, "name"));
    Ref<Value> source;
    VX_RETURN_IF_ERROR(take(value, "value", source));
    return object->writeVariable(name, *source);
  });
}

vx_status vx_instance_upload(vx_instance *instance, vx_value *value, vx_value **out_value) {
  return guarded("vx_instance_upload", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    Ref<Value> source, placed;
    VX_RETURN_IF_ERROR(take(value, "value", source));
    VX_RETURN_IF_ERROR(object->upload(source, placed));
    give(std::move(placed), out_value);
    return okStatus();
  });
}

vx_status vx_instance_host_alloc(vx_instance *instance, uint64_t size, void **out_data) {
  return guarded("vx_instance_host_alloc", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_data, "out_data"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    return allocateTransferMemory(object->context(), size, *out_data);
  });
}

void vx_host_free(void *data) {
  if (data && !freeTransferMemory(data))
    log(VX_LOG_ERROR, "vx_host_free: the memory is not of vx_instance_host_alloc, or has been freed before");
}

const vx_variable_info *vx_instance_variables(const vx_instance *instance, size_t *out_count) {
  const Ref<Instance> object = objectOf(instance);
  const std::span<const vx_variable_info> table =
      object ? object->variableTable() : std::span<const vx_variable_info>();
  if (out_count)
    *out_count = table.size();
  return table.data();
}

vx_status vx_instance_read_variables(vx_instance *instance, size_t count, const char *const *names,
                                     vx_value **out_values) {
  return guarded("vx_instance_read_variables", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(count, out_values, "out_values"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    std::vector<std::string_view> wanted;
    VX_RETURN_IF_ERROR(namesOf(count, names, wanted));
    std::vector<Ref<Value>> values;
    VX_RETURN_IF_ERROR(object->readVariables(wanted, values));
    for (size_t i = 0; i < count; ++i)
      give(std::move(values[i]), &out_values[i]);
    return okStatus();
  });
}

vx_status vx_instance_save_module(vx_instance *instance, size_t count, const char *const *names, const char *path) {
  return guarded("vx_instance_save_module", [&]() -> Status {
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    std::vector<std::string_view> wanted;
    VX_RETURN_IF_ERROR(namesOf(count, names, wanted));
    VX_RETURN_IF_ERROR(checkPointer(path, "path"));
    return object->saveModule(wanted, path);
  });
}

vx_status vx_instance_write_variables(vx_instance *instance, size_t count, const char *const *names,
                                      vx_value *const *values) {
  return guarded("vx_instance_write_variables", [&]() -> Status {
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    std::vector<std::string_view> wanted;
    VX_RETURN_IF_ERROR(namesOf(count, names, wanted));
    std::vector<Ref<Value>> kept;
    std::vector<Value *> given;
    VX_RETURN_IF_ERROR(valuesOf(count, values, "values", kept, given));
    for (const Value *value : given)
      VX_RETURN_IF_ERROR(checkPointer(value, "values[]"));
    return object->writeVariables(wanted, {given.begin(), given.end()});
  });
}

// --- Calls

vx_status vx_call_create(vx_instance *instance, const char *function, vx_call **out_call) {
  return guarded("vx_call_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_call, "out_call"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    uint32_t index = 0;
    VX_RETURN_IF_ERROR(object->findFunction(function, index));
    auto call = makeRef<CallObject>();
    call->instance = std::move(object);
    VX_RETURN_IF_ERROR(call->instance->takeCall(index, call->state));
    give(std::move(call), out_call);
    return okStatus();
  });
}

void vx_call_retain(vx_call *call) { retain(call, "vx_call_retain"); }
void vx_call_release(vx_call *call) { release(call, "vx_call_release"); }

vx_status vx_call_run(vx_call *call, size_t input_count, vx_value *const *inputs, size_t output_count,
                      vx_value **out_outputs) {
  return guarded("vx_call_run", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    Ref<CallObject> object;
    VX_RETURN_IF_ERROR(take(call, "call", object));
    RunArguments arguments;
    VX_RETURN_IF_ERROR(arguments.take(input_count, inputs));
    return runCall(*object, std::move(arguments), output_count, out_outputs);
  });
}

vx_status vx_call_run_into(vx_call *call, size_t input_count, vx_value *const *inputs, size_t output_count,
                           const vx_result_place *places, vx_value **out_outputs) {
  return guarded("vx_call_run_into", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    Ref<CallObject> object;
    VX_RETURN_IF_ERROR(take(call, "call", object));
    if (output_count)
      VX_RETURN_IF_ERROR(checkPointer(places, "places"));
    RunArguments arguments;
    VX_RETURN_IF_ERROR(arguments.take(input_count, inputs, output_count, places));
    return runCall(*object, std::move(arguments), output_count, out_outputs);
  });
}

static void tellDone(vx_done_fn done, void *user, const Status &status, std::span<const Ref<Value>> outputs) {
  // The function is called in any case.
  static vx_status_object noMemory{VX_OUT_OF_MEMORY, "the system has no more memory", "", ""};
  vx_status failed = nullptr;
  std::vector<vx_value *> handles;
  try {
    if (!status.ok())
      failed = Status(status.code(), std::string(status.message())).makePrintable().release();
    handles.resize(outputs.size());
    for (size_t i = 0; i < handles.size(); ++i)
      give(outputs[i], &handles[i]);
  } catch (const std::bad_alloc &) {
    failed = failed ? failed : &noMemory;
  }
  done(user, failed, failed ? 0 : handles.size(), failed ? nullptr : handles.data());
  for (vx_value *handle : handles)
    vx_value_release(handle);
  if (failed != &noMemory)
    vx_status_release(failed);
}

vx_status vx_call_submit(vx_call *call, size_t input_count, vx_value *const *inputs, const vx_submit_options *options,
                         vx_pending **out_pending) {
  return guarded("vx_call_submit", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_pending, "out_pending"));
    Ref<CallObject> object;
    VX_RETURN_IF_ERROR(take(call, "call", object));
    vx_submit_options given;
    VX_RETURN_IF_ERROR(copyOptions(options, given));
    if (given.place_count) {
      VX_RETURN_IF_ERROR(checkPointer(given.places, "options.places"));
      VX_RETURN_IF_ERROR(checkOutputCount(object->function(), given.place_count));
    }
    RunArguments arguments;
    VX_RETURN_IF_ERROR(arguments.take(input_count, inputs, given.place_count, given.places));
    const CallUse use(*object);
    VX_RETURN_IF_ERROR(use.check());
    if (!object->pending)
      object->pending = std::make_unique<PendingRuns>(*object->instance, *object->state);
    auto pending = makeRef<PendingObject>();
    pending->call = object;
    pending->run.deadline = given.deadline_ms;
    if (given.done)
      pending->run.whenDone = [done = given.done, user = given.done_user](const Status &status,
                                                                          std::span<const Ref<Value>> outputs) {
        tellDone(done, user, status, outputs);
      };
    // The handle is made first: where there is no memory for it, nothing has been started.
    PendingRun &run = pending->run;
    give(std::move(pending), out_pending);
    const auto refuse = [&] { vx_pending_release(std::exchange(*out_pending, nullptr)); };
    try {
      Status status = object->pending->submit(arguments.inputs, std::move(arguments.places), given.hold != 0, run);
      if (!status.ok())
        refuse();
      return status;
    } catch (...) {
      refuse();
      throw;
    }
  });
}

vx_status vx_call_start(vx_pending *pending) {
  return guarded("vx_call_start", [&]() -> Status {
    Ref<PendingObject> object;
    VX_RETURN_IF_ERROR(take(pending, "pending", object));
    return object->call->pending->start(object->run);
  });
}

template <typename F>
static vx::Status waitFor(vx_pending *pending, size_t count, vx_value **places, F wait) {
  VX_RETURN_IF_ERROR(clearOutputs(count, places));
  Ref<PendingObject> object;
  VX_RETURN_IF_ERROR(take(pending, "pending", object));
  VX_RETURN_IF_ERROR(checkOutputCount(object->call->function(), count));
  std::vector<Ref<Value>> outputs;
  VX_RETURN_IF_ERROR(wait(*object, outputs));
  for (size_t i = 0; i < count; ++i)
    give(std::move(outputs[i]), &places[i]);
  return okStatus();
}

vx_status vx_call_wait(vx_pending *pending, size_t output_count, vx_value **out_outputs) {
  return guarded("vx_call_wait", [&]() -> Status {
    return waitFor(pending, output_count, out_outputs, [](PendingObject &object, std::vector<Ref<Value>> &outputs) {
      return object.call->pending->wait(object.run, outputs);
    });
  });
}

vx_status vx_call_wait_for(vx_pending *pending, uint32_t timeout_ms, size_t output_count, vx_value **out_outputs) {
  return guarded("vx_call_wait_for", [&]() -> Status {
    return waitFor(pending, output_count, out_outputs, [&](PendingObject &object, std::vector<Ref<Value>> &outputs) {
      return object.call->pending->waitFor(object.run, timeout_ms, outputs);
    });
  });
}

void vx_call_cancel(vx_pending *pending) {
  if (const Ref<PendingObject> object = objectOf(pending))
    object->call->pending->cancel(object->run);
}

void vx_pending_retain(vx_pending *pending) { retain(pending, "vx_pending_retain"); }
void vx_pending_release(vx_pending *pending) { release(pending, "vx_pending_release"); }

void vx_call_set_profile(vx_call *call, int on) {
  withIdleStateQuietly(call, "vx_call_set_profile", [&](CallState &state) { state.setProfile(on != 0); });
}

void vx_call_set_observer(vx_call *call, vx_dispatch_observer observer, void *user) {
  withIdleStateQuietly(call, "vx_call_set_observer", [&](CallState &state) {
    if (!observer)
      return state.setObserver(nullptr);
    state.setObserver([observer, user](vx_dispatch_info info, std::span<const Ref<Value>> outputs,
                                       std::span<Ref<Value>> replacements) {
      std::vector<vx_value *> handles(outputs.size()), given(outputs.size());
      info.replacements = given.data();
      for (size_t i = 0; i < outputs.size(); ++i)
        give(outputs[i], &handles[i]);
      info.outputs = handles.data();
      observer(user, &info);
      for (vx_value *handle : handles)
        vx_value_release(handle);
      for (size_t i = 0; i < given.size(); ++i)
        if (given[i]) {
          replacements[i] = objectOf(given[i]);
          vx_value_release(given[i]);
        }
    });
  });
}

vx_status vx_call_set_stream(vx_call *call, void *stream) {
  return guarded("vx_call_set_stream",
                 [&] { return withIdleState(call, [&](CallState &state) { return state.setStream(stream); }); });
}

static Status giveText(const vx_call *call, char **place, Status (CallState::*make)(std::string &text) const) {
  VX_RETURN_IF_ERROR(clearPlace(place, "out_json"));
  return withIdleState(call, [&](CallState &state) -> Status {
    std::string text;
    VX_RETURN_IF_ERROR((state.*make)(text));
    return copyString(text, place);
  });
}

vx_status vx_call_report(const vx_call *call, char **out_json) {
  return guarded("vx_call_report", [&] { return giveText(call, out_json, &CallState::report); });
}

vx_status vx_call_trace(const vx_call *call, char **out_json) {
  return guarded("vx_call_trace", [&] { return giveText(call, out_json, &CallState::trace); });
}

// In a call of the instance's pool.
static Status runOnce(Instance &instance, const char *function, const RunArguments &arguments, size_t outputCount,
                      vx_value **outputs) {
  uint32_t index = 0;
  VX_RETURN_IF_ERROR(instance.findFunction(function, index));
  std::unique_ptr<CallState> state;
  VX_RETURN_IF_ERROR(instance.takeCall(index, state));
  Status status = runCall(*state, arguments, outputCount, outputs, instance.data().functions[index]);
  instance.returnCall(std::move(state));
  return status;
}

vx_status vx_instance_call(vx_instance *instance, const char *function, size_t input_count, vx_value *const *inputs,
                           size_t output_count, vx_value **out_outputs) {
  return guarded("vx_instance_call", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(instance, "instance", object));
    RunArguments arguments;
    VX_RETURN_IF_ERROR(arguments.take(input_count, inputs));
    return runOnce(*object, function, arguments, output_count, out_outputs);
  });
}

vx_status vx_try_with_fallback(vx_instance **instance, const char *function, size_t input_count,
                               vx_value *const *inputs, size_t output_count, vx_value **out_outputs) {
  return guarded("vx_try_with_fallback", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    Ref<Instance> object;
    VX_RETURN_IF_ERROR(take(*instance, "*instance", object));
    RunArguments arguments;
    VX_RETURN_IF_ERROR(arguments.take(input_count, inputs));
    const Ref<Instance> first = object;
    Status status = runWithFallback(object, allDrivers(), [&](Instance &place) {
      return runOnce(place, function, arguments, output_count, out_outputs);
    });
    if (object.get() != first.get()) {
      vx_instance *next = nullptr;
      give(std::move(object), &next);
      vx_instance_release(std::exchange(*instance, next));
    }
    return status;
  });
}
