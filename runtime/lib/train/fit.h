// Training that goes on.
#ifndef VX_TRAIN_FIT_H
#define VX_TRAIN_FIT_H

#include "feed.h"
#include "vx/train/session.hpp"

#include <exception>
#include <map>
#include <optional>
#include <string>

namespace vx::train {

class Fit {
public:
  // Finds all that is wrong with the data and the options.
  Fit(Session &session, const Dataset &data, const FitOptions &options);
  ~Fit();
  Fit(const Fit &) = delete;
  Fit &operator=(const Fit &) = delete;

  History run();

  // Adds what a checkpoint needs to go on as if nothing had been.
  void remember(std::map<std::string, std::string> &metadata) const;

private:
  void restore();
  void restoreSums();
  void checkMemory();
  void runEpoch();
  void finishEpoch(double seconds);
  std::optional<Scores> validate();
  bool endsByCancel(const vx::Error &error);
  // A batch of the epoch that goes on, and what its run depends on beside the variables.
  struct Place {
    uint64_t step = 0, batch = 0; // steps done, and batches of the step
    uint64_t epoch = 0, seed = 0;
    int64_t row = 0, rows = 0;
    bool operator==(const Place &) const = default;
  };
  // Its rows are read, and its inputs are on the device where `run` is something.
  struct Batch {
    Place place;
    double rate = 0;
    std::vector<Value> inputs;
    Pending run; // held
    std::exception_ptr failure;
  };

  // The rows of the step that begins at a row; 0: those that are left are no batch, or there are none.
  int64_t rowsAt(int64_t row) const;
  Place firstOf(uint64_t step, int64_t row) const;
  void runStep();
  Scores takeStep();
  // What it gives. `next` is read meanwhile.
  std::vector<Value> runBatch(const Place &place, const std::optional<Place> &next);
  Batch read(const Place &place);
  void hold(Batch &batch, double rate);
  void readAhead(const Place &place);
  double rateOf(uint64_t step) const { return schedule.rate({step, plan.steps_per_epoch, plan.total_steps}); }
  int64_t rowsOfStep() const { return plan.batch * static_cast<int64_t>(options.accumulate); }
  void lookAt(const Scores &scores);
  void lookAtScale(const LossScale &scale);
  void note(std::string text);
  bool isStopped() const { return !session.stop_reason.empty(); }
  void lookForInterrupts();
  template <typename... Parameters, typename... Arguments>
  void tell(void (Callback::*function)(Parameters...), Arguments &&...arguments) {
    for (const CallbackPointer &callback : options.callbacks)
      ((*callback).*function)(session, arguments...);
  }

  Session &session;
  const Dataset &data;
  const FitOptions &options;
  const Schedule schedule;
  Feed feed;
  Plan plan;
  History history;

  // Of the epoch that goes on.
  std::vector<int64_t> order; // of the rows
  Batch ahead;                // the one that is to be next, read while the one before ran
  bool mayHoldAhead = true;   // there is room for the inputs of two batches on the device
  Scores sums;
  double lastRate = 0;
  uint64_t strangeSteps = 0; // whose loss is no finite number
  bool hasNotedRest = false;

  // Of a module that scales its loss: how many steps it had skipped when the epoch began and when that was looked at
  // last, behind which step that was, and when it is looked at again.
  static constexpr uint64_t FirstLook = 100;
  uint64_t skippedBefore = 0, skippedSeen = 0, lookedAt = 0, nextLook = 0, lookEvery = FirstLook;

  std::optional<double> bestLoss;
  uint64_t bestEpoch = 0;
};

} // namespace vx::train

#endif
