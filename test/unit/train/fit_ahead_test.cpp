// What fit does ahead: the rows of the next step are read, and its inputs staged, while a step runs. Nobody can tell it
// by what comes out.
#include "vx/train/session.hpp"

#include "errors.h"
#include "training_module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>

using namespace vx::test;
using namespace vx::train;

namespace {

const std::string &modulePath() {
  static const std::string path = writeTrainingModule("fit_ahead.vxm");
  return path;
}

vx::InstanceOptions cpu() { return {.device = "cpu", .threads = 1, .seed = 3}; }

std::vector<std::vector<std::byte>> stateOf(const Session &session) {
  std::vector<std::vector<std::byte>> state;
  for (const char *name : {"w0", "dense.bias", "momentum/dense.weight", "momentum/dense.bias", "step"}) {
    const vx::Value value = session.read_variable(name);
    state.emplace_back(value.bytes().begin(), value.bytes().end());
  }
  return state;
}

// Rows that say when they are read, and may be spoiled.
struct Watched {
  explicit Watched(int64_t count, std::function<void(int64_t read, int64_t &label)> look)
      : rows(count), set(Dataset::callback({{"x", VX_F32, {4}}, {"label", VX_I64, {}}}, count,
                                           [this, look = std::move(look)](int64_t row, auto places) {
                                             int64_t label = rows.label[static_cast<size_t>(row)];
                                             look(++read, label);
                                             std::memcpy(places[0], rows.x.data() + row * 4, 16);
                                             std::memcpy(places[1], &label, 8);
                                           })) {}
  Rows rows;
  int64_t read = 0;
  Dataset set;
};

} // namespace

TEST(FitAhead, theNextRowsAreReadBeforeAStepIsDone) {
  for (uint64_t accumulate : {1u, 2u}) {
    Watched data(20, [](int64_t, int64_t &) {});
    std::vector<int64_t> read; // when a step's callback is called
    Session session(modulePath(), cpu());
    session.fit(data.set, {.epochs = 2,
                           .batch = 4,
                           .accumulate = accumulate,
                           .seed = 5,
                           .callbacks = {on_step([&](Session &, const Step &) { read.push_back(data.read); })}});
    if (accumulate == 1)
      EXPECT_EQ(read, (std::vector<int64_t>{8, 12, 16, 20, 20, 28, 32, 36, 40, 40}));
    else
      EXPECT_EQ(read, (std::vector<int64_t>{12, 20, 20, 32, 40, 40}));
    // Nor is more read than a limit of steps takes.
    Watched few(20, [](int64_t, int64_t &) {});
    Session limited(modulePath(), cpu());
    limited.fit(few.set, {.batch = 4, .accumulate = accumulate, .max_steps = 2});
    EXPECT_EQ(few.read, 8 * static_cast<int64_t>(accumulate));
  }
}

// Rows that cannot be read, and labels that are none, end training behind the steps before them.
TEST(FitAhead, whatIsWrongIsSaidWhenItIsItsTurn) {
  for (bool throws : {true, false}) {
    Watched data(20, [&](int64_t read, int64_t &label) {
      if (read != 10)
        return;
      if (throws)
        throw std::runtime_error("the disk is gone");
      label = 3;
    });
    std::vector<uint64_t> steps;
    Session session(modulePath(), cpu()), other(modulePath(), cpu());
    const std::vector<CallbackPointer> note = {
        on_step([&](Session &, const Step &step) { steps.push_back(step.step); })};
    std::string message;
    try {
      session.fit(data.set, {.batch = 4, .seed = 5, .callbacks = note});
    } catch (const std::exception &error) {
      message = error.what();
    }
    EXPECT_NE(message.find(throws ? "the disk is gone" : "label: row "), std::string::npos) << message;
    EXPECT_EQ(steps, (std::vector<uint64_t>{1, 2}));
    EXPECT_EQ(session.progress().row, 8);
    Watched good(20, [](int64_t, int64_t &) {});
    other.fit(good.set, {.batch = 4, .seed = 5, .max_steps = 2});
    EXPECT_EQ(stateOf(session), stateOf(other));
    // It goes on as if nothing had been.
    session.fit(good.set, {.batch = 4});
    other.fit(good.set, {.batch = 4});
    EXPECT_EQ(stateOf(session), stateOf(other));
  }
}

// The second step fails in the device; the third one, which waits for its turn, does not run.
TEST(FitAhead, aStepThatFailsIsTheLastOne) {
  const std::string path = writeTrainingModule("unchecked_labels.vxm", [](ModuleBuilder &builder) {
    for (auto &function : builder.module.functions)
      for (auto &input : function->inputs)
        input->range = nullptr;
  });
  Watched data(20, [](int64_t read, int64_t &label) { label = read == 6 ? 3 : label; });
  Watched good(20, [](int64_t, int64_t &) {});
  Session session(path, cpu()), other(path, cpu());
  EXPECT_NE(errorOf([&] { session.fit(data.set, {.batch = 4, .seed = 5}); }).find("node_0 (Gather)"),
            std::string::npos);
  EXPECT_EQ(data.read, 12);
  EXPECT_EQ(session.progress().step, 1u);
  other.fit(good.set, {.batch = 4, .seed = 5, .max_steps = 1});
  EXPECT_EQ(stateOf(session), stateOf(other));
  session.fit(good.set, {.batch = 4});
  other.fit(good.set, {.batch = 4});
  EXPECT_EQ(stateOf(session), stateOf(other));
}

