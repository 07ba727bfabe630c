#include "vx/train/dataset.hpp"

#include "conversion.h"
#include "failure.h"
#include "random.h"
#include "source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace vx::train {

namespace {

class Arrays : public Source {
public:
  explicit Arrays(std::vector<Array> given) {
    if (given.empty())
      throw argumentError("data: expected one array or more, got none");
    for (Array &array : given) {
      if (array.dims.empty())
        throw argumentError("data: array '{}': expected rows, the first dimension, got no dimensions", array.name);
      const std::optional<uint64_t> bytes = byteCount(array.type, array.dims);
      if (!bytes)
        throw argumentError("data: array '{}': {} is negative, too large, or no whole number of bytes", array.name,
                            typeText(array.type, array.dims));
      if (*bytes > 0 && !array.data)
        throw argumentError("data: array '{}': expected {} bytes, got a null pointer", array.name, *bytes);
      if (!columns.empty() && array.dims[0] != rows)
        throw argumentError("data: array '{}' has {} rows, '{}' has {}", array.name, array.dims[0], columns[0].name,
                            rows);
      for (const Column &column : columns)
        if (column.name == array.name)
          throw argumentError("data: array '{}' is given twice", array.name);
      rows = array.dims[0];
      std::vector<int64_t> dims(array.dims.begin() + 1, array.dims.end());
      const uint64_t bytesOfRow = byteCount(array.type, dims).value_or(0);
      columns.push_back({array.name, array.type, std::move(dims)});
      rowBytes.push_back(bytesOfRow);
      starts.push_back(static_cast<const std::byte *>(array.data));
      owners.push_back(std::move(array.owner));
    }
  }

  void read(std::span<const int64_t> wanted, std::span<std::byte *const> places) const override {
    for (size_t column = 0; column < columns.size(); ++column)
      if (std::byte *place = places[column])
        for (int64_t row : wanted) {
          if (rowBytes[column] > 0)
            std::memcpy(place, starts[column] + static_cast<uint64_t>(row) * rowBytes[column], rowBytes[column]);
          place += rowBytes[column];
        }
  }
  const std::byte *elements(size_t column) const override { return starts[column]; }
  std::string origin(size_t column) const override { return columns[column].name; }

private:
  std::vector<const std::byte *> starts;
  std::vector<std::shared_ptr<const void>> owners;
};

class CallbackRows : public Source {
public:
  CallbackRows(std::vector<Column> given, int64_t count, RowReader reader) : reader(std::move(reader)) {
    columns = std::move(given);
    rows = count;
    if (columns.empty())
      throw argumentError("data: expected one column or more, got none");
    if (rows < 0)
      throw argumentError("data: expected 0 rows or more, got {}", rows);
    if (!this->reader)
      throw argumentError("data: expected a function that reads a row, got none");
    for (const Column &column : columns) {
      const std::optional<uint64_t> bytes = byteCount(column.type, column.dims);
      if (!bytes)
        throw argumentError("data: column '{}': {} is negative, too large, or no whole number of bytes", column.name,
                            typeText(column.type, column.dims));
      rowBytes.push_back(*bytes);
    }
  }

  void read(std::span<const int64_t> wanted, std::span<std::byte *const> places) const override {
    // The reader gives whole rows: what nobody wants of them goes here.
    std::vector<std::vector<std::byte>> unwanted(columns.size());
    std::vector<std::byte *> at(places.begin(), places.end());
    for (size_t column = 0; column < columns.size(); ++column)
      if (!at[column]) {
        unwanted[column].resize(std::max<uint64_t>(rowBytes[column], 1));
        at[column] = unwanted[column].data();
      }
    for (int64_t row : wanted) {
      reader(row, at);
      for (size_t column = 0; column < columns.size(); ++column)
        if (places[column])
          at[column] += rowBytes[column];
    }
  }
  std::string origin(size_t column) const override { return columns[column].name; }

private:
  RowReader reader;
};

std::string integerText(__int128 value) {
  return value < 0 ? std::to_string(static_cast<int64_t>(value)) : std::to_string(static_cast<uint64_t>(value));
}

} // namespace

Dataset Dataset::npy(const std::vector<std::pair<std::string, std::string>> &files) {
  Dataset set;
  set.source = openNpyFiles(files);
  return set;
}

Dataset Dataset::arrays(std::vector<Array> columns) {
  Dataset set;
  set.source = std::make_shared<Arrays>(std::move(columns));
  return set;
}

Dataset Dataset::callback(std::vector<Column> columns, int64_t rows, RowReader reader) {
  Dataset set;
  set.source = std::make_shared<CallbackRows>(std::move(columns), rows, std::move(reader));
  return set;
}

Dataset Dataset::csv(const std::string &path, const CsvOptions &options) {
  Dataset set;
  set.source = openCsvFile(path, options);
  return set;
}

Dataset Dataset::images(const std::string &folder, const ImageOptions &options) {
  Dataset set;
  set.source = openImageFolder(folder, options);
  return set;
}

