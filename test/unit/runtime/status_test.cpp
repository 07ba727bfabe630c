// Statuses, expressions, element types, JSON text: the pieces below modules.
#include "base/arithmetic.h"
#include "base/json_writer.h"
#include "base/thread_pool.h"
#include "module/expression.h"
#include "runtime_test.h"

#include <atomic>
#include <cmath>
#include <ctime>
#include <thread>

#include <sched.h>

namespace vx::test {

TEST(Status, successCostsNothingAndSaysOk) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), VX_OK);
  EXPECT_EQ(status.message(), "ok");
  EXPECT_EQ(std::move(status).release(), nullptr);
  EXPECT_TRUE(okStatus().addContext("anything").ok());
}

// Of libraries over this one.
TEST(Status, isMadeByOthers) {
  vx_status status = vx_status_create(VX_FAULT, "a\nb", "{\"taken\":null}", "{\"got\":3}");
  EXPECT_EQ(vx_status_code(status), VX_FAULT);
  EXPECT_STREQ(vx_status_message(status), "a\\u000ab");
  EXPECT_STREQ(vx_status_report(status), "{\"taken\":null}");
  EXPECT_STREQ(vx_status_details(status), "{\"got\":3}");
  vx_status_release(status);
  status = vx_status_create(VX_TIMED_OUT, "", nullptr, nullptr);
  EXPECT_EQ(vx_status_code(status), VX_TIMED_OUT);
  EXPECT_STREQ(vx_status_message(status), "");
  EXPECT_EQ(vx_status_report(status), nullptr);
  EXPECT_EQ(vx_status_details(status), nullptr);
  vx_status_release(status);
  for (const int code : {0, -1, 13}) {
    status = vx_status_create(static_cast<vx_code>(code), "a", nullptr, nullptr);
    EXPECT_EQ(vx_status_code(status), VX_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(vx_status_message(status)),
              "vx_status_create: expected a code from 1 to 12, got " + std::to_string(code));
    vx_status_release(status);
  }
}

TEST(Status, contextsStandBeforeTheMessage) {
  Status status = failure(VX_NOT_FOUND, "no '{}' in {}", "x", 3).addContext("inner").addContext("outer");
  EXPECT_EQ(status.code(), VX_NOT_FOUND);
  EXPECT_EQ(status.message(), "outer: inner: no 'x' in 3");
  vx_status handle = std::move(status).release();
  EXPECT_EQ(vx_status_code(handle), VX_NOT_FOUND);
  EXPECT_STREQ(vx_status_message(handle), "outer: inner: no 'x' in 3");
  EXPECT_EQ(vx_status_report(handle), nullptr);
  vx_status_release(handle);
  EXPECT_STREQ(vx_status_message(nullptr), "ok");
}

