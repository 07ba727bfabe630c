#include "drivers/host/elf_image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace vx::drivers {

#if defined(__x86_64__)
static constexpr uint16_t machine = EM_X86_64;
static constexpr uint32_t relativeRelocation = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
static constexpr uint16_t machine = EM_AARCH64;
static constexpr uint32_t relativeRelocation = R_AARCH64_RELATIVE;
#else
static constexpr uint16_t machine = EM_NONE;
static constexpr uint32_t relativeRelocation = 0;
#endif

static uint64_t pageSize() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}
static uint64_t pageFloor(uint64_t address) { return address & ~(pageSize() - 1); }
static uint64_t pageCeil(uint64_t address) { return pageFloor(address + pageSize() - 1); }

// No image of kernels comes near; it keeps sums of addresses small.
static constexpr uint64_t maxAddress = uint64_t(1) << 32;

ElfImage::~ElfImage() {
  if (base)
    munmap(base, span);
}

uint8_t *ElfImage::at(uint64_t address, uint64_t size) const {
  for (const Segment &segment : segments)
    if (address >= segment.address && address - segment.address <= segment.memorySize &&
        size <= segment.memorySize - (address - segment.address))
      return base + address;
  return nullptr;
}

template <typename T>
bool ElfImage::read(uint64_t address, T &value) const {
  const uint8_t *source = at(address, sizeof(T));
  if (!source)
    return false;
  std::memcpy(&value, source, sizeof(T));
  return true;
}

Status ElfImage::readSegments(std::span<const uint8_t> file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header))
    return failure(VX_INVALID_MODULE, "code image has {} bytes, an ELF header needs {}", file.size(), sizeof(header));
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return failure(VX_INVALID_MODULE, "code image is no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return failure(VX_INVALID_MODULE, "code image is no 64-bit little-endian shared object");
  if (header.e_machine != machine)
    return failure(VX_INVALID_MODULE, "code image is for ELF machine {}, this processor is {}", header.e_machine,
                   machine);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > 64 || header.e_phoff > file.size() ||
      header.e_phnum * sizeof(Elf64_Phdr) > file.size() - header.e_phoff)
    return failure(VX_INVALID_MODULE, "code image has {} program headers of {} bytes at {}, the file has {} bytes",
                   header.e_phnum, header.e_phentsize, header.e_phoff, file.size());
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    switch (segment.p_type) {
    case PT_LOAD:
      break;
    case PT_DYNAMIC:
      dynamicAddress = segment.p_vaddr;
      dynamicSize = segment.p_memsz;
      continue;
    case PT_GNU_RELRO:
      relroAddress = segment.p_vaddr;
      relroSize = segment.p_memsz;
      continue;
    case PT_TLS:
      return failure(VX_INVALID_MODULE, "code image has thread-local data, allowed is none");
    case PT_INTERP:
      return failure(VX_INVALID_MODULE, "code image asks for an interpreter, allowed is none");
    default:
      continue;
    }
    if (segment.p_memsz == 0)
      continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_offset > file.size() ||
        segment.p_filesz > file.size() - segment.p_offset)
      return failure(VX_INVALID_MODULE, "code image: segment {} has {} bytes at {}, the file has {} bytes", i,
                     segment.p_filesz, segment.p_offset, file.size());
    if (segment.p_vaddr > maxAddress || segment.p_memsz > maxAddress)
      return failure(VX_INVALID_MODULE, "code image: segment {} has {} bytes at address {:#x}, allowed are {:#x}", i,
                     segment.p_memsz, segment.p_vaddr, maxAddress);
    if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
      return failure(VX_INVALID_MODULE, "code image: segment {} is writable and executable", i);
    segments.push_back({segment.p_vaddr, segment.p_memsz, segment.p_offset, segment.p_filesz, segment.p_flags});
  }
  if (segments.empty())
    return failure(VX_INVALID_MODULE, "code image has no segment to load");
  // Permissions are per page, so no two segments may share one.
  std::sort(segments.begin(), segments.end(), [](const Segment &a, const Segment &b) { return a.address < b.address; });
  for (size_t i = 1; i < segments.size(); ++i)
    if (pageCeil(segments[i - 1].address + segments[i - 1].memorySize) > pageFloor(segments[i].address))
      return failure(VX_INVALID_MODULE, "code image: segments at {:#x} and {:#x} share a page of {} bytes",
                     segments[i - 1].address, segments[i].address, pageSize());
  return okStatus();
}

Status ElfImage::map(std::span<const uint8_t> file) {
  span = pageCeil(segments.back().address + segments.back().memorySize);
  void *reserved = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return failure(VX_OUT_OF_MEMORY, "cannot reserve {} bytes for code: {}", span, std::strerror(errno));
  base = static_cast<uint8_t *>(reserved);
  for (const Segment &segment : segments) {
    uint64_t begin = pageFloor(segment.address);
    uint64_t end = pageCeil(segment.address + segment.memorySize);
    if (mprotect(base + begin, end - begin, PROT_READ | PROT_WRITE) != 0)
      return failure(VX_OUT_OF_MEMORY, "cannot map {} bytes for code: {}", end - begin, std::strerror(errno));
    std::memcpy(base + segment.address, file.data() + segment.fileOffset, segment.fileSize);
  }
  return okStatus();
}

