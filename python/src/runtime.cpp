// The runtime and the training kit for Python: what vx/__init__.py is made of. Tensors come and go by DLPack, without
// copies; the interpreter's lock is given up while something is loaded, computed or trained.
#include "vx/runtime/vx.hpp"
#include "vx/train.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

/// What is no failure of the runtime, but has a code of its own as well.
struct TimedOut : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr const char *nameOf(vx_code code) {
  constexpr const char *names[] = {"ok",        "invalid_argument", "not_found", "invalid_module", "unsupported",
                                   "no_device", "out_of_memory",    "fault",     "io_error",       "device_lost",
                                   "internal",  "cancelled",        "timed_out"};
  return code < std::size(names) ? names[code] : "unknown";
}
constexpr const char *nameOf(vx::train::Error::Kind kind) {
  return kind == vx::train::Error::Kind::argument ? "argument" : kind == vx::train::Error::Kind::data ? "data" : "io";
}

/// The classes of the errors; they live as long as the process.
PyObject *errorClass = nullptr, *trainErrorClass = nullptr;

void raise(PyObject *type, const char *message, const char *code, const std::string &report = {}) {
  nb::object error = nb::handle(type)(message);
  error.attr("code") = code;
  error.attr("report") = report.empty() ? nb::none() : nb::object(nb::str(report.c_str()));
  PyErr_SetObject(type, error.ptr());
}
void translate(const std::exception_ptr &raised, void *) {
  try {
    std::rethrow_exception(raised);
  } catch (const vx::Error &error) {
    raise(errorClass, error.what(), nameOf(error.code()), error.report());
  } catch (const vx::train::Error &error) {
    raise(trainErrorClass, error.what(), nameOf(error.kind()));
  } catch (const TimedOut &error) {
    raise(errorClass, error.what(), nameOf(VX_TIMED_OUT));
  }
}

constexpr const char *Versioned = "dltensor_versioned", *Used = "used_dltensor_versioned";

/// What DLPack's DLManagedTensorVersioned begins with.
struct ManagedHead {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  void *data;
  int32_t deviceType, deviceId;
};
constexpr int32_t HostMemory = 1;

/// The tensor of a capsule, which is used up.
vx::Value fromCapsule(nb::capsule capsule) {
  if (std::strcmp(capsule.name(), Versioned) != 0)
    throw nb::type_error("expected a capsule of DLPack 1.0 or newer: NumPy 2.1 and PyTorch 2.8 make them");
  auto *tensor = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule.ptr(), Versioned));
  vx::Value value = vx::Value::fromDlpack(tensor);
  PyCapsule_SetName(capsule.ptr(), Used);
  return value;
}

/// Where the tensor is, if its device's memory has addresses for others; else it is copied to the host.
DLManagedTensorVersioned *giveInPlace(const vx::Value &value) {
  try {
    return value.toDlpackInPlace();
  } catch (const vx::Error &error) {
    if (error.code() != VX_UNSUPPORTED)
      throw;
  }
  return value.toDlpack();
}

nb::tuple deviceOf(const vx::Value &value) {
  DLManagedTensorVersioned *tensor = nullptr;
  try {
    tensor = value.toDlpackInPlace();
  } catch (const vx::Error &error) {
    if (error.code() != VX_UNSUPPORTED)
      throw;
    return nb::make_tuple(HostMemory, 0);
  }
  const ManagedHead head = *reinterpret_cast<ManagedHead *>(tensor);
  head.deleter(tensor);
  return nb::make_tuple(head.deviceType, head.deviceId);
}

nb::capsule toCapsule(const vx::Value &value, bool isForHost) {
  DLManagedTensorVersioned *tensor = nullptr;
  {
    nb::gil_scoped_release unlocked; // a device's may be copied to the host
    tensor = isForHost ? value.toDlpack() : giveInPlace(value);
  }
  PyObject *capsule = PyCapsule_New(tensor, Versioned, [](PyObject *self) {
    if (PyCapsule_IsValid(self, Versioned)) { // nobody has taken it
      auto *left = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(self, Versioned));
      reinterpret_cast<ManagedHead *>(left)->deleter(left);
    }
  });
  return nb::steal<nb::capsule>(capsule);
}

/// A tensor with a copy of elements, of a type by its name.
vx::Value fromBytes(const std::string &type, const std::vector<int64_t> &shape, const nb::bytes &bytes) {
  for (int number = 1; vx_element_type_bits(static_cast<vx_element_type>(number)) > 0; ++number)
    if (type == vx_element_type_name(static_cast<vx_element_type>(number)))
      return vx::Value::raw(static_cast<vx_element_type>(number), shape, bytes.c_str(), bytes.size());
  throw nb::value_error(("expected an element type, got '" + type + "'").c_str());
}

nb::tuple shapeOf(const vx::Value &value) {
  nb::list dims;
  for (int64_t dim : value.dims())
    dims.append(dim);
  return nb::tuple(dims);
}

