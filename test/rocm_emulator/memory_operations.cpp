// Loads, stores and atomics: scalar, global and workgroup memory.
#include "operations.h"
#include "wave.h"

#include <atomic>
#include <cstdio>

namespace vx::rocm_emulator {

namespace {

//===-- Checked addresses ---------------------------------------------------------------------===//

uint8_t *globalBytes(Wave &wave, const Instruction &instruction, uint64_t address, unsigned size) {
  Memory::Range &recent = wave.group.recent[instruction.index];
  if (!recent.holds(address, size)) {
    recent = wave.group.memory.find(address);
    if (!recent.holds(address, size))
      throw Fault(std::to_string(size) + " bytes at " + hexadecimal(address) + " are outside of every allocation" +
                  (recent.end ? ", of which one ends at " + hexadecimal(recent.end) : ""));
  }
  return reinterpret_cast<uint8_t *>(address);
}

uint8_t *sharedBytes(Wave &wave, const Instruction &, uint64_t address, unsigned size) {
  std::vector<uint8_t> &shared = wave.group.shared;
  if (address > shared.size() || size > shared.size() - address)
    throw Fault(std::to_string(size) + " bytes at " + hexadecimal(address) + " are outside of the workgroup's " +
                std::to_string(shared.size()) + " bytes");
  return shared.data() + address;
}

// What an element in memory becomes in registers, and the other way round.
enum class Element {
  Words,
  U8,
  I8,
  U16,
  I16,
  U8Low,
  I8Low,
  U16Low,
  U8High,
  I8High,
  U16High,
  Byte,
  Short,
  ByteHigh,
  ShortHigh
};

constexpr unsigned sizeOf(Element element, unsigned words) {
  switch (element) {
  case Element::Words:
    return 4 * words;
  case Element::U16:
  case Element::I16:
  case Element::U16Low:
  case Element::U16High:
  case Element::Short:
  case Element::ShortHigh:
    return 2;
  default:
    return 1;
  }
}

uint32_t loaded(Element element, const uint8_t *bytes, uint32_t before) {
  const uint32_t byte = bytes[0];
  uint16_t half = 0;
  if (sizeOf(element, 1) == 2)
    std::memcpy(&half, bytes, 2);
  const auto signedByte = static_cast<int8_t>(byte);
  switch (element) {
  case Element::U8:
    return byte;
  case Element::I8:
    return static_cast<uint32_t>(signedByte);
  case Element::U16:
    return half;
  case Element::I16:
    return static_cast<uint32_t>(static_cast<int16_t>(half));
  case Element::U8Low:
    return (before & 0xffff0000) | byte;
  case Element::I8Low:
    return (before & 0xffff0000) | static_cast<uint16_t>(signedByte);
  case Element::U16Low:
    return (before & 0xffff0000) | half;
  case Element::U8High:
    return (before & 0xffff) | byte << 16;
  case Element::I8High:
    return (before & 0xffff) | uint32_t(static_cast<uint16_t>(signedByte)) << 16;
  case Element::U16High:
    return (before & 0xffff) | uint32_t(half) << 16;
  default:
    return 0;
  }
}

template <typename Place>
void load(Wave &wave, const Operand &to, Element element, unsigned words, Place &&place) {
  const uint64_t exec = wave.exec();
  if (to.kind != Operand::VectorRegister)
    throw Fault("'" + to.text + "' is no vector register");
  // A destination may be the address too.
  uint32_t values[4][maxLanes];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    const uint8_t *bytes = place(lane, sizeOf(element, words));
    if (element == Element::Words)
      for (unsigned k = 0; k < words; ++k)
        std::memcpy(&values[k][lane], bytes + 4 * k, 4);
    else
      values[0][lane] = loaded(element, bytes, wave.v[to.index][lane]);
  }
  for (unsigned k = 0; k < words; ++k)
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      if (exec >> lane & 1)
        wave.v[to.index + k][lane] = values[k][lane];
}

template <typename Place>
void store(Wave &wave, const Operand &from, Element element, unsigned words, Place &&place) {
  const uint64_t exec = wave.exec();
  if (from.kind != Operand::VectorRegister)
    throw Fault("'" + from.text + "' is no vector register");
  const bool isHigh = element == Element::ByteHigh || element == Element::ShortHigh || from.half == 2;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t *bytes = place(lane, sizeOf(element, words));
    if (element == Element::Words) {
      for (unsigned k = 0; k < words; ++k)
        std::memcpy(bytes + 4 * k, &wave.v[from.index + k][lane], 4);
    } else {
      const uint32_t value = wave.v[from.index][lane] >> (isHigh ? 16 : 0);
      std::memcpy(bytes, &value, sizeOf(element, words));
    }
  }
}

