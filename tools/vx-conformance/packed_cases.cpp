#include "packed_cases.h"

#include "input_file.h"
#include "output_file.h"
#include "tool_error.h"

#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

static std::string fileOf(const std::string &folder, Mode mode, const std::string &target, std::string_view kind) {
  return fmt::format("{}/{}.{}.{}", folder, modeName(mode), target, kind);
}

void packCases(const std::vector<CaseFolder> &cases, const std::string &folder) try {
  fs::create_directories(folder);
  if (!fs::is_empty(folder))
    throw usageError("--compile-only: want a new or empty folder, got '{}', which has files", folder);
  for (const CaseFolder &one : cases) {
    const fs::path packed = fs::path(folder) / one.name;
    fs::create_directory(packed);
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