/// A module, and the bytes that it was made of, which go last.
struct Module {
  std::shared_ptr<void> bytes;
  vx::Module module;
};
/// A copy: Python's bytes begin where they begin, and a module wants 64.
Module loadBytes(const nb::bytes &bytes) {
  constexpr size_t alignment = 64;
  const size_t size = (bytes.size() + alignment - 1) / alignment * alignment + alignment;
  std::shared_ptr<void> copy(std::aligned_alloc(alignment, size), std::free);
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy.get(), bytes.c_str(), bytes.size());
  const std::span<const std::byte> span(static_cast<const std::byte *>(copy.get()), bytes.size());
  nb::gil_scoped_release unlocked;
  return {copy, vx::Module(span, "bytes")};
}

nb::list describeArguments(const vx_argument_info *arguments, size_t count) {
  nb::list list;
  for (size_t i = 0; i < count; ++i) {
    nb::list dims;
    for (uint32_t d = 0; d < arguments[i].rank; ++d) {
      const vx_dim_info &dim = arguments[i].dims[d];
      dims.append(dim.size >= 0 ? nb::cast(dim.size) : nb::cast(dim.expression));
    }
    nb::dict entry;
    entry["name"] = arguments[i].name;
    entry["dtype"] = vx_element_type_name(arguments[i].element_type);
    entry["shape"] = nb::tuple(dims);
    list.append(entry);
  }
  return list;
}
nb::list describeFunctions(const Module &self) {
  nb::list list;
  for (const vx_function_info &function : self.module.functions()) {
    nb::dict entry;
    entry["name"] = function.name;
    entry["inputs"] = describeArguments(function.inputs, function.input_count);
    entry["outputs"] = describeArguments(function.outputs, function.output_count);
    list.append(entry);
  }
  return list;
}

nb::list describeAssets(const Module &self) {
  nb::list list;
  for (const vx_asset_info &asset : self.module.assets()) {
    nb::dict entry;
    entry["name"] = asset.name;
    entry["kind"] = asset.kind;
    entry["bytes"] = nb::bytes(asset.bytes, asset.size);
    list.append(entry);
  }
  return list;
}

nb::dict describeEstimate(const vx_memory_estimate &estimate) {
  nb::dict entry;
  const std::pair<const char *, uint64_t> numbers[] = {{"constants", estimate.constants},
                                                       {"variables", estimate.variables},
                                                       {"arena", estimate.arena},
                                                       {"inputs", estimate.inputs},
                                                       {"results", estimate.results},
                                                       {"total", estimate.total},
                                                       {"largest", estimate.largest},
                                                       {"memory_limit", estimate.memory_limit},
                                                       {"device_memory", estimate.device_memory},
                                                       {"device_largest", estimate.device_largest}};
  for (const auto &[name, value] : numbers)
    entry[name] = value;
  entry["fits"] = estimate.fits != 0;
  entry["is_least"] = estimate.is_least != 0;
  entry["open_size"] = estimate.open_size ? nb::object(nb::str(estimate.open_size)) : nb::none();
  return entry;
}

vx_status waitFor(const vx::Pending &pending, uint32_t milliseconds, std::vector<vx_value *> &results) {
  nb::gil_scoped_release unlocked;
  return vx_call_wait_for(pending.get(), milliseconds, results.size(), results.data());
}
bool isTimedOut(vx_status status) {
  if (vx_status_code(status) != VX_TIMED_OUT) {
    vx::check(status);
    return false;
  }
  vx_status_release(status);
  return true;
}
/// Looks for Ctrl-C now and then, which ends the waiting and not the run.
std::vector<vx::Value> waitFor(const vx::Pending &pending, size_t outputs, std::optional<double> seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds slice(50);
  constexpr double longest = 1e9;
  const auto end = Clock::now() + std::chrono::duration<double>(std::min(seconds.value_or(longest), longest));
  for (;;) {
    std::vector<vx_value *> results(outputs);
    const auto left = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
                                 std::chrono::milliseconds(0), slice);
    if (!isTimedOut(waitFor(pending, static_cast<uint32_t>(left.count()), results)))
      return {results.begin(), results.end()};
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    if (seconds && Clock::now() >= end)
      throw TimedOut("the run is not done after " + std::string(nb::str(nb::float_(*seconds)).c_str()) +
                     " s; it goes on");
  }
}

/// A run that goes on. Whoever drops it waits for it, without the interpreter's lock, which the run may want.
class Pending {
public:
  Pending(Module module, vx::Call call, vx::Pending pending, size_t outputs)
      : module(std::move(module)), call(std::move(call)), pending(std::move(pending)), outputCount(outputs) {}
  Pending(const Pending &) = delete;
  ~Pending() {
    nb::gil_scoped_release unlocked;
    pending = {};
    call = {};
  }

