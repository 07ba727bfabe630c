// A module that is being trained on a device.
#ifndef VX_TRAIN_SESSION_HPP
#define VX_TRAIN_SESSION_HPP

#include "vx/train/callbacks.hpp"
#include "vx/train/dataset.hpp"
#include "vx/train/history.hpp"
#include "vx/train/schedule.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vx::train {

// How far training has come; a checkpoint has it.
struct Progress {
  uint64_t step = 0;  // steps done
  uint64_t epoch = 0; // epochs done
  int64_t row = 0;    // rows of the epoch that is going on that are done; 0 between two epochs
  uint64_t seed = 0;  // of what `fit` draws
};

struct FitOptions {
  // Training ends when this many epochs have been done, also those before a checkpoint that was loaded.
  uint64_t epochs = 1;
  // Rows of a step. Must be the module's where that has a fixed one; 0: the module's, or 32.
  int64_t batch = 0;
  // Batches of a step: their gradients are those of the mean over all of their rows, so that a step is that of one
  // larger batch but for rounding, in the memory of a small one. The last step of an epoch has as many as are left.
  // More than 1 wants a module that was compiled with --keep-gradients.
  uint64_t accumulate = 1;
  const Dataset *validation = nullptr;   // borrowed; evaluated behind each epoch
  std::optional<Schedule> schedule = {}; // nothing: the module's rate, or 1e-3
  // Of the order of the rows and of the steps' random numbers. Nothing: that of the checkpoint, or else 0.
  std::optional<uint64_t> seed = {};
  std::vector<CallbackPointer> callbacks = {};
  uint64_t max_steps = 0;   // ends when this many steps have been done, in the middle of an epoch as well; 0: no limit
  bool stop_on_nan = false; // ends at the first step whose loss is no finite number; else that is noted only
  double scale = 1;         // what a module that scales its loss scales it by
};

// What a file of `save` holds.
enum class Contents {
  checkpoint, // all that training goes on from
  weights     // parameters and statistics
};

// Thread-compatible, but for `interrupt`.
class VX_TRAIN_API Session {
public:
  // `options.seed` is that of the variables that start with random values. Throws vx::Error as vx::Module and
  // vx::Instance do, and Error::argument for a module that does not train.
  explicit Session(const std::string &path, const InstanceOptions &options = {});
  explicit Session(const Module &module, const InstanceOptions &options = {});
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  // Trains. Each epoch takes the rows of `data` once, in an order that the seed and the epoch decide alone, so that
  // training in one go and training that was interrupted after any step, saved, loaded and continued give the same bits
  // on one device. A rest of rows that is no batch is a short one where the module takes that, and is left out, which
  // is noted, where it does not. Throws Error::argument or Error::data before the first step when data and module do
  // not fit together, labels out of range included, and vx::Error when a step fails: its step has changed no variable.
  History fit(const Dataset &data, const FitOptions &options);

  // Means over all rows. `batch` rows at a time; 0: the last fit's, the module's, or 32.
  Scores evaluate(const Dataset &data, int64_t batch = 0);
  // One of them: "loss", or the name of a metric.
  double evaluate(const Dataset &data, const std::string &metric, int64_t batch = 0);

  // The outputs of the module's prediction for all rows, in their order, in host memory. Columns that it does not take
  // are not read.
  std::vector<Value> predict(const Dataset &data, int64_t batch = 0);

  // One step by hand, with the inputs that are the user's data, in the order of the training table. Counts as one.
  Scores train_step(std::span<const Value> inputs, double rate, double scale = 1);
  // The halves of a step by hand, of a module that was compiled with --keep-gradients. `backward` computes the
  // gradients of a batch into variables: without `keep` in the place of those that are there, with it as those of the
  // mean over the rows of all batches since the last one without. `update` makes a step by them and counts as one; they
  // stay.
  Scores backward(std::span<const Value> inputs, bool keep = false, double scale = 1);
  void update(double rate, double scale = 1);
  // What `backward` has left of a parameter, before it is clipped.
  Value gradient(const std::string &parameter) const;
  // Any function of the module, by name, over the same variables.
  std::vector<Value> call(const std::string &function, std::span<const Value> inputs);

