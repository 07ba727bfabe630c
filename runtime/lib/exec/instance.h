// A module on a device, with its variables.
#ifndef VX_RUNTIME_EXEC_INSTANCE_H
#define VX_RUNTIME_EXEC_INSTANCE_H

#include "exec/device_context.h"
#include "exec/device_report.h"
#include "exec/guarded_device.h"
#include "exec/value.h"
#include "module/module.h"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace vx {

class CallState;

// A piece of device memory that lives as long as the instance.
struct InstanceBuffer {
  Ref<hal::Memory> memory;
  uint64_t offset = 0;
  uint64_t size = 0;

  hal::BufferView view() const { return {memory.get(), offset, size}; }
};

// Thread-safe. Calls keep it alive.
class Instance : public RefCounted {
public:
  // Chooses among `drivers` by `request`. When none is taken, the status is VX_NO_DEVICE with the report.
  static Status create(Ref<Module> module, const DeviceRequest &request, std::span<hal::Driver *const> drivers,
                       Ref<Instance> &result);

  const Module &module() const { return *loadedModule; }
  const ModuleData &data() const { return loadedModule->data(); }
  const Target &target() const { return data().targets[targetIndex]; }
  const DeviceReport &report() const { return deviceReport; }
  const Ref<DeviceContext> &context() const { return deviceContext; }
  hal::Device &device() const { return deviceContext->device(); }
  const Ref<hal::Executable> &executable() const { return loadedCode; }
  // The device again where VX_CHECK_ARENA asks for gaps around its allocations, else null.
  GuardedDevice *guards() const { return guardedDevice.get(); }

  const InstanceBuffer &constant(size_t index) const { return constants[index]; }
  const InstanceBuffer &variable(size_t index) const { return variables[index]; }
  // By index of the target's derived constants.
  const InstanceBuffer &derived(size_t index) const { return derivedConstants[index]; }
  // Some memory for views of no bytes.
  const InstanceBuffer &emptyBuffer() const { return empty; }

  // Held shared by calls that read variables and alone by those that store them.
  std::shared_mutex &variablesMutex() { return variableAccess; }

  Status readVariable(std::string_view name, Ref<Value> &value);
  Status writeVariable(std::string_view name, const Value &value);

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

  Status checkSignature() const;
  Status tryCandidate(const DeviceCandidate &candidate, std::span<hal::Driver *const> drivers);
  Status tryDevice(hal::Driver &driver, uint32_t index, hal::Refusal &refusal);
  bool chooseVariant(const hal::DeviceInfo &info, bool anyFits, std::string &reason);
  Status prepare();
  Status loadCode();
  Status loadConstants();
  Status importConstant(size_t index);
  Status uploadConstant(size_t index);
  Status computeDerived();
  // Which constants (Op::Constant) or derived constants (Op::Derived) the functions' programs read.
  std::vector<bool> readByCalls(Op kind, size_t count) const;
  std::span<const uint8_t> bytesOf(size_t constant) const;
  Status loadVariables();
  Status findVariable(std::string_view name, uint32_t &index) const;

  Ref<Module> loadedModule;
  DeviceReport deviceReport;
  uint32_t targetIndex = 0;
  uint32_t variantIndex = 0;
  Ref<DeviceContext> deviceContext;
  Ref<GuardedDevice> guardedDevice;
  Ref<hal::Executable> loadedCode;
  std::vector<InstanceBuffer> constants;
  std::vector<InstanceBuffer> derivedConstants;
  std::vector<InstanceBuffer> variables;
  InstanceBuffer empty;
  std::shared_mutex variableAccess;

  std::mutex poolMutex;
  std::vector<std::vector<std::unique_ptr<CallState>>> pool; // by function
};

} // namespace vx

#endif
