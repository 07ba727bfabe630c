#include "csv_text.h"

#include "failure.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <array>

namespace vx::train {

namespace {

class CsvParser {
public:
  CsvParser(std::string_view text, std::string_view name) : text(text), name(name) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (text.starts_with(mark))
      at = mark.size();
  }

  CsvText run() {
    separator = findSeparator();
    CsvText table;
    std::vector<std::string> row;
    if (!readRow(row))
      throw dataError("{}: expected a line with the names of the columns, got {}", name,
                      text.empty() ? "an empty file" : "no text");
    checkNames(row);
    table.names = std::move(row);
    for (row.clear(); readRow(row); row.clear()) {
      if (row.size() != table.names.size())
        throw dataError("{}: line {}: expected {} fields, one for each column, got {}", name, begin, table.names.size(),
                        row.size());
      for (std::string &field : row)
        table.fields.push_back(std::move(field));
      table.lines.push_back(begin);
    }
    return table;
  }

private:
  // Of the first row: the first of the known ones that is there outside of quotes.
  char findSeparator() const {
    static constexpr std::string_view known = ",;\t";
    std::array<bool, known.size()> found = {};
    bool isQuoted = false, isFieldBegin = true, hasText = false;
    for (size_t i = at; i < text.size(); ++i) {
      const char letter = text[i];
      if (isQuoted) {
        isQuoted = letter != '"'; // two of them open it again
      } else if (letter == '\n') {
        if (hasText)
          break;
      } else if (const size_t number = known.find(letter); number != known.npos) {
        found[number] = isFieldBegin = true;
      } else if (letter != ' ') {
        // After a closing quote another one is part of the field.
        isQuoted = letter == '"' && (isFieldBegin || (i > 0 && text[i - 1] == '"'));
        isFieldBegin = false;
      }
      hasText |= letter != ' ' && letter != '\t' && letter != '\r' && letter != '\n';
    }
    for (size_t number = 0; number < known.size(); ++number)
      if (found[number])
        return known[number];
    return known.front();
  }

  void checkNames(const std::vector<std::string> &names) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty())
        throw dataError("{}: line {}: expected a name for each column, got none for column {}", name, begin, i + 1);
      if (std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<ptrdiff_t>(i))
        throw dataError("{}: line {}: column '{}' is there twice", name, begin, printableLine(names[i]));
    }
  }

  // The next row that is no empty line; false at the end.
  bool readRow(std::vector<std::string> &row) {
    while (at < text.size() && skipLineEnd())
      continue;
    if (at == text.size())
      return false;
    begin = line;
    for (;;) {
      row.push_back(readField());
      if (at < text.size() && text[at] == separator) {
        ++at;
        continue;
      }
      skipLineEnd();
      return true;
    }
  }

  bool skipLineEnd() {
    if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n')
      ++at;
    else if (text[at] != '\n' && !(text[at] == '\r' && at + 1 == text.size()))
      return false;
    ++at;
    ++line;
    return true;
  }

  bool isEnd() const { return at == text.size() || text[at] == separator || isLineEnd(); }
  bool isLineEnd() const {
    return text[at] == '\n' || (text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n'));
  }
  void skipSpaces() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t') && text[at] != separator)
      ++at;
  }

  std::string readField() {
    skipSpaces();
    if (at < text.size() && text[at] == '"')
      return readQuoted();
    const size_t first = at;
    while (!isEnd())
      ++at;
    size_t last = at;
    while (last > first && (text[last - 1] == ' ' || text[last - 1] == '\t'))
      --last;
    return std::string(text.substr(first, last - first));
  }

  std::string readQuoted() {
    const uint64_t opened = line;
    std::string field;
    for (++at;; ++at) {
      if (at == text.size())
        throw dataError("{}: line {}: expected a closing quote, got the end of the file", name, opened);
      if (text[at] == '"') {
        if (at + 1 == text.size() || text[at + 1] != '"')
          break;
        ++at;
      }
      line += text[at] == '\n' ? 1 : 0;
      field += text[at];
    }
    ++at;
    skipSpaces();
    if (!isEnd())
      throw dataError("{}: line {}: expected '{}' or the line's end after a closing quote, got '{}'", name, line,
                      separator == '\t' ? ' ' : separator, printableLine(text.substr(at, 1)));
    return field;
  }

  std::string_view text, name;
  size_t at = 0;
  uint64_t line = 1;
  uint64_t begin = 1; // the line of the row
  char separator = ',';
};

} // namespace

CsvText parseCsv(std::string_view text, std::string_view name) { return CsvParser(text, name).run(); }

} // namespace vx::train
