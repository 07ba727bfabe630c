// Blocks of memory that are kept for the next request.
#include "vx/base/free_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace {

using vx::FreeBlockLimits;

// A block with a number, which a set has for as long as the block is there.
class FreeBlocks : public testing::Test {
protected:
  struct Leave {
    std::set<int> *there = nullptr;
    void operator()(const int *number) const {
      there->erase(*number);
      delete number;
    }
  };
  using Block = std::unique_ptr<int, Leave>;

  Block make(int number) {
    there.insert(number);
    return Block(new int(number), Leave{&there});
  }
  // Blocks of these sizes, in use and given in this order. Their numbers are 0, 1, ...
  void fill(vx::FreeBlocks<Block> &blocks, const std::vector<uint64_t> &sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      blocks.noteUsed(sizes[i]);
      blocks.give(make(static_cast<int>(i)), sizes[i]);
    }
  }
  // The number of the block for a size; -1: none.
  static int taken(vx::FreeBlocks<Block> &blocks, uint64_t size) {
    const std::optional<Block> block = blocks.take(size);
    return block ? **block : -1;
  }

  std::set<int> there;
};

TEST_F(FreeBlocks, theSmallestThatFits) {
  vx::FreeBlocks<Block> blocks({.largerBy = 1});
  fill(blocks, {1800, 1000, 1200, 1200});
  std::optional<Block> block = blocks.take(990);
  ASSERT_TRUE(block);
  EXPECT_EQ(**block, 1);
  EXPECT_EQ(taken(blocks, 990), 2) << "what is taken is taken, and the first of two of one size";
  EXPECT_EQ(taken(blocks, 1201), 0);
  EXPECT_EQ(taken(blocks, 1201), -1);
  EXPECT_EQ(taken(blocks, 1200), 3) << "of its own size";
}

TEST_F(FreeBlocks, noneThatIsMuchLarger) {
  vx::FreeBlocks<Block> twice({.largerBy = 1}), eighth({.largerBy = 8});
  fill(twice, {2000});
  fill(eighth, {900});
  EXPECT_EQ(taken(twice, 999), -1);
  EXPECT_EQ(taken(twice, 1000), 0);
  EXPECT_EQ(taken(eighth, 799), -1);
  EXPECT_EQ(taken(eighth, 800), 0);
  EXPECT_EQ(taken(eighth, 0), -1);
}

TEST_F(FreeBlocks, soManyAreKept) {
  vx::FreeBlocks<Block> blocks({.blocks = 3});
  fill(blocks, {10, 20, 30});
  EXPECT_EQ(there, (std::set<int>{0, 1, 2}));
  blocks.noteUsed(40);
  blocks.give(make(3), 40);
  EXPECT_EQ(there, (std::set<int>{1, 2, 3})) << "the one that has been free for the longest time has gone";
  EXPECT_EQ(taken(blocks, 20), 1);
  blocks.noteUsed(50);
  blocks.give(make(4), 50);
  EXPECT_EQ(there, (std::set<int>{2, 3, 4}));
}

TEST_F(FreeBlocks, soManyBytesAreKept) {
  vx::FreeBlocks<Block> blocks({.idleBytes = 100});
  fill(blocks, {40, 60});
  EXPECT_EQ(there, (std::set<int>{0, 1}));
  blocks.noteUsed(1);
  blocks.give(make(2), 1);
  EXPECT_EQ(there, (std::set<int>{1, 2}));
  // One that is too large by itself.
  blocks.noteUsed(101);
  blocks.give(make(3), 101);
  EXPECT_EQ(there, (std::set<int>{}));
}

// A block that is taken is none of them.
TEST_F(FreeBlocks, aBlockComesAndGoes) {
  vx::FreeBlocks<Block> blocks({.idleBytes = 100});
  fill(blocks, {60});
  for (int turn = 0; turn < 3; ++turn) {
    std::optional<Block> block = blocks.take(60);
    ASSERT_TRUE(block) << turn;
    blocks.noteUsed(60);
    blocks.give(std::move(*block), 60);
  }
  EXPECT_EQ(there, (std::set<int>{0}));
}

TEST_F(FreeBlocks, asManyBytesAsAreInUseAreKept) {
  vx::FreeBlocks<Block> blocks({.idleBytes = 100});
  blocks.noteUsed(300);
  fill(blocks, {150, 150});
  EXPECT_EQ(there, (std::set<int>{0, 1}));
  blocks.noteUsed(1);
  blocks.give(make(2), 1);
  EXPECT_EQ(there, (std::set<int>{1, 2}));
  // Those in use are given, so that fewer may wait.
  blocks.give(make(3), 300);
  EXPECT_EQ(there, (std::set<int>{}));
}

TEST_F(FreeBlocks, allGoAtOnce) {
  vx::FreeBlocks<Block> blocks;
  EXPECT_FALSE(blocks.dropAll());
  fill(blocks, {10, 20});
  EXPECT_TRUE(blocks.dropAll());
  EXPECT_EQ(there, (std::set<int>{}));
  EXPECT_FALSE(blocks.dropAll());
  EXPECT_EQ(taken(blocks, 10), -1);
}

TEST_F(FreeBlocks, goWithTheirOwner) {
  {
    vx::FreeBlocks<Block> blocks;
    fill(blocks, {10, 20});
  }
  EXPECT_EQ(there, (std::set<int>{}));
}

TEST_F(FreeBlocks, threadsTakeAndGive) {
  vx::FreeBlocks<std::unique_ptr<std::atomic<int>>> blocks({.largerBy = 1, .blocks = 8});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const uint64_t size = 1 + static_cast<uint64_t>(i + t) % 3;
        auto taken = blocks.take(size);
        auto block = taken ? std::move(*taken) : std::make_unique<std::atomic<int>>(0);
        blocks.noteUsed(size);
        wrong += block->fetch_add(1) != 0;
        wrong += block->fetch_sub(1) != 1;
        blocks.give(std::move(block), size);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
