// Hand-written kernels of memref, scf and arith ops: what the conversion to SPIR-V promises, on a device.
#include "kernel_runner.h"

#include <cmath>
#include <limits>
#include <random>

using namespace vx::test;

namespace {

using MemrefKernel = KernelTest;

/// One thread per element: `body` computes `%result` (f32) from `%x`, and `%y` when there are two operands.
std::string elementwise(const std::string &body, const std::string &type = "f32", const std::string &out = "") {
  std::string to = out.empty() ? type : out;
  return R"(func.func @kernel() attributes {vxk.kernel, vxk.threads = 64 : i64} {
    %c64 = arith.constant 64 : index
    %n = vxk.scalar 0
    %a = vxk.buffer 0 read (%n) : memref<?x)" +
         type + R"(>
    %b = vxk.buffer 1 read (%n) : memref<?x)" +
         type + R"(>
    %r = vxk.buffer 2 write (%n) : memref<?x)" +
         to + R"(>
    %id = vxk.workgroup_id
    %count = vxk.workgroup_count
    %in = arith.cmpi slt, %id, %count : index
    scf.if %in {
      %t = vxk.thread_id
      %base = arith.muli %id, %c64 : index
      %i = arith.addi %base, %t : index
      %ok = arith.cmpi slt, %i, %n : index
      scf.if %ok {
        %x = memref.load %a[%i] : memref<?x)" +
         type + R"(>
        %y = memref.load %b[%i] : memref<?x)" +
         type + ">\n" + body + R"(
        memref.store %result, %r[%i] : memref<?x)" +
         to + R"(>
      }
    }
    return
  })";
}

uint64_t groups(size_t n) { return (n + 63) / 64; }

std::vector<float> random(size_t n, uint32_t seed) {
  std::mt19937 bits(seed);
  std::vector<float> values(n);
  for (float &value : values)
    value = std::ldexp(static_cast<float>(bits() >> 8) - 8388608.0f, static_cast<int>(bits() % 41) - 44);
  return values;
}

TEST_F(MemrefKernel, anySize) {
  Compiled kernel = compile(elementwise("%result = arith.addf %x, %y : f32"), Form::Memref);
  for (size_t n : {size_t(0), size_t(1), size_t(63), size_t(64), size_t(65), size_t(1000)}) {
    std::vector<float> a = random(n, 1), b = random(n, 2);
    std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(n * 4)};
    run(kernel, buffers, {static_cast<int64_t>(n)}, groups(n));
    std::vector<float> result = fromBytes<float>(buffers[2]);
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(result[i], a[i] + b[i]) << "n " << n << ", element " << i;
  }
}

// A workgroup above the count, as the padded grid has them, does nothing: here all of them are.
TEST_F(MemrefKernel, theCountIsObeyed) {
  Compiled kernel = compile(elementwise("%result = arith.addf %x, %y : f32"), Form::Memref);
  std::vector<Bytes> buffers = {toBytes(random(64, 1)), toBytes(random(64, 2)), Bytes(256, 7)};
  run(kernel, buffers, {64}, 0);
  EXPECT_EQ(buffers[2], Bytes(256, 7));
}

const float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> special = {0.0f,     -0.0f,    1.0f,      -1.0f,    inf,      -inf, nan,   3.4e38f,
                                    -3.4e38f, 1.2e-38f, 0x1p-100f, 0x1p126f, 0x1p127f, 3.0f, 1e30f, 1e-30f};

void pairs(std::vector<float> &a, std::vector<float> &b) {
  for (float x : special)
    for (float y : special)
      a.push_back(x), b.push_back(y);
}

bool same(float got, float want) {
  if (std::isnan(want))
    return std::isnan(got);
  // A denormal may be flushed.
  if (std::fabs(want) < std::numeric_limits<float>::min())
    return std::fabs(got) <= std::numeric_limits<float>::min();
  return got == want && std::signbit(got) == std::signbit(want);
}

TEST_F(MemrefKernel, divisionIsCorrectlyRounded) {
  Compiled kernel = compile(elementwise("%result = arith.divf %x, %y : f32"), Form::Memref);
  std::vector<float> a = random(4096, 3), b = random(4096, 4);
  pairs(a, b);
  std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(a.size() * 4)};
  run(kernel, buffers, {static_cast<int64_t>(a.size())}, groups(a.size()));
  std::vector<float> result = fromBytes<float>(buffers[2]);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same(result[i], a[i] / b[i])) << a[i] << " / " << b[i] << " gave " << result[i];
}

