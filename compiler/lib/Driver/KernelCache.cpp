#include "KernelCache.h"

#include "vx/abi/module_header.h"
#include "vx/abi/version.h"
#include "vx/base/partial_file.h"
#include "vx/base/regular_file.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Host.h"
#include <link.h>
#include <unistd.h>

namespace vx {

namespace {

struct EntryHeader {
  uint64_t codeSize, entrySize, takenSize, reasonSize, hash;
};

//===-- The compiler's identity ---------------------------------------------------------------------------------===//

/// A loaded program or library that holds an address.
struct LoadedObject {
  uintptr_t address;
  std::string path;    // empty for the program itself
  std::string buildId; // empty where the linker made none
  bool isFound = false;
};

std::string findBuildId(const dl_phdr_info &info, const ElfW(Phdr) & segment) {
  const char *at = reinterpret_cast<const char *>(info.dlpi_addr + segment.p_vaddr), *end = at + segment.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof(note));
    const char *name = at + sizeof(note), *data = name + llvm::alignTo(note.n_namesz, 4);
    if (data + note.n_descsz > end)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
      return llvm::toHex(llvm::StringRef(data, note.n_descsz), /*LowerCase=*/true);
    at = data + llvm::alignTo(note.n_descsz, 4);
  }
  return "";
}

int examineObject(dl_phdr_info *info, size_t, void *argument) {
  auto &wanted = *static_cast<LoadedObject *>(argument);
  llvm::ArrayRef<ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
  wanted.isFound = llvm::any_of(segments, [&](const ElfW(Phdr) & segment) {
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && wanted.address >= begin && wanted.address - begin < segment.p_memsz;
  });
  if (!wanted.isFound)
    return 0;
  wanted.path = info->dlpi_name;
  for (const ElfW(Phdr) &segment : segments)
    if (segment.p_type == PT_NOTE && wanted.buildId.empty())
      wanted.buildId = findBuildId(*info, segment);
  return 1;
}

std::string identifyObject(const void *address) {
  LoadedObject object{reinterpret_cast<uintptr_t>(address), "", ""};
  dl_iterate_phdr(examineObject, &object);
  if (!object.buildId.empty())
    return object.buildId;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(object.path.empty() ? "/proc/self/exe" : object.path, status))
    return "process " + std::to_string(getpid()); // nothing is known: good for this process alone
  return std::to_string(status.getUniqueID().getFile()) + "." + std::to_string(status.getSize()) + "." +
         std::to_string(status.getLastModificationTime().time_since_epoch().count());
}

//===-- Target specs --------------------------------------------------------------------------------------------===//

/// Texts of values in which no value can be taken for two others.
class FieldWriter {
public:
  template <typename... Fields>
  void addAll(const Fields &...fields) {
    (add(fields), ...);
  }
  std::string take() { return std::move(text); }

private:
  void add(const std::string &value) { text += std::to_string(value.size()) + ":" + value; }
  void add(int64_t value) { text += std::to_string(value) + ";"; }
  void add(bool value) { text += value ? "t" : "f"; }
  template <typename First, typename Second>
  void add(const std::pair<First, Second> &value) {
    addAll(value.first, value.second);
  }
  template <typename Item>
  void add(const std::vector<Item> &values) {
    addRange(values);
  }
  template <typename Key, typename Value>
  void add(const std::map<Key, Value> &values) {
    addRange(values);
  }
  void add(const MatrixUnit &unit) {
    // As below: these are all fields.
    const auto &[depths, subgroup, elements, laneColumns, rowStep, columnStep, readsAcross] = unit;
    addAll(depths, subgroup, elements, laneColumns, rowStep, columnStep, readsAcross);
  }
  template <typename Range>
  void addRange(const Range &values) {
    add(static_cast<int64_t>(values.size()));
    for (const auto &value : values)
      add(value);
  }

  std::string text;
};

} // namespace

std::string getCompilerIdentity() {
  static const std::string *identity = [] {
    auto *text = new std::string("vx " VX_VERSION_STRING " LLVM " LLVM_VERSION_STRING); // lives as long as the process
    // One function of each: they may lie in one library or in three.
    for (const void *place : {reinterpret_cast<const void *>(&getCompilerIdentity),
                              reinterpret_cast<const void *>(&mlir::registerMLIRContextCLOptions),
                              reinterpret_cast<const void *>(&llvm::sys::getProcessTriple)})
      *text += " " + identifyObject(place);
    return text;
  }();
  return *identity;
}

