// Training: that it learns, takes each row once, says what is odd, and that interrupted training goes on bit by bit.
#include "vx/train/session.hpp"

#include "errors.h"
#include "training_module.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

using namespace vx::test;
using namespace vx::train;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string &modulePath() {
  static const std::string path = writeTrainingModule("fit.vxm");
  return path;
}

vx::InstanceOptions cpu(uint64_t seed = 3) { return {.device = "cpu", .threads = 1, .seed = seed}; }

struct Data {
  explicit Data(int64_t count, uint64_t seed = 1)
      : rows(count, seed),
        set(Dataset::arrays({array<float>("x", {count, 4}, rows.x), array<int64_t>("label", {count}, rows.label)})) {}
  Rows rows;
  Dataset set;
};

// The bytes of all that a checkpoint holds.
std::vector<std::vector<std::byte>> stateOf(const Session &session) {
  std::vector<std::vector<std::byte>> state;
  for (const char *name : {"w0", "dense.bias", "momentum/dense.weight", "momentum/dense.bias", "step"}) {
    const vx::Value value = session.read_variable(name);
    state.emplace_back(value.bytes().begin(), value.bytes().end());
  }
  return state;
}

// Stops at a step.
CallbackPointer stopAt(uint64_t step) {
  return on_step([step](Session &session, const Step &done) {
    if (done.step == step)
      session.stop("the test needs it");
  });
}

std::string freshFolder(const std::string &name) {
  const std::string path = scratchPath(name);
  fs::remove_all(path);
  return path;
}

} // namespace

TEST(Fit, learns) {
  const Data train(600), test(200, 2);
  Session session(modulePath(), cpu());
  const double before = session.evaluate(test.set, "accuracy");
  const History history = session.fit(
      train.set, {.epochs = 30, .batch = 16, .validation = &test.set, .schedule = cosine(0.2, 0.01), .seed = 7});
  ASSERT_EQ(history.epochs.size(), 30u);
  EXPECT_LT(before, 0.7);
  EXPECT_GT(history.epochs.back().validation->of("accuracy"), 0.9);
  EXPECT_EQ(history.epochs.back().validation->loss, session.evaluate(test.set).loss);
  EXPECT_LT(history.epochs.back().training.loss, history.epochs.front().training.loss);
  EXPECT_EQ(history.epochs.back().step, 30u * 38); // 37 batches of 16 and one of 8
  EXPECT_EQ(session.read_variable("step").data<int64_t>()[0], 30 * 38);
  EXPECT_EQ(history.epochs.back().training.rows, 600);
  EXPECT_TRUE(history.notes.empty());
  EXPECT_EQ(history.stopped, "");
}

TEST(Fit, eachRowOnceInAnOrderOfItsOwn) {
  const Data data(21);
  std::vector<int64_t> seen;
  const Dataset watched = Dataset::callback({{"x", VX_F32, {4}}, {"label", VX_I64, {}}}, 21,
                                            [&](int64_t row, std::span<std::byte *const> places) {
                                              seen.push_back(row);
                                              std::memcpy(places[0], data.rows.x.data() + row * 4, 16);
                                              std::memcpy(places[1], data.rows.label.data() + row, 8);
                                            });
  Session session(modulePath(), cpu());
  session.fit(watched, {.epochs = 2, .batch = 4, .seed = 5});
  ASSERT_EQ(seen.size(), 42u);
  for (size_t epoch = 0; epoch < 2; ++epoch)
    EXPECT_EQ(std::set<int64_t>(seen.begin() + 21 * epoch, seen.begin() + 21 * (epoch + 1)).size(), 21u);
  EXPECT_FALSE(std::equal(seen.begin(), seen.begin() + 21, seen.begin() + 21));
  // The rows of files and of functions are the same training.
  Session other(modulePath(), cpu());
  other.fit(data.set, {.epochs = 2, .batch = 4, .seed = 5});
  EXPECT_EQ(stateOf(session), stateOf(other));
  Session another(modulePath(), cpu());
  another.fit(data.set, {.epochs = 2, .batch = 4, .seed = 6});
  EXPECT_NE(stateOf(another), stateOf(other));
}

