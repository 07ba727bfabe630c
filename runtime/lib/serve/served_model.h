// A module on a device, with a queue for each of its functions that strangers may call.
#ifndef VX_SERVE_SERVED_MODEL_H
#define VX_SERVE_SERVED_MODEL_H

#include "configuration.h"
#include "embed_runner.h"
#include "tensor_runner.h"

#include <set>

namespace vx::serve {

struct ModelSettings {
  std::string name, path;           // of a .vxm
  std::vector<std::string> aliases; // other names that clients may use
  InstanceOptions instance = {};
  BatchLimits limits = {};
  MemoryShare callMemory = {}; // that calls may take; nothing: no limit
  bool deterministic = false, preload = true;
  std::vector<std::string> stateful; // functions that store variables, and are served all the same
};

// A device that a model was on when it was lost.
struct DeviceLoss {
  std::string device, reason; // "vulkan:0"
  Clock::time_point at;
};

class ServedModel final : private InstanceSource, private EmbedderSource {
public:
  struct ServedFunction {
    FunctionFacts facts;
    std::shared_ptr<Batcher> batcher;
  };

  using Warn = std::function<void(const std::string &line)>;

  // Loads it. Throws vx::Error and Error for a file or a device that cannot be used. `warn` is told of lost devices, by
  // the threads of queues.
  ServedModel(const ModelSettings &settings, Metrics &metrics, Warn warn);
  ~ServedModel() override;

  const ModelSettings settings;
  // The function of a name, or the first one that is served. Throws ErrorCode::invalid_value, with those that there
  // are.
  const ServedFunction &function(std::string_view name) const;
  // In the module's order.
  const std::vector<ServedFunction> &functions() const { return served; }
  // Why others are not served: "'step' stores 'count'".
  const std::vector<std::string> &refusals() const { return refused; }

  // What a call of a function takes with these inputs; nothing where that does not follow from their sizes.
  std::optional<vx_memory_estimate> estimate(const vx_function_info &function, std::span<const Value> inputs) const;

  // Null where the model is none of embeddings.
  std::shared_ptr<Embedder> embedder() const override;
  const std::shared_ptr<Batcher> &embedBatcher() const { return embedding; }

  // "cpu:0"; what the runtime tells of it, and of those that were refused.
  std::string device() const { return deviceName(); }
  std::string deviceReport() const;
  // The device is lost, and no other one was taken.
  bool isLost() const { return lost; }
  // Bytes on the device, as the runtime estimates them; nothing where it cannot. `device` is all that the device has,
  // 0 where it does not tell.
  struct Memory {
    uint64_t constants = 0, variables = 0, device = 0;
  };
  std::optional<Memory> memory() const;
  // The most that calls may take; 0: no limit.
  uint64_t callLimit() const;
  // The most rows of a batch, and requests that wait, of all its queues.
  size_t capacityRows() const;
  size_t queueLimit() const;
  // Since it was loaded, the last of each device.
  std::vector<DeviceLoss> losses() const;
  size_t waiting() const;
  void setLimits(const BatchLimits &limits, const MemoryShare &callMemory);

private:
  Instance current() const override;
  std::string deviceName() const override;
  std::optional<Instance> replace(const Instance &gone, const std::string &reason) override;
  std::shared_ptr<Embedder> replaceEmbedder(const Embedder &gone, const std::string &reason) override;
  void open(const InstanceOptions &options);
  // Under the lock.
  void limitCalls();
  std::optional<Memory> estimateResident() const;
  // On any device but those of backends that are passed over. Else why not.
  std::optional<std::string> reopen();
  // Whether the same device was lost not long ago.
  bool addLoss(const std::string &device, const std::string &reason);

  const Module module;
  const Warn warn;
  std::mutex replacing;             // which may take long, and nobody waits for who asks how the model is
  std::vector<std::string> order;   // of backends, as it was when the model was loaded
  std::set<std::string> passedOver; // backends, in a replacement
  mutable std::mutex lock;
  MemoryShare callMemory;
  BatchLimits batchLimits;
  Instance instance;
  std::string deviceOfInstance;
  std::optional<Memory> resident;
  uint64_t mostOfCalls = 0;
  std::shared_ptr<Embedder> model;
  std::vector<DeviceLoss> lossesOfDevices;
  std::atomic<bool> lost = false;
  std::vector<ServedFunction> served;
  std::vector<std::string> refused;
  std::shared_ptr<Batcher> embedding;
};

} // namespace vx::serve

#endif
