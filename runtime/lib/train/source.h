// Where the rows of a data set come from.
#ifndef VX_TRAIN_SOURCE_H
#define VX_TRAIN_SOURCE_H

#include "vx/train/dataset.hpp"

#include <memory>

namespace vx::train {

class Source {
public:
  virtual ~Source() = default;

  // Copies the elements of some rows to `places`, one for each column; null ones are left out.
  virtual void read(std::span<const int64_t> rows, std::span<std::byte *const> places) const = 0;
  // The rows of a column as they lie in memory; null: only `read` has them.
  virtual const std::byte *elements(size_t column) const { return nullptr; }
  // What messages call a column.
  virtual std::string origin(size_t column) const = 0;

  std::vector<std::string> classes; // see Dataset
  std::string description;
  std::vector<std::string> notes;
  std::vector<Column> columns;
  std::vector<uint64_t> rowBytes; // of each column
  int64_t rows = 0;
};

// Throws Error::data for each thing that is wrong, and names the file.
std::shared_ptr<const Source> openNpyFiles(const std::vector<std::pair<std::string, std::string>> &files);
std::shared_ptr<const Source> openCsvFile(const std::string &path, const CsvOptions &options);
std::shared_ptr<const Source> openImageFolder(const std::string &folder, const ImageOptions &options);

} // namespace vx::train

#endif
