#include "module/program.h"

#include "base/arithmetic.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace vx {

OpFacts opFacts(Op op) {
  switch (op) {
  case Op::ConstI64:
    return {"ConstI64", "I", 0, false};
  case Op::MoveI64:
    return {"MoveI64", "Ii", 0, false};
  case Op::Add:
    return {"Add", "Iii", 0, false};
  case Op::Sub:
    return {"Sub", "Iii", 0, false};
  case Op::Mul:
    return {"Mul", "Iii", 0, false};
  case Op::FloorDiv:
    return {"FloorDiv", "Iii", 0, false};
  case Op::CeilDiv:
    return {"CeilDiv", "Iii", 0, false};
  case Op::Mod:
    return {"Mod", "Iii", 0, false};
  case Op::Max:
    return {"Max", "Iii", 0, false};
  case Op::Min:
    return {"Min", "Iii", 0, false};
  case Op::CmpEq:
    return {"CmpEq", "Iii", 0, false};
  case Op::CmpNe:
    return {"CmpNe", "Iii", 0, false};
  case Op::CmpLt:
    return {"CmpLt", "Iii", 0, false};
  case Op::CmpLe:
    return {"CmpLe", "Iii", 0, false};
  case Op::Select:
    return {"Select", "Iiii", 0, false};
  case Op::MoveBuffer:
    return {"MoveBuffer", "Bb", 0, false};
  case Op::ArenaReserve:
    return {"ArenaReserve", "i", 0, false};
  case Op::ArenaSlice:
    return {"ArenaSlice", "Bii", 0, false};
  case Op::Allocate:
    return {"Allocate", "Bi", 0, false};
  case Op::Constant:
    return {"Constant", "B", 0, false};
  case Op::Variable:
    return {"Variable", "B", 0, false};
  case Op::Slice:
    return {"Slice", "Bbii", 0, false};
  case Op::Derived:
    return {"Derived", "B", 0, false};
  case Op::Segment:
    return {"Segment", "", 0, true};
  case Op::ReadI64:
    return {"ReadI64", "Ibi", 0, false};
  case Op::ReadInput:
    return {"ReadInput", "I", 0, false};
  case Op::CheckFaults:
    return {"CheckFaults", "", 0, false};
  case Op::Check:
    return {"Check", "ii", 0, false};
  case Op::If:
    return {"If", "i", 2, false};
  case Op::While:
    return {"While", "i", 1, false};
  case Op::MoveObject:
    return {"MoveObject", "Oo", 0, false};
  case Op::ListEmpty:
    return {"ListEmpty", "O", 0, false};
  case Op::ListInsert:
    return {"ListInsert", "Ooibi*", 0, false};
  case Op::ListErase:
    return {"ListErase", "Ooi", 0, false};
  case Op::ListSize:
    return {"ListSize", "Io", 0, false};
  case Op::ListGet:
    return {"ListGet", "BoiI*", 0, false};
  case Op::HostCall:
    return {"HostCall", "Oo", 0, false};
  case Op::NoList:
    return {"NoList", "O", 0, false};
  case Op::HasList:
    return {"HasList", "Io", 0, false};
  case Op::Error:
    return {"Error", "iii", 0, false};
  }
  return {nullptr, nullptr, 0, false};
}

bool calculate(Op op, int64_t a, int64_t b, int64_t &result) {
  switch (op) {
  case Op::Add:
    return checkedAdd(a, b, result);
  case Op::Sub:
    return checkedSub(a, b, result);
  case Op::Mul:
    return checkedMul(a, b, result);
  case Op::FloorDiv:
    return checkedFloorDiv(a, b, result);
  case Op::CeilDiv:
    return checkedCeilDiv(a, b, result);
  case Op::Mod:
    return checkedMod(a, b, result);
  case Op::Max:
    result = std::max(a, b);
    return true;
  case Op::Min:
    result = std::min(a, b);
    return true;
  case Op::CmpEq:
    result = a == b;
    return true;
  case Op::CmpNe:
    result = a != b;
    return true;
  case Op::CmpLt:
    result = a < b;
    return true;
  case Op::CmpLe:
    result = a <= b;
    return true;
  case Op::ConstI64:
  case Op::MoveI64:
  case Op::Select:
  case Op::MoveBuffer:
  case Op::ArenaReserve:
  case Op::ArenaSlice:
  case Op::Allocate:
  case Op::Constant:
  case Op::Variable:
  case Op::Slice:
  case Op::Derived:
  case Op::Segment:
  case Op::ReadI64:
  case Op::ReadInput:
  case Op::CheckFaults:
  case Op::Check:
  case Op::If:
  case Op::While:
  case Op::MoveObject:
  case Op::ListEmpty:
  case Op::ListInsert:
  case Op::ListErase:
  case Op::ListSize:
  case Op::ListGet:
  case Op::HostCall:
  case Op::NoList:
  case Op::HasList:
  case Op::Error:
    return false;
  }
  return false;
}

namespace {

// Which integer registers may hold what a tensor or a list decided.
class UnknownRegisters {
public:
  explicit UnknownRegisters(uint32_t registers) : isUnknown(registers) {}

  // Looks through a block, which a condition may lead to that is unknown itself.
  void visit(const Block &block, bool isUnderUnknown) {
    for (const Instruction &instruction : block.instructions)
      visit(instruction, isUnderUnknown);
  }

  bool hasChanged = false, hasLoop = false, hasUnknownLoop = false;

private:
  void visit(const Instruction &instruction, bool isUnderUnknown) {
    const std::string_view signature = opFacts(instruction.op).signature;
    bool reads = isUnderUnknown || readsElements(instruction.op);
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      reads |= kindOf(signature, i) == 'i' && isUnknown[instruction.operands[i]];
    if (reads)
      for (size_t i = 0; i < instruction.operands.size(); ++i)
        if (kindOf(signature, i) == 'I' && !isUnknown[instruction.operands[i]])
          hasChanged = isUnknown[instruction.operands[i]] = true;
    hasLoop |= instruction.op == Op::While;
    hasUnknownLoop |= instruction.op == Op::While && reads;
    for (const Block &block : instruction.blocks)
      visit(block, reads);
  }

  static char kindOf(std::string_view signature, size_t operand) {
    return operand < signature.size() && signature[operand] != '*' ? signature[operand]
                                                                   : signature[signature.size() - 2];
  }
  static bool readsElements(Op op) {
    return op == Op::ReadI64 || op == Op::ReadInput || op == Op::ListSize || op == Op::ListGet || op == Op::HasList;
  }

  std::vector<bool> isUnknown;
};

} // namespace

bool hasUnknownLoops(const Program &program) {
  constexpr int passes = 16;
  UnknownRegisters registers(program.i64Registers);
  for (int pass = 0; pass < passes; ++pass) {
    registers.hasChanged = false;
    registers.visit(program.body, false);
    if (registers.hasUnknownLoop)
      return true;
    if (!registers.hasChanged || !registers.hasLoop)
      return false;
  }
  return true;
}

} // namespace vx
