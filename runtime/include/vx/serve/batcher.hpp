// Calls of a module that run together: a queue, batches and deadlines, as the server has them, without a server.
#ifndef VX_SERVE_BATCHER_HPP
#define VX_SERVE_BATCHER_HPP

#include "vx/runtime/vx.hpp"
#include "vx/serve/error.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vx::serve {

// A call that was not done, as one line with the expected and the given value.
class VX_SERVE_API BatchError : public std::runtime_error {
public:
  enum class Kind : uint8_t {
    argument,      // inputs that do not fit the function, or no such function
    queue_full,    // as many calls wait as may; call later
    deadline,      // the call was not done by its deadline
    stopped,       // the batcher is being destroyed
    out_of_memory, // the call needs more than the device has
    device_lost,   // all devices are lost
    failed         // the run failed
  };
  BatchError(Kind kind, const std::string &message) : std::runtime_error(message), what_kind(kind) {}
  Kind kind() const { return what_kind; }

private:
  Kind what_kind;
};

struct BatcherOptions {
  // The device, and what happens when it is lost: with `noFallback` its calls fail, else another one is taken.
  InstanceOptions instance = {};
  // Devices with an instance each, {"cuda:0", "cuda:1"}; {"all"}: all of the backend of `instance`. Empty: one.
  std::vector<std::string> devices = {};
  size_t queue = 256; // calls of a function that wait, 1 or more
  size_t rows = 32;   // of a batch, 1 or more; a call with more rows is a batch of its own
  // How long a call that comes while all devices work waits for others; never longer than batches take.
  std::chrono::milliseconds wait{5};
  bool deterministic = false; // results have the same bits in every batch
  // Functions that store variables, and may be called all the same: calls see each other's changes.
  std::vector<std::string> stateful = {};
};

// A module on its devices, with a queue for each function. Calls join a batch only if the compiler has proved that
// their rows are independent (vx_module_batch); others run one by one. Thread-safe.
class VX_SERVE_API Batcher {
public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Opens the devices. Throws vx::Error if the runtime refuses the module or a device, and BatchError for options that
  // exclude each other or are 0.
  explicit Batcher(const Module &module, const BatcherOptions &options = {});
  // Ends calls that wait with Kind::stopped, and waits for batches that run. No other call of this object may be going
  // on.
  ~Batcher();
  Batcher(const Batcher &) = delete;
  Batcher &operator=(const Batcher &) = delete;

  // Puts a call into the queue of a function; an empty name is the first function that can be called. `inputs` are in
  // the function's order, and are not changed until the call is done. Returns at once; the future gives the outputs in
  // the function's order, or throws BatchError. Throws BatchError for Kind::argument that shows at once, and for
  // Kind::queue_full.
  std::future<std::vector<Value>> submit(std::vector<Value> inputs, std::string_view function = {},
                                         Deadline deadline = Deadline::max());
  // The same, and waits. Throws BatchError.
  std::vector<Value> run(std::vector<Value> inputs, std::string_view function = {},
                         Deadline deadline = Deadline::max());

  // The functions that can be called, in the module's order, and why others cannot.
  std::vector<std::string> functions() const;
  const std::vector<std::string> &refusals() const;
  // Whether calls of a function join a batch. Throws BatchError for an unknown function.
  bool joins(std::string_view function) const;
  // Calls that wait, of all functions.
  size_t waiting() const;
  // Batches that ran, and the rows of them all.
  struct Counts {
    uint64_t batches = 0, rows = 0;
  };
  Counts counts() const;
  // "cpu:0"; of several that serve "cuda:0,cuda:1".
  std::string device() const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace vx::serve

#endif