TEST(Fit, aRestThatIsNoBatchIsLeftOutWithAWord) {
  const Data data(10);
  Session session(writeTrainingModule("fixed.vxm", {}, 4), cpu());
  const History history = session.fit(data.set, {.epochs = 3, .validation = &data.set});
  EXPECT_EQ(session.progress().step, 6u);
  EXPECT_EQ(history.epochs[0].training.rows, 8);
  EXPECT_EQ(history.notes,
            (std::vector<std::string>{"the last 2 of 10 rows of each epoch are left out: they are no batch of 4",
                                      "evaluation leaves out the last 2 of 10 rows, which are no batch of 4"}));
  EXPECT_EQ(history.epochs[0].validation->rows, 8);
}

// After every step of three epochs with a short batch each: stop, save, load in a new session, and go on to the end.
TEST(Fit, resumeIsBitwise) {
  const Data data(22), test(9, 2);
  const std::string path = scratchPath("resume.safetensors");
  auto options = [&](std::vector<CallbackPointer> callbacks = {}) {
    return FitOptions{.epochs = 3,
                      .batch = 4,
                      .validation = &test.set,
                      .schedule = warmup(4, cosine(0.2)),
                      .callbacks = std::move(callbacks)};
  };
  Session whole(modulePath(), cpu());
  FitOptions first = options({early_stopping(50)});
  first.seed = 9;
  const History wanted = whole.fit(data.set, first);
  ASSERT_EQ(whole.progress().step, 18u);
  for (uint64_t step = 1; step < 18; ++step) {
    Session begun(modulePath(), cpu());
    FitOptions stopping = options({early_stopping(50), stopAt(step)});
    stopping.seed = 9;
    const History part = begun.fit(data.set, stopping);
    EXPECT_EQ(part.stopped, "the test needs it");
    EXPECT_EQ(begun.progress().step, step);
    begun.save(path);
    Session resumed(modulePath(), cpu(4)); // begins with other numbers
    EXPECT_TRUE(resumed.load(path).empty());
    EXPECT_EQ(resumed.progress().step, step);
    EXPECT_EQ(resumed.progress().row, begun.progress().row);
    const History rest = resumed.fit(data.set, options({early_stopping(50)}));
    ASSERT_EQ(stateOf(resumed), stateOf(whole)) << step;
    ASSERT_EQ(part.epochs.size() + rest.epochs.size(), 3u);
    for (size_t i = 0; i < rest.epochs.size(); ++i) {
      const Epoch &one = rest.epochs[i], &same = wanted.epochs[part.epochs.size() + i];
      EXPECT_EQ(one.epoch, same.epoch);
      EXPECT_EQ(one.step, same.step);
      EXPECT_EQ(one.rate, same.rate);
      EXPECT_EQ(one.training.loss, same.training.loss) << step;
      EXPECT_EQ(one.training.metrics, same.training.metrics);
      EXPECT_EQ(one.validation->loss, same.validation->loss);
    }
  }
}

