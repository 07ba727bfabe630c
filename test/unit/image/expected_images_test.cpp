// What vx-conformance wants of an ImageDecoder's image: equal, or a unit beside it where the file loses something.
#include "expected_outputs.h"
#include "lossy_image.h"
#include "made_images.h"
#include "tensor_file.h"

#include "../base/scratch_folder.h"

namespace vx::test {

using namespace vx::tools;

TEST(LossyImage, isWhatItsBytesSay) {
  const Picture picture = makeSmoothPicture(20, 18, 3);
  const std::vector<std::pair<File, bool>> files = {{makeJpeg(picture), true},
                                                    {makeJpeg2000(picture, {.isLossy = true}), true},
                                                    {makeJpeg2000(picture, {.isLossy = true, .isStream = true}), true},
                                                    {makeWebp(picture, true), true},
                                                    {makeJpeg2000(picture), false},
                                                    {makeJpeg2000(picture, {.isStream = true}), false},
                                                    {makeWebp(picture, false), false},
                                                    {makeAnimatedWebp({picture}), false},
                                                    {makePng(picture), false},
                                                    {makeTiff(picture), false},
                                                    {makeFile("P5 1 1 255\na"), false}};
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(isLossyImage(files[i].first), files[i].second) << i;
    // Nor is anything read behind its end.
    for (size_t size = 0; size < std::min<size_t>(files[i].first.size(), 200); ++size)
      (void)isLossyImage(File(files[i].first.begin(), files[i].first.begin() + static_cast<std::ptrdiff_t>(size)));
  }
}

class ExpectedImage : public ScratchFolder {
protected:
  // What differs between an image of one pixel and one that is `by` beside it.
  std::optional<std::string> difference(const File &file, uint8_t by) {
    onnx::ModelProto model;
    onnx::NodeProto &node = *model.mutable_graph()->add_node();
    node.set_op_type("ImageDecoder");
    node.add_input("file");
    node.add_output("image");
    model.mutable_graph()->add_input()->set_name("file");
    onnx::ValueInfoProto &output = *model.mutable_graph()->add_output();
    output.set_name("image");
    output.mutable_type()->mutable_tensor_type()->set_elem_type(2);
    put(at("model.onnx"), model.SerializeAsString());
    std::filesystem::create_directories(at("test_data_set_0"));
    auto write = [&](const char *name, std::vector<int64_t> dims, const File &bytes) {
      const std::vector<uint8_t> text =
          formatTensorFile("x", {VX_TENSOR, VX_U8, {{VX_U8, std::move(dims), bytes, {}}}});
      put(at(name), std::string(text.begin(), text.end()));
    };
    write("test_data_set_0/input_0.pb", {static_cast<int64_t>(file.size())}, file);
    write("test_data_set_0/output_0.pb", {1, 1, 3}, {10, 20, 30});
    const CaseData data({"case", folder.string()});
    const Value got = {VX_TENSOR, VX_U8, {{VX_U8, {1, 1, 3}, {10, static_cast<uint8_t>(20 - by), 30}, {}}}};
    return ExpectedOutputs(data, "case").difference(data.sets()[0], {{"image", got}});
  }
};

TEST_F(ExpectedImage, mayDifferByAUnitWhereItLosesSomething) {
  const Picture pixel = {1, 1, 3, {10, 20, 30}};
  for (const File &file : {makeJpeg(pixel), makeWebp(pixel, true)}) {
    EXPECT_EQ(difference(file, 0), std::nullopt);
    EXPECT_EQ(difference(file, 1), std::nullopt);
    EXPECT_EQ(difference(file, 2), "output 'image': 1 of 3 elements differ, the first at [0,0,1]: got 18, expected 20");
  }
  for (const File &file : {makePng(pixel), makeWebp(pixel, false)}) {
    EXPECT_EQ(difference(file, 0), std::nullopt);
    EXPECT_EQ(difference(file, 1), "output 'image': 1 of 3 elements differ, the first at [0,0,1]: got 19, expected 20");
  }
}

} // namespace vx::test