//===-- Scalar memory -------------------------------------------------------------------------===//

// (D, base, offset)
template <unsigned words>
void scalarLoad(Wave &wave, const Instruction &instruction) {
  const Operand &to = instruction.operands[0];
  uint64_t address = readScalar64(wave, instruction.operands[1]);
  const Operand &offset = instruction.operands[2];
  if (offset.kind == Operand::Constant)
    address += static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset.value)));
  else
    address += readScalar(wave, offset);
  address += static_cast<uint64_t>(instruction.modifiers.offset);
  // The two lowest bits are not looked at.
  address &= ~uint64_t(3);
  // Three words at a multiple of 16 bytes are loaded as four: there is no load of three, and no allocation ends within
  // 16 bytes that begin at a multiple of 16.
  const unsigned size = words == 4 && address % 16 == 0 ? 12 : 4 * words;
  const uint8_t *bytes = globalBytes(wave, instruction, address, size);
  if (to.kind != Operand::ScalarRegister || to.words != words)
    throw Fault("'" + to.text + "' are not " + std::to_string(words) + " scalar registers");
  for (unsigned k = 0; k < words; ++k)
    std::memcpy(&wave.s[to.index + k], bytes + 4 * k, 4);
}

//===-- Global memory: an address of 64 bits, or a scalar base and 32 bits --------------------===//

auto globalPlace(Wave &wave, const Instruction &instruction, const Operand &address, const Operand &base) {
  const bool hasBase = base.kind == Operand::ScalarRegister;
  if (!hasBase && base.kind != Operand::Off)
    throw Fault("the base '" + base.text + "' is not known");
  const uint64_t start = (hasBase ? wave.pair(base.index) : 0) + static_cast<uint64_t>(instruction.modifiers.offset);
  if (hasBase != (address.words == 1))
    throw Fault("the address '" + address.text + "' is not known with the base '" + base.text + "'");
  return [&wave, &instruction, index = address.index, hasBase, start](unsigned lane, unsigned size) {
    const uint64_t high = hasBase ? 0 : uint64_t(wave.v[index + 1][lane]) << 32;
    return globalBytes(wave, instruction, start + (high | wave.v[index][lane]), size);
  };
}

template <Element element, unsigned words = 1>
void globalLoad(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  load(wave, op[0], element, words, globalPlace(wave, instruction, op[1], op[2]));
}
template <Element element, unsigned words = 1>
void globalStore(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  store(wave, op[1], element, words, globalPlace(wave, instruction, op[0], op[2]));
}

/// By an address of any memory, of which this one knows the global memory: what is elsewhere is a fault there.
template <Element element, unsigned words = 1>
void flatLoad(Wave &wave, const Instruction &instruction) {
  Operand off;
  off.kind = Operand::Off;
  load(wave, instruction.operands[0], element, words, globalPlace(wave, instruction, instruction.operands[1], off));
}

template <typename Int, typename F>
void globalAtomic(Wave &wave, const Instruction &instruction) {
  // With a result it has four operands.
  const bool hasResult = instruction.operands.size() == 4;
  const Operand *op = instruction.operands.data() + (hasResult ? 1 : 0);
  auto place = globalPlace(wave, instruction, op[0], op[2]);
  const uint64_t exec = wave.exec();
  Vector before;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1))
      continue;
    uint8_t *bytes = place(lane, sizeof(Int));
    if (reinterpret_cast<uint64_t>(bytes) % sizeof(Int) != 0)
      throw Fault("an atomic at " + hexadecimal(reinterpret_cast<uint64_t>(bytes)) + " is not aligned");
    std::atomic_ref<Int> value(*reinterpret_cast<Int *>(bytes));
    Int old = value.load();
    while (!value.compare_exchange_weak(old, F{}(old, static_cast<Int>(wave.v[op[1].index][lane])))) {
    }
    before[lane] = static_cast<uint32_t>(old);
  }
  if (hasResult)
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      if (exec >> lane & 1)
        wave.v[instruction.operands[0].index][lane] = before[lane];
}

