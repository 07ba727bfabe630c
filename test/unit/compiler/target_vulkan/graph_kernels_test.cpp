// Kernels of vx ops through the whole GPU pipeline, against plain loops.
#include "kernel_runner.h"

#include <cmath>
#include <limits>

using namespace vx::test;

namespace {

using GraphKernel = KernelTest;

std::vector<float> ramp(size_t n, int seed) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 13) % 31 - 15) / 8.0f;
  return values;
}

void expectNear(const Bytes &got, const std::vector<float> &want, float tolerance) {
  std::vector<float> values = fromBytes<float>(got);
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(values[i], want[i], tolerance) << "element " << i;
}

std::string softmax(const std::string &schedule) {
  return R"(vx.kernel @softmax "k" symbols ["s0", "s1"] workgroups #vx.dim<s0> )" + schedule + R"( {
  ^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s1]>>, %b: tensor<?x?xf32, #vx.enc<[s0, s1]>>):
    %0 = vx.add %a, %b : tensor<?x?xf32, #vx.enc<[s0, s1]>>, tensor<?x?xf32, #vx.enc<[s0, s1]>>
    %1 = vx.softmax %0 axis = 1 {vx.anchor} : tensor<?x?xf32, #vx.enc<[s0, s1]>>
    vx.yield %1 : tensor<?x?xf32, #vx.enc<[s0, s1]>>
  })";
}

TEST_F(GraphKernel, softmaxOfAnySize) {
  // One thread, a workgroup or a subgroup for a row; shares of one element and of four; rows that fit and longer ones.
  std::pair<std::string, size_t> schedules[] = {
      {"#vx.loops<tile = [1, 0], threads = 64>", 1},
      {"#vx.thread_rows<tile = [64, 0], threads = 64>", 64},
      {"#vx.rows<tile = [1, 0], sharing = workgroup, runs = 1, lanes = 1, threads = 128>", 1},
      {"#vx.rows<tile = [1, 0], sharing = workgroup, runs = 2, lanes = 4, threads = 128>", 1},
      {"#vx.rows<tile = [4, 0], sharing = subgroup, runs = 2, lanes = 1, threads = 128>", 4},
      {"#vx.rows<tile = [4, 0], sharing = subgroup, runs = 1, lanes = 4, threads = 128>", 4}};
  for (auto &[schedule, rowsOfGroup] : schedules) {
    SCOPED_TRACE(schedule);
    Compiled kernel = compile(softmax(schedule), Form::Graph);
    for (auto [rows, columns] : {std::pair<size_t, size_t>(1, 1), {3, 5}, {70, 33}, {2, 300}, {0, 4}, {4, 0}}) {
      std::vector<float> a = ramp(rows * columns, 1), b = ramp(rows * columns, 2), want(rows * columns);
      for (size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (size_t c = 0; c < columns; ++c)
          sum += std::exp(double(a[r * columns + c]) + b[r * columns + c]);
        for (size_t c = 0; c < columns; ++c)
          want[r * columns + c] = float(std::exp(double(a[r * columns + c]) + b[r * columns + c]) / sum);
      }
      std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(want.size() * 4)};
      run(kernel, buffers, {int64_t(rows), int64_t(columns)}, (rows + rowsOfGroup - 1) / rowsOfGroup);
      expectNear(buffers[2], want, 1e-6f);
    }
  }
}

/// relu(lhs * rhs + bias), with m, k and n known or not.
std::string matmul(const std::string &schedule, bool isTransposed) {
  std::string rhs = isTransposed ? "tensor<?x?xf32, #vx.enc<[s2, s1]>>" : "tensor<?x?xf32, #vx.enc<[s1, s2]>>";
  std::string contracting = isTransposed ? "[1]" : "[0]";
  return R"(vx.kernel @matmul "k" symbols ["s0", "s1", "s2"] workgroups #vx.dim<s0> )" + schedule + R"( {
  ^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s1]>>, %b: )" +
         rhs + R"(, %c: tensor<?xf32, #vx.enc<[s2]>>):
    %0 = vx.contract %a, %b batch = [] x [] contracting = [1] x )" +
         contracting + " {vx.anchor} : tensor<?x?xf32, #vx.enc<[s0, s1]>>, " + rhs + R"(
    %1 = vx.broadcast %c, [1] : tensor<?xf32, #vx.enc<[s2]>> -> tensor<?x?xf32, #vx.enc<[s0, s2]>>
    %2 = vx.add %0, %1 : tensor<?x?xf32, #vx.enc<[s0, s2]>>, tensor<?x?xf32, #vx.enc<[s0, s2]>>
    vx.yield %2 : tensor<?x?xf32, #vx.enc<[s0, s2]>>
  })";
}