TEST(Arithmetic, divisionRoundsAsItsNameSays) {
  int64_t r = 0;
  auto floorDiv = [&](int64_t a, int64_t b) { return checkedFloorDiv(a, b, r) ? r : 999; };
  auto ceilDiv = [&](int64_t a, int64_t b) { return checkedCeilDiv(a, b, r) ? r : 999; };
  auto mod = [&](int64_t a, int64_t b) { return checkedMod(a, b, r) ? r : 999; };
  for (int64_t a = -7; a <= 7; ++a)
    for (int64_t b : {-3, -2, -1, 1, 2, 3}) {
      EXPECT_EQ(floorDiv(a, b), static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(ceilDiv(a, b), static_cast<int64_t>(std::ceil(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(floorDiv(a, b) * b + mod(a, b), a);
    }
  EXPECT_FALSE(checkedFloorDiv(1, 0, r));
  EXPECT_FALSE(checkedCeilDiv(1, 0, r));
  EXPECT_FALSE(checkedMod(1, 0, r));
  EXPECT_FALSE(checkedFloorDiv(INT64_MIN, -1, r));
  EXPECT_FALSE(checkedCeilDiv(INT64_MIN, -1, r));
  EXPECT_TRUE(checkedMod(INT64_MIN, -1, r));
  EXPECT_EQ(r, 0);
  EXPECT_FALSE(checkedAdd(INT64_MAX, 1, r));
  EXPECT_FALSE(checkedSub(INT64_MIN, 1, r));
  EXPECT_FALSE(checkedMul(INT64_MAX, 2, r));
}

using E = ExpressionOp;
static Expression expression(std::vector<Expression::Node> nodes) { return Expression(std::move(nodes)); }

TEST(Expression, evaluatesEveryOperation) {
  const int64_t symbols[] = {7, 3};
  auto binary = [&](E op) {
    int64_t result = -99;
    Expression e = expression({{E::Symbol, 0}, {E::Symbol, 1}, {op, 0, 0, 1}});
    EXPECT_OK(e.check(2));
    EXPECT_OK(e.evaluate(symbols, result));
    return result;
  };
  EXPECT_EQ(binary(E::Add), 10);
  EXPECT_EQ(binary(E::Mul), 21);
  EXPECT_EQ(binary(E::FloorDiv), 2);
  EXPECT_EQ(binary(E::CeilDiv), 3);
  EXPECT_EQ(binary(E::Mod), 1);
  EXPECT_EQ(binary(E::Max), 7);
  EXPECT_EQ(binary(E::Min), 3);
  int64_t result = -1;
  EXPECT_OK(Expression().evaluate(symbols, result));
  EXPECT_EQ(result, 0);
}

TEST(Expression, printsAsPeopleWriteIt) {
  const std::string names[] = {"past", "step"};
  Expression e = expression({{E::Symbol, 0}, {E::Symbol, 1}, {E::Add, 0, 0, 1}, {E::Constant, 2}, {E::Mul, 0, 2, 3}});
  EXPECT_EQ(e.toString(names), "(past + step) * 2");
  EXPECT_EQ(e.toString({}), "(s0 + s1) * 2");
  EXPECT_EQ(expression({{E::Symbol, 0}, {E::Constant, 8}, {E::Max, 0, 0, 1}}).toString(names), "max(past, 8)");
  EXPECT_EQ(expression({{E::Symbol, 0}, {E::Constant, 8}, {E::CeilDiv, 0, 0, 1}}).toString(names), "past ceildiv 8");
}

// x_{i+1} = max(x_i + 1, x_i * 1): 3 * 20,000 nodes that would be 2^20,000 without sharing.
TEST(Expression, sharedTermsAreComputedAndPrintedOnce) {
  std::vector<Expression::Node> nodes = {{E::Symbol, 0}, {E::Constant, 1}};
  uint32_t last = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto next = static_cast<uint32_t>(nodes.size());
    nodes.push_back({E::Add, 0, last, 1});
    nodes.push_back({E::Mul, 0, last, 1});
    nodes.push_back({E::Max, 0, next, next + 1});
    last = next + 2;
  }
  Expression e = expression(nodes);
  EXPECT_OK(e.check(1));
  const int64_t symbols[] = {5};
  int64_t result = 0;
  EXPECT_OK(e.evaluate(symbols, result));
  EXPECT_EQ(result, 20'005);
  EXPECT_EQ(e.toString({}), "an expression of 60002 nodes");

  nodes.resize(2 + 3 * 8);
  const std::string names[] = {"n"};
  EXPECT_EQ(expression(nodes).toString(names),
            "max(t6 + 1, t6 * 1) with t0 = max(n + 1, n * 1), t1 = max(t0 + 1, t0 * 1), t2 = max(t1 + 1, t1 * 1), "
            "t3 = max(t2 + 1, t2 * 1), t4 = max(t3 + 1, t3 * 1), t5 = max(t4 + 1, t4 * 1), t6 = max(t5 + 1, t5 * 1)");
}

TEST(Expression, errorsOfEvaluation) {
  const int64_t symbols[] = {INT64_MAX, 0};
  int64_t result = 0;
  EXPECT_FAILS(expression({{E::Symbol, 0}, {E::Constant, 1}, {E::Add, 0, 0, 1}}).evaluate(symbols, result), VX_FAULT,
               "size expression 's0 + 1': 9223372036854775807 + 1 is no 64-bit number");
  EXPECT_FAILS(expression({{E::Symbol, 0}, {E::Symbol, 1}, {E::FloorDiv, 0, 0, 1}}).evaluate(symbols, result), VX_FAULT,
               "size expression 's0 floordiv s1': 9223372036854775807 floordiv 0 is no 64-bit number");
}

TEST(Expression, checkRefusesWhatCannotBeEvaluated) {
  EXPECT_FAILS(expression({{E::Symbol, 2}}).check(2), VX_INVALID_MODULE, "expression uses symbol 2, there are 2");
  EXPECT_FAILS(expression({{E::Symbol, -1}}).check(2), VX_INVALID_MODULE, "expression uses symbol -1, there are 2");
  EXPECT_FAILS(expression({{E::Constant, 2}, {E::Add, 0, 0, 1}}).check(0), VX_INVALID_MODULE,
               "expression node 1 has node 1 for an operand, allowed are those before it");
  EXPECT_FAILS(expression({{E::Constant, 2}, {E::Add, 0, 9, 0}, {E::Constant, 2}}).check(0), VX_INVALID_MODULE,
               "expression node 1 has node 9 for an operand, allowed are those before it");
  EXPECT_FAILS(expression({{static_cast<E>(77), 2}}).check(0), VX_INVALID_MODULE,
               "expression node 0 has the unknown operation 77");
  EXPECT_FAILS(expression(std::vector<Expression::Node>(Expression::maxNodes + 1, {E::Constant, 1})).check(0),
               VX_INVALID_MODULE, "expression has 65537 nodes, allowed are 65536");
}

TEST(ElementType, sizesRoundUpToBytes) {
  uint64_t size = 0;
  const int64_t five[] = {5};
  EXPECT_OK(tensorByteSize(VX_I4, five, size));
  EXPECT_EQ(size, 3u);
  EXPECT_OK(tensorByteSize(VX_U2, five, size));
  EXPECT_EQ(size, 2u);
  EXPECT_OK(tensorByteSize(VX_BOOL, five, size));
  EXPECT_EQ(size, 5u);
  EXPECT_OK(tensorByteSize(VX_F64, {}, size));
  EXPECT_EQ(size, 8u);
  const int64_t empty[] = {INT64_MAX, INT64_MAX, 0};
  EXPECT_OK(tensorByteSize(VX_F64, empty, size));
  EXPECT_EQ(size, 0u);
  const int64_t huge[] = {INT64_MAX, 4};
  EXPECT_FAILS(tensorByteSize(VX_F64, huge, size), VX_INVALID_ARGUMENT,
               "dims [9223372036854775807,4] have more than 72057594037927936 elements");
  const int64_t negative[] = {2, -3};
  EXPECT_FAILS(tensorByteSize(VX_F64, negative, size), VX_INVALID_ARGUMENT, "dims [2,-3] have the negative size -3");
  EXPECT_FAILS(tensorByteSize(VX_STRING, {}, size), VX_UNSUPPORTED, "element type 'string' has no size in bytes");
}

TEST(JsonWriter, quotesAndSeparates) {
  JsonWriter json;
  json.beginObject().member("a", "q\"\\\n\x01").key("b").beginArray().number(-1).null().boolean(true).endArray();
  json.member("c", 0.5).member("d", uint64_t(18446744073709551615u)).endObject();
  EXPECT_EQ(json.take(), "{\"a\":\"q\\\"\\\\\\n\\u0001\",\"b\":[-1,null,true],\"c\":0.5,\"d\":18446744073709551615}");
}

TEST(JsonWriter, replacesBytesThatAreNoUtf8) {
  JsonWriter json;
  json.string("ok\xc3\xa9 \xff\xc0\xaf\xe2\x82");
  EXPECT_EQ(json.take(), "\"ok\xc3\xa9 \\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(ThreadPool, runsEachIndexOnce) {
  for (uint32_t threads : {1u, 2u, 4u}) {
    std::unique_ptr<ThreadPool> pool;
    ASSERT_OK(ThreadPool::create(threads, pool));
    EXPECT_EQ(pool->threads(), threads);
    std::vector<std::atomic<int>> seen(1000);
    pool->run(
        seen.size(),
        [](void *context, size_t index) { ++(*static_cast<std::vector<std::atomic<int>> *>(context))[index]; }, &seen);
    for (const std::atomic<int> &count : seen)
      EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPool, servesSeveralThreadsAtOnce) {
  std::unique_ptr<ThreadPool> pool;
  ASSERT_OK(ThreadPool::create(2, pool));
  std::atomic<uint64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn)
        pool->run(
            100, [](void *context, size_t index) { *static_cast<std::atomic<uint64_t> *>(context) += index; }, &sum);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sum, 4u * 50u * 4950u);
}

// Four threads on one core: whoever asks does the work itself, sooner than the system has run the others in turn.
TEST(ThreadPool, waitsForNobodyWhoHasNoCore) {
  std::thread([] {
    cpu_set_t usable, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && !CPU_COUNT(&one); ++core)
      if (CPU_ISSET(core, &usable))
        CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    std::unique_ptr<ThreadPool> pool;
    ASSERT_OK(ThreadPool::create(4, pool));
    auto seconds = [] {
      timespec time;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double start = seconds();
    std::atomic<int> done = 0;
    for (int turn = 0; turn < 2000; ++turn)
      pool->run(8, [](void *context, size_t) { ++*static_cast<std::atomic<int> *>(context); }, &done);
    EXPECT_EQ(done, 16000);
    EXPECT_LT(seconds() - start, 1);
  }).join();
}

TEST(ThreadPool, refusesAnAbsurdNumber) {
  std::unique_ptr<ThreadPool> pool;
  EXPECT_FAILS(ThreadPool::create(100000, pool), VX_INVALID_ARGUMENT,
               "asked for 100000 threads, allowed are at most 1024");
}

} // namespace vx::test