TEST_F(MemrefKernel, squareRootIsCorrectlyRounded) {
  Compiled kernel = compile(elementwise("%result = math.sqrt %x : f32"), Form::Memref);
  std::vector<float> a = random(4096, 5);
  a.insert(a.end(), special.begin(), special.end());
  std::vector<Bytes> buffers = {toBytes(a), toBytes(a), Bytes(a.size() * 4)};
  run(kernel, buffers, {static_cast<int64_t>(a.size())}, groups(a.size()));
  std::vector<float> result = fromBytes<float>(buffers[2]);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same(result[i], std::sqrt(a[i]))) << "sqrt " << a[i] << " gave " << result[i];
}

// NaN goes through maximum and is seen by comparisons; a product is not contracted into the sum behind it.
TEST_F(MemrefKernel, nanAndContraction) {
  Compiled kernel = compile(elementwise(R"(
        %max = arith.maximumf %x, %y : f32
        %p = arith.mulf %x, %x : f32
        %q = arith.mulf %y, %y : f32
        %s = arith.subf %p, %q : f32
        %nan = arith.cmpf uno, %x, %y : f32
        %result = arith.select %nan, %max, %s : f32)"),
                            Form::Memref);
  std::vector<float> a = random(2048, 6), b = random(2048, 7);
  pairs(a, b);
  std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(a.size() * 4)};
  run(kernel, buffers, {static_cast<int64_t>(a.size())}, groups(a.size()));
  std::vector<float> result = fromBytes<float>(buffers[2]);
  for (size_t i = 0; i < a.size(); ++i) {
    volatile float p = a[i] * a[i], q = b[i] * b[i];
    float want = std::isnan(a[i]) || std::isnan(b[i]) ? nan : p - q;
    EXPECT_TRUE(same(result[i], want)) << a[i] << ", " << b[i] << " gave " << result[i];
  }
}

template <typename T>
std::vector<T> integers(size_t n, uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(n);
  for (T &value : values)
    value = static_cast<T>(bits());
  return values;
}

template <typename T>
void checkIntegers(Compiled kernel, std::function<void(Compiled, std::vector<Bytes> &)> go) {
  std::vector<T> a = integers<T>(500, 1), b = integers<T>(500, 2);
  for (T &value : b)
    value = value == 0 || value == T(-1) ? T(3) : value;
  std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(500 * sizeof(T))};
  go(kernel, buffers);
  std::vector<T> result = fromBytes<T>(buffers[2]);
  for (size_t i = 0; i < a.size(); ++i) {
    using U = std::make_unsigned_t<T>;
    T want = static_cast<T>(static_cast<U>(static_cast<U>(a[i] / b[i]) * U(7)) + static_cast<U>(a[i] % b[i]));
    EXPECT_EQ(result[i], want) << +a[i] << ", " << +b[i];
  }
}

TEST_F(MemrefKernel, roundingFunctions) {
  float (*functions[])(float) = {std::floor, std::ceil, std::nearbyint, std::trunc, std::fabs};
  const char *names[] = {"floor", "ceil", "roundeven", "trunc", "absf"};
  std::vector<float> a = {0.5f,  1.5f,  2.5f, -0.5f, -1.5f, -2.5f,       0.0f,
                          -0.0f, 1e30f, -inf, inf,   nan,   0.49999997f, -7.3f};
  for (size_t k = 0; k < 5; ++k) {
    Compiled kernel = compile(elementwise(std::string("%result = math.") + names[k] + " %x : f32"), Form::Memref);
    std::vector<Bytes> buffers = {toBytes(a), toBytes(a), Bytes(a.size() * 4)};
    run(kernel, buffers, {static_cast<int64_t>(a.size())}, 1);
    std::vector<float> result = fromBytes<float>(buffers[2]);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(same(result[i], functions[k](a[i]))) << names[k] << " " << a[i] << " gave " << result[i];
  }
  Compiled kernel =
      compile(elementwise("%f = math.fma %x, %y, %x : f32\n%result = math.copysign %f, %y : f32"), Form::Memref);
  EXPECT_EQ(kernel.error, "");
}

