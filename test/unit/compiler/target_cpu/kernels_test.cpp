// Kernels written by hand in the memref form, compiled for every variant that this processor can run, and run.
#include "cpu_image.h"
#include "gtest/gtest.h"
#include <cmath>
#include <memory>

using namespace vx;
using namespace vx::test;

namespace {

template <typename T>
struct Buffer {
  explicit Buffer(size_t size, T value = T())
      : data(static_cast<T *>(std::aligned_alloc(64, (size * sizeof(T) + 127) / 64 * 64))) {
    std::fill_n(data, size, value);
  }
  ~Buffer() { std::free(data); }
  T &operator[](size_t i) { return data[i]; }
  T *data;
};

class Kernels : public testing::TestWithParam<std::string> {
protected:
  bool build(const std::string &text) { return image.build({text}, namedSpec(GetParam())); }
  Image image;
};

std::vector<std::string> runnableNames() {
  std::vector<std::string> names;
  for (const TargetSpec &spec : runnableSpecs())
    names.push_back(spec.variant);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Variants, Kernels, testing::ValuesIn(runnableNames()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Tiles of 1000 elements over a size that is known at the call only.
TEST_P(Kernels, addsVectorsOfAnySize) {
  ASSERT_TRUE(build(R"(
    func.func @add() attributes {vxk.kernel} {
      %n = vxk.scalar 0
      %a = vxk.buffer 0 read(%n) : memref<?xf32>
      %b = vxk.buffer 1 read(%n) : memref<?xf32>
      %o = vxk.buffer 2 write(%n) : memref<?xf32>
      %id = vxk.workgroup_id
      %count = vxk.workgroup_count
      %in = arith.cmpi ult, %id, %count : index
      scf.if %in {
        %tile = arith.constant 1000 : index
        %one = arith.constant 1 : index
        %begin = arith.muli %id, %tile : index
        %left = arith.subi %n, %begin : index
        %size = arith.minsi %left, %tile : index
        scf.for %i = %one to %size step %one {
          %j = arith.addi %begin, %i : index
          %x = memref.load %a[%j] : memref<?xf32>
          %y = memref.load %b[%j] : memref<?xf32>
          %z = arith.addf %x, %y : f32
          memref.store %z, %o[%j] : memref<?xf32>
        }
        %x = memref.load %a[%begin] : memref<?xf32>
        %y = memref.load %b[%begin] : memref<?xf32>
        %z = arith.addf %x, %y : f32
        memref.store %z, %o[%begin] : memref<?xf32>
      }
      return
    })"))
      << image.error;
  for (size_t n : {1, 7, 1000, 1001, 12345}) {
    Buffer<float> a(n), b(n), o(n + 1, -1);
    for (size_t i = 0; i < n; ++i) {
      a[i] = float(i) * 0.5f;
      b[i] = 100 - float(i);
    }
    Dispatch dispatch;
    dispatch.buffers = {a.data, b.data, o.data};
    dispatch.scalars = {int64_t(n)};
    dispatch.workgroups = (n + 999) / 1000;
    dispatch.run(image.find("add"));
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(o[i], a[i] + b[i]) << i << " of " << n;
    EXPECT_EQ(o[n], -1) << "wrote behind the end";
  }
}

// The grid is two-dimensional above 65535 workgroups, and padded.
TEST_P(Kernels, numbersWorkgroupsLinearly) {
  ASSERT_TRUE(build(R"(
    func.func @number() attributes {vxk.kernel} {
      %count = vxk.workgroup_count
      %o = vxk.buffer 0 write(%count) : memref<?xi64>
      %id = vxk.workgroup_id
      %thread = vxk.thread_id
      vxk.barrier
      %in = arith.cmpi ult, %id, %count : index
      scf.if %in {
        %value = arith.addi %id, %thread : index
        %v = arith.index_cast %value : index to i64
        memref.store %v, %o[%id] : memref<?xi64>
      }
      return
    })"))
      << image.error;
  size_t n = 140000;
  Buffer<int64_t> o(n + 1, -1);
  Dispatch dispatch;
  dispatch.buffers = {o.data};
  dispatch.workgroups = n;
  dispatch.run(image.find("number"));
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(o[i], int64_t(i));
  EXPECT_EQ(o[n], -1);
}

const char *gather = R"(
    func.func @gather() attributes {vxk.kernel} {
      %rows = vxk.scalar 0
      %n = vxk.scalar 1
      %table = vxk.buffer 0 read(%rows) : memref<?x4xf32>
      %indices = vxk.buffer 1 read(%n) : memref<?xi64>
      %o = vxk.buffer 2 write(%n) : memref<?x4xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0 : i64
      %upper = arith.index_cast %rows : index to i64
      %one = arith.constant 1 : i64
      %last = arith.subi %upper, %one : i64
      scf.for %i = %c0 to %n step %c1 {
        %index = memref.load %indices[%i] : memref<?xi64>
        %low = arith.cmpi slt, %index, %zero : i64
        %high = arith.cmpi sge, %index, %upper : i64
        %bad = arith.ori %low, %high : i1
        %at = arith.index_cast %i : index to i64
        vxk.report_fault %bad value %index range %zero, %upper at [%zero, %at] site 2
        %clamped0 = arith.maxsi %index, %zero : i64
        %clamped1 = arith.minsi %clamped0, %last : i64
        %row = arith.index_cast %clamped1 : i64 to index
        scf.for %j = %c0 to %c4 step %c1 {
          %x = memref.load %table[%row, %j] : memref<?x4xf32>
          memref.store %x, %o[%i, %j] : memref<?x4xf32>
        }
      }
      return
    })";

TEST_P(Kernels, gathersRowsAndReportsTheFirstBadIndex) {
  ASSERT_TRUE(build(gather)) << image.error;
  Buffer<float> table(5 * 4), o(3 * 4);
  Buffer<int64_t> indices(3);
  for (int i = 0; i < 20; ++i)
    table[i] = float(i);
  auto run = [&](std::initializer_list<int64_t> values) {
    std::copy(values.begin(), values.end(), indices.data);
    Dispatch dispatch;
    dispatch.buffers = {table.data, indices.data, o.data};
    dispatch.scalars = {5, 3};
    dispatch.faultSite = 40;
    dispatch.run(image.find("gather"));
    return dispatch.fault;
  };
  vx_fault_record fault = run({4, 0, 2});
  EXPECT_EQ(fault.count, 0u);
  EXPECT_EQ(fault.site, 0u);
  EXPECT_EQ(o[0], 16);
  EXPECT_EQ(o[4], 0);
  EXPECT_EQ(o[11], 11);

  fault = run({1, 7, -3});
  EXPECT_EQ(fault.count, 2u);
  EXPECT_EQ(fault.site, 42u);
  EXPECT_EQ(fault.value, 7);
  EXPECT_EQ(fault.lower, 0);
  EXPECT_EQ(fault.upper, 5);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.place[0], 0);
  EXPECT_EQ(fault.place[1], 1);
  EXPECT_EQ(o[4], 16) << "clamped to the last row";
  EXPECT_EQ(o[8], 0) << "clamped to the first row";
}

// A 8x48 tile as the matrix-product strategy would make it: far wider than a register.
TEST_P(Kernels, multipliesTilesOfWideVectors) {
  ASSERT_TRUE(build(R"(
    func.func @tile() attributes {vxk.kernel} {
      %k = vxk.scalar 0
      %a = vxk.buffer 0 read(%k) : memref<?x8xf32>
      %b = vxk.buffer 1 read(%k) : memref<?x48xf32>
      %c = vxk.buffer 2 write() : memref<8x48xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %pad = arith.constant 0.0 : f32
      %init = arith.constant dense<0.0> : vector<8x48xf32>
      %sum = scf.for %i = %c0 to %k step %c1 iter_args(%acc = %init) -> (vector<8x48xf32>) {
        %x = vector.transfer_read %a[%i, %c0], %pad {in_bounds = [true]} : memref<?x8xf32>, vector<8xf32>
        %y = vector.transfer_read %b[%i, %c0], %pad {in_bounds = [true]} : memref<?x48xf32>, vector<48xf32>
        %next = vector.outerproduct %x, %y, %acc {kind = #vector.kind<add>} : vector<8xf32>, vector<48xf32>
        scf.yield %next : vector<8x48xf32>
      }
      vector.transfer_write %sum, %c[%c0, %c0] {in_bounds = [true, true]} : vector<8x48xf32>, memref<8x48xf32>
      return
    })"))
      << image.error;
  int64_t k = 33;
  Buffer<float> a(k * 8), b(k * 48), c(8 * 48);
  for (int i = 0; i < k * 8; ++i)
    a[i] = float(i % 17) - 8;
  for (int i = 0; i < k * 48; ++i)
    b[i] = float(i % 23) - 11;
  Dispatch dispatch;
  dispatch.buffers = {a.data, b.data, c.data};
  dispatch.scalars = {k};
  dispatch.run(image.find("tile"));
  for (int m = 0; m < 8; ++m)
    for (int n = 0; n < 48; ++n) {
      float sum = 0;
      for (int i = 0; i < k; ++i)
        sum = std::fma(a[i * 8 + m], b[i * 48 + n], sum);
      ASSERT_EQ(c[m * 48 + n], sum) << m << ", " << n;
    }
}

// A masked tail, a transfer that is not in bounds, and a reduction over lanes.
TEST_P(Kernels, readsPastTheEndAsPadding) {
  ASSERT_TRUE(build(R"(
    func.func @sum() attributes {vxk.kernel} {
      %n = vxk.scalar 0
      %a = vxk.buffer 0 read(%n) : memref<?xf32>
      %o = vxk.buffer 1 write() : memref<1xf32>
      %c0 = arith.constant 0 : index
      %c24 = arith.constant 24 : index
      %pad = arith.constant 0.0 : f32
      %init = arith.constant dense<0.0> : vector<24xf32>
      %acc = scf.for %i = %c0 to %n step %c24 iter_args(%acc = %init) -> (vector<24xf32>) {
        %x = vector.transfer_read %a[%i], %pad : memref<?xf32>, vector<24xf32>
        %next = arith.addf %acc, %x : vector<24xf32>
        scf.yield %next : vector<24xf32>
      }
      %sum = vector.reduction <add>, %acc : vector<24xf32> into f32
      memref.store %sum, %o[%c0] : memref<1xf32>
      return
    })"))
      << image.error;
  for (int64_t n : {0, 1, 23, 24, 25, 100}) {
    Buffer<float> a(n + 32, 1e30f), o(1, -1);
    for (int i = 0; i < n; ++i)
      a[i] = float(i);
    Dispatch dispatch;
    dispatch.buffers = {a.data, o.data};
    dispatch.scalars = {n};
    dispatch.run(image.find("sum"));
    EXPECT_EQ(o[0], float(n * (n - 1) / 2)) << n;
  }
}

// A read buffer that nothing reads has no op left, but its word of the block stays.
TEST_P(Kernels, findsScalarsBehindUnusedBuffers) {
  ASSERT_TRUE(build(R"(
    func.func @last() attributes {vxk.kernel} {
      %n = vxk.scalar 1
      %o = vxk.buffer 2 write() : memref<1xi64>
      %c0 = arith.constant 0 : index
      %v = arith.index_cast %n : index to i64
      memref.store %v, %o[%c0] : memref<1xi64>
      return
    })"))
      << image.error;
  Buffer<int64_t> unused(1), o(1);
  Dispatch dispatch;
  dispatch.buffers = {unused.data, unused.data, o.data};
  dispatch.scalars = {11, 22};
  dispatch.run(image.find("last"));
  EXPECT_EQ(o[0], 22);
}

// Products and sums keep their own roundings: only `fma` joins them.
TEST_P(Kernels, neverContracts) {
  ASSERT_TRUE(build(R"(
    func.func @both() attributes {vxk.kernel} {
      %a = vxk.buffer 0 read() : memref<3xf32>
      %o = vxk.buffer 1 write() : memref<2xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %x = memref.load %a[%c0] : memref<3xf32>
      %y = memref.load %a[%c1] : memref<3xf32>
      %z = memref.load %a[%c2] : memref<3xf32>
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %z : f32
      %f = math.fma %x, %y, %z : f32
      memref.store %s, %o[%c0] : memref<2xf32>
      memref.store %f, %o[%c1] : memref<2xf32>
      return
    })"))
      << image.error;
  Buffer<float> a(3), o(2);
  a[0] = 1 + 0x1p-12f;
  a[1] = 1 + 0x1p-12f;
  a[2] = -1 - 0x1p-11f;
  Dispatch dispatch;
  dispatch.buffers = {a.data, o.data};
  dispatch.run(image.find("both"));
  EXPECT_EQ(o[0], 0);
  EXPECT_EQ(o[1], 0x1p-24f);
}

// Scratch memory of the dispatch, and stack buffers.
TEST_P(Kernels, usesWorkspaceAndStack) {
  ASSERT_TRUE(build(R"(
    func.func @scratch() attributes {vxk.kernel} {
      %o = vxk.buffer 0 write() : memref<8xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %space = vxk.workspace %c32 : memref<?xi8>
      %w = memref.view %space[%c0][] : memref<?xi8> to memref<8xf32>
      scf.for %i = %c0 to %c8 step %c1 {
        %local = memref.alloca() : memref<4xf32>
        %v = arith.index_cast %i : index to i32
        %x = arith.sitofp %v : i32 to f32
        memref.store %x, %local[%c1] : memref<4xf32>
        %y = memref.load %local[%c1] : memref<4xf32>
        memref.store %y, %w[%i] : memref<8xf32>
      }
      memref.copy %w, %o : memref<8xf32> to memref<8xf32>
      return
    })"))
      << image.error;
  Buffer<float> o(8), space(8);
  Dispatch dispatch;
  dispatch.buffers = {o.data};
  dispatch.workspace = space.data;
  dispatch.run(image.find("scratch"));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(o[i], float(i));
}

} // namespace
