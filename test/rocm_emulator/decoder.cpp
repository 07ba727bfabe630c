#include "decoder.h"

#include "numbers.h"
#include "operations.h"

#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace vx::rocm_emulator {

//===-- Chips ---------------------------------------------------------------------------------===//

static constexpr Chip chips[] = {
    {"gfx942", Generation::Gfx9, "+wavefrontsize64"},
    // 16-bit registers are told by name, not as the 32-bit ones that hold them.
    {"gfx1100", Generation::Gfx11, "+wavefrontsize32,-wavefrontsize64,+real-true16"},
    {"gfx1101", Generation::Gfx11, "+wavefrontsize32,-wavefrontsize64,+real-true16"},
    {"gfx1102", Generation::Gfx11, "+wavefrontsize32,-wavefrontsize64,+real-true16"},
    {"gfx1150", Generation::Gfx11, "+wavefrontsize32,-wavefrontsize64,+real-true16"},
    {"gfx1151", Generation::Gfx11, "+wavefrontsize32,-wavefrontsize64,+real-true16"},
};

std::span<const Chip> knownChips() { return chips; }

const Chip *findChip(std::string_view name) {
  const auto *found =
      std::find_if(std::begin(chips), std::end(chips), [&](const Chip &chip) { return chip.name == name; });
  return found == std::end(chips) ? nullptr : found;
}

//===-- Text ----------------------------------------------------------------------------------===//

static std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Splits at `separator` outside of brackets.
static std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '('))
      ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')'))
      --depth;
    if (i < text.size() && (depth > 0 || text[i] != separator))
      continue;
    if (std::string_view piece = trim(text.substr(begin, i - begin)); !piece.empty())
      pieces.push_back(piece);
    begin = i + 1;
  }
  return pieces;
}