Status ElfImage::readDynamic(Tables &tables) {
  uint64_t relaEntry = sizeof(Elf64_Rela), symbolEntry = sizeof(Elf64_Sym);
  for (uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= dynamicSize; offset += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (!read(dynamicAddress + offset, entry))
      return failure(VX_INVALID_MODULE, "code image: dynamic section at {:#x} is outside the image", dynamicAddress);
    uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
    case DT_NULL:
      return relaEntry == sizeof(Elf64_Rela) && symbolEntry == sizeof(Elf64_Sym)
                 ? okStatus()
                 : failure(VX_INVALID_MODULE, "code image: table entries have {} and {} bytes, expected {} and {}",
                           relaEntry, symbolEntry, sizeof(Elf64_Rela), sizeof(Elf64_Sym));
    case DT_NEEDED:
      return failure(VX_INVALID_MODULE, "code image needs another library, allowed is none");
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      return failure(VX_INVALID_MODULE, "code image has constructors or destructors, allowed are none");
    case DT_TEXTREL:
      return failure(VX_INVALID_MODULE, "code image has relocations in its code, allowed are none");
    case DT_REL:
    case DT_JMPREL:
    case 36: // DT_RELR
      // Told after the imports, which are the usual reason for it.
      tables.otherRelocations = entry.d_tag;
      break;
    case DT_RELA:
      tables.rela = value;
      break;
    case DT_RELASZ:
      tables.relaSize = value;
      break;
    case DT_RELAENT:
      relaEntry = value;
      break;
    case DT_SYMTAB:
      tables.symbols = value;
      break;
    case DT_SYMENT:
      symbolEntry = value;
      break;
    case DT_STRTAB:
      tables.strings = value;
      break;
    case DT_STRSZ:
      tables.stringsSize = value;
      break;
    case DT_HASH:
      tables.hash = value;
      break;
    case DT_GNU_HASH:
      tables.gnuHash = value;
      break;
    default:
      break;
    }
  }
  return failure(VX_INVALID_MODULE, "code image: dynamic section of {} bytes has no end", dynamicSize);
}

// The symbol table has no size of its own: the hash tables tell how many symbols there are.
Status ElfImage::countSymbols(const Tables &tables, uint64_t &count) const {
  auto damaged = [] { return failure(VX_INVALID_MODULE, "code image: symbol hash table is outside the image"); };
  count = 0;
  if (tables.hash) {
    uint32_t chains = 0;
    if (!read(tables.hash + 4, chains))
      return damaged();
    count = chains;
    return okStatus();
  }
  if (!tables.gnuHash)
    return failure(VX_INVALID_MODULE, "code image has no symbol hash table");
  uint32_t bucketCount, firstSymbol, bloomSize;
  if (!read(tables.gnuHash, bucketCount) || !read(tables.gnuHash + 4, firstSymbol) ||
      !read(tables.gnuHash + 8, bloomSize))
    return damaged();
  uint64_t buckets = tables.gnuHash + 16 + uint64_t(bloomSize) * 8;
  uint64_t chains = buckets + uint64_t(bucketCount) * 4;
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucketCount; ++i) {
    uint32_t symbol;
    if (!read(buckets + uint64_t(i) * 4, symbol))
      return damaged();
    last = std::max(last, symbol);
  }
  if (last < firstSymbol) {
    count = firstSymbol;
    return okStatus();
  }
  // The last bucket's chain ends at the entry with the low bit set.
  for (uint32_t chain = 0; !(chain & 1); ++last)
    if (!read(chains + uint64_t(last - firstSymbol) * 4, chain))
      return damaged();
  count = last;
  return okStatus();
}

Status ElfImage::readSymbols(const Tables &tables) {
  uint64_t count = 0;
  VX_RETURN_IF_ERROR(countSymbols(tables, count));
  const uint8_t *strings = at(tables.strings, tables.stringsSize);
  if (!strings || tables.stringsSize == 0 || strings[tables.stringsSize - 1] != 0)
    return failure(VX_INVALID_MODULE, "code image: string table of {} bytes at {:#x} is not inside the image",
                   tables.stringsSize, tables.strings);
  if (!at(tables.symbols, count * sizeof(Elf64_Sym)))
    return failure(VX_INVALID_MODULE, "code image: {} symbols at {:#x} are not inside the image", count,
                   tables.symbols);
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol;
    if (!read(tables.symbols + i * sizeof(symbol), symbol) || symbol.st_name >= tables.stringsSize)
      return failure(VX_INVALID_MODULE, "code image: symbol {} has no name", i);
    const char *name = reinterpret_cast<const char *>(strings) + symbol.st_name;
    if (symbol.st_shndx == SHN_UNDEF)
      return failure(VX_INVALID_MODULE, "code image imports '{}', allowed are no imports", name);
    uint32_t type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_TLS || type == STT_GNU_IFUNC)
      return failure(VX_INVALID_MODULE, "code image: symbol '{}' has the type {}, allowed are functions and data", name,
                     type);
    if (type != STT_FUNC)
      continue;
    bool executable = false;
    for (const Segment &segment : segments)
      executable |= (segment.flags & PF_X) && symbol.st_value >= segment.address &&
                    symbol.st_value < segment.address + segment.memorySize;
    if (!executable)
      return failure(VX_INVALID_MODULE, "code image: function '{}' at {:#x} is in no executable segment", name,
                     symbol.st_value);
    functions.emplace(name, base + symbol.st_value);
  }
  return okStatus();
}

