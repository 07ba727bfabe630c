#include "packed_cases.h"

#include "input_file.h"
#include "output_file.h"
#include "tensor_file.h"
#include "tool_error.h"

#include "vx/abi/module_header.h"

#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

static std::string fileOf(const std::string &folder, Mode mode, const std::string &target, std::string_view kind) {
  return fmt::format("{}/{}.{}.{}", folder, modeName(mode), target, kind);
}

// A model without a folder gets one, and its inputs are in files there.
static void packModel(const CaseFolder &model, const fs::path &packed) {
  const CaseData data(model);
  const CaseData::Set &set = data.sets().front();
  fs::copy(model.path, packed / "model.onnx");
  const fs::path folder = packed / set.name;
  fs::create_directory(folder);
  for (int i = 0; i < data.graph().input_size(); ++i)
    if (const auto made = set.made.find(data.graph().input(i).name()); made != set.made.end())
      writeFile(folder / fmt::format("input_{}.pb", i),
                formatTensorFile(made->first, Value{VX_TENSOR, made->second.type, {made->second}}));
  for (int i = 0; i < data.graph().output_size(); ++i)
    fs::copy(set.outputs.at(data.graph().output(i).name()), folder / fmt::format("output_{}.pb", i));
}

void packCases(const std::vector<CaseFolder> &cases, const std::string &folder) try {
  fs::create_directories(folder);
  if (!fs::is_empty(folder))
    throw usageError("--compile-only: want a new or empty folder, got '{}', which has files", folder);
  for (const CaseFolder &one : cases) {
    const fs::path packed = fs::path(folder) / one.name;
    fs::create_directory(packed);
    if (one.isModel()) {
      packModel(one, packed);
      continue;
    }
    // What belongs to a case: not what an earlier run has packed beside it.
    for (const fs::directory_entry &entry : fs::directory_iterator(one.path))
      if (entry.is_directory() || (entry.path().extension() != ".vxm" && entry.path().extension() != ".unsupported"))
        fs::copy(entry.path(), packed / entry.path().filename(), fs::copy_options::recursive);
  }
} catch (const fs::filesystem_error &error) {
  throw workError("--compile-only: cannot write '{}': {}",
                  error.path2().empty() ? error.path1().string() : error.path2().string(), error.code().message());
}

void packCompiled(const std::string &folder, const std::string &name, Mode mode, const std::string &target,
                  const CompiledCase &compiled) {
  const std::string packed = folder + "/" + name;
  if (compiled.result == CompiledCase::Result::Done)
    writeFile(fileOf(packed, mode, target, "vxm"),
              {reinterpret_cast<const uint8_t *>(compiled.bytes.data()), compiled.bytes.size()});
  else if (compiled.result == CompiledCase::Result::Unsupported)
    writeFile(fileOf(packed, mode, target, "unsupported"), compiled.errors);
}

bool isPacked(const CaseFolder &folder, Mode mode, const std::string &target) {
  return fs::exists(fileOf(folder.path, mode, target, "vxm")) ||
         fs::exists(fileOf(folder.path, mode, target, "unsupported"));
}

uint64_t packedHash(const CaseFolder &folder, Mode mode, const std::string &target) {
  const std::string module = fileOf(folder.path, mode, target, "vxm");
  const std::vector<uint8_t> bytes =
      readFile(fs::exists(module) ? module : fileOf(folder.path, mode, target, "unsupported"));
  return vx_hash64(bytes.data(), bytes.size());
}

CompiledCase unpackCompiled(const CaseFolder &folder, Mode mode, const std::string &target) {
  CompiledCase compiled;
  compiled.file = fileOf(folder.path, mode, target, "vxm");
  if (fs::exists(compiled.file))
    return compiled;
  compiled.result = CompiledCase::Result::Unsupported;
  const std::vector<uint8_t> reason = readFile(fileOf(folder.path, mode, target, "unsupported"));
  compiled.errors.assign(reason.begin(), reason.end());
  return compiled;
}

} // namespace vx::tools
