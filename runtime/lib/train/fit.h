// Training that goes on.
#ifndef VX_TRAIN_FIT_H
#define VX_TRAIN_FIT_H

#include "feed.h"
#include "vx/train/session.hpp"

#include <map>
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
  void runEpoch();
  void finishEpoch(double seconds);
  void runStep(std::span<const int64_t> rows);
  Scores takeStep(std::span<const int64_t> rows);
  int64_t rowsOfStep() const { return plan.batch * static_cast<int64_t>(options.accumulate); }
  void lookAt(const Scores &scores);
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
  Feed feed;
  Plan plan;
  History history;

  // Of the epoch that goes on.
  Scores sums;
  double lastRate = 0;
  uint64_t strangeSteps = 0; // whose loss is no finite number
  bool hasNotedRest = false;

  std::optional<double> bestLoss;
  uint64_t bestEpoch = 0;
};

} // namespace vx::train

#endif