TEST_F(GraphKernel, matmulWithBias) {
  // Blocks of vectors and of single rows; one slice of the sum for all threads, and two.
  for (auto &[isTransposed, shares] :
       {std::pair<bool, std::string>(false, "block_rows = 2, block_columns = 4, step = 8, slices = 1"),
        {true, "block_rows = 2, block_columns = 4, step = 8, slices = 1"},
        {false, "block_rows = 4, block_columns = 4, step = 4, slices = 2"},
        {true, "block_rows = 1, block_columns = 8, step = 8, slices = 2"}}) {
    SCOPED_TRACE(shares);
    Compiled kernel = compile(matmul("#vx.tiled_product<tile = [16, 32], " + shares + ">", isTransposed), Form::Graph);
    for (auto [m, k, n] : {std::tuple<size_t, size_t, size_t>(1, 1, 1), {16, 8, 32}, {33, 19, 70}, {5, 0, 3}}) {
      std::vector<float> a = ramp(m * k, 1), b = ramp(k * n, 2), c = ramp(n, 3), want(m * n);
      for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < n; ++j) {
          want[i * n + j] = c[j];
          for (size_t l = 0; l < k; ++l)
            want[i * n + j] += a[i * k + l] * (isTransposed ? b[j * k + l] : b[l * n + j]);
        }
      std::vector<Bytes> buffers = {toBytes(a), toBytes(b), toBytes(c), Bytes(want.size() * 4)};
      run(kernel, buffers, {int64_t(m), int64_t(k), int64_t(n)}, (m + 15) / 16 * ((n + 31) / 32));
      expectNear(buffers[3], want, 1e-3f);
    }
  }
}

/// A padded 3x3 convolution with stride 2 and a maximum behind it.
std::string conv(const std::string &schedule) {
  return R"(vx.kernel @conv "k" symbols ["s0"] workgroups #vx.dim<s0> )" + schedule + R"( {
  ^bb0(%x: tensor<?x3x9x11xf32, #vx.enc<[s0, 3, 9, 11]>>, %w: tensor<5x3x3x3xf32>, %z: tensor<?x5x5x6xf32, #vx.enc<[s0, 5, 5, 6]>>):
    %0 = vx.conv %x, %w strides = [2, 2] dilations = [1, 1] pads = [1, 1] x [1, 1] groups = 1 {vx.anchor}
      : tensor<?x3x9x11xf32, #vx.enc<[s0, 3, 9, 11]>>, tensor<5x3x3x3xf32>
    %1 = vx.max %0, %z : tensor<?x5x5x6xf32, #vx.enc<[s0, 5, 5, 6]>>, tensor<?x5x5x6xf32, #vx.enc<[s0, 5, 5, 6]>>
    vx.yield %1 : tensor<?x5x5x6xf32, #vx.enc<[s0, 5, 5, 6]>>
  })";
}

