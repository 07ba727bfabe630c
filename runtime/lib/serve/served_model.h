// A module on its devices, with a queue for each of its functions that strangers may call.
#ifndef VX_SERVE_SERVED_MODEL_H
#define VX_SERVE_SERVED_MODEL_H

#include "model_device.h"

namespace vx::serve {

// When a model is loaded: when the server starts, for the first request that needs it, or by an admin's request.
enum class LoadMode : uint8_t { startup, lazy, admin };

struct ModelSettings {
  std::string name, path;           // of a .vxm
  std::vector<std::string> aliases; // other names that clients may use
  InstanceOptions instance = {};
  // "cuda:0", each with an instance of its own; {"all"}: all of the backend of `instance`. Empty: one, as
  // `instance` has it.
  std::vector<std::string> devices = {};
  BatchLimits limits = {};
  MemoryShare callMemory = {}; // that calls may take; nothing: no limit
  bool deterministic = false;
  LoadMode load = LoadMode::startup;
  std::vector<std::string> stateful; // functions that store variables, and are served all the same
  std::string root = {};             // the folder of models that the path is in, and no link leads out of; empty: none
};

class ServedModel final {
public:
  struct ServedFunction {
    FunctionFacts facts;
    std::shared_ptr<BatchQueue> batcher; // one queue, from which each device takes a batch when it is idle
  };

  // Opens its devices. Throws vx::Error, Error and ServiceError for devices or settings that cannot be used. `warn` is
  // called for devices that are lost or not used, by this thread and by those of queues.
  ServedModel(const ModelSettings &settings, const Module &module, Metrics &metrics, const ModelDevice::Warn &warn);
  ~ServedModel();
  ServedModel(const ServedModel &) = delete;
  ServedModel &operator=(const ServedModel &) = delete;

  const ModelSettings settings;
  const Module &module() const { return loaded; }
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
  std::shared_ptr<Embedder> embedder() const { return serving().embedder(); }
  const std::shared_ptr<BatchQueue> &embedBatcher() const { return embedding; }

  // Those that it has, also those that are lost; one at the least.
  const std::vector<std::unique_ptr<ModelDevice>> &places() const { return devices; }
  // Of those that were asked for: which are not used, and why.
  const std::vector<DeviceLoss> &refusedDevices() const { return refusedOnes; }
  // "cpu:0"; of several that serve "cuda:0,cuda:1".
  std::string device() const;
  // The runtime's report of the first one that serves.
  std::string deviceReport() const { return serving().report(); }
  // All devices are lost.
  bool isLost() const;
  // The most that calls may take on a device; 0: no limit.
  uint64_t callLimit() const { return serving().callLimit(); }
  // The most rows of a batch, and requests that wait, of all its queues.
  size_t capacityRows() const;
  size_t queueLimit() const;
  // Since it was loaded, the last of each device.
  std::vector<DeviceLoss> losses() const;
  size_t waiting() const;
  void setLimits(const BatchLimits &limits, const MemoryShare &callMemory);

private:
  void openDevices();
  void openOne(const std::string &device);
  void openAll();
  // The first one that is not lost, or the first one.
  const ModelDevice &serving() const;
  void limitCalls(const MemoryShare &share);

  const Module loaded;
  const std::shared_ptr<ModelDevice::Shared> shared;
  std::vector<std::unique_ptr<ModelDevice>> devices;
  std::vector<DeviceLoss> refusedOnes;
  mutable std::mutex lock;
  BatchLimits batchLimits;
  std::vector<ServedFunction> served;
  std::vector<std::string> refused;
  std::shared_ptr<BatchQueue> embedding;
};

} // namespace vx::serve

#endif
