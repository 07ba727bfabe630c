// Data to train on: rows of named columns, which are the inputs of a training step.
#ifndef VX_TRAIN_DATASET_HPP
#define VX_TRAIN_DATASET_HPP

#include "vx/runtime/vx.hpp"
#include "vx/train/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vx::train {

// One column: a tensor of `type` and `dims` in each row.
struct Column {
  std::string name;
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims; // of one row
};

// A column in memory of the caller: `rows` rows in sequence, row-major.
struct Array {
  std::string name;
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims; // the first one is the rows
  const void *data = nullptr;
  std::shared_ptr<const void> owner = {}; // owns `data`; null: the caller does
};

// An array of a C++ type: array<float>("image", {450, 1, 8, 8}, pixels). The elements are borrowed. Those of a vector
// that is a temporary, or is moved here, are owned by the array and by the sets that are made of it.
template <typename T>
Array array(std::string name, std::vector<int64_t> dims, std::span<const T> elements) {
  static_assert(elementTypeOf<T>() != VX_ELEMENT_NONE, "a type without a vx element type");
  uint64_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<uint64_t>(dim);
  if (count != elements.size())
    throw Error(Error::Kind::argument, "array '" + name + "': the dims need " + std::to_string(count) +
                                           " elements, got " + std::to_string(elements.size()));
  return {std::move(name), elementTypeOf<T>(), std::move(dims), elements.data()};
}
template <typename T>
Array array(std::string name, std::vector<int64_t> dims, std::vector<T> &&elements) {
  auto owned = std::make_shared<const std::vector<T>>(std::move(elements));
  Array made = array<T>(std::move(name), std::move(dims), std::span<const T>(*owned));
  made.owner = std::move(owned);
  return made;
}

// Writes the elements of row `row` to `places`, one for each column, in their order. Called with any row, in any order
// and again for each epoch; the same row must give the same elements. An exception ends the operation that reads.
using RowReader = std::function<void(int64_t row, std::span<std::byte *const> places)>;

// How a CSV file becomes columns.
struct CsvOptions {
  // The columns to make, such as the inputs of a training step. Those of an integer type become i64, others f32. A size
  // below 0 is any.
  std::vector<Column> columns;
  std::string target = {};               // the one of them that `label` is for; empty: none
  std::string label = {};                // a column of the file; empty: the one of the name `target`
  std::vector<std::string> classes = {}; // that labels which are text must be of, sorted; empty: those of the file
};

// How images become columns.
struct ImageOptions {
  std::string image = "image", label = "label"; // the names of the columns
  vx_element_type type = VX_F32;                // f32, or u8: samples from 0 to 255
  int64_t height = 0, width = 0, channels = 3;  // 1 channel is the luma, 3 are red, green and blue
  bool channels_last = false;                   // [height, width, channels], else [channels, height, width]
  // 0: the whole image is resized to height and width. Else its shorter side is resized to so many pixels, and the
  // centre of height and width is cut out.
  int64_t resize = 0;
  // A sample of f32 is (sample / 255 - mean) / deviation; one number for all channels, or one for each. Empty: 0 and 1.
  std::vector<double> mean = {}, deviation = {};
  std::vector<std::string> classes = {}; // that the folder must have; empty: any
  uint64_t memory = 1 << 30;             // bytes of resized images that are held, so that each is decoded once
};

class Source;

// A list of rows of a source. Copies share the source, which never changes; they are cheap. Reading is thread-safe if
// the source is: files and arrays are, a callback is if its author made it so.
//
// A column must have the element type of its input, or one that is converted: integers to integers, if each value is
// one of the input's type; f64 to f32, rounded to the nearest; and f32 to f64. A value that would be lost is an error
// with its row. Nothing else is converted: the user decides how to scale integers to floats.
class VX_TRAIN_API Dataset {
public:
  // One .npy file for each column, {{"image", "train_x.npy"}, {"label", "train_y.npy"}}: versions 1 to 3, row-major,
  // little-endian. The first dimension is the rows, of which all files have the same number. The files are mapped, not
  // read: they must not change while a copy of the set lives. Throws Error::data that names the file.
  static Dataset npy(const std::vector<std::pair<std::string, std::string>> &files);

  // A CSV file with the names of its columns in the first line, which is read into memory. A column of one number in a
  // row has the file's column of its name; one other column has all of the file's columns that are left, in their
  // order. Labels that are text become the positions of their classes in sorted order. Throws Error::data with the
  // line, the column, and the expected and the given value.
  static Dataset csv(const std::string &path, const CsvOptions &options);

  // Images in a folder for each class, `folder`/CLASS/..., of the formats of docs/onnx.md. The sorted names of the
  // folders are the classes. Other files are left out, with a note. All images are decoded at once if the resized ones
  // fit into `memory`, so that damaged ones are found then, else when they are read. Throws Error::argument for
  // options out of their range, Error::data that names the file.
  static Dataset images(const std::string &folder, const ImageOptions &options);

  // Columns in memory, which must not change while a copy of the set lives; owners are held as long.
  static Dataset arrays(std::vector<Array> columns);

  // Rows that a function makes.
  static Dataset callback(std::vector<Column> columns, int64_t rows, RowReader reader);

  // Two sets without a common row that together have all rows. The first has round(fraction * rows), at least one, at
  // most all but one. The seed alone decides which; each set has the order of the rows. Throws Error::argument for a
  // fraction that is not between 0 and 1, and for less than two rows.
  std::pair<Dataset, Dataset> split(double fraction, uint64_t seed) const;

  int64_t rows() const;
  const std::vector<Column> &columns() const;
  // The names of the classes that labels are numbers of; none where the data say none.
  const std::vector<std::string> &classes() const;
  // How images were resized and normalised, as text; empty for other data. Checkpoints and histories have it.
  const std::string &description() const;
  // Facts about the data for the user: files and columns that are left out.
  const std::vector<std::string> &notes() const;
  // The number of the column of this name; -1: there is none.
  int find(const std::string &name) const;
  // The name of a column in messages: its file, or its name.
  std::string origin(size_t column) const;

  // Copies `rows` of the set, numbers from 0, to `places`, one for each column; a null place is skipped.
  void read(std::span<const int64_t> rows, std::span<std::byte *const> places) const;

  // [lower, upper), and one value more, e.g. that of a label that does not count.
  struct Range {
    int64_t lower, upper;
    std::optional<int64_t> also = {};
  };
  // Throws Error::data for the first element of an integer column that is not in the range, with its row, when the
  // source is a file or an array; a callback's rows are checked when they are read.
  void check_range(size_t column, const Range &range) const;
  // The same for rows that have been read to `place`.
  void check_range(size_t column, const Range &range, std::span<const int64_t> rows, const std::byte *place) const;

  // Writes the elements of a column for rows that have been read to `place` as elements of `type`. Throws Error::data
  // for the first that it does not hold, with its row.
  void convert(size_t column, std::span<const int64_t> rows, const std::byte *place, vx_element_type type,
               std::byte *target) const;
  // Throws as `convert` would of any row, when the source is a file or an array.
  void check_converts(size_t column, vx_element_type type) const;

private:
  Dataset() = default;
  int64_t source_row(int64_t row) const;

  std::shared_ptr<const Source> source;
  std::shared_ptr<const std::vector<int64_t>> chosen; // null: all rows
};

} // namespace vx::train

#endif
