#include "waits.h"

#include <algorithm>
#include <cstdlib>

namespace vx::rocm_emulator {

// "vmcnt(3)" of a text, or what stands for no limit.
static uint8_t countOf(const std::string &text, std::string_view name) {
  const size_t place = text.find(std::string(name) + "(");
  if (place == std::string::npos)
    return MemoryUse::all;
  return static_cast<uint8_t>(std::strtoul(text.c_str() + place + name.size() + 1, nullptr, 0));
}

static MemoryUse memoryUse(const Instruction &instruction) {
  const std::string &text = instruction.text;
  MemoryUse use;
  if (text.starts_with("s_waitcnt_vscnt")) {
    use.kind = MemoryUse::Wait;
    const size_t comma = text.find(',');
    use.store =
        comma == std::string::npos ? 0 : static_cast<uint8_t>(std::strtoul(text.c_str() + comma + 1, nullptr, 0));
  } else if (text.starts_with("s_waitcnt ")) {
    use.kind = MemoryUse::Wait;
    use.vector = countOf(text, "vmcnt");
    use.other = countOf(text, "lgkmcnt");
  } else if (text == "s_barrier") {
    use.kind = MemoryUse::Barrier;
  } else if (text.starts_with("s_load") || text.starts_with("s_buffer_load")) {
    use.kind = MemoryUse::Scalar;
    use.hasResult = true;
  } else if (text.starts_with("ds_")) {
    use.kind = MemoryUse::Shared;
    use.hasResult = !text.starts_with("ds_store") && !text.starts_with("ds_write");
  } else if (text.starts_with("global_") || text.starts_with("scratch_") || text.starts_with("flat_")) {
    const bool isAtomic = text.find("_atomic_") != std::string::npos;
    use.hasResult = isAtomic ? instruction.operands.size() == 4 : text.find("_load_") != std::string::npos;
    use.kind = use.hasResult ? MemoryUse::VectorLoad : MemoryUse::VectorStore;
  }
  return use;
}

std::vector<MemoryUse> memoryUses(const Program &program) {
  std::vector<MemoryUse> uses;
  uses.reserve(program.instructions.size());
  for (const Instruction &instruction : program.instructions)
    uses.push_back(memoryUse(instruction));
  return uses;
}

void Waits::touch(const Instruction &instruction, const MemoryUse &use) const {
  for (size_t k = 0; k < instruction.operands.size(); ++k) {
    const Operand &operand = instruction.operands[k];
    if (operand.kind != Operand::VectorRegister && operand.kind != Operand::ScalarRegister)
      continue;
    const bool isScalar = operand.kind == Operand::ScalarRegister;
    for (const Pending &other : pending) {
      if (other.isScalar != isScalar || operand.index >= other.first + other.count ||
          other.first >= operand.index + operand.words)
        continue;
      // Vector and workgroup memory answer in order, so that the later one of two results stays.
      if (k == 0 && use.hasResult && use.kind == other.kind && use.kind != MemoryUse::Scalar)
        continue;
      throw Fault("'" + operand.text + "' is touched before '" + other.instruction->text + "' has been waited for");
    }
  }
}

// Scalar memory answers in any order: only none left tells that one is there.
void Waits::wait(Counter counter, unsigned left) {
  auto isCounted = [counter](const Pending &entry) { return entry.counter == counter; };
  const auto count = static_cast<size_t>(std::count_if(pending.begin(), pending.end(), isCounted));
  if (left >= count)
    return;
  const bool inOrder = std::none_of(pending.begin(), pending.end(), [&](const Pending &entry) {
    return isCounted(entry) && entry.kind == MemoryUse::Scalar;
  });
  if (left > 0 && !inOrder)
    return;
  size_t done = count - left;
  std::erase_if(pending, [&](const Pending &entry) { return isCounted(entry) && done > 0 && done--; });
}

void Waits::run(const Instruction &instruction, const MemoryUse &use) {
  if (!pending.empty())
    touch(instruction, use);
  switch (use.kind) {
  case MemoryUse::None:
    return;
  case MemoryUse::Wait:
    if (pending.empty())
      return;
    wait(VectorCount, use.vector);
    wait(OtherCount, use.other);
    wait(StoreCount, use.store);
    return;
  case MemoryUse::Barrier:
    for (const Pending &entry : pending)
      if (entry.kind == MemoryUse::Shared)
        throw Fault("the barrier is reached before '" + entry.instruction->text + "' has been waited for");
    return;
  default:
    break;
  }
  const bool isStore = use.kind == MemoryUse::VectorStore;
  const Counter counter = use.kind == MemoryUse::Shared || use.kind == MemoryUse::Scalar ? OtherCount
                          : isStore && generation == Generation::Gfx11                   ? StoreCount
                                                                                         : VectorCount;
  Pending entry{counter, use.kind, use.kind == MemoryUse::Scalar, 0, 0, &instruction};
  if (use.hasResult && !instruction.operands.empty()) {
    entry.first = instruction.operands[0].index;
    entry.count = instruction.operands[0].words;
  }
  pending.push_back(entry);
  // A counter holds 63; whoever would count on waits until one is done.
  wait(counter, 63);
}

} // namespace vx::rocm_emulator
