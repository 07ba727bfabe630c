// The C interface: handles, argument checks and contexts around the runtime's own classes.
#include "vx/runtime/vx.h"

#include "api/dlpack.h"
#include "api/drivers.h"
#include "base/log.h"
#include "exec/call_state.h"
#include "exec/instance.h"
#include "exec/memory_estimate.h"
#include "exec/pending_runs.h"
#include "exec/value.h"
#include "module/module.h"

#include "vx/abi/version.h"

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

// What a vx_pending is: the run, and the call that does it.
class PendingObject : public RefCounted {
public:
  Ref<CallObject> call;
  PendingRun run;

protected:
  ~PendingObject() override { call->pending->drop(run); }
};

Module *unwrap(vx_module *module) { return reinterpret_cast<Module *>(module); }
const Module *unwrap(const vx_module *module) { return reinterpret_cast<const Module *>(module); }
Instance *unwrap(vx_instance *instance) { return reinterpret_cast<Instance *>(instance); }
const Instance *unwrap(const vx_instance *instance) { return reinterpret_cast<const Instance *>(instance); }
Value *unwrap(vx_value *value) { return reinterpret_cast<Value *>(value); }
const Value *unwrap(const vx_value *value) { return reinterpret_cast<const Value *>(value); }
CallObject *unwrap(vx_call *call) { return reinterpret_cast<CallObject *>(call); }
const CallObject *unwrap(const vx_call *call) { return reinterpret_cast<const CallObject *>(call); }

PendingObject *unwrap(vx_pending *pending) { return reinterpret_cast<PendingObject *>(pending); }

void retainUnlessNull(RefCounted *object) {
  if (object)
    object->retain();
}

// A table of the signature; none of a module that is null.
template <typename Info>
const Info *tableOf(const vx_module *module, std::vector<Info> SignatureTables::*table, size_t *count) {
  const std::vector<Info> *found = module ? &(unwrap(module)->signature().*table) : nullptr;
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

Status checkPointer(const void *pointer, const char *argument) {
  if (pointer)
    return okStatus();
  return failure(VX_INVALID_ARGUMENT, "argument '{}' is a null pointer", argument);
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

Status runCall(CallState &state, size_t inputCount, vx_value *const *inputs, size_t outputCount, vx_value **outputs,
               const Function &function, std::span<const ResultPlace> places = {}) {
  if (inputCount)
    VX_RETURN_IF_ERROR(checkPointer(inputs, "inputs"));
  VX_RETURN_IF_ERROR(checkOutputCount(function, outputCount));
  std::vector<Ref<Value>> results;
  VX_RETURN_IF_ERROR(state.run({reinterpret_cast<Value *const *>(inputs), inputCount}, results, places));
  for (size_t i = 0; i < outputCount; ++i)
    outputs[i] = reinterpret_cast<vx_value *>(results[i].detach());
  return okStatus();
}

// With a vx_call, whose submitted runs come first.
Status runCall(CallObject &call, size_t inputCount, vx_value *const *inputs, size_t outputCount, vx_value **outputs,
               std::span<const ResultPlace> places = {}) {
  Status status = runCall(call.idleState(), inputCount, inputs, outputCount, outputs, call.function(), places);
  if (status.code() == VX_OUT_OF_MEMORY && call.pending)
    call.pending->dropIdleMemory();
  return status;
}

std::vector<ResultPlace> placesOf(size_t count, const vx_result_place *places) {
  std::vector<ResultPlace> given;
  for (size_t i = 0; i < count; ++i)
    given.push_back({places[i].data, places[i].size, unwrap(places[i].value)});
  return given;
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
    return failure(VX_INVALID_ARGUMENT, "options have {} bytes, want {} to {}", options->struct_size, least,
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
    *out_module = reinterpret_cast<vx_module *>(module.detach());
    return okStatus();
  });
}

vx_status vx_module_load_bytes(const void *bytes, size_t size, const char *name, vx_module **out_module) {
  return guarded("vx_module_load_bytes", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_module, "out_module"));
    VX_RETURN_IF_ERROR(checkPointer(bytes, "bytes"));
    constexpr uintptr_t alignment = 64;
    if (uintptr_t past = reinterpret_cast<uintptr_t>(bytes) % alignment)
      return failure(VX_INVALID_ARGUMENT, "argument 'bytes' is {} bytes past a multiple of {}, want them at one", past,
                     alignment);
    Ref<Module> module;
    VX_RETURN_IF_ERROR(
        Module::fromMemory(name ? name : "module in memory", {static_cast<const uint8_t *>(bytes), size}, module));
    *out_module = reinterpret_cast<vx_module *>(module.detach());
    return okStatus();
  });
}

