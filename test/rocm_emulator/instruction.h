// One decoded instruction, as the text of the disassembler tells it.
#ifndef VX_TEST_ROCM_EMULATOR_INSTRUCTION_H
#define VX_TEST_ROCM_EMULATOR_INSTRUCTION_H

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vx::rocm_emulator {

class Wave;
struct Instruction;

// What ends a kernel, or keeps it from being decoded. Who knows the kernel and the place puts them in front.
struct Fault : std::runtime_error {
  using runtime_error::runtime_error;
};

constexpr unsigned maxLanes = 64;

// One register of all lanes.
struct alignas(64) Vector {
  std::array<uint32_t, maxLanes> lane;

  uint32_t &operator[](unsigned index) { return lane[index]; }
  const uint32_t &operator[](unsigned index) const { return lane[index]; }
};

// Scalar registers by number. The special ones have the same numbers here for every chip.
constexpr unsigned vccRegister = 106, m0Register = 124, nullRegister = 125, execRegister = 126, scalarRegisters = 128;

// How a constant of the code is read, and whether a 16-bit half of a register can be meant.
enum class Type : uint8_t {
  None, // a destination of 32-bit registers, or no constant
  B32,
  F32,
  B16,
  F16,
  BF16,
  U64, // 32-bit constants are extended by zeros
  I64, // ... by their sign
  F64, // ... stand for the upper half
  PackedF16,
  Any, // read as text by the instruction
};

struct Operand {
  enum Kind : uint8_t { Text, VectorRegister, ScalarRegister, Scc, Constant, Off, Null };

  Kind kind = Text;
  Type type = Type::None;
  uint8_t words = 1; // registers that the text names
  uint8_t half = 0;  // 1: the lower, 2: the upper 16 bits
  bool negate = false, absolute = false, signExtend = false;
  bool isPlain = false; // a vector register or a constant, as it is
  uint16_t index = 0;
  uint64_t value = 0;             // of a constant
  const Vector *constant[2] = {}; // the same in every lane: the two words of `value`
  std::string text;
};

enum class Permutation : uint8_t {
  None,
  Quad,
  RowShiftLeft,
  RowShiftRight,
  RowRotate,
  RowMirror,
  RowHalfMirror,
  RowBroadcast15,
  RowBroadcast31,
  RowShare,
  RowExchange,
  Eight,
};

// Part of a register (SDWA).
enum class Part : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, All };

struct Modifiers {
  int64_t offset = 0;
  int32_t offset0 = 0, offset1 = 0;
  bool clamp = false;
  float outputFactor = 1;
  // By source; the last one of `select` is the destination's.
  uint8_t select = 0, selectHigh = 0, negateLow = 0, negateHigh = 0;
  bool selectGiven = false, selectHighGiven = false;
  // DPP
  Permutation permutation = Permutation::None;
  uint8_t permutationArgument = 0;
  std::array<uint8_t, 8> lanes{};
  uint8_t rowMask = 15, bankMask = 15;
  bool boundControl = false, fetchInactive = false;
  // SDWA
  bool isSdwa = false, sdwaPreserve = false, sdwaSignExtend = false;
  Part sdwaDestination = Part::All, sdwaSource[2] = {Part::All, Part::All};
};

// What an operation takes beside its operands. What it does not take is an error when the code is decoded.
enum Takes : uint32_t {
  TakesNothing = 0,
  TakesOffset = 1,
  TakesOffsets = 2,
  TakesClamp = 4,
  TakesFactor = 8,
  TakesNegate = 16, // and absolute values
  TakesPermutation = 32,
  TakesSdwa = 64,
  TakesSelect = 128,
  TakesSelectHigh = 256,
  TakesPackedNegate = 512,
  TakesCache = 1024, // hints and scopes of the caches, which nothing here depends on
  TakesText = 2048,  // the operands are read as they are
};

struct Operation {
  using Run = void (*)(Wave &, const Instruction &);

  std::string_view name;
  Run run = nullptr;
  uint32_t takes = TakesNothing;
  // Of the operands in the order of the text. None for destinations and addresses.
  std::array<Type, 6> types{};
  bool resultIsHalf = false; // of 16 bits: what becomes of the other half is a matter of the chip
  bool keepsHalf = false;    // ... which stays as it is on all
};

struct Instruction {
  Operation::Run run = nullptr;
  std::vector<Operand> operands;
  Modifiers modifiers;
  uint32_t index = 0;            // in the program
  uint32_t target = 0;           // of a branch: an index
  uint64_t address = 0;          // in loaded memory
  uint64_t next = 0;             // the address behind it
  bool isFirstOfTwo = false;     // v_dual_*: this one and the next one both read before either writes
  bool secondReadsFirst = false; // ... and the next one reads what this one writes
  bool writesPlainly = false;    // all bits of vector registers, in the lanes that take part
  bool keepsOtherHalf = false;   // a result of 16 bits leaves the other half of the register
  const Operation *operation = nullptr;
  std::string text;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<std::unique_ptr<Vector>> constants;
};

} // namespace vx::rocm_emulator

#endif
