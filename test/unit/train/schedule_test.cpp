// Learning rates as functions of the step.
#include "vx/train/schedule.hpp"

#include "errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace vx::train;
using vx::test::errorOf;

static double at(const Schedule &schedule, uint64_t step, uint64_t total = 100, uint64_t stepsPerEpoch = 10) {
  return schedule.rate({step, stepsPerEpoch, total});
}

TEST(Schedule, constants) {
  const Schedule usual, number = 0.25;
  EXPECT_EQ(at(usual, 0), 1e-3);
  EXPECT_EQ(at(number, 99), 0.25);
  EXPECT_EQ(number.text(), "constant(0.25)");
}

// As torch.optim.lr_scheduler.StepLR(step_size=3, gamma=0.5) stepped once an epoch.
TEST(Schedule, steps) {
  const Schedule schedule = step(0.8, 3, 0.5);
  EXPECT_EQ(at(schedule, 29), 0.8);
  EXPECT_EQ(at(schedule, 30), 0.4);
  EXPECT_EQ(at(schedule, 59), 0.4);
  EXPECT_EQ(at(schedule, 60), 0.2);
  EXPECT_EQ(schedule.text(), "step(0.8, 3, 0.5)");
}

// At the beginning of each epoch as ExponentialLR(gamma=0.9).
TEST(Schedule, exponentials) {
  const Schedule schedule = exponential(1, 0.9);
  EXPECT_EQ(at(schedule, 0), 1);
  EXPECT_DOUBLE_EQ(at(schedule, 20), 0.81);
  EXPECT_DOUBLE_EQ(at(schedule, 5), std::sqrt(0.9));
}

// As CosineAnnealingLR(T_max=100, eta_min=0.1) stepped with each batch.
TEST(Schedule, cosines) {
  const Schedule schedule = cosine(1.1, 0.1);
  EXPECT_DOUBLE_EQ(at(schedule, 0), 1.1);
  EXPECT_DOUBLE_EQ(at(schedule, 50), 0.6);
  EXPECT_DOUBLE_EQ(at(schedule, 25), 0.1 + 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(at(schedule, 100), 0.1);
  EXPECT_DOUBLE_EQ(at(schedule, 500), 0.1); // behind the end it stays there
  EXPECT_DOUBLE_EQ(at(schedule, 0, 0), 1.1);
}

TEST(Schedule, warmUps) {
  const Schedule schedule = warmup(10, cosine(1, 0));
  EXPECT_DOUBLE_EQ(at(schedule, 0), 0.1);
  EXPECT_DOUBLE_EQ(at(schedule, 9), 1);
  EXPECT_DOUBLE_EQ(at(schedule, 10), 1);
  EXPECT_DOUBLE_EQ(at(schedule, 55), 0.5); // half of the 90 steps behind it
  EXPECT_NEAR(at(schedule, 100), 0, 1e-15);
  EXPECT_EQ(at(warmup(0, 0.5), 0), 0.5);
  EXPECT_EQ(schedule.text(), "warmup(10, cosine(1, 0))");
}

// As OneCycleLR(max_lr=1, total_steps=100): its formula at its corners and half way.
TEST(Schedule, oneCycles) {
  const Schedule schedule = one_cycle(1);
  EXPECT_DOUBLE_EQ(at(schedule, 0), 0.04);
  EXPECT_DOUBLE_EQ(at(schedule, 29), 1);
  EXPECT_DOUBLE_EQ(at(schedule, 64), 4e-6 + (1 - 4e-6) / 2);
  EXPECT_DOUBLE_EQ(at(schedule, 99), 4e-6);
  EXPECT_DOUBLE_EQ(at(schedule, 1000), 4e-6);
  for (uint64_t total : {0, 1, 2, 3, 4})
    for (uint64_t i = 0; i <= total; ++i) {
      EXPECT_GT(at(schedule, i, total), 0) << i << " of " << total;
      EXPECT_LE(at(schedule, i, total), 1) << i << " of " << total;
    }
}

TEST(Schedule, aUsersOwn) {
  const Schedule schedule("mine", [](const Moment &moment) { return 1.0 / static_cast<double>(moment.step + 1); });
  EXPECT_EQ(at(schedule, 3), 0.25);
  EXPECT_EQ(schedule.text(), "mine");
}

TEST(Schedule, errors) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(errorOf([] { constant(-1); }), "argument: schedule constant: expected a rate of at least 0, got -1");
  EXPECT_EQ(errorOf([] { Schedule(std::nan("")); }),
            "argument: schedule constant: expected a rate of at least 0, got nan");
  EXPECT_EQ(errorOf([&] { step(infinity, 3); }), "argument: schedule step: expected a rate of at least 0, got inf");
  EXPECT_EQ(errorOf([] { step(1, 0); }), "argument: schedule step: expected a number of epochs of at least 1, got 0");
  EXPECT_EQ(errorOf([] { step(1, 1, 0); }), "argument: schedule step: expected a factor above 0, got 0");
  EXPECT_EQ(errorOf([] { exponential(1, -2); }), "argument: schedule exponential: expected a factor above 0, got -2");
  EXPECT_EQ(errorOf([] { cosine(1, -2); }), "argument: schedule cosine: expected an end of at least 0, got -2");
  EXPECT_EQ(errorOf([] { one_cycle(1, 1); }), "argument: schedule one_cycle: expected a part between 0 and 1, got 1");
  EXPECT_EQ(errorOf([] { one_cycle(1, 0.3, 0); }), "argument: schedule one_cycle: expected a divisor above 0, got 0");
  EXPECT_EQ(errorOf([] { Schedule("mine", nullptr); }),
            "argument: schedule mine: expected a function of the step, got none");
}
