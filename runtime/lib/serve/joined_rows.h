// Rows of requests that wait for a device, joined by the threads that submit them.
#ifndef VX_SERVE_JOINED_ROWS_H
#define VX_SERVE_JOINED_ROWS_H

#include "batch_queue.h"

#include "vx/runtime/vx.hpp"

#include <deque>
#include <functional>

namespace vx::serve {

// Memory for so many bytes of a batch. Throws std::bad_alloc or vx::Error where there is none.
using RowMemory = std::function<std::shared_ptr<std::byte>(size_t size)>;

// The bytes of a tensor that one row has; 0 without rows.
size_t rowBytes(const Value &value);

// The inputs of a batch to come. A place is given at once, and its rows are copied by any thread that has time.
// Thread-safe.
class JoinedRows {
public:
  // For inputs like `inputs`, of which `isJoined` says which have rows, up to `capacity` of them.
  JoinedRows(std::span<const Value> inputs, std::vector<bool> isJoined, size_t capacity, RowMemory memory);

  // Gives a request the rows after all others; the first of them. Nothing where there is no room for them, or a batch
  // has been taken. Copies nothing.
  std::optional<size_t> place(std::span<const Value> inputs, size_t rows);
  // Copies what has a place and is in no other thread's hands.
  void copy() noexcept;
  // The inputs of the first `rows` rows, when all are there: those that are not joined are the first request's.
  // Nothing where these are not the rows of all `requests` that have a place, or where there was no memory. Nobody gets
  // a place any more.
  std::optional<std::vector<Value>> take(size_t requests, size_t rows);

private:
  struct Part {
    std::vector<Value> inputs; // of one request, until they are copied
    size_t row;                // the first one
  };
  // Where the rows of an input are.
  struct Joined {
    std::shared_ptr<std::byte> bytes; // null: the input is not joined
    size_t rowBytes = 0;
  };
  // With the lock, which is free while it copies. False: nothing was left to do.
  bool copyNext(std::unique_lock<std::mutex> &guard);
  void allocate();

  const std::vector<Value> first;
  const std::vector<bool> isJoined;
  const size_t capacity;
  const RowMemory memory;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Part> parts; // a part stays where it is when others come
  std::vector<Joined> inputs;
  size_t placedRows = 0, begun = 0, done = 0; // parts that are copied or will be
  bool isTaken = false, isBroken = false, isAllocating = false;
};

// Joins the jobs of a queue that are a model's calls, see TensorJob.
class RowJoiner final : public BatchJoiner {
public:
  RowJoiner(std::vector<bool> isJoined, RowMemory memory);
  bool place(BatchJob &before, BatchJob &job, size_t mostRows) override;
  void join(BatchJob &job) override;

private:
  // Fewer bytes are copied by the time in which they are given a place.
  static constexpr size_t leastRowBytes = 4096;
  // Of one batch. Requests with more are joined when they run.
  static constexpr size_t mostBytes = size_t(256) << 20;

  const std::vector<bool> isJoined;
  const RowMemory memory;
};

} // namespace vx::serve

#endif