//===-- Private memory: of each lane by itself ------------------------------------------------===//

auto privatePlace(Wave &wave, const Instruction &instruction, const Operand &address, const Operand &base) {
  const uint64_t start =
      static_cast<uint64_t>(instruction.modifiers.offset) + (base.kind == Operand::Off ? 0 : readScalar(wave, base));
  return [&wave, start, &address](unsigned lane, unsigned size) {
    const uint64_t offset = start + (address.kind == Operand::VectorRegister ? wave.v[address.index][lane] : 0);
    if (offset > wave.privateBytes || size > wave.privateBytes - offset)
      throw Fault(std::to_string(size) + " bytes at " + hexadecimal(offset) + " are outside of the " +
                  std::to_string(wave.privateBytes) + " bytes of a lane");
    return wave.privateMemory.data() + lane * wave.privateBytes + offset;
  };
}
template <Element element, unsigned words = 1>
void privateLoad(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  load(wave, op[0], element, words, privatePlace(wave, instruction, op[1], op[2]));
}
template <Element element, unsigned words = 1>
void privateStore(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  store(wave, op[1], element, words, privatePlace(wave, instruction, op[0], op[2]));
}

//===-- Workgroup memory ----------------------------------------------------------------------===//

auto sharedPlace(Wave &wave, const Instruction &instruction, const Operand &address, uint64_t offset) {
  return [&wave, &instruction, index = address.index, offset](unsigned lane, unsigned size) {
    return sharedBytes(wave, instruction, wave.v[index][lane] + offset, size);
  };
}

template <Element element, unsigned words = 1>
void sharedLoad(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  load(wave, op[0], element, words,
       sharedPlace(wave, instruction, op[1], static_cast<uint64_t>(instruction.modifiers.offset)));
}
template <Element element, unsigned words = 1>
void sharedStore(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  store(wave, op[1], element, words,
        sharedPlace(wave, instruction, op[0], static_cast<uint64_t>(instruction.modifiers.offset)));
}

// Two elements, whose offsets count elements or 64 of them.
template <unsigned words, unsigned stride>
void sharedLoadTwo(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  const Modifiers &modifiers = instruction.modifiers;
  constexpr unsigned unit = 4 * words * stride;
  const Operand address = op[1];
  // The first result may overwrite the address.
  const Vector places = wave.v[address.index];
  for (unsigned part = 0; part < 2; ++part) {
    Operand to = op[0];
    to.index = static_cast<uint16_t>(to.index + part * words);
    const uint64_t offset = uint64_t(part ? modifiers.offset1 : modifiers.offset0) * unit;
    load(wave, to, Element::Words, words,
         [&](unsigned lane, unsigned size) { return sharedBytes(wave, instruction, places[lane] + offset, size); });
  }
}
template <unsigned words, unsigned stride>
void sharedStoreTwo(Wave &wave, const Instruction &instruction) {
  const auto &op = instruction.operands;
  const Modifiers &modifiers = instruction.modifiers;
  constexpr unsigned unit = 4 * words * stride;
  store(wave, op[1], Element::Words, words, sharedPlace(wave, instruction, op[0], uint64_t(modifiers.offset0) * unit));
  store(wave, op[2], Element::Words, words, sharedPlace(wave, instruction, op[0], uint64_t(modifiers.offset1) * unit));
}

constexpr std::array<Type, 6> noConstants = {};

