#include "cuda_library.h"

#include <dlfcn.h>
#include <memory>

namespace vx::cuda {

using hal::Refusal;
using hal::RefusalCode;

std::string describeResult(const api::Functions &functions, api::Result result) {
  const char *name = nullptr;
  const char *text = nullptr;
  if (!functions.GetErrorName || functions.GetErrorName(result, &name) != api::Success || !name)
    return fmt::format("error {}", static_cast<int>(result));
  if (functions.GetErrorString(result, &text) != api::Success || !text)
    return name;
  return fmt::format("{} ({})", name, text);
}

Library *Library::open(const hal::LibraryNames &names, Refusal &refusal) {
  auto library = std::make_unique<Library>();
  refusal = library->load(names);
  return refusal.code == RefusalCode::None ? library.release() : nullptr;
}

Refusal Library::load(const hal::LibraryNames &names) {
  hal::OpenLibrary library;
  if (Refusal refusal = hal::openLibrary(names, library); refusal.code != RefusalCode::None)
    return refusal;
  const auto &[handle, path] = library;
  // An old driver is told by its version, not by the first function that it lacks.
  auto getVersion = reinterpret_cast<api::DriverGetVersionFunction>(dlsym(handle, "cuDriverGetVersion"));
  if (!getVersion)
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function 'cuDriverGetVersion'", path)};
  if (api::Result result = getVersion(&driverVersion); result != api::Success)
    return {RefusalCode::NoLibrary, fmt::format("cuDriverGetVersion failed with {}", describeResult(table, result))};
  if (driverVersion < MinDriverVersion)
    return {RefusalCode::NoLibrary,
            fmt::format("the driver is of CUDA {}.{}, want {}.{}", driverVersion / 1000, driverVersion % 1000 / 10,
                        MinDriverVersion / 1000, MinDriverVersion % 1000 / 10)};
#define VX_LOAD(NAME, SYMBOL, PARAMETERS)                                                                              \
  table.NAME = reinterpret_cast<decltype(table.NAME)>(dlsym(handle, SYMBOL));                                          \
  if (!table.NAME)                                                                                                     \
    return {RefusalCode::NoLibrary, fmt::format("'{}' has no function '{}'", path, SYMBOL)};
  VX_CUDA_FUNCTIONS(VX_LOAD)
#undef VX_LOAD

  if (api::Result result = table.Init(0); result != api::Success)
    return {RefusalCode::NoDevice, fmt::format("cuInit failed with {}", describeResult(table, result))};
  return {};
}

} // namespace vx::cuda
