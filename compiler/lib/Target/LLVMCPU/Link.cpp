// Joins the object code of kernels to one ELF image that imports nothing.
#include "CPUTargetImpl.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;

namespace vx::cpu {

namespace {

using Bytes = llvm::ArrayRef<char>;

llvm::StringRef asText(Bytes bytes) { return {bytes.data(), bytes.size()}; }

/// The names that an object file wants from others.
llvm::Expected<std::vector<std::string>> undefinedSymbols(Bytes object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(asText(object), "kernel"));
  if (!file)
    return file.takeError();
  std::vector<std::string> names;
  for (const llvm::object::ELFSymbolRef symbol : llvm::object::ELFObjectFileBase::elf_symbol_iterator_range(
           llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols())) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || (*flags & llvm::object::SymbolRef::SF_FormatSpecific))
      continue;
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    // The linker itself defines this one.
    if (!name->empty() && *name != "_GLOBAL_OFFSET_TABLE_")
      names.push_back(name->str());
  }
  return names;
}

LogicalResult writeFile(llvm::StringRef path, Bytes bytes, std::string &error) {
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

/// LLD keeps state in globals: one link at a time, and none after one that crashed.
LogicalResult runLinker(llvm::ArrayRef<const char *> arguments, std::string &error) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable) {
    error = "the linker crashed before in this process and cannot run again";
    return failure();
  }
  std::string output;
  llvm::raw_string_ostream stream(output);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return success();
  error = "linker failed: " + llvm::StringRef(output).rtrim().str();
  return failure();
}

} // namespace

FailureOr<LinkedImage> link(llvm::ArrayRef<KernelBinary> kernels, const TargetSpec &spec, std::string &error) {
  // A program that only moves or chooses values has no kernel: its image is empty, but an image.
  bool needsSupport = kernels.empty();
  llvm::StringSet<> entries;
  for (const KernelBinary &kernel : kernels) {
    if (!entries.insert(kernel.entry).second) {
      error = "two kernels have the entry '" + kernel.entry + "'";
      return failure();
    }
    llvm::Expected<std::vector<std::string>> undefined = undefinedSymbols(kernel.code);
    if (!undefined) {
      error = "kernel '" + kernel.entry + "': object code: " + llvm::toString(undefined.takeError());
      return failure();
    }
    for (const std::string &name : *undefined) {
      if (!supportFunctions().contains(name)) {
        error = "kernel '" + kernel.entry + "' calls '" + name + "', which vx does not supply on target 'cpu'";
        return failure();
      }
      needsSupport = true;
    }
  }

  llvm::SmallString<128> folder;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("vx-link", folder)) {
    error = "cannot make a folder for the linker: " + code.message();
    return failure();
  }
  auto removeFolder = llvm::scope_exit([&] { (void)llvm::sys::fs::remove_directories(folder); });
  auto pathOf = [&](const llvm::Twine &name) {
    llvm::SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    return path.str().str();
  };

  std::vector<std::string> inputs;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    inputs.push_back(pathOf(llvm::Twine(i) + ".o"));
    if (failed(writeFile(inputs.back(), kernel.code, error)))
      return failure();
  }
  if (needsSupport) {
    std::string reason;
    FailureOr<llvm::SmallVector<char, 0>> support = compileSupportLibrary(spec, reason);
    if (failed(support)) {
      error = "support functions of variant '" + spec.variant + "': " + reason;
      return failure();
    }
    llvm::Expected<std::vector<std::string>> undefined = undefinedSymbols(*support);
    if (!undefined) {
      error = "support functions: object code: " + llvm::toString(undefined.takeError());
      return failure();
    }
    inputs.push_back(pathOf("support.o"));
    if (failed(writeFile(inputs.back(), *support, error)))
      return failure();
  }

  // Only entries are seen from outside, and what none of them reaches is left out.
  std::string script = kernels.empty() ? "{ " : "{ global: ";
  for (const KernelBinary &kernel : kernels)
    script += "\"" + kernel.entry + "\"; ";
  script += "local: *; };\n";
  std::string scriptPath = pathOf("exports"), outputPath = pathOf("image");
  if (failed(writeFile(scriptPath, script, error)))
    return failure();

  std::vector<std::string> options = {"ld.lld",
                                      "-shared",
                                      "--no-undefined",
                                      "-nostdlib",
                                      "-Bsymbolic",
                                      "--gc-sections",
                                      "--strip-all",
                                      "--hash-style=gnu",
                                      "--build-id=none",
                                      "--threads=1",
                                      "-znoexecstack",
                                      "-zseparate-code",
                                      "-znow",
                                      "--icf=none",
                                      "--no-rosegment",
                                      "--version-script=" + scriptPath,
                                      "-o",
                                      outputPath};
  options.insert(options.end(), inputs.begin(), inputs.end());
  llvm::SmallVector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  if (failed(runLinker(arguments, error)))
    return failure();

  auto image = llvm::MemoryBuffer::getFile(outputPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!image) {
    error = "cannot read what the linker wrote: " + image.getError().message();
    return failure();
  }
  LinkedImage result;
  result.bytes.assign((*image)->getBufferStart(), (*image)->getBufferEnd());
  return result;
}

} // namespace vx::cpu
