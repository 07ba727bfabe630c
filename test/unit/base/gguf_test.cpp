#include "vx/base/gguf.h"

#include "../../common/gguf_writer.h"
#include "scratch_folder.h"

#include <cmath>

using vx::GgufFile;
using vx::GgufKind;
using vx::GgufModel;
using vx::GgufValue;
using vx::parseGguf;
using vx::test::bytesOf;
using vx::test::GgufWriter;

namespace {

GgufWriter smallFile(uint32_t version = 3, uint32_t alignment = 32) {
  GgufWriter writer(version, alignment);
  writer.add("general.architecture", "llama")
      .add<uint32_t>("llama.block_count", GgufKind::u32, 2)
      .add<float>("llama.epsilon", GgufKind::f32, 1e-5f)
      .addArray<std::string>("tokens", GgufKind::string, {"a", "", "\xff"})
      .addArray<int32_t>("types", GgufKind::i32, {1, -2, 3})
      .addTensor("w", {3, 2}, 0, 24)
      .addTensor("q", {64, 2}, 3, 80)
      .addTensor("scalar", {}, 30, 2);
  return writer;
}

/// Why it is refused.
std::string errorOf(const std::string &bytes) {
  GgufFile file;
  std::string error;
  EXPECT_FALSE(parseGguf(bytesOf(bytes), file, error));
  return error;
}

/// The value of the one key of a file.
template <typename T>
GgufValue valueOf(GgufKind kind, T value) {
  static std::string bytes; // the value points into it
  bytes = GgufWriter().add<T>("k", kind, value).bytes();
  GgufFile file;
  std::string error;
  EXPECT_TRUE(parseGguf(bytesOf(bytes), file, error)) << error;
  return *file.find("k");
}

} // namespace

TEST(Gguf, Contents) {
  for (uint32_t version : {2u, 3u})
    for (uint32_t alignment : {1u, 8u, 32u, 64u}) {
      const std::string bytes = smallFile(version, alignment).bytes();
      GgufFile file;
      std::string error;
      ASSERT_TRUE(parseGguf(bytesOf(bytes), file, error)) << error;
      EXPECT_EQ(file.version, version);
      EXPECT_EQ(file.alignment, alignment);
      EXPECT_EQ(file.find("general.architecture")->stringAt(0), "llama");
      EXPECT_EQ(file.find("general.architecture")->unsignedAt(0), std::nullopt);
      EXPECT_EQ(file.find("llama.block_count")->unsignedAt(0), 2u);
      EXPECT_EQ(file.find("llama.block_count")->unsignedAt(1), std::nullopt);
      EXPECT_FLOAT_EQ(static_cast<float>(*file.find("llama.epsilon")->numberAt(0)), 1e-5f);
      EXPECT_EQ(file.find("llama.epsilon")->signedAt(0), std::nullopt);
      EXPECT_EQ(file.find("nothing"), nullptr);
      EXPECT_EQ(file.find("llama.block_coun"), nullptr);
      const GgufValue &tokens = *file.find("tokens"), &types = *file.find("types");
      EXPECT_EQ(tokens.kind(), GgufKind::array);
      EXPECT_EQ(tokens.elementKind(), GgufKind::string);
      ASSERT_EQ(tokens.size(), 3u);
      EXPECT_EQ(tokens.stringAt(2), "\xff");
      EXPECT_EQ(tokens.stringAt(3), std::nullopt);
      EXPECT_EQ(types.signedAt(1), -2);
      EXPECT_EQ(types.unsignedAt(1), std::nullopt);
      EXPECT_EQ(types.numberAt(2), 3.0);

      ASSERT_EQ(file.tensors.size(), 3u);
      const vx::GgufTensor &w = *file.findTensor("w"), &q = *file.findTensor("q");
      EXPECT_EQ(w.dims, (std::vector<int64_t>{2, 3}));
      EXPECT_STREQ(w.type->elementType, "f32");
      EXPECT_EQ(w.bytes.size(), 24u);
      EXPECT_EQ(w.bytes[1], 8); // the counter
      EXPECT_EQ(w.offset % alignment, 0u);
      EXPECT_EQ(bytes.data() + w.offset, reinterpret_cast<const char *>(w.bytes.data()));
      EXPECT_EQ(q.dims, (std::vector<int64_t>{2, 64}));
      EXPECT_STREQ(q.type->name, "q4_1");
      EXPECT_EQ(q.type->elementType, nullptr);
      EXPECT_EQ(q.bytes.size(), 80u);
      EXPECT_TRUE(file.findTensor("scalar")->dims.empty());
      EXPECT_EQ(file.findTensor("scalar")->bytes.size(), 2u);
      EXPECT_EQ(file.findTensor("tokens"), nullptr);
    }
}

