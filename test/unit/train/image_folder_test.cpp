// Images in a folder for each class as data sets, and every message of theirs.
#include "errors.h"
#include "image_decoder.h"
#include "training_module.h"
#include "vx/train/dataset.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace vx::test;
using namespace vx::train;
namespace fs = std::filesystem;

namespace {

// A portable pixel map of one colour for each column.
void writeImage(const std::string &path, int height, const std::vector<std::array<uint8_t, 3>> &columns) {
  std::string text = "P6 " + std::to_string(columns.size()) + " " + std::to_string(height) + " 255\n";
  for (int y = 0; y < height; ++y)
    for (const auto &color : columns)
      text.append(reinterpret_cast<const char *>(color.data()), 3);
  fs::create_directories(fs::path(path).parent_path());
  writeFile(path, {text.begin(), text.end()});
}

class Images : public testing::Test {
protected:
  Images() : folder(scratchPath("images")) {
    fs::remove_all(folder);
    writeImage(folder + "/dog/b.ppm", 2, {{10, 20, 30}, {40, 50, 60}});
    writeImage(folder + "/cat/1.ppm", 2, {{255, 0, 51}, {255, 0, 51}});
    writeImage(folder + "/dog/a/c.PPM", 2, {{70, 80, 90}, {70, 80, 90}});
    options.height = options.width = 2;
  }
  std::vector<float> read(const Dataset &set, int64_t row) {
    std::vector<float> values(static_cast<size_t>(options.channels * options.height * options.width));
    std::byte *places[] = {reinterpret_cast<std::byte *>(values.data()), nullptr};
    set.read(std::vector{row}, places);
    return values;
  }
  std::string error() {
    std::string text = errorOf([&] { Dataset::images(folder, options); });
    for (size_t at; (at = text.find(folder)) != std::string::npos;)
      text.replace(at, folder.size(), "DIR");
    return text;
  }

  std::string folder;
  ImageOptions options;
};

} // namespace

TEST_F(Images, rowsByClass) {
  writeFile(folder + "/dog/notes.txt", {1});
  writeFile(folder + "/dog/.hidden.png", {1});
  fs::create_directories(folder + "/.git");
  for (const uint64_t memory : {uint64_t(1) << 30, uint64_t(0)}) {
    options.memory = memory;
    const Dataset set = Dataset::images(folder, options);
    EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(set.rows(), 3);
    EXPECT_EQ(set.columns()[0].dims, (std::vector<int64_t>{3, 2, 2}));
    int64_t labels[3] = {};
    std::byte *places[] = {nullptr, reinterpret_cast<std::byte *>(labels)};
    set.read(std::vector<int64_t>{2, 0, 1}, places);
    EXPECT_EQ(std::vector(labels, labels + 3), (std::vector<int64_t>{1, 0, 1}));
    EXPECT_EQ(read(set, 0), (std::vector<float>{1, 1, 1, 1, 0, 0, 0, 0, 0.2F, 0.2F, 0.2F, 0.2F}));
    EXPECT_FLOAT_EQ(read(set, 1)[0], 70 / 255.F); // "dog/a/c.PPM" is before "dog/b.ppm"
    EXPECT_FLOAT_EQ(read(set, 2)[1], 40 / 255.F);
    EXPECT_EQ(set.description(), "images of 2 x 2 pixels, RGB, resized as a whole, samples from 0 to 1");
    ASSERT_EQ(set.notes().size(), 1u);
    EXPECT_TRUE(set.notes()[0].ends_with("dog: 2 files that are no images are left out")) << set.notes()[0];
  }
}