const std::vector<std::string> &Dataset::classes() const { return source->classes; }
const std::string &Dataset::description() const { return source->description; }
const std::vector<std::string> &Dataset::notes() const { return source->notes; }

int64_t Dataset::rows() const { return chosen ? static_cast<int64_t>(chosen->size()) : source->rows; }
const std::vector<Column> &Dataset::columns() const { return source->columns; }
std::string Dataset::origin(size_t column) const { return source->origin(column); }
int64_t Dataset::source_row(int64_t row) const { return chosen ? (*chosen)[static_cast<size_t>(row)] : row; }

int Dataset::find(const std::string &name) const {
  for (size_t i = 0; i < columns().size(); ++i)
    if (columns()[i].name == name)
      return static_cast<int>(i);
  return -1;
}

std::pair<Dataset, Dataset> Dataset::split(double fraction, uint64_t seed) const {
  if (!(fraction > 0 && fraction < 1))
    throw argumentError("split: expected a fraction between 0 and 1, got {}", fraction);
  if (rows() < 2)
    throw argumentError("split: expected 2 rows or more, got {}", rows());
  const int64_t first = std::clamp<int64_t>(std::llround(fraction * static_cast<double>(rows())), 1, rows() - 1);
  std::vector<int64_t> order = permutation(rows(), seed, Use::split, 0);
  auto part = [&](auto begin, auto end) {
    std::vector<int64_t> numbers(begin, end);
    std::sort(numbers.begin(), numbers.end());
    for (int64_t &number : numbers)
      number = source_row(number);
    Dataset set;
    set.source = source;
    set.chosen = std::make_shared<const std::vector<int64_t>>(std::move(numbers));
    return set;
  };
  return {part(order.begin(), order.begin() + first), part(order.begin() + first, order.end())};
}

void Dataset::read(std::span<const int64_t> rows, std::span<std::byte *const> places) const {
  if (!chosen)
    return source->read(rows, places);
  std::vector<int64_t> numbers;
  numbers.reserve(rows.size());
  for (int64_t row : rows)
    numbers.push_back(source_row(row));
  source->read(numbers, places);
}

void Dataset::check_range(size_t column, const Range &range) const {
  const Column &facts = columns()[column];
  const std::byte *start = source->elements(column);
  if (!start || !isInteger(facts.type))
    return;
  for (int64_t row = 0; row < rows(); ++row) {
    const int64_t numbers[] = {row};
    check_range(column, range, numbers, start + static_cast<uint64_t>(source_row(row)) * source->rowBytes[column]);
  }
}

void Dataset::check_range(size_t column, const Range &range, std::span<const int64_t> rows,
                          const std::byte *place) const {
  const Column &facts = columns()[column];
  if (!isInteger(facts.type))
    return;
  const uint64_t size = vx_element_type_bits(facts.type) / 8;
  const uint64_t count = source->rowBytes[column] / size;
  for (int64_t row : rows)
    for (uint64_t i = 0; i < count; ++i, place += size)
      if (const __int128 value = integerAt(facts.type, place);
          (value < range.lower || value >= range.upper) && !(range.also && value == *range.also))
        throw dataError("{}: row {}{} has {}, expected {} to {}{}", origin(column), source_row(row),
                        count > 1 ? fmt::format(", element {},", i) : "", integerText(value), range.lower,
                        range.upper - 1, range.also ? fmt::format(", or {}", *range.also) : "");
}

void Dataset::convert(size_t column, std::span<const int64_t> rows, const std::byte *place, vx_element_type type,
                      std::byte *target) const {
  const vx_element_type from = columns()[column].type;
  const uint64_t size = vx_element_type_bits(from) / 8;
  const uint64_t count = source->rowBytes[column] / size;
  for (int64_t row : rows) {
    if (const uint64_t lost = train::convert(from, place, type, target, count); lost < count)
      throw dataError("{}: row {}{} has {}, expected a value that {} holds: {}", origin(column), source_row(row),
                      count > 1 ? fmt::format(", element {},", lost) : "", elementText(from, place + lost * size),
                      vx_element_type_name(type), rangeText(type));
    place += source->rowBytes[column];
    target += count * (vx_element_type_bits(type) / 8);
  }
}

void Dataset::check_converts(size_t column, vx_element_type type) const {
  const Column &facts = columns()[column];
  const std::byte *start = source->elements(column);
  if (!start || !mayLose(facts.type, type))
    return;
  const uint64_t elements = source->rowBytes[column] / (vx_element_type_bits(facts.type) / 8);
  std::vector<std::byte> target(elements * (vx_element_type_bits(type) / 8));
  for (int64_t row = 0; row < rows(); ++row) {
    const int64_t numbers[] = {row};
    convert(column, numbers, start + static_cast<uint64_t>(source_row(row)) * source->rowBytes[column], type,
            target.data());
  }
}

} // namespace vx::train