void vx_module_retain(vx_module *module) { retainUnlessNull(unwrap(module)); }
void vx_module_release(vx_module *module) {
  if (module)
    unwrap(module)->release();
}

const vx_function_info *vx_module_functions(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::functions, out_count);
}

const vx_variable_info *vx_module_variables(const vx_module *module, size_t *out_count) {
  return tableOf(module, &SignatureTables::variables, out_count);
}

const vx_alias_info *vx_module_aliases(const vx_module *module, size_t function, size_t *out_count) {
  const std::vector<vx_alias_info> *found = nullptr;
  if (module && function < unwrap(module)->signature().aliases.size())
    found = &unwrap(module)->signature().aliases[function];
  if (out_count)
    *out_count = found ? found->size() : 0;
  return found ? found->data() : nullptr;
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
  if (!module || !unwrap(module)->signature().training)
    return nullptr;
  return &*unwrap(module)->signature().training;
}

vx_status vx_module_describe(const vx_module *module, char **out_json) {
  return guarded("vx_module_describe", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_json, "out_json"));
    VX_RETURN_IF_ERROR(checkPointer(module, "module"));
    return copyString(unwrap(module)->describe(), out_json);
  });
}

vx_status vx_module_verify(const vx_module *module) {
  return guarded("vx_module_verify", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(module, "module"));
    for (uint32_t i = 0; i < unwrap(module)->data().sections.size(); ++i)
      VX_RETURN_IF_ERROR(unwrap(module)->verifySection(i));
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
  VX_RETURN_IF_ERROR(checkPointer(module, "module"));
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
  setup.share = Ref<Instance>(unwrap(given.share));
  if (given.share && (given.device || given.device_order || given.no_fallback || given.threads || given.variant ||
                      given.wait_limit_ms))
    return failure(VX_INVALID_ARGUMENT, "options choose a device and an instance to share with, which has its own");
  if (given.share && given.memory_limit)
    return failure(VX_INVALID_ARGUMENT,
                   "options set a memory limit of {} bytes and an instance to share with, which has its own",
                   given.memory_limit);
  VX_RETURN_IF_ERROR(copySymbols(given.symbol_count, given.symbols, setup.symbols));
  return Instance::create(Ref<Module>(unwrap(module)), request, allDrivers(), instance, setup);
}

vx_status vx_instance_create(vx_module *module, const vx_instance_options *options, vx_instance **out_instance) {
  return guarded("vx_instance_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_instance, "out_instance"));
    Ref<Instance> instance;
    VX_RETURN_IF_ERROR(makeInstance(module, options, /*isLoaded=*/true, instance));
    *out_instance = reinterpret_cast<vx_instance *>(instance.detach());
    return okStatus();
  });
}

void vx_instance_retain(vx_instance *instance) { retainUnlessNull(unwrap(instance)); }
void vx_instance_release(vx_instance *instance) {
  if (instance)
    unwrap(instance)->release();
}

vx_status vx_instance_report(const vx_instance *instance, vx_report_format format, char **out_report) {
  return guarded("vx_instance_report", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_report, "out_report"));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    const DeviceReport &report = unwrap(instance)->report();
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
    return failure(VX_INVALID_ARGUMENT, "estimate has {} bytes, want {}", size, sizeof(vx_memory_estimate));
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
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    return estimateFunction(*unwrap(instance), function, symbol_count, symbols, out_estimate);
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
    *out_value = reinterpret_cast<vx_value *>(value.detach());
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
    *out_value = reinterpret_cast<vx_value *>(value.detach());
    return okStatus();
  });
}

