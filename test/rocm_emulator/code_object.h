// A code object as the driver gets it: an ELF file with kernels.
#ifndef VX_TEST_ROCM_EMULATOR_CODE_OBJECT_H
#define VX_TEST_ROCM_EMULATOR_CODE_OBJECT_H

#include "decoder.h"

namespace vx::rocm_emulator {

struct Argument {
  uint32_t offset = 0, size = 0;
};

// One kernel: what its descriptor and its metadata say, and its code.
struct Kernel {
  std::string name;
  Generation generation = Generation::Gfx11;
  RegisterCounts registers;
  uint32_t sharedBytes = 0, privateBytes = 0, argumentBytes = 0;
  std::array<uint32_t, 3> workgroup{}; // 0: any
  std::vector<Argument> arguments;
  uint32_t mode = 0; // the MODE register at the start
  // Scalar registers before those of the workgroup's place.
  unsigned userRegisters = 0;
  int argumentRegister = -1; // of two that hold the address of the arguments
  std::array<bool, 3> hasPlace{};
  uint64_t entry = 0; // where its code lies
  Program program;
};

class CodeObject {
public:
  // `image` is an ELF file, as long as its headers say. Throws a Fault.
  CodeObject(const Chip &chip, const void *image, Memory &memory);
  ~CodeObject();
  CodeObject(const CodeObject &) = delete;
  CodeObject &operator=(const CodeObject &) = delete;

  // Null when there is none of that name.
  const Kernel *find(std::string_view name) const;
  std::span<const std::unique_ptr<Kernel>> all() const { return kernels; }

private:
  void unload();

  Memory &memory;
  uint8_t *loaded = nullptr; // the file's segments at their distances
  std::vector<std::unique_ptr<Kernel>> kernels;
};

} // namespace vx::rocm_emulator

#endif
