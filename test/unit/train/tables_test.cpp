// CSV files as data sets, and every message of theirs.
#include "csv_text.h"
#include "errors.h"
#include "training_module.h"
#include "vx/train/dataset.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace vx::test;
using namespace vx::train;

namespace {

std::string table(const std::string &text, const std::string &name = "t.csv") {
  const std::string path = scratchPath(name);
  writeFile(path, {text.begin(), text.end()});
  return path;
}

CsvOptions flowers(const std::string &label = "kind", std::vector<std::string> classes = {}) {
  return {{{"x", VX_F32, {2}}, {"label", VX_I64, {}}}, "label", label, std::move(classes)};
}

template <typename T>
std::vector<T> column(const Dataset &set, size_t number, size_t perRow = 1) {
  std::vector<int64_t> rows(static_cast<size_t>(set.rows()));
  std::iota(rows.begin(), rows.end(), int64_t(0));
  std::vector<T> values(rows.size() * perRow);
  std::vector<std::byte *> places(set.columns().size());
  places[number] = reinterpret_cast<std::byte *>(values.data());
  set.read(rows, places);
  return values;
}

std::string csvError(const std::string &text, const CsvOptions &options = flowers()) {
  const std::string path = table(text);
  const std::string error = errorOf([&] { Dataset::csv(path, options); });
  const std::string begin = "data: " + path + ": ";
  EXPECT_TRUE(error.starts_with(begin)) << error;
  return error.substr(std::min(begin.size(), error.size()));
}

} // namespace

TEST(Csv, fields) {
  const CsvText text =
      parseCsv("\xef\xbb\xbf a ,\"b \"\"c\"\"\", d\r\n\n 1 2 ,\"x,\r\ny\" ,\r\n3,\"\",4\n\n5,6,7", "t");
  EXPECT_EQ(text.names, (std::vector<std::string>{"a", "b \"c\"", "d"}));
  EXPECT_EQ(text.fields, (std::vector<std::string>{"1 2", "x,\r\ny", "", "3", "", "4", "5", "6", "7"}));
  EXPECT_EQ(text.lines, (std::vector<uint64_t>{3, 5, 7}));
  EXPECT_EQ(parseCsv("a;b\n1,5;2", "t").fields, (std::vector<std::string>{"1,5", "2"}));
  EXPECT_EQ(parseCsv("a\tb\n1 \t 2 \n", "t").fields, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(parseCsv("a,b;c\n1,2\r", "t").names, (std::vector<std::string>{"a", "b;c"}));
}

// Those of the first row that are between quotes do not count.
TEST(Csv, separators) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(parseCsv("\"a, of b\";c\n1;2", "t").names, (Names{"a, of b", "c"}));
  EXPECT_EQ(parseCsv("\"a\n\tb\",c\n1,2", "t").names, (Names{"a\n\tb", "c"}));
  EXPECT_EQ(parseCsv("\"a \"\"b,\"\"\";\"c,\"\n1;2", "t").names, (Names{"a \"b,\"", "c,"}));
  EXPECT_EQ(parseCsv("5\" disk;b,c\n1,2", "t").names, (Names{"5\" disk;b", "c"}));
  EXPECT_EQ(parseCsv("\r\n\n\na;b\n1,5;2", "t").names, (Names{"a", "b"}));
  EXPECT_EQ(parseCsv("\"a,\"\n1\n", "t").names, (Names{"a,"}));
}

TEST(Csv, columnsByTheirNames) {
  const Dataset set = Dataset::csv(table("b,kind,a\n1,2,+3.5\n4e0,0,-.5\n"), flowers());
  EXPECT_EQ(set.rows(), 2);
  EXPECT_EQ(column<float>(set, 0, 2), (std::vector<float>{1, 3.5, 4, -0.5}));
  EXPECT_EQ(column<int64_t>(set, 1), (std::vector<int64_t>{2, 0}));
  EXPECT_TRUE(set.classes().empty());
  EXPECT_TRUE(set.origin(1).ends_with("t.csv: column 'kind'")) << set.origin(1);
  // Inputs of one number, a target of floats, and a column that nothing takes.
  const Dataset numbers =
      Dataset::csv(table("id,target,b,a\n7,0.25,2,1\n8,0.5,4,3\n"),
                   {{{"a", VX_F32, {1}}, {"b", VX_F32, {}}, {"target", VX_F32, {1}}}, "target", "", {}});
  EXPECT_EQ(column<float>(numbers, 0), (std::vector<float>{1, 3}));
  EXPECT_EQ(column<float>(numbers, 1), (std::vector<float>{2, 4}));
  EXPECT_EQ(column<float>(numbers, 2), (std::vector<float>{0.25, 0.5}));
  ASSERT_EQ(numbers.notes().size(), 1u);
  EXPECT_TRUE(numbers.notes()[0].ends_with("t.csv: no input takes 'id'")) << numbers.notes()[0];
  // Any number of features; shapes with as many elements.
  CsvOptions any = flowers();
  any.columns[0].dims = {-1};
  EXPECT_EQ(Dataset::csv(table("a,b,c,kind\n1,2,3,0\n"), any).columns()[0].dims, (std::vector<int64_t>{3}));
  any.columns[0].dims = {1, 3};
  EXPECT_EQ(column<float>(Dataset::csv(table("a,b,c,kind\n1,2,3,0\n"), any), 0, 3), (std::vector<float>{1, 2, 3}));
}