vx_status vx_tensor_from_dlpack(DLManagedTensorVersioned *tensor, vx_value **out_value) {
  return guarded("vx_tensor_from_dlpack", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    VX_RETURN_IF_ERROR(checkPointer(tensor, "tensor"));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(valueFromDlpack(*tensor, value));
    *out_value = reinterpret_cast<vx_value *>(value.detach());
    return okStatus();
  });
}

vx_status vx_tensor_to_dlpack(vx_value *value, DLManagedTensorVersioned **out_tensor) {
  return guarded("vx_tensor_to_dlpack", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_tensor, "out_tensor"));
    VX_RETURN_IF_ERROR(checkPointer(value, "value"));
    return valueToDlpack(Ref<Value>(unwrap(value)), *out_tensor);
  });
}

vx_status vx_sequence_create(vx_element_type type, size_t count, vx_value *const *elements, vx_value **out_value) {
  return guarded("vx_sequence_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    if (count)
      VX_RETURN_IF_ERROR(checkPointer(elements, "elements"));
    std::vector<Ref<Value>> parts;
    for (size_t i = 0; i < count; ++i)
      parts.emplace_back(unwrap(elements[i]));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::list(VX_SEQUENCE, type, std::move(parts), value));
    *out_value = reinterpret_cast<vx_value *>(value.detach());
    return okStatus();
  });
}

vx_status vx_optional_create(vx_element_type type, vx_value *element, vx_value **out_value) {
  return guarded("vx_optional_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    std::vector<Ref<Value>> parts;
    if (element)
      parts.emplace_back(unwrap(element));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(Value::list(VX_OPTIONAL, type, std::move(parts), value));
    *out_value = reinterpret_cast<vx_value *>(value.detach());
    return okStatus();
  });
}

void vx_value_retain(vx_value *value) { retainUnlessNull(unwrap(value)); }
void vx_value_release(vx_value *value) {
  if (value)
    unwrap(value)->release();
}

vx_value_info vx_value_get_info(const vx_value *value) {
  vx_value_info info = {};
  if (!value)
    return info;
  const Value &object = *unwrap(value);
  info.kind = object.kind();
  info.element_type = object.elementType();
  info.rank = static_cast<uint32_t>(object.dims().size());
  info.dims = object.dims().data();
  info.size = object.size();
  info.count = object.elements().size();
  return info;
}

vx_status vx_value_element(const vx_value *value, size_t index, vx_value **out_element) {
  return guarded("vx_value_element", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_element, "out_element"));
    VX_RETURN_IF_ERROR(checkPointer(value, "value"));
    const Value &object = *unwrap(value);
    if (object.kind() == VX_TENSOR)
      return failure(VX_INVALID_ARGUMENT, "want a sequence or an optional, got {}", object.typeString());
    if (index >= object.elements().size())
      return failure(VX_INVALID_ARGUMENT, "element {} does not exist, there are {}", index, object.elements().size());
    *out_element = reinterpret_cast<vx_value *>(Ref<Value>(object.elements()[index]).detach());
    return okStatus();
  });
}

vx_status vx_tensor_data(const vx_value *value, const void **out_data) {
  return guarded("vx_tensor_data", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(out_data, "out_data"));
    *out_data = nullptr;
    VX_RETURN_IF_ERROR(checkPointer(value, "value"));
    return unwrap(value)->hostBytes(*out_data);
  });
}

// --- Variables

vx_status vx_instance_read_variable(vx_instance *instance, const char *name, vx_value **out_value) {
  return guarded("vx_instance_read_variable", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_value, "out_value"));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    VX_RETURN_IF_ERROR(checkPointer(name, "name"));
    Ref<Value> value;
    VX_RETURN_IF_ERROR(unwrap(instance)->readVariable(name, value));
    *out_value = reinterpret_cast<vx_value *>(value.detach());
    return okStatus();
  });
}