  std::vector<vx::Value> wait(std::optional<double> seconds) const { return waitFor(pending, outputCount, seconds); }
  bool isDone() const {
    std::vector<vx_value *> results(outputCount);
    const vx_status status = waitFor(pending, 0, results);
    const bool isGoingOn = vx_status_code(status) == VX_TIMED_OUT;
    vx_status_release(status);
    nb::gil_scoped_release unlocked;
    for (vx_value *result : results)
      vx_value_release(result);
    return !isGoingOn;
  }
  void cancel() const {
    nb::gil_scoped_release unlocked;
    pending.cancel();
  }

private:
  Module module;
  vx::Call call;
  vx::Pending pending;
  size_t outputCount;
};

/// Functions are called by name.
class Instance {
public:
  Instance(const Module &module, const vx::InstanceOptions &options) : module(module) {
    nb::gil_scoped_release unlocked;
    instance = vx::Instance(module.module, options);
  }
  Instance(const Module &module, vx::Instance made) : module(module), instance(std::move(made)) {}
  Instance(const Instance &) = delete;
  ~Instance() {
    nb::gil_scoped_release unlocked;
    mainCalls.clear();
    instance = {};
  }

  /// Ctrl-C cancels it, also while it waits for its turn. Python tells its main thread alone of signals, so that a run
  /// of another thread need not look for them and stays on it. So does a run of the main thread that is expected to end
  /// at once: of a function without loops of an unknown length, with the sizes of its last run, which was short, while
  /// no other thread runs this instance.
  std::vector<vx::Value> run(const std::string &function, const std::vector<vx::Value> &inputs, bool isMain) {
    const vx_function_info &info = *find(function);
    const Running counted(running);
    if (!isMain) {
      nb::gil_scoped_release unlocked;
      // A call of its own: threads may run one function side by side.
      return vx::Call(instance, info).run(inputs);
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    MainCall *main = nullptr;
    vx::Pending pending;
    {
      nb::gil_scoped_release unlocked;
      auto found = mainCalls.find(function);
      if (found == mainCalls.end())
        found = mainCalls.emplace(function, MainCall{vx::Call(instance, info), {}}).first;
      main = &found->second;
      if (counted.isAlone && main->shortSizes == sizesOf(inputs)) {
        std::vector<vx::Value> results = main->call.run(inputs);
        if (Clock::now() - began > shortRun)
          main->shortSizes.clear();
        return results;
      }
      pending = main->call.submit(inputs);
    }
    const auto drop = [&pending](bool isCancelled) {
      nb::gil_scoped_release unlocked;
      if (isCancelled)
        pending.cancel();
      pending = {}; // waits for its end
    };
    try {
      std::vector<vx::Value> results = waitFor(pending, info.output_count, std::nullopt);
      drop(false);
      main->shortSizes.clear();
      if (Clock::now() - began < shortRun && !module.module.hasLoops(info))
        main->shortSizes = sizesOf(inputs);
      return results;
    } catch (const nb::python_error &) {
      drop(true);
      throw;
    }
  }
  /// After a fallback `moved` gets the instance on the other device, also where its run fails.
  std::vector<vx::Value> tryWithFallback(const std::string &function, const std::vector<vx::Value> &inputs,
                                         nb::list moved) const {
    const vx_function_info &info = *find(function);
    vx::Instance place = instance;
    std::vector<vx::Value> results;
    std::exception_ptr failed;
    {
      nb::gil_scoped_release unlocked;
      try {
        results = place.tryWithFallback(info, inputs);
      } catch (...) {
        failed = std::current_exception();
      }
    }
    if (place.get() != instance.get())
      moved.append(nb::cast(new Instance(module, std::move(place)), nb::rv_policy::take_ownership));
    if (failed)
      std::rethrow_exception(failed);
    return results;
  }
  Pending *submit(const std::string &function, const std::vector<vx::Value> &inputs, uint32_t deadline) const {
    const vx_function_info &info = *find(function);
    vx::Call call;
    vx::Pending pending;
    {
      nb::gil_scoped_release unlocked;
      call = vx::Call(instance, info);
      pending = call.submit(inputs, false, {}, deadline);
    }
    return new Pending(module, std::move(call), std::move(pending), info.output_count); // the caller's
  }

  Module module;
  vx::Instance instance;

private:
  struct MainCall {
    vx::Call call;
    std::vector<int64_t> shortSizes; // of a last run that was short; else empty
  };
  static constexpr std::chrono::milliseconds shortRun{5};
  /// Counts the runs that go on.
  struct Running {
    explicit Running(std::atomic<int> &count) : count(count), isAlone(count++ == 0) {}
    Running(const Running &) = delete;
    ~Running() { --count; }
    std::atomic<int> &count;
    const bool isAlone;
  };
  /// The rank and dims of each, and a number that no rank is.
  static std::vector<int64_t> sizesOf(const std::vector<vx::Value> &values) {
    std::vector<int64_t> sizes = {-1};
    for (const vx::Value &value : values) {
      const std::span<const int64_t> dims = value.dims();
      sizes.push_back(static_cast<int64_t>(dims.size()));
      sizes.insert(sizes.end(), dims.begin(), dims.end());
    }
    return sizes;
  }

  std::map<std::string, MainCall> mainCalls; // of the main thread, whose workers it waits for
  std::atomic<int> running = 0;

  const vx_function_info *find(const std::string &function) const {
    for (const vx_function_info &one : module.module.functions())
      if (function == one.name)
        return &one;
    throw std::out_of_range("the module has no function '" + function + "'"); // which Python's side has looked for
  }
};

vx::InstanceOptions makeOptions(const std::string &device, bool fallback, uint32_t threads, uint64_t seed,
                                uint64_t memoryLimit, Sizes symbols = {}) {
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = !fallback;
  options.threads = threads;
  options.seed = seed;
  options.memoryLimit = memoryLimit;
  options.symbols = std::move(symbols);
  return options;
}

nb::dict describeScores(const vx::train::Scores &scores) {
  nb::dict entry;
  entry["loss"] = scores.loss;
  for (const auto &[name, value] : scores.metrics)
    entry[name.c_str()] = value;
  return entry;
}
/// The divisors of the loss and of each metric, by name.
nb::dict describeCounts(const vx::train::Scores &scores) {
  nb::dict entry;
  entry["loss"] = scores.count;
  for (size_t i = 0; i < scores.metrics.size(); ++i)
    entry[scores.metrics[i].first.c_str()] = scores.metric_counts[i];
  return entry;
}
nb::dict describeEpoch(const vx::train::Epoch &epoch) {
  nb::dict entry = describeScores(epoch.training);
  entry["epoch"] = epoch.epoch;
  entry["step"] = epoch.step;
  entry["rate"] = epoch.rate;
  entry["seconds"] = epoch.seconds;
  if (epoch.validation)
    entry["validation"] = describeScores(*epoch.validation);
  return entry;
}
nb::dict describeStep(const vx::train::Step &step) {
  nb::dict entry = describeScores(step.scores);
  entry["epoch"] = step.epoch;
  entry["step"] = step.step;
  entry["step_in_epoch"] = step.step_in_epoch;
  entry["rate"] = step.rate;
  return entry;
}
nb::dict describeHistory(const vx::train::History &history) {
  nb::list epochs;
  for (const vx::train::Epoch &epoch : history.epochs)
    epochs.append(describeEpoch(epoch));
  nb::dict entry;
  entry["epochs"] = epochs;
  entry["stopped"] = history.stopped.empty() ? nb::none() : nb::object(nb::str(history.stopped.c_str()));
  entry["notes"] = history.notes;
  entry["optimizer"] = history.optimizer;
  entry["loss"] = history.loss;
  entry["schedule"] = history.schedule;
  entry["seed"] = history.seed;
  return entry;
}

/// `form` is one of the names that vx/__init__.py takes, with as many numbers as it wants there.
vx::train::Schedule makeSchedule(const std::string &form, const std::vector<double> &numbers, double rate,
                                 uint64_t warmup) {
  const auto number = [&](size_t place, double usual) { return place < numbers.size() ? numbers[place] : usual; };
  vx::train::Schedule schedule = form == "cosine" ? vx::train::cosine(rate, number(0, 0))
                                 : form == "step"
                                     ? vx::train::step(rate, static_cast<uint64_t>(numbers.at(0)), number(1, 0.1))
                                 : form == "exponential" ? vx::train::exponential(rate, numbers.at(0))
                                 : form == "one-cycle"   ? vx::train::one_cycle(rate, number(0, 0.3))
                                                         : vx::train::constant(rate);
  return warmup > 0 ? vx::train::warmup(warmup, std::move(schedule)) : schedule;
}

double scheduledRate(const std::string &form, const std::vector<double> &numbers, double rate, uint64_t warmup,
                     uint64_t step, uint64_t stepsPerEpoch, uint64_t total) {
  return makeSchedule(form, numbers, rate, warmup).rate({step, stepsPerEpoch, total});
}

/// What Python says of a `fit`, beside the data.
struct FitRequest {
  vx::train::FitOptions options;
  nb::object onStep, onEpoch;
  uint64_t stepEvery = 1;
  std::string history;
};

using Columns = std::vector<std::pair<std::string, vx::Value>>;
vx::train::Dataset makeDataset(const Columns &columns) {
  std::vector<vx::train::Array> arrays;
  for (const auto &[name, value] : columns) {
    const std::span<const int64_t> dims = value.dims();
    arrays.push_back({name, value.info().element_type, {dims.begin(), dims.end()}, value.bytes().data()});
  }
  return vx::train::Dataset::arrays(std::move(arrays));
}

/// One thread at a time: another one is told so.
class Session {
public:
  Session(const Module &module, const vx::InstanceOptions &options) : bytes(module.bytes) {
    nb::gil_scoped_release unlocked;
    session.emplace(module.module, options);
  }
  Session(const Session &) = delete;
  ~Session() {
    nb::gil_scoped_release unlocked;
    session.reset();
  }

