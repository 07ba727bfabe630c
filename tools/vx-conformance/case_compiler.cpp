#include "case_compiler.h"

#include "command_line.h"
#include "memory_failure.h"

#include "vx/compiler/vxc.h"

#include <dlfcn.h>

namespace vx::tools {

std::vector<std::string> compilerTargets() { return splitList(vxc_targets()); }

std::string compilerVersion() { return std::string(vxc_version()) + "\n"; }

std::string compilerFile() {
  Dl_info compiler;
  const bool isFound = ::dladdr(reinterpret_cast<const void *>(&vxc_version), &compiler) != 0 && compiler.dli_fname;
  return isFound ? compiler.dli_fname : "/proc/self/exe";
}

void endOnCompilerFailure() {
  vxc_end_on_failure([](int isOutOfMemory, const char *reason) {
    if (isOutOfMemory)
      writeOutOfMemory("vx-conformance");
    else
      writeInternalError("vx-conformance", reason);
  });
}

CompiledCase compileCase(const CaseRequest &request, const std::string &model, const std::vector<std::string> &targets,
                         const char *stopAfter) {
  CompiledCase compiled;
  std::string list;
  std::vector<const char *> variants;
  for (const std::string &target : targets) {
    list += (list.empty() ? "" : ",") + target;
    for (const std::string &variant : request.variants)
      if (variant.starts_with(target + "="))
        variants.push_back(variant.c_str());
  }
  const std::string dataFolder = request.folder.dataFolder();
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = list.c_str();
  options.variants = variants.data();
  options.num_variants = variants.size();
  options.threads = 1; // the other processors have cases of their own
  options.stop_after = stopAfter;
  options.data_folder = dataFolder.c_str();
  options.user_data = &compiled.errors;
  options.on_message = [](void *data, vxc_severity severity, const char *message) {
    std::string &errors = *static_cast<std::string *>(data);
    if (severity == VXC_ERROR)
      errors += (errors.empty() ? "" : "; ") + std::string(message);
  };
  vxc_module *module = nullptr;
  const vxc_result result = vxc_compile_bytes(model.data(), model.size(), "model.onnx", &options, &module);
  if (module) {
    compiled.owner =
        std::shared_ptr<void>(module, [](void *made) { vxc_module_release(static_cast<vxc_module *>(made)); });
    compiled.bytes = {static_cast<const std::byte *>(vxc_module_data(module)), vxc_module_size(module)};
  }
  if (result == VXC_UNSUPPORTED && !compiled.errors.empty()) {
    compiled.result = CompiledCase::Result::Unsupported;
  } else if (result != VXC_DONE) {
    compiled.result = CompiledCase::Result::Failed;
    compiled.errors = fmt::format("the compiler ends with {}: {}", static_cast<int>(result),
                                  compiled.errors.empty() ? "it says no reason" : compiled.errors);
  }
  return compiled;
}

} // namespace vx::tools
