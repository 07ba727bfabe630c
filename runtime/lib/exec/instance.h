// A module on a device, with its variables.
#ifndef VX_RUNTIME_EXEC_INSTANCE_H
#define VX_RUNTIME_EXEC_INSTANCE_H

#include "exec/device_module.h"
#include "exec/instance_memory.h"
#include "exec/value.h"
#include "exec/variable_accesses.h"

#include <memory>
#include <mutex>
#include <vector>

namespace vx {

class CallState;
class Instance;

// A size that is bound when an instance is made.
struct BoundSymbol {
  std::string name;
  int64_t value = 0;
};

struct InstanceSetup {
  std::vector<BoundSymbol> symbols;
  // Whose device, parameters and statistics the new instance uses; null: nobody's. It is of the same module.
  Ref<Instance> share;
  // Of variables that start with random values.
  uint64_t seed = 0;
  // Of the instance's device memory, in bytes; 0: none. An instance that shares has that of the one it shares with.
  uint64_t memoryLimit = 0;
  // Devices that calls have failed on: they are passed over.
  std::vector<FailedDevice> failed = {};
  // False: for an estimate, nothing is put on the device, and nothing can be run.
  bool isLoaded = true;
};

// Thread-safe. Calls keep it alive.
class Instance : public RefCounted {
public:
  // Chooses among `drivers` by `request`. When none is taken, the status is VX_NO_DEVICE with the report.
  static Status create(Ref<Module> module, const DeviceRequest &request, std::span<hal::Driver *const> drivers,
                       Ref<Instance> &result, const InstanceSetup &setup = {});

  // Makes an instance with the options of this one on the next device of its request, after a call failed here with
  // `failed`. VX_UNSUPPORTED with the reason where that may not be: a variable has been written, whose value the new
  // instance would not have, or instances share variables.
  Status createOnNext(const Status &failed, std::span<hal::Driver *const> drivers, Ref<Instance> &result) const;

  const Module &module() const { return *parsedModule; }
  const ModuleData &data() const { return parsedModule->data(); }
  const DeviceReport &report() const { return deviceReport; }
  // What instances of the module on this device share.
  const DeviceModule &loaded() const { return *loadedModule; }
  const Target &target() const { return loadedModule->target(); }
  const Ref<DeviceContext> &context() const { return loadedModule->context(); }
  hal::Device &device() const { return loadedModule->device(); }

  // The values of the module's symbols.
  std::span<const int64_t> symbols() const { return symbolValues; }
  // As the C interface shows them, with their sizes here.
  std::span<const vx_variable_info> variableTable() const { return variableInfos; }
  const KeptBuffer &variable(size_t index) const { return variables[index]; }

  // The right to run the program of an entry of the target, after those who had it before.
  VariableAccesses::Ticket takeVariables(size_t entry) { return accessTable->take(entryAccesses[entry].running); }
  // The right to compute the derived values that the program needs before it runs, and then only that.
  VariableAccesses::Ticket takeDerived(size_t entry) { return accessTable->take(entryAccesses[entry].deriving); }
  // A ticket to be awaited for both, at the place in the order of all that this call has.
  VariableAccesses::Ticket queueVariables(size_t entry) {
    const EntryAccesses &accesses = entryAccesses[entry];
    return accessTable->ask(target().entries[entry].needed.empty() ? accesses.running : accesses.deriving);
  }
  // A run has stored variables.
  void noteWritten() { accessTable->noteWritten(); }
  void keepVariables(size_t entry, VariableAccesses::Ticket &ticket) { ticket.reduceTo(entryAccesses[entry].running); }

  // By index of the target's derived values, those of variables.
  DerivedValue &derived(size_t index) { return *derivedValues[index]; }
  // Those that an entry needs and that are not what its variables are now, for who may compute them: what a value that
  // is fresh was computed from may be gone.
  std::vector<uint32_t> derivedToCompute(size_t entry);
  void noteComputed(DerivedValue &derived) { accessTable->noteComputed(derived.version); }

