// Processes that work on cases side by side. One that ends or comes to no end is replaced.
#ifndef VX_TOOLS_WORKER_POOL_H
#define VX_TOOLS_WORKER_POOL_H

#include "case_run.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

namespace vx::tools {

class Worker;

class WorkerPool {
public:
  struct Job {
    size_t number; // the caller's
    CaseRequest request;
  };

  WorkerPool(size_t workers, double timeoutSeconds);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  // What vx_list_devices tells: no device is opened in this process. Throws a ToolError (exit 1) when the worker ends.
  nlohmann::ordered_json devices();

  // Calls `tell` once for each job and target, in the order in which they are done. A job that ends its worker has
  // failed for each target that has no answer yet; it is not run again. Throws a ToolError (exit 1) when no worker can
  // be started.
  void run(std::deque<Job> jobs, const std::function<void(size_t number, const TargetOutcome &outcome)> &tell);

  // A sentence for each worker that has ended while it had nothing to do: after which case, and how. Another one has
  // taken its place, and no job has failed for it: it is a failure of the run.
  const std::vector<std::string> &endedBetween() const { return ended; }

private:
  void ask(Worker &worker, const nlohmann::ordered_json &request);

  const std::chrono::duration<double> timeout;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::string> ended;
};

} // namespace vx::tools

#endif
