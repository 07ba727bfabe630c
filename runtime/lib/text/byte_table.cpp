#include "text/byte_table.h"

#include <utility>

namespace vx::text {

void ByteTable::grow() {
  std::vector<Slot> old = std::exchange(slots, std::vector<Slot>(slots.empty() ? 64 : slots.size() * 2));
  mask = slots.size() - 1;
  for (const Slot &slot : old) {
    if (slot.number < 0)
      continue;
    size_t at = hashBytes(keyOf(slot)) & mask;
    while (slots[at].number >= 0)
      at = (at + 1) & mask;
    slots[at] = slot;
  }
}

void ByteTable::insert(std::string_view key, int32_t number) {
  if (2 * (count + 1) > slots.size())
    grow();
  const uint64_t hash = hashBytes(key);
  size_t at = hash & mask;
  while (slots[at].number >= 0) {
    if (keyOf(slots[at]) == key) {
      slots[at].number = number;
      return;
    }
    at = (at + 1) & mask;
  }
  slots[at] = {static_cast<uint32_t>(hash >> 32), number, static_cast<uint32_t>(keys.size()),
               static_cast<uint32_t>(key.size())};
  keys += key;
  ++count;
}

void MergeTable::reserve(size_t pairs) {
  size_t size = 2;
  while (size < 2 * pairs + 2)
    size *= 2;
  slots.assign(size, {});
  mask = size - 1;
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = keyOf(left, right);
  size_t at = mixHash(key, 0) & mask;
  while (slots[at].key != none && slots[at].key != key)
    at = (at + 1) & mask;
  slots[at] = {key, merge};
}

} // namespace vx::text