TEST(Gguf, Values) {
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::u8, 200).signedAt(0), 200);
  EXPECT_EQ(valueOf<int8_t>(GgufKind::i8, -3).signedAt(0), -3);
  EXPECT_EQ(valueOf<uint16_t>(GgufKind::u16, 65535).unsignedAt(0), 65535u);
  EXPECT_EQ(valueOf<int16_t>(GgufKind::i16, -300).numberAt(0), -300.0);
  EXPECT_EQ(valueOf<uint64_t>(GgufKind::u64, UINT64_MAX).unsignedAt(0), UINT64_MAX);
  EXPECT_EQ(valueOf<uint64_t>(GgufKind::u64, UINT64_MAX).signedAt(0), std::nullopt);
  EXPECT_EQ(valueOf<uint64_t>(GgufKind::u64, UINT64_MAX).numberAt(0), 18446744073709551615.0);
  EXPECT_EQ(valueOf<int64_t>(GgufKind::i64, INT64_MIN).signedAt(0), INT64_MIN);
  EXPECT_EQ(valueOf<double>(GgufKind::f64, 0.1).numberAt(0), 0.1);
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::boolean, 1).booleanAt(0), true);
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::boolean, 0).booleanAt(0), false);
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::boolean, 0).unsignedAt(0), std::nullopt);
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::u8, 1).booleanAt(0), std::nullopt);
  EXPECT_EQ(valueOf<double>(GgufKind::f64, 0.25).text(), "0.25");
  EXPECT_EQ(valueOf<uint8_t>(GgufKind::boolean, 1).text(), "true");
  const std::string bytes = smallFile().bytes();
  GgufFile file;
  std::string error;
  ASSERT_TRUE(parseGguf(bytesOf(bytes), file, error));
  EXPECT_EQ(file.find("types")->text(), "[1, -2, 3]");
  EXPECT_EQ(file.find("types")->text(2), "[1, -2, ... 3 elements]");
  EXPECT_EQ(file.find("types")->text(0), "[... 3 elements]");
  EXPECT_EQ(file.find("general.architecture")->text(), "\"llama\"");
}

// No byte of the header can be missing, and no cut gives a file that lacks something.
TEST(Gguf, EveryCutIsAnError) {
  const std::string bytes = smallFile().bytes();
  GgufFile file;
  std::string error;
  ASSERT_TRUE(parseGguf(bytesOf(bytes), file, error));
  const size_t last = file.findTensor("scalar")->offset + 2;
  for (size_t size = 0; size < last; ++size) {
    const std::string cut = bytes.substr(0, size);
    EXPECT_NE(errorOf(cut), "") << size;
  }
  EXPECT_TRUE(parseGguf(bytesOf(bytes.substr(0, last)), file, error)); // the padding at the end may be missing
  EXPECT_EQ(errorOf(bytes.substr(0, 30)), "truncated: 5 keys need at least 13 bytes each, got 6 bytes in all");
  EXPECT_EQ(errorOf(bytes.substr(0, last - 1)),
            "truncated: tensor 'scalar': bf16[] needs 2 bytes at byte 128 of the data, got 1");
}

