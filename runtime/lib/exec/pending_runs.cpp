#include "exec/pending_runs.h"

#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace vx {

PendingRuns::~PendingRuns() {
  if (!worker.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  worker.join();
}

Status PendingRuns::takeSlot(PendingRun &run) {
  std::unique_lock lock(mutex);
  for (;;) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (!slots[i].user) {
        slots[i].user = &run;
        run.slot = i;
        return okStatus();
      }
    if (started.empty())
      return failure(VX_INVALID_ARGUMENT, "{} runs of the call are held; start or release one of them", slots.size());
    changed.wait(lock);
  }
}

// What may still be uploaded must be done. What is kept for later goes too, since others may need the room.
void PendingRuns::giveUp(PendingRun &run) {
  Slot &slot = slots[run.slot];
  if (slot.stream)
    (void)slot.stream->wait().ok();
  slot.inputs.clear();
  std::vector<Ref<hal::Memory>> dropped;
  slot.inputs.takeIdleMemory(dropped);
  {
    std::lock_guard lock(mutex);
    slots[run.slot].user = nullptr;
  }
  changed.notify_all();
}

Status PendingRuns::stageInputs(Slot &slot, std::span<Value *const> inputs, std::span<const ResultPlace> places) {
  if (!slot.stream)
    VX_RETURN_IF_ERROR(instance.device().createStream(slot.stream));
  VX_RETURN_IF_ERROR(slot.inputs.bind(instance, state.function(), inputs, places));
  Status status = slot.inputs.place(instance, state.function(), *slot.stream);
  if (status.ok())
    return status;
  Status idle = slot.stream->wait();
  return instance.context()->noted(
      idle.code() == VX_DEVICE_LOST && status.code() != VX_DEVICE_LOST ? std::move(idle) : std::move(status));
}

Status PendingRuns::submit(std::span<Value *const> inputs, std::vector<ResultPlace> places, bool hold,
                           PendingRun &run) {
  if (state.hasCallersStream())
    return failure(VX_UNSUPPORTED,
                   "the call works in a stream of the caller's, in whose order nothing can be submitted");
  VX_RETURN_IF_ERROR(takeSlot(run));
  Slot &slot = slots[run.slot];
  Status status;
  try {
    status = stageInputs(slot, inputs, places);
  } catch (const std::bad_alloc &) {
    status = Status(VX_OUT_OF_MEMORY, "the system has no more memory");
  }
  if (status.ok()) {
    run.places = std::move(places);
    run.stage = PendingRun::Stage::Held;
    if (hold || (status = start(run)).ok())
      return status;
    run.stage = PendingRun::Stage::New;
  }
  giveUp(run);
  return status;
}

Status PendingRuns::checkStream() const {
  if (!state.hasCallersStream())
    return okStatus();
  return failure(VX_UNSUPPORTED, "the call works in a stream of the caller's, in whose order nothing can be submitted");
}

Status PendingRuns::start(PendingRun &run) {
  VX_RETURN_IF_ERROR(checkStream());
  {
    std::lock_guard lock(mutex);
    if (run.stage != PendingRun::Stage::Held)
      return failure(VX_INVALID_ARGUMENT, "the run {} before",
                     run.code == VX_CANCELLED ? "was cancelled" : "has been started");
    if (!worker.joinable()) {
      try {
        worker = std::thread([this] { work(); });
      } catch (const std::system_error &error) {
        return failure(VX_OUT_OF_MEMORY, "cannot start a thread: {}", error.code().message());
      }
    }
    if (run.deadline > 0)
      run.stop.setDeadline(run.deadline);
    try {
      // In one order for all: a run that comes after another one here does so for the variables.
      run.ticket = instance.queueVariables(slots[run.slot].inputs.entry());
      started.push_back(&run);
    } catch (const std::bad_alloc &) {
      run.ticket = {};
      return Status(VX_OUT_OF_MEMORY, "the system has no more memory");
    }
    run.stage = PendingRun::Stage::Started;
  }
  changed.notify_all();
  return okStatus();
}