  /// For as long as it lives the session is this thread's, which may have it already.
  std::unique_lock<std::recursive_mutex> take() const {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock)
      throw vx::train::Error(vx::train::Error::Kind::argument, "the session is used by another thread");
    return lock;
  }

  double usualRate() const {
    const double rate = session->get_module().training()->rate;
    return rate > 0 ? rate : 1e-3;
  }

  /// The history, and why it could not be written to its file, or "".
  std::pair<nb::dict, std::string> fit(const Columns &data, const std::optional<Columns> &validation,
                                       FitRequest request) {
    const auto taken = take();
    if (isFitting)
      throw vx::train::Error(vx::train::Error::Kind::argument, "fit: called by what a fit calls");
    vx::train::FitOptions &options = request.options;
    // Callbacks may scale the rate of the steps that follow.
    const vx::train::Schedule schedule = *options.schedule;
    options.schedule = vx::train::Schedule(
        schedule.text(), [schedule, this](const vx::train::Moment &at) { return schedule.rate(at) * rateFactor; });
    std::exception_ptr raised;
    // What Python raises ends training behind the step that is going on, as Ctrl-C does: a checkpoint is saved then.
    const auto guarded = [&raised](vx::train::Session &self, auto &&body) {
      nb::gil_scoped_acquire locked;
      if (raised)
        return;
      try {
        body();
      } catch (const nb::python_error &) {
        raised = std::current_exception();
        self.stop("interrupted");
      }
    };
    // The next Ctrl-C cancels that step, too. What evaluates is cancelled by the first.
    bool isImpatient = false;
    const Watch watch(*session, [&](bool trains) {
      nb::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) {
        nb::python_error error;
        isImpatient = raised != nullptr;
        if (!raised)
          raised = std::make_exception_ptr(error);
        session->stop("interrupted");
      }
      return raised && (!trains || isImpatient);
    });
    options.callbacks.push_back(vx::train::on_step([&](vx::train::Session &self, const vx::train::Step &step) {
      guarded(self, [&] {
        if (PyErr_CheckSignals() != 0)
          throw nb::python_error();
        if (!request.onStep.is_none() && step.step % request.stepEvery == 0)
          request.onStep(describeStep(step));
      });
      if (isStopping.exchange(false))
        self.stop("stopped");
    }));
    options.callbacks.push_back(vx::train::on_epoch([&](vx::train::Session &self, const vx::train::Epoch &epoch) {
      guarded(self, [&] {
        if (!request.onEpoch.is_none())
          request.onEpoch(describeEpoch(epoch));
      });
      if (isStopping.exchange(false))
        self.stop("stopped");
    }));
    const vx::train::Dataset set = makeDataset(data);
    std::optional<vx::train::Dataset> other;
    if (validation) {
      other = makeDataset(*validation);
      options.validation = &*other;
    }
    vx::train::History history;
    std::string problem;
    {
      const Fitting fitting(isFitting);
      isStopping = false;
      nb::gil_scoped_release unlocked;
      history = session->fit(set, options);
      try {
        if (!request.history.empty())
          history.save(request.history);
      } catch (const vx::train::Error &error) {
        problem = error.what(); // what the steps gave is not lost
      }
    }
    if (raised)
      std::rethrow_exception(raised);
    return {describeHistory(history), problem};
  }
  /// Of any thread.
  void stop() { isStopping = true; }
  void scaleRate(double factor) { rateFactor = factor; }

  /// The means, and what they are divided by.
  std::pair<nb::dict, nb::dict> evaluate(const Columns &data, int64_t batch) {
    const auto taken = take();
    const vx::train::Dataset set = makeDataset(data);
    const vx::train::Scores scores = interruptible([&] { return session->evaluate(set, batch); });
    return {describeScores(scores), describeCounts(scores)};
  }
  /// One step of a loop of Python's. Ctrl-C cancels it.
  std::pair<nb::dict, nb::dict> trainStep(const std::vector<vx::Value> &inputs, double rate) {
    const auto taken = take();
    const vx::train::Scores scores = interruptible([&] { return session->train_step(inputs, rate * rateFactor); });
    return {describeScores(scores), describeCounts(scores)};
  }
  std::vector<vx::Value> call(const std::string &function, const std::vector<vx::Value> &inputs) {
    const auto taken = take();
    return interruptible([&] { return session->call(function, inputs); });
  }
  std::vector<vx::Value> predict(const Columns &data, int64_t batch) {
    const auto taken = take();
    const vx::train::Dataset set = makeDataset(data);
    return interruptible([&] { return session->predict(set, batch); });
  }
  /// What a function of the session gives, which is called without the interpreter's lock.
  template <typename Body>
  auto with(Body &&body) {
    const auto taken = take();
    nb::gil_scoped_release unlocked;
    return body(*session);
  }

