#include "vx/train/callbacks.hpp"

#include "checkpoint_file.h"
#include "failure.h"
#include "vx/base/printable.h"
#include "vx/train/session.hpp"

#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace vx::train {

namespace fs = std::filesystem;

namespace {

// A NaN has a sign, which means nothing.
std::string scoreText(double value) { return fmt::format("{:.5g}", std::isnan(value) ? std::abs(value) : value); }

std::string scoresText(const Scores &scores) {
  std::string text = "loss " + scoreText(scores.loss);
  for (const auto &[name, value] : scores.metrics)
    text += fmt::format("  {} {}", name, scoreText(value));
  return text;
}

class Log : public Callback {
public:
  Log(std::FILE *file, bool all) : file(file), all(all) {}
  void on_begin(Session &, const Plan &given) override { plan = given; }
  void on_epoch(Session &, const Epoch &epoch) override {
    std::string text = fmt::format("epoch {}/{}  step {}  rate {:.4g}  {}", epoch.epoch, plan.epochs, epoch.step,
                                   epoch.rate, scoresText(epoch.training));
    if (epoch.skipped > 0)
      text += fmt::format("  skipped {}", epoch.skipped);
    if (epoch.validation)
      text += fmt::format("  validation {}", scoresText(*epoch.validation));
    line(text + fmt::format("  ({:.2f} s)", epoch.seconds));
  }
  void on_note(Session &, const std::string &note) override {
    if (all)
      line("note: " + note);
  }
  void on_end(Session &, const History &history) override {
    if (all && !history.stopped.empty())
      line("stopped: " + history.stopped);
  }

private:
  void line(const std::string &text) {
    const std::string safe = printableLine(text) + '\n';
    std::fwrite(safe.data(), 1, safe.size(), file);
    std::fflush(file);
  }
  std::FILE *file;
  const bool all;
  Plan plan;
};

class ProgressLine : public Callback {
public:
  explicit ProgressLine(std::FILE *file) : file(file), isShown(::isatty(::fileno(file)) == 1) {}
  void on_begin(Session &, const Plan &given) override { plan = given; }
  void on_step(Session &, const Step &step) override {
    const auto now = std::chrono::steady_clock::now();
    if (!isShown || now - last < std::chrono::milliseconds(100))
      return;
    last = now;
    fmt::print(file, "\r\033[K{}",
               printableLine(fmt::format("epoch {}/{}  step {}/{}  {}", step.epoch, plan.epochs, step.step_in_epoch,
                                         plan.steps_per_epoch, scoresText(step.scores))));
    std::fflush(file);
    isDirty = true;
  }
  void on_epoch(Session &, const Epoch &) override { clear(); }
  void on_note(Session &, const std::string &) override { clear(); }
  void on_end(Session &, const History &) override { clear(); }

private:
  void clear() {
    if (isDirty)
      std::fputs("\r\033[K", file);
    std::fflush(file);
    isDirty = false;
  }
  std::FILE *file;
  const bool isShown;
  bool isDirty = false;
  std::chrono::steady_clock::time_point last{};
  Plan plan;
};

class EarlyStopping : public Callback {
public:
  EarlyStopping(uint64_t patience, double least, std::string monitor)
      : patience(patience), least(least), monitor(std::move(monitor)) {
    if (patience == 0)
      throw argumentError("early_stopping: expected a patience of 1 epoch or more, got 0");
    if (!std::isfinite(least) || least < 0)
      throw argumentError("early_stopping: expected a difference of 0 or more, got {}", least);
  }
  void on_epoch(Session &session, const Epoch &epoch) override {
    const double value = (epoch.validation ? *epoch.validation : epoch.training).of(monitor);
    const bool isLoss = monitor == "loss";
    const bool isBetter = !has || (isLoss ? value < best - least : value > best + least);
    if (isBetter && !std::isnan(value)) {
      has = true;
      best = value;
      waited = 0;
    } else if (++waited >= patience) {
      session.stop(fmt::format("early stopping: {}{} has not become better than {} by more than {} in {} epochs",
                               epoch.validation ? "validation " : "", monitor, has ? best : NAN, least, waited));
    }
  }
  std::string name() const override { return "early_stopping." + monitor; }
  std::string state() const override {
    return fmt::format("{} {:x} {}", has ? 1 : 0, std::bit_cast<uint64_t>(best), waited);
  }
  void restore(const std::string &state) override {
    uint64_t given = 0, bits = 0, epochs = 0;
    const char *at = state.data(), *end = at + state.size();
    for (auto [place, base] : {std::pair(&given, 10), std::pair(&bits, 16), std::pair(&epochs, 10)}) {
      const auto [last, error] = std::from_chars(at, end, *place, base);
      if (error != std::errc())
        throw dataError("checkpoint: early_stopping: expected three numbers, got '{}'", state);
      at = last < end ? last + 1 : last;
    }
    has = given != 0;
    best = std::bit_cast<double>(bits);
    waited = epochs;
  }

private:
  const uint64_t patience;
  const double least;
  const std::string monitor;
  bool has = false;
  double best = 0;
  uint64_t waited = 0;
};

class Checkpoint : public Callback {
public:
  Checkpoint(uint64_t every, std::string folder, uint64_t keep) : every(every), folder(std::move(folder)), keep(keep) {
    if (every == 0)
      throw argumentError("checkpoint: expected one every 1 epoch or more, got 0");
    if (keep < 2)
      throw argumentError(
          "checkpoint: expected to keep 2 or more, so that the one before is there while one is written, "
          "got {}",
          keep);
  }
  void on_begin(Session &session, const Plan &) override {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder, error))
      throw ioError("cannot make the folder '{}': {}", folder, error ? error.message() : "a file has its name");
    lastStep = session.progress().step;
    const std::vector<FoundCheckpoint> found = checkpointsIn(folder);
    if (!found.empty() && found[0].step > lastStep)
      throw argumentError(
          "checkpoint: '{}' is of step {}, but training begins at step {}: go on from it, or take another "
          "folder",
          found[0].path, found[0].step, lastStep);
  }
  void after_epoch(Session &session, const Epoch &epoch) override {
    if (epoch.epoch % every == 0)
      save(session);
  }
  void on_end(Session &session, const History &) override {
    if (session.progress().step != lastStep)
      save(session);
  }

