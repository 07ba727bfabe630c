#include "tensor_runner.h"

#include "batch_key.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

namespace vx::serve {
namespace {

int64_t rowsOf(const Value &value) { return value.dims()[0]; }

// Strings, sequences and elements of less than a byte stay as they are.
bool hasRows(const Value &value) {
  const vx_value_info info = value.info();
  return info.kind == VX_TENSOR && info.rank > 0 && vx_element_type_bits(info.element_type) >= 8;
}

// Rows like those of `tensor`, each another: numbers around 0 where it has f32, else its own rows again and again.
Value makeUpRows(const Value &tensor, int64_t rows, std::mt19937 &random);

// Whether other bits would be seen in these: f32 that are numbers, and not all the same. What is chosen by them, as a
// place or a truth, mostly stays as it is.
bool isTelling(const Value &output) {
  if (output.info().element_type != VX_F32)
    return false;
  const std::span<const float> values = output.data<float>();
  return !values.empty() && std::ranges::all_of(values, [](float value) { return std::isfinite(value); }) &&
         std::ranges::any_of(values, [&](float value) { return value != values[0]; });
}

} // namespace

Value sliceRows(const Value &tensor, int64_t begin, int64_t count) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  dims[0] = count;
  const size_t bytes = rowBytes(tensor);
  return Value::raw(tensor.info().element_type, dims, tensor.bytes().data() + static_cast<size_t>(begin) * bytes,
                    static_cast<size_t>(count) * bytes);
}

namespace {

Value makeUpRows(const Value &tensor, int64_t rows, std::mt19937 &random) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  dims[0] = rows;
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * rowBytes(tensor));
  if (tensor.info().element_type == VX_F32)
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      const float value = static_cast<float>(random() % 4096) / 1024 - 2;
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
  else
    for (size_t at = 0; at < bytes.size(); ++at)
      bytes[at] = tensor.bytes()[at % tensor.bytes().size()];
  return Value::raw(tensor.info().element_type, dims, bytes.data(), bytes.size());
}

} // namespace

Value joinRows(std::span<const Value> parts, int64_t rows, const RowMemory &memory) {
  std::vector<int64_t> dims(parts[0].dims().begin(), parts[0].dims().end());
  dims[0] = rows;
  const size_t bytes = rowBytes(parts[0]), size = static_cast<size_t>(rows) * bytes;
  // Each byte is written once, where a device reads it.
  std::shared_ptr<std::byte> joined = memory(size);
  size_t at = 0;
  for (const Value &part : parts) {
    const std::span<const std::byte> from = part.bytes();
    std::memcpy(joined.get() + at, from.data(), from.size());
    at += from.size();
  }
  for (; at < size; at += bytes)
    std::memcpy(joined.get() + at, parts[0].bytes().data(), bytes);
  const std::byte *begin = joined.get();
  return Value::wrap(parts[0].info().element_type, dims, begin, size, std::move(joined));
}

void describeJob(TensorJob &job, const RowFacts &facts) {
  job.rows = 1;
  job.key.clear();
  if (!facts.canJoin)
    return;
  BatchKey key;
  int64_t rows = -1;
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    const Value &input = job.inputs[i];
    if (!hasRows(input) && facts.inputs[i])
      return;
    const vx_value_info info = input.info();
    if (facts.inputs[i]) {
      // What does not agree with itself runs alone, and is told what is wrong.
      if (rows >= 0 && rowsOf(input) != rows)
        return;
      rows = rowsOf(input);
      key.add("rows",
              fmt::format("{}[{}]", static_cast<int>(info.element_type), fmt::join(input.dims().subspan(1), ",")));
      continue;
    }
    if (info.kind != VX_TENSOR || info.element_type == VX_STRING || info.size > 4096)
      return;
    const std::span<const std::byte> bytes = input.bytes();
    key.add("shared type", fmt::format("{}[{}]", static_cast<int>(info.element_type), fmt::join(input.dims(), ",")));
    key.add("shared bytes", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  if (rows <= 0)
    return;
  job.rows = static_cast<size_t>(rows);
  job.key = key.take();
}

TensorRunner::TensorRunner(InstanceSource &source, FunctionFacts given, size_t fixedRows, Metrics &metrics,
                           std::string model)
    : source(source), facts(std::move(given)), fixedRows(fixedRows), metrics(metrics), model(std::move(model)),
      instance(source.current()), place(instance, *facts.function),
      rowCounts(fixedRows, static_cast<size_t>(std::max<int64_t>(facts.rows.multiple, 1))) {}

std::vector<Value> TensorRunner::call(std::span<const Value> inputs) {
  for (;;) {
    try {
      return place.run(inputs);
    } catch (const vx::Error &error) {
      if (error.code() != VX_DEVICE_LOST)
        throw;
      std::optional<Instance> other = source.replace(instance, error.what());
      if (!other)
        throw;
      place = Call(*other, *facts.function);
      instance = *other;
      rowCounts.forget();
    }
  }
}

bool TensorRunner::hasSameBits(std::span<const Value> inputs, size_t count) {
  std::mt19937 random(7);
  std::vector<Value> whole(inputs.begin(), inputs.end()), part = whole;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!facts.rows.inputs[i])
      continue;
    whole[i] = makeUpRows(inputs[i], static_cast<int64_t>(fixedRows), random);
    part[i] = sliceRows(whole[i], 0, static_cast<int64_t>(count));
  }
  try {
    const std::vector<Value> want = place.run(whole), got = place.run(part);
    for (size_t i = 0; i < want.size(); ++i) {
      if (facts.rows.outputs[i] != RowFacts::Output::rows)
        continue;
      if (!isTelling(want[i]))
        return false;
      const std::span<const std::byte> bytes = got[i].bytes();
      if (std::memcmp(bytes.data(), want[i].bytes().data(), bytes.size()) != 0)
        return false;
    }
    return true;
  } catch (const vx::Error &) {
    return false; // numbers that it does not take, or a lost device, which the run itself is to find
  }
}

