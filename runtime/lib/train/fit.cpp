#include "fit.h"

#include "failure.h"
#include "lost_parts.h"
#include "random.h"
#include "scores.h"
#include "step_memory.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace vx::train {

static constexpr char CallbackPrefix[] = "callback.";

// Doubles as what they are, bit by bit.
static std::string bitsText(double value) { return fmt::format("{:016x}", std::bit_cast<uint64_t>(value)); }
static double fromBits(const std::string &text) {
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size())
    throw dataError("checkpoint: expected the bits of a number, got '{}'", text);
  return std::bit_cast<double>(bits);
}

// Those of a text of a checkpoint; none where it has no such key.
static std::vector<std::string> wordsOf(const std::map<std::string, std::string> &memory, const std::string &key) {
  std::vector<std::string> words;
  const auto known = memory.find(key);
  const std::string text = known == memory.end() ? "" : known->second;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

static std::span<const size_t> dataInputs(const vx_training_info &training) {
  return {training.inputs, training.input_count};
}

static Schedule scheduleOf(const FitOptions &options, const vx_training_info &training) {
  if (options.schedule)
    return *options.schedule;
  return training.rate > 0 ? Schedule(training.rate) : Schedule();
}

Fit::Fit(Session &session, const Dataset &data, const FitOptions &options)
    : session(session), data(data), options(options), schedule(scheduleOf(options, *session.training)),
      feed(data, *session.training->train_step, dataInputs(*session.training)) {
  for (const CallbackPointer &callback : options.callbacks)
    if (!callback)
      throw argumentError("fit: expected a callback, got a null pointer");
  if (options.accumulate == 0)
    throw argumentError("fit: accumulate: expected 1 batch or more for a step, got 0");
  if (options.accumulate > 1)
    session.want_halves();
  if (options.validation && !session.training->evaluate)
    throw argumentError("fit: the module has no function to evaluate with, which validation needs");
  if (options.seed && session.position.row > 0 && *options.seed != session.position.seed)
    throw argumentError("fit: seed {}, but training stands in the middle of an epoch whose rows seed {} has ordered",
                        *options.seed, session.position.seed);
  plan.rows = data.rows();
  plan.batch = feed.batch(options.batch, UsualBatch);
  const bool hasShortBatch = feed.takes(plan.rows % plan.batch);
  const auto batches = static_cast<uint64_t>(plan.rows / plan.batch + (hasShortBatch ? 1 : 0));
  plan.steps_per_epoch = batches / options.accumulate + (batches % options.accumulate > 0 ? 1 : 0);
  if (plan.steps_per_epoch == 0)
    throw dataError("{}: the data has {} rows, less than the batch of {} that the module is compiled for",
                    data.origin(0), plan.rows, plan.batch);
  plan.epochs = options.epochs;
  plan.total_steps = options.epochs * plan.steps_per_epoch;
  if (options.max_steps > 0)
    plan.total_steps = std::min(plan.total_steps, options.max_steps);
  if (options.validation) {
    // What is wrong with it, too, is said before the first step.
    const vx_function_info &evaluate = *session.training->evaluate;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < evaluate.input_count; ++i)
      numbers.push_back(i);
    Feed check(*options.validation, evaluate, numbers);
  }
  checkMemory();
  if (session.position.step == 0)
    if (std::string warning = lostParts(*session.training, session.instance.variables()); !warning.empty())
      note(std::move(warning));
  restore();
  history.optimizer = session.training->optimizer;
  history.loss = session.training->loss;
  history.schedule = schedule.text();
  history.seed = session.position.seed;
  history.data = data.description();
  history.classes = data.classes();
  session.last_batch = plan.batch;
  session.running = this;
}

Fit::~Fit() {
  remember(session.remembered);
  session.running = nullptr;
}

void Fit::checkMemory() {
  const vx_training_info &training = *session.training;
  std::vector<const vx_function_info *> functions;
  if (options.accumulate > 1)
    functions = {training.backward, training.step};
  else
    functions = {training.train_step};
  if (options.validation)
    functions.push_back(training.evaluate);
  if (std::string unknown = train::checkMemory(session.instance, functions, feed, std::min(plan.batch, plan.rows));
      !unknown.empty())
    note(std::move(unknown));
}

