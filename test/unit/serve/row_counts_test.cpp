#include "row_counts.h"

#include <gmock/gmock.h>

#include <vector>

namespace {

using testing::ElementsAre;
using vx::serve::RowCounts;

TEST(RowCountsTest, takesTheLeastCountOfTheSameBitsAndAsksOnceForEach) {
  RowCounts counts(32);
  std::vector<size_t> asked;
  const auto isSame = [&asked](size_t count) {
    asked.push_back(count);
    return count != 4;
  };
  EXPECT_EQ(counts.choose("a", 1, isSame), 1u);
  EXPECT_EQ(counts.choose("a", 2, isSame), 2u);
  EXPECT_EQ(counts.choose("a", 3, isSame), 8u);
  EXPECT_EQ(counts.choose("a", 4, isSame), 8u);
  EXPECT_EQ(counts.choose("a", 17, isSame), 32u);
  EXPECT_EQ(counts.choose("a", 32, isSame), 32u);
  EXPECT_THAT(asked, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(counts.choose("b", 1, isSame), 1u);
  EXPECT_THAT(asked, ElementsAre(1, 2, 4, 8, 1));
  counts.forget();
  EXPECT_EQ(counts.choose("a", 1, isSame), 1u);
  EXPECT_THAT(asked, ElementsAre(1, 2, 4, 8, 1, 1));
}

TEST(RowCountsTest, countsAreMultiplesOfWhatAFunctionTakes) {
  RowCounts counts(24, 3);
  std::vector<size_t> asked;
  const auto isSame = [&asked](size_t count) {
    asked.push_back(count);
    return false;
  };
  EXPECT_EQ(counts.choose("a", 1, isSame), 24u);
  EXPECT_THAT(asked, ElementsAre(3, 6, 12));
}

TEST(RowCountsTest, keysOfClientsDoNotFillTheMemory) {
  RowCounts counts(4);
  size_t asked = 0;
  const auto isSame = [&asked](size_t) { return ++asked > 0; };
  for (int i = 0; i < 3000; ++i)
    EXPECT_EQ(counts.choose(std::to_string(i), 1, isSame), 1u);
  EXPECT_EQ(counts.choose("0", 1, isSame), 1u);
  EXPECT_EQ(asked, 3001u);
}

} // namespace
