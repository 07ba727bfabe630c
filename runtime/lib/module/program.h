// A program of the module, decoded and checked: what the interpreter runs.
#ifndef VX_RUNTIME_MODULE_PROGRAM_H
#define VX_RUNTIME_MODULE_PROGRAM_H

#include "base/status.h"
#include "hal/device.h"
#include "module/expression.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx {

// The instructions; module.fbs says what each one does. The numbers are those of the file.
enum class Op : uint8_t {
  ConstI64 = 0,
  MoveI64 = 1,
  Add = 2,
  Sub = 3,
  Mul = 4,
  FloorDiv = 5,
  CeilDiv = 6,
  Mod = 7,
  Max = 8,
  Min = 9,
  CmpEq = 10,
  CmpNe = 11,
  CmpLt = 12,
  CmpLe = 13,
  Select = 14,
  MoveBuffer = 20,
  ArenaReserve = 21,
  ArenaSlice = 22,
  Allocate = 23,
  Constant = 24,
  Variable = 25,
  Slice = 26,
  Derived = 27,
  Segment = 30,
  ReadI64 = 31,
  ReadInput = 34,
  CheckFaults = 32,
  Check = 33,
  If = 40,
  While = 41,
  MoveObject = 50,
  ListEmpty = 51,
  ListInsert = 52,
  ListErase = 53,
  ListSize = 54,
  ListGet = 55,
  HostCall = 56,
  NoList = 57,
  HasList = 58,
  Error = 60
};

// What an instruction's operands must be. Upper case is assigned, lower case is read; i: i64, b: buffer, o: object. A
// last "i*" or "I*" stands for any number up to the rank limit. `signature` is null for a number that is no
// instruction.
struct OpFacts {
  const char *name;
  const char *signature;
  uint32_t blocks;
  bool commands;
};
OpFacts opFacts(Op op);

// What an instruction over two i64s gives, from Add to CmpLe. False when that is no 64-bit number, and for every other
// instruction.
bool calculate(Op op, int64_t a, int64_t b, int64_t &result);

struct Command {
  hal::CommandKind kind;
  bool barrier;
  uint32_t kernel;
  uint32_t workgroups; // i64 register
  uint32_t faultSite;  // the first of its fault sites
  bool guarded;        // does nothing when the fault record is not empty
  int32_t workspace;   // buffer register, or -1
  std::vector<uint32_t> buffers;
  std::vector<uint32_t> scalars;
  std::vector<uint32_t> nodes; // indices of the module's source nodes

  hal::CommandShape shape() const {
    return {kind, barrier, kernel, static_cast<uint32_t>(buffers.size()), static_cast<uint32_t>(scalars.size())};
  }
};

struct Instruction;
struct Block {
  std::vector<Instruction> instructions;
};

struct Instruction {
  Op op;
  int32_t site = -1;
  int64_t imm = 0;
  std::vector<uint32_t> operands;
  std::vector<Block> blocks;
  std::vector<Command> commands;
  uint32_t segment = 0; // number of this Segment in the program
};

struct Result {
  int32_t buffer = -1;
  int32_t object = -1;
  std::vector<uint32_t> dims;
};

struct Program {
  std::string name;
  uint32_t i64Registers = 0;
  uint32_t bufferRegisters = 0;
  uint32_t objectRegisters = 0;
  Block body;
  std::vector<Result> results;
  std::vector<uint32_t> stores;  // variables that it writes, ascending
  std::vector<uint32_t> uses;    // variables that it names, ascending
  std::vector<uint32_t> derived; // derived values of its target that it names, ascending
  uint32_t segmentCount = 0;
  bool hasUnknownLoops = false; // found by the function of this name
  bool hasArenaSize = false;
  Expression arenaSize;
  Expression arenaLowerBound;
};

// Whether the number of turns of a While may depend on the elements of tensors and the lengths of lists. That of any
// other While follows from the sizes of the inputs. For a program that needs many passes to find out the answer is
// true.
bool hasUnknownLoops(const Program &program);

} // namespace vx

#endif
