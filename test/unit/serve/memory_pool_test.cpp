// Memory that batches use again.
#include "memory_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using vx::serve::MemoryPool;

TEST(MemoryPool, givesWhatIsFreeAgain) {
  MemoryPool pool;
  std::shared_ptr<std::byte> first = pool.take(1000);
  const std::byte *address = first.get();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u);
  const std::shared_ptr<std::byte> second = pool.take(1000);
  EXPECT_NE(second.get(), address);
  const std::shared_ptr<std::byte> owner = first;
  first.reset();
  EXPECT_NE(pool.take(1000).get(), address) << "somebody has it";
}

TEST(MemoryPool, takesTheSmallestBlockThatFits) {
  MemoryPool pool;
  std::shared_ptr<std::byte> large = pool.take(1800), small = pool.take(1000);
  const std::byte *largeAddress = large.get(), *smallAddress = small.get();
  large.reset();
  small.reset();
  const std::shared_ptr<std::byte> fits = pool.take(990);
  EXPECT_EQ(fits.get(), smallAddress);
  // Not for less than half of its size.
  EXPECT_NE(pool.take(800).get(), largeAddress);
  const std::shared_ptr<std::byte> next = pool.take(1001);
  EXPECT_EQ(next.get(), largeAddress);
  std::memset(next.get(), 1, 1001);
}

TEST(MemoryPool, keepsFourBlocks) {
  MemoryPool pool;
  std::vector<std::shared_ptr<std::byte>> taken;
  for (size_t i = 0; i < 6; ++i)
    taken.push_back(pool.take(100 << i));
  const std::byte *last = taken.back().get(), *third = taken[2].get();
  taken.clear();
  // The first two were dropped for the last two, so these are new blocks and no larger ones.
  EXPECT_EQ(pool.take(400).get(), third);
  EXPECT_EQ(pool.take(3200).get(), last);
}

TEST(MemoryPool, memoryOutlivesThePool) {
  auto pool = std::make_unique<MemoryPool>();
  std::shared_ptr<std::byte> bytes = pool->take(64);
  pool.reset();
  std::memset(bytes.get(), 7, 64);
  bytes.reset();
}

} // namespace