// A variant asks for what its kernels use.
TEST(VulkanLink, offsetsAndFeatures) {
  std::unique_ptr<vx::TargetBackend> backend = vx::createVulkanBackend();
  std::string error;
  vx::TargetSpec spec = backend->variants({}, error)->front();
  EXPECT_TRUE(mlir::failed(backend->variants({"turbo"}, error)));
  EXPECT_EQ(error, "unknown variant 'turbo' of target 'vulkan', known are: integer-dot, baseline");
  Compiled f32 = compile(elementwise("%result = arith.addf %x, %y : f32"), Form::Memref);
  Compiled f64 = compile(elementwise("%result = arith.addf %x, %y : f64", "f64"), Form::Memref);
  auto image = backend->link({f32.binary, f64.binary}, spec, error);
  ASSERT_TRUE(mlir::succeeded(image));
  EXPECT_EQ(image->offsets, (std::vector<uint64_t>{0, f32.binary.code.size(), image->bytes.size()}));
  EXPECT_EQ(image->requires_, (std::vector<std::string>{"float64", "nan_preserve_32", "nan_preserve_64"}));
  EXPECT_TRUE(mlir::failed(backend->link({{"k", {1, 2, 3}, "", ""}}, spec, error)));
  EXPECT_EQ(error, "kernel 'k' expects SPIR-V of whole words, got 3 bytes");
}

TEST_F(MemrefKernel, integersOfAllWidths) {
  auto kernel = [](const std::string &type) {
    return compile(elementwise("%c7 = arith.constant 7 : " + type + "\n%q = arith.divsi %x, %y : " + type +
                                   "\n%m = arith.muli %q, %c7 : " + type + "\n%s = arith.remsi %x, %y : " + type +
                                   "\n%result = arith.addi %m, %s : " + type,
                               type),
                   Form::Memref);
  };
  auto go = [&](const Compiled &compiled, std::vector<Bytes> &buffers) { run(compiled, buffers, {500}, groups(500)); };
  checkIntegers<int8_t>(kernel("i8"), go);
  checkIntegers<int16_t>(kernel("i16"), go);
  checkIntegers<int32_t>(kernel("i32"), go);
  checkIntegers<int64_t>(kernel("i64"), go);
}

TEST_F(MemrefKernel, doublesAndBools) {
  Compiled kernel = compile(elementwise("%q = arith.divf %x, %y : f64\n%b1 = arith.cmpf ogt, %q, %y : f64\n"
                                        "%result = arith.extui %b1 : i1 to i8",
                                        "f64", "i8"),
                            Form::Memref);
  std::vector<double> a(300), b(300);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::sin(static_cast<double>(i)) * 4, b[i] = std::cos(static_cast<double>(i) * 3) + 0.001;
  std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(300)};
  run(kernel, buffers, {300}, groups(300));
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(buffers[2][i], a[i] / b[i] > b[i] ? 1 : 0) << i;
  EXPECT_EQ(vx::getVulkanFeatures(kernel.binary.code),
            (std::vector<std::string>{"bda", "int64", "int8", "float64", "storage8", "nan_preserve_64"}));
}

// The fault record keeps one of the bad values and its site, and counts them all.
TEST_F(MemrefKernel, faultsAreReported) {
  Compiled kernel = compile(elementwise(R"(
        %zero = arith.constant 0 : i64
        %limit = arith.constant 10 : i64
        %bad = arith.cmpi uge, %x, %limit : i64
        vxk.report_fault %bad value %x range %zero, %limit at [%limit, %x] site 5
        %result = arith.addi %x, %y : i64)",
                                        "i64"),
                            Form::Memref);
  std::vector<int64_t> a(200, 3), b(200, 4);
  std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(1600)};
  run(kernel, buffers, {200}, groups(200));
  EXPECT_EQ(fault.count, 0u);
  a[70] = -2, a[199] = -2, a[0] = -2;
  buffers[0] = toBytes(a);
  run(kernel, buffers, {200}, groups(200));
  EXPECT_EQ(fault.count, 3u);
  EXPECT_EQ(fault.site, 5u);
  EXPECT_EQ(fault.value, -2);
  EXPECT_EQ(fault.lower, 0);
  EXPECT_EQ(fault.upper, 10);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.place[0], 10);
  EXPECT_EQ(fault.place[1], -2);
}

