// The safetensors format: what is written is read, as others write it, and every message.
#include "safetensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>

using namespace vx::train;

namespace {

std::vector<uint8_t> fileOf(const std::string &header, size_t data = 0) {
  std::vector<uint8_t> bytes(8);
  const uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (size_t i = 0; i < data; ++i)
    bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

std::string errorOf(const std::vector<uint8_t> &file) {
  SafeTensors content;
  std::string error;
  const bool isGood = parseSafeTensors(file, content, error);
  EXPECT_EQ(isGood, error.empty());
  return error.empty() ? "no error" : error;
}
std::string headerError(const std::string &header, size_t data = 0) { return errorOf(fileOf(header, data)); }

std::string tensorText(const std::string &type, const std::string &shape, const std::string &offsets) {
  return "\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets;
}

} // namespace

TEST(SafeTensors, roundTrips) {
  SafeTensors content;
  content.metadata = {{"step", "17"}, {"odd \"key\"\n", "\t\\ \x7f \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"}};
  const std::vector<uint8_t> data(64, 9);
  for (int type = VX_BOOL; type < VX_STRING; ++type) {
    const auto elementType = static_cast<vx_element_type>(type);
    if (safeTensorTypeName(elementType))
      content.tensors.push_back(
          {safeTensorTypeName(elementType), elementType, {2, 1}, {data.data(), vx_element_type_bits(elementType) / 4}});
  }
  EXPECT_EQ(content.tensors.size(), 18u);
  content.tensors.push_back({"empty", VX_F32, {3, 0}, {}});
  content.tensors.push_back({"number", VX_F32, {}, {data.data(), 4}});
  std::vector<uint8_t> file = safeTensorsHeader(content);
  EXPECT_EQ(file.size() % 8, 0u);
  // The header is what a reader of JSON takes for it.
  const nlohmann::json header = nlohmann::json::parse(file.begin() + 8, file.end());
  EXPECT_EQ(header["__metadata__"], nlohmann::json(content.metadata));
  EXPECT_EQ(header["F32"], nlohmann::json::parse(R"({"dtype":"F32","shape":[2,1],"data_offsets":)" +
                                                 header["F32"]["data_offsets"].dump() + "}"));
  for (const SafeTensor &tensor : content.tensors)
    file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  SafeTensors back;
  std::string error;
  ASSERT_TRUE(parseSafeTensors(file, back, error)) << error;
  EXPECT_EQ(back.metadata, content.metadata);
  ASSERT_EQ(back.tensors.size(), content.tensors.size());
  for (size_t i = 0; i < back.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, content.tensors[i].name);
    EXPECT_EQ(back.tensors[i].type, content.tensors[i].type);
    EXPECT_EQ(back.tensors[i].dims, content.tensors[i].dims);
    EXPECT_EQ(back.tensors[i].bytes.size(), content.tensors[i].bytes.size());
  }
}

// With blanks, keys and tensors in another order, and escapes.
TEST(SafeTensors, asOthersWriteIt) {
  const std::string text = " { \"b\" : {\"shape\":[ 2 ] , \"data_offsets\" : [4,8], \"dtype\":\"F16\"} ,\n\t"
                           "\"a\\u0041\\ud83d\\ude00\\/\": {\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
                           "\"__metadata__\":{\"format\":\"pt\"}}   ";
  SafeTensors content;
  std::string error;
  const std::vector<uint8_t> file = fileOf(text, 8);
  ASSERT_TRUE(parseSafeTensors(file, content, error)) << error;
  ASSERT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.tensors[0].name, "b");
  EXPECT_EQ(content.tensors[0].bytes[0], 4);
  EXPECT_EQ(content.tensors[1].name, "aA\xf0\x9f\x98\x80/");
  EXPECT_EQ(content.metadata.at("format"), "pt");
  EXPECT_EQ(headerError("{}"), "no error");
}

