// The functions that stand in for a C library, on each variant that calls them.
#include "cpu_image.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace vx;
using namespace vx::test;

namespace {

/// `o[i] = body(x, y, z)` over arrays; `body` defines %r.
template <typename To, typename From>
std::vector<To> apply(const TargetSpec &spec, const std::string &from, const std::string &to, const std::string &body,
                      const std::vector<From> &x, const std::vector<From> &y = {}, const std::vector<From> &z = {}) {
  std::string in = "memref<?x" + from + ">", out = "memref<?x" + to + ">";
  std::string text =
      "func.func @apply() attributes {vxk.kernel} {\n  %n = vxk.scalar 0\n  %a = vxk.buffer 0 read(%n) : " + in +
      "\n  %b = vxk.buffer 1 read(%n) : " + in + "\n  %c = vxk.buffer 2 read(%n) : " + in +
      "\n  %o = vxk.buffer 3 write(%n) : " + out +
      "\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
      "  scf.for %i = %c0 to %n step %c1 {\n    %x = memref.load %a[%i] : " +
      in + "\n    %y = memref.load %b[%i] : " + in + "\n    %z = memref.load %c[%i] : " + in + "\n    " + body +
      "\n    memref.store %r, %o[%i] : " + out + "\n  }\n  return\n}\n";
  Image image;
  EXPECT_TRUE(image.build({text}, spec)) << spec.variant << ": " << image.error;
  std::vector<To> result(x.size());
  if (!image.error.empty())
    return result;
  // Buffers are aligned to 64 bytes.
  auto aligned = [](const void *data, size_t size) {
    void *copy = std::aligned_alloc(64, (size + 127) / 64 * 64);
    if (data)
      std::memcpy(copy, data, size);
    return copy;
  };
  size_t size = x.size() * sizeof(From);
  Dispatch dispatch;
  dispatch.buffers = {aligned(x.data(), size), aligned(y.empty() ? x.data() : y.data(), size),
                      aligned(z.empty() ? x.data() : z.data(), size), aligned(nullptr, x.size() * sizeof(To))};
  dispatch.scalars = {int64_t(x.size())};
  dispatch.run(image.find("apply"));
  std::memcpy(result.data(), dispatch.buffers[3], x.size() * sizeof(To));
  for (void *buffer : dispatch.buffers)
    std::free(buffer);
  return result;
}

template <typename T>
void expectSame(const std::vector<T> &got, const std::vector<T> &want, const std::string &what) {
  for (size_t i = 0; i < got.size(); ++i)
    if (!std::isnan(double(got[i])) || !std::isnan(double(want[i])))
      ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(T)), 0) << what << " " << i << ": " << got[i] << " " << want[i];
}

template <typename T>
std::vector<T> anyNumbers(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result = {0,
                           -T(0),
                           1,
                           -1,
                           T(0.5),
                           T(1.5),
                           T(2.5),
                           T(-2.5),
                           T(8388608.5),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::max()};
  while (result.size() < count) {
    uint64_t bits = random();
    if (result.size() % 2)
      result.push_back(sizeof(T) == 4 ? T(std::bit_cast<float>(uint32_t(bits))) : T(std::bit_cast<double>(bits)));
    else
      result.push_back(T(double(int64_t(bits)) / 0x1p50));
  }
  return result;
}