TEST(Gguf, Refused) {
  EXPECT_EQ(errorOf("GGML\1"), "not a GGUF file: expected the first bytes 'GGUF', got 'GGML'");
  EXPECT_EQ(errorOf(""), "not a GGUF file: expected the first bytes 'GGUF', got ''");
  EXPECT_EQ(errorOf(GgufWriter(1).bytes()), "expected GGUF version 2 or 3, got 1");
  EXPECT_EQ(errorOf(GgufWriter(4).bytes()), "expected GGUF version 2 or 3, got 4");
  EXPECT_EQ(errorOf(GgufWriter(0x03000000).bytes()), "is a big-endian GGUF file, expected a little-endian one; convert "
                                                     "it with gguf_convert_endian of the package gguf");
  EXPECT_EQ(errorOf(GgufWriter().add("", "x").bytes()), "a key at byte 24 is empty");
  EXPECT_EQ(errorOf(GgufWriter().add("a\xff", "x").bytes()), "a key at byte 24 is not UTF-8: 'a\\xff'");
  EXPECT_EQ(errorOf(GgufWriter().add("k", "x").add("k", "y").bytes()), "expected each key once, got 'k' twice");
  EXPECT_EQ(errorOf(GgufWriter().add<uint32_t>("k", GgufKind(13), 1).bytes()),
            "key 'k' has the value type 13 at byte 33, expected 0 to 12");
  EXPECT_EQ(errorOf(GgufWriter().add<uint8_t>("k", GgufKind::boolean, 2).bytes()),
            "key 'k' has a bool of the value 2, expected 0 or 1");
  EXPECT_EQ(errorOf(GgufWriter().addArray<int32_t>("k", GgufKind::array, {1}).bytes()),
            "key 'k' is an array of arrays, which is not supported");
  EXPECT_EQ(errorOf(GgufWriter().add<uint64_t>("general.alignment", GgufKind::u64, 32).bytes()),
            "key 'general.alignment' has the type u64, expected u32");
  for (uint32_t alignment : {0u, 24u})
    EXPECT_EQ(errorOf(GgufWriter().add<uint32_t>("general.alignment", GgufKind::u32, alignment).bytes()),
              "key 'general.alignment' is " + std::to_string(alignment) + ", expected a power of 2");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {1, 1, 1, 1, 1}, 0, 4).bytes()),
            "tensor 't' has 5 dimensions, expected at most 4");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {1}, 4, 4).bytes()),
            "tensor 't': expected the number of a type that GGUF has, got 4");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {48, 2}, 2, 54).bytes()),
            "tensor 't': q4_0[2,48] has rows of 48 elements, expected a multiple of 32");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {uint64_t(1) << 63}, 0, 4).bytes()),
            "tensor 't' has a dimension of 9223372036854775808, expected less than 2^63");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {1}, 0, 4).addTensor("t", {1}, 0, 4).bytes()),
            "expected each tensor once, got tensor 't' twice");
  EXPECT_EQ(errorOf(GgufWriter().addTensorAt("t", {1}, 0, 4, 8).bytes()),
            "tensor 't' has the offset 8, expected a multiple of 32");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("a", {9}, 0, 36).addTensorAt("b", {1}, 0, 4, 32).bytes()),
            "tensors 'a' and 'b' overlap at byte 128");
  EXPECT_EQ(errorOf(GgufWriter(3, 1).addTensor("a", {1}, 0, 4).addTensorAt("b", {1}, 0, 4, 3).bytes()),
            "tensors 'a' and 'b' overlap at byte 126");
  // Products that do not fit, one of which is 4 in 64 bits.
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {4194305, 4194305, 211106198978564}, 0, 64).bytes()),
            "tensor 't': f32[211106198978564,4194305,4194305] is too large");
  EXPECT_EQ(errorOf(GgufWriter().addTensor("t", {uint64_t(1) << 61}, 0, 64).bytes()),
            "tensor 't': f32[2305843009213693952] is too large");
  EXPECT_EQ(errorOf(GgufWriter().addTensorAt("t", {1}, 0, 4, uint64_t(1) << 60).bytes()),
            "truncated: tensor 't': f32[1] needs 4 bytes at byte 1152921504606846976 of the data, got 0");
}

TEST(Gguf, CountsAreChecked) {
  std::string bytes = GgufWriter().addArray<uint64_t>("k", GgufKind::u64, {1, 2}).addTensor("t", {1}, 0, 4).bytes();
  const auto with = [&](size_t at, uint64_t value) {
    std::string changed = bytes;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return changed;
  };
  EXPECT_EQ(errorOf(with(8, uint64_t(1) << 62)),
            "truncated: 4611686018427387904 tensors need at least 24 bytes each, got 136 bytes in all");
  EXPECT_EQ(errorOf(with(16, uint64_t(1) << 63)),
            "truncated: 9223372036854775808 keys need at least 13 bytes each, got 136 bytes in all");
  EXPECT_EQ(errorOf(with(24, UINT64_MAX)), "truncated: a key needs 18446744073709551615 bytes at byte 32, got 128");
  EXPECT_EQ(errorOf(with(41, UINT64_MAX / 8 + 2)),
            "truncated: key 'k' has 2305843009213693953 elements of 8 bytes at byte 49, got 111 bytes in all");
  // The count of an array of strings is checked before there is memory for them.
  std::string strings = GgufWriter().addArray<std::string>("k", GgufKind::string, {"a"}).bytes();
  const uint64_t many = uint64_t(1) << 58;
  std::memcpy(strings.data() + 41, &many, sizeof many);
  EXPECT_EQ(errorOf(strings),
            "truncated: key 'k' has 288230376151711744 elements of 8 bytes or more at byte 49, got 15 "
            "bytes in all");
}

TEST(Gguf, TensorsWithoutBytes) {
  const std::string bytes = GgufWriter().addTensor("a", {4, 0}, 0, 0).addTensor("b", {2}, 0, 8).bytes();
  GgufFile file;
  std::string error;
  ASSERT_TRUE(parseGguf(bytesOf(bytes), file, error)) << error;
  EXPECT_TRUE(file.findTensor("a")->bytes.empty());
  EXPECT_EQ(file.findTensor("b")->bytes.size(), 8u);
}

