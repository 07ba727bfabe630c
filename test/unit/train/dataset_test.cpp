// Data sets: files, arrays, functions; splits; and every message.
#include "errors.h"
#include "training_module.h"
#include "vx/train/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

using namespace vx::test;
using namespace vx::train;

namespace {

std::string file(const std::string &name, const std::vector<uint8_t> &bytes) {
  const std::string path = scratchPath(name);
  writeFile(path, bytes);
  return path;
}

std::string npyError(const std::vector<uint8_t> &bytes) {
  const std::string path = file("bad.npy", bytes);
  const std::string text = errorOf([&] { Dataset::npy({{"x", path}}); });
  const std::string begin = "data: " + path + ": ";
  EXPECT_TRUE(text.starts_with(begin)) << text;
  return text.substr(std::min(begin.size(), text.size()));
}

std::string headerOf(const std::string &type, const std::string &shape, bool isFortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (isFortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

// Rows of the only column of i32.
std::vector<int32_t> rowsOf(const Dataset &set, const std::vector<int64_t> &rows) {
  std::vector<int32_t> result(rows.size());
  std::byte *places[] = {reinterpret_cast<std::byte *>(result.data())};
  set.read(rows, places);
  return result;
}

std::vector<int32_t> allRows(const Dataset &set) {
  std::vector<int64_t> rows(static_cast<size_t>(set.rows()));
  std::iota(rows.begin(), rows.end(), int64_t(0));
  return rowsOf(set, rows);
}

Dataset counted(int32_t count) {
  auto numbers = std::make_shared<std::vector<int32_t>>(count);
  std::iota(numbers->begin(), numbers->end(), 100);
  return Dataset::callback({{"x", VX_I32, {}}}, count, [numbers](int64_t row, std::span<std::byte *const> places) {
    std::memcpy(places[0], &(*numbers)[static_cast<size_t>(row)], sizeof(int32_t));
  });
}

} // namespace

TEST(Dataset, filesOfEachVersion) {
  const std::vector<uint8_t> data{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
  for (int major : {1, 2, 3}) {
    const Dataset set = Dataset::npy({{"x", file("v.npy", npyBytes(headerOf("<i4", "(3,)"), data, major))}});
    EXPECT_EQ(set.rows(), 3);
    EXPECT_EQ(rowsOf(set, {2, 0, 2}), (std::vector<int32_t>{3, 1, 3}));
  }
}

TEST(Dataset, columnsOfFiles) {
  const float x[] = {1, 2, 3, 4, 5, 6};
  const int64_t label[] = {7, 8};
  writeNpy(scratchPath("x.npy"), "<f4", {2, 3, 1}, x, sizeof(x));
  writeNpy(scratchPath("label.npy"), "<i8", {2}, label, sizeof(label));
  const Dataset set = Dataset::npy({{"image", scratchPath("x.npy")}, {"label", scratchPath("label.npy")}});
  ASSERT_EQ(set.columns().size(), 2u);
  EXPECT_EQ(set.columns()[0].type, VX_F32);
  EXPECT_EQ(set.columns()[0].dims, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(set.columns()[1].type, VX_I64);
  EXPECT_TRUE(set.columns()[1].dims.empty());
  EXPECT_EQ(set.find("label"), 1);
  EXPECT_EQ(set.find("mask"), -1);
  float first[3] = {};
  int64_t last = 0;
  const int64_t row[] = {1};
  std::byte *both[] = {reinterpret_cast<std::byte *>(first), reinterpret_cast<std::byte *>(&last)};
  set.read(row, both);
  EXPECT_EQ(first[0], 4);
  EXPECT_EQ(first[2], 6);
  EXPECT_EQ(last, 8);
  std::byte *one[] = {nullptr, reinterpret_cast<std::byte *>(&last)};
  const int64_t other[] = {0};
  set.read(other, one);
  EXPECT_EQ(last, 7);
}

TEST(Dataset, badFiles) {
  const std::vector<uint8_t> four(4);
  EXPECT_EQ(errorOf([] { Dataset::npy({{"x", "none.npy"}}); }),
            "data: none.npy: cannot be opened: No such file or directory");
  EXPECT_EQ(errorOf([] { Dataset::npy({{"x", "/tmp"}}); }), "data: /tmp: it is a folder, expected a regular file");
  EXPECT_EQ(errorOf([] { Dataset::npy({}); }), "argument: data: expected one file or more, got none");
  EXPECT_EQ(npyError({}), "not an .npy file");
  EXPECT_EQ(npyError({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 9, 0}), "truncated .npy header: expected 9 bytes, got 0");
  EXPECT_EQ(npyError(npyBytes(headerOf("<i4", "(2,)"), four)), "truncated: i32[2] needs 8 bytes of data, got 4");
  EXPECT_EQ(npyError(npyBytes(headerOf("<i2", "(1,)"), four)), "too long: i16[1] needs 2 bytes of data, got 4");
  EXPECT_EQ(npyError(npyBytes(headerOf("<i4", "()"), four)),
            "expected rows, the first dimension of an array, got the single number i32[]");
  EXPECT_EQ(npyError(npyBytes(headerOf("<c8", "(0,)"), {})), ".npy element type 'c8' is not supported");
  EXPECT_EQ(npyError(npyBytes(headerOf("|O", "(1,)"), {})), ".npy element type '|O' is not supported");
  EXPECT_EQ(npyError(npyBytes(headerOf("|V2", "(2,)"), four)), ".npy element type 'V2' is not supported");
  EXPECT_EQ(npyError(npyBytes(headerOf(">i4", "(1,)"), four)),
            "the elements are stored big end first, expected little-endian: save a.astype(a.dtype.newbyteorder('<'))");
  EXPECT_EQ(npyError(npyBytes(headerOf("<i2", "(1, 2)", true), four)),
            "the array is stored column by column (fortran_order), expected rows: save numpy.ascontiguousarray(a)");
  EXPECT_EQ(npyError(npyBytes(headerOf("<f4", "(4611686018427387904, 4611686018427387904)"), {})),
            "f32[4611686018427387904,4611686018427387904] is too large");
  const std::string a = file("a.npy", npyBytes(headerOf("<i2", "(2,)"), four)),
                    b = file("b.npy", npyBytes(headerOf("<i4", "(1,)"), four));
  EXPECT_EQ(errorOf([&] { Dataset::npy({{"x", a}, {"y", b}}); }), "data: " + b + ": has 1 rows, '" + a + "' has 2");
  EXPECT_EQ(errorOf([&] { Dataset::npy({{"x", a}, {"x", b}}); }),
            "argument: data: 'x' is given twice, '" + a + "' and '" + b + "'");
}

TEST(Dataset, arraysAndTheirMessages) {
  const std::vector<int32_t> numbers{5, 6, 7};
  const Dataset set = Dataset::arrays({array<int32_t>("x", {3}, numbers)});
  EXPECT_EQ(allRows(set), numbers);
  EXPECT_EQ(errorOf([&] { array<int32_t>("x", {2, 2}, numbers); }),
            "argument: array 'x': the dims need 4 elements, got 3");
  EXPECT_EQ(errorOf([] { Dataset::arrays({}); }), "argument: data: expected one array or more, got none");
  EXPECT_EQ(errorOf([&] { Dataset::arrays({{"x", VX_I32, {}, numbers.data()}}); }),
            "argument: data: array 'x': expected rows, the first dimension, got no dimensions");
  EXPECT_EQ(errorOf([] { Dataset::arrays({{"x", VX_I32, {-3}, nullptr}}); }),
            "argument: data: array 'x': i32[-3] is negative, too large, or no whole number of bytes");
  EXPECT_EQ(errorOf([] { Dataset::arrays({{"x", VX_I32, {3}, nullptr}}); }),
            "argument: data: array 'x': expected 12 bytes, got a null pointer");
  EXPECT_EQ(errorOf([&] { Dataset::arrays({{"x", VX_I32, {3}, numbers.data()}, {"y", VX_I32, {2}, numbers.data()}}); }),
            "argument: data: array 'y' has 2 rows, 'x' has 3");
  EXPECT_EQ(errorOf([&] { Dataset::arrays({{"x", VX_I32, {3}, numbers.data()}, {"x", VX_I32, {3}, numbers.data()}}); }),
            "argument: data: array 'x' is given twice");
}

// A vector that is a temporary goes with the expression: the array takes its elements over, and the set keeps them.
TEST(Dataset, ownsWhatIsTemporary) {
  const std::vector<float> own{1, 2};
  EXPECT_FALSE(array<float>("x", {2}, own).owner);
  std::weak_ptr<const void> elements;
  {
    std::optional<Dataset> half;
    {
      Array made = array<float>("x", {4}, std::vector<float>{1, 2, 3, 4});
      elements = made.owner;
      half = Dataset::arrays({std::move(made), array<int64_t>("label", {4}, std::vector<int64_t>{5, 6, 7, 8})})
                 .split(0.5, 1)
                 .first;
    }
    ASSERT_FALSE(elements.expired());
    float x[2] = {};
    int64_t label[2] = {};
    const int64_t rows[] = {0, 1};
    std::byte *const places[] = {reinterpret_cast<std::byte *>(x), reinterpret_cast<std::byte *>(label)};
    half->read(rows, places);
    EXPECT_EQ(x[0] + 4, static_cast<float>(label[0]));
    EXPECT_EQ(x[1] + 4, static_cast<float>(label[1]));
  }
  EXPECT_TRUE(elements.expired());
}

TEST(Dataset, functionsAndTheirMessages) {
  const Dataset set = counted(5);
  EXPECT_EQ(set.rows(), 5);
  EXPECT_EQ(rowsOf(set, {4, 1, 4}), (std::vector<int32_t>{104, 101, 104}));
  std::byte *nobody[] = {nullptr};
  const int64_t rows[] = {0, 1};
  set.read(rows, nobody);
  const RowReader reader = [](int64_t, std::span<std::byte *const>) {};
  EXPECT_EQ(errorOf([&] { Dataset::callback({}, 1, reader); }),
            "argument: data: expected one column or more, got none");
  EXPECT_EQ(errorOf([&] { Dataset::callback({{"x", VX_I32, {}}}, -1, reader); }),
            "argument: data: expected 0 rows or more, got -1");
  EXPECT_EQ(errorOf([&] { Dataset::callback({{"x", VX_I32, {}}}, 1, nullptr); }),
            "argument: data: expected a function that reads a row, got none");
  EXPECT_EQ(errorOf([&] { Dataset::callback({{"x", VX_I4, {3}}}, 1, reader); }),
            "argument: data: column 'x': i4[3] is negative, too large, or no whole number of bytes");
}

TEST(Dataset, splits) {
  const Dataset set = counted(10);
  const auto [first, second] = set.split(0.7, 3);
  std::vector<int32_t> both = allRows(first), rest = allRows(second);
  EXPECT_EQ(both.size(), 7u);
  EXPECT_TRUE(std::is_sorted(both.begin(), both.end()));
  both.insert(both.end(), rest.begin(), rest.end());
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, allRows(set));
  EXPECT_EQ(allRows(set.split(0.7, 3).first), allRows(first));
  EXPECT_NE(allRows(set.split(0.7, 4).first), allRows(first));
  // Of a part.
  const auto [third, fourth] = first.split(0.5, 3);
  EXPECT_EQ(third.rows() + fourth.rows(), 7);
  for (int32_t row : allRows(third))
    EXPECT_EQ(std::count(both.begin(), both.begin() + 10, row), 1);
  // At least one row each.
  EXPECT_EQ(set.split(0.001, 3).first.rows(), 1);
  EXPECT_EQ(set.split(0.999, 3).second.rows(), 1);
  EXPECT_EQ(errorOf([&] { set.split(1, 3); }), "argument: split: expected a fraction between 0 and 1, got 1");
  EXPECT_EQ(errorOf([&] { set.split(0, 3); }), "argument: split: expected a fraction between 0 and 1, got 0");
  EXPECT_EQ(errorOf([] { counted(1).split(0.5, 3); }), "argument: split: expected 2 rows or more, got 1");
}

TEST(Dataset, rangesOfLabels) {
  const int32_t numbers[] = {0, 2, 9, 1, -1};
  writeNpy(scratchPath("labels.npy"), "<i4", {5}, numbers, sizeof(numbers));
  const Dataset set = Dataset::npy({{"label", scratchPath("labels.npy")}});
  const std::string path = scratchPath("labels.npy");
  set.check_range(0, {-1, 10});
  EXPECT_EQ(errorOf([&] { set.check_range(0, {-1, 9}); }), "data: " + path + ": row 2 has 9, expected -1 to 8");
  EXPECT_EQ(errorOf([&] { set.check_range(0, {0, 10}); }), "data: " + path + ": row 4 has -1, expected 0 to 9");
  set.check_range(0, {0, 10, -1});
  EXPECT_EQ(errorOf([&] { set.check_range(0, {0, 9, -1}); }),
            "data: " + path + ": row 2 has 9, expected 0 to 8, or -1");
  // Rows are those of the file, also of a part, and places in rows of several.
  const auto [first, second] = set.split(0.5, 0);
  int failures = 0;
  for (const Dataset &part : {first, second})
    failures += errorOf([&] { part.check_range(0, {-1, 9}); }) == "data: " + path + ": row 2 has 9, expected -1 to 8";
  EXPECT_EQ(failures, 1);
  const uint64_t wide[] = {1, 2, 3, 1ull << 63};
  const Dataset pairs = Dataset::arrays({array<uint64_t>("next", {2, 2}, wide)});
  EXPECT_EQ(errorOf([&] { pairs.check_range(0, {0, 9}); }),
            "data: next: row 1, element 1, has 9223372036854775808, expected 0 to 8");
  // What a function gives is looked at when it is read.
  const Dataset made = counted(5);
  made.check_range(0, {0, 1});
  const int64_t rows[] = {3, 1};
  const int32_t read[] = {103, 101};
  EXPECT_EQ(errorOf([&] { made.check_range(0, {103, 200}, rows, reinterpret_cast<const std::byte *>(read)); }),
            "data: x: row 1 has 101, expected 103 to 199");
}
