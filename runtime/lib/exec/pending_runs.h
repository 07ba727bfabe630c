// Runs of one place that go on beside the threads that asked for them, one after the other.
#ifndef VX_RUNTIME_EXEC_PENDING_RUNS_H
#define VX_RUNTIME_EXEC_PENDING_RUNS_H

#include "base/stop_request.h"
#include "exec/call_state.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace vx {

// One run: its inputs wait in a slot until it is done, its results in here until somebody asks for them. It is dropped
// before it goes.
class PendingRun {
public:
  uint32_t deadline = 0; // milliseconds from the start on; 0: none
  // Is called once when the run is done, before a wait for it ends; may be empty.
  std::function<void(const Status &status, std::span<const Ref<Value>> outputs)> whenDone;

private:
  friend class PendingRuns;
  enum class Stage { New, Held, Started, Done };

  Stage stage = Stage::New;
  size_t slot = 0;
  std::vector<ResultPlace> places;
  VariableAccesses::Ticket ticket;
  StopRequest stop;
  vx_code code = VX_OK;
  std::string message;
  std::vector<Ref<Value>> outputs;
};

// A thread of its own does what has been started, in that order. The inputs of a run are brought to the device by the
// thread that submits it, through a stream of their own, while earlier runs go on. Two runs have inputs at a time.
//
// `submit` is for one thread at a time; the others are thread-safe.
class PendingRuns {
public:
  // Both outlive it.
  PendingRuns(Instance &instance, CallState &state) : instance(instance), state(state) {}
  // All runs have been dropped.
  ~PendingRuns();

  // Waits where two runs have inputs and one of them is going on.
  Status submit(std::span<Value *const> inputs, std::vector<ResultPlace> places, bool hold, PendingRun &run);
  Status start(PendingRun &run);
  // The same each time.
  Status wait(PendingRun &run, std::vector<Ref<Value>> &outputs);
  // For so long at the most.
  Status waitFor(PendingRun &run, uint32_t milliseconds, std::vector<Ref<Value>> &outputs);
  // See vx_call_cancel.
  void cancel(PendingRun &run);
  // Forgets what is held, and waits for what has been started.
  void drop(PendingRun &run);

  // Waits until nothing is started that is not done. What is held stays.
  void waitForAll();
  // Frees what runs that are done keep for the next ones.
  void dropIdleMemory();

private:
  struct Slot {
    PendingRun *user = nullptr;
    StagedInputs inputs;
    Ref<hal::Stream> stream;
  };

  Status checkStream() const;
  Status takeSlot(PendingRun &run);
  void giveUp(PendingRun &run);
  Status stageInputs(Slot &slot, std::span<Value *const> inputs, std::span<const ResultPlace> places);
  Status finish(PendingRun &run);
  Status takeOutputs(const PendingRun &run, std::vector<Ref<Value>> &outputs) const;
  void work();

  Instance &instance;
  CallState &state;
  std::mutex mutex;
  std::condition_variable changed;
  std::array<Slot, 2> slots;
  std::deque<PendingRun *> started; // the first one goes on
  bool isEnding = false;
  std::thread worker;
};

} // namespace vx

#endif
