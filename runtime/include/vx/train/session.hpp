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

// The progress of training; a checkpoint has it.
struct Progress {
  uint64_t step = 0;  // steps done
  uint64_t epoch = 0; // epochs done
  int64_t row = 0;    // rows done in the current epoch; 0 between two epochs
  uint64_t seed = 0;  // of the random numbers of `fit`
};

struct FitOptions {
  // Training ends when this many epochs have been done, including those before a checkpoint that was loaded.
  uint64_t epochs = 1;
  // Rows of a step. Must be the module's if that has a fixed one; 0: the module's, or 32.
  int64_t batch = 0;
  // Batches of a step. Their gradients are those of the mean over all of their rows. So a step equals that of one
  // larger batch except for rounding, in the memory of a small one. The last step of an epoch has the remaining
  // batches. More than 1 needs a module that was compiled with --keep-gradients.
  uint64_t accumulate = 1;
  const Dataset *validation = nullptr;   // borrowed; evaluated after each epoch
  std::optional<Schedule> schedule = {}; // nothing: the module's rate, or 1e-3
  // For the order of the rows and for the steps' random numbers. Nothing: that of the checkpoint, or else 0.
  std::optional<uint64_t> seed = {};
  std::vector<CallbackPointer> callbacks = {};
  uint64_t max_steps = 0;   // ends when this many steps have been done, in the middle of an epoch as well; 0: no limit
  bool stop_on_nan = false; // ends at the first step with a loss that is not finite; else that is only noted
  double scale = 1;         // the scale of the loss, for a module that scales it
};

// The contents of a file of `save`.
enum class Contents {
  checkpoint, // all that training needs to continue
  weights     // parameters and statistics
};

// What an exported model does.
enum class ExportForm {
  // It infers: no Dropout drops, and batch norms use their running statistics, whatever the model's file says. Dropout
  // nodes are left out, BatchNormalization nodes have no `training_mode`, and the values that only these read are gone.
  inference,
  training // as the file says, for training that goes on from it
};

// Thread-compatible, except for `interrupt`.
class VX_TRAIN_API Session {
public:
  // `options.seed` is that of the variables that start with random values. Throws vx::Error as vx::Module and
  // vx::Instance do, and Error::argument for a module that does not train.
  explicit Session(const std::string &path, const InstanceOptions &options = {});
  explicit Session(const Module &module, const InstanceOptions &options = {});
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  // Trains. Each epoch uses the rows of `data` once, in an order that depends on the seed and the epoch alone. So
  // training without a break, and training that was interrupted after any step, saved, loaded and continued, give the
  // same bits on one device. The remaining rows of an epoch are a short batch if the module accepts that; if not they
  // are left out, with a note. Throws Error::argument or Error::data before the first step when data and module do not
  // fit together, including labels out of range. Throws vx::Error when a step fails: that step has changed no variable.
  History fit(const Dataset &data, const FitOptions &options);

  // Means over all rows. `batch` rows at a time; 0: the last fit's, the module's, or 32.
  Scores evaluate(const Dataset &data, int64_t batch = 0);
  // One of these means: "loss", or the name of a metric.
  double evaluate(const Dataset &data, const std::string &metric, int64_t batch = 0);

  // The outputs of the module's prediction for all rows, in their order, in host memory. Columns that it has no input
  // for are not read.
  std::vector<Value> predict(const Dataset &data, int64_t batch = 0);

  // One step of a loop of your own. `inputs` are the user's data, in the order of the training table. Counts as a step.
  Scores train_step(std::span<const Value> inputs, double rate, double scale = 1);
  // The halves of a step for a loop of your own, of a module that was compiled with --keep-gradients. `backward`
  // computes the gradients of a batch into variables. Without `keep` they replace the earlier ones. With `keep` they
  // become those of the mean over the rows of all batches since the last one without it. `update` updates the variables
  // by them and counts as a step; the gradients stay.
  Scores backward(std::span<const Value> inputs, bool keep = false, double scale = 1);
  void update(double rate, double scale = 1);
  // The gradient of a parameter that `backward` has computed, before it is clipped.
  Value gradient(const std::string &parameter) const;
  // Any function of the module, by name, over the same variables.
  std::vector<Value> call(const std::string &function, std::span<const Value> inputs);