  // Writes a safetensors file: beside the name, renamed when it is on the disk. Tensors have the names that the model
  // has for them. Throws Error::io; then what stands under the name is what was there before, or is whole.
  void save(const std::string &path, Contents contents = Contents::checkpoint) const;
  // Whether `export_onnx` can: the module was made of an ONNX model, and keeps of it what no variable holds.
  bool exports_onnx() const { return training->skeleton != nullptr; }
  // Writes the ONNX model that the module was made of with the parameters and statistics as they are now: all else is
  // as it was, but for weights that lay in files of their own. Where the module was made for that, they go to
  // `path`.data, which the model names. Written as `save` does. Throws Error::argument for a module that has no such
  // model, Error::io, and vx::Error for a damaged module.
  void export_onnx(const std::string &path) const;
  // The same, if `function` is what the model is of: the module's prediction. Throws Error::argument for another one.
  void export_onnx(const std::string &path, const std::string &function) const;
  // Takes variables, all or none, from a file of `save` or of another tool. A checkpoint wants all of its variables,
  // and sets the progress; a file of weights wants the parameters and statistics, and leaves the rest as it is. A
  // folder stands for the newest checkpoint in it that is whole. Gives what was noted. Throws Error::data with all
  // tensors that are missing, that nothing takes, and whose type or dims are others.
  std::vector<std::string> load(const std::string &path);

  // Variables by their names.
  Value read_variable(const std::string &name) const { return instance.readVariable(name); }
  void write_variable(const std::string &name, const Value &value) { instance.writeVariable(name, value); }

  // Nothing for a module that does not scale its loss by itself.
  std::optional<LossScale> loss_scale() const;

  // A table of all parameters: name, shape, count; and their sum, "total 235146 (235.1K)". Where the module scales its
  // loss, a line of that.
  std::string summary() const;
  // Elements of all parameters.
  uint64_t parameter_count() const;

  const Progress &progress() const { return position; }
  // Begins counting anew; variables stay as they are.
  void restart() { position = {}; }

  // Ends `fit` behind the step that is going on; for callbacks. The first reason is kept.
  void stop(const std::string &reason);
  // The same from a signal handler or another thread. Holds also for a `fit` that has not begun yet.
  void interrupt() noexcept { interrupted.store(true); }
  bool was_interrupted() const noexcept { return interrupted.load(); }

  // `function` is called on the waiting thread, about every 50 ms while a run of `fit`, `evaluate`, `predict`, a step
  // or `call` is going on or waits for its turn, and between two batches. `trains` says that the run is of a training
  // step. Where it returns true, the run is cancelled: it fails with VX_CANCELLED and has changed nothing, unless it
  // was done already. A `fit` then ends as by `stop`, where that step began. An empty function: nothing is called, as
  // at first.
  void watch(std::function<bool(bool trains)> function) { watcher = std::move(function); }

  const Module &get_module() const { return module; }
  const Instance &get_instance() const { return instance; }

private:
  friend class Fit;

  Call &call_of(const vx_function_info &function);
  Scores scores_of(std::span<const Value> outputs, int64_t rows) const;
  // Where the random numbers of a run come from.
  struct Draw {
    uint64_t step = 0;  // steps done
    uint64_t batch = 0; // of the step
  };
  std::vector<Value> step_inputs(std::span<const Value> inputs, double rate, double scale, Draw draw) const;
  std::vector<Value> half_inputs(const vx_function_info &half, std::span<const Value> inputs, double rate, double scale,
                                 Draw draw, bool keep) const;
  void want_halves() const;
  std::vector<Value> run(const vx_function_info &function, std::span<const Value> inputs, bool trains);
  std::vector<Value> wait(const Pending &run, bool trains) const;
  void watch_batches(bool trains) const;
  Scores run_step(std::span<const Value> inputs, int64_t rows, double rate, double scale);
  Scores run_backward(std::span<const Value> inputs, int64_t rows, bool keep, double scale);
  void run_update(double rate, double scale);
  // The same runs, held.
  Pending hold_step(std::span<const Value> inputs, double rate, double scale, Draw draw);
  Pending hold_backward(std::span<const Value> inputs, double scale, Draw draw);
  Scores evaluate_all(const Dataset &data, int64_t batch, std::vector<std::string> &notes);

  Module module;
  const vx_training_info *training;
  Instance instance;
  std::map<std::string, Call> calls;                   // by function
  const std::vector<std::string> loss_scale_variables; // empty: the module does not scale its loss by itself

  Progress position;
  uint64_t batch_of_step = 0; // of those whose gradients are kept together, so that each draws numbers of its own
  int64_t last_batch = 0;
  std::string stop_reason;
  std::function<bool(bool trains)> watcher;
  std::atomic<bool> interrupted{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
  // What a checkpoint says beside the progress: of the last fit, or of the file that was loaded. A fit that goes on is
  // asked anew.
  std::map<std::string, std::string> remembered;
  const class Fit *running = nullptr;
};

// The newest file that `checkpoint` has saved to a folder and that is whole. Throws Error::data when there is none.
VX_TRAIN_API std::string latest_checkpoint(const std::string &folder);

} // namespace vx::train

#endif