TEST_F(Images, layoutsAndNormalisation) {
  options.channels_last = true;
  options.mean = {0.5, 0.25, 0};
  options.deviation = {0.5};
  const std::vector<float> last = read(Dataset::images(folder, options), 0);
  EXPECT_EQ(std::vector(last.begin(), last.begin() + 3), (std::vector<float>{1, -0.5F, 0.4F}));
  EXPECT_EQ(Dataset::images(folder, options).columns()[0].dims, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(Dataset::images(folder, options).description(),
            "images of 2 x 2 pixels, RGB, resized as a whole, (sample / 255 - 0.5 0.25 0) / 0.5 0.5 0.5");
  options = {.height = 1, .width = 1, .channels = 1};
  EXPECT_FLOAT_EQ(read(Dataset::images(folder, options), 1)[0], 78 / 255.F); // 0.299 70 + 0.587 80 + 0.114 90
  options = {.type = VX_U8, .height = 2, .width = 1, .resize = 2};
  const Dataset bytes = Dataset::images(folder, options);
  uint8_t samples[6] = {};
  std::byte *places[] = {reinterpret_cast<std::byte *>(samples), nullptr};
  bytes.read(std::vector<int64_t>{2}, places);
  // The column of an odd centre is the one of the even offset.
  EXPECT_EQ(std::vector(samples, samples + 6), (std::vector<uint8_t>{10, 10, 20, 20, 30, 30}));
  EXPECT_EQ(bytes.description(),
            "images of 2 x 1 pixels, RGB, the centre after resizing the shorter side to 2, samples from 0 to 255");
}

// The parts of a data set are no classes, unless they have images alone or something beside them is one.
TEST_F(Images, partsOfADataSet) {
  const fs::path root = folder;
  const auto move = [&](const std::string &part) {
    fs::create_directories(root / part);
    for (const char *name : {"cat", "dog"})
      fs::copy(root / name, root / part / name, fs::copy_options::recursive);
  };
  move("train");
  move("test");
  for (const char *name : {"cat", "dog"})
    fs::remove_all(root / name);
  EXPECT_EQ(error(), "data: DIR: expected a folder of images for each class, got the parts of a data set, 'test', "
                     "'train': give the folder of one part, such as DIR/train");
  EXPECT_EQ(Dataset::images(folder + "/train", options).classes(), (std::vector<std::string>{"cat", "dog"}));
  fs::rename(root / "test", root / "validation");
  EXPECT_NE(error().find("'train', 'validation'"), std::string::npos);
  fs::rename(root / "train", root / "dev");
  EXPECT_EQ(Dataset::images(folder, options).classes(), (std::vector<std::string>{"dev", "validation"}));
  fs::rename(root / "dev", root / "training");
  writeImage(folder + "/bird/1.ppm", 1, {{1, 2, 3}});
  EXPECT_EQ(Dataset::images(folder, options).classes().size(), 3u);
  fs::remove_all(root / "bird");
  fs::remove_all(root / "validation");
  EXPECT_EQ(Dataset::images(folder, options).classes(), std::vector<std::string>{"training"});
  writeImage(folder + "/test/1.ppm", 1, {{1, 2, 3}}); // images and no folders: a class
  EXPECT_EQ(Dataset::images(folder, options).classes(), (std::vector<std::string>{"test", "training"}));
}

// The numbers are those of Pillow 13.0, Image.resize((width, height), Image.BILINEAR).
TEST(ResizedImages, areAveraged) {
  const Pixels row{1, 4, 1, {0, 100, 200, 40}};
  EXPECT_EQ(resizeImage(row, 1, 2).samples, (std::vector<uint8_t>{71, 117}));
  EXPECT_EQ(resizeImage(row, 1, 8).samples, (std::vector<uint8_t>{0, 25, 75, 125, 175, 160, 80, 40}));
  EXPECT_EQ(resizeImage(row, 1, 4).samples, row.samples);
  Pixels noise{9, 7, 3, {}};
  for (uint32_t i = 0, x = 1; i < 9 * 7 * 3; ++i) {
    x = (x * 1103515245U + 12345U) % (1U << 31);
    noise.samples.push_back(static_cast<uint8_t>(x >> 16));
  }
  EXPECT_EQ(resizeImage(noise, 5, 4).samples,
            (std::vector<uint8_t>{135, 86,  139, 154, 162, 158, 130, 72,  190, 142, 105, 128, 114, 97,  71,
                                  178, 120, 142, 106, 153, 149, 128, 125, 128, 115, 164, 78,  169, 129, 97,
                                  146, 105, 119, 120, 125, 106, 121, 97,  113, 150, 99,  116, 85,  116, 82,
                                  149, 79,  105, 77,  129, 113, 92,  115, 150, 116, 187, 102, 125, 102, 148}));
  const Pixels column{4, 1, 1, {0, 100, 200, 40}};
  EXPECT_EQ(resizeImage(column, 2, 1).samples, (std::vector<uint8_t>{71, 117}));
}

TEST_F(Images, messages) {
  auto with = [&](const ImageOptions &changed) {
    options = changed;
    std::string text = error();
    options = {.height = 2, .width = 2};
    return text;
  };
  EXPECT_EQ(with({.height = 0, .width = 2}),
            "argument: images: expected a height and width from 1 to 16384, got 0 x 2");
  EXPECT_EQ(with({.height = 2, .width = 2, .channels = 4}), "argument: images: expected 1 or 3 channels, got 4");
  EXPECT_EQ(with({.type = VX_F16, .height = 2, .width = 2}),
            "argument: images: expected samples of f32 or u8, got f16");
  EXPECT_EQ(with({.height = 2, .width = 3, .resize = 2}), "argument: images: expected a shorter side from 3 to 16384, "
                                                          "of which 2 x 3 pixels are cut out, got 2");
  EXPECT_EQ(with({.type = VX_U8, .height = 2, .width = 2, .mean = {0.5}}),
            "argument: images: samples of u8 are not normalised, got a mean or a deviation");
  EXPECT_EQ(with({.height = 2, .width = 2, .mean = {0.5, 0.5}}),
            "argument: images: expected a mean for each of 3 channels, got 2");
  EXPECT_EQ(with({.height = 2, .width = 2, .deviation = {0}}),
            "argument: images: expected a finite deviation above 0, got 0");
  EXPECT_EQ(with({.height = 2, .width = 2, .classes = {"cat", "cow"}}),
            "data: DIR: expected the classes of the data to train on, 'cat', 'cow', got 'cat', 'dog'");
  writeFile(folder + "/cat/2.png", {1, 2, 3});
  const std::string damaged = error();
  EXPECT_EQ(damaged, "data: DIR/cat/2.png: expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got 3 bytes "
                     "that begin with 01 02 03");
  options.memory = 0; // found when it is read
  const Dataset set = Dataset::images(folder, options);
  EXPECT_EQ(errorOf([&] { read(set, 1); }).substr(0, 6), "data: ");
  writeFile(folder + "/cat/2.png", {});
  options.memory = 1 << 20;
  EXPECT_EQ(error(), "data: DIR/cat/2.png: expected a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image, got 0 bytes");
  fs::remove(folder + "/cat/2.png");
  fs::create_directories(folder + "/empty");
  EXPECT_EQ(error(), "data: DIR/empty: expected images (.png, .jpg, .jpeg, .bmp, .webp, .tif, .tiff, .pgm, .ppm, "
                     ".pnm, .jp2, .j2k), got none in the folder of class 'empty'");
  folder += "/none";
  EXPECT_EQ(error(), "data: DIR: cannot be read: No such file or directory");
  fs::create_directories(folder);
  EXPECT_EQ(error(), "data: DIR: expected a folder of images for each class, got no folder in it");
}
