// The fields of a CSV file.
#ifndef VX_TRAIN_CSV_TEXT_H
#define VX_TRAIN_CSV_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::train {

// A table with a name for each column, as RFC 4180 has it: fields may be between quotes, and then hold separators, line
// ends and doubled quotes. Lines end with LF or CRLF, and lines without a character are left out. The separator is the
// comma, or the semicolon or tab if the first line has no comma. A byte order mark is skipped.
struct CsvText {
  std::vector<std::string> names;
  std::vector<std::string> fields; // row by row, as many as names in each; without spaces around them
  std::vector<uint64_t> lines;     // of each row, from 1: the line that it begins in

  uint64_t rows() const { return lines.size(); }
};

// Throws Error::data that begins with `name`, with the line and the expected and the given value. The reasons are a
// file without names, a name that is empty or there twice, and another number of fields in a row. Others are text after
// a closing quote, and a quote that is not closed.
CsvText parseCsv(std::string_view text, std::string_view name);

} // namespace vx::train

#endif
