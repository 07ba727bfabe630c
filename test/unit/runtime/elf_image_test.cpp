// The loader of CPU code: what it maps, and what it refuses.
#include "drivers/host/cpu_features.h"
#include "drivers/host/elf_image.h"
#include "runtime_test.h"

#include <cstring>
#include <fstream>

#include <elf.h>

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
