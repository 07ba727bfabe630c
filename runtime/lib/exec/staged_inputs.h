// The inputs of one run: checked against the signature, and brought to where its program reads them.
#ifndef VX_RUNTIME_EXEC_STAGED_INPUTS_H
#define VX_RUNTIME_EXEC_STAGED_INPUTS_H

#include "exec/instance.h"
#include "exec/registers.h"
#include "exec/result_places.h"
#include "exec/string_pool.h"

namespace vx {

// Keeps the memory that inputs are copied to from run to run. Thread-compatible. The instance outlives it.
class StagedInputs {
public:
  // Checks the inputs, and the places of results, and finds the version of the function that fits them. Keeps the
  // values until `clear`.
  Status bind(Instance &instance, uint32_t function, std::span<Value *const> inputs,
              std::span<const ResultPlace> places);
  // Brings what has been bound to the device. What is copied is queued in `stream`.
  Status place(Instance &instance, uint32_t function, hal::Stream &stream);
  // Forgets the run. No work may use its inputs any more.
  void clear();

  // Hands out what is kept for the next run.
  void takeIdleMemory(std::vector<Ref<hal::Memory>> &memory);

  size_t entry() const { return entryIndex; }
  std::span<const int64_t> symbols() const { return symbolValues; }
  // Those of this run.
  StringPool &strings() { return pool; }
  const Ref<Value> &value(size_t input) const { return values[input]; }
  std::span<Value *const> pointers() const { return valuePointers; }
  // What the registers of a program begin as.
  void fill(Registers &registers) const;

private:
  Status placeTensor(Instance &instance, const Value &value, BufferRegister &place, Ref<hal::Memory> *cache,
                     hal::Stream &stream);

  // The numbers of strings.
  Status placeStrings(Instance &instance, const Value &value, BufferRegister &place, Ref<hal::Memory> *cache,
                      hal::Stream &stream);
  // Memory for a copy of `size` bytes.
  Status placeCopy(Instance &instance, uint64_t size, BufferRegister &place, Ref<hal::Memory> *cache);

  std::vector<Ref<Value>> values;
  std::vector<Value *> valuePointers;
  std::vector<int64_t> symbolValues;
  size_t entryIndex = 0;
  std::vector<BufferRegister> buffers;  // of the tensors
  std::vector<Ref<List>> lists;         // of the sequences and optionals
  std::vector<Ref<hal::Memory>> memory; // of this run
  StringPool pool;
  std::vector<Ref<hal::Memory>> copies; // per input: where host bytes are copied to, for the next run too
};

} // namespace vx

#endif
