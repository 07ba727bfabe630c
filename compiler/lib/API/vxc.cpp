#include "vx/compiler/vxc.h"

#include "CompilerCall.h"
#include "vx/Driver/EndOnFailure.h"
#include "vx/abi/version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

vxc_result vxc_compile(const char *model_path, const char *output_path, const vxc_options *options) {
  if (!options)
    return VXC_USAGE;
  return vx::CompilerCall(vx::readOptions(*options)).run(model_path, output_path);
}

vxc_result vxc_compile_bytes(const void *model, size_t model_size, const char *name, const vxc_options *options,
                             vxc_module **out_module) {
  if (out_module)
    *out_module = nullptr;
  if (!options)
    return VXC_USAGE;
  vx::CompilerCall call(vx::readOptions(*options));
  if (!out_module)
    return call.fail(VXC_USAGE, "argument 'out_module' is a null pointer");
  std::unique_ptr<vx::ModuleBytes> bytes;
  vxc_result result = call.runBytes({static_cast<const char *>(model), model_size}, name, bytes);
  if (bytes)
    *out_module = new vxc_module{std::move(bytes)};
  return result;
}

const void *vxc_module_data(const vxc_module *module) { return module ? module->bytes->data() : nullptr; }
size_t vxc_module_size(const vxc_module *module) { return module ? module->bytes->size() : 0; }
void vxc_module_release(vxc_module *module) { delete module; }

static vxc_ending_fn sayEnding = nullptr;

void vxc_end_on_failure(vxc_ending_fn say) {
  if (!say)
    return;
  sayEnding = say;
  vx::endOnFailure([](bool isOutOfMemory, const char *reason) { sayEnding(isOutOfMemory, reason); });
}

const char *vxc_version(void) {
  static const std::string *version =
      new std::string("vx " VX_VERSION_STRING ", LLVM " LLVM_VERSION_STRING ", module ABI " +
                      std::to_string(VX_MODULE_ABI_MAJOR) + "." + std::to_string(VX_MODULE_ABI_MINOR));
  return version->c_str();
}

const char *vxc_targets(void) {
  static const std::string *names = new std::string(llvm::join(vx::getTargets().names(), ","));
  return names->c_str();
}
