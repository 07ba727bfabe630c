// A module on one device of its model, with another instance if the device is lost.
#ifndef VX_SERVE_MODEL_DEVICE_H
#define VX_SERVE_MODEL_DEVICE_H

#include "configuration.h"
#include "embed_runner.h"
#include "tensor_runner.h"

#include <set>

namespace vx::serve {

// A device that a model was on when it was lost.
struct DeviceLoss {
  std::string device, reason; // "vulkan:0"
  Clock::time_point at;
};

class ModelDevice final : public InstanceSource, public EmbedderSource {
public:
  using Warn = std::function<void(const std::string &line)>;

  // What the devices of one model have in common.
  struct Shared {
    std::string model; // its name, for messages
    Warn warn;
    std::mutex replacing; // may be held for long, and no request for the model's state waits for it
    // Whether no other device of the model serves. Called with `replacing` locked.
    std::function<bool()> isAlone = [] { return true; };
  };

  // Opens it. Throws vx::Error and Error for a device or a module that cannot be used. While other devices serve, a
  // lost one is opened again and no other device is taken in its place.
  ModelDevice(std::shared_ptr<Shared> shared, const Module &module, const InstanceOptions &options);

  // The options for an instance after a loss. By default those of the constructor.
  void setOptions(const InstanceOptions &other) { options = other; }

  Instance current() const override;
  // "cpu:0"
  std::string deviceName() const override;
  std::optional<Instance> replace(const Instance &gone, const std::string &reason) override;
  // Null if the model is not one of embeddings.
  std::shared_ptr<Embedder> embedder() const override;
  std::shared_ptr<Embedder> replaceEmbedder(const Embedder &gone, const std::string &reason) override;

  // The runtime's report of the device and of those that were refused.
  std::string report() const;
  // The device is lost, and no other one was taken.
  bool isLost() const { return lost; }
  // Since it was opened, the last loss of each device.
  std::vector<DeviceLoss> losses() const;

  // Bytes on the device, as the runtime estimates them; nothing where it cannot. `device` is all that the device has,
  // 0 where it does not tell.
  struct Memory {
    uint64_t constants = 0, variables = 0, device = 0;
  };
  std::optional<Memory> memory() const;
  // `parts` instances have one device together.
  void setCallMemory(const MemoryShare &share, size_t parts);
  // The most that calls may take; 0: no limit.
  uint64_t callLimit() const;

private:
  void open(const InstanceOptions &wish);
  // Under the lock.
  void limitCalls();
  std::optional<Memory> estimateResident() const;
  // On any device but those of backends that are passed over. Else why not.
  std::optional<std::string> reopen();
  std::optional<std::string> reopenSame(const std::string &device);
  // Whether the same device was lost not long ago.
  bool addLoss(const std::string &device, const std::string &reason);

  const std::shared_ptr<Shared> shared;
  const Module module;
  InstanceOptions options;
  std::vector<std::string> order;   // of backends, as it was when the device was opened
  std::set<std::string> passedOver; // backends, in a replacement
  mutable std::mutex lock;
  MemoryShare callMemory;
  size_t callParts = 1;
  Instance instance;
  std::string deviceOfInstance;
  std::optional<Memory> resident;
  uint64_t mostOfCalls = 0;
  std::shared_ptr<Embedder> model;
  std::vector<DeviceLoss> lossesOfDevices;
  std::atomic<bool> lost = false;
};

} // namespace vx::serve

#endif
