#include "code_object.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"

#include <algorithm>
#include <elf.h>

namespace vx::rocm_emulator {

namespace {

//===-- The file ------------------------------------------------------------------------------===//

constexpr unsigned machineAmdGpu = 224, abiAmdHsa = 64, noteMetadata = 32;

template <typename T>
T read(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct File {
  const uint8_t *bytes;
  Elf64_Ehdr header;

  explicit File(const void *image) : bytes(static_cast<const uint8_t *>(image)), header(read<Elf64_Ehdr>(bytes)) {
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      throw Fault("the code is no ELF file of 64 bits");
    if (header.e_machine != machineAmdGpu || header.e_ident[EI_OSABI] != abiAmdHsa)
      throw Fault("the code is not for an AMD GPU");
  }

  Elf64_Phdr segment(unsigned index) const {
    return read<Elf64_Phdr>(bytes + header.e_phoff + uint64_t(index) * header.e_phentsize);
  }
  Elf64_Shdr section(unsigned index) const {
    return read<Elf64_Shdr>(bytes + header.e_shoff + uint64_t(index) * header.e_shentsize);
  }

  struct Symbol {
    std::string name;
    uint64_t address, size;
  };
  std::vector<Symbol> symbols() const {
    std::vector<Symbol> list;
    for (unsigned index = 0; index < header.e_shnum; ++index) {
      const Elf64_Shdr table = section(index);
      if (table.sh_type != SHT_DYNSYM)
        continue;
      const Elf64_Shdr names = section(table.sh_link);
      for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(bytes + table.sh_offset + at);
        list.push_back({reinterpret_cast<const char *>(bytes + names.sh_offset + symbol.st_name), symbol.st_value,
                        symbol.st_size});
      }
    }
    return list;
  }

  // The note that describes the kernels.
  std::string_view metadata() const {
    for (unsigned index = 0; index < header.e_phnum; ++index) {
      const Elf64_Phdr notes = segment(index);
      if (notes.p_type != PT_NOTE)
        continue;
      for (uint64_t at = notes.p_offset; at < notes.p_offset + notes.p_filesz;) {
        const auto note = read<Elf64_Nhdr>(bytes + at);
        const uint64_t text = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
        if (note.n_type == noteMetadata)
          return {reinterpret_cast<const char *>(bytes + text), note.n_descsz};
        at = text + (note.n_descsz + 3) / 4 * 4;
      }
    }
    throw Fault("the code has no metadata");
  }
};

//===-- What the metadata says of a kernel ----------------------------------------------------===//

using llvm::msgpack::DocNode;

DocNode field(DocNode &map, const char *name) {
  auto &entries = map.getMap();
  auto found = entries.find(name);
  return found == entries.end() ? entries.getDocument()->getEmptyNode() : found->second;
}

uint64_t number(DocNode &map, const char *name) {
  DocNode node = field(map, name);
  return node.getKind() == llvm::msgpack::Type::UInt  ? node.getUInt()
         : node.getKind() == llvm::msgpack::Type::Int ? static_cast<uint64_t>(node.getInt())
                                                      : 0;
}

std::string text(DocNode &map, const char *name) {
  DocNode node = field(map, name);
  return node.isString() ? node.getString().str() : std::string();
}

//===-- The descriptor: 64 bytes, with two words of settings ----------------------------------===//

struct Descriptor {
  uint32_t sharedBytes, privateBytes, argumentBytes;
  int64_t entry; // from the descriptor on
  uint32_t settings3, settings1, settings2;
  uint16_t properties, preload;