void Fit::restore() {
  const std::map<std::string, std::string> &memory = session.remembered;
  if (session.position.row > 0) {
    if (const auto rows = memory.find("rows"); rows != memory.end() && rows->second != std::to_string(plan.rows))
      throw dataError("{}: the data has {} rows, but training stands at row {} of an epoch of {}", data.origin(0),
                      plan.rows, session.position.row, rows->second);
    restoreSums();
  }
  if (const auto before = memory.find("data"); before != memory.end() && before->second != data.description())
    note(fmt::format("the checkpoint is of a training on {}; the data are {} now", before->second,
                     data.description().empty() ? "no images" : data.description()));
  if (const std::vector<std::string> words = wordsOf(memory, "best"); words.size() == 2) {
    bestLoss = fromBits(words[0]);
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), bestEpoch);
  }
  for (const CallbackPointer &callback : options.callbacks)
    if (const auto state = memory.find(CallbackPrefix + callback->name());
        !callback->name().empty() && state != memory.end())
      callback->restore(state->second);
  if (options.seed)
    session.position.seed = *options.seed;
  if (const std::optional<LossScale> scale = session.loss_scale()) {
    skippedBefore = skippedSeen = scale->skipped;
    if (const auto before = memory.find("skipped"); before != memory.end() && session.position.row > 0)
      std::from_chars(before->second.data(), before->second.data() + before->second.size(), skippedBefore);
    lookedAt = session.position.step;
    nextLook = lookedAt + lookEvery;
  }
}

// Of the epoch that goes on. A checkpoint without counts is of a module that had none, whose sums are over rows.
void Fit::restoreSums() {
  const std::vector<std::string> words = wordsOf(session.remembered, "sums");
  std::vector<std::string> counts = wordsOf(session.remembered, "counts");
  if (words.size() < 2)
    return;
  lastRate = fromBits(words[1]);
  const vx_training_info &training = *session.training;
  if (counts.empty() && training.counts) {
    note(fmt::format("the checkpoint is of a module that did not count what its metrics are means over: those of epoch "
                     "{} are of its rows after row {}",
                     session.position.epoch + 1, session.position.row));
    return;
  }
  counts.resize(words.size() - 1, bitsText(static_cast<double>(session.position.row)));
  sums.rows = session.position.row;
  sums.loss = fromBits(words[0]);
  sums.count = fromBits(counts[0]);
  for (size_t i = 0; i < training.metric_count; ++i)
    if (const size_t place = sums.metrics.size() + 2; training.metrics[i] != 0 && place < words.size()) {
      sums.metrics.emplace_back(training.train_step->outputs[training.metrics[i]].name, fromBits(words[place]));
      sums.metric_counts.push_back(fromBits(counts[place - 1]));
    }
}

void Fit::remember(std::map<std::string, std::string> &metadata) const {
  metadata["rows"] = std::to_string(plan.rows);
  metadata["batch"] = std::to_string(plan.batch);
  metadata["accumulate"] = std::to_string(options.accumulate);
  metadata["schedule"] = schedule.text();
  if (!data.description().empty())
    metadata["data"] = data.description();
  else
    metadata.erase("data");
  metadata["sums"] = bitsText(sums.loss) + ' ' + bitsText(lastRate);
  metadata["counts"] = bitsText(sums.count);
  for (const auto &[name, value] : sums.metrics)
    metadata["sums"] += ' ' + bitsText(value);
  for (double count : sums.metric_counts)
    metadata["counts"] += ' ' + bitsText(count);
  if (nextLook > 0)
    metadata["skipped"] = std::to_string(skippedBefore);
  if (bestLoss) {
    metadata["best"] = fmt::format("{} {}", bitsText(*bestLoss), bestEpoch);
    metadata["best_metric"] = fmt::format("loss {} in epoch {}", *bestLoss, bestEpoch);
  }
  for (const CallbackPointer &callback : options.callbacks)
    if (!callback->name().empty())
      metadata[CallbackPrefix + callback->name()] = callback->state();
}

void Fit::note(std::string text) {
  history.notes.push_back(std::move(text));
  tell(&Callback::on_note, history.notes.back());
}

void Fit::lookForInterrupts() {
  if (session.was_interrupted())
    session.stop("interrupted");
}

// Each time after twice as many steps: training that goes on for long skips one now and then, when the scale has grown.
void Fit::lookAtScale(const LossScale &scale) {
  const uint64_t step = session.position.step, skipped = scale.skipped - std::min(scale.skipped, skippedSeen);
  if (skipped > 0) {
    note(fmt::format("steps {} to {}: {} skipped, whose gradients were not finite; the loss is scaled by {} now{}",
                     lookedAt + 1, step, skipped == 1 ? "1 was" : fmt::format("{} were", skipped), scale.scale,
                     scale.scale > 1 ? "" : ", the least: they are not finite without a scale either"));
    lookEvery *= 2;
  }
  skippedSeen = scale.skipped;
  lookedAt = step;
  nextLook = step + lookEvery;
}

