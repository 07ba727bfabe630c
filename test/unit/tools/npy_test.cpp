#include "npy.h"
#include "tool_error.h"

#include <gtest/gtest.h>

using namespace vx::tools;

static std::vector<uint8_t> npyFile(const std::string &header, const std::vector<uint8_t> &data) {
  std::vector<uint8_t> bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  bytes.push_back(static_cast<uint8_t>(header.size()));
  bytes.push_back(static_cast<uint8_t>(header.size() >> 8));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

static std::string errorOf(const std::vector<uint8_t> &bytes) {
  try {
    parseNpy("x.npy", bytes, VX_F32);
  } catch (const ToolError &error) {
    EXPECT_EQ(error.exitCode, ExitCode::BadInput);
    return error.what();
  }
  return "no error";
}

TEST(Npy, everyTypeRoundTrips) {
  for (int type = VX_BOOL; type < VX_STRING; ++type)
    for (const std::vector<int64_t> &dims : {std::vector<int64_t>{}, {3}, {2, 5}, {0, 4}}) {
      const auto elementType = static_cast<vx_element_type>(type);
      Tensor tensor{elementType, dims, {}};
      tensor.bytes.resize(byteCount(elementType, *elementCount(elementType, dims)));
      for (uint64_t i = 0; i < *elementCount(elementType, dims); ++i)
        setElement(tensor, i, static_cast<double>(i % 2));
      const std::vector<uint8_t> file = formatNpy(tensor);
      const Tensor back = parseNpy("x.npy", file, elementType);
      EXPECT_EQ(back.type, elementType) << vx_element_type_name(elementType);
      EXPECT_EQ(back.dims, dims);
      EXPECT_EQ(back.bytes, tensor.bytes) << vx_element_type_name(elementType);
    }
}

TEST(Npy, headerAsNumpyWritesIt) {
  const Tensor tensor{VX_F32, {2}, std::vector<uint8_t>(8)};
  const std::vector<uint8_t> file = formatNpy(tensor);
  EXPECT_EQ((file.size() - 8) % 64, 0u);
  const std::string text(file.begin() + 12, file.end() - 8);
  EXPECT_EQ(text.substr(0, text.find('}') + 1), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_EQ(text.back(), '\n');
}

TEST(Npy, otherOrders) {
  // Columns first.
  Tensor tensor = parseNpy(
      "x.npy", npyFile("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", {1, 4, 2, 5, 3, 6}), VX_I8);
  EXPECT_EQ(tensor.bytes, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  // Big end first.
  tensor =
      parseNpy("x.npy", npyFile("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", {0, 1, 2, 3}), VX_I16);
  EXPECT_EQ(tensor.bytes, (std::vector<uint8_t>{1, 0, 3, 2}));
}

TEST(Npy, badFiles) {
  EXPECT_EQ(errorOf({}), "x.npy: not an .npy file");
  EXPECT_EQ(errorOf({0x93, 'N', 'U', 'M', 'P', 'Y', 9, 0, 0, 0}),
            "x.npy: .npy version 9 is not supported, expected 1, 2 or 3");
  EXPECT_EQ(errorOf({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 9, 0}),
            "x.npy: truncated .npy header: expected 9 bytes, got 0");
  EXPECT_EQ(errorOf({0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 9, 0}), "x.npy: truncated .npy header");
  EXPECT_EQ(errorOf(npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", {0, 0, 0})),
            "x.npy: expected 8 bytes of data for f32[2], got 3");
  EXPECT_EQ(errorOf(npyFile("{'descr': '<c8', 'fortran_order': False, 'shape': (), }", {})),
            "x.npy: .npy element type 'c8' is not supported");
  EXPECT_EQ(errorOf(npyFile("{'descr': '|O', 'fortran_order': False, 'shape': (), }", {})),
            "x.npy: .npy element type '|O' is not supported");
  EXPECT_EQ(
      errorOf(npyFile("{'descr': '<f4', 'shape': (2,), }", {})),
      "x.npy: .npy header: expected 'descr', 'fortran_order' and 'shape', got '{'descr': '<f4', 'shape': (2,), }'");
  EXPECT_EQ(errorOf(npyFile("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", {})),
            "x.npy: .npy header: expected True or False at character 34, got 'Maybe, ''");
  EXPECT_EQ(errorOf(npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", {})),
            "x.npy: .npy header: expected a size at character 51, got '-2,), }'");
  EXPECT_EQ(errorOf(npyFile("{'descr': '<f4", {})), "x.npy: .npy header has a string without end at character 10");
  EXPECT_EQ(errorOf(npyFile("['descr']", {})), "x.npy: .npy header: expected '{' at character 0, got '['descr''");
  EXPECT_EQ(errorOf(npyFile("{'descr' '<f4'}", {})), "x.npy: .npy header: expected ':' at character 9, got ''<f4'}'");
  EXPECT_EQ(errorOf(npyFile("{descr: '<f4'}", {})),
            "x.npy: .npy header: expected a string at character 1, got 'descr: '<f4'}'");
  EXPECT_EQ(errorOf(npyFile("{'shape': [2]}", {})), "x.npy: .npy header: expected '(' at character 10, got '[2]}'");
  EXPECT_EQ(errorOf(npyFile("{'more': 1}", {})),
            "x.npy: .npy header: expected 'descr', 'fortran_order' and 'shape', got 'more'");
  EXPECT_EQ(errorOf(npyFile(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }", {})),
            "x.npy: f32[4611686018427387904,4611686018427387904] is too large");
}