TEST(Support, roundsAndDividesLikeTheCLibrary) {
  auto x = anyNumbers<float>(20000, 1);
  auto y = anyNumbers<float>(20000, 2);
  std::rotate(y.begin(), y.begin() + 5, y.end());
  auto xd = anyNumbers<double>(4000, 3);
  auto yd = anyNumbers<double>(4000, 4);
  std::rotate(yd.begin(), yd.begin() + 5, yd.end());
  auto map = [](auto function, auto a) {
    for (auto &value : a)
      value = function(value);
    return a;
  };
  for (const TargetSpec &spec : runnableSpecs()) {
    auto check = [&](const char *op, auto function) {
      std::string text = std::string("%r = math.") + op + " %x : ";
      expectSame(apply<float>(spec, "f32", "f32", text + "f32", x), map(function, x), op);
      expectSame(apply<double>(spec, "f64", "f64", text + "f64", xd), map(function, xd), op);
    };
    check("floor", [](auto v) { return std::floor(v); });
    check("ceil", [](auto v) { return std::ceil(v); });
    check("trunc", [](auto v) { return std::trunc(v); });
    check("roundeven", [](auto v) { return std::nearbyint(v); });
    std::vector<float> remainders(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      remainders[i] = std::fmod(x[i], y[i]);
    expectSame(apply<float>(spec, "f32", "f32", "%r = arith.remf %x, %y : f32", x, y), remainders, "fmodf");
    std::vector<double> remaindersd(xd.size());
    for (size_t i = 0; i < xd.size(); ++i)
      remaindersd[i] = std::fmod(xd[i], yd[i]);
    expectSame(apply<double>(spec, "f64", "f64", "%r = arith.remf %x, %y : f64", xd, yd), remaindersd, "fmod");
  }
}

TEST(Support, multipliesAndAddsWithOneRounding) {
  auto x = anyNumbers<float>(20000, 1), y = anyNumbers<float>(20000, 2), z = anyNumbers<float>(20000, 5);
  std::rotate(y.begin(), y.begin() + 5, y.end());
  for (size_t i = 0; i < x.size(); i += 3) // cancellation
    z[i] = -x[i] * y[i];
  std::vector<float> want(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    want[i] = std::fma(x[i], y[i], z[i]);
  std::mt19937_64 random(9);
  std::vector<double> xd, yd, zd, wantd;
  for (int i = 0; i < 20000; ++i) {
    auto next = [&] { return std::ldexp(double(int64_t(random())), int(random() % 100) - 50); };
    xd.push_back(next());
    yd.push_back(next());
    zd.push_back(i % 2 ? next() : -xd.back() * yd.back());
    wantd.push_back(std::fma(xd.back(), yd.back(), zd.back()));
  }
  for (const TargetSpec &spec : runnableSpecs()) {
    expectSame(apply<float>(spec, "f32", "f32", "%r = math.fma %x, %y, %z : f32", x, y, z), want, "fmaf");
    expectSame(apply<double>(spec, "f64", "f64", "%r = math.fma %x, %y, %z : f64", xd, yd, zd), wantd, "fma");
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(Support, convertsHalves) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = uint16_t(i);
  std::vector<float> wide(halves.size());
  for (size_t i = 0; i < halves.size(); ++i)
    wide[i] = float(std::bit_cast<_Float16>(halves[i]));
  auto x = anyNumbers<float>(20000, 1);
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) // the range of f16, subnormals included, and ties
    x.push_back(std::ldexp(float(int(random() % 8192) - 4096), int(random() % 44) - 34));
  std::vector<uint16_t> narrow(x.size());
  std::vector<double> xd(x.begin(), x.end());
  for (size_t i = 0; i < x.size(); ++i) {
    narrow[i] = std::bit_cast<uint16_t>(_Float16(x[i]));
    if (std::isnan(x[i]))
      narrow[i] = 0;
  }
  auto clearNaN = [&](std::vector<uint16_t> values) {
    for (size_t i = 0; i < values.size(); ++i)
      if (std::isnan(x[i]))
        values[i] = 0;
    return values;
  };
  for (const TargetSpec &spec : runnableSpecs()) {
    expectSame(apply<float>(spec, "f16", "f32", "%r = arith.extf %x : f16 to f32", halves), wide, "f16 to f32");
    expectSame(clearNaN(apply<uint16_t>(spec, "f32", "f16", "%r = arith.truncf %x : f32 to f16", x)), narrow,
               "f32 to f16");
    expectSame(clearNaN(apply<uint16_t>(spec, "f64", "f16", "%r = arith.truncf %x : f64 to f16", xd)), narrow,
               "f64 to f16");
  }
}
#endif

TEST(Support, convertsBrainFloats) {
  auto x = anyNumbers<float>(50000, 8);
  std::vector<double> xd(x.begin(), x.end());
  std::vector<uint16_t> want(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(x[i]);
    want[i] = std::isnan(x[i]) ? 0 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  auto clearNaN = [&](std::vector<uint16_t> values) {
    for (size_t i = 0; i < values.size(); ++i)
      if (std::isnan(x[i])) {
        EXPECT_GT(values[i] & 0x7fff, 0x7f80) << "NaN became a number";
        values[i] = 0;
      }
    return values;
  };
  for (const TargetSpec &spec : runnableSpecs()) {
    expectSame(clearNaN(apply<uint16_t>(spec, "f32", "bf16", "%r = arith.truncf %x : f32 to bf16", x)), want,
               "f32 to bf16");
    expectSame(clearNaN(apply<uint16_t>(spec, "f64", "bf16", "%r = arith.truncf %x : f64 to bf16", xd)), want,
               "f64 to bf16");
  }
}

// Copies of sizes that the compiler does not know may become calls.
TEST(Support, movesMemory) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  for (const TargetSpec &spec : runnableSpecs()) {
    Image image;
    ASSERT_TRUE(image.build({R"(
      func.func @copy() attributes {vxk.kernel} {
        %n = vxk.scalar 0
        %a = vxk.buffer 0 read(%n) : memref<?xf32>
        %o = vxk.buffer 1 write(%n) : memref<?xf32>
        memref.copy %a, %o : memref<?xf32> to memref<?xf32>
        return
      })"},
                            spec))
        << image.error;
    alignas(64) float in[1000], out[1001] = {};
    std::copy(x.begin(), x.end(), in);
    Dispatch dispatch;
    dispatch.buffers = {in, out};
    dispatch.scalars = {1000};
    dispatch.run(image.find("copy"));
    EXPECT_EQ(std::memcmp(in, out, sizeof(in)), 0);
    EXPECT_EQ(out[1000], 0);
  }
}

} // namespace