vx_status vx_instance_write_variable(vx_instance *instance, const char *name, vx_value *value) {
  return guarded("vx_instance_write_variable", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    VX_RETURN_IF_ERROR(checkPointer(name, "name"));
    VX_RETURN_IF_ERROR(checkPointer(value, "value"));
    return unwrap(instance)->writeVariable(name, *unwrap(value));
  });
}

const vx_variable_info *vx_instance_variables(const vx_instance *instance, size_t *out_count) {
  const std::span<const vx_variable_info> table =
      instance ? unwrap(instance)->variableTable() : std::span<const vx_variable_info>();
  if (out_count)
    *out_count = table.size();
  return table.data();
}

vx_status vx_instance_read_variables(vx_instance *instance, size_t count, const char *const *names,
                                     vx_value **out_values) {
  return guarded("vx_instance_read_variables", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(count, out_values, "out_values"));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    std::vector<std::string_view> wanted;
    VX_RETURN_IF_ERROR(namesOf(count, names, wanted));
    std::vector<Ref<Value>> values;
    VX_RETURN_IF_ERROR(unwrap(instance)->readVariables(wanted, values));
    for (size_t i = 0; i < count; ++i)
      out_values[i] = reinterpret_cast<vx_value *>(values[i].detach());
    return okStatus();
  });
}

vx_status vx_instance_write_variables(vx_instance *instance, size_t count, const char *const *names,
                                      vx_value *const *values) {
  return guarded("vx_instance_write_variables", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    std::vector<std::string_view> wanted;
    VX_RETURN_IF_ERROR(namesOf(count, names, wanted));
    if (count)
      VX_RETURN_IF_ERROR(checkPointer(values, "values"));
    std::vector<const Value *> given;
    for (size_t i = 0; i < count; ++i) {
      VX_RETURN_IF_ERROR(checkPointer(values[i], "values[]"));
      given.push_back(unwrap(values[i]));
    }
    return unwrap(instance)->writeVariables(wanted, given);
  });
}

// --- Calls

vx_status vx_call_create(vx_instance *instance, const char *function, vx_call **out_call) {
  return guarded("vx_call_create", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_call, "out_call"));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    uint32_t index = 0;
    VX_RETURN_IF_ERROR(unwrap(instance)->findFunction(function, index));
    auto call = makeRef<CallObject>();
    call->instance = Ref<Instance>(unwrap(instance));
    VX_RETURN_IF_ERROR(call->instance->takeCall(index, call->state));
    *out_call = reinterpret_cast<vx_call *>(call.detach());
    return okStatus();
  });
}

void vx_call_retain(vx_call *call) { retainUnlessNull(unwrap(call)); }
void vx_call_release(vx_call *call) {
  if (call)
    unwrap(call)->release();
}

vx_status vx_call_run(vx_call *call, size_t input_count, vx_value *const *inputs, size_t output_count,
                      vx_value **out_outputs) {
  return guarded("vx_call_run", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    return runCall(*unwrap(call), input_count, inputs, output_count, out_outputs);
  });
}

vx_status vx_call_run_into(vx_call *call, size_t input_count, vx_value *const *inputs, size_t output_count,
                           const vx_result_place *places, vx_value **out_outputs) {
  return guarded("vx_call_run_into", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    if (output_count)
      VX_RETURN_IF_ERROR(checkPointer(places, "places"));
    return runCall(*unwrap(call), input_count, inputs, output_count, out_outputs, placesOf(output_count, places));
  });
}

