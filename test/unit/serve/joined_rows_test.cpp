// Rows that are joined while their requests wait.
#include "joined_rows.h"

#include "tensor_runner.h"

#include "embedding_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <numeric>
#include <thread>

namespace {

using namespace vx::serve;
using testing::ElementsAre;

std::vector<int32_t> elementsOf(const vx::Value &value) {
  const std::span<const int32_t> elements = value.data<int32_t>();
  return {elements.begin(), elements.end()};
}

class JoinedRowsTest : public testing::Test {
protected:
  // Two joined inputs of i32, with two elements and one a row, and one that all requests share between them. The
  // tensors read `bytes`, so that a test sees when they are copied.
  struct Request {
    Request(size_t rows, int32_t first) : rows(rows), wide(rows * 2), narrow(rows) {
      std::iota(wide.begin(), wide.end(), first);
      std::iota(narrow.begin(), narrow.end(), -first);
      const std::array<int64_t, 2> wideDims = {static_cast<int64_t>(rows), 2};
      const std::array<int64_t, 1> narrowDims = {static_cast<int64_t>(rows)}, sharedDims = {1};
      inputs = {vx::Value::wrap(VX_I32, wideDims, wide.data(), wide.size() * 4),
                vx::Value::wrap(VX_I32, sharedDims, &shared, 4),
                vx::Value::wrap(VX_I32, narrowDims, narrow.data(), narrow.size() * 4)};
    }
    void overwrite() {
      std::fill(wide.begin(), wide.end(), 99);
      std::fill(narrow.begin(), narrow.end(), 99);
    }
    size_t rows;
    std::vector<int32_t> wide, narrow;
    int32_t shared = 7;
    std::vector<vx::Value> inputs;
  };

  std::shared_ptr<JoinedRows> make(const Request &like, size_t capacity) {
    return std::make_shared<JoinedRows>(like.inputs, std::vector<bool>{true, false, true}, capacity, memory);
  }

  std::vector<size_t> sizes; // that were asked for
  const RowMemory memory = [this](size_t size) {
    sizes.push_back(size);
    return std::shared_ptr<std::byte>(new std::byte[size], std::default_delete<std::byte[]>());
  };
};

TEST_F(JoinedRowsTest, rowsAreOneAfterAnother) {
  Request a(1, 10), b(2, 20), c(1, 30);
  const auto rows = make(a, 4);
  EXPECT_EQ(rows->place(a.inputs, 1), 0u);
  EXPECT_EQ(rows->place(b.inputs, 2), 1u);
  EXPECT_EQ(rows->place(c.inputs, 1), 3u);
  EXPECT_TRUE(sizes.empty()) << "a place costs nothing";
  rows->copy();
  EXPECT_THAT(sizes, ElementsAre(4 * 8, 4 * 4));
  // The copies are made: what becomes of the requests' own bytes does not matter.
  a.overwrite();
  b.overwrite();
  c.overwrite();
  const std::optional<std::vector<vx::Value>> joined = rows->take(3, 4);
  ASSERT_TRUE(joined);
  EXPECT_THAT((*joined)[0].dims(), ElementsAre(4, 2));
  EXPECT_THAT(elementsOf((*joined)[0]), ElementsAre(10, 11, 20, 21, 22, 23, 30, 31));
  EXPECT_THAT(elementsOf((*joined)[1]), ElementsAre(7));
  EXPECT_THAT((*joined)[2].dims(), ElementsAre(4));
  EXPECT_THAT(elementsOf((*joined)[2]), ElementsAre(-10, -20, -19, -30));
  EXPECT_EQ(sizes.size(), 2u);
}

TEST_F(JoinedRowsTest, whatIsLeftIsCopiedWhenTheyAreTaken) {
  Request a(1, 10), b(1, 20);
  const auto rows = make(a, 8);
  rows->place(a.inputs, 1);
  rows->copy();
  rows->place(b.inputs, 1);
  a.overwrite();
  b.wide = {1, 2};
  const std::optional<std::vector<vx::Value>> joined = rows->take(2, 2);
  ASSERT_TRUE(joined);
  EXPECT_THAT((*joined)[0].dims(), ElementsAre(2, 2));
  EXPECT_THAT(elementsOf((*joined)[0]), ElementsAre(10, 11, 1, 2));
}

// A device is lost, and another one runs the same jobs.
TEST_F(JoinedRowsTest, theyMayBeTakenTwice) {
  Request a(1, 10), b(1, 20);
  auto rows = make(a, 2);
  rows->place(a.inputs, 1);
  rows->place(b.inputs, 1);
  const auto first = rows->take(2, 2), second = rows->take(2, 2);
  ASSERT_TRUE(first && second);
  rows = nullptr; // the memory is the values'
  EXPECT_THAT(elementsOf((*second)[2]), ElementsAre(-10, -20));
  EXPECT_EQ(elementsOf((*first)[2]), elementsOf((*second)[2]));
  EXPECT_EQ(sizes.size(), 2u);
}

TEST_F(JoinedRowsTest, thereIsRoomForTheirCapacity) {
  Request a(1, 10), b(2, 20);
  const auto rows = make(a, 2);
  EXPECT_EQ(rows->place(a.inputs, 1), 0u);
  EXPECT_EQ(rows->place(b.inputs, 2), std::nullopt);
  EXPECT_EQ(rows->place(a.inputs, 1), 1u);
  EXPECT_EQ(rows->place(a.inputs, 1), std::nullopt);
  EXPECT_TRUE(rows->take(2, 2));
}

TEST_F(JoinedRowsTest, onlyAllOfThemAreTaken) {
  Request a(1, 10), b(1, 20);
  for (const auto &[requests, count] : {std::pair(1u, 1u), std::pair(3u, 3u), std::pair(2u, 3u), std::pair(3u, 2u)}) {
    const auto rows = make(a, 4);
    rows->place(a.inputs, 1);
    rows->place(b.inputs, 1);
    EXPECT_FALSE(rows->take(requests, count)) << requests << " requests with " << count << " rows";
    EXPECT_EQ(rows->place(a.inputs, 1), std::nullopt) << "the batch has begun";
  }
}

TEST_F(JoinedRowsTest, withoutMemoryThereAreNone) {
  Request a(1, 10), b(1, 20);
  int asked = 0;
  const auto rows = std::make_shared<JoinedRows>(a.inputs, std::vector<bool>{true, false, true}, 2, [&](size_t) {
    ++asked;
    throw std::bad_alloc();
    return std::shared_ptr<std::byte>();
  });
  rows->place(a.inputs, 1);
  rows->copy();
  rows->place(b.inputs, 1);
  EXPECT_FALSE(rows->take(2, 2));
  EXPECT_EQ(asked, 1);
}

// A request's own bytes may go when they are copied.
TEST_F(JoinedRowsTest, requestsAreForgottenWhenTheyAreCopied) {
  Request a(1, 10), b(1, 20);
  const auto owner = std::make_shared<int>(0);
  const std::array<int64_t, 2> dims = {1, 2};
  b.inputs[0] = vx::Value::wrap(VX_I32, dims, b.wide.data(), 8, owner);
  const auto rows = make(a, 2);
  rows->place(a.inputs, 1);
  rows->place(b.inputs, 1);
  b.inputs.clear();
  EXPECT_EQ(owner.use_count(), 2);
  rows->copy();
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_TRUE(rows->take(2, 2));
}

TEST_F(JoinedRowsTest, threadsCopyAtOneTime) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Request> requests;
    for (int32_t i = 0; i < 24; ++i)
      requests.emplace_back(1 + static_cast<size_t>(i) % 3, i * 100);
    const auto rows = make(requests[0], 48);
    sizes.clear();
    std::atomic<size_t> next = 0;
    std::vector<size_t> places(requests.size());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (size_t i = next++; i < requests.size(); i = next++) {
          places[i] = rows->place(requests[i].inputs, requests[i].rows).value_or(999);
          rows->copy();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    const std::optional<std::vector<vx::Value>> joined = rows->take(24, 48);
    ASSERT_TRUE(joined);
    EXPECT_EQ(sizes.size(), 2u);
    const std::vector<int32_t> wide = elementsOf((*joined)[0]);
    for (size_t i = 0; i < requests.size(); ++i)
      ASSERT_TRUE(std::equal(requests[i].wide.begin(), requests[i].wide.end(),
                             wide.begin() + static_cast<ptrdiff_t>(places[i] * 2)))
          << i;
  }
}

