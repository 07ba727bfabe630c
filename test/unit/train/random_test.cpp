// Orders of rows: what they are for a seed and an epoch, for ever, and that all are as likely.
#include "random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace vx::train;

TEST(TrainRandom, ordersNeverChange) {
  EXPECT_EQ(permutation(10, 7, Use::order, 0), (std::vector<int64_t>{8, 9, 2, 4, 5, 0, 3, 1, 7, 6}));
  EXPECT_EQ(permutation(10, 7, Use::order, 1), (std::vector<int64_t>{1, 8, 0, 6, 7, 5, 3, 4, 2, 9}));
  EXPECT_EQ(permutation(10, 8, Use::order, 0), (std::vector<int64_t>{2, 8, 6, 9, 0, 7, 4, 5, 3, 1}));
  EXPECT_EQ(permutation(10, 7, Use::split, 0), (std::vector<int64_t>{6, 8, 1, 5, 3, 4, 2, 0, 9, 7}));
  EXPECT_EQ(randomNumber(7, Use::step, 0, 0), 11966149163839290759u);
  EXPECT_EQ(randomNumber(7, Use::step, 0, 3), 8760257668783083621u);
}

TEST(TrainRandom, everyRowOnce) {
  for (int64_t count : {0, 1, 2, 3, 1000, 4097}) {
    std::vector<int64_t> order = permutation(count, 3, Use::order, 5);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(order[static_cast<size_t>(i)], i);
  }
}

// Of four rows there are 24 orders; the sum over them of (seen - expected)^2 / expected is above 52 once in 2000 times.
TEST(TrainRandom, allOrdersAreAsLikely) {
  std::map<std::vector<int64_t>, int> seen;
  constexpr int draws = 24000;
  for (uint64_t epoch = 0; epoch < draws; ++epoch)
    ++seen[permutation(4, 11, Use::order, epoch)];
  EXPECT_EQ(seen.size(), 24u);
  double distance = 0;
  for (const auto &[order, count] : seen)
    distance += (count - draws / 24.0) * (count - draws / 24.0) / (draws / 24.0);
  EXPECT_LT(distance, 52);
}