// Steps of three batches of 4: seven batches and a short one are two steps of 12 rows and one of 6.
TEST(Fit, batchesAddUp) {
  const Data data(30), test(9, 2);
  std::vector<Step> steps;
  auto options = [&](std::vector<CallbackPointer> callbacks = {}) {
    callbacks.push_back(on_step([&](Session &, const Step &step) { steps.push_back(step); }));
    return FitOptions{.epochs = 2,
                      .batch = 4,
                      .accumulate = 3,
                      .schedule = cosine(0.2),
                      .seed = 9,
                      .callbacks = std::move(callbacks)};
  };
  Session whole(modulePath(), cpu());
  const History history = whole.fit(data.set, options());
  ASSERT_EQ(steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(steps[i].scores.rows, i % 3 == 2 ? 6 : 12);
    EXPECT_EQ(steps[i].step_in_epoch, i % 3 + 1);
    EXPECT_DOUBLE_EQ(steps[i].rate, 0.2 * (1 + std::cos(M_PI * static_cast<double>(i) / 6)) / 2);
  }
  EXPECT_EQ(history.epochs[1].step, 6u);
  EXPECT_EQ(history.epochs[1].training.rows, 30);
  const double sum = steps[3].scores.loss * 12 + steps[4].scores.loss * 12 + steps[5].scores.loss * 6;
  EXPECT_DOUBLE_EQ(history.epochs[1].training.loss, sum / 30);
  EXPECT_EQ(whole.read_variable("step").data<int64_t>()[0], 6);

  // A checkpoint stands behind a whole step and needs no gradients.
  const std::string path = scratchPath("accumulated.safetensors");
  for (uint64_t step = 1; step < 6; ++step) {
    Session begun(modulePath(), cpu());
    begun.fit(data.set, options({stopAt(step)}));
    begun.save(path);
    Session resumed(modulePath(), cpu(4));
    resumed.load(path);
    resumed.fit(data.set, options());
    ASSERT_EQ(stateOf(resumed), stateOf(whole)) << step;
  }

  // A label of the second batch that is none changes nothing, and what comes then is as if it had not been.
  const Dataset bad = Dataset::callback({{"x", VX_F32, {4}}, {"label", VX_I64, {}}}, 30,
                                        [&, read = 0](int64_t row, std::span<std::byte *const> places) mutable {
                                          const int64_t label = ++read == 6 ? 3 : data.rows.label[row];
                                          std::memcpy(places[0], data.rows.x.data() + row * 4, 16);
                                          std::memcpy(places[1], &label, 8);
                                        });
  Session failing(modulePath(), cpu()), fresh(modulePath(), cpu());
  EXPECT_NE(errorOf([&] { failing.fit(bad, options()); }), "");
  EXPECT_EQ(stateOf(failing), stateOf(fresh));
  failing.fit(data.set, options());
  EXPECT_EQ(stateOf(failing), stateOf(whole));

  // A rest that is no batch is left out, also where other batches of its step are whole.
  Session fixed(writeTrainingModule("fixed_sum.vxm", {}, 4), cpu());
  steps.clear();
  const History rest = fixed.fit(data.set, options());
  EXPECT_EQ(rest.notes,
            (std::vector<std::string>{"the last 2 of 30 rows of each epoch are left out: they are no batch of 4"}));
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[2].scores.rows, 4);
  EXPECT_EQ(rest.epochs[0].training.rows, 28);
}

TEST(Fit, whatDoesNotGoOn) {
  const Data data(22), other(20);
  Session session(modulePath(), cpu());
  session.fit(data.set, {.batch = 4, .seed = 9, .callbacks = {stopAt(2)}});
  EXPECT_EQ(session.progress().row, 8);
  EXPECT_EQ(errorOf([&] { session.fit(data.set, {.batch = 4, .seed = 8}); }),
            "argument: fit: seed 8, but training stands in the middle of an epoch whose rows seed 9 has ordered");
  EXPECT_EQ(errorOf([&] { session.fit(other.set, {.batch = 4}); }),
            "data: x: the data has 20 rows, but training stands at row 8 of an epoch of 22");
  session.fit(data.set, {.batch = 4});
  EXPECT_EQ(session.progress().epoch, 1u);
  const History again = session.fit(data.set, {.batch = 4});
  EXPECT_EQ(again.notes, std::vector<std::string>{"nothing to do: 1 of 1 epochs are done"});
  session.restart();
  session.fit(data.set, {.batch = 4});
  EXPECT_EQ(session.progress().step, 6u);
}

TEST(Fit, limitsOfSteps) {
  const Data data(20);
  Session session(modulePath(), cpu());
  std::vector<double> rates;
  const History history =
      session.fit(data.set, {.epochs = 10,
                             .batch = 4,
                             .schedule = cosine(1),
                             .callbacks = {on_step([&](Session &, const Step &step) { rates.push_back(step.rate); })},
                             .max_steps = 7});
  EXPECT_EQ(history.stopped, "7 steps are done");
  EXPECT_EQ(session.progress().step, 7u);
  EXPECT_EQ(session.progress().row, 8);
  ASSERT_EQ(rates.size(), 7u);
  EXPECT_DOUBLE_EQ(rates[6], (1 + std::cos(6 * M_PI / 7)) / 2); // the schedule ends there too
}