std::string serializeSpec(const TargetSpec &spec) {
  // A field that is added to the struct does not compile until it is named here.
  const auto &[target, variant, triple, cpu, features, requirements, vectorBits, registers, maskedBits, l1Bytes,
               l2Bytes, maxThreads, workgroupMemory, matrixUnit, asyncCopyBytes, hasByteDots] = spec;
  FieldWriter writer;
  writer.addAll(target, variant, triple, cpu, features, requirements, vectorBits, registers, maskedBits, l1Bytes,
                l2Bytes, maxThreads, workgroupMemory, matrixUnit, asyncCopyBytes, hasByteDots);
  return writer.take();
}

//===-- Entries -------------------------------------------------------------------------------------------------===//

KernelCache::KernelCache(std::string path) : folder(std::move(path)) {
  if (!folder.empty())
    compilerIdentity = getCompilerIdentity();
}

std::string KernelCache::getPath(llvm::StringRef kernelKey, const TargetSpec &spec) const {
  std::string text = llvm::join_items("\n", compilerIdentity, kernelKey, serializeSpec(spec));
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true) +
                                    ".kernel");
  return path.str().str();
}

void KernelCache::setProblem(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (firstProblem.empty())
    firstProblem = "cannot use the cache of kernels '" + folder + "': " + reason;
}

std::string KernelCache::problem() const {
  std::lock_guard lock(mutex);
  return firstProblem;
}

std::optional<KernelBinary> KernelCache::load(llvm::StringRef kernelKey, const TargetSpec &spec) {
  if (folder.empty())
    return std::nullopt;
  std::string path = getPath(kernelKey, spec);
  FileError reason;
  int descriptor = openRegularFile(path, reason);
  if (descriptor < 0) {
    if (reason.number != ENOENT)
      setProblem("'" + llvm::sys::path::filename(path).str() + "' " + reason.text);
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(descriptor, path, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  ::close(descriptor);
  if (!buffer) {
    setProblem(buffer.getError().message());
    return std::nullopt;
  }
  llvm::StringRef bytes = (*buffer)->getBuffer();
  EntryHeader header;
  if (bytes.size() < sizeof(header))
    return std::nullopt;
  memcpy(&header, bytes.data(), sizeof(header));
  bytes = bytes.drop_front(sizeof(header));
  if (header.hash != vx_hash64(bytes.data(), bytes.size()))
    return std::nullopt;
  uint64_t left = bytes.size();
  for (uint64_t size : {header.entrySize, header.takenSize, header.reasonSize, header.codeSize}) {
    if (size > left)
      return std::nullopt;
    left -= size;
  }
  if (left != 0)
    return std::nullopt;
  KernelBinary binary;
  auto take = [&](uint64_t size) {
    std::string text = bytes.take_front(size).str();
    bytes = bytes.drop_front(size);
    return text;
  };
  binary.entry = take(header.entrySize);
  binary.takenStrategy = take(header.takenSize);
  binary.declineReason = take(header.reasonSize);
  binary.code.assign(bytes.begin(), bytes.end());
  return binary;
}

void KernelCache::store(llvm::StringRef kernelKey, const TargetSpec &spec, const KernelBinary &binary) {
  if (folder.empty())
    return;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return setProblem(code.message());
  std::string bytes = binary.entry + binary.takenStrategy + binary.declineReason;
  bytes.append(binary.code.begin(), binary.code.end());
  EntryHeader header = {binary.code.size(), binary.entry.size(), binary.takenStrategy.size(),
                        binary.declineReason.size(), vx_hash64(bytes.data(), bytes.size())};
  std::string path = getPath(kernelKey, spec);
  std::call_once(isCleaned, [&] { removeLeftoverFiles(path); });
  PartialFile file;
  int error = file.open(path);
  if (!error)
    error = file.write(&header, sizeof(header));
  if (!error)
    error = file.write(bytes.data(), bytes.size());
  std::string reason;
  if (error)
    setProblem(std::error_code(error, std::generic_category()).message());
  else if (!file.commit(reason))
    setProblem(reason);
}

} // namespace vx
