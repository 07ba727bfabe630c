// Columns of a CSV file as columns of a data set.
#include "conversion.h"
#include "csv_text.h"
#include "failure.h"
#include "mapped_file.h"
#include "source.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace vx::train {

namespace {

int64_t elementsOf(const Column &column) {
  int64_t count = 1;
  for (int64_t dim : column.dims)
    count = dim < 0 || count < 0 ? -1 : count * dim;
  return count;
}

class CsvFile : public Source {
public:
  CsvFile(const std::string &path, const CsvOptions &options) : path(path) {
    const MappedFile file(path);
    table = parseCsv({reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()}, path);
    rows = static_cast<int64_t>(table.rows());
    if (rows == 0)
      throw dataError("{}: expected rows after the names of the columns, got none", path);
    if (!options.label.empty() && columnOf(options.label) < 0)
      throw dataError("{}: no column '{}'{}; it has {}", path, options.label, didYouMean(options.label, table.names),
                      quoteNames(table.names));
    choose(options);
    for (const Wanted &one : wanted)
      readColumn(one, options);
    table = {}; // the columns have all of it
  }

  void read(std::span<const int64_t> numbers, std::span<std::byte *const> places) const override {
    for (size_t column = 0; column < columns.size(); ++column)
      if (std::byte *place = places[column])
        for (int64_t row : numbers) {
          std::memcpy(place, elements(column) + static_cast<uint64_t>(row) * rowBytes[column], rowBytes[column]);
          place += rowBytes[column];
        }
  }
  const std::byte *elements(size_t column) const override { return content[column].data(); }
  std::string origin(size_t column) const override { return origins[column]; }

private:
  struct Wanted {
    const Column *column;
    std::vector<size_t> places; // of the file's columns
  };

  int64_t columnOf(const std::string &text) const {
    const auto found = std::find(table.names.begin(), table.names.end(), text);
    return found == table.names.end() ? -1 : found - table.names.begin();
  }

  // An input of one number has the column of its name, the target that of the label, and one input has all others.
  void choose(const CsvOptions &options) {
    std::vector<bool> isUsed(table.names.size());
    std::vector<size_t> rest; // inputs without a column of their own
    for (size_t i = 0; i < options.columns.size(); ++i) {
      const Column &column = options.columns[i];
      int64_t place = columnOf(column.name);
      if (!options.label.empty() && column.name == options.target)
        place = columnOf(options.label);
      const int64_t count = elementsOf(column);
      wanted.push_back({&column, {}});
      if (place >= 0 && (count == 1 || count < 0)) {
        wanted.back().places.push_back(static_cast<size_t>(place));
        isUsed[static_cast<size_t>(place)] = true;
      } else {
        rest.push_back(i);
      }
    }
    if (rest.empty())
      return tellUnused(isUsed);
    if (rest.size() > 1 || options.columns[rest[0]].name == options.target) {
      std::vector<std::string> names;
      for (size_t i : rest)
        names.push_back(options.columns[i].name);
      throw dataError("{}: no column for {}: expected one of its name{}; the file has {}", path, quoteNames(names),
                      options.label.empty() && !options.target.empty()
                          ? fmt::format(", or --label with that of '{}'", options.target)
                          : "",
                      quoteNames(table.names));
    }
    Wanted &features = wanted[rest[0]];
    for (size_t place = 0; place < isUsed.size(); ++place)
      if (!isUsed[place])
        features.places.push_back(place);
    const int64_t count = elementsOf(*features.column);
    const auto got = static_cast<int64_t>(features.places.size());
    if (count >= 0 ? got != count : features.column->dims.size() != 1) {
      std::vector<std::string> names;
      for (size_t place : features.places)
        names.push_back(table.names[place]);
      throw dataError("{}: input '{}' expects {} numbers in a row, {}, got {} columns beside the others: {}", path,
                      features.column->name, count < 0 ? "a known number of" : std::to_string(count),
                      typeText(features.column->type, features.column->dims), got, quoteNames(names));
    }
  }

