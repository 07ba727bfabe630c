#include "KernelCache.h"

#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

namespace vx {

namespace {
struct EntryHeader {
  uint64_t codeSize, entrySize, hash;
};
} // namespace

KernelCache::KernelCache(std::string path) : folder(std::move(path)) {
  if (folder.empty())
    return;
  // The program's own file stands for all its passes: a rebuilt compiler does not take an older one's code.
  llvm::raw_string_ostream os(compilerIdentity);
  os << "vx " << VX_VERSION_STRING << " LLVM " << LLVM_VERSION_STRING;
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status("/proc/self/exe", status))
    os << " " << status.getSize() << " " << llvm::sys::toTimeT(status.getLastModificationTime());
}

std::string KernelCache::getPath(llvm::StringRef kernelKey, const TargetSpec &spec) const {
  std::string text =
      llvm::join_items("\n", compilerIdentity, kernelKey, spec.target, spec.variant, spec.triple, spec.cpu,
                       spec.features, std::to_string(spec.vectorBits), std::to_string(spec.registers),
                       std::to_string(spec.maxThreads), std::to_string(spec.workgroupMemory));
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true) +
                                    ".kernel");
  return path.str().str();
}

std::optional<KernelBinary> KernelCache::load(llvm::StringRef kernelKey, const TargetSpec &spec) const {
  if (folder.empty())
    return std::nullopt;
  auto buffer =
      llvm::MemoryBuffer::getFile(getPath(kernelKey, spec), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  EntryHeader header;
  if (bytes.size() < sizeof(header))
    return std::nullopt;
  memcpy(&header, bytes.data(), sizeof(header));
  bytes = bytes.drop_front(sizeof(header));
  if (header.entrySize > bytes.size() || header.codeSize != bytes.size() - header.entrySize ||
      header.hash != vx_hash64(bytes.data(), bytes.size()))
    return std::nullopt;
  KernelBinary binary;
  binary.entry = bytes.take_front(header.entrySize).str();
  bytes = bytes.drop_front(header.entrySize);
  binary.code.assign(bytes.begin(), bytes.end());
  return binary;
}

void KernelCache::store(llvm::StringRef kernelKey, const TargetSpec &spec, const KernelBinary &binary) const {
  if (folder.empty() || llvm::sys::fs::create_directories(folder))
    return;
  std::string path = getPath(kernelKey, spec);
  int descriptor;
  llvm::SmallString<128> temporary;
  if (llvm::sys::fs::createUniqueFile(path + ".%%%%%%.partial", descriptor, temporary))
    return;
  std::string bytes = binary.entry;
  bytes.append(binary.code.begin(), binary.code.end());
  EntryHeader header = {binary.code.size(), binary.entry.size(), vx_hash64(bytes.data(), bytes.size())};
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream.write(reinterpret_cast<const char *>(&header), sizeof(header));
  stream << bytes;
  stream.close();
  bool failed = stream.has_error();
  stream.clear_error();
  if (failed || llvm::sys::fs::rename(temporary, path))
    llvm::sys::fs::remove(temporary);
}

} // namespace vx
