// Who reads and writes variables: a call waits for those before it that write what it reads, or touch what it writes,
// and for nobody else.
#ifndef VX_RUNTIME_EXEC_VARIABLE_ACCESSES_H
#define VX_RUNTIME_EXEC_VARIABLE_ACCESSES_H

#include "hal/device.h"

#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

namespace vx {

// The bytes of variables that somebody reads and writes. Variables may share bytes, so bytes are compared, not names.
class AccessSet {
public:
  void read(const hal::BufferView &bytes) { add(reads, bytes); }
  void write(const hal::BufferView &bytes) { add(writes, bytes); }

  bool empty() const { return reads.empty() && writes.empty(); }
  bool conflictsWith(const AccessSet &other) const;

private:
  struct Range {
    const hal::Memory *memory;
    uint64_t begin;
    uint64_t end;
  };
  // Ranges in order, without any that overlap.
  using Ranges = std::vector<Range>;

  static void add(Ranges &ranges, const hal::BufferView &bytes);
  static bool overlap(const Ranges &a, const Ranges &b);

  Ranges reads;
  Ranges writes;
};

// Shared by all instances that share variables. Thread-safe.
class VariableAccesses {
  using Queue = std::list<const AccessSet *>;

public:
  // The right to access what a set says, until it is destroyed, on any thread.
  class Ticket {
  public:
    Ticket() = default;
    Ticket(Ticket &&other) noexcept : owner(std::exchange(other.owner, nullptr)), place(other.place) {}
    Ticket &operator=(Ticket &&other) noexcept {
      std::swap(owner, other.owner);
      std::swap(place, other.place);
      return *this;
    }
    ~Ticket() {
      if (owner)
        owner->giveBack(place);
    }

  private:
    friend class VariableAccesses;
    VariableAccesses *owner = nullptr;
    Queue::iterator place;
  };

  // Waits for the tickets that were asked for before and conflict. Tickets are given in the order in which they were
  // asked for, so nobody waits for ever, and all of a set at once, so nobody waits in a circle. `set` outlives the
  // ticket.
  Ticket take(const AccessSet &set);

private:
  void giveBack(Queue::iterator place);

  std::mutex mutex;
  std::condition_variable changed;
  Queue queue; // held or waited for, in order
};

} // namespace vx

#endif