private:
  /// What looks for signals while the session waits, for as long as it lives.
  struct Watch {
    Watch(vx::train::Session &session, std::function<bool(bool trains)> function) : session(session) {
      session.watch(std::move(function));
    }
    Watch(const Watch &) = delete;
    ~Watch() { session.watch({}); }
    vx::train::Session &session;
  };

  /// What `body` gives, without the interpreter's lock, unless Ctrl-C ends it first. What a fit calls is watched by it.
  template <typename Body>
  std::invoke_result_t<Body> interruptible(Body &&body) {
    std::exception_ptr raised;
    std::optional<Watch> watch;
    if (!isFitting)
      watch.emplace(*session, [&](bool) {
        nb::gil_scoped_acquire locked;
        if (!raised && PyErr_CheckSignals() != 0)
          raised = std::make_exception_ptr(nb::python_error());
        return raised != nullptr;
      });
    try {
      nb::gil_scoped_release unlocked;
      return body();
    } catch (const vx::Error &) {
      if (!raised)
        throw;
    }
    std::rethrow_exception(raised);
  }

  struct Fitting {
    explicit Fitting(bool &flag) : flag(flag) { flag = true; }
    Fitting(const Fitting &) = delete;
    ~Fitting() { flag = false; }
    bool &flag;
  };

  std::shared_ptr<void> bytes;
  std::optional<vx::train::Session> session;
  mutable std::recursive_mutex mutex;
  bool isFitting = false;
  std::atomic<bool> isStopping = false;
  std::atomic<double> rateFactor = 1; // of the rates of all steps
};