template <Element element, unsigned words = 1>
void addGlobal(std::vector<Operation> &list, std::string_view loads, std::string_view stores) {
  constexpr std::array<Type, 6> storeTypes = {Type::None, element == Element::Short ? Type::B16 : Type::None};
  if (!loads.empty())
    list.push_back({loads, &globalLoad<element, words>, TakesOffset | TakesCache, noConstants});
  if (!stores.empty())
    list.push_back({stores, &globalStore<element, words>, TakesOffset | TakesCache, storeTypes});
}
template <Element element, unsigned words = 1>
void addFlat(std::vector<Operation> &list, std::string_view loads) {
  list.push_back({loads, &flatLoad<element, words>, TakesOffset | TakesCache, noConstants});
}
template <Element element, unsigned words = 1>
void addShared(std::vector<Operation> &list, std::string_view loads, std::string_view stores) {
  if (!loads.empty())
    list.push_back({loads, &sharedLoad<element, words>, TakesOffset, noConstants});
  if (!stores.empty())
    list.push_back({stores, &sharedStore<element, words>, TakesOffset, noConstants});
}
template <unsigned words>
void addPrivate(std::vector<Operation> &list, std::string_view loads, std::string_view stores) {
  list.push_back({loads, &privateLoad<Element::Words, words>, TakesOffset | TakesCache, noConstants});
  list.push_back({stores, &privateStore<Element::Words, words>, TakesOffset | TakesCache, noConstants});
}
template <unsigned words>
Operation scalarLoadOf(std::string_view name) {
  return {name, &scalarLoad<words>, TakesOffset | TakesCache, {Type::None, Type::None, Type::B32}};
}
template <unsigned words, unsigned stride>
void addSharedTwo(std::vector<Operation> &list, std::string_view loads, std::string_view stores) {
  list.push_back({loads, &sharedLoadTwo<words, stride>, TakesOffsets, noConstants});
  list.push_back({stores, &sharedStoreTwo<words, stride>, TakesOffsets, noConstants});
}
template <typename Int = uint32_t, typename F>
void addAtomic(std::vector<Operation> &list, std::string_view name, F) {
  list.push_back({name, &globalAtomic<Int, F>, TakesOffset | TakesCache, noConstants});
}

} // namespace

