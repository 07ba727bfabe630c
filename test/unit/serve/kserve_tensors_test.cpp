#include "kserve_tensors.h"

#include "json_request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using vx::Value;
using vx::serve::ErrorCode;
using vx::serve::ServiceError;

vx_argument_info argument(vx_element_type type) {
  vx_argument_info info = {};
  info.name = "x";
  info.element_type = type;
  return info;
}

Value read(vx_element_type type, const std::string &json, std::string_view binary = {}) {
  const auto bytes = std::make_shared<const std::string>(binary);
  std::string_view rest = *bytes;
  Value value = vx::serve::readKserveTensor(vx::serve::parseJson(json), argument(type), rest, "inputs[0]", bytes);
  EXPECT_TRUE(rest.empty());
  return value;
}

std::string failureOf(vx_element_type type, const std::string &json, std::string_view binary = {}) {
  try {
    (void)read(type, json, binary);
  } catch (const ServiceError &error) {
    EXPECT_EQ(error.code, ErrorCode::invalid_value);
    return error.what();
  }
  return "";
}

std::string written(const Value &value) {
  std::string json;
  vx::serve::writeKserveTensor(json, "y", value, nullptr);
  return json;
}

TEST(KserveTensors, dataMayBeFlatOrNested) {
  const Value flat = read(VX_F32, R"({"datatype":"FP32","shape":[2,3],"data":[1,2.5,-3,4e2,0.1,6]})");
  EXPECT_EQ(written(flat), R"({"name":"y","datatype":"FP32","shape":[2,3],"data":[1,2.5,-3,400,0.1,6]})");
  EXPECT_EQ(written(read(VX_F32, R"({"datatype":"FP32","shape":[2,3],"data":[[1,2.5,-3],[4e2,0.1,6]]})")),
            written(flat));
  EXPECT_EQ(written(read(VX_STRING, R"({"datatype":"BYTES","shape":[2],"data":["a\"","é"]})")),
            R"({"name":"y","datatype":"BYTES","shape":[2],"data":["a\"","é"]})");
  EXPECT_EQ(written(read(VX_BOOL, R"({"datatype":"BOOL","shape":[2],"data":[true,false]})")),
            R"({"name":"y","datatype":"BOOL","shape":[2],"data":[true,false]})");
  EXPECT_EQ(written(read(VX_U64, R"({"datatype":"UINT64","shape":[],"data":[18446744073709551615]})")),
            R"({"name":"y","datatype":"UINT64","shape":[],"data":[18446744073709551615]})");
  EXPECT_EQ(written(read(VX_I8, R"({"datatype":"INT8","shape":[2],"data":[-128,127]})")),
            R"({"name":"y","datatype":"INT8","shape":[2],"data":[-128,127]})");
  EXPECT_EQ(written(read(VX_F32, R"({"datatype":"FP32","shape":[0,3],"data":[]})")),
            R"({"name":"y","datatype":"FP32","shape":[0,3],"data":[]})");
}

TEST(KserveTensors, everySizeAndNumberIsChecked) {
  EXPECT_EQ(failureOf(VX_F32, R"({"shape":[1],"data":[1]})"), "'inputs[0].datatype' is missing");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP64","shape":[1],"data":[1]})"),
            "'inputs[0].datatype': input 'x' is FP32, got 'FP64'");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","data":[1]})"),
            "'inputs[0].shape': expected a list of sizes, got none");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[-1],"data":[1]})"),
            "'inputs[0].shape[0]': expected a size, got -1");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[100000,100000],"data":[1]})"),
            "'inputs[0].shape': a tensor may have 2147483647 elements, got more");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[2],"data":[1]})"),
            "'inputs[0].data': expected 2 elements for the shape, got 1");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[2,2],"data":[[1,2,3],[4]]})"),
            "'inputs[0].data[0]': expected 2 elements for the shape, got 3");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[2,2],"data":[[1,2]]})"),
            "'inputs[0].data': expected 2 lists for the shape, got 1");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[2,2],"data":[[1,2],3]})"),
            "'inputs[0].data[1]': expected a list, got a number");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[1],"data":["1"]})"),
            "'inputs[0].data[0]': expected a number, got a string");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[1],"data":[1e39]})"),
            "'inputs[0].data[0]': expected a number that FP32 has, got 1e+39");
  EXPECT_EQ(failureOf(VX_U8, R"({"datatype":"UINT8","shape":[1],"data":[256]})"),
            "'inputs[0].data[0]': expected a whole number that UINT8 has, got 256");
  EXPECT_EQ(failureOf(VX_U8, R"({"datatype":"UINT8","shape":[1],"data":[-1]})"),
            "'inputs[0].data[0]': expected a whole number that UINT8 has, got -1");
  EXPECT_EQ(failureOf(VX_I32, R"({"datatype":"INT32","shape":[1],"data":[1.5]})"),
            "'inputs[0].data[0]': expected a whole number that INT32 has, got 1.5");
  EXPECT_EQ(failureOf(VX_BOOL, R"({"datatype":"BOOL","shape":[1],"data":[1]})"),
            "'inputs[0].data[0]': expected true or false, got 1");
  EXPECT_EQ(failureOf(VX_F16, R"({"datatype":"FP16","shape":[1],"data":[1]})"),
            "'inputs[0].data': FP16 goes as binary data only");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[1]})"),
            "'inputs[0]': expected 'data' or 'parameters.binary_data_size', got neither");
}

