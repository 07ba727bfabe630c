#include "tensor_file.h"
#include "tool_error.h"

#include <gtest/gtest.h>

using namespace vx::tools;

static std::string protoError(const std::vector<uint8_t> &bytes, vx_value_kind kind = VX_TENSOR) {
  try {
    parseTensorFile("x.pb", bytes, kind);
  } catch (const ToolError &error) {
    EXPECT_EQ(error.exitCode, ExitCode::BadInput);
    return error.what();
  }
  return "no error";
}

TEST(TensorFile, everyTypeRoundTrips) {
  for (int type = VX_BOOL; type < VX_STRING; ++type) {
    const auto elementType = static_cast<vx_element_type>(type);
    Value value{VX_TENSOR, elementType, {{elementType, {3}, std::vector<uint8_t>(byteCount(elementType, 3), 1)}}};
    const Value back = parseTensorFile("x.pb", formatTensorFile("x", value), VX_TENSOR);
    ASSERT_EQ(back.tensors.size(), 1u);
    EXPECT_EQ(back.type, elementType);
    EXPECT_EQ(back.tensors[0].type, elementType);
    EXPECT_EQ(back.tensors[0].dims, (std::vector<int64_t>{3}));
    EXPECT_EQ(back.tensors[0].bytes, value.tensors[0].bytes);
  }
}

TEST(TensorFile, strings) {
  Value value{VX_TENSOR, VX_STRING, {{VX_STRING, {2, 1}, {}, {"a\"\n", std::string("\0ä", 3)}}}};
  const std::vector<uint8_t> bytes = formatTensorFile("x", value);
  const Value back = parseTensorFile("x.pb", bytes, VX_TENSOR);
  EXPECT_EQ(back.type, VX_STRING);
  EXPECT_EQ(back.tensors[0].dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(back.tensors[0].strings, value.tensors[0].strings);
  EXPECT_EQ(elementText(back.tensors[0], 0), "\"a\\\"\\n\"");
  EXPECT_EQ(elementText(back.tensors[0], 1), "\"\\u0000ä\"");
  EXPECT_EQ(protoError({0x08, 2, 0x10, 8, 0x32, 1, 'a'}), "x.pb: expected 2 strings for tensor '' of string[2], got 1");
}

TEST(TensorFile, sequencesAndOptionals) {
  Value sequence{VX_SEQUENCE, VX_I8, {{VX_I8, {2}, {1, 2}}, {VX_I8, {0}, {}}}};
  Value back = parseTensorFile("x.pb", formatTensorFile("x", sequence), VX_SEQUENCE);
  ASSERT_EQ(back.tensors.size(), 2u);
  EXPECT_EQ(back.tensors[0].bytes, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(back.tensors[1].dims, (std::vector<int64_t>{0}));
  Value none{VX_OPTIONAL, VX_I8, {}};
  EXPECT_TRUE(parseTensorFile("x.pb", formatTensorFile("x", none), VX_OPTIONAL).tensors.empty());
  for (Value maybe : {Value{VX_OPTIONAL_SEQUENCE, VX_I8, sequence.tensors}, Value{VX_OPTIONAL_SEQUENCE, VX_I8, {}},
                      Value{VX_OPTIONAL_SEQUENCE, VX_I8, {}, true}}) {
    back = parseTensorFile("x.pb", formatTensorFile("x", maybe), VX_OPTIONAL_SEQUENCE);
    EXPECT_EQ(back.isNone, maybe.isNone);
    EXPECT_EQ(back.tensors.size(), maybe.tensors.size());
  }
}

// The fields that other writers use: data_type 1 (float) with float_data, 7 (int64) with packed varints, 10 (f16) in
// int32s.
TEST(TensorFile, typedFields) {
  Value value = parseTensorFile("x.pb", std::vector<uint8_t>{0x08, 1, 0x10, 1, 0x22, 4, 0, 0, 0x80, 0x3f}, VX_TENSOR);
  EXPECT_EQ(elementAsDouble(value.tensors[0], 0), 1.0);
  value = parseTensorFile("x.pb", std::vector<uint8_t>{0x08, 2, 0x10, 7, 0x3a, 2, 5, 6}, VX_TENSOR);
  EXPECT_EQ(elementAsDouble(value.tensors[0], 1), 6.0);
  value = parseTensorFile("x.pb", std::vector<uint8_t>{0x08, 1, 0x10, 10, 0x2a, 2, 0x80, 0x78}, VX_TENSOR);
  EXPECT_EQ(elementAsDouble(value.tensors[0], 0), 1.0);
  value = parseTensorFile("x.pb", std::vector<uint8_t>{0x08, 3, 0x10, 22, 0x2a, 3, 0x21, 0x83, 0x01}, VX_TENSOR);
  EXPECT_EQ(elementText(value.tensors[0], 0) + elementText(value.tensors[0], 1) + elementText(value.tensors[0], 2),
            "123");
}

TEST(TensorFile, badFiles) {
  EXPECT_EQ(protoError({0xff, 0xff}), "x.pb: not a TensorProto of ONNX");
  EXPECT_EQ(protoError({0xff, 0xff}, VX_SEQUENCE), "x.pb: not a SequenceProto of ONNX");
  EXPECT_EQ(protoError({}), "x.pb: tensor '' has the element type 0, which is not supported");
  EXPECT_EQ(protoError({0x10, 14}), "x.pb: tensor '' has the element type 14, which is not supported");
  EXPECT_EQ(protoError({0x08, 2, 0x10, 1}), "x.pb: expected 8 bytes of data for tensor '' of f32[2], got 0");
  EXPECT_EQ(protoError({0x08, 2, 0x10, 1, 0x70, 1}),
            "x.pb: tensor '' has its data in another file, which is not supported here");
  EXPECT_EQ(protoError({0x10, 1, 0x1a, 0}), "x.pb: tensor '' is a segment, which is not supported");
  // Field 2 is the kind of the elements: 2 is a sparse tensor.
  EXPECT_EQ(protoError({0x0a, 1, 's', 0x10, 2}, VX_SEQUENCE),
            "x.pb: sequence 's' has elements of kind 2, supported are tensors");
  EXPECT_EQ(protoError({0x0a, 1, 'o', 0x10, 2}, VX_OPTIONAL),
            "x.pb: optional 'o' has an element of kind 2, expected a tensor");
  EXPECT_EQ(protoError({0x0a, 1, 'o', 0x10, 1}, VX_OPTIONAL_SEQUENCE),
            "x.pb: optional 'o' has an element of kind 1, expected a sequence");
  EXPECT_EQ(protoError({0xff, 0xff}, VX_OPTIONAL), "x.pb: not a OptionalProto of ONNX");
  EXPECT_EQ(protoError({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x10, 1}),
            "x.pb: tensor '' of f32[-1] has a negative or too large size");
}