  // Memory for calls, see InstanceMemory.
  Status allocate(uint64_t size, Ref<hal::Memory> &memory) { return deviceMemory->allocate(device(), size, memory); }
  uint64_t usedMemory() const { return deviceMemory->used(); }
  InstanceMemory &memory() const { return *deviceMemory; }
  // 0: none.
  uint64_t memoryLimit() const { return deviceMemory->limitBytes(); }
  // Bytes of what the variables lie in, those of another instance that they are shared with included.
  std::span<const uint64_t> variableStorages() const { return storageBytes; }
  // Hands out what the places in the pool keep for their next run.
  void takeIdleMemory(std::vector<Ref<hal::Memory>> &memory);

  // Many at once, as they are at one time: all, or none where the status is no success.
  Status readVariables(std::span<const std::string_view> names, std::vector<Ref<Value>> &values);
  // Writes a module in which these variables start as they are now.
  Status saveModule(std::span<const std::string_view> names, const std::string &path);
  Status writeVariables(std::span<const std::string_view> names, std::span<const Value *const> values);
  Status readVariable(std::string_view name, Ref<Value> &value);
  Status writeVariable(std::string_view name, const Value &value);

  // A copy of a tensor that calls read in place; the tensor itself where they read that in place.
  Status upload(const Ref<Value> &value, Ref<Value> &placed);

  // Index of a function; null is the first one.
  Status findFunction(const char *name, uint32_t &index) const;

  // A place to run `function` in, from the pool when it has one, and its return. The instance must outlive it.
  Status takeCall(uint32_t function, std::unique_ptr<CallState> &call);
  void returnCall(std::unique_ptr<CallState> call);

protected:
  ~Instance() override;

private:
  friend Ref<Instance> makeRef<Instance>();
  Instance();

  Status bindSymbols(std::span<const BoundSymbol> given);
  Status placeVariables();
  Status sizeStorages();
  Status checkLimit() const;
  Status tryCandidate(const DeviceCandidate &candidate, std::span<hal::Driver *const> drivers);
  // With the first of `targets` that has a variant for the device.
  Status tryDevice(hal::Driver &driver, uint32_t index, std::span<const uint32_t> targets, hal::Refusal &refusal);
  // By storage: those of `shared`.
  std::vector<bool> sharedStorages() const;
  Status loadVariables();
  Status drawVariables(const std::vector<bool> &isShared);
  void placeDerived();
  void collectAccesses();
  void addWrite(size_t variable, AccessSet &accesses);
  // Bytes of variables, and what the host has for them.
  using Pieces = std::vector<std::pair<hal::BufferView, const void *>>;
  // What of the shadows follows from pieces, as pieces of `rounded`, which is to outlive them.
  void addShadows(Pieces &pieces, std::vector<std::vector<uint16_t>> &rounded) const;
  Status findVariable(std::string_view name, uint32_t &index) const;

  Ref<Module> parsedModule;
  DeviceReport deviceReport;
  Ref<DeviceModule> loadedModule;
  Ref<Instance> shared; // while it is made
  bool isLoaded = true;
  uint64_t seed = 0;
  std::vector<int64_t> symbolValues;
  std::vector<VariablePlace> variablePlaces;
  std::vector<vx_variable_info> variableInfos;
  std::vector<uint64_t> storageBytes;
  std::vector<Ref<hal::Memory>> storages;
  std::vector<KeptBuffer> variables;
  // By variable: null where nothing is derived from it.
  std::vector<std::shared_ptr<VariableVersion>> versions;
  // By derived value of the target: null where it is a constant.
  std::vector<std::shared_ptr<DerivedValue>> derivedValues;
  struct EntryAccesses {
    AccessSet running;  // what the program stores, and reads as it is
    AccessSet deriving; // the same, and what becomes of the derived values that it needs
  };
  std::vector<EntryAccesses> entryAccesses; // by entry of the target
  std::shared_ptr<VariableAccesses> accessTable;
  Ref<InstanceMemory> deviceMemory;

  std::mutex poolMutex;
  std::vector<std::vector<std::unique_ptr<CallState>>> pool; // by function
};

} // namespace vx

#endif
