#include "hip_library.h"

#include <dlfcn.h>
#include <memory>

namespace vx::hip {

using hal::Refusal;
using hal::RefusalCode;

std::string describeResult(const api::Functions &functions, api::Result result) {
  const char *name = functions.GetErrorName ? functions.GetErrorName(result) : nullptr;
  const char *text = functions.GetErrorString ? functions.GetErrorString(result) : nullptr;
  if (!name)
    return fmt::format("error {}", static_cast<int>(result));
  return text ? fmt::format("{} ({})", name, text) : std::string(name);
}

Library *Library::open(const hal::LibraryNames &names, Refusal &refusal) {
  auto library = std::make_unique<Library>();
  refusal = library->load(names);
  return refusal.code == RefusalCode::None ? library.release() : nullptr;
}

static std::string describeVersion(int version) {
  return fmt::format("{}.{}", version / 10000000, version / 100000 % 100);
}

Refusal Library::load(const hal::LibraryNames &names) {
  hal::OpenLibrary library;
  if (Refusal refusal = hal::openLibrary(names, library); refusal.code != RefusalCode::None)
    return refusal;
  const auto &[handle, path] = library;
  // An old runtime is told by its version, not by the first function that it lacks.
  auto getVersion = reinterpret_cast<api::RuntimeGetVersionFunction>(dlsym(handle, "hipRuntimeGetVersion"));
  if (!getVersion)
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function 'hipRuntimeGetVersion'", path)};
  if (api::Result result = getVersion(&runtimeVersion); result != api::Success)
    return {RefusalCode::NoDevice, fmt::format("hipRuntimeGetVersion failed with {}", describeResult(table, result))};
  if (runtimeVersion < MinVersion)
    return {RefusalCode::NoLibrary, fmt::format("the runtime is of HIP {}, want {}", describeVersion(runtimeVersion),
                                                describeVersion(MinVersion))};
#define VX_LOAD(NAME, SYMBOL, RESULT, PARAMETERS)                                                                      \
  table.NAME = reinterpret_cast<decltype(table.NAME)>(dlsym(handle, SYMBOL));                                          \
  if (!table.NAME)                                                                                                     \
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function '{}'", path, SYMBOL)};
  VX_HIP_FUNCTIONS(VX_LOAD)
#undef VX_LOAD

  if (api::Result result = table.Init(0); result != api::Success)
    return {RefusalCode::NoDevice, fmt::format("hipInit failed with {}", describeResult(table, result))};
  return {};
}

} // namespace vx::hip