  explicit Descriptor(const uint8_t *at)
      : sharedBytes(read<uint32_t>(at)), privateBytes(read<uint32_t>(at + 4)), argumentBytes(read<uint32_t>(at + 8)),
        entry(read<int64_t>(at + 16)), settings3(read<uint32_t>(at + 44)), settings1(read<uint32_t>(at + 48)),
        settings2(read<uint32_t>(at + 52)), properties(read<uint16_t>(at + 56)), preload(read<uint16_t>(at + 58)) {}
};

// Registers that are filled before a kernel starts, in this order, each if its bit of the properties is set.
struct UserRegister {
  unsigned bit, count;
};
constexpr UserRegister userRegisters[] = {{0, 4}, {1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 1}};
constexpr unsigned argumentBit = 3, wave32Bit = 10;

void want(const char *what, uint64_t descriptor, uint64_t metadata) {
  if (descriptor != metadata)
    throw Fault(std::string(what) + " are " + std::to_string(descriptor) + " in the descriptor and " +
                std::to_string(metadata) + " in the metadata");
}

void describe(const Chip &chip, const Descriptor &descriptor, DocNode &metadata, Kernel &kernel) {
  kernel.generation = chip.generation;
  kernel.sharedBytes = descriptor.sharedBytes;
  kernel.privateBytes = descriptor.privateBytes;
  kernel.argumentBytes = descriptor.argumentBytes;
  want("bytes of workgroup memory", descriptor.sharedBytes, number(metadata, ".group_segment_fixed_size"));
  want("bytes of private memory", descriptor.privateBytes, number(metadata, ".private_segment_fixed_size"));
  want("bytes of arguments", descriptor.argumentBytes, number(metadata, ".kernarg_segment_size"));
  RegisterCounts &registers = kernel.registers;
  registers.lanes = chip.generation == Generation::Gfx11 && (descriptor.properties >> wave32Bit & 1) ? 32 : 64;
  want("lanes", registers.lanes, number(metadata, ".wavefront_size"));
  registers.vectors = ((descriptor.settings1 & 63) + 1) * 8;
  if (chip.generation == Generation::Gfx9)
    registers.accumulatorBase = ((descriptor.settings3 & 63) + 1) * 4;
  if (number(metadata, ".vgpr_count") > registers.vectors)
    throw Fault("the descriptor has fewer vector registers than the metadata");
  kernel.mode = descriptor.settings1 >> 12 & 255;
  if (kernel.mode & (modeRound32 | modeRound64) || (kernel.mode & modeDenormals64) != modeDenormals64)
    throw Fault("the rounding or the denormal numbers of MODE " + std::to_string(kernel.mode) + " are not known");
  for (const UserRegister &user : userRegisters) {
    if (!(descriptor.properties >> user.bit & 1))
      continue;
    if (user.bit == argumentBit)
      kernel.argumentRegister = static_cast<int>(kernel.userRegisters);
    kernel.userRegisters += user.count;
  }
  if (descriptor.preload != 0)
    throw Fault("arguments in registers are not known");
  if ((descriptor.settings2 >> 1 & 31) < kernel.userRegisters)
    throw Fault("the descriptor has fewer user registers than it fills");
  kernel.userRegisters = descriptor.settings2 >> 1 & 31;
  for (unsigned k = 0; k < 3; ++k)
    kernel.hasPlace[k] = descriptor.settings2 >> (7 + k) & 1;
  if (DocNode sizes = field(metadata, ".reqd_workgroup_size"); sizes.isArray())
    for (unsigned k = 0; k < 3; ++k)
      kernel.workgroup[k] = static_cast<uint32_t>(sizes.getArray()[k].getUInt());
  if (DocNode arguments = field(metadata, ".args"); arguments.isArray())
    for (DocNode &argument : arguments.getArray()) {
      if (text(argument, ".value_kind").starts_with("hidden"))
        throw Fault("hidden arguments are not known");
      kernel.arguments.push_back(
          {static_cast<uint32_t>(number(argument, ".offset")), static_cast<uint32_t>(number(argument, ".size"))});
    }
}

} // namespace

CodeObject::CodeObject(const Chip &chip, const void *image, Memory &memory) : memory(memory) {
  const File file(image);
  const std::string_view note = file.metadata();
  llvm::msgpack::Document document;
  if (!document.readFromBlob({note.data(), note.size()}, /*Multi=*/false))
    throw Fault("the metadata cannot be read");
  // "amdgcn-amd-amdhsa--gfx942", and modes behind it.
  const std::string target = text(document.getRoot(), "amdhsa.target");
  const std::string name = target.substr(target.rfind("--") == target.npos ? 0 : target.rfind("--") + 2);
  if (name.substr(0, name.find(':')) != chip.name)
    throw Fault("the code is for " + name + ", the device is " + std::string(chip.name));
  uint64_t size = 0;
  for (unsigned index = 0; index < file.header.e_phnum; ++index)
    if (const Elf64_Phdr segment = file.segment(index); segment.p_type == PT_LOAD)
      size = std::max<uint64_t>(size, segment.p_vaddr + segment.p_memsz);
  loaded = static_cast<uint8_t *>(memory.allocate(size));
  try {
    std::memset(loaded, 0, size);
    for (unsigned index = 0; index < file.header.e_phnum; ++index)
      if (const Elf64_Phdr segment = file.segment(index); segment.p_type == PT_LOAD)
        std::memcpy(loaded + segment.p_vaddr, file.bytes + segment.p_offset, segment.p_filesz);
    const std::vector<File::Symbol> symbols = file.symbols();
    auto addressOf = [&](const std::string &wanted) {
      auto found =
          std::find_if(symbols.begin(), symbols.end(), [&](const auto &symbol) { return symbol.name == wanted; });
      if (found == symbols.end())
        throw Fault("the code has no symbol '" + wanted + "'");
      return *found;
    };
    DocNode kernelList = field(document.getRoot(), "amdhsa.kernels");
    for (DocNode &metadata : kernelList.getArray()) {
      auto kernel = std::make_unique<Kernel>();
      kernel->name = text(metadata, ".name");
      const File::Symbol at = addressOf(text(metadata, ".symbol")), code = addressOf(kernel->name);
      try {
        const Descriptor descriptor(loaded + at.address);
        if (at.address + static_cast<uint64_t>(descriptor.entry) != code.address)
          throw Fault("the descriptor does not lead to the kernel's code");
        describe(chip, descriptor, metadata, *kernel);
        kernel->entry = reinterpret_cast<uint64_t>(loaded) + code.address;
        kernel->program = decode(chip, {loaded + code.address, code.size}, kernel->entry, kernel->registers);
      } catch (const Fault &fault) {
        throw Fault("kernel '" + kernel->name + "': " + fault.what());
      }
      kernels.push_back(std::move(kernel));
    }
  } catch (...) {
    unload();
    throw;
  }
}

CodeObject::~CodeObject() { unload(); }

void CodeObject::unload() {
  const Memory::Range range = memory.free(reinterpret_cast<uint64_t>(loaded));
  if (range.end != 0)
    memory.release(range.begin);
}

const Kernel *CodeObject::find(std::string_view name) const {
  for (const auto &kernel : kernels)
    if (kernel->name == name)
      return kernel.get();
  return nullptr;
}

} // namespace vx::rocm_emulator
