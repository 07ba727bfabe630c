// The loader of CPU code: what it maps, and what it refuses.
#include "drivers/host/cpu_features.h"
#include "drivers/host/elf_image.h"
#include "runtime_test.h"

#include <cstring>
#include <fstream>

#include <elf.h>
#include <sys/resource.h>
#include <unistd.h>

namespace vx::test {

using drivers::ElfImage;

static std::string messageFor(const std::vector<uint8_t> &bytes) {
  std::unique_ptr<ElfImage> image;
  Status status = ElfImage::load(bytes, image);
  EXPECT_EQ(status.ok(), image != nullptr);
  return std::string(status.message());
}

// Changes the first program header that `which` accepts.
template <typename F>
static std::vector<uint8_t> withSegment(F &&change) {
  std::vector<uint8_t> bytes = cpuImage();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint8_t *place = bytes.data() + header.e_phoff + static_cast<size_t>(i) * sizeof(segment);
    std::memcpy(&segment, place, sizeof(segment));
    if (change(segment)) {
      std::memcpy(place, &segment, sizeof(segment));
      return bytes;
    }
  }
  ADD_FAILURE() << "no such segment";
  return bytes;
}

TEST(ElfImage, mapsWriteXorExecute) {
  std::unique_ptr<ElfImage> image;
  ASSERT_OK(ElfImage::load(cpuImage(), image));
  const void *kernel = image->function("scale_add");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(image->function("no_such"), nullptr);
  // The system's own view of the mapping.
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char permissions[5] = {};
    ASSERT_EQ(sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, permissions), 3);
    EXPECT_FALSE(permissions[1] == 'w' && permissions[2] == 'x') << line;
    auto address = reinterpret_cast<uint64_t>(kernel);
    if (address >= begin && address < end) {
      found = true;
      EXPECT_STREQ(permissions, "r-xp");
    }
  }
  EXPECT_TRUE(found);
}

TEST(ElfImage, relocatesTablesOfAddresses) {
  std::unique_ptr<ElfImage> image;
  ASSERT_OK(ElfImage::load(cpuImage(), image));
  alignas(64) int32_t y[16] = {20};
  const uint64_t parameters[] = {0, 0, 1, 0, reinterpret_cast<uint64_t>(y)};
  auto kernel = reinterpret_cast<vx_cpu_kernel>(reinterpret_cast<uintptr_t>(image->function("call_table")));
  ASSERT_NE(kernel, nullptr);
  kernel(parameters, 0, 0);
  EXPECT_EQ(y[0], 42);
}

