// Host memory for the bytes of tensors.
#include "base/aligned_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using vx::AlignedMemory;
using vx::allocateAligned;

TEST(AlignedMemory, beginsAtItsAlignmentAndHasWholeUnits) {
  std::vector<AlignedMemory> blocks;
  for (const uint64_t size : {0u, 1u, 15u, 16u, 63u, 64u, 65u, 1000u, (64u << 10) - 1, 64u << 10, 1u << 20}) {
    AlignedMemory bytes = allocateAligned(size);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.get()) % VX_BUFFER_ALIGNMENT, 0u) << size;
    std::memset(bytes.get(), 0xff, (size / VX_BUFFER_ALIGNMENT + 1) * VX_BUFFER_ALIGNMENT);
    blocks.push_back(std::move(bytes));
  }
}

TEST(AlignedMemory, isNullForSizesThatNoSystemHas) {
  for (const uint64_t size : {UINT64_MAX, UINT64_MAX - 64, uint64_t(PTRDIFF_MAX), uint64_t(PTRDIFF_MAX) - 100})
    EXPECT_FALSE(allocateAligned(size)) << size;
}

#ifndef VX_TEST_SANITIZED
TEST(AlignedMemory, freedBlocksAreUsedAgain) {
  constexpr uint64_t size = 1 << 20;
  AlignedMemory first = allocateAligned(size), second = allocateAligned(size);
  const std::byte *firstAddress = first.get(), *secondAddress = second.get();
  EXPECT_NE(firstAddress, secondAddress);
  first.reset();
  // Not for much smaller or larger ones.
  const AlignedMemory smaller = allocateAligned(size - size / 4), larger = allocateAligned(size + size / 4);
  EXPECT_NE(smaller.get(), firstAddress);
  EXPECT_NE(larger.get(), firstAddress);
  AlignedMemory again = allocateAligned(size - size / 16);
  EXPECT_EQ(again.get(), firstAddress);
  // The block is as large as before.
  again.reset();
  again = allocateAligned(size);
  EXPECT_EQ(again.get(), firstAddress);
  std::memset(again.get(), 1, size);
}

// As many bytes as are in use, or 64 MiB: what is kept is seen in the pages that have been written.
TEST(AlignedMemory, fewBytesAreKept) {
  const auto resident = [] {
    unsigned long pages = 0, all = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%lu %lu", &all, &pages), 2);
    std::fclose(file);
    return static_cast<int64_t>(pages) * 4096;
  };
  constexpr uint64_t size = 40 << 20;
  std::vector<AlignedMemory> blocks;
  const int64_t before = resident();
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(allocateAligned(size));
    ASSERT_TRUE(blocks.back());
    std::memset(blocks.back().get(), 1, size);
  }
  EXPECT_GT(resident() - before, int64_t(5 * size));
  blocks.resize(4);
  EXPECT_GT(resident() - before, int64_t(5 * size)) << "four are in use, and two are kept";
  blocks.clear();
  EXPECT_LT(resident() - before, int64_t(2 * size)) << "none is in use, so one is kept at most";
}
#endif

TEST(AlignedMemory, threadsTakeAndGive) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<AlignedMemory> own;
      for (int i = 0; i < 2000; ++i) {
        const uint64_t size = (64u << 10) * (1 + (i + t) % 3);
        AlignedMemory bytes = allocateAligned(size);
        std::memset(bytes.get(), t + 1, 256);
        own.push_back(std::move(bytes));
        wrong += !std::all_of(own.front().get(), own.front().get() + 256,
                              [&](std::byte byte) { return byte == std::byte(t + 1); });
        if (own.size() > 3)
          own.erase(own.begin());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