std::vector<Operation> memoryOperations() {
  using enum Element;
  std::vector<Operation> list = {
      scalarLoadOf<1>("s_load_b32 s_load_dword"),      scalarLoadOf<2>("s_load_b64 s_load_dwordx2"),
      scalarLoadOf<4>("s_load_b128 s_load_dwordx4"),   scalarLoadOf<8>("s_load_b256 s_load_dwordx8"),
      scalarLoadOf<16>("s_load_b512 s_load_dwordx16"),
  };
  addGlobal<Words, 1>(list, "global_load_b32 global_load_dword", "global_store_b32 global_store_dword");
  addGlobal<Words, 2>(list, "global_load_b64 global_load_dwordx2", "global_store_b64 global_store_dwordx2");
  addGlobal<Words, 3>(list, "global_load_b96 global_load_dwordx3", "global_store_b96 global_store_dwordx3");
  addGlobal<Words, 4>(list, "global_load_b128 global_load_dwordx4", "global_store_b128 global_store_dwordx4");
  addGlobal<U8>(list, "global_load_u8 global_load_ubyte", "");
  addGlobal<I8>(list, "global_load_i8 global_load_sbyte", "");
  addGlobal<U16>(list, "global_load_u16 global_load_ushort", "");
  addGlobal<I16>(list, "global_load_i16 global_load_sshort", "");
  addGlobal<U8Low>(list, "global_load_d16_u8 global_load_ubyte_d16", "");
  addGlobal<I8Low>(list, "global_load_d16_i8 global_load_sbyte_d16", "");
  addGlobal<U16Low>(list, "global_load_d16_b16 global_load_short_d16", "");
  addGlobal<U8High>(list, "global_load_d16_hi_u8 global_load_ubyte_d16_hi", "");
  addGlobal<I8High>(list, "global_load_d16_hi_i8 global_load_sbyte_d16_hi", "");
  addGlobal<U16High>(list, "global_load_d16_hi_b16 global_load_short_d16_hi", "");
  addGlobal<Byte>(list, "", "global_store_b8 global_store_byte");
  addGlobal<Short>(list, "", "global_store_b16 global_store_short");
  addGlobal<ByteHigh>(list, "", "global_store_d16_hi_b8 global_store_byte_d16_hi");
  addGlobal<ShortHigh>(list, "", "global_store_d16_hi_b16 global_store_short_d16_hi");
  addFlat<Words, 1>(list, "flat_load_b32 flat_load_dword");
  addFlat<Words, 2>(list, "flat_load_b64 flat_load_dwordx2");
  addFlat<Words, 3>(list, "flat_load_b96 flat_load_dwordx3");
  addFlat<Words, 4>(list, "flat_load_b128 flat_load_dwordx4");
  addFlat<U8>(list, "flat_load_u8 flat_load_ubyte");
  addFlat<I8>(list, "flat_load_i8 flat_load_sbyte");
  addFlat<U16>(list, "flat_load_u16 flat_load_ushort");
  addFlat<I16>(list, "flat_load_i16 flat_load_sshort");
  addAtomic(list, "global_atomic_add_u32 global_atomic_add", [](uint32_t a, uint32_t b) { return a + b; });
  addAtomic(list, "global_atomic_sub_u32 global_atomic_sub", [](uint32_t a, uint32_t b) { return a - b; });
  addAtomic(list, "global_atomic_and_b32 global_atomic_and", [](uint32_t a, uint32_t b) { return a & b; });
  addAtomic(list, "global_atomic_or_b32 global_atomic_or", [](uint32_t a, uint32_t b) { return a | b; });
  addAtomic(list, "global_atomic_max_u32 global_atomic_umax", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  addAtomic(list, "global_atomic_min_u32 global_atomic_umin", [](uint32_t a, uint32_t b) { return std::min(a, b); });
  addAtomic(list, "global_atomic_swap_b32 global_atomic_swap", [](uint32_t, uint32_t b) { return b; });
  addPrivate<1>(list, "scratch_load_b32 scratch_load_dword", "scratch_store_b32 scratch_store_dword");
  addPrivate<2>(list, "scratch_load_b64 scratch_load_dwordx2", "scratch_store_b64 scratch_store_dwordx2");
  addPrivate<3>(list, "scratch_load_b96 scratch_load_dwordx3", "scratch_store_b96 scratch_store_dwordx3");
  addPrivate<4>(list, "scratch_load_b128 scratch_load_dwordx4", "scratch_store_b128 scratch_store_dwordx4");
  addShared<Words, 1>(list, "ds_load_b32 ds_read_b32", "ds_store_b32 ds_write_b32");
  addShared<Words, 2>(list, "ds_load_b64 ds_read_b64", "ds_store_b64 ds_write_b64");
  addShared<Words, 3>(list, "ds_load_b96 ds_read_b96", "ds_store_b96 ds_write_b96");
  addShared<Words, 4>(list, "ds_load_b128 ds_read_b128", "ds_store_b128 ds_write_b128");
  addShared<U8>(list, "ds_load_u8 ds_read_u8", "");
  addShared<I8>(list, "ds_load_i8 ds_read_i8", "");
  addShared<U16>(list, "ds_load_u16 ds_read_u16", "");
  addShared<I16>(list, "ds_load_i16 ds_read_i16", "");
  addShared<U8Low>(list, "ds_load_u8_d16 ds_read_u8_d16", "");
  addShared<I8Low>(list, "ds_load_i8_d16 ds_read_i8_d16", "");
  addShared<U16Low>(list, "ds_load_u16_d16 ds_read_u16_d16", "");
  addShared<U8High>(list, "ds_load_u8_d16_hi ds_read_u8_d16_hi", "");
  addShared<I8High>(list, "ds_load_i8_d16_hi ds_read_i8_d16_hi", "");
  addShared<U16High>(list, "ds_load_u16_d16_hi ds_read_u16_d16_hi", "");
  addShared<Byte>(list, "", "ds_store_b8 ds_write_b8");
  addShared<Short>(list, "", "ds_store_b16 ds_write_b16");
  addShared<ByteHigh>(list, "", "ds_store_b8_d16_hi ds_write_b8_d16_hi");
  addShared<ShortHigh>(list, "", "ds_store_b16_d16_hi ds_write_b16_d16_hi");
  addSharedTwo<1, 1>(list, "ds_load_2addr_b32 ds_read2_b32", "ds_store_2addr_b32 ds_write2_b32");
  addSharedTwo<2, 1>(list, "ds_load_2addr_b64 ds_read2_b64", "ds_store_2addr_b64 ds_write2_b64");
  addSharedTwo<1, 64>(list, "ds_load_2addr_stride64_b32 ds_read2st64_b32",
                      "ds_store_2addr_stride64_b32 ds_write2st64_b32");
  addSharedTwo<2, 64>(list, "ds_load_2addr_stride64_b64 ds_read2st64_b64",
                      "ds_store_2addr_stride64_b64 ds_write2st64_b64");
  return list;
}

} // namespace vx::rocm_emulator