TEST(Fit, lossesThatAreNoNumbers) {
  const Data data(20);
  const double much = 1e38;
  Session session(modulePath(), cpu());
  const History history = session.fit(data.set, {.epochs = 2, .batch = 4, .schedule = much});
  ASSERT_EQ(history.notes.size(), 4u);
  EXPECT_EQ(history.notes[0], "step 2: the loss is inf, at a rate of 1e+38");
  EXPECT_EQ(history.notes[1], "epoch 1: 4 steps had a loss that is no finite number");
  EXPECT_EQ(history.notes[2], "step 6: the loss is nan, at a rate of 1e+38");
  EXPECT_EQ(history.notes[3], "epoch 2: 5 steps had a loss that is no finite number");
  EXPECT_EQ(session.progress().step, 10u);
  EXPECT_EQ(json::parse(history.json())["epochs"][1]["loss"], "nan");

  Session careful(modulePath(), cpu());
  const History stopped = careful.fit(data.set, {.epochs = 2, .batch = 4, .schedule = much, .stop_on_nan = true});
  EXPECT_EQ(stopped.stopped, "step 2: the loss is inf, at a rate of 1e+38");
  EXPECT_EQ(careful.progress().step, 2u);

  Session strange(modulePath(), cpu());
  EXPECT_EQ(errorOf([&] {
              strange.fit(data.set, {.batch = 4, .schedule = Schedule("mine", [](const Moment &moment) {
                                                   return moment.step == 2 ? NAN : 0.1;
                                                 })});
            }),
            "argument: schedule mine: expected a finite rate for step 3, got nan");
}

TEST(Fit, earlyStopping) {
  const Data data(20), test(10, 2);
  auto run = [&](const CallbackPointer &callback, double rate) {
    Session session(modulePath(), cpu());
    return session.fit(data.set,
                       {.epochs = 50, .batch = 20, .validation = &test.set, .schedule = rate, .callbacks = {callback}});
  };
  // Nothing changes at a rate of 0: the first epoch is the best one.
  const History still = run(early_stopping(3), 0);
  EXPECT_EQ(still.epochs.size(), 4u);
  EXPECT_TRUE(still.stopped.starts_with("early stopping: validation loss has not become better than 0."))
      << still.stopped;
  EXPECT_TRUE(still.stopped.ends_with(" by more than 0 in 3 epochs")) << still.stopped;
  EXPECT_EQ(run(early_stopping(2, 0, "accuracy"), 0).epochs.size(), 3u);
  EXPECT_EQ(run(early_stopping(2), 0.005).epochs.size(), 50u);
  // Better, but by too little.
  EXPECT_EQ(run(early_stopping(2, 1), 0.05).epochs.size(), 3u);
  EXPECT_EQ(errorOf([&] { run(early_stopping(2, 0, "recall"), 0); }),
            "argument: unknown metric 'recall', the module has 'loss', 'accuracy'");
  EXPECT_EQ(errorOf([] { early_stopping(0); }),
            "argument: early_stopping: expected a patience of 1 epoch or more, got 0");
  EXPECT_EQ(errorOf([] { early_stopping(1, -1); }),
            "argument: early_stopping: expected a difference of 0 or more, got -1");
}

// How long it has waited is part of a checkpoint.
TEST(Fit, earlyStoppingGoesOnWaiting) {
  const Data data(20);
  const std::string path = scratchPath("waiting.safetensors");
  // The validation is the same in each epoch: the first one is the best.
  auto options = [&](uint64_t epochs) {
    return FitOptions{
        .epochs = epochs, .batch = 20, .validation = &data.set, .schedule = 0.0, .callbacks = {early_stopping(4)}};
  };
  Session session(modulePath(), cpu());
  EXPECT_EQ(session.fit(data.set, options(3)).stopped, "");
  session.save(path);
  Session resumed(modulePath(), cpu());
  resumed.load(path);
  const History history = resumed.fit(data.set, options(50));
  EXPECT_EQ(history.epochs.back().epoch, 5u);
  EXPECT_TRUE(history.stopped.starts_with("early stopping: ")) << history.stopped;
}