TEST(ElfImage, refusesWhatIsNoImage) {
  EXPECT_EQ(messageFor({}), "code image has 0 bytes, an ELF header needs 64");
  EXPECT_EQ(messageFor(std::vector<uint8_t>(64)), "code image is no ELF file");
  std::vector<uint8_t> bytes = cpuImage();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(messageFor(bytes), "code image is no 64-bit little-endian shared object");
  bytes = cpuImage();
  bytes[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
  EXPECT_TRUE(messageFor(bytes).starts_with("code image is for ELF machine "));
  bytes = cpuImage();
  std::fill_n(bytes.begin() + offsetof(Elf64_Ehdr, e_phoff), 8, uint8_t(0xff));
  EXPECT_TRUE(messageFor(bytes).find("program headers of 56 bytes at 18446744073709551615") != std::string::npos);
}

TEST(ElfImage, refusesWhatItMayNotHave) {
  EXPECT_NE(messageFor(withSegment([](Elf64_Phdr &segment) {
              bool hit = segment.p_type == PT_LOAD && (segment.p_flags & PF_X);
              segment.p_flags |= hit ? PF_W : 0;
              return hit;
            })).find("is writable and executable"),
            std::string::npos);
  EXPECT_EQ(messageFor(withSegment([](Elf64_Phdr &segment) {
              bool hit = segment.p_type == PT_GNU_STACK;
              segment.p_type = hit ? PT_TLS : segment.p_type;
              return hit;
            })),
            "code image has thread-local data, allowed is none");
  EXPECT_EQ(messageFor(withSegment([](Elf64_Phdr &segment) {
              bool hit = segment.p_type == PT_GNU_STACK;
              segment.p_type = hit ? PT_INTERP : segment.p_type;
              return hit;
            })),
            "code image asks for an interpreter, allowed is none");
  EXPECT_EQ(messageFor(withSegment([](Elf64_Phdr &segment) {
              bool hit = segment.p_type == PT_DYNAMIC;
              segment.p_type = hit ? PT_NULL : segment.p_type;
              return hit;
            })),
            "code image has no dynamic section");
  // The second segment is put into the last page of the first one.
  uint64_t end = 0;
  EXPECT_TRUE(messageFor(withSegment([&](Elf64_Phdr &segment) {
                if (segment.p_type != PT_LOAD || end == 0) {
                  end = segment.p_type == PT_LOAD ? segment.p_vaddr + segment.p_memsz : end;
                  return false;
                }
                segment.p_vaddr = end;
                return true;
              })).ends_with(fmt::format(" share a page of {} bytes", sysconf(_SC_PAGESIZE))));
  EXPECT_NE(messageFor(withSegment([](Elf64_Phdr &segment) {
              segment.p_filesz = segment.p_memsz = UINT64_MAX;
              return segment.p_type == PT_LOAD;
            })).find("has 18446744073709551615 bytes at 0"),
            std::string::npos);
  EXPECT_NE(messageFor(withSegment([](Elf64_Phdr &segment) {
              segment.p_vaddr = uint64_t(1) << 60;
              return segment.p_type == PT_LOAD;
            })).find("allowed are 0x100000000"),
            std::string::npos);
}

TEST(ElfImage, refusesImportsAndOtherRelocations) {
  EXPECT_EQ(messageFor(readFile(VX_TEST_IMPORTING_IMAGE)), "code image imports 'missing', allowed are no imports");
  std::string message = messageFor(readFile(VX_TEST_EXPORTED_TABLE_IMAGE));
  EXPECT_TRUE(message.starts_with("code image: relocation at 0x") &&
              message.find(" has the type ") != std::string::npos)
      << message;
}

// The test's image, its tables open to change.
class DamagedImage {
public:
  template <typename T>
  T get(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
  }
  template <typename T>
  void put(uint64_t offset, const T &value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }

  // Offset in the file of the `nth` program header of a type.
  uint64_t segment(uint32_t type, int nth = 0) const {
    auto header = get<Elf64_Ehdr>(0);
    for (int i = 0; i < header.e_phnum; ++i) {
      uint64_t offset = header.e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr);
      if (get<Elf64_Phdr>(offset).p_type == type && nth-- == 0)
        return offset;
    }
    ADD_FAILURE() << "no such segment";
    return 0;
  }
  // Offset in the file of what is at an address.
  uint64_t offsetOf(uint64_t address) const {
    for (int i = 0; i < get<Elf64_Ehdr>(0).e_phnum; ++i) {
      auto load = get<Elf64_Phdr>(segment(PT_LOAD, i));
      if (address >= load.p_vaddr && address < load.p_vaddr + load.p_filesz)
        return address - load.p_vaddr + load.p_offset;
    }
    ADD_FAILURE() << "no such address";
    return 0;
  }
  // Offset in the file of a dynamic entry; 0 when there is none.
  uint64_t dynamic(int64_t tag) const {
    auto section = get<Elf64_Phdr>(segment(PT_DYNAMIC));
    for (uint64_t offset = section.p_offset; offset < section.p_offset + section.p_filesz; offset += sizeof(Elf64_Dyn))
      if (get<Elf64_Dyn>(offset).d_tag == tag)
        return offset;
    return 0;
  }
  uint64_t dynamicValue(int64_t tag) const { return get<Elf64_Dyn>(dynamic(tag)).d_un.d_val; }
  void setDynamic(int64_t tag, uint64_t value) {
    ASSERT_NE(dynamic(tag), 0u) << "no dynamic entry of tag " << tag;
    Elf64_Dyn entry = {tag, {value}};
    put(dynamic(tag), entry);
  }
  // Makes every entry of a tag one that means nothing.
  void forget(int64_t tag) {
    while (uint64_t offset = dynamic(tag))
      put(offset, Elf64_Dyn{DT_VERNEEDNUM, {0}});
  }

  std::string message() const { return messageFor(bytes); }

  std::vector<uint8_t> bytes = cpuImage();
};

static constexpr uint64_t Nowhere = 0xfffffff0; // an address that the image does not have