// Signed comparisons of 64-bit values, wide from the start or widened, against zero and against each other.
TEST_F(MemrefKernel, comparesNegativeIndices) {
  auto body = [&](const std::string &prologue, const std::string &x, const std::string &y, const std::string &type) {
    std::string text = prologue + "%zero = arith.constant 0 : " + type + "\n%sum0 = arith.constant 0 : i8\n";
    int k = 0;
    for (const char *predicate : {"slt", "sle", "sgt", "sge"})
      for (const std::string &right : {std::string("%zero"), y}) {
        std::string n = std::to_string(k), next = std::to_string(k + 1);
        text += "%c" + n + " = arith.cmpi " + predicate + ", " + x + ", " + right + " : " + type + "\n%e" + n +
                " = arith.extui %c" + n + " : i1 to i8\n%w" + n + " = arith.constant " +
                std::to_string(k == 7 ? -128 : 1 << k) + " : i8\n%m" + n + " = arith.muli %e" + n + ", %w" + n +
                " : i8\n%sum" + next + " = arith.addi %sum" + n + ", %m" + n + " : i8\n";
        ++k;
      }
    return text + "%result = arith.addi %sum8, %sum0 : i8\n";
  };
  auto check = [&](const Compiled &kernel, auto zero) {
    using T = decltype(zero);
    std::vector<T> values = {0, 1, -1, 5, -5, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}, a, b;
    for (T x : values)
      for (T y : values)
        a.push_back(x), b.push_back(y);
    std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(a.size())};
    run(kernel, buffers, {static_cast<int64_t>(a.size())}, groups(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      bool wants[] = {a[i] < 0, a[i] < b[i], a[i] <= 0, a[i] <= b[i], a[i] > 0, a[i] > b[i], a[i] >= 0, a[i] >= b[i]};
      int want = 0;
      for (int k = 0; k < 8; ++k)
        want |= wants[k] << k;
      EXPECT_EQ(buffers[2][i], want) << a[i] << ", " << b[i];
    }
  };
  check(compile(elementwise(body("", "%x", "%y", "i64"), "i64", "i8"), Form::Memref), int64_t(0));
  check(compile(elementwise(body("", "%x", "%y", "i32"), "i32", "i8"), Form::Memref), int32_t(0));
  std::string widen = "%xw = arith.extsi %x : i32 to i64\n%yw = arith.extsi %y : i32 to i64\n";
  check(compile(elementwise(body(widen, "%xw", "%yw", "i64"), "i32", "i8"), Form::Memref), int32_t(0));
  widen = "%xw = arith.index_cast %x : i32 to index\n%yw = arith.index_cast %y : i32 to index\n";
  check(compile(elementwise(body(widen, "%xw", "%yw", "index"), "i32", "i8"), Form::Memref), int32_t(0));
}

TEST_F(MemrefKernel, sameCodeEachTime) {
  std::string text = elementwise("%result = arith.divf %x, %y : f32");
  Compiled first = compile(text, Form::Memref), second = compile(text, Form::Memref);
  EXPECT_EQ(first.binary.code, second.binary.code);
}

// Threads hand values to each other through workgroup memory: each workgroup reverses its 64 elements.
TEST_F(MemrefKernel, workgroupMemory) {
  Compiled kernel = compile(R"(func.func @reverse() attributes {vxk.kernel, vxk.threads = 64 : i64} {
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %n = vxk.scalar 0
    %a = vxk.buffer 0 read (%n) : memref<?xf32>
    %r = vxk.buffer 1 write (%n) : memref<?xf32>
    %shared = memref.alloc() : memref<8x8xf32, #gpu.address_space<workgroup>>
    %flat = memref.collapse_shape %shared [[0, 1]] : memref<8x8xf32, #gpu.address_space<workgroup>> into memref<64xf32, #gpu.address_space<workgroup>>
    %id = vxk.workgroup_id
    %count = vxk.workgroup_count
    %in = arith.cmpi slt, %id, %count : index
    scf.if %in {
      %t = vxk.thread_id
      %base = arith.muli %id, %c64 : index
      %i = arith.addi %base, %t : index
      %x = memref.load %a[%i] : memref<?xf32>
      memref.store %x, %flat[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      vxk.barrier
      %other = arith.subi %c63, %t : index
      %y = memref.load %flat[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %y, %r[%i] : memref<?xf32>
    }
    return
  })",
                            Form::Memref);
  std::vector<float> a = random(64 * 9, 8);
  std::vector<Bytes> buffers = {toBytes(a), Bytes(a.size() * 4)};
  run(kernel, buffers, {static_cast<int64_t>(a.size())}, 9);
  std::vector<float> result = fromBytes<float>(buffers[1]);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(result[i], a[i / 64 * 64 + 63 - i % 64]) << i;
}

} // namespace
