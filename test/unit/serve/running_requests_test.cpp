// Which requests an id means, and that those that are over are forgotten.
#include "running_requests.h"

#include <gtest/gtest.h>

namespace {

using vx::serve::HttpExchange;
using vx::serve::HttpResponse;
using vx::serve::RunningRequests;

struct Waiting final : HttpExchange {
  explicit Waiting(const std::string &id) { request.id = id; }
  void reply(HttpResponse) override {}
  bool cancel(HttpResponse) override { return true; }
  bool isGone() const override { return false; }
  void whenGone(std::function<void()>) override {}
  void reserveAnswer(uint64_t) override {}
};

TEST(RunningRequests, anIdMeansAllThatHaveItAndAreNotOver) {
  RunningRequests running;
  auto first = std::make_shared<Waiting>("a"), second = std::make_shared<Waiting>("a"),
       other = std::make_shared<Waiting>("b");
  running.add(first);
  running.add(other);
  running.add(second);
  EXPECT_EQ(running.find("a").size(), 2u);
  EXPECT_EQ(running.find("b").at(0), other);
  EXPECT_TRUE(running.find("c").empty());
  first.reset();
  EXPECT_EQ(running.find("a").at(0), second);
  second.reset();
  EXPECT_TRUE(running.find("a").empty());
}

TEST(RunningRequests, memoryDoesNotGrowWithTheNumberOfRequests) {
  RunningRequests running;
  const auto lasting = std::make_shared<Waiting>("lasting");
  running.add(lasting);
  size_t most = 0;
  for (int i = 0; i < 10000; ++i) {
    running.add(std::make_shared<Waiting>(std::to_string(i)));
    most = std::max(most, running.size());
  }
  EXPECT_LT(most, 1000u);
  EXPECT_EQ(running.find("lasting").at(0), lasting);
}

} // namespace