TEST(ElfImage, refusesDamagedSegments) {
  DamagedImage image;
  uint64_t header = image.segment(PT_LOAD);
  auto load = image.get<Elf64_Phdr>(header);
  auto index = (header - image.get<Elf64_Ehdr>(0).e_phoff) / sizeof(Elf64_Phdr);
  load.p_offset = uint64_t(1) << 40;
  image.put(header, load);
  EXPECT_EQ(image.message(), fmt::format("code image: segment {} has {} bytes at 1099511627776, the file has {} bytes",
                                         index, load.p_filesz, image.bytes.size()));

  image = {};
  load = image.get<Elf64_Phdr>(header);
  load.p_memsz = uint64_t(1) << 40;
  image.put(header, load);
  EXPECT_EQ(image.message(),
            fmt::format("code image: segment {} has 1099511627776 bytes at address {:#x}, allowed are 0x100000000",
                        index, load.p_vaddr));

  image = {};
  uint64_t second = image.segment(PT_LOAD, 1);
  auto next = image.get<Elf64_Phdr>(second);
  next.p_vaddr = image.get<Elf64_Phdr>(header).p_vaddr + 8;
  image.put(second, next);
  EXPECT_TRUE(image.message().find(fmt::format(" share a page of {} bytes", sysconf(_SC_PAGESIZE))) !=
              std::string::npos)
      << image.message();

  image = {};
  int loads = 0;
  for (int i = 0; i < image.get<Elf64_Ehdr>(0).e_phnum; ++i) {
    uint64_t offset = image.get<Elf64_Ehdr>(0).e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr);
    auto entry = image.get<Elf64_Phdr>(offset);
    loads += entry.p_type == PT_LOAD;
    entry.p_type = PT_NULL;
    image.put(offset, entry);
  }
  EXPECT_GT(loads, 0);
  EXPECT_EQ(image.message(), "code image has no segment to load");
}

TEST(ElfImage, refusesADamagedDynamicSection) {
  DamagedImage image;
  uint64_t header = image.segment(PT_DYNAMIC);
  auto section = image.get<Elf64_Phdr>(header);
  uint64_t first = section.p_offset;
  section.p_vaddr = Nowhere;
  image.put(header, section);
  EXPECT_EQ(image.message(), "code image: dynamic section at 0xfffffff0 is outside the image");

  image = {};
  image.forget(DT_NULL);
  EXPECT_EQ(image.message(),
            fmt::format("code image: dynamic section of {} bytes has no end", image.get<Elf64_Phdr>(header).p_memsz));

  for (auto [tag, message] :
       {std::pair<int64_t, const char *>(DT_NEEDED, "code image needs another library, allowed is none"),
        {DT_INIT_ARRAY, "code image has constructors or destructors, allowed are none"},
        {DT_FINI, "code image has constructors or destructors, allowed are none"},
        {DT_TEXTREL, "code image has relocations in its code, allowed are none"}}) {
    image = {};
    image.put(first, Elf64_Dyn{tag, {0}});
    EXPECT_EQ(image.message(), message);
  }

  image = {};
  image.setDynamic(DT_SYMENT, 25);
  EXPECT_EQ(image.message(), "code image: table entries have 24 and 25 bytes, expected 24 and 24");
}

TEST(ElfImage, refusesDamagedSymbols) {
  DamagedImage image;
  image.forget(DT_HASH);
  image.forget(DT_GNU_HASH);
  EXPECT_EQ(image.message(), "code image has no symbol hash table");

  image = {};
  image.setDynamic(image.dynamic(DT_HASH) ? DT_HASH : DT_GNU_HASH, Nowhere);
  EXPECT_EQ(image.message(), "code image: symbol hash table is outside the image");

  image = {};
  image.setDynamic(DT_STRSZ, uint64_t(1) << 40);
  EXPECT_EQ(image.message(),
            fmt::format("code image: string table of 1099511627776 bytes at {:#x} is not inside the image",
                        image.dynamicValue(DT_STRTAB)));

  image = {};
  image.setDynamic(DT_SYMTAB, Nowhere);
  EXPECT_TRUE(image.message().ends_with(" symbols at 0xfffffff0 are not inside the image")) << image.message();

  image = {};
  uint64_t place = image.offsetOf(image.dynamicValue(DT_SYMTAB)) + sizeof(Elf64_Sym);
  auto symbol = image.get<Elf64_Sym>(place);
  std::string name(reinterpret_cast<const char *>(image.bytes.data()) + image.offsetOf(image.dynamicValue(DT_STRTAB)) +
                   symbol.st_name);
  symbol.st_name = 0xffffffff;
  image.put(place, symbol);
  EXPECT_EQ(image.message(), "code image: symbol 1 has no name");

  image = {};
  symbol = image.get<Elf64_Sym>(place);
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
  image.put(place, symbol);
  EXPECT_EQ(image.message(),
            fmt::format("code image: symbol '{}' has the type 6, allowed are functions and data", name));

  image = {};
  symbol = image.get<Elf64_Sym>(place);
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_value = Nowhere;
  image.put(place, symbol);
  EXPECT_EQ(image.message(), fmt::format("code image: function '{}' at 0xfffffff0 is in no executable segment", name));
}

