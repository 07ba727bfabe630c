#include "exec/variable_accesses.h"

#include <algorithm>
#include <functional>

namespace vx {

// By what the bytes are of, then by place.
static bool isBefore(const void *a, uint64_t aPlace, const void *b, uint64_t bPlace) {
  return a == b ? aPlace < bPlace : std::less<>()(a, b);
}

bool DerivedVersion::isFresh() const {
  return std::equal(
      sources.begin(), sources.end(), writes.begin(), writes.end(),
      [](const std::shared_ptr<const VariableVersion> &now, uint64_t then) { return now->writes == then; });
}

void AccessSet::add(Ranges &ranges, Range range) {
  if (range.begin == range.end)
    return;
  // The first that ends at the new one's begin or behind it, and all that touch it become one.
  auto first = std::lower_bound(ranges.begin(), ranges.end(), range,
                                [](const Range &a, const Range &b) { return isBefore(a.of, a.end, b.of, b.begin); });
  auto last = first;
  for (; last != ranges.end() && last->of == range.of && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  ranges.insert(ranges.erase(first, last), range);
}

bool AccessSet::overlap(const Ranges &a, const Ranges &b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (x->of == y->of && x->begin < y->end && y->begin < x->end)
      return true;
    ++(isBefore(x->of, x->end, y->of, y->end) ? x : y);
  }
  return false;
}

bool AccessSet::conflictsWith(const AccessSet &other) const {
  return overlap(writes, other.writes) || overlap(writes, other.reads) || overlap(reads, other.writes);
}

bool AccessSet::has(const DerivedVersion &derived) const {
  auto isOf = [&](const Range &range) { return range.of == &derived; };
  return std::any_of(reads.begin(), reads.end(), isOf) || std::any_of(writes.begin(), writes.end(), isOf);
}

VariableAccesses::Ticket VariableAccesses::ask(const AccessSet &set) {
  Ticket ticket;
  if (set.empty())
    return ticket;
  std::lock_guard lock(mutex);
  ticket.place = queue.insert(queue.end(), {&set, false});
  ticket.owner = this;
  return ticket;
}

void VariableAccesses::Ticket::await() {
  if (!owner)
    return;
  std::unique_lock lock(owner->mutex);
  owner->changed.wait(lock, [this] { return isNext(); });
  hold();
}

Status VariableAccesses::Ticket::await(const StopRequest &stop) {
  // Nobody wakes who is to stop.
  constexpr std::chrono::milliseconds slice(10);
  if (!owner)
    return stop.check();
  std::unique_lock lock(owner->mutex);
  while (!owner->changed.wait_for(lock, slice, [this] { return isNext(); }))
    VX_RETURN_IF_ERROR(stop.check());
  hold();
  return stop.check();
}

// By who has the lock, as `hold`.
bool VariableAccesses::Ticket::isNext() const {
  return std::none_of(owner->queue.begin(), place,
                      [&](const Place &earlier) { return earlier.set->conflictsWith(*place->set); });
}

void VariableAccesses::Ticket::hold() {
  const AccessSet &set = *place->set;
  place->isHeld = true;
  for (DerivedVersion *derived : set.derivedRead)
    derived->lastUse = ++owner->uses;
  derivedIsFresh = std::all_of(set.derivedRead.begin(), set.derivedRead.end(),
                               [](DerivedVersion *derived) { return derived->isFresh(); });
}

void VariableAccesses::Ticket::reduceTo(const AccessSet &less) {
  if (!owner)
    return;
  {
    std::lock_guard lock(owner->mutex);
    place->set = &less;
  }
  owner->changed.notify_all();
}

bool VariableAccesses::isFresh(const DerivedVersion &derived) {
  std::lock_guard lock(mutex);
  return derived.isFresh();
}

void VariableAccesses::noteComputed(DerivedVersion &derived) {
  std::lock_guard lock(mutex);
  derived.writes.clear();
  for (const std::shared_ptr<const VariableVersion> &source : derived.sources)
    derived.writes.push_back(source->writes);
  derived.lastUse = ++uses;
}

void VariableAccesses::dropUnused(std::span<DerivedVersion *const> values,
                                  const std::function<size_t(std::span<const size_t> unused)> &drop) {
  std::lock_guard lock(mutex);
  std::vector<size_t> unused;
  for (size_t i = 0; i < values.size(); ++i)
    if (std::none_of(queue.begin(), queue.end(),
                     [&](const Place &place) { return place.isHeld && place.set->has(*values[i]); }))
      unused.push_back(i);
  std::sort(unused.begin(), unused.end(), [&](size_t a, size_t b) { return values[a]->lastUse < values[b]->lastUse; });
  const size_t count = drop(unused);
  for (size_t i = 0; i < count; ++i)
    values[unused[i]]->writes.clear();
}

void VariableAccesses::giveBack(Queue::iterator place) {
  {
    std::lock_guard lock(mutex);
    for (VariableVersion *variable : place->set->changed)
      ++variable->writes;
    queue.erase(place);
  }
  changed.notify_all();
}

} // namespace vx
