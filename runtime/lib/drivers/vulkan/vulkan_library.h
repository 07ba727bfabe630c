// The Vulkan loader library, opened at run time, and one Vulkan instance made from it.
#ifndef VX_DRIVERS_VULKAN_VULKAN_LIBRARY_H
#define VX_DRIVERS_VULKAN_VULKAN_LIBRARY_H

#include "vulkan_api.h"

#include "hal/vendor_library.h"

#include <atomic>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace vx::vulkan {

// The result's name in the specification, without "VK_", or its number.
std::string resultName(api::Result result);

struct LibraryOptions {
  hal::LibraryNames library = {{"libvulkan.so.1"}, "VX_VULKAN_LIBRARY"};
  // Loads VK_LAYER_KHRONOS_validation; what it reports makes the running call fail.
  bool validation = false;

  // VX_VULKAN_VALIDATION=1 switches the validation layer on.
  static LibraryOptions fromEnvironment();

  bool operator<(const LibraryOptions &other) const {
    return std::tie(library.names, validation) < std::tie(other.library.names, other.validation);
  }
};

// Thread-safe. It lives until the process ends: the exit handlers of the drivers below the loader may run before ours,
// so taking an instance down at exit is not safe.
class Library {
public:
  // Opens the library and makes an instance, once per set of options. On failure null, and `refusal` says why.
  static Library *open(const LibraryOptions &options, hal::Refusal &refusal);

  api::Instance instance() const { return handle; }
  const api::InstanceFunctions &functions() const { return instanceFunctions; }
  // The version that both the loader and this driver know.
  uint32_t apiVersion() const { return version; }

  // Warnings and errors that the validation layer has reported so far.
  uint64_t validationMessageCount() const { return messageCount.load(std::memory_order_relaxed); }
  // The oldest report that nobody has taken yet, or an empty text.
  std::string takeValidationMessage();

private:
  Library() = default;
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  hal::Refusal load(const LibraryOptions &options);
  hal::Refusal createInstance(bool validation);
  static api::Bool32 onMessage(api::Flags severity, api::Flags types, const api::DebugUtilsMessengerCallbackData *data,
                               void *user);

  api::GlobalFunctions globalFunctions;
  api::InstanceFunctions instanceFunctions;
  api::Instance handle = nullptr;
  uint32_t version = 0;

  std::mutex messageMutex;
  std::vector<std::string> messages;
  std::atomic<uint64_t> messageCount{0};
  // Set while there are untaken messages, so that looking costs no lock.
  std::atomic<bool> hasMessages{false};
};

} // namespace vx::vulkan

#endif