TEST_F(GraphKernel, convolutionWithMaximum) {
  std::pair<std::string, size_t> schedules[] = {
      {"#vx.loops<tile = [1, 1, 0, 0], threads = 64>", 5},
      {"#vx.tiled_product<tile = [1, 4, 4, 8], block_rows = 1, block_columns = 4, step = 16, slices = 1>", 2 * 2}};
  for (auto &[schedule, perImage] : schedules) {
    Compiled kernel = compile(conv(schedule), Form::Graph);
    for (size_t images : {0, 1, 3}) {
      std::vector<float> x = ramp(images * 3 * 9 * 11, 1), w = ramp(5 * 3 * 3 * 3, 2), z(images * 5 * 5 * 6, 0.0f),
                         want(z.size());
      for (size_t at = 0; at < want.size(); ++at) {
        int column = int(at % 6), row = int(at / 6 % 5);
        size_t m = at / 30 % 5, image = at / 150;
        float sum = 0;
        for (size_t c = 0; c < 3; ++c)
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
              int y = row * 2 + i - 1, u = column * 2 + j - 1;
              if (y >= 0 && y < 9 && u >= 0 && u < 11)
                sum += x[((image * 3 + c) * 9 + size_t(y)) * 11 + size_t(u)] *
                       w[((m * 3 + c) * 3 + size_t(i)) * 3 + size_t(j)];
            }
        want[at] = std::max(sum, 0.0f);
      }
      std::vector<Bytes> buffers = {toBytes(x), toBytes(w), toBytes(z), Bytes(want.size() * 4)};
      run(kernel, buffers, {int64_t(images)}, images * perImage);
      expectNear(buffers[3], want, 1e-4f);
    }
  }
}

TEST_F(GraphKernel, sumOfRows) {
  std::pair<std::string, size_t> schedules[] = {
      {"#vx.loops<tile = [64], threads = 64>", 64},
      {"#vx.rows<tile = [1], sharing = workgroup, runs = 1, lanes = 1, threads = 128>", 1},
      {"#vx.rows<tile = [1], sharing = workgroup, runs = 1, lanes = 1, threads = 256>", 1},
      {"#vx.rows<tile = [4], sharing = subgroup, runs = 2, lanes = 1, threads = 128>", 4}};
  for (auto &[schedule, rowsOfGroup] : schedules) {
    SCOPED_TRACE(schedule);
    Compiled kernel = compile(R"(vx.kernel @sum "k" symbols ["s0"] workgroups #vx.dim<s0> )" + schedule + R"( {
  ^bb0(%x: tensor<?x37xf32, #vx.enc<[s0, 37]>>):
    %0 = vx.reduce sum %x axes = [1] {vx.anchor} : tensor<?x37xf32, #vx.enc<[s0, 37]>>
    vx.yield %0 : tensor<?xf32, #vx.enc<[s0]>>
  })",
                              Form::Graph);
    std::vector<float> x = ramp(101 * 37, 4), want(101, 0.0f);
    for (size_t i = 0; i < x.size(); ++i)
      want[i / 37] += x[i];
    std::vector<Bytes> buffers = {toBytes(x), Bytes(404)};
    run(kernel, buffers, {101}, (101 + rowsOfGroup - 1) / rowsOfGroup);
    expectNear(buffers[1], want, 1e-4f);
  }
}

// The greatest of each column, of any type that subgroups exchange in parts; NaN is greater than all.
TEST_F(GraphKernel, greatestOfColumns) {
  for (const std::string runs : {"1", "8"}) {
    SCOPED_TRACE(runs);
    Compiled kernel = compile(R"(vx.kernel @max "k" symbols ["s0", "s1"] workgroups #vx.dim<s0> )"
                              "#vx.rows<tile = [16], sharing = columns, runs = " +
                                  runs + R"(, lanes = 1, threads = 128> {
  ^bb0(%x: tensor<?x?xf32, #vx.enc<[s0, s1]>>):
    %0 = vx.reduce max %x axes = [0] {vx.anchor} : tensor<?x?xf32, #vx.enc<[s0, s1]>>
    vx.yield %0 : tensor<?xf32, #vx.enc<[s1]>>
  })",
                              Form::Graph);
    for (auto [rows, columns] : {std::pair<size_t, size_t>(1, 1), {5, 16}, {100, 37}, {0, 3}}) {
      std::vector<float> x = ramp(rows * columns, 4), want(columns, -std::numeric_limits<float>::infinity());
      for (size_t i = 0; i < x.size(); ++i)
        want[i % columns] = std::max(want[i % columns], x[i]);
      std::vector<Bytes> buffers = {toBytes(x), Bytes(columns * 4)};
      run(kernel, buffers, {int64_t(rows), int64_t(columns)}, (columns + 15) / 16);
      ASSERT_EQ(fromBytes<float>(buffers[1]), want) << rows << " x " << columns;
      if (x.empty())
        continue;
      x.back() = std::numeric_limits<float>::quiet_NaN();
      buffers[0] = toBytes(x);
      run(kernel, buffers, {int64_t(rows), int64_t(columns)}, (columns + 15) / 16);
      EXPECT_TRUE(std::isnan(fromBytes<float>(buffers[1]).back()));
    }
  }
}