static bool takePrefix(std::string_view &text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

static bool takeSuffix(std::string_view &text, std::string_view suffix) {
  if (!text.ends_with(suffix))
    return false;
  text.remove_suffix(suffix.size());
  return true;
}

static std::optional<int64_t> integer(std::string_view text) {
  const bool negative = takePrefix(text, "-");
  const int base = takePrefix(text, "0x") ? 16 : 10;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return static_cast<int64_t>(negative ? -value : value);
}

static int64_t wantInteger(std::string_view text) {
  const std::optional<int64_t> value = integer(text);
  if (!value)
    throw Fault("'" + std::string(text) + "' is no number");
  return *value;
}

// "[1,0,1]", the first one lowest.
static std::vector<int64_t> list(std::string_view text) {
  if (!takePrefix(text, "[") || !takeSuffix(text, "]"))
    throw Fault("'" + std::string(text) + "' is no list");
  std::vector<int64_t> values;
  for (std::string_view piece : split(text, ','))
    values.push_back(wantInteger(piece));
  return values;
}

static uint8_t bits(std::string_view text) {
  uint8_t mask = 0;
  const std::vector<int64_t> values = list(text);
  for (size_t k = 0; k < values.size(); ++k)
    mask |= values[k] << k;
  return mask;
}

//===-- Operands ------------------------------------------------------------------------------===//

namespace {

constexpr std::pair<std::string_view, unsigned> specialRegisters[] = {
    {"vcc", vccRegister},   {"vcc_lo", vccRegister},   {"vcc_hi", vccRegister + 1},  {"m0", m0Register},
    {"exec", execRegister}, {"exec_lo", execRegister}, {"exec_hi", execRegister + 1}};

class Decoder {
public:
  Decoder(const Chip &chip, const RegisterCounts &registers) : chip(chip), registers(registers) {}

  // One instruction, or two of v_dual_*.
  void decode(std::string_view text, Program &program) {
    if (const size_t second = text.find("::"); second != text.npos) {
      const size_t first = program.instructions.size();
      decodeOne(trim(text.substr(0, second)), program);
      decodeOne(trim(text.substr(second + 2)), program);
      const Operand &written = program.instructions[first].operands[0];
      for (size_t k = 1; k < program.instructions[first + 1].operands.size(); ++k) {
        const Operand &operand = program.instructions[first + 1].operands[k];
        program.instructions[first].secondReadsFirst |=
            operand.kind == Operand::VectorRegister && operand.index == written.index;
      }
      program.instructions[first].isFirstOfTwo = true;
      return;
    }
    decodeOne(text, program);
  }

private:
  void decodeOne(std::string_view text, Program &program) {
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    std::string name(text.substr(0, end));
    const std::string_view rest = trim(text.substr(end));
    const bool isDual = name.starts_with("v_dual_");
    if (isDual)
      name.erase(2, 5);
    Instruction instruction;
    std::string_view plain = name;
    if (takeSuffix(plain, "_sdwa"))
      instruction.modifiers.isSdwa = true;
    takeSuffix(plain, "_dpp");
    takeSuffix(plain, "_e32");
    takeSuffix(plain, "_e64");
    instruction.operation = findOperation(plain);
    if (!instruction.operation)
      throw Fault("it is not known");
    instruction.run = instruction.operation->run;
    if (!(instruction.operation->takes & TakesText))
      parseOperands(rest, instruction);
    else
      for (std::string_view piece : split(rest, ',')) {
        Operand &operand = instruction.operands.emplace_back();
        operand.text = piece;
      }
    // What the text leaves out.
    auto implied = [&](std::string_view where) { return parseOperand(where); };
    if (plain.starts_with("v_cmpx_") && instruction.operands.size() == 2)
      instruction.operands.insert(instruction.operands.begin(), implied("exec"));
    if (isDual && plain == "v_cndmask_b32" && instruction.operands.size() == 3)
      instruction.operands.push_back(implied("vcc"));
    finish(instruction, program);
    program.instructions.push_back(std::move(instruction));
  }

  void parseOperands(std::string_view rest, Instruction &instruction) {
    const std::vector<std::string_view> pieces = split(rest, ',');
    for (size_t k = 0; k < pieces.size(); ++k) {
      std::vector<std::string_view> words = split(pieces[k], ' ');
      size_t first = 0;
      // Modifiers are behind the last operand, and there may be no operand at all.
      if (k + 1 < pieces.size() || !isModifier(words[0])) {
        instruction.operands.push_back(parseOperand(words[0]));
        first = 1;
      }
      for (size_t word = first; word < words.size(); ++word)
        parseModifier(words[word], instruction);
    }
  }

  static bool isModifier(std::string_view word) {
    return word.find(':') != word.npos && word.find('[') > word.find(':');
  }

  Operand parseOperand(std::string_view text) const {
    Operand operand;
    operand.text = text;
    operand.signExtend = takePrefix(text, "sext(");
    if (operand.signExtend)
      takeSuffix(text, ")");
    if (takePrefix(text, "neg(")) {
      takeSuffix(text, ")");
      operand.negate = true;
    } else if (text.starts_with("-") && !text.starts_with("-0") && (text.size() < 2 || !std::isdigit(text[1]))) {
      text.remove_prefix(1);
      operand.negate = true;
    }
    if (takePrefix(text, "|")) {
      takeSuffix(text, "|");
      operand.absolute = true;
    }
    if (takeSuffix(text, ".l"))
      operand.half = 1;
    else if (takeSuffix(text, ".h"))
      operand.half = 2;
    if (text == "off")
      operand.kind = Operand::Off;
    else if (text == "null")
      operand.kind = Operand::Null;
    else if (text == "scc" || text == "src_scc")
      operand.kind = Operand::Scc;
    else if (!parseRegister(text, operand) && !text.empty() &&
             (std::isdigit(text[0]) || (text[0] == '-' && text.size() > 1)))
      operand.kind = Operand::Constant;
    operand.text = text;
    return operand;
  }

  bool parseRegister(std::string_view text, Operand &operand) const {
    for (const auto &[name, index] : specialRegisters)
      if (text == name) {
        operand.kind = Operand::ScalarRegister;
        operand.index = index;
        operand.words = name == "vcc" || name == "exec" ? 2 : 1;
        return true;
      }
    std::string_view number = text;
    unsigned base = 0, count = 0;
    if (takePrefix(number, "v")) {
      operand.kind = Operand::VectorRegister;
      count = registers.accumulatorBase ? registers.accumulatorBase : registers.vectors;
    } else if (takePrefix(number, "a")) {
      operand.kind = Operand::VectorRegister;
      base = registers.accumulatorBase;
      count = registers.vectors - base;
    } else if (takePrefix(number, "s")) {
      operand.kind = Operand::ScalarRegister;
      count = vccRegister;
    } else if (takePrefix(number, "ttmp")) {
      operand.kind = Operand::ScalarRegister;
      base = 108;
      count = 16;
    } else {
      return false;
    }
    std::optional<int64_t> first, last;
    if (takePrefix(number, "[") && takeSuffix(number, "]")) {
      const size_t colon = number.find(':');
      first = integer(number.substr(0, colon));
      last = colon == number.npos ? first : integer(number.substr(colon + 1));
    } else {
      first = last = integer(number);
    }
    if (!first || !last) {
      operand.kind = Operand::Text;
      return false;
    }
    if (*last >= count)
      throw Fault("'" + std::string(text) + "' is not among the " + std::to_string(count) +
                  " registers that the kernel has");
    operand.index = static_cast<uint16_t>(base + *first);
    operand.words = static_cast<uint8_t>(*last - *first + 1);
    return true;
  }

  //===-- Modifiers ---------------------------------------------------------------------------===//

  static Part part(std::string_view text) {
    constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
    const auto *found = std::find(std::begin(names), std::end(names), text);
    if (found == std::end(names))
      throw Fault("'" + std::string(text) + "' is not known");
    return static_cast<Part>(found - names);
  }

  void parseModifier(std::string_view word, Instruction &instruction) const {
    Modifiers &to = instruction.modifiers;
    const size_t colon = std::min(word.find(':'), word.size());
    const std::string_view name = word.substr(0, colon),
                           value = colon < word.size() ? word.substr(colon + 1) : std::string_view();
    auto takes = [&](uint32_t kind) {
      if (!(instruction.operation->takes & kind))
        throw Fault("'" + std::string(word) + "' is not known of it");
    };
    auto permute = [&](Permutation permutation, int64_t argument = 0) {
      takes(TakesPermutation);
      to.permutation = permutation;
      to.permutationArgument = static_cast<uint8_t>(argument);
    };
    if (name == "offset") {
      takes(TakesOffset);
      to.offset = wantInteger(value);
    } else if (name == "offset0" || name == "offset1") {
      takes(TakesOffsets);
      (name == "offset0" ? to.offset0 : to.offset1) = static_cast<int32_t>(wantInteger(value));
    } else if (name == "glc" || name == "slc" || name == "dlc" || name == "sc0" || name == "sc1" || name == "nt") {
      takes(TakesCache);
    } else if (name == "clamp") {
      takes(TakesClamp);
      to.clamp = true;
    } else if (name == "mul" || name == "div") {
      takes(TakesFactor);
      to.outputFactor =
          name == "mul" ? static_cast<float>(wantInteger(value)) : 1 / static_cast<float>(wantInteger(value));
    } else if (name == "op_sel") {
      takes(TakesSelect);
      to.select = bits(value);
      to.selectGiven = true;
    } else if (name == "op_sel_hi") {
      takes(TakesSelectHigh);
      to.selectHigh = bits(value);
      to.selectHighGiven = true;
    } else if (name == "neg_lo") {
      takes(TakesPackedNegate);
      to.negateLow = bits(value);
    } else if (name == "neg_hi") {
      takes(TakesPackedNegate);
      to.negateHigh = bits(value);
    } else if (name == "quad_perm") {
      permute(Permutation::Quad);
      const std::vector<int64_t> from = list(value);
      std::copy(from.begin(), from.end(), to.lanes.begin());
    } else if (name == "dpp8") {
      permute(Permutation::Eight);
      const std::vector<int64_t> from = list(value);
      std::copy(from.begin(), from.end(), to.lanes.begin());
    } else if (name == "row_shl") {
      permute(Permutation::RowShiftLeft, wantInteger(value));
    } else if (name == "row_shr") {
      permute(Permutation::RowShiftRight, wantInteger(value));
    } else if (name == "row_ror") {
      permute(Permutation::RowRotate, wantInteger(value));
    } else if (name == "row_mirror") {
      permute(Permutation::RowMirror);
    } else if (name == "row_half_mirror") {
      permute(Permutation::RowHalfMirror);
    } else if (name == "row_bcast" && (value == "15" || value == "31")) {
      permute(value == "15" ? Permutation::RowBroadcast15 : Permutation::RowBroadcast31);
    } else if (name == "row_share" || name == "row_newbcast") {
      permute(Permutation::RowShare, wantInteger(value));
    } else if (name == "row_xmask") {
      permute(Permutation::RowExchange, wantInteger(value));
    } else if (name == "row_mask") {
      to.rowMask = static_cast<uint8_t>(wantInteger(value));
    } else if (name == "bank_mask") {
      to.bankMask = static_cast<uint8_t>(wantInteger(value));
    } else if (name == "bound_ctrl") {
      to.boundControl = true;
    } else if (name == "fi") {
      to.fetchInactive = wantInteger(value) != 0;
    } else if (name == "dst_sel") {
      takes(TakesSdwa);
      to.sdwaDestination = part(value);
    } else if (name == "dst_unused") {
      to.sdwaPreserve = value == "UNUSED_PRESERVE";
      to.sdwaSignExtend = value == "UNUSED_SEXT";
    } else if (name == "src0_sel" || name == "src1_sel") {
      takes(TakesSdwa);
      to.sdwaSource[name == "src1_sel"] = part(value);
    } else {
      throw Fault("'" + std::string(word) + "' is not known");
    }
  }

  //===-- Constants ---------------------------------------------------------------------------===//

  static uint64_t constantOf(Type type, const std::string &text) {
    const std::optional<int64_t> whole = integer(text);
    if (!whole) {
      char *end = nullptr;
      double number = std::strtod(text.c_str(), &end);
      if (*end != 0)
        throw Fault("'" + text + "' is no constant");
      const bool isReciprocal = std::abs(number - 0.15915494) < 1e-4; // 1 / (2 pi), rounded to each type by itself
      switch (type) {
      case Type::F16:
      case Type::PackedF16:
        return isReciprocal ? 0x3118 : floatToHalf(static_cast<float>(number));
      case Type::BF16:
        return isReciprocal ? 0x3e22 : floatToBfloat(static_cast<float>(number));
      case Type::F64:
      case Type::U64:
      case Type::I64:
        return isReciprocal ? 0x3fc45f306dc9c882 : std::bit_cast<uint64_t>(number);
      case Type::B16:
        throw Fault("a constant of floats, '" + text + "', is not known for it");
      default:
        return isReciprocal ? 0x3e22f983 : std::bit_cast<uint32_t>(static_cast<float>(number));
      }
    }
    const bool isLiteral = text.find("0x") != text.npos;
    switch (type) {
    case Type::F64:
      // 32 bits of code are the upper half.
      return isLiteral && text.size() <= 10 ? static_cast<uint64_t>(*whole) << 32 : static_cast<uint64_t>(*whole);
    case Type::I64:
      return isLiteral && text.size() <= 10 ? static_cast<uint64_t>(static_cast<int32_t>(*whole)) : *whole;
    case Type::U64:
      return *whole;
    case Type::B16:
    case Type::F16:
    case Type::BF16:
      return static_cast<uint16_t>(*whole);
    default:
      return static_cast<uint32_t>(*whole);
    }
  }

  const Vector *broadcast(uint32_t value, Program &program) {
    auto [found, isNew] = constants.try_emplace(value);
    if (isNew) {
      program.constants.push_back(std::make_unique<Vector>());
      program.constants.back()->lane.fill(value);
      found->second = program.constants.back().get();
    }
    return found->second;
  }

  //===-- What is known once all of it was read -----------------------------------------------===//

  void finish(Instruction &instruction, Program &program) {
    const Operation &operation = *instruction.operation;
    const Modifiers &modifiers = instruction.modifiers;
    unsigned sources = 0;
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      Operand &operand = instruction.operands[k];
      operand.type = k < operation.types.size() ? operation.types[k] : Type::None;
      if (operand.type == Type::Any || operation.takes & TakesText)
        continue;
      if (operand.kind == Operand::Text)
        throw Fault("its operand '" + operand.text + "' is not known");
      if (operand.kind == Operand::Constant) {
        if (operand.type == Type::None)
          throw Fault("a constant, '" + operand.text + "', is not known in this place");
        operand.value = constantOf(operand.type, operand.text);
        operand.constant[0] = broadcast(static_cast<uint32_t>(operand.value), program);
        operand.constant[1] = broadcast(static_cast<uint32_t>(operand.value >> 32), program);
      }
      if ((operand.negate || operand.absolute) && !(operation.takes & TakesNegate))
        throw Fault("a sign of '" + operand.text + "' is not known of it");
      const bool is16 = operand.type == Type::B16 || operand.type == Type::F16 || operand.type == Type::BF16;
      if (operand.half && !is16 && !(k == 0 && operation.resultIsHalf) && operand.type != Type::Any)
        throw Fault("a half, '" + operand.text + "', is not known of it");
      // Without names of halves it is the modifier that tells them.
      const bool isSource = operand.type != Type::None;
      if (isSource && is16 && !operand.half && modifiers.select >> sources & 1 && operand.kind != Operand::Constant)
        operand.half = 2;
      const bool isVector = operand.kind == Operand::VectorRegister;
      operand.isPlain = (isVector || operand.kind == Operand::Constant) && !operand.negate && !operand.absolute &&
                        operand.half != 2 && !operand.signExtend &&
                        !(modifiers.permutation != Permutation::None && sources == 0 && isSource) &&
                        !(modifiers.isSdwa && sources < 2 && isSource);
      sources += isSource;
    }
    if (instruction.operands.empty())
      return;
    Operand &destination = instruction.operands[0];
    if (operation.resultIsHalf && !destination.half && modifiers.selectGiven && modifiers.select >> sources & 1)
      destination.half = 2;
    instruction.keepsOtherHalf = chip.generation == Generation::Gfx11 || destination.half == 2 || operation.keepsHalf;
    instruction.writesPlainly = destination.kind == Operand::VectorRegister && !modifiers.isSdwa &&
                                modifiers.permutation == Permutation::None &&
                                !(operation.resultIsHalf && instruction.keepsOtherHalf);
  }

  const Chip &chip;
  const RegisterCounts &registers;
  std::map<uint32_t, const Vector *> constants;
};

LLVMDisasmContextRef disassembler(const Chip &chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const std::string name(chip.name);
  LLVMDisasmContextRef context =
      LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", name.c_str(), chip.features, nullptr, 0, nullptr, nullptr);
  if (!context)
    throw Fault("there is no disassembler for " + name);
  return context;
}

} // namespace