// Jobs of a queue, of rows with so many elements of f32.
class RowJoinerTest : public JoinedRowsTest {
protected:
  static std::shared_ptr<TensorJob> job(size_t rows, int64_t width = 1024) {
    const std::array<int64_t, 2> dims = {static_cast<int64_t>(rows), width};
    const std::vector<float> zeros(rows * static_cast<size_t>(width));
    auto made = std::make_shared<TensorJob>(
        std::vector<vx::Value>{vx::Value::raw(VX_F32, dims, zeros.data(), zeros.size() * 4)},
        [](const std::vector<vx::Value> &) {}, [](const ServiceError &) {});
    made->rows = rows;
    return made;
  }
};

TEST_F(RowJoinerTest, beginsWithTheSecondJob) {
  RowJoiner joiner({true}, memory);
  const auto a = job(1), b = job(2), c = job(1), d = job(1), e = job(1);
  EXPECT_TRUE(joiner.place(*a, *b, 4));
  EXPECT_TRUE(a->joined && a->joined == b->joined);
  EXPECT_EQ(a->joinedAt, 0u);
  EXPECT_EQ(b->joinedAt, 1u);
  EXPECT_TRUE(joiner.place(*b, *c, 4));
  EXPECT_EQ(c->joined, a->joined);
  EXPECT_EQ(c->joinedAt, 3u);
  // It is full. The one after begins the next batch.
  EXPECT_FALSE(joiner.place(*c, *d, 4));
  EXPECT_FALSE(d->joined);
  EXPECT_TRUE(joiner.place(*d, *e, 4));
  EXPECT_TRUE(d->joined && d->joined != a->joined && d->joined == e->joined);
  joiner.join(*b);
  EXPECT_THAT(sizes, ElementsAre(4 * 4096));
}

TEST_F(RowJoinerTest, rowsThatAreFewBytesOrVeryManyAreNot) {
  RowJoiner joiner({true}, memory);
  EXPECT_FALSE(joiner.place(*job(1, 1023), *job(1, 1023), 4));
  EXPECT_TRUE(joiner.place(*job(1, 1024), *job(1, 1024), 4));
  // 256 MiB of a batch.
  EXPECT_TRUE(joiner.place(*job(1, 1024), *job(1, 1024), 1 << 16));
  EXPECT_FALSE(joiner.place(*job(1, 1024), *job(1, 1024), (1 << 16) + 1));
  // More rows than a batch has.
  EXPECT_TRUE(joiner.place(*job(2), *job(2), 4));
  const auto two = job(2);
  EXPECT_FALSE(joiner.place(*two, *job(3), 4));
  EXPECT_FALSE(two->joined);
  // Rows of inputs that are not joined are no bytes to join.
  RowJoiner shared({false}, memory);
  EXPECT_FALSE(shared.place(*job(1), *job(1), 4));
}

} // namespace