TEST(SafeTensors, badFiles) {
  EXPECT_EQ(errorOf({}), "truncated: a safetensors file has 8 bytes or more, got 0");
  EXPECT_EQ(errorOf({'P', 'K', 3, 4, 5, 6, 7, 8}), "not a safetensors file: its first 8 bytes say that the header has "
                                                   "578437695752325968 bytes, expected at most 100000000");
  EXPECT_EQ(errorOf({9, 0, 0, 0, 0, 0, 0, 0, '{'}), "truncated: the header needs 9 bytes, got 1");
  EXPECT_EQ(headerError("[]"), "header: expected '{' at character 0, got '[]'");
  EXPECT_EQ(headerError(""), "header: expected '{' at character 0, got ''");
  EXPECT_EQ(headerError("{} x"), "header: expected nothing more at character 3, got 'x'");
  EXPECT_EQ(headerError(std::string("{}\0", 3)),
            "header: expected nothing more at character 2, got '" + std::string(1, '\0') + "'");
  EXPECT_EQ(headerError("{a"), "header: expected a string at character 1, got 'a'");
  EXPECT_EQ(headerError("{\"a"), "the header has a string without end at character 2");
  EXPECT_EQ(headerError("{\"a\"}"), "header: expected ':' at character 4, got '}'");
  EXPECT_EQ(headerError("{\"a\":7}"), "header: expected '{' at character 5, got '7}'");
  EXPECT_EQ(headerError("{\"a\\x\":7}"), "header: expected an escape that JSON has at character 4, got 'x\":7}'");
  EXPECT_EQ(headerError("{\"\\u12g4\":7}"), "header: expected four hexadecimal digits at character 6, got 'g4\":7}'");
  EXPECT_EQ(headerError("{\"\\ud800!\":7}"),
            "header: expected a whole pair of surrogates before at character 8, got '!\":7}'");
  EXPECT_EQ(headerError("{\"a\n\":7}"),
            "header: expected no control character in a string at character 3, got '\n\":7}'");
  EXPECT_EQ(headerError("{\"a\xc3\":7}"), "the header is no UTF-8 at character 3");
  EXPECT_EQ(headerError("{\"\xed\xa0\x80\":7}"), "the header is no UTF-8 at character 2");
  EXPECT_EQ(headerError("{\"__metadata__\":{\"a\":1}}"), "header: expected a string at character 21, got '1}}'");
  EXPECT_EQ(headerError("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}"),
            "metadata: expected each key once, got 'a' twice");
  EXPECT_EQ(headerError("{\"__metadata__\":{\"a\":\"\" \"b\":\"\"}}"),
            "header: expected ',' or '}' at character 24, got '\"b\":\"\"}}'");
}

TEST(SafeTensors, badTensors) {
  auto one = [](const std::string &members, size_t data = 0) { return headerError("{\"w\":{" + members + "}}", data); };
  EXPECT_EQ(one(tensorText("F32", "[1]", "[0,4]"), 4), "no error");
  EXPECT_EQ(one(tensorText("F33", "[1]", "[0,4]"), 4), "tensor 'w' has the element type 'F33', which is not supported");
  EXPECT_EQ(one("\"dtype\":\"F32\",\"shape\":[1]", 4),
            "tensor 'w' needs 'dtype', 'shape' and 'data_offsets', 'data_offsets' is missing");
  EXPECT_EQ(one("\"shape\":[1]", 4), "tensor 'w' needs 'dtype', 'shape' and 'data_offsets', 'dtype' is missing");
  EXPECT_EQ(one("\"dtype\":\"F32\"", 4), "tensor 'w' needs 'dtype', 'shape' and 'data_offsets', 'shape' is missing");
  EXPECT_EQ(one("\"more\":1"), "tensor 'w': expected 'dtype', 'shape' and 'data_offsets', got 'more'");
  EXPECT_EQ(one("\"shape\":[1],\"shape\":[1]"), "tensor 'w': expected each key once, got 'shape' twice");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[0]"), 4), "tensor 'w' has 1 data_offsets, expected 2");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[4,0]"), 4),
            "tensor 'w': f32[1] needs 4 bytes, its data_offsets are 4 and 0");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[0,3]"), 4),
            "tensor 'w': f32[1] needs 4 bytes, its data_offsets are 0 and 3");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[0,4]"), 3), "truncated: the tensors need 4 bytes, got 3");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[0,4]"), 5), "too long: the tensors need 4 bytes, got 5");
  EXPECT_EQ(one(tensorText("F32", "[1]", "[4,8]"), 8),
            "tensor 'w' begins at byte 4, expected 0, where the one before ends");
  EXPECT_EQ(one(tensorText("F32", "[4611686018427387904,4]", "[0,4]"), 4),
            "tensor 'w': f32[4611686018427387904,4] is too large");
  EXPECT_EQ(one(tensorText("F32", "[-1]", "[0,4]"), 4),
            "header: expected a whole number at character 29, got '-1],\"data_offset'");
  EXPECT_EQ(one(tensorText("F32", "[01]", "[0,4]"), 4),
            "header: expected a whole number at character 29, got '01],\"data_offset'");
  EXPECT_EQ(one(tensorText("F32", "[9223372036854775808]", "[0,4]"), 4),
            "header: expected a number below 2^63 at character 29, got '9223372036854775'");
  EXPECT_EQ(one(tensorText("F32", "1", "[0,4]"), 4), "header: expected '[' at character 28, got '1,\"data_offsets\"'");
  EXPECT_EQ(one(tensorText("F32", "[1 2]", "[0,4]"), 4),
            "header: expected ',' or ']' at character 31, got '2],\"data_offsets'");
  const std::string w = tensorText("F32", "[1]", "[0,4]");
  EXPECT_EQ(headerError("{\"w\":{" + w + "},\"w\":{" + w + "}}", 4),
            "header: expected each tensor once, got 'w' twice");
  EXPECT_EQ(headerError("{\"w\":{" + w + "},\"v\":{" + w + "}}", 4),
            "tensor 'v' begins at byte 0, expected 4, where the one before ends");
}