TEST(ElfImage, refusesDamagedRelocations) {
  DamagedImage image;
  image.put(image.dynamic(DT_RELA), Elf64_Dyn{DT_REL, {0}});
  EXPECT_EQ(image.message(), "code image has relocations of table 17, allowed is 7");

  image = {};
  uint64_t size = image.dynamicValue(DT_RELASZ), place = image.offsetOf(image.dynamicValue(DT_RELA));
  image.setDynamic(DT_RELASZ, size + 1);
  EXPECT_EQ(image.message(), fmt::format("code image: relocations have {} bytes, expected a multiple of 24", size + 1));

  image = {};
  image.setDynamic(DT_RELA, Nowhere);
  EXPECT_EQ(image.message(),
            fmt::format("code image: {} bytes of relocations at 0xfffffff0 are not inside the image", size));

  image = {};
  auto relocation = image.get<Elf64_Rela>(place);
  relocation.r_offset = Nowhere;
  image.put(place, relocation);
  EXPECT_EQ(image.message(), "code image: relocation at 0xfffffff0 is outside the image");

  for (int i = 0;; ++i) {
    auto load = image.get<Elf64_Phdr>(image.segment(PT_LOAD, i));
    if (!(load.p_flags & PF_X))
      continue;
    relocation.r_offset = load.p_vaddr;
    image.put(place, relocation);
    EXPECT_EQ(image.message(), fmt::format("code image: relocation at {:#x} is in its code", load.p_vaddr));
    break;
  }
}

#ifndef VX_TEST_SANITIZED // a sanitizer maps more than any limit
// In a process of its own, which has as much memory as it may use.
TEST(ElfImageDeathTest, saysWhatMemoryIsMissing) {
  DamagedImage image;
  // The last one has room behind it.
  uint64_t header = 0;
  for (int i = 0; i < image.get<Elf64_Ehdr>(0).e_phnum; ++i) {
    uint64_t offset = image.get<Elf64_Ehdr>(0).e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr);
    header = image.get<Elf64_Phdr>(offset).p_type == PT_LOAD ? offset : header;
  }
  auto load = image.get<Elf64_Phdr>(header);
  auto limitAndLoad = [&](int resource) {
    rlimit limit = {uint64_t(1) << 28, uint64_t(1) << 28};
    if (setrlimit(resource, &limit) != 0)
      _exit(1);
    fprintf(stderr, "%s\n", image.message().c_str());
    _exit(0);
  };
  load.p_memsz = uint64_t(1) << 31;
  image.put(header, load);
  EXPECT_EXIT(limitAndLoad(RLIMIT_AS), ::testing::ExitedWithCode(0),
              "cannot reserve [0-9]+ bytes for code: Cannot allocate memory");
  EXPECT_EXIT(limitAndLoad(RLIMIT_DATA), ::testing::ExitedWithCode(0),
              "cannot map [0-9]+ bytes for code: Cannot allocate memory");
}
#endif

TEST(ElfImage, survivesEveryDamagedByteOfItsTables) {
  std::vector<uint8_t> bytes = cpuImage();
  // Headers, symbols, hashes and relocations lie in the first page, the dynamic section behind the code.
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (at >= 0x1000 && at < 0x2000)
      continue;
    for (uint8_t pattern : {0xff, 0x01}) {
      std::vector<uint8_t> damaged = bytes;
      damaged[at] ^= pattern;
      std::unique_ptr<ElfImage> image;
      Status status = ElfImage::load(damaged, image);
      EXPECT_EQ(status.ok(), image != nullptr);
    }
  }
}

TEST(CpuFeatures, haveTheirSpelling) {
  std::vector<std::string> features = drivers::detectCpuFeatures();
#if defined(__x86_64__)
  EXPECT_NE(std::find(features.begin(), features.end(), "sse2"), features.end());
  bool avx2 = std::find(features.begin(), features.end(), "avx2") != features.end();
  EXPECT_EQ(avx2, __builtin_cpu_supports("avx2") != 0);
  bool avx512 = std::find(features.begin(), features.end(), "avx512f") != features.end();
  EXPECT_EQ(avx512, __builtin_cpu_supports("avx512f") != 0);
#endif
  EXPECT_FALSE(drivers::cpuModelName().empty());
}

} // namespace vx::test