void Fit::lookAt(const Scores &scores) {
  const uint64_t step = session.position.step;
  if (std::isfinite(scores.loss)) {
    if (nextLook > 0 && step >= nextLook)
      lookAtScale(*session.loss_scale());
    return;
  }
  // A NaN has a sign, which means nothing.
  const double loss = std::isnan(scores.loss) ? std::abs(scores.loss) : scores.loss;
  std::string what = fmt::format("step {}: the loss is {}, at a rate of {}", step, loss, lastRate);
  // The first of an epoch is noted, or the one that ends training.
  if (nextLook > 0 && (strangeSteps == 0 || options.stop_on_nan))
    what += session.loss_scale()->good == 0
                ? "; the step is skipped. The scale is that of gradients, not of this: the data, or numbers of the "
                  "model, are not finite in f16"
                : "; its gradients are finite, and the step is made";
  if (options.stop_on_nan)
    session.stop(what);
  if (strangeSteps++ == 0)
    note(what);
}

int64_t Fit::rowsAt(int64_t row) const {
  const int64_t count = std::min(rowsOfStep(), plan.rows - row), rest = count % plan.batch;
  return rest > 0 && !feed.takes(rest) ? count - rest : count;
}

// The first batch of the step that begins at a row.
Fit::Place Fit::firstOf(uint64_t step, int64_t row) const {
  const Progress &position = session.position;
  return {step, 0, position.epoch, position.seed, row, std::min(plan.batch, rowsAt(row))};
}

Fit::Batch Fit::read(const Place &place) {
  Batch batch;
  batch.place = place;
  try {
    batch.inputs = feed.read(std::span(order).subspan(static_cast<size_t>(place.row), static_cast<size_t>(place.rows)));
  } catch (...) {
    batch.failure = std::current_exception(); // said when it is this batch's turn
  }
  return batch;
}

void Fit::hold(Batch &batch, double rate) {
  const Session::Draw draw = {batch.place.step, batch.place.batch};
  batch.rate = rate;
  batch.run = {};
  batch.run = options.accumulate == 1 ? session.hold_step(batch.inputs, rate, options.scale, draw)
                                      : session.hold_backward(batch.inputs, options.scale, draw);
}

// While a step runs. What fails here is tried again when it is this batch's turn, and said then.
void Fit::readAhead(const Place &place) {
  ahead = read(place);
  if (ahead.failure || !mayHoldAhead)
    return;
  try {
    hold(ahead, rateOf(place.step));
  } catch (...) {
    ahead.run = {};
  }
}

// Nothing of a batch is used that was read for another one: a callback may have changed what comes next.
std::vector<Value> Fit::runBatch(const Place &place, const std::optional<Place> &next) {
  Batch batch = ahead.place == place && (ahead.failure || !ahead.inputs.empty()) ? std::move(ahead) : read(place);
  ahead = {};
  if (batch.failure)
    std::rethrow_exception(batch.failure);
  if (!batch.run || std::bit_cast<uint64_t>(batch.rate) != std::bit_cast<uint64_t>(lastRate))
    hold(batch, lastRate);
  session.batch_of_step = place.batch;
  batch.run.start();
  if (next)
    readAhead(*next);
  try {
    return session.wait(batch.run, /*trains=*/true);
  } catch (const vx::Error &error) {
    // A run that fails has changed nothing, and there is more room without the next one's inputs.
    if (error.code() != VX_OUT_OF_MEMORY || !next || !mayHoldAhead)
      throw;
  }
  ahead.run = {};
  mayHoldAhead = false;
  hold(batch, lastRate);
  batch.run.start();
  return session.wait(batch.run, /*trains=*/true);
}

// Of one batch, or of several as if they were one.
Scores Fit::takeStep() {
  const Progress &position = session.position;
  const int64_t end = position.row + rowsAt(position.row);
  std::optional<Place> nextStep;
  if (end < plan.rows && rowsAt(end) > 0 && (options.max_steps == 0 || position.step + 1 < options.max_steps))
    nextStep = firstOf(position.step + 1, end);
  Place place = firstOf(position.step, position.row);
  Scores scores;
  for (;;) {
    std::optional<Place> next = place;
    next->row += place.rows;
    next->rows = std::min(plan.batch, end - next->row);
    ++next->batch;
    const bool isLast = next->rows <= 0;
    if (isLast)
      next = nextStep;
    if (place.batch > 0)
      session.watch_batches(/*trains=*/true);
    const std::vector<Value> outputs = runBatch(place, next);
    if (options.accumulate == 1) {
      ++session.position.step;
      return session.scores_of(outputs, place.rows);
    }
    add(scores, session.scores_of(outputs, place.rows));
    if (isLast)
      break;
    place = *next;
  }
  session.run_update(lastRate, options.scale);
  divide(scores, 0);
  return scores;
}