// Callbacks that change what comes next: the same as when training ends before each change and goes on behind it.
TEST(FitAhead, whatACallbackChangesHoldsForTheNextStep) {
  Watched data(22, [](int64_t, int64_t &) {});
  double rate = 0.1;
  const Schedule chosen("the test's", [&](const Moment &) { return rate; });
  const std::string path = scratchPath("rolled_back.safetensors");
  const vx::Value inputs[] = {vx::Value::tensor<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                              vx::Value::tensor<int64_t>({2}, {2, 0})};
  bool wasBack = false;
  auto change = [&](Session &session, uint64_t step) {
    rate = 0.01 * static_cast<double>(step);
    if (step == 2)
      session.write_variable("dense.bias", vx::Value::tensor<float>({3}, {1, 2, 3}));
    if (step == 8)
      session.save(path);
    if (step == 5)
      session.train_step(inputs, 0.5); // counts as one
    if (step == 10 && !wasBack)        // in the same epoch
      session.load(path);
    wasBack |= step == 10;
  };
  std::vector<double> rates, wanted;
  Session whole(modulePath(), cpu()), parts(modulePath(), cpu());
  whole.fit(data.set, {.epochs = 2,
                       .batch = 4,
                       .schedule = chosen,
                       .seed = 5,
                       .callbacks = {on_step([&](Session &session, const Step &step) {
                         rates.push_back(step.rate);
                         change(session, step.step);
                       })}});
  rate = 0.1;
  wasBack = false;
  const std::vector<CallbackPointer> note = {on_step([&](Session &session, const Step &step) {
    wanted.push_back(step.rate);
    session.stop("for a while");
  })};
  parts.fit(data.set, {.epochs = 2, .batch = 4, .schedule = chosen, .seed = 5, .callbacks = note});
  change(parts, parts.progress().step);
  while (parts.progress().epoch < 2) {
    parts.fit(data.set, {.epochs = 2, .batch = 4, .schedule = chosen, .callbacks = note});
    change(parts, parts.progress().step);
  }
  EXPECT_EQ(rates, wanted);
  EXPECT_GT(rates.size(), 12u);
  EXPECT_EQ(stateOf(whole), stateOf(parts));
}

// Where there is no room for the inputs of two steps on the device, one step's are there at a time.
TEST(FitAhead, needsNoMoreRoomThanAStep) {
  ::setenv("VX_CHECK_ARENA", "1", 1); // inputs are copied then, as to a GPU
  Watched data(300, [](int64_t, int64_t &) {});
  std::string refusal;
  auto fits = [&](uint64_t limit, const std::function<void(Session &)> &use) {
    try {
      Session limited(modulePath(), {.device = "cpu", .threads = 1, .seed = 3, .memoryLimit = limit});
      use(limited);
      return true;
    } catch (const vx::Error &error) {
      EXPECT_TRUE(error.code() == VX_OUT_OF_MEMORY || error.code() == VX_NO_DEVICE) << error.what();
      refusal = error.what();
      return false;
    }
  };
  // The least with which steps by hand work.
  const vx::Value inputs[] = {vx::Value::tensor<float>({100, 4}, std::vector<float>(400, 1)),
                              vx::Value::tensor<int64_t>({100}, std::vector<int64_t>(100, 1))};
  uint64_t least = 1, enough = 1 << 20;
  while (least < enough)
    if (const uint64_t middle = (least + enough) / 2; fits(middle, [&](Session &by_hand) {
          for (int step = 0; step < 3; ++step)
            by_hand.train_step(inputs, 0.1);
        }))
      enough = middle;
    else
      least = middle + 1;
  Session free(modulePath(), cpu());
  const FitOptions options = {.epochs = 2, .batch = 100, .seed = 5};
  free.fit(data.set, options);
  // From there to where there is room for all, and closely where the inputs of two batches fit and no results beside.
  constexpr uint64_t Inputs = 100 * (4 * 4 + 8) + 4 + 8 + 4;
  std::vector<uint64_t> limits;
  for (uint64_t more = 0; more < 2 * Inputs; more += 97)
    limits.push_back(least + more);
  for (uint64_t more = Inputs - 40; more < Inputs + 16; more += 2)
    limits.push_back(least + more);
  for (uint64_t limit : limits)
    EXPECT_TRUE(fits(limit,
                     [&](Session &limited) {
                       limited.fit(data.set, options);
                       EXPECT_EQ(stateOf(limited), stateOf(free));
                     }))
        << limit << ": " << refusal;
  ::unsetenv("VX_CHECK_ARENA");
}