Program decode(const Chip &chip, std::span<const uint8_t> code, uint64_t address, const RegisterCounts &registers) {
  const std::unique_ptr<void, decltype(&LLVMDisasmDispose)> context(disassembler(chip), &LLVMDisasmDispose);
  Program program;
  Decoder decoder(chip, registers);
  std::map<uint64_t, uint32_t> starts; // index by offset
  std::string problems;
  std::set<std::string> named;
  for (uint64_t offset = 0; offset < code.size();) {
    char text[512];
    const size_t size = LLVMDisasmInstruction(context.get(), const_cast<uint8_t *>(code.data()) + offset,
                                              code.size() - offset, address + offset, text, sizeof text);
    if (size == 0)
      throw Fault("what is at " + hexadecimal(offset) + " is no instruction");
    const auto first = static_cast<uint32_t>(program.instructions.size());
    const std::string_view trimmed = trim(text);
    starts[offset] = first;
    try {
      decoder.decode(trimmed, program);
    } catch (const Fault &fault) {
      // Each name once.
      const std::string name(trimmed.substr(0, trimmed.find(' ')));
      if (named.insert(name).second && named.size() <= 20)
        problems += (problems.empty() ? "" : "; ") + std::string("'") + std::string(trimmed) + "' at " +
                    hexadecimal(offset) + ": " + fault.what();
    }
    for (uint32_t index = first; index < program.instructions.size(); ++index) {
      Instruction &instruction = program.instructions[index];
      instruction.index = index;
      instruction.address = address + offset;
      instruction.next = address + offset + size;
      instruction.text = trimmed;
    }
    offset += size;
  }
  if (!problems.empty())
    throw Fault(problems);
  // Branches count words from the next instruction on.
  for (Instruction &instruction : program.instructions)
    if (instruction.text.starts_with("s_branch") || instruction.text.starts_with("s_cbranch")) {
      const auto words = static_cast<int16_t>(wantInteger(instruction.operands.at(0).text));
      const auto found = starts.find(instruction.next - address + int64_t(words) * 4);
      if (found == starts.end())
        throw Fault("'" + instruction.text + "' at " + hexadecimal(instruction.address - address) +
                    " leads to no instruction of the kernel");
      instruction.target = found->second;
    }
  return program;
}

} // namespace vx::rocm_emulator