Status PendingRuns::finish(PendingRun &run) {
  Slot &slot = slots[run.slot];
  try {
    // What was uploaded for it.
    VX_RETURN_IF_ERROR(instance.context()->noted(slot.stream->wait()));
    return state.runStaged(slot.inputs, run.ticket, run.outputs, run.places, run.stop);
  } catch (const std::bad_alloc &) {
    return Status(VX_OUT_OF_MEMORY, "the system has no more memory");
  } catch (const std::exception &error) {
    return Status(VX_INTERNAL, error.what());
  }
}

void PendingRuns::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return isEnding || !started.empty(); });
    if (started.empty())
      return;
    PendingRun &run = *started.front();
    lock.unlock();
    const Status status = finish(run);
    run.ticket = {};
    slots[run.slot].inputs.clear();
    // What is too much would be missing in a smaller run.
    if (status.code() == VX_OUT_OF_MEMORY)
      dropIdleMemory();
    if (run.whenDone)
      run.whenDone(status, run.outputs);
    lock.lock();
    run.code = status.code();
    run.message = status.message();
    run.stage = PendingRun::Stage::Done;
    slots[run.slot].user = nullptr;
    started.pop_front();
    changed.notify_all();
  }
}

Status PendingRuns::wait(PendingRun &run, std::vector<Ref<Value>> &outputs) {
  std::unique_lock lock(mutex);
  if (run.stage == PendingRun::Stage::Held)
    return failure(VX_INVALID_ARGUMENT, "the run is held and has not been started");
  changed.wait(lock, [&] { return run.stage == PendingRun::Stage::Done; });
  return takeOutputs(run, outputs);
}

Status PendingRuns::takeOutputs(const PendingRun &run, std::vector<Ref<Value>> &outputs) const {
  outputs = run.outputs;
  return run.code == VX_OK ? okStatus() : Status(run.code, run.message);
}

Status PendingRuns::waitFor(PendingRun &run, uint32_t milliseconds, std::vector<Ref<Value>> &outputs) {
  std::unique_lock lock(mutex);
  if (run.stage == PendingRun::Stage::Held)
    return failure(VX_INVALID_ARGUMENT, "the run is held and has not been started");
  const bool isDone = changed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                                       [&] { return run.stage == PendingRun::Stage::Done; });
  if (!isDone)
    return failure(VX_TIMED_OUT, "the run is not done after {} ms; it goes on", milliseconds);
  return takeOutputs(run, outputs);
}

void PendingRuns::cancel(PendingRun &run) {
  {
    std::lock_guard lock(mutex);
    run.stop.cancel();
    if (run.stage != PendingRun::Stage::Held)
      return;
    const Status status = run.stop.check();
    run.code = status.code();
    run.message = status.message();
    run.stage = PendingRun::Stage::Done;
  }
  giveUp(run);
  if (run.whenDone)
    run.whenDone(Status(run.code, run.message), {});
}

void PendingRuns::drop(PendingRun &run) {
  std::unique_lock lock(mutex);
  if (run.stage == PendingRun::Stage::Held) {
    run.stage = PendingRun::Stage::Done;
    lock.unlock();
    giveUp(run);
    if (run.whenDone)
      run.whenDone(Status(VX_CANCELLED, "the run was held, and was released before it was started"), {});
    return;
  }
  changed.wait(lock, [&] { return run.stage != PendingRun::Stage::Started; });
}

void PendingRuns::waitForAll() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return started.empty(); });
}

void PendingRuns::dropIdleMemory() {
  std::vector<Ref<hal::Memory>> dropped; // outlives the lock
  std::lock_guard lock(mutex);
  for (Slot &slot : slots)
    if (!slot.user)
      slot.inputs.takeIdleMemory(dropped);
}

} // namespace vx
