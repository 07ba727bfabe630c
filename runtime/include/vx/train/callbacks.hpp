// Functions that are called during training.
#ifndef VX_TRAIN_CALLBACKS_HPP
#define VX_TRAIN_CALLBACKS_HPP

#include "vx/train/history.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace vx::train {

class Session;

// The extent of a `fit`.
struct Plan {
  uint64_t epochs = 0, steps_per_epoch = 0, total_steps = 0;
  int64_t rows = 0, batch = 0; // a step has so many rows, or several batches of them
};

// One completed step.
struct Step {
  uint64_t step = 0;  // steps done since training began, this one too
  uint64_t epoch = 0; // from 1
  uint64_t step_in_epoch = 0;
  double rate = 0;
  Scores scores; // of its rows
};

// Called by `fit` on its thread. Each function may ask the session to stop. An exception ends `fit`, and leaves the
// session as the last step left it.
class VX_TRAIN_API Callback {
public:
  virtual ~Callback() = default;
  virtual void on_begin(Session &, const Plan &) {}
  virtual void on_step(Session &, const Step &) {}
  // After the validation of an epoch.
  virtual void on_epoch(Session &, const Epoch &) {}
  // After `on_epoch` of all callbacks, so that a checkpoint that is saved here has their new state.
  virtual void after_epoch(Session &, const Epoch &) {}
  // A note for the user: a short batch that is left out, a loss that is not a number.
  virtual void on_note(Session &, const std::string &) {}
  virtual void on_end(Session &, const History &) {}

  // Its state for a checkpoint, under a name of its own; an empty name: no state.
  virtual std::string name() const { return {}; }
  virtual std::string state() const { return {}; }
  // Gets the `state` of a checkpoint, before `on_begin`.
  virtual void restore(const std::string &) {}
};

using CallbackPointer = std::shared_ptr<Callback>;

// Writes a line to `file`, which is borrowed, for each epoch. With `all`, also one for each note and one for the reason
// why training stops.
VX_TRAIN_API CallbackPointer log(std::FILE *file = stdout, bool all = true);

// Updates a line in place during an epoch. Writes nothing if `file` is not a terminal.
VX_TRAIN_API CallbackPointer progress(std::FILE *file = stderr);

// Stops when `monitor` has not become better by more than `least` for `patience` epochs, 1 or more. `monitor` is "loss"
// or a metric, of the validation if there is one. A loss is better when it is less, a metric when it is more.
VX_TRAIN_API CallbackPointer early_stopping(uint64_t patience, double least = 0, const std::string &monitor = "loss");

// Saves a checkpoint to `folder` after every `every`-th epoch (1 or more) and after the last one. The folder is made if
// it is missing. The file is checkpoint-STEP.safetensors, with the step in 12 digits. Retains the newest `keep`, two or
// more.
VX_TRAIN_API CallbackPointer checkpoint(uint64_t every, const std::string &folder, uint64_t keep = 2);

// The file of `folder` that it saves after so many steps.
VX_TRAIN_API std::string checkpoint_path(const std::string &folder, uint64_t step);

// A user's own.
VX_TRAIN_API CallbackPointer on_step(std::function<void(Session &, const Step &)> function);
VX_TRAIN_API CallbackPointer on_epoch(std::function<void(Session &, const Epoch &)> function);

} // namespace vx::train

#endif
