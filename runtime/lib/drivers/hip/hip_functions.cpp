#include "hip_functions.h"

namespace vx::hip {

using hal::gpu::Handle;
using hal::gpu::Transfer;

//===-- Life ----------------------------------------------------------------------------------===//

Status HipFunctions::open(const Library &library, const hal::gpu::GpuFacts &physical, const hal::DeviceOptions &options,
                          std::unique_ptr<hal::gpu::Api> &api) {
  std::unique_ptr<HipFunctions> opened(new HipFunctions(library, physical, options));
  {
    hal::gpu::Scope scope(*opened);
    VX_RETURN_IF_ERROR(opened->createPool(physical.ordinal));
  }
  api = std::move(opened);
  return okStatus();
}

HipFunctions::~HipFunctions() {
  hal::gpu::Scope scope(*this);
  destroyPool();
}

// The device that was current on this thread before each `enter`.
static thread_local std::vector<int> entered;

void HipFunctions::enter() {
  int before = 0;
  if (vendor.GetDevice(&before) != api::Success)
    before = ordinal;
  entered.push_back(before);
  if (before != ordinal)
    (void)vendor.SetDevice(ordinal);
}

void HipFunctions::leave() {
  if (entered.back() != ordinal)
    (void)vendor.SetDevice(entered.back());
  entered.pop_back();
}

//===-- Copies --------------------------------------------------------------------------------===//

Status HipFunctions::copy(const Transfer &transfer, Handle stream) {
  return call(vendor.MemcpyAsync, transfer.destination, transfer.source, transfer.size, api::MemcpyDefault, stream);
}

Status HipFunctions::addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) {
  return call(vendor.GraphAddMemcpyNode, &node, graph, after.data(), after.size(), transfer.destination,
              transfer.source, transfer.size, api::MemcpyDefault);
}

Status HipFunctions::setCopy(Handle executable, Handle node, const Transfer &transfer) {
  return call(vendor.GraphExecMemcpyNodeSetParams, executable, node, transfer.destination, transfer.source,
              transfer.size, api::MemcpyDefault);
}

//===-- Code ----------------------------------------------------------------------------------===//

Status HipFunctions::load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) {
  code.functions.clear();
  for (const hal::KernelImage &kernel : image.kernels) {
    Handle module = nullptr;
    VX_RETURN_IF_ERROR(
        call(vendor.ModuleLoadData, &module, kernel.code.data()).addContext(fmt::format("kernel '{}'", kernel.name)));
    code.modules.push_back(module);
    VX_RETURN_IF_ERROR(findFunction(module, kernel, code.functions.emplace_back()));
  }
  return okStatus();
}

} // namespace vx::hip
