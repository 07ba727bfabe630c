#include "vulkan_library.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>

namespace vx::vulkan {

using hal::Refusal;
using hal::RefusalCode;

static constexpr const char *ValidationLayer = "VK_LAYER_KHRONOS_validation";
static constexpr const char *DebugUtilsExtension = "VK_EXT_debug_utils";
static constexpr const char *ValidationFeaturesExtension = "VK_EXT_validation_features";
// Reports kept until somebody takes them; a broken program makes one per command.
static constexpr size_t MaxKeptMessages = 64;

std::string resultName(api::Result result) {
  switch (result) {
  case api::Success:
    return "SUCCESS";
  case api::NotReady:
    return "NOT_READY";
  case api::Timeout:
    return "TIMEOUT";
  case api::Incomplete:
    return "INCOMPLETE";
  case api::ErrorOutOfHostMemory:
    return "ERROR_OUT_OF_HOST_MEMORY";
  case api::ErrorOutOfDeviceMemory:
    return "ERROR_OUT_OF_DEVICE_MEMORY";
  case api::ErrorInitializationFailed:
    return "ERROR_INITIALIZATION_FAILED";
  case api::ErrorDeviceLost:
    return "ERROR_DEVICE_LOST";
  case api::ErrorMemoryMapFailed:
    return "ERROR_MEMORY_MAP_FAILED";
  case api::ErrorLayerNotPresent:
    return "ERROR_LAYER_NOT_PRESENT";
  case api::ErrorExtensionNotPresent:
    return "ERROR_EXTENSION_NOT_PRESENT";
  case api::ErrorFeatureNotPresent:
    return "ERROR_FEATURE_NOT_PRESENT";
  case api::ErrorIncompatibleDriver:
    return "ERROR_INCOMPATIBLE_DRIVER";
  case api::ErrorTooManyObjects:
    return "ERROR_TOO_MANY_OBJECTS";
  case api::ErrorFragmentedPool:
    return "ERROR_FRAGMENTED_POOL";
  case api::ErrorUnknown:
    return "ERROR_UNKNOWN";
  case api::ErrorOutOfPoolMemory:
    return "ERROR_OUT_OF_POOL_MEMORY";
  case api::ErrorInvalidShader:
    return "ERROR_INVALID_SHADER_NV";
  }
  return fmt::format("result {}", static_cast<int>(result));
}

LibraryOptions LibraryOptions::fromEnvironment() {
  LibraryOptions options;
  options.library = options.library.fromEnvironment();
  const char *validation = std::getenv("VX_VULKAN_VALIDATION");
  options.validation = validation && *validation && std::strcmp(validation, "0") != 0;
  return options;
}

Library *Library::open(const LibraryOptions &options, Refusal &refusal) {
  struct Entry {
    Library *library = nullptr;
    Refusal refusal;
  };
  static std::mutex mutex;
  // Never destroyed: see the class comment.
  static auto &entries = *new std::map<LibraryOptions, Entry>();

  std::lock_guard lock(mutex);
  auto [found, inserted] = entries.try_emplace(options);
  Entry &entry = found->second;
  if (inserted) {
    auto *library = new Library();
    entry.refusal = library->load(options);
    if (entry.refusal.code == RefusalCode::None)
      entry.library = library;
    else
      delete library;
  }
  refusal = entry.refusal;
  return entry.library;
}

Refusal Library::load(const LibraryOptions &options) {
  hal::OpenLibrary library;
  if (Refusal refusal = hal::openLibrary(options.library, library); refusal.code != RefusalCode::None)
    return refusal;
  globalFunctions.GetInstanceProcAddr =
      reinterpret_cast<api::GetInstanceProcAddrFunction>(dlsym(library.handle, "vkGetInstanceProcAddr"));
  if (!globalFunctions.GetInstanceProcAddr)
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function 'vkGetInstanceProcAddr'", library.name)};

#define VX_LOAD(R, NAME, ...)                                                                                          \
  globalFunctions.NAME =                                                                                               \
      reinterpret_cast<decltype(globalFunctions.NAME)>(globalFunctions.GetInstanceProcAddr(nullptr, "vk" #NAME));      \
  if (!globalFunctions.NAME)                                                                                           \
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function 'vk{}'", library.name, #NAME)};
  VX_VULKAN_GLOBAL_FUNCTIONS(VX_LOAD)
#undef VX_LOAD

  return createInstance(options.validation);
}

Refusal Library::createInstance(bool validation) {
  uint32_t loaderVersion = 0;
  if (globalFunctions.EnumerateInstanceVersion(&loaderVersion) != api::Success ||
      loaderVersion < api::makeVersion(1, 2))
    return {RefusalCode::NoLibrary, fmt::format("the Vulkan loader is of version {}.{}, expected 1.2",
                                                api::versionMajor(loaderVersion), api::versionMinor(loaderVersion))};
  version = std::min(loaderVersion, api::makeVersion(1, 3));

  std::vector<const char *> layers;
  std::vector<const char *> extensions;
  if (validation) {
    uint32_t count = 0;
    std::vector<api::LayerProperties> available;
    if (globalFunctions.EnumerateInstanceLayerProperties(&count, nullptr) == api::Success) {
      available.resize(count);
      if (globalFunctions.EnumerateInstanceLayerProperties(&count, available.data()) != api::Success)
        count = 0;
      available.resize(count);
    }
    bool found = false;
    for (const api::LayerProperties &layer : available)
      found |= std::strcmp(layer.layerName, ValidationLayer) == 0;
    if (!found)
      return {RefusalCode::NoLibrary,
              fmt::format("validation was asked for, but the layer '{}' is not installed", ValidationLayer)};
    layers.push_back(ValidationLayer);
    extensions.push_back(DebugUtilsExtension);
    extensions.push_back(ValidationFeaturesExtension);
  }

  api::ApplicationInfo application{};
  application.sType = api::StructureTypeApplicationInfo;
  application.pApplicationName = "vx";
  application.pEngineName = "vx";
  application.apiVersion = version;

  api::DebugUtilsMessengerCreateInfo messengerInfo{};
  messengerInfo.sType = api::StructureTypeDebugUtilsMessengerCreateInfo;
  messengerInfo.messageSeverity = api::DebugUtilsMessageSeverityWarningBit | api::DebugUtilsMessageSeverityErrorBit;
  messengerInfo.messageType = api::DebugUtilsMessageTypeValidationBit;
  messengerInfo.pfnUserCallback = onMessage;
  messengerInfo.pUserData = this;

  // Copies, fills and host accesses are followed too. What kernels do through addresses no layer sees: that is what the
  // runtime's own check of schedules is for (exec/schedule_check.h).
  const api::ValidationFeatureEnable synchronization = api::ValidationFeatureEnableSynchronizationValidation;
  api::ValidationFeatures features{};
  features.sType = api::StructureTypeValidationFeatures;
  features.enabledCount = 1;
  features.pEnabled = &synchronization;

  api::InstanceCreateInfo info{};
  info.sType = api::StructureTypeInstanceCreateInfo;
  info.pNext = validation ? &features : nullptr;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  api::Result result = globalFunctions.CreateInstance(&info, nullptr, &handle);
  if (result == api::ErrorIncompatibleDriver)
    return {RefusalCode::NoDevice, "the Vulkan loader found no driver (vkCreateInstance: incompatible driver)"};
  if (result != api::Success)
    return {RefusalCode::NoDevice, fmt::format("vkCreateInstance failed with {}", resultName(result))};

#define VX_LOAD(R, NAME, ...)                                                                                          \
  instanceFunctions.NAME =                                                                                             \
      reinterpret_cast<decltype(instanceFunctions.NAME)>(globalFunctions.GetInstanceProcAddr(handle, "vk" #NAME));     \
  if (!instanceFunctions.NAME)                                                                                         \
    return {RefusalCode::NoLibrary, fmt::format("the Vulkan loader has no function 'vk{}'", #NAME)};
  VX_VULKAN_INSTANCE_FUNCTIONS(VX_LOAD)
#undef VX_LOAD

  if (validation) {
    auto createMessenger = reinterpret_cast<api::CreateDebugUtilsMessengerFunction>(
        globalFunctions.GetInstanceProcAddr(handle, "vkCreateDebugUtilsMessengerEXT"));
    api::DebugUtilsMessenger messenger = nullptr;
    if (!createMessenger || createMessenger(handle, &messengerInfo, nullptr, &messenger) != api::Success)
      return {RefusalCode::NoLibrary, "the validation layer's reports could not be asked for"};
  }
  return {};
}

api::Bool32 Library::onMessage(api::Flags severity, api::Flags types, const api::DebugUtilsMessengerCallbackData *data,
                               void *user) {
  auto *library = static_cast<Library *>(user);
  library->messageCount.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(library->messageMutex);
  if (library->messages.size() < MaxKeptMessages)
    library->messages.emplace_back(data && data->pMessage ? data->pMessage : "no text");
  library->hasMessages.store(true, std::memory_order_release);
  return 0;
}

std::string Library::takeValidationMessage() {
  if (!hasMessages.load(std::memory_order_acquire))
    return {};
  std::lock_guard lock(messageMutex);
  if (messages.empty())
    return {};
  std::string message = std::move(messages.front());
  messages.erase(messages.begin());
  if (messages.empty())
    hasMessages.store(false, std::memory_order_release);
  return message;
}

} // namespace vx::vulkan