  void tellUnused(const std::vector<bool> &isUsed) {
    std::vector<std::string> names;
    for (size_t place = 0; place < isUsed.size(); ++place)
      if (!isUsed[place])
        names.push_back(table.names[place]);
    if (!names.empty())
      notes.push_back(fmt::format("{}: no input takes {}", path, quoteNames(names)));
  }

  void readColumn(const Wanted &one, const CsvOptions &options) {
    Column column = *one.column;
    if (column.dims.size() == 1 && column.dims[0] < 0)
      column.dims[0] = static_cast<int64_t>(one.places.size());
    const bool isWhole = isInteger(column.type);
    column.type = isWhole ? VX_I64 : VX_F32;
    content.emplace_back(static_cast<uint64_t>(rows) * one.places.size() * (isWhole ? 8 : 4));
    std::byte *place = content.back().data();
    if (isWhole && column.name == options.target && !areNumbers(one.places[0])) {
      readNames(one.places[0], options, place);
    } else {
      for (uint64_t row = 0; row < table.rows(); ++row)
        for (size_t from : one.places)
          place = isWhole ? put<int64_t>(row, from, place) : put<float>(row, from, place);
    }
    rowBytes.push_back(content.back().size() / static_cast<uint64_t>(rows));
    origins.push_back(one.places.size() == 1 ? fmt::format("{}: column '{}'", path, table.names[one.places[0]]) : path);
    columns.push_back(std::move(column));
  }

  const std::string &field(uint64_t row, size_t column) const {
    return table.fields[row * table.names.size() + column];
  }

  template <typename T>
  static bool parse(std::string_view text, T &value) {
    if (text.starts_with('+'))
      text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  template <typename T>
  std::byte *put(uint64_t row, size_t column, std::byte *place) const {
    const std::string &text = field(row, column);
    T value = 0;
    double wide = 0;
    bool isGood = false;
    if constexpr (std::is_integral_v<T>) {
      isGood = parse(text, value);
    } else {
      isGood = parse(text, wide) && std::isfinite(wide) && std::isfinite(value = static_cast<T>(wide));
    }
    if (!isGood)
      throw dataError("{}: line {}, column '{}': expected {}, got {}", path, table.lines[row],
                      printableLine(table.names[column]), std::is_integral_v<T> ? "a whole number" : "a finite number",
                      text.empty() ? "an empty field" : "'" + printableLine(text) + "'");
    std::memcpy(place, &value, sizeof(value));
    return place + sizeof(value);
  }

  // Whether a column of labels holds numbers: if the first one is. Another one is an error then.
  bool areNumbers(size_t column) const {
    double number = 0;
    return parse(field(0, column), number);
  }

  // Labels that are names: their places among all of them, sorted.
  void readNames(size_t column, const CsvOptions &options, std::byte *place) {
    classes = options.classes;
    if (classes.empty()) {
      for (uint64_t row = 0; row < table.rows(); ++row)
        classes.push_back(field(row, column));
      std::sort(classes.begin(), classes.end());
      classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    }
    for (uint64_t row = 0; row < table.rows(); ++row) {
      const std::string &text = field(row, column);
      const auto found = std::lower_bound(classes.begin(), classes.end(), text);
      if (text.empty() || found == classes.end() || *found != text)
        throw dataError("{}: line {}, column '{}': expected {}, got {}", path, table.lines[row],
                        printableLine(table.names[column]),
                        text.empty() ? "the name of a class" : "one of the classes " + quoteNames(classes),
                        text.empty() ? "an empty field" : "'" + printableLine(text) + "'");
      const int64_t number = found - classes.begin();
      std::memcpy(place, &number, sizeof(number));
      place += sizeof(number);
    }
  }

  std::string path;
  CsvText table;
  std::vector<Wanted> wanted;
  std::vector<std::vector<std::byte>> content; // of each column
  std::vector<std::string> origins;
};

} // namespace

std::shared_ptr<const Source> openCsvFile(const std::string &path, const CsvOptions &options) {
  return std::make_shared<CsvFile>(path, options);
}

} // namespace vx::train