TEST_F(GraphKernel, elementwiseOfAnySize) {
  Compiled kernel = compile(
      R"(vx.kernel @add "k" symbols ["s0", "s1"] workgroups #vx.dim<s0> #vx.elementwise<tile = [2, 64], lanes = 4, threads = 16> {
  ^bb0(%a: tensor<?x?xf32, #vx.enc<[s0, s1]>>, %b: tensor<?x?xf32, #vx.enc<[s0, s1]>>):
    %0 = vx.add %a, %b : tensor<?x?xf32, #vx.enc<[s0, s1]>>, tensor<?x?xf32, #vx.enc<[s0, s1]>>
    vx.yield %0 : tensor<?x?xf32, #vx.enc<[s0, s1]>>
  })",
      Form::Graph);
  for (auto [rows, columns] : {std::pair<size_t, size_t>(1, 1), {3, 64}, {5, 131}, {2, 4}, {0, 7}}) {
    std::vector<float> a = ramp(rows * columns, 1), b = ramp(rows * columns, 2), want(rows * columns);
    for (size_t i = 0; i < want.size(); ++i)
      want[i] = a[i] + b[i];
    std::vector<Bytes> buffers = {toBytes(a), toBytes(b), Bytes(want.size() * 4)};
    run(kernel, buffers, {int64_t(rows), int64_t(columns)}, (rows + 1) / 2 * ((columns + 63) / 64));
    expectNear(buffers[2], want, 0.0f);
  }
}

// Negative indices count from the end; one that is out of range is reported and nothing is read there.
TEST_F(GraphKernel, gatherReportsBadIndices) {
  Compiled kernel =
      compile(R"(vx.kernel @gather "k" symbols ["s0"] workgroups #vx.dim<s0> #vx.loops<tile = [64, 0], threads = 64> {
  ^bb0(%x: tensor<6x3xf32>, %i: tensor<?xi32, #vx.enc<[s0]>>):
    %0 = vx.gather %x, %i axis = 0 {vx.anchor} : tensor<6x3xf32>, tensor<?xi32, #vx.enc<[s0]>>
    vx.yield %0 : tensor<?x3xf32, #vx.enc<[s0, 3]>>
  })",
              Form::Graph);
  std::vector<float> x = ramp(18, 5), want;
  std::vector<int32_t> indices = {0, 5, -1, -6, 3};
  for (int32_t index : indices)
    for (size_t c = 0; c < 3; ++c)
      want.push_back(x[size_t(index < 0 ? index + 6 : index) * 3 + c]);
  std::vector<Bytes> buffers = {toBytes(x), toBytes(indices), Bytes(60)};
  run(kernel, buffers, {5}, 1);
  expectNear(buffers[2], want, 0.0f);
  EXPECT_EQ(fault.count, 0u);
  for (int32_t bad : {6, -7}) {
    indices[2] = bad;
    buffers[1] = toBytes(indices);
    run(kernel, buffers, {5}, 1);
    EXPECT_GT(fault.count, 0u);
    EXPECT_EQ(fault.value, bad);
    EXPECT_EQ(fault.site, 0u);
  }
}

TEST_F(GraphKernel, strategyThatDoesNotFit) {
  Compiled kernel = compile(
      matmul("#vx.tiled_product<tile = [2, 32], block_rows = 4, block_columns = 4, step = 8, slices = 1>", false),
      Form::Graph);
  EXPECT_NE(kernel.error.find("expects a strategy that fits its contraction: one block for each of 4 threads, got "
                              "a tile of 2 x 32"),
            std::string::npos)
      << kernel.error;
}

} // namespace