TEST(KserveTensors, binaryDataStandBehind) {
  const auto json = [](std::string_view type, int count, size_t size) {
    return fmt::format(R"({{"datatype":"{}","shape":[{}],"parameters":{{"binary_data_size":{}}}}})", type, count, size);
  };
  using namespace std::string_view_literals;
  const Value halves = read(VX_BF16, json("BF16", 2, 4), "\x80\x3f\x00\x40"sv);
  std::string text, binary;
  vx::serve::writeKserveTensor(text, "y", halves, &binary);
  EXPECT_EQ(text, R"({"name":"y","datatype":"BF16","shape":[2],"parameters":{"binary_data_size":4}})");
  EXPECT_EQ(binary, "\x80\x3f\x00\x40"sv);
  binary.clear();
  text.clear();
  const std::string_view twoTexts = "\x01\0\0\0a\x02\0\0\0\xc3\xa9"sv;
  vx::serve::writeKserveTensor(text, "y", read(VX_STRING, json("BYTES", 2, 11), twoTexts), &binary);
  EXPECT_EQ(binary, twoTexts);

  EXPECT_EQ(failureOf(VX_F32, json("FP32", 2, 8), "1234"),
            "'inputs[0].parameters.binary_data_size': 8 bytes, but 4 are left of the body");
  EXPECT_EQ(failureOf(VX_F32, json("FP32", 2, 4), "1234"),
            "'inputs[0].parameters.binary_data_size': expected 8 bytes for the shape, got 4");
  EXPECT_EQ(failureOf(VX_BOOL, json("BOOL", 1, 1), "\2"),
            "'inputs[0].parameters.binary_data_size': element 0 of BOOL: expected 0 or 1, got 2");
  EXPECT_EQ(failureOf(VX_STRING, json("BYTES", 1, 2), "ab"),
            "'inputs[0].parameters.binary_data_size': expected the length of element 0 in 4 bytes, got 2");
  EXPECT_EQ(failureOf(VX_STRING, json("BYTES", 1, 5), "\x02\0\0\0a"sv),
            "'inputs[0].parameters.binary_data_size': element 0 has 2 bytes, but 1 are left");
  EXPECT_EQ(failureOf(VX_STRING, json("BYTES", 1, 6), "\x01\0\0\0ab"sv),
            "'inputs[0].parameters.binary_data_size': 1 bytes are left after 1 elements");
  EXPECT_EQ(failureOf(VX_STRING, json("BYTES", 1, 5), "\x01\0\0\0\xff"sv),
            "'inputs[0].parameters.binary_data_size': element 0 is no UTF-8");
  EXPECT_EQ(
      failureOf(VX_F32, R"({"datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}})", "1234"),
      "'inputs[0]': expected 'data' or binary data, got both");
  EXPECT_EQ(failureOf(VX_F32, R"({"datatype":"FP32","shape":[1],"parameters":{"binary_data_size":-1}})"),
            "'inputs[0].parameters.binary_data_size': expected a number of bytes, got -1");
}

TEST(KserveTensors, jsonHasNoNumberForSome) {
  const auto failure = [](const Value &value) {
    try {
      (void)written(value);
    } catch (const ServiceError &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(failure(Value::tensor<float>({2}, {1.0f, NAN})),
            "element 1 of output 'y' is nan, which JSON has no number for; ask for binary data");
  EXPECT_EQ(failure(Value::tensor<double>({1}, {-INFINITY})),
            "element 0 of output 'y' is -inf, which JSON has no number for; ask for binary data");
  const uint16_t half = 0;
  const int64_t one = 1;
  EXPECT_EQ(failure(Value::raw(VX_F16, std::span(&one, 1), &half, 2)),
            "output 'y' is FP16, which goes as binary data only");
}

} // namespace