private:
  void save(Session &session) {
    session.save(checkpoint_path(folder, session.progress().step));
    lastStep = session.progress().step;
    // One that cannot be removed takes room and harms nobody.
    const std::vector<FoundCheckpoint> found = checkpointsIn(folder);
    std::error_code ignored;
    for (size_t i = keep; i < found.size(); ++i)
      fs::remove(found[i].path, ignored);
  }
  const uint64_t every;
  const std::string folder;
  const uint64_t keep;
  uint64_t lastStep = 0;
};

class OnStep : public Callback {
public:
  explicit OnStep(std::function<void(Session &, const Step &)> function) : function(std::move(function)) {
    if (!this->function)
      throw argumentError("on_step: expected a function, got none");
  }
  void on_step(Session &session, const Step &step) override { function(session, step); }

private:
  std::function<void(Session &, const Step &)> function;
};

class OnEpoch : public Callback {
public:
  explicit OnEpoch(std::function<void(Session &, const Epoch &)> function) : function(std::move(function)) {
    if (!this->function)
      throw argumentError("on_epoch: expected a function, got none");
  }
  void on_epoch(Session &session, const Epoch &epoch) override { function(session, epoch); }

private:
  std::function<void(Session &, const Epoch &)> function;
};

} // namespace

CallbackPointer log(std::FILE *file, bool all) { return std::make_shared<Log>(file, all); }
CallbackPointer progress(std::FILE *file) { return std::make_shared<ProgressLine>(file); }
CallbackPointer early_stopping(uint64_t patience, double least, const std::string &monitor) {
  return std::make_shared<EarlyStopping>(patience, least, monitor);
}
CallbackPointer checkpoint(uint64_t every, const std::string &folder, uint64_t keep) {
  return std::make_shared<Checkpoint>(every, folder, keep);
}
std::string checkpoint_path(const std::string &folder, uint64_t step) {
  return fs::path(folder) / checkpointName(step);
}
CallbackPointer on_step(std::function<void(Session &, const Step &)> function) {
  return std::make_shared<OnStep>(std::move(function));
}
CallbackPointer on_epoch(std::function<void(Session &, const Epoch &)> function) {
  return std::make_shared<OnEpoch>(std::move(function));
}

} // namespace vx::train