void Fit::runStep() {
  Progress &position = session.position;
  lastRate = rateOf(position.step);
  if (!std::isfinite(lastRate))
    throw argumentError("schedule {}: expected a finite rate for step {}, got {}", schedule.text(), position.step + 1,
                        lastRate);
  const Scores scores = takeStep();
  position.row += scores.rows;
  add(sums, scores);
  lookAt(scores);
  const auto inEpoch = static_cast<uint64_t>((position.row + rowsOfStep() - 1) / rowsOfStep());
  tell(&Callback::on_step, Step{position.step, position.epoch + 1, inEpoch, lastRate, scores});
  lookForInterrupts();
  if (options.max_steps > 0 && position.step >= options.max_steps)
    session.stop(fmt::format("{} steps are done", position.step));
}

// To its end, or to where something stops it.
void Fit::runEpoch() {
  Progress &position = session.position;
  const auto begin = std::chrono::steady_clock::now();
  order = permutation(plan.rows, position.seed, Use::order, position.epoch);
  ahead = {};
  while (position.row < plan.rows) {
    const int64_t count = rowsAt(position.row);
    if (const int64_t rest = std::min(rowsOfStep(), plan.rows - position.row) - count; rest > 0) {
      if (!hasNotedRest)
        note(fmt::format("the last {} of {} rows of each epoch are left out: they are no batch of {}", rest, plan.rows,
                         feed.dimension()));
      hasNotedRest = true;
      if (count == 0)
        break;
    }
    try {
      runStep();
    } catch (const vx::Error &error) {
      if (endsByCancel(error))
        return;
      throw;
    }
    if (isStopped() && position.row < plan.rows && feed.takes(std::min(plan.batch, plan.rows - position.row)))
      return;
  }
  finishEpoch(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

// A run that was cancelled ends training, where it is to end, as a stop before it would have.
bool Fit::endsByCancel(const vx::Error &error) {
  if (error.code() != VX_CANCELLED)
    return false;
  lookForInterrupts();
  session.stop("interrupted");
  return true;
}

// Nothing, where it is interrupted: the epoch ends when training goes on.
std::optional<Scores> Fit::validate() {
  std::vector<std::string> notes;
  std::optional<Scores> scores;
  try {
    scores = session.evaluate_all(*options.validation, 0, notes);
  } catch (const vx::Error &error) {
    if (!endsByCancel(error))
      throw;
  }
  for (std::string &text : notes)
    if (std::find(history.notes.begin(), history.notes.end(), text) == history.notes.end())
      note(std::move(text));
  return scores;
}

void Fit::finishEpoch(double seconds) {
  Progress &position = session.position;
  Epoch epoch;
  if (options.validation && !(epoch.validation = validate()))
    return;
  epoch.epoch = position.epoch + 1;
  epoch.step = position.step;
  epoch.rate = lastRate;
  epoch.seconds = seconds;
  epoch.training = sums;
  divide(epoch.training, std::numeric_limits<double>::quiet_NaN());
  if (strangeSteps > 1)
    note(fmt::format("epoch {}: {} steps had a loss that is no finite number", epoch.epoch, strangeSteps));
  strangeSteps = 0;
  if (const std::optional<LossScale> scale = session.loss_scale()) {
    epoch.loss_scale = scale;
    epoch.skipped = scale->skipped - std::min(scale->skipped, skippedBefore);
    skippedBefore = scale->skipped;
    if (scale->skipped > skippedSeen && (session.position.step >= nextLook || lookEvery == FirstLook))
      lookAtScale(*scale);
  }
  if (const double loss = (epoch.validation ? *epoch.validation : epoch.training).loss;
      !std::isnan(loss) && (!bestLoss || loss < *bestLoss)) {
    bestLoss = loss;
    bestEpoch = epoch.epoch;
  }
  sums = {};
  ++position.epoch;
  position.row = 0;
  history.epochs.push_back(epoch);
  tell(&Callback::on_epoch, epoch);
  tell(&Callback::after_epoch, epoch);
  lookForInterrupts();
}

History Fit::run() {
  session.stop_reason.clear();
  tell(&Callback::on_begin, plan);
  if (session.position.epoch >= plan.epochs)
    note(fmt::format("nothing to do: {} of {} epochs are done", session.position.epoch, plan.epochs));
  lookForInterrupts();
  if (options.max_steps > 0 && session.position.step >= options.max_steps)
    session.stop(fmt::format("{} steps are done", session.position.step));
  while (session.position.epoch < plan.epochs && !isStopped())
    runEpoch();
  history.stopped = session.position.epoch < plan.epochs ? session.stop_reason : "";
  tell(&Callback::on_end, history);
  return history;
}

History Session::fit(const Dataset &data, const FitOptions &options) { return Fit(*this, data, options).run(); }

} // namespace vx::train
