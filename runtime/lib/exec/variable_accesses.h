// Who reads and writes variables, and what is derived from them: a call waits for those before it that write what it
// reads, or touch what it writes, and for nobody else.
#ifndef VX_RUNTIME_EXEC_VARIABLE_ACCESSES_H
#define VX_RUNTIME_EXEC_VARIABLE_ACCESSES_H

#include "base/stop_request.h"
#include "hal/device.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace vx {

// How often a variable has been written, or may have been. Guarded by its VariableAccesses.
struct VariableVersion {
  uint64_t writes = 0;
};

// Of what a derived value has been computed, in numbers. Guarded by its VariableAccesses.
class DerivedVersion {
public:
  // `sources` are those of the variables that decide the value: at least one.
  explicit DerivedVersion(std::vector<std::shared_ptr<const VariableVersion>> sources) : sources(std::move(sources)) {}

private:
  friend class VariableAccesses;

  bool isFresh() const;

  const std::vector<std::shared_ptr<const VariableVersion>> sources;
  std::vector<uint64_t> writes; // of each source when the value was computed; empty: there is none
  uint64_t lastUse = 0;         // by the count of uses of all values
};

// The bytes of variables, and the derived values, that somebody reads and writes. Variables may share bytes, so bytes
// are compared, not names.
class AccessSet {
public:
  void read(const hal::BufferView &bytes) { add(reads, {bytes.memory, bytes.offset, bytes.offset + bytes.size}); }
  void write(const hal::BufferView &bytes) { add(writes, {bytes.memory, bytes.offset, bytes.offset + bytes.size}); }

  // A derived value is a thing of its own; its memory comes with its first value.
  void read(DerivedVersion &derived) {
    add(reads, {&derived, 0, 1});
    derivedRead.push_back(&derived);
  }
  void write(const DerivedVersion &derived) { add(writes, {&derived, 0, 1}); }

  // A variable that has bytes among those that are written.
  void change(VariableVersion &variable) { changed.push_back(&variable); }

  bool empty() const { return reads.empty() && writes.empty(); }
  bool conflictsWith(const AccessSet &other) const;
  bool has(const DerivedVersion &derived) const;

private:
  friend class VariableAccesses;

  struct Range {
    const void *of; // a memory or a derived value
    uint64_t begin;
    uint64_t end;
  };
  // Ranges in order, without any that overlap.
  using Ranges = std::vector<Range>;

  static void add(Ranges &ranges, Range range);
  static bool overlap(const Ranges &a, const Ranges &b);

  Ranges reads;
  Ranges writes;
  std::vector<DerivedVersion *> derivedRead;
  std::vector<VariableVersion *> changed;
};

// Shared by all instances that share variables. Thread-safe.
class VariableAccesses {
  struct Place {
    const AccessSet *set;
    bool isHeld; // else somebody waits for it
  };
  using Queue = std::list<Place>;

public:
  // The right to access what a set says, until it is destroyed, on any thread. What was written, or may have been, is
  // another version of its variables then.
  class Ticket {
  public:
    Ticket() = default;
    Ticket(Ticket &&other) noexcept
        : owner(std::exchange(other.owner, nullptr)), place(other.place), derivedIsFresh(other.derivedIsFresh) {}
    Ticket &operator=(Ticket &&other) noexcept {
      std::swap(owner, other.owner);
      std::swap(place, other.place);
      std::swap(derivedIsFresh, other.derivedIsFresh);
      return *this;
    }
    ~Ticket() {
      if (owner)
        owner->giveBack(place);
    }

    // Waits for the tickets that were asked for before this one and conflict with it; before that it is only a place in
    // their order.
    void await();
    // The same, unless `stop` asks for an end before: then the ticket is of no use but to be given back.
    Status await(const StopRequest &stop);

    // Whether the derived values that the set reads were all computed from the variables as they were when the ticket
    // was given. They stay as they are while it is held.
    bool isFresh() const { return derivedIsFresh; }

    // Gives up what `less` does not say, which is a part of the ticket's set and outlives it.
    void reduceTo(const AccessSet &less);

  private:
    friend class VariableAccesses;
    bool isNext() const;
    void hold();

    VariableAccesses *owner = nullptr;
    Queue::iterator place;
    bool derivedIsFresh = true;
  };

  // Waits for the tickets that were asked for before and conflict. Tickets are given in the order in which they were
  // asked for, so nobody waits for ever, and all of a set at once, so nobody waits in a circle. `set` outlives the
  // ticket.
  Ticket take(const AccessSet &set) {
    Ticket ticket = ask(set);
    ticket.await();
    return ticket;
  }
  // The same for who awaits it later, on any thread.
  Ticket ask(const AccessSet &set);

  // Whether a variable has been written since the first instance was made.
  void noteWritten() { isWritten.store(true, std::memory_order_release); }
  bool hasWritten() const { return isWritten.load(std::memory_order_acquire); }

  bool isFresh(const DerivedVersion &derived);
  // By who has the right to write the value and to read its variables.
  void noteComputed(DerivedVersion &derived);

  // Shows `drop` the indices of those of `values` that no ticket which is held reads or writes, the least recently used
  // first, and computes anew, before somebody reads them, as many of the first of them as it answers. It may drop their
  // memory: nobody gets a ticket before it returns.
  void dropUnused(std::span<DerivedVersion *const> values,
                  const std::function<size_t(std::span<const size_t> unused)> &drop);

private:
  void giveBack(Queue::iterator place);

  std::mutex mutex;
  std::condition_variable changed;
  Queue queue; // in the order in which they were asked for
  uint64_t uses = 0;
  std::atomic<bool> isWritten = false;
};

} // namespace vx

#endif
