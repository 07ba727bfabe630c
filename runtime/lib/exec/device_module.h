// A module on a device: what all its instances there share.
#ifndef VX_RUNTIME_EXEC_DEVICE_MODULE_H
#define VX_RUNTIME_EXEC_DEVICE_MODULE_H

#include "exec/device_context.h"
#include "exec/device_report.h"
#include "exec/guarded_device.h"
#include "module/module.h"

#include <functional>
#include <memory>

namespace vx {

// A piece of device memory that somebody keeps.
struct KeptBuffer {
  Ref<hal::Memory> memory;
  uint64_t offset = 0;
  uint64_t size = 0;

  hal::BufferView view() const { return {memory.get(), offset, size}; }
};

// Code, constants and what is derived from them. Immutable once it is made, and thread-safe.
class DeviceModule : public RefCounted {
public:
  // Gives the one that an instance has already for the same request, or makes it: with the first of the module's
  // `targets` that has a variant for device `index` of `driver`. Where the device is refused, `refusal` says why and
  // `result` is null. Only damage to the module is an error.
  static Status get(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                    std::span<const uint32_t> targets, hal::Refusal &refusal, Ref<DeviceModule> &result);
  // As `get` would make it, with nothing on the device: for estimates. It has no code and no constants.
  static Status plan(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                     std::span<const uint32_t> targets, hal::Refusal &refusal, Ref<DeviceModule> &result);

  const Ref<Module> &module() const { return loadedModule; }
  const ModuleData &data() const { return loadedModule->data(); }
  const Target &target() const { return data().targets[targetIndex]; }
  const TakenDevice &taken() const { return takenDevice; }
  const Ref<DeviceContext> &context() const { return deviceContext; }
  hal::Device &device() const { return deviceContext->device(); }
  const Ref<hal::Executable> &executable() const { return loadedCode; }
  // The device again where VX_CHECK_ARENA asks for gaps around its allocations, else null.
  GuardedDevice *guards() const { return guardedDevice.get(); }

  const KeptBuffer &constant(size_t index) const { return constants[index]; }
  // By index of the target's derived values, those of constants.
  const KeptBuffer &derived(size_t index) const { return derivedConstants[index]; }
  // Of all constants and derived values that are kept.
  uint64_t constantBytes() const;
  // Some memory for views of no bytes.
  const KeptBuffer &emptyBuffer() const { return empty; }
  std::span<const uint8_t> bytesOf(size_t constant) const;

protected:
  ~DeviceModule() override;

private:
  friend Ref<DeviceModule> makeRef<DeviceModule>();
  DeviceModule() = default;

  // One for each request that somebody makes or holds a module for.
  struct Slot;
  // With code and constants on the device, or with a count of their bytes.
  static Status make(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                     std::span<const uint32_t> targets, bool isLoaded, hal::Refusal &refusal,
                     Ref<DeviceModule> &result);

  bool chooseVariant(const hal::DeviceInfo &info, bool anyFits, const std::string &wanted, std::string &reason);
  Status prepare();
  Status countConstants();
  Status loadCode();
  Status loadConstants();
  // Lets the device read constants in the pages of the file. Those that it cannot read so stay without memory.
  Status mapConstants(const std::vector<bool> &wanted);
  Status copyConstants(const std::vector<bool> &wanted);
  // Constants that only the load read give their pages back.
  Status keepMapped(const std::vector<bool> &kept);
  bool isInPlace(size_t constant) const;
  void countWeights();
  Status importConstant(size_t index);
  Status uploadConstant(size_t index);
  Status computeDerived();
  // Which constants (Op::Constant) or derived values (Op::Derived) programs read that run after the load: those of
  // functions, and those that derive values from variables.
  std::vector<bool> readByCalls(Op kind, size_t count) const;

  Ref<Module> loadedModule;
  uint32_t targetIndex = 0;
  uint32_t variantIndex = 0;
  TakenDevice takenDevice;
  std::shared_ptr<Slot> slot; // null: nobody shares it
  // Memory goes before the device that it is of.
  Ref<DeviceContext> deviceContext;
  Ref<GuardedDevice> guardedDevice;
  Ref<hal::Executable> loadedCode;
  std::vector<KeptBuffer> constants;
  std::vector<bool> wasRead;    // constants, by the load or by calls
  std::vector<bool> wereMapped; // constants, of a device that shares the host's memory
  std::string whyNotMapped;     // what the device said first
  std::vector<KeptBuffer> derivedConstants;
  uint64_t plannedBytes = 0; // of constants that are counted and not loaded
  KeptBuffer empty;
};

} // namespace vx

#endif
