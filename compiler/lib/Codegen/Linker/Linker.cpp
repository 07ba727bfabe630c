#include "vx/Codegen/Linker.h"

#include "vx/base/temporary_folder.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

namespace vx {

namespace {

LogicalResult writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes, std::string &error) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (!code)
    return success();
  error = "cannot write '" + path.str() + "': " + code.message();
  return failure();
}

/// One link at a time, and none after one that ended in the middle: a fatal error would end the process, were it not
/// caught as a crash is.
LogicalResult runLinker(llvm::ArrayRef<const char *> arguments, std::string &error) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable) {
    error = "the linker ended in the middle before, and cannot run again in this process";
    return failure();
  }
  std::string output;
  llvm::raw_string_ostream stream(output);
  llvm::CrashRecoveryContext::Enable();
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return success();
  error = "linker failed: " + llvm::StringRef(output).rtrim().str();
  return failure();
}

} // namespace

LogicalResult linkImage(llvm::ArrayRef<std::string> options, llvm::ArrayRef<llvm::ArrayRef<char>> objects,
                        llvm::ArrayRef<std::string> exports, std::vector<char> &image, std::string &error) {
  std::string reason;
  TemporaryFolder folder("vx-link", reason, TemporaryFolder::Place::Memory);
  if (folder.path().empty()) {
    error = "cannot make a folder for the linker: " + reason;
    return failure();
  }
  auto pathOf = [&](const llvm::Twine &name) { return folder.path() + "/" + name.str(); };

  // Only what is exported is seen from outside, and what it does not reach is left out.
  std::string script = exports.empty() ? "{ " : "{ global: ";
  for (const std::string &name : exports)
    script += "\"" + name + "\"; ";
  script += "local: *; };\n";
  std::string scriptPath = pathOf("exports"), outputPath = pathOf("image");
  if (failed(writeFile(scriptPath, script, error)))
    return failure();

  std::vector<std::string> words = {"ld.lld", "--threads=1", "--version-script=" + scriptPath, "-o", outputPath};
  words.insert(words.end(), options.begin(), options.end());
  for (auto [i, object] : llvm::enumerate(objects)) {
    words.push_back(pathOf(llvm::Twine(i) + ".o"));
    if (failed(writeFile(words.back(), object, error)))
      return failure();
  }
  llvm::SmallVector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  if (failed(runLinker(arguments, error)))
    return failure();

  auto file = llvm::MemoryBuffer::getFile(outputPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    error = "cannot read what the linker wrote: " + file.getError().message();
    return failure();
  }
  image.assign((*file)->getBufferStart(), (*file)->getBufferEnd());
  return success();
}

} // namespace vx
