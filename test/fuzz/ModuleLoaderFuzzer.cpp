// Feeds bytes to the module loader, as they are and with a header repaired around them, so that damage beyond the
// header's checks is reached too. What loads is described and given to the null device.
#include "api/drivers.h"
#include "exec/instance.h"
#include "module/module.h"

#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace vx;

static void load(const uint8_t *data, size_t size) {
  Ref<Module> module;
  Status status = Module::fromMemory("fuzz.vxm", {data, size}, module);
  if (!status.ok()) {
    // Every failure says something.
    if (status.message().empty())
      std::abort();
    return;
  }
  if (module->describe().empty())
    std::abort();
  DeviceRequest request;
  status = parseDeviceRequest("null", nullptr, allDrivers(), request);
  request.noFallback = true;
  Ref<Instance> instance;
  if (status.ok())
    status = Instance::create(std::move(module), request, allDrivers(), instance);
  (void)status.ok();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The loader wants what a mapping gives: an aligned start, and nothing readable behind the end.
  uint8_t *copy = static_cast<uint8_t *>(std::aligned_alloc(64, (size / 64 + 1) * 64));
  uint8_t *start = copy;
  if (size)
    std::memcpy(start, data, size);
  load(start, size);
  vx_module_header header;
  if (size >= sizeof(header)) {
    std::memcpy(&header, start, sizeof(header));
    std::memcpy(header.magic, VX_MODULE_MAGIC, sizeof(header.magic));
    header.abi_major = VX_MODULE_ABI_MAJOR;
    header.abi_minor = VX_MODULE_ABI_MINOR;
    header.file_size = size;
    header.reserved[0] = header.reserved[1] = 0;
    header.metadata_offset = std::min<uint64_t>(header.metadata_offset, size) & ~uint64_t(7);
    header.metadata_offset = std::max<uint64_t>(header.metadata_offset, sizeof(header));
    header.metadata_size = size - header.metadata_offset;
    header.metadata_hash = vx_hash64(start + header.metadata_offset, header.metadata_size);
    std::memcpy(start, &header, sizeof(header));
    load(start, size);
  }
  std::free(copy);
  return 0;
}
