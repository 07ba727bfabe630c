// Tables from bytes to numbers, for vocabularies.
#ifndef VX_TEXT_BYTE_TABLE_H
#define VX_TEXT_BYTE_TABLE_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

inline uint64_t mixHash(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1342543de82ef95u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
inline uint64_t hashBytes(std::string_view bytes) {
  uint64_t hash = bytes.size();
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = mixHash(hash, word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  return mixHash(hash, rest);
}

// Open addressing over keys that lie in one string.
class ByteTable {
public:
  // Adds a key; where it is there, its number becomes `number`.
  void insert(std::string_view key, int32_t number);
  // -1: not there.
  int32_t find(std::string_view key) const {
    if (slots.empty())
      return -1;
    const uint64_t hash = hashBytes(key);
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot &slot = slots[at];
      if (slot.number < 0)
        return -1;
      if (slot.check == static_cast<uint32_t>(hash >> 32) && keyOf(slot) == key)
        return slot.number;
    }
  }
  size_t size() const { return count; }

private:
  struct Slot {
    uint32_t check = 0;
    int32_t number = -1;
    uint32_t begin = 0, size = 0;
  };
  std::string_view keyOf(const Slot &slot) const { return std::string_view(keys).substr(slot.begin, slot.size); }
  void grow();
  std::string keys;
  std::vector<Slot> slots;
  size_t mask = 0, count = 0;
};

// From pairs of numbers to what they merge to.
struct Merge {
  uint32_t rank = ~0u;
  int32_t result = -1;
};
class MergeTable {
public:
  void reserve(size_t pairs);
  // Where the pair is there, its merge becomes this one.
  void insert(int32_t left, int32_t right, Merge merge);
  // A result of -1: none.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = keyOf(left, right);
    for (size_t at = mixHash(key, 0) & mask;; at = (at + 1) & mask) {
      if (slots[at].key == key)
        return slots[at].merge;
      if (slots[at].key == none)
        return {};
    }
  }

private:
  static constexpr uint64_t none = ~uint64_t(0);
  struct Slot {
    uint64_t key = none;
    Merge merge;
  };
  static uint64_t keyOf(int32_t left, int32_t right) {
    return uint64_t(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  std::vector<Slot> slots = std::vector<Slot>(2);
  size_t mask = 1;
};

} // namespace vx::text

#endif