TEST(Fit, checkpointsOfACallback) {
  const Data data(20);
  const std::string folder = freshFolder("checkpoints");
  Session session(modulePath(), cpu());
  session.fit(data.set, {.epochs = 7, .batch = 5, .callbacks = {checkpoint(2, folder, 3)}});
  std::set<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"checkpoint-000000000016.safetensors", "checkpoint-000000000024.safetensors",
                                          "checkpoint-000000000028.safetensors"}));
  EXPECT_EQ(latest_checkpoint(folder), folder + "/checkpoint-000000000028.safetensors");
  Session fresh(modulePath(), cpu());
  EXPECT_EQ(errorOf([&] { fresh.fit(data.set, {.batch = 5, .callbacks = {checkpoint(1, folder)}}); }),
            "argument: checkpoint: '" + folder +
                "/checkpoint-000000000028.safetensors' is of step 28, but training begins "
                "at step 0: go on from it, or take another folder");
  // A stop in the middle of an epoch leaves one too.
  const std::string other = freshFolder("others");
  fresh.fit(data.set, {.batch = 5, .callbacks = {checkpoint(1, other), stopAt(2)}});
  Session resumed(modulePath(), cpu());
  resumed.load(other);
  EXPECT_EQ(resumed.progress().row, 10);
  EXPECT_EQ(errorOf([&] { checkpoint(0, folder); }), "argument: checkpoint: expected one every 1 epoch or more, got 0");
  EXPECT_EQ(
      errorOf([&] { checkpoint(1, folder, 1); }),
      "argument: checkpoint: expected to keep 2 or more, so that the one before is there while one is written, got 1");
  writeFile(scratchPath("a_file"), {1});
  Session third(modulePath(), cpu());
  EXPECT_TRUE(errorOf([&] {
                third.fit(data.set, {.callbacks = {checkpoint(1, scratchPath("a_file"))}});
              }).starts_with("io: cannot make the folder '" + scratchPath("a_file") + "': "));
}

TEST(Fit, interruptsEndIt) {
  const Data data(20);
  const std::string folder = freshFolder("interrupted");
  Session session(modulePath(), cpu());
  const History history = session.fit(
      data.set,
      {.epochs = 5, .batch = 5, .callbacks = {checkpoint(1, folder), on_step([](Session &run, const Step &step) {
                                                if (step.step == 6)
                                                  run.interrupt();
                                              })}});
  EXPECT_EQ(history.stopped, "interrupted");
  EXPECT_TRUE(session.was_interrupted());
  EXPECT_EQ(session.progress().step, 6u);
  EXPECT_EQ(latest_checkpoint(folder), folder + "/checkpoint-000000000006.safetensors");
}

TEST(Fit, historiesAsJson) {
  const Data data(20), test(5, 2);
  Session session(modulePath(), cpu());
  const History history =
      session.fit(data.set, {.epochs = 2, .batch = 5, .validation = &test.set, .schedule = 0.125, .seed = 4});
  const std::string path = scratchPath("history.json");
  history.save(path);
  const std::vector<uint8_t> bytes = readFile(path);
  const json document = json::parse(bytes.begin(), bytes.end());
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["optimizer"], "sgd(momentum=0.9)");
  EXPECT_EQ(document["loss"], "mse");
  EXPECT_EQ(document["schedule"], "constant(0.125)");
  EXPECT_EQ(document["seed"], 4);
  EXPECT_EQ(document["stopped"], nullptr);
  EXPECT_EQ(document["notes"], json::array());
  ASSERT_EQ(document["epochs"].size(), 2u);
  const json &last = document["epochs"][1];
  EXPECT_EQ(last["epoch"], 2);
  EXPECT_EQ(last["step"], 8);
  EXPECT_EQ(last["rate"], 0.125);
  EXPECT_GE(last["seconds"], 0);
  EXPECT_EQ(last["loss"], history.epochs[1].training.loss);
  EXPECT_EQ(last["metrics"]["accuracy"], history.epochs[1].training.of("accuracy"));
  EXPECT_EQ(last["validation"]["loss"], history.epochs[1].validation->loss);
  EXPECT_EQ(last["validation"]["metrics"]["accuracy"], history.epochs[1].validation->of("accuracy"));
  EXPECT_EQ(json::parse(session.fit(data.set, {.epochs = 3, .batch = 5}).json())["epochs"][0]["validation"], nullptr);
  EXPECT_EQ(errorOf([&] { history.save("/nowhere/history.json"); }),
            "io: cannot write '/nowhere/history.json': No such file or directory");
}

TEST(Fit, linesOfALog) {
  const Data data(10);
  Session session(writeTrainingModule("fixed.vxm", {}, 4), cpu());
  std::FILE *file = std::tmpfile();
  session.fit(data.set, {.epochs = 2, .validation = &data.set, .callbacks = {log(file), progress(file), stopAt(3)}});
  std::rewind(file);
  char text[2000] = {};
  const size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  const std::string lines(text, size);
  EXPECT_TRUE(lines.starts_with("note: evaluation leaves out") || lines.starts_with("note: the last 2 of 10 rows"))
      << lines;
  EXPECT_NE(lines.find("\nepoch 1/2  step 2  rate 0.001  loss "), std::string::npos) << lines;
  EXPECT_NE(lines.find("  validation loss "), std::string::npos) << lines;
  EXPECT_TRUE(lines.ends_with("\nstopped: the test needs it\n")) << lines;
}