/// Who receives the runtime's messages: a reference, or null.
std::mutex logMutex;
PyObject *logged = nullptr;

void tell(void *function, vx_log_level level, const char *message) {
  constexpr const char *names[] = {"info", "warning", "error"};
  nb::gil_scoped_acquire locked;
  try {
    nb::handle(static_cast<PyObject *>(function))(level < std::size(names) ? names[level] : "unknown", message);
  } catch (nb::python_error &error) {
    error.discard_as_unraisable("a function of vx.set_log");
  }
}
/// The one before may be running, and want the interpreter's lock.
void setLog(nb::object function, int least) {
  PyObject *given = function.is_none() ? nullptr : function.release().ptr(), *before = nullptr;
  {
    nb::gil_scoped_release unlocked;
    std::lock_guard lock(logMutex);
    vx_set_log(given ? tell : nullptr, given, static_cast<vx_log_level>(least));
    before = std::exchange(logged, given);
  }
  Py_XDECREF(before);
}

} // namespace

NB_MODULE(_runtime, m) {
  errorClass = PyErr_NewExceptionWithDoc(
      "vx.Error",
      "A failure of the runtime. `code` says which kind, as vx_code in vx.h: \"invalid_argument\", \"not_found\", "
      "\"timed_out\", ...; `report` is the device report of \"no_device\", as JSON.",
      PyExc_RuntimeError, nullptr);
  trainErrorClass = PyErr_NewExceptionWithDoc(
      "vx.TrainError", "A failure of training, also one to write: `code` is \"argument\", \"data\" or \"io\".",
      errorClass, nullptr);
  if (!errorClass || !trainErrorClass)
    throw nb::python_error();
  m.attr("Error") = nb::handle(errorClass);
  m.attr("TrainError") = nb::handle(trainErrorClass);
  nb::handle(errorClass).attr("code") = nb::none();
  nb::handle(errorClass).attr("report") = nb::none();
  nb::register_exception_translator(translate);

  nb::class_<vx::Value>(m, "Tensor",
                        "A tensor of the runtime, in host memory or that of a GPU. DLPack takes it without a copy.")
      .def_static("from_capsule", fromCapsule)
      .def_static("from_strings", [](const std::vector<std::string> &texts,
                                     const std::vector<int64_t> &shape) { return vx::Value::strings(shape, texts); })
      .def_static("from_bytes", fromBytes)
      .def(
          "to",
          [](const vx::Value &self, const nb::object &device) {
            const auto name = nb::cast<std::string>(nb::module_::import_("vx._devices").attr("place")(device));
            nb::gil_scoped_release unlocked;
            return self.to(name);
          },
          "device"_a.none(), nb::sig("def to(self, device: vx._devices.Device | str | None) -> Tensor"),
          "The tensor in the memory of a device, as \"cuda:1\" or a vx.Device; itself if it is there. Raises vx.Error, "
          "code \"no_device\", for one that is not there.")
      .def_prop_ro(
          "device",
          [](const vx::Value &self) { return nb::module_::import_("vx._devices").attr("Device")(self.device()); },
          nb::sig("def device(self) -> vx._devices.Device"),
          "The vx.Device whose memory holds the tensor; \"cpu:0\" for the host's.")
      .def(
          "numpy", [](const nb::object &self) { return nb::module_::import_("vx._devices").attr("as_numpy")(self); },
          nb::sig("def numpy(self) -> numpy.ndarray"),
          "The elements as an array of NumPy, read-only and in the host's memory. Raises TypeError for an element type "
          "that NumPy has not.")
      .def("strings",
           [](const vx::Value &self) {
             nb::list texts;
             for (std::string_view text : self.strings())
               texts.append(nb::str(text.data(), text.size()));
             return texts;
           })
      .def("__dlpack__",
           [](const vx::Value &self, nb::kwargs given) { // of the newest version always; nothing is queued any more
             const bool isPlaced = given.contains("dl_device") && !nb::object(given["dl_device"]).is_none();
             return toCapsule(self, isPlaced && nb::cast<int>(given["dl_device"][0]) == HostMemory);
           })
      .def("__dlpack_device__", deviceOf)
      .def_prop_ro("shape", shapeOf)
      .def_prop_ro("dtype", [](const vx::Value &self) { return vx_element_type_name(self.info().element_type); })
      .def("__repr__", [](const vx::Value &self) {
        return "vx.Tensor(" + std::string(vx_element_type_name(self.info().element_type)) + ", " +
               std::string(nb::str(shapeOf(self)).c_str()) + ")";
      });

  nb::class_<Module>(m, "Module")
      .def(
          "__init__",
          [](Module *self, const std::string &path) {
            nb::gil_scoped_release unlocked;
            new (self) Module{nullptr, vx::Module(path)};
          },
          "path"_a)
      .def_static("from_bytes", loadBytes, "bytes"_a)
      .def("functions", describeFunctions)
      .def("assets", describeAssets)
      .def("symbols",
           [](const Module &self) {
             std::vector<std::string> names;
             for (const vx_symbol_info &symbol : self.module.symbols())
               names.push_back(symbol.name);
             return names;
           })
      .def(
          "estimate_memory",
          [](const Module &self, const std::string &function, const std::string &device, uint64_t memoryLimit,
             Sizes ofInstance, const Sizes &sizes) {
            const vx::InstanceOptions options = makeOptions(device, true, 0, 0, memoryLimit, std::move(ofInstance));
            vx_memory_estimate estimate;
            {
              nb::gil_scoped_release unlocked;
              estimate = vx::estimateMemory(self.module, function, sizes, options);
            }
            return describeEstimate(estimate);
          },
          "function"_a, "device"_a, "memory_limit"_a, "of_instance"_a, "sizes"_a)
      .def("describe", [](const Module &self) { return self.module.describe(); });

  nb::class_<Pending>(m, "Pending")
      .def("wait", &Pending::wait, "timeout"_a.none())
      .def("done", &Pending::isDone)
      .def("cancel", &Pending::cancel);

  nb::class_<Instance>(m, "Instance")
      .def(
          "__init__",
          [](Instance *self, const Module &module, const std::string &device, bool fallback, uint32_t threads,
             uint64_t seed, uint64_t memoryLimit, Sizes symbols, const Instance *share) {
            vx::InstanceOptions options = makeOptions(device, fallback, threads, seed, memoryLimit, std::move(symbols));
            options.share = share ? share->instance.get() : nullptr;
            new (self) Instance(module, options);
          },
          "module"_a, "device"_a, "fallback"_a, "threads"_a, "seed"_a, "memory_limit"_a, "symbols"_a, "share"_a.none())
      .def("run", &Instance::run, "function"_a, "inputs"_a, "is_main"_a)
      .def("try_with_fallback", &Instance::tryWithFallback, "function"_a, "inputs"_a, "moved"_a)
      .def("submit", &Instance::submit, "function"_a, "inputs"_a, "deadline_ms"_a)
      .def(
          "estimate_memory",
          [](const Instance &self, const std::string &function, const Sizes &sizes) {
            vx_memory_estimate estimate;
            {
              nb::gil_scoped_release unlocked;
              estimate = self.instance.estimateMemory(function, sizes);
            }
            return describeEstimate(estimate);
          },
          "function"_a, "sizes"_a)
      .def("report", [](const Instance &self) { return self.instance.report(VX_REPORT_JSON); })
      .def("report_text", [](const Instance &self) { return self.instance.report(); })
      .def("variables",
           [](const Instance &self) {
             std::vector<std::string> names;
             for (const vx_variable_info &variable : self.instance.variables())
               names.push_back(variable.name);
             return names;
           })
      .def("read_variable",
           [](const Instance &self, const std::string &name) {
             nb::gil_scoped_release unlocked;
             return self.instance.readVariable(name);
           })
      .def("write_variable", [](Instance &self, const std::string &name, const vx::Value &value) {
        nb::gil_scoped_release unlocked;
        self.instance.writeVariable(name, value);
      });

  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session *self, const Module &module, const std::string &device, bool fallback, uint32_t threads,
             uint64_t seed) { new (self) Session(module, makeOptions(device, fallback, threads, seed, 0)); },
          "module"_a, "device"_a, "fallback"_a, "threads"_a, "seed"_a)
      .def(
          "fit",
          [](Session &self, const Columns &data, const std::optional<Columns> &validation, uint64_t epochs,
             int64_t batch, uint64_t accumulate, uint64_t maxSteps, bool stopOnNan, std::optional<uint64_t> seed,
             std::optional<double> rate, const std::string &form, const std::vector<double> &numbers, uint64_t warmup,
             std::optional<std::pair<uint64_t, double>> earlyStop,
             const std::optional<std::pair<std::string, uint64_t>> &checkpoint, const std::string &history,
             nb::object onStep, uint64_t stepEvery, nb::object onEpoch) {
            FitRequest request;
            request.options.epochs = epochs;
            request.options.batch = batch;
            request.options.accumulate = accumulate;
            request.options.max_steps = maxSteps;
            request.options.stop_on_nan = stopOnNan;
            request.options.seed = seed;
            request.options.schedule = makeSchedule(form, numbers, rate.value_or(self.usualRate()), warmup);
            if (earlyStop)
              request.options.callbacks.push_back(vx::train::early_stopping(earlyStop->first, earlyStop->second));
            if (checkpoint)
              request.options.callbacks.push_back(vx::train::checkpoint(checkpoint->second, checkpoint->first));
            request.history = history;
            request.onStep = std::move(onStep);
            request.stepEvery = stepEvery;
            request.onEpoch = std::move(onEpoch);
            return self.fit(data, validation, std::move(request));
          },
          "data"_a, "validation"_a.none(), "epochs"_a, "batch"_a, "accumulate"_a, "max_steps"_a, "stop_on_nan"_a,
          "seed"_a.none(), "rate"_a.none(), "form"_a, "numbers"_a, "warmup"_a, "early_stop"_a.none(),
          "checkpoint"_a.none(), "history"_a, "on_step"_a.none(), "step_every"_a, "on_epoch"_a.none())
      .def("stop", &Session::stop)
      .def("scale_rate", &Session::scaleRate, "factor"_a)
      .def("restart", [](Session &self) { self.with([](vx::train::Session &session) { session.restart(); }); })
      .def("train_step", &Session::trainStep, "inputs"_a, "rate"_a)
      .def("usual_rate", &Session::usualRate)
      .def("run", &Session::call, "function"_a, "inputs"_a)
      .def("evaluate", &Session::evaluate, "data"_a, "batch"_a)
      .def("predict", &Session::predict, "data"_a, "batch"_a)
      .def("save",
           [](Session &self, const std::string &path, bool onlyWeights) {
             self.with([&](vx::train::Session &session) {
               session.save(path, onlyWeights ? vx::train::Contents::weights : vx::train::Contents::checkpoint);
             });
           })
      .def("load",
           [](Session &self, const std::string &path) {
             return self.with([&](vx::train::Session &session) { return session.load(path); });
           })
      .def("export_onnx",
           [](Session &self, const std::string &path, bool trains) {
             const auto form = trains ? vx::train::ExportForm::training : vx::train::ExportForm::inference;
             self.with([&](vx::train::Session &session) { session.export_onnx(path, form); });
           })
      .def("save_module",
           [](Session &self, const std::string &path) {
             self.with([&](vx::train::Session &session) { session.save_module(path); });
           })
      .def("progress",
           [](Session &self) {
             const vx::train::Progress progress =
                 self.with([](vx::train::Session &session) { return session.progress(); });
             nb::dict entry;
             entry["step"] = progress.step;
             entry["epoch"] = progress.epoch;
             entry["row"] = progress.row;
             entry["seed"] = progress.seed;
             return entry;
           })
      .def("summary",
           [](Session &self) { return self.with([](vx::train::Session &session) { return session.summary(); }); })
      .def("read_variable",
           [](Session &self, const std::string &name) {
             return self.with([&](vx::train::Session &session) { return session.read_variable(name); });
           })
      .def("write_variable",
           [](Session &self, const std::string &name, const vx::Value &value) {
             self.with([&](vx::train::Session &session) { session.write_variable(name, value); });
           })
      .def("report_text",
           [](Session &self) {
             return self.with([](vx::train::Session &session) { return session.get_instance().report(); });
           })
      .def("report", [](Session &self) {
        return self.with([](vx::train::Session &session) { return session.get_instance().report(VX_REPORT_JSON); });
      });

  m.def("scheduled_rate", scheduledRate, "form"_a, "numbers"_a, "rate"_a, "warmup"_a, "step"_a, "steps_per_epoch"_a,
        "total"_a);
  m.def("list_devices", [] {
    nb::gil_scoped_release unlocked;
    return vx::listDevices();
  });
  m.def(
      "free_memory",
      [](const std::string &device) {
        nb::gil_scoped_release unlocked;
        return vx::Device(std::string_view(device)).freeMemory();
      },
      "device"_a);
  m.def("set_log", setLog, "function"_a.none(), "least"_a);
  m.def("version", [] { return vx_version(); });
}
