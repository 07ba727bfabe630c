// Joins the object code of kernels to one ELF image that imports nothing.
#include "CPUTargetImpl.h"
#include "vx/Codegen/Linker.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

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

  std::vector<Bytes> objects;
  std::vector<std::string> exports;
  for (const KernelBinary &kernel : kernels) {
    objects.emplace_back(kernel.code);
    exports.push_back(kernel.entry);
  }
  llvm::SmallVector<char, 0> supportObject;
  if (needsSupport) {
    std::string reason;
    FailureOr<llvm::SmallVector<char, 0>> support = compileSupportLibrary(spec, reason);
    if (failed(support)) {
      error = "support functions of variant '" + spec.variant + "': " + reason;
      return failure();
    }
    supportObject = std::move(*support);
    objects.emplace_back(supportObject);
  }

  const std::string options[] = {
      "-shared",     "--no-undefined",   "-nostdlib",       "-Bsymbolic",    "--gc-sections",
      "--strip-all", "--hash-style=gnu", "--build-id=none", "-znoexecstack", "-zseparate-code",
      "-znow",       "--icf=none",       "--no-rosegment"};
  LinkedImage result;
  if (failed(linkImage(options, objects, exports, result.bytes, error)))
    return failure();
  return result;
}

} // namespace vx::cpu