#ifndef VX_TEST_SANITIZED
static long residentPages() {
  long size = 0, resident = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &size, &resident), 2);
  std::fclose(file);
  return resident;
}

TEST(Fit, memoryStaysWhatItIs) {
  const Data data(320);
  Session session(modulePath(), cpu());
  auto run = [&](uint64_t steps) { session.fit(data.set, {.epochs = 1u << 30, .batch = 4, .max_steps = steps}); };
  run(5000);
  const long before = residentPages();
  run(105000);
  EXPECT_EQ(session.progress().step, 105000u);
  // An epoch's line of the history is all that grows.
  EXPECT_LT(residentPages() - before, 500) << "pages of 4 KiB";
}
#endif

// 1,000 bytes for each row while a step runs.
TEST(Fit, saysTheLargestBatchThatFits) {
  static const std::string path = writeTrainingModule("fit_arena.vxm", [](ModuleBuilder &builder) {
    auto &code = builder.module.programs[0]->body->instructions;
    for (auto &&one :
         {std::pair(Op::ArenaReserve, std::vector<uint32_t>{1}), std::pair(Op::Mul, std::vector<uint32_t>{1, 1, 0})})
      code.insert(code.begin(), instruction(one.first, one.second));
    code.insert(code.begin(), instruction(Op::ConstI64, {1}, 1000));
  });
  const Data data(100), validation(10, 2);
  vx::InstanceOptions options = cpu();
  uint64_t variables = 0;
  {
    const Session session(path, options);
    const vx_memory_estimate one = session.get_instance().estimateMemory("train_step", {{{"batch", 1}}});
    EXPECT_EQ(one.arena, 1000u);
    variables = one.variables;
  }
  options.memoryLimit = variables + 21 * 1000;
  auto fit = [&](const FitOptions &given) {
    Session session(path, options);
    session.fit(data.set, given);
    return session.progress().step;
  };
  const std::string limit = std::to_string(options.memoryLimit), of = std::to_string(variables);
  // Two results of four bytes are on top.
  EXPECT_EQ(errorOf([&] { fit({.batch = 64}); }),
            "argument: batch: a step of 64 rows takes " + std::to_string(variables + 64008) +
                " bytes of device memory (" + of +
                " for variables, 64000 for what lives while it runs), and the memory limit is " + limit +
                " bytes; the largest batch that fits is 20");
  EXPECT_NE(errorOf([&] { fit({.batch = 21}); }).find("the largest batch that fits is 20"), std::string::npos);
  EXPECT_NE(errorOf([&] { fit({}); }).find("a step of 32 rows"), std::string::npos);
  EXPECT_EQ(fit({.batch = 20}), 5u);
  // With what is evaluated beside it, in memory of its own.
  options.memoryLimit = variables + 20 * 1000 + 8;
  EXPECT_NE(
      errorOf([&] { fit({.batch = 20, .validation = &validation.set}); }).find("the largest batch that fits is 19"),
      std::string::npos);
  EXPECT_EQ(fit({.batch = 19, .validation = &validation.set}), 6u);
  options.memoryLimit = variables + 999;
  EXPECT_NE(errorOf([&] { fit({.batch = 20}); }).find("; no smaller batch that the module takes fits"),
            std::string::npos);
  // The halves of a step take nothing for rows here.
  EXPECT_EQ(fit({.batch = 20, .accumulate = 2}), 3u);
}

TEST(Fit, callbacksThatAreNone) {
  const Data data(10);
  Session session(modulePath(), cpu());
  EXPECT_EQ(errorOf([&] { session.fit(data.set, {.callbacks = {nullptr}}); }),
            "argument: fit: expected a callback, got a null pointer");
  EXPECT_EQ(errorOf([] { on_step(nullptr); }), "argument: on_step: expected a function, got none");
  EXPECT_EQ(errorOf([] { on_epoch(nullptr); }), "argument: on_epoch: expected a function, got none");
}
