#include "drivers/host/cpu_features.h"

#include <cstdint>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vx::drivers {

#if defined(__x86_64__)

namespace {

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
    return Registers();
  return r;
}

// Which register files the system saves on a context switch.
uint64_t savedState() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

constexpr long archGetSupportedState = 0x1021;
constexpr long archRequestState = 0x1023;
constexpr long tileDataState = 18;

} // namespace

std::vector<std::string> detectCpuFeatures() {
  std::vector<std::string> features;
  Registers f1 = cpuid(1, 0), f7 = cpuid(7, 0), f71 = cpuid(7, 1), extended = cpuid(0x80000001, 0);
  bool osSaves = (f1.ecx >> 27) & 1;
  uint64_t saved = osSaves ? savedState() : 0;
  bool avxSaved = (saved & 0x6) == 0x6;
  bool avx512Saved = avxSaved && (saved & 0xe0) == 0xe0;
  bool tilesSaved = false;
  if ((saved & 0x60000) == 0x60000) {
    uint64_t supported = 0;
    tilesSaved = syscall(SYS_arch_prctl, archGetSupportedState, &supported) == 0 && ((supported >> tileDataState) & 1);
  }

  auto add = [&](const char *name, uint32_t word, int bit, bool usable) {
    if (usable && ((word >> bit) & 1))
      features.emplace_back(name);
  };
  add("sse2", f1.edx, 26, true);
  add("sse3", f1.ecx, 0, true);
  add("ssse3", f1.ecx, 9, true);
  add("sse4.1", f1.ecx, 19, true);
  add("sse4.2", f1.ecx, 20, true);
  add("cx16", f1.ecx, 13, true);
  add("popcnt", f1.ecx, 23, true);
  add("movbe", f1.ecx, 22, true);
  add("xsave", f1.ecx, 26, osSaves);
  add("sahf", extended.ecx, 0, true);
  add("lzcnt", extended.ecx, 5, true);
  add("bmi", f7.ebx, 3, true);
  add("bmi2", f7.ebx, 8, true);
  add("avx", f1.ecx, 28, avxSaved);
  add("f16c", f1.ecx, 29, avxSaved);
  add("fma", f1.ecx, 12, avxSaved);
  add("avx2", f7.ebx, 5, avxSaved);
  add("avxvnni", f71.eax, 4, avxSaved);
  add("avxifma", f71.eax, 23, avxSaved);
  add("avxneconvert", f71.edx, 5, avxSaved);
  add("avxvnniint8", f71.edx, 4, avxSaved);
  add("avx512f", f7.ebx, 16, avx512Saved);
  add("avx512cd", f7.ebx, 28, avx512Saved);
  add("avx512dq", f7.ebx, 17, avx512Saved);
  add("avx512bw", f7.ebx, 30, avx512Saved);
  add("avx512vl", f7.ebx, 31, avx512Saved);
  add("avx512ifma", f7.ebx, 21, avx512Saved);
  add("avx512vbmi", f7.ecx, 1, avx512Saved);
  add("avx512vbmi2", f7.ecx, 6, avx512Saved);
  add("avx512vnni", f7.ecx, 11, avx512Saved);
  add("avx512bitalg", f7.ecx, 12, avx512Saved);
  add("avx512vpopcntdq", f7.ecx, 14, avx512Saved);
  add("avx512bf16", f71.eax, 5, avx512Saved);
  add("avx512fp16", f7.edx, 23, avx512Saved);
  add("amx-tile", f7.edx, 24, tilesSaved);
  add("amx-int8", f7.edx, 25, tilesSaved);
  add("amx-bf16", f7.edx, 22, tilesSaved);
  add("amx-fp16", f71.eax, 21, tilesSaved);
  return features;
}

std::string cpuModelName() {
  if (cpuid(0x80000000, 0).eax < 0x80000004)
    return cpuArchitecture();
  char name[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    Registers part = cpuid(0x80000002 + i, 0);
    std::memcpy(name + 16 * i, &part, sizeof(part));
  }
  std::string text = name;
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? cpuArchitecture() : text.substr(first);
}

const char *cpuArchitecture() { return "x86_64"; }

bool requestTilePermission() {
  static const bool granted = syscall(SYS_arch_prctl, archRequestState, tileDataState) == 0;
  return granted;
}

#else

std::vector<std::string> detectCpuFeatures() { return {}; }

#if defined(__aarch64__)
const char *cpuArchitecture() { return "aarch64"; }
#else
const char *cpuArchitecture() { return "unknown"; }
#endif

std::string cpuModelName() { return cpuArchitecture(); }

bool requestTilePermission() { return false; }

#endif

} // namespace vx::drivers
