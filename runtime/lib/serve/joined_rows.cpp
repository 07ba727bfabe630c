#include "joined_rows.h"

#include "tensor_runner.h"

#include <cstring>

namespace vx::serve {

size_t rowBytes(const Value &value) {
  const vx_value_info info = value.info();
  const int64_t rows = info.dims[0];
  return rows > 0 ? static_cast<size_t>(info.size) / static_cast<size_t>(rows) : 0;
}

JoinedRows::JoinedRows(std::span<const Value> like, std::vector<bool> joined, size_t capacity, RowMemory memory)
    : first(like.begin(), like.end()), isJoined(std::move(joined)), capacity(capacity), memory(std::move(memory)),
      inputs(first.size()) {}

std::optional<size_t> JoinedRows::place(std::span<const Value> given, size_t rows) {
  std::lock_guard guard(lock);
  if (isTaken || rows > capacity - placedRows)
    return std::nullopt;
  parts.push_back({{given.begin(), given.end()}, placedRows});
  placedRows += rows;
  return parts.back().row;
}

void JoinedRows::allocate() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!isJoined[i])
      continue;
    inputs[i].rowBytes = rowBytes(first[i]);
    inputs[i].bytes = memory(capacity * inputs[i].rowBytes);
  }
}

bool JoinedRows::copyNext(std::unique_lock<std::mutex> &guard) {
  changed.wait(guard, [this] { return !isAllocating; });
  if (begun == parts.size())
    return false;
  const bool isFirst = begun == 0;
  Part &part = parts[begun++];
  isAllocating = isFirst;
  const bool isSkipped = isBroken;
  guard.unlock();
  bool isCopied = !isSkipped;
  try {
    if (isFirst)
      allocate();
    for (size_t i = 0; i < inputs.size() && isCopied; ++i)
      if (inputs[i].bytes) {
        const std::span<const std::byte> from = part.inputs[i].bytes();
        std::memcpy(inputs[i].bytes.get() + part.row * inputs[i].rowBytes, from.data(), from.size());
      }
  } catch (const std::exception &) {
    isCopied = false; // the batch is joined when it runs, and says what is wrong
  }
  part.inputs.clear();
  guard.lock();
  isBroken |= !isCopied;
  if (isFirst)
    isAllocating = false;
  ++done;
  changed.notify_all();
  return true;
}

void JoinedRows::copy() noexcept {
  std::unique_lock guard(lock);
  while (copyNext(guard)) {
  }
}

std::optional<std::vector<Value>> JoinedRows::take(size_t requests, size_t rows) {
  std::unique_lock guard(lock);
  isTaken = true;
  const bool isWhole = requests == parts.size() && rows == placedRows;
  while (isWhole && copyNext(guard)) {
  }
  changed.wait(guard, [this] { return done == begun; });
  if (!isWhole || isBroken)
    return std::nullopt;
  std::vector<Value> values = first;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!isJoined[i])
      continue;
    std::vector<int64_t> dims(first[i].dims().begin(), first[i].dims().end());
    dims[0] = static_cast<int64_t>(rows);
    const std::byte *begin = inputs[i].bytes.get();
    values[i] = Value::wrap(first[i].info().element_type, dims, begin, rows * inputs[i].rowBytes, inputs[i].bytes);
  }
  return values;
}

RowJoiner::RowJoiner(std::vector<bool> isJoined, RowMemory memory)
    : isJoined(std::move(isJoined)), memory(std::move(memory)) {}

bool RowJoiner::place(BatchJob &beforeOf, BatchJob &jobOf, size_t mostRows) {
  auto &before = static_cast<TensorJob &>(beforeOf);
  auto &job = static_cast<TensorJob &>(jobOf);
  const auto put = [](const std::shared_ptr<JoinedRows> &joined, TensorJob &one) {
    const std::optional<size_t> row = joined->place(one.inputs, one.rows);
    if (!row)
      return false;
    one.joined = joined;
    one.joinedAt = *row;
    return true;
  };
  if (before.joined)
    return put(before.joined, job);
  size_t bytes = 0;
  for (size_t i = 0; i < isJoined.size(); ++i)
    if (isJoined[i])
      bytes += rowBytes(before.inputs[i]);
  if (bytes < leastRowBytes || bytes > mostBytes / mostRows || before.rows + job.rows > mostRows)
    return false;
  const auto joined = std::make_shared<JoinedRows>(before.inputs, isJoined, mostRows, memory);
  return put(joined, before) && put(joined, job);
}

void RowJoiner::join(BatchJob &job) { static_cast<TensorJob &>(job).joined->copy(); }

} // namespace vx::serve
