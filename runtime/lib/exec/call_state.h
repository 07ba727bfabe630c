// A place to run calls of one function in: registers, arena, stream and recorded segments, kept from run to run.
#ifndef VX_RUNTIME_EXEC_CALL_STATE_H
#define VX_RUNTIME_EXEC_CALL_STATE_H

#include "base/stop_request.h"
#include "exec/instance.h"
#include "exec/registers.h"
#include "exec/schedule_check.h"
#include "exec/staged_inputs.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>

namespace vx {

class Interpreter;

// Thread-compatible. The instance, or what is being loaded, outlives it.
class CallState {
public:
  static Status create(Instance &instance, uint32_t function, std::unique_ptr<CallState> &result);
  // A place for `deriveAtLoad` only, while a module is loaded on a device.
  static Status createForLoad(const DeviceModule &loaded, std::unique_ptr<CallState> &result);
  ~CallState();

  uint32_t function() const { return functionIndex; }

  // Runs the function and waits. On failure `outputs` is empty and the state is ready for the next run.
  // `places` is one for each output, or empty: a result that has one is written there, and its value reads it there.
  Status run(std::span<Value *const> inputs, std::vector<Ref<Value>> &outputs,
             std::span<const ResultPlace> places = {});

  // The same with inputs that have been bound and placed, whose uploads are done, by who has the turn of the ticket
  // from Instance::queueVariables; gives the ticket back.
  // Ends early where `stop` asks for it.
  Status runStaged(StagedInputs &inputs, VariableAccesses::Ticket &ticket, std::vector<Ref<Value>> &outputs,
                   std::span<const ResultPlace> places, const StopRequest &stop);

  // Computes a derived constant and waits.
  Status deriveAtLoad(const Derived &derived, KeptBuffer &result);

  void setProfile(bool on) { profile = on; }
  // Is shown each dispatch: `info` without its outputs, and these.
  // `replacements` are null at first, one for each output; what is put there is written over the output.
  using Observer = std::function<void(const vx_dispatch_info &info, std::span<const Ref<Value>> outputs,
                                      std::span<Ref<Value>> replacements)>;
  void setObserver(Observer function) { observer = std::move(function); }

  // See vx_call_set_stream.
  Status setStream(void *handle);
  bool hasCallersStream() const { return isCallersStream; }

  // Back to what a new one is, for the next user of the place. False when that fails and nobody may have it.
  bool reset();

  // Hands out what is kept for the next run and can be allocated again.
  void takeIdleMemory(std::vector<Ref<hal::Memory>> &memory);

  // See vx_call_report and vx_call_trace.
  Status report(std::string &json) const;
  Status trace(std::string &json) const;

private:
  friend class Interpreter;

  // A segment of a program, recorded on its first run.
  struct RecordedSegment {
    Ref<hal::CommandList> list;
    std::vector<hal::CommandArguments> arguments;
    std::vector<hal::BufferView> views;
    std::vector<int64_t> scalars;
    std::vector<int64_t> timings;
    std::vector<uint8_t> fits;                 // of each dispatch: its last sizes are what the kernel asks for
    std::vector<Ref<hal::CommandList>> single; // each command alone, for observed runs
  };
  struct ProgramState {
    bool ready = false;
    Registers registers;
    std::vector<RecordedSegment> segments;
    // What the one allocation that is put into a buffer register gives in this run: memory of the caller's, or of an
    // input, which is the result's from then on.
    struct Given {
      Ref<hal::Memory> memory;
      bool isCallers = true;
      bool overwritesInput = false;
    };
    std::vector<Given> given; // by buffer register; empty: there is none
  };
  // Of all dispatches of a kernel in a run.
  struct KernelStatistics {
    uint64_t count = 0;
    std::optional<int64_t> nanoseconds; // nothing when the device did not time one
    std::optional<int64_t> flops;       // nothing when the module does not state them
    std::optional<int64_t> bytes;
  };
  // One dispatch of a run, in nanoseconds behind the run's begin.
  struct DispatchTime {
    const Command *command;
    int64_t begin;
    int64_t nanoseconds; // -1: the device did not time it
  };
  // What the last run did.
  struct Statistics {
    bool any = false;
    std::chrono::steady_clock::time_point begin;
    size_t entry = 0;
    double totalMilliseconds = 0;
    double uploadMilliseconds = 0;
    uint64_t dispatches = 0;
    uint64_t replays = 0;
    uint64_t hostCalls = 0; // tensors that went to the host and back, and their bytes
    uint64_t hostBytes = 0;
    uint64_t derived = 0;                  // values computed before the program ran
    std::vector<KernelStatistics> kernels; // of a profiled run
    std::vector<DispatchTime> times;       // likewise
  };

  CallState(const DeviceModule &loaded, Instance *instance, uint32_t function)
      : loaded(loaded), instance(instance), functionIndex(function) {}

  // Memory that is the instance's; while a module is loaded, nobody's.
  Status allocate(uint64_t size, Ref<hal::Memory> &memory);
  static void prepare(const Program &program, ProgramState &state);
  // Where a program allocates a result once and for all, it gets the result's place itself, if the device can, or the
  // memory of the input that it takes over.
  Status placeResults(const Program &program, ProgramState &state, std::span<Value *const> inputs,
                      std::span<const ResultPlace> places);
  BufferRegister &inputRegister(ProgramState &state, size_t input) const;
  // Runs with inputs that are bound; places them unless that is done. `ready` is what has failed before.
  using Clock = std::chrono::steady_clock;
  Status finish(StagedInputs &inputs, bool arePlaced, Clock::time_point begin, Status ready, uint64_t derived,
                std::vector<Ref<Value>> &outputs, std::span<const ResultPlace> places);
  Status execute(Interpreter &interpreter, const Program &program, std::vector<Ref<Value>> &outputs,
                 std::span<const ResultPlace> places);
  Status execute(const Program &program, ProgramState &state, std::vector<Ref<Value>> &outputs,
                 std::span<const ResultPlace> places);
  // Gets the right to run the program of an entry, when the derived values that it reads are those of its variables.
  Status takeVariables(size_t entry, VariableAccesses::Ticket &ticket, uint64_t &computed);
  // With a ticket to compute them.
  Status deriveForEntry(size_t entry, VariableAccesses::Ticket &ticket, uint64_t &computed);
  Status deriveAnew(size_t index);
  // Computes a derived value and waits. Where the program allocates its result once, that is `result` itself, if it has
  // memory.
  Status derive(const Derived &derived, ProgramState &state, KeptBuffer &result);
  // What was queued before a failure may still use the program's memory. Gives the error to report.
  Status waitAfter(Status failed);
  // Forgets what only the last run needed. The stream must be idle.
  void clear(ProgramState &state);

  const DeviceModule &loaded;
  Instance *instance; // null while a module is loaded
  uint32_t functionIndex;
  Ref<hal::Stream> stream;
  std::vector<ProgramState> programs;             // by entry of the target
  std::map<size_t, ProgramState> derivedPrograms; // by derived value, those that this place has computed
  StagedInputs ownInputs;                         // of runs that nobody staged
  StagedInputs *inputs = nullptr;                 // of this run
  const StopRequest *stop = nullptr;              // of this run; null: nobody can end it
  bool isCallersStream = false;
  Ref<hal::Memory> arena;
  bool arenaHasViews = false;              // in this run
  std::vector<Ref<hal::Memory>> oldArenas; // outgrown in this run
  Retired retired;
  bool profile = false;
  Observer observer;
  Statistics statistics;
  std::unique_ptr<ScheduleCheck> check = ScheduleCheck::fromEnvironment();
};

} // namespace vx

#endif