  // Writes a safetensors file: beside the name, renamed when it is on the disk. Tensors have their names of the model.
  // Throws Error::io; then the file of this name is the old one, or is complete.
  void save(const std::string &path, Contents contents = Contents::checkpoint) const;
  // Whether `export_onnx` is possible: the module was made of an ONNX model, and has the parts of it that no variable
  // holds.
  bool exports_onnx() const { return training->skeleton != nullptr; }
  // Writes the ONNX model that the module was made of, with the current parameters and statistics, as it infers or as
  // it trains. The rest of the model is unchanged, except for weights that were in files of their own: if the module
  // was made for that, they go to `path`.data, which the model names. Written as `save` does. Throws Error::argument
  // for a module that has no such model, Error::io, and vx::Error for a damaged module.
  void export_onnx(const std::string &path, ExportForm form = ExportForm::inference) const;
  // The same, if `function` is the one of the model: the module's prediction. Throws Error::argument for another one.
  void export_onnx(const std::string &path, const std::string &function, ExportForm form = ExportForm::inference) const;
  // Writes a module that starts with the current parameters and statistics, for every target of this one, and needs no
  // compiler. The state of the optimizer is not in it. Throws vx::Error with VX_IO_ERROR; then the file of this name is
  // the old one, or is complete.
  void save_module(const std::string &path) const;
  // Reads variables, all or none, from a file of `save` or of another tool. A checkpoint must have all variables, and
  // sets the progress. A file of weights must have the parameters and statistics, and changes no others. A folder
  // stands for its newest complete checkpoint. Returns notes. Throws Error::data with all tensors that are missing,
  // that are unknown, or that have another type or other dims.
  std::vector<std::string> load(const std::string &path);

  // Variables by their names.
  Value read_variable(const std::string &name) const { return instance.readVariable(name); }
  void write_variable(const std::string &name, const Value &value) { instance.writeVariable(name, value); }

  // Nothing for a module that does not scale its loss by itself.
  std::optional<LossScale> loss_scale() const;

  // A table of all parameters: name, shape, count; and their sum, "total 235146 (235.1K)". If the module scales its
  // loss, it has a line on that.
  std::string summary() const;
  // Elements of all parameters.
  uint64_t parameter_count() const;

  const Progress &progress() const { return position; }
  // Sets the progress to 0; variables do not change.
  void restart() { position = {}; }

  // Ends `fit` after the current step; for callbacks. The first reason counts.
  void stop(const std::string &reason);
  // The same from a signal handler or another thread. Holds also for a `fit` that has not begun yet.
  void interrupt() noexcept { interrupted.store(true); }
  bool was_interrupted() const noexcept { return interrupted.load(); }

  // `function` is called on the waiting thread, about every 50 ms while a run of `fit`, `evaluate`, `predict`, a step
  // or `call` is going on or waits for its turn, and between two batches. `trains` says that the run is of a training
  // step. If it returns true, the run is cancelled: it fails with VX_CANCELLED and has changed nothing, unless it was
  // already done. A `fit` then ends as by `stop`, in the state before that step. An empty function: nothing is called,
  // the default.
  void watch(std::function<bool(bool trains)> function) { watcher = std::move(function); }

  const Module &get_module() const { return module; }
  const Instance &get_instance() const { return instance; }

private:
  friend class Fit;

  Call &call_of(const vx_function_info &function);
  Scores scores_of(std::span<const Value> outputs, int64_t rows) const;
  // The position that the random numbers of a run are drawn at.
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
  uint64_t batch_of_step = 0; // of the batches that share gradients, so that each draws random numbers of its own
  int64_t last_batch = 0;
  std::string stop_reason;
  std::function<bool(bool trains)> watcher;
  std::atomic<bool> interrupted{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
  // The entries of a checkpoint beside the progress: of the last fit, or of the file that was loaded. A running fit
  // gives new ones.
  std::map<std::string, std::string> remembered;
  const class Fit *running = nullptr;
};

// The newest complete file that `checkpoint` has saved to a folder. Throws Error::data when there is none.
VX_TRAIN_API std::string latest_checkpoint(const std::string &folder);

} // namespace vx::train

#endif
