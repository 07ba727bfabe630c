#include "exec/variable_accesses.h"

#include <algorithm>
#include <functional>

namespace vx {

// By memory, then by place.
static bool isBefore(const hal::Memory *a, uint64_t aPlace, const hal::Memory *b, uint64_t bPlace) {
  return a == b ? aPlace < bPlace : std::less<>()(a, b);
}

void AccessSet::add(Ranges &ranges, const hal::BufferView &bytes) {
  if (bytes.size == 0)
    return;
  Range range = {bytes.memory, bytes.offset, bytes.offset + bytes.size};
  // The first that ends at the new one's begin or behind it, and all that touch it become one.
  auto first = std::lower_bound(ranges.begin(), ranges.end(), range, [](const Range &a, const Range &b) {
    return isBefore(a.memory, a.end, b.memory, b.begin);
  });
  auto last = first;
  for (; last != ranges.end() && last->memory == range.memory && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  ranges.insert(ranges.erase(first, last), range);
}

bool AccessSet::overlap(const Ranges &a, const Ranges &b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (x->memory == y->memory && x->begin < y->end && y->begin < x->end)
      return true;
    ++(isBefore(x->memory, x->end, y->memory, y->end) ? x : y);
  }
  return false;
}

bool AccessSet::conflictsWith(const AccessSet &other) const {
  return overlap(writes, other.writes) || overlap(writes, other.reads) || overlap(reads, other.writes);
}

VariableAccesses::Ticket VariableAccesses::take(const AccessSet &set) {
  Ticket ticket;
  if (set.empty())
    return ticket;
  std::unique_lock lock(mutex);
  ticket.place = queue.insert(queue.end(), &set);
  ticket.owner = this;
  changed.wait(lock, [&] {
    return std::none_of(queue.begin(), ticket.place,
                        [&](const AccessSet *earlier) { return earlier->conflictsWith(set); });
  });
  return ticket;
}

void VariableAccesses::giveBack(Queue::iterator place) {
  {
    std::lock_guard lock(mutex);
    queue.erase(place);
  }
  changed.notify_all();
}

} // namespace vx