vx_status vx_call_submit(vx_call *call, size_t input_count, vx_value *const *inputs, const vx_submit_options *options,
                         vx_pending **out_pending) {
  return guarded("vx_call_submit", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_pending, "out_pending"));
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    if (input_count)
      VX_RETURN_IF_ERROR(checkPointer(inputs, "inputs"));
    vx_submit_options given;
    VX_RETURN_IF_ERROR(copyOptions(options, given));
    CallObject &object = *unwrap(call);
    if (given.place_count) {
      VX_RETURN_IF_ERROR(checkPointer(given.places, "options.places"));
      VX_RETURN_IF_ERROR(checkOutputCount(object.function(), given.place_count));
    }
    if (!object.pending)
      object.pending = std::make_unique<PendingRuns>(*object.instance, *object.state);
    auto pending = makeRef<PendingObject>();
    pending->call = Ref<CallObject>(&object);
    pending->run.deadline = given.deadline_ms;
    VX_RETURN_IF_ERROR(object.pending->submit({reinterpret_cast<Value *const *>(inputs), input_count},
                                              placesOf(given.place_count, given.places), given.hold != 0,
                                              pending->run));
    *out_pending = reinterpret_cast<vx_pending *>(pending.detach());
    return okStatus();
  });
}

vx_status vx_call_start(vx_pending *pending) {
  return guarded("vx_call_start", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(pending, "pending"));
    return unwrap(pending)->call->pending->start(unwrap(pending)->run);
  });
}

template <typename F>
static vx::Status waitFor(vx_pending *pending, size_t count, vx_value **places, F wait) {
  VX_RETURN_IF_ERROR(clearOutputs(count, places));
  VX_RETURN_IF_ERROR(checkPointer(pending, "pending"));
  PendingObject &object = *unwrap(pending);
  VX_RETURN_IF_ERROR(checkOutputCount(object.call->function(), count));
  std::vector<Ref<Value>> outputs;
  VX_RETURN_IF_ERROR(wait(object, outputs));
  for (size_t i = 0; i < count; ++i)
    places[i] = reinterpret_cast<vx_value *>(outputs[i].detach());
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
  if (pending)
    unwrap(pending)->call->pending->cancel(unwrap(pending)->run);
}

void vx_pending_retain(vx_pending *pending) { retainUnlessNull(unwrap(pending)); }
void vx_pending_release(vx_pending *pending) {
  if (pending)
    unwrap(pending)->release();
}

void vx_call_set_profile(vx_call *call, int on) {
  if (call)
    unwrap(call)->idleState().setProfile(on != 0);
}

void vx_call_set_observer(vx_call *call, vx_dispatch_observer observer, void *user) {
  if (call)
    unwrap(call)->idleState().setObserver(observer, user);
}

vx_status vx_call_set_stream(vx_call *call, void *stream) {
  return guarded("vx_call_set_stream", [&]() -> Status {
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    return unwrap(call)->idleState().setStream(stream);
  });
}

vx_status vx_call_report(const vx_call *call, char **out_json) {
  return guarded("vx_call_report", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_json, "out_json"));
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    std::string json;
    CallObject &object = const_cast<CallObject &>(*unwrap(call));
    VX_RETURN_IF_ERROR(object.idleState().report(json));
    return copyString(json, out_json);
  });
}

vx_status vx_call_trace(const vx_call *call, char **out_json) {
  return guarded("vx_call_trace", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearPlace(out_json, "out_json"));
    VX_RETURN_IF_ERROR(checkPointer(call, "call"));
    std::string json;
    CallObject &object = const_cast<CallObject &>(*unwrap(call));
    VX_RETURN_IF_ERROR(object.idleState().trace(json));
    return copyString(json, out_json);
  });
}

vx_status vx_instance_call(vx_instance *instance, const char *function, size_t input_count, vx_value *const *inputs,
                           size_t output_count, vx_value **out_outputs) {
  return guarded("vx_instance_call", [&]() -> Status {
    VX_RETURN_IF_ERROR(clearOutputs(output_count, out_outputs));
    VX_RETURN_IF_ERROR(checkPointer(instance, "instance"));
    Instance &object = *unwrap(instance);
    uint32_t index = 0;
    VX_RETURN_IF_ERROR(object.findFunction(function, index));
    std::unique_ptr<CallState> state;
    VX_RETURN_IF_ERROR(object.takeCall(index, state));
    Status status = runCall(*state, input_count, inputs, output_count, out_outputs, object.data().functions[index]);
    object.returnCall(std::move(state));
    return status;
  });
}
