// Runs requests of tensors, joined along their rows where that is proved to change nothing.
#ifndef VX_SERVE_TENSOR_RUNNER_H
#define VX_SERVE_TENSOR_RUNNER_H

#include "joined_rows.h"
#include "metrics.h"
#include "module_facts.h"
#include "row_counts.h"

#include "vx/runtime/vx.hpp"

#include <functional>

namespace vx::serve {

class TensorJob final : public BatchJob {
public:
  using Done = std::function<void(std::vector<Value>)>;
  using Failed = std::function<void(const ServiceError &)>;
  TensorJob(std::vector<Value> inputs, Done done, Failed failed)
      : inputs(std::move(inputs)), done(std::move(done)), failed(std::move(failed)) {}

  void finish(std::vector<Value> outputs) {
    if (claim())
      done(std::move(outputs));
  }
  const std::vector<Value> inputs;
  // Where its rows have a place already, and the first one of them; null: nowhere. RowJoiner sets them while the job is
  // in a queue.
  std::shared_ptr<JoinedRows> joined;
  size_t joinedAt = 0;

private:
  void tellFailure(const ServiceError &error) override { failed(error); }
  const Done done;
  const Failed failed;
};

// Sets what the batcher goes by: rows, and a key that jobs have in common whose inputs differ in joined rows alone.
void describeJob(TensorJob &job, const RowFacts &facts);

// Somebody who makes instances on another device when one is lost.
class InstanceSource {
public:
  virtual ~InstanceSource() = default;
  virtual Instance current() const = 0;
  // Of the device that it is on, "cpu:0".
  virtual std::string deviceName() const = 0;
  // `lost` is no use any more, for that reason. A new instance, or nothing where no other device may be used.
  virtual std::optional<Instance> replace(const Instance &lost, const std::string &reason) = 0;
};

class TensorRunner final : public BatchRunner {
public:
  // With `fixedRows` above 0 every run has so many rows, or fewer that give the same bits, what is missing filled up:
  // the same numbers come out of a request whoever else is in its batch.
  TensorRunner(InstanceSource &source, FunctionFacts facts, size_t fixedRows, Metrics &metrics, std::string model);
  void run(std::span<const std::shared_ptr<BatchJob>> jobs) override;
  void waited(Clock::duration time) override { metrics.countWait(model, time); }
  std::string device() const override { return source.deviceName(); }

private:
  std::vector<Value> call(std::span<const Value> inputs);
  // The inputs of jobs that run together.
  std::vector<Value> joinInputs(std::span<const std::shared_ptr<BatchJob>> jobs, size_t rows);
  // How many rows were filled up.
  size_t runJoined(std::span<const std::shared_ptr<BatchJob>> jobs);
  // Whether rows of the inputs' kind have the same bits in a run of so many and in one of `fixedRows`.
  bool hasSameBits(std::span<const Value> inputs, size_t count);

  InstanceSource &source;
  const FunctionFacts facts;
  const size_t fixedRows;
  Metrics &metrics;
  const std::string model;
  Instance instance;
  // From which the device copies by itself.
  const RowMemory memory = [this](size_t size) { return instance.hostMemory(size); };
  Call place;
  RowCounts rowCounts;
};

// Rows [begin, begin + count) of a tensor.
Value sliceRows(const Value &tensor, int64_t begin, int64_t count);
// Tensors of one type one below another, and then copies of the first row up to `rows` of them.
Value joinRows(std::span<const Value> parts, int64_t rows, const RowMemory &memory);

} // namespace vx::serve

#endif