// The sums of all sizes of ggml's types; test/text/run_gguf.py compares each with PyPI's.
TEST(Gguf, Types) {
  EXPECT_EQ(vx::findGgufType(4), nullptr);
  EXPECT_EQ(vx::findGgufType(1000), nullptr);
  uint64_t block = 0, bytes = 0, count = 0;
  for (uint32_t number = 0; number < 64; ++number)
    if (const vx::GgufType *type = vx::findGgufType(number)) {
      EXPECT_EQ(type->number, number);
      ++count, block += type->block, bytes += type->bytes;
      EXPECT_EQ(type->block == 1, type->elementType != nullptr) << type->name;
    }
  EXPECT_EQ(count, 35u);
  EXPECT_EQ(block, 4616u);
  EXPECT_EQ(bytes, 2100u);
}

using GgufFiles = vx::test::ScratchFolder;

namespace {

std::string split(uint16_t number, uint16_t count, int32_t tensors, const std::string &tensor) {
  return GgufWriter()
      .add<uint16_t>("split.no", GgufKind::u16, number)
      .add<uint16_t>("split.count", GgufKind::u16, count)
      .add<int32_t>("split.tensors.count", GgufKind::i32, tensors)
      .addTensor(tensor, {1}, 0, 4)
      .bytes();
}

std::string openError(const std::string &path) {
  GgufModel model;
  std::string error;
  EXPECT_FALSE(GgufModel::open(path, model, error));
  EXPECT_TRUE(model.tensors().empty());
  return error;
}

} // namespace

TEST_F(GgufFiles, Split) {
  put(at("m-00001-of-00003.gguf"), split(0, 3, 3, "a"));
  put(at("m-00002-of-00003.gguf"), split(1, 3, 3, "b"));
  put(at("m-00003-of-00003.gguf"), split(2, 3, 3, "c"));
  GgufModel model, moved;
  std::string error;
  ASSERT_TRUE(GgufModel::open(at("m-00001-of-00003.gguf"), model, error)) << error;
  moved = std::move(model);
  EXPECT_EQ(moved.paths().size(), 3u);
  EXPECT_EQ(moved.tensors().size(), 3u);
  EXPECT_EQ(moved.find("split.count")->unsignedAt(0), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const vx::GgufTensor *tensor = moved.findTensor(std::string(1, static_cast<char>('a' + i)));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->file, i);
    EXPECT_EQ(tensor->bytes.size(), 4u);
    EXPECT_EQ(tensor->bytes[0], 1);
  }
}

TEST_F(GgufFiles, SplitRefused) {
  const std::string first = at("m-00001-of-00002.gguf"), second = at("m-00002-of-00002.gguf");
  put(first, split(0, 2, 2, "a"));
  EXPECT_EQ(openError(first), second + ": cannot be opened: No such file or directory");
  put(second, split(1, 2, 2, "a"));
  EXPECT_EQ(openError(first), first + ": tensor 'a' is in two files of the model");
  put(second, split(1, 2, 2, "b").substr(0, 60));
  EXPECT_NE(openError(first).find(second + ": truncated: "), std::string::npos);
  put(second, split(0, 2, 2, "b"));
  EXPECT_EQ(openError(first), second + ": says that it is file 1 of 2, expected file 2 of 2");
  put(second, split(1, 3, 2, "b"));
  EXPECT_EQ(openError(first), second + ": says that it is file 2 of 3, expected file 2 of 2");
  put(second, split(1, 2, 2, "b"));
  EXPECT_EQ(openError(second), second + ": is file 2 of a model in 2 files, expected the first file");
  put(first, split(0, 2, 3, "a"));
  EXPECT_EQ(openError(first), first + ": the files have 2 tensors, expected the 3 of key 'split.tensors.count'");
  put(at("m.gguf"), split(0, 2, 2, "a"));
  EXPECT_EQ(openError(at("m.gguf")), at("m.gguf") + ": is the first file of a model in 2 files, expected a name that "
                                                    "ends with '-00001-of-N.gguf', N being the count in 5 digits");
  put(at("m.gguf"), GgufWriter().add("split.count", "2").bytes());
  EXPECT_EQ(openError(at("m.gguf")), at("m.gguf") + ": key 'split.count' is \"2\", expected a whole number");
  put(at("m.gguf"), GgufWriter().addArray<int32_t>("split.count", GgufKind::i32, {1}).bytes());
  EXPECT_EQ(openError(at("m.gguf")), at("m.gguf") + ": key 'split.count' is [1], expected a whole number");
}

TEST_F(GgufFiles, NotAFile) {
  EXPECT_EQ(openError(at("nothing.gguf")), at("nothing.gguf") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(openError(at("")), at("") + ": it is a folder, expected a regular file");
  put(at("empty.gguf"), "");
  EXPECT_EQ(openError(at("empty.gguf")),
            at("empty.gguf") + ": not a GGUF file: expected the first bytes 'GGUF', got ''");
}
