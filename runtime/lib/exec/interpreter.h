// Runs the instructions of a program. module.fbs says what each one does.
#ifndef VX_RUNTIME_EXEC_INTERPRETER_H
#define VX_RUNTIME_EXEC_INTERPRETER_H

#include "exec/call_state.h"

namespace vx {

// One run of one program in a call's state. Does not wait at the end.
class Interpreter {
public:
  Interpreter(CallState &call, const Program &program, CallState::ProgramState &state)
      : call(call), loaded(call.loaded), program(program), state(state), registers(state.registers) {}

  Status run() { return runBlock(program.body); }

  // Says of a failure what stays nevertheless: the iterations of loops that commit.
  Status nameCommitted(Status status) const;

  // Waits, and fails when a kernel has reported a fault.
  Status checkFaults();

  // Collects the results. Queues copies of those that the call does not own.
  Status result(const Argument &output, const Result &result, Ref<Value> &value);
  // Queues a copy of a tensor result that may go away when other results are written: of an input, say.
  Status own(const Result &result);
  // Copies a result to memory of the caller, unless it is there already. All work is done, and without a fault.
  Status resultTo(const Argument &output, const Result &result, const ResultPlace &place, Ref<Value> &value);
  Status result(const Derived &output, const Result &result, KeptBuffer &buffer);

private:
  Status runBlock(const Block &block);
  Status runInstruction(const Instruction &instruction);
  Status runLoop(const Instruction &instruction);
  Status runArithmetic(const Instruction &instruction);
  Status runBufferOp(const Instruction &instruction);
  Status runListOp(const Instruction &instruction);
  Status runSegment(const Instruction &instruction);
  // Whether a command writes bytes of a variable, or one may write those of an input.
  bool overwritesWhatWas(const Instruction &instruction) const;
  // Replays the commands one at a time and shows each dispatch to the call's observer.
  Status replayObserved(const Instruction &instruction, CallState::RecordedSegment &segment);
  Status observe(const Command &command, const hal::CommandArguments &arguments);
  // For what GuardedDevice says.
  void noteUsers(const Command &command, const hal::CommandArguments &arguments);
  void countWork(const Command &command, const hal::CommandArguments &arguments, int64_t nanoseconds);
  Status recordSegment(const Instruction &instruction, CallState::RecordedSegment &segment);
  // `fits`: whether the kernel's sizes have been compared with what `arguments` still holds.
  Status fillCommand(const Command &command, hal::CommandArguments &arguments, uint8_t &fits);
  Status readI64(const Instruction &instruction);
  Status readInput(const Instruction &instruction);
  Status listInsert(const Instruction &instruction);
  Status listGet(const Instruction &instruction);
  Status hostCall(const Instruction &instruction);
  // The list of `source` to be changed for `target`, counted with `count` elements: itself where nothing else has it or
  // reads it any more, so that a loop that appends is not quadratic; else a copy.
  Status ownList(uint32_t target, uint32_t source, size_t count, Ref<List> &list);
  // Whether what follows in the block overwrites an object register before anything reads it.
  bool isOverwritten(uint32_t object) const;
  // What counts the host memory of the call; null while a module is loaded.
  InstanceMemory *hostMemory() const { return call.instance ? &call.instance->memory() : nullptr; }

  int64_t &i64(uint32_t index) { return registers.i64[index]; }
  Status viewOf(uint32_t index, hal::BufferView &view) const;
  Status listOf(uint32_t index, List *&list) const;
  Status allocate(uint64_t size, Ref<hal::Memory> &memory);
  uint64_t retiredBytes(const hal::Memory &memory) const;
  Status setBuffer(uint32_t index, BufferRegister value);
  Status setObject(uint32_t index, Ref<List> list);
  Status drainRetired();
  // A buffer that the program's results or lists may keep: `source` itself when it is owned, else a copy.
  Status keep(const BufferRegister &source, uint64_t size, BufferRegister &kept);
  Status outOfRange(const Instruction &instruction, std::string_view what, int64_t value, int64_t lower, int64_t upper);
  Status faultAt(uint32_t site, std::string_view place, int64_t value, int64_t lower, int64_t upper) const;
  Status tensorValue(const Argument &output, std::vector<int64_t> dims, const BufferRegister &buffer,
                     Ref<Value> &value);
  Status stringsValue(const Argument &output, std::span<const int64_t> dims, const BufferRegister &buffer,
                      uint64_t size, Ref<Value> &value);
  // The bytes of a result of these dims, which `buffer` must have.
  Status tensorSize(const Argument &output, std::span<const int64_t> dims, const BufferRegister &buffer,
                    uint64_t &size);

  CallState &call;
  const DeviceModule &loaded;
  const Program &program;
  CallState::ProgramState &state;
  Registers &registers;
  struct Committed {
    uint32_t site;
    int64_t iterations;
  };
  bool mustGoOn = false;                  // of runs that may be ended: variables or inputs have been overwritten
  std::vector<Committed> committed;       // in the order in which the loops began
  std::span<const Instruction> following; // the one that runs, in its block
};

} // namespace vx

#endif