Status ElfImage::relocate(const Tables &tables) {
  if (tables.otherRelocations)
    return failure(VX_INVALID_MODULE, "code image has relocations of table {}, allowed is {}", tables.otherRelocations,
                   DT_RELA);
  if (tables.relaSize % sizeof(Elf64_Rela) != 0)
    return failure(VX_INVALID_MODULE, "code image: relocations have {} bytes, expected a multiple of {}",
                   tables.relaSize, sizeof(Elf64_Rela));
  for (uint64_t offset = 0; offset < tables.relaSize; offset += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    if (!read(tables.rela + offset, relocation))
      return failure(VX_INVALID_MODULE, "code image: {} bytes of relocations at {:#x} are not inside the image",
                     tables.relaSize, tables.rela);
    auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
    if (type != relativeRelocation || ELF64_R_SYM(relocation.r_info) != 0)
      return failure(VX_INVALID_MODULE, "code image: relocation at {:#x} has the type {}, allowed is {}",
                     relocation.r_offset, type, relativeRelocation);
    uint8_t *place = at(relocation.r_offset, sizeof(uint64_t));
    if (!place)
      return failure(VX_INVALID_MODULE, "code image: relocation at {:#x} is outside the image", relocation.r_offset);
    for (const Segment &segment : segments)
      if ((segment.flags & PF_X) && relocation.r_offset >= segment.address &&
          relocation.r_offset < segment.address + segment.memorySize)
        return failure(VX_INVALID_MODULE, "code image: relocation at {:#x} is in its code", relocation.r_offset);
    uint64_t value = reinterpret_cast<uint64_t>(base) + static_cast<uint64_t>(relocation.r_addend);
    std::memcpy(place, &value, sizeof(value));
  }
  return okStatus();
}

Status ElfImage::protect() {
  auto setProtection = [&](uint64_t begin, uint64_t end, int protection) -> Status {
    if (begin < end && mprotect(base + begin, end - begin, protection) != 0)
      return failure(VX_INTERNAL, "cannot protect {} bytes of code: {}", end - begin, std::strerror(errno));
    return okStatus();
  };
  for (const Segment &segment : segments) {
    int protection = PROT_READ;
    if (segment.flags & PF_W)
      protection |= PROT_WRITE;
    if (segment.flags & PF_X) {
      protection |= PROT_EXEC;
      __builtin___clear_cache(reinterpret_cast<char *>(base + segment.address),
                              reinterpret_cast<char *>(base + segment.address + segment.memorySize));
    }
    VX_RETURN_IF_ERROR(
        setProtection(pageFloor(segment.address), pageCeil(segment.address + segment.memorySize), protection));
  }
  // What only relocations wrote to is read-only from now on.
  for (const Segment &segment : segments)
    if ((segment.flags & PF_W) && relroSize && relroAddress >= segment.address &&
        relroAddress - segment.address <= segment.memorySize &&
        relroSize <= pageCeil(segment.address + segment.memorySize) - relroAddress)
      VX_RETURN_IF_ERROR(setProtection(pageFloor(relroAddress), pageFloor(relroAddress + relroSize), PROT_READ));
  return okStatus();
}

Status ElfImage::load(std::span<const uint8_t> file, std::unique_ptr<ElfImage> &result) {
  std::unique_ptr<ElfImage> image(new ElfImage());
  VX_RETURN_IF_ERROR(image->readSegments(file));
  VX_RETURN_IF_ERROR(image->map(file));
  if (image->dynamicSize == 0)
    return failure(VX_INVALID_MODULE, "code image has no dynamic section");
  Tables tables;
  VX_RETURN_IF_ERROR(image->readDynamic(tables));
  VX_RETURN_IF_ERROR(image->readSymbols(tables));
  VX_RETURN_IF_ERROR(image->relocate(tables));
  VX_RETURN_IF_ERROR(image->protect());
  result = std::move(image);
  return okStatus();
}

const void *ElfImage::function(std::string_view name) const {
  auto found = functions.find(std::string(name));
  return found == functions.end() ? nullptr : found->second;
}

} // namespace vx::drivers