TEST(Csv, labelsThatAreText) {
  const Dataset set = Dataset::csv(table("a,b,kind\n1,2,rose\n1,2,lily\n1,2,rose\n1,2,Iris\n"), flowers());
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"Iris", "lily", "rose"}));
  EXPECT_EQ(column<int64_t>(set, 1), (std::vector<int64_t>{2, 1, 2, 0}));
  const Dataset other = Dataset::csv(table("a,b,kind\n1,2,lily\n"), flowers("kind", set.classes()));
  EXPECT_EQ(column<int64_t>(other, 1), (std::vector<int64_t>{1}));
  EXPECT_EQ(csvError("a,b,kind\n1,2,fern\n", flowers("kind", set.classes())),
            "line 2, column 'kind': expected one of the classes 'Iris', 'lily', 'rose', got 'fern'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,rose\n1,2,\n"),
            "line 3, column 'kind': expected the name of a class, got an empty field");
}

TEST(Csv, messages) {
  EXPECT_EQ(csvError(""), "expected a line with the names of the columns, got an empty file");
  EXPECT_EQ(csvError("\n\n"), "expected a line with the names of the columns, got no text");
  EXPECT_EQ(csvError("a,b,kind\n"), "expected rows after the names of the columns, got none");
  EXPECT_EQ(csvError("a,,kind\n1,2,3"), "line 1: expected a name for each column, got none for column 2");
  EXPECT_EQ(csvError("a,b,a\n1,2,3"), "line 1: column 'a' is there twice");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n\n1,2\n"), "line 4: expected 3 fields, one for each column, got 2");
  EXPECT_EQ(csvError("a,b,kind\n1,\"2,0\n"), "line 2: expected a closing quote, got the end of the file");
  EXPECT_EQ(csvError("a,b,kind\n1,\"2\"3,0\n"),
            "line 2: expected ',' or the line's end after a closing quote, got '3'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n1,two,0\n"), "line 3, column 'b': expected a finite number, got 'two'");
  EXPECT_EQ(csvError("a,b,kind\n,2,0\n"), "line 2, column 'a': expected a finite number, got an empty field");
  EXPECT_EQ(csvError("a,b,kind\n1,nan,0\n"), "line 2, column 'b': expected a finite number, got 'nan'");
  EXPECT_EQ(csvError("a,b,kind\n1e39,2,0\n"), "line 2, column 'a': expected a finite number, got '1e39'");
  EXPECT_EQ(csvError("a,b,kind\n1 2,2,0\n"), "line 2, column 'a': expected a finite number, got '1 2'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n1,2,0.5\n"), "line 3, column 'kind': expected a whole number, got '0.5'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n1,2,rose\n"), "line 3, column 'kind': expected a whole number, got 'rose'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n", flowers("knd")),
            "no column 'knd', did you mean 'kind'; it has 'a', 'b', 'kind'");
  EXPECT_EQ(csvError("a,kind\n1,0\n"),
            "input 'x' expects 2 numbers in a row, f32[2], got 1 columns beside the others: 'a'");
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n", flowers("")),
            "no column for 'x', 'label': expected one of its name, or --label with that of 'label'; the file has 'a', "
            "'b', 'kind'");
  CsvOptions two = flowers();
  two.columns.push_back({"y", VX_F32, {3}});
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n", two),
            "no column for 'x', 'y': expected one of its name; the file has 'a', 'b', 'kind'");
  CsvOptions any = flowers();
  any.columns[0].dims = {-1, 2};
  EXPECT_EQ(csvError("a,b,kind\n1,2,0\n", any),
            "input 'x' expects a known number of numbers in a row, f32[-1,2], got 2 columns beside the others: 'a', "
            "'b'");
}