void TensorRunner::run(std::span<const std::shared_ptr<BatchJob>> jobs) {
  const Clock::time_point began = Clock::now();
  size_t rows = 0, filled = 0;
  for (const auto &job : jobs)
    rows += job->rows;
  if (!jobs[0]->key.empty() && (jobs.size() > 1 || fixedRows > 0))
    filled = runJoined(jobs);
  else
    static_cast<TensorJob &>(*jobs[0]).finish(call(static_cast<TensorJob &>(*jobs[0]).inputs));
  metrics.countBatch(model, source.deviceName(), rows, filled, 0, Clock::now() - began);
}

static TensorJob &jobOf(const std::shared_ptr<BatchJob> &job) { return static_cast<TensorJob &>(*job); }

// Whether the jobs have their places in the same memory, in this order and without a gap.
static bool areJoined(std::span<const std::shared_ptr<BatchJob>> jobs) {
  size_t row = 0;
  for (const auto &job : jobs) {
    if (!jobOf(job).joined || jobOf(job).joined != jobOf(jobs[0]).joined || jobOf(job).joinedAt != row)
      return false;
    row += job->rows;
  }
  return true;
}

std::vector<Value> TensorRunner::joinInputs(std::span<const std::shared_ptr<BatchJob>> jobs, size_t rows) {
  const TensorJob &first = jobOf(jobs[0]);
  if (areJoined(jobs))
    if (std::optional<std::vector<Value>> joined = first.joined->take(jobs.size(), rows))
      return *std::move(joined);
  std::vector<Value> inputs;
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    if (!facts.rows.inputs[i]) {
      inputs.push_back(first.inputs[i]);
      continue;
    }
    std::vector<Value> parts;
    for (const auto &job : jobs)
      parts.push_back(jobOf(job).inputs[i]);
    inputs.push_back(joinRows(parts, static_cast<int64_t>(rows), memory));
  }
  return inputs;
}

size_t TensorRunner::runJoined(std::span<const std::shared_ptr<BatchJob>> jobs) {
  int64_t rows = 0;
  for (const auto &job : jobs)
    rows += static_cast<int64_t>(job->rows);
  const std::vector<Value> inputs = joinInputs(jobs, static_cast<size_t>(rows));
  // Runs of so many rows each, the last one filled up; or one of all.
  const int64_t most = fixedRows > 0 ? static_cast<int64_t>(fixedRows) : rows;
  std::vector<std::vector<Value>> pieces(facts.rows.outputs.size());
  int64_t filled = 0;
  for (int64_t begin = 0; begin < rows; begin += most) {
    const int64_t count = std::min(most, rows - begin);
    const int64_t size =
        fixedRows > 0
            ? static_cast<int64_t>(rowCounts.choose(jobs[0]->key, static_cast<size_t>(count),
                                                    [&](size_t smaller) { return hasSameBits(inputs, smaller); }))
            : rows;
    std::vector<Value> part = inputs;
    filled += size - count;
    if (count != rows || count != size)
      for (size_t i = 0; i < part.size(); ++i)
        if (facts.rows.inputs[i])
          part[i] = joinRows(std::array{sliceRows(inputs[i], begin, count)}, size, memory);
    std::vector<Value> outputs = call(part);
    for (size_t i = 0; i < outputs.size(); ++i)
      pieces[i].push_back(facts.rows.outputs[i] == RowFacts::Output::rows && count != size
                              ? sliceRows(outputs[i], 0, count)
                              : outputs[i]);
  }
  std::vector<Value> outputs;
  for (size_t i = 0; i < pieces.size(); ++i)
    outputs.push_back(facts.rows.outputs[i] == RowFacts::Output::rows && pieces[i].size() > 1
                          ? joinRows(pieces[i], rows, memory)
                          : pieces[i][0]);
  int64_t begin = 0;
  for (const auto &job : jobs) {
    const auto count = static_cast<int64_t>(job->rows);
    std::vector<Value> own = outputs;
    if (count != rows)
      for (size_t i = 0; i < own.size(); ++i)
        if (facts.rows.outputs[i] == RowFacts::Output::rows)
          own[i] = sliceRows(outputs[i], begin, count);
    begin += count;
    jobOf(job).finish(std::move(own));
  }
  return static_cast<size_t>(filled);
}

} // namespace vx::serve
