// Feeds text to the reader of CSV files: it gives as many fields in each row as there are columns, or an error of the
// data, and what it has read it reads again from a file that is written of it.
#include "csv_text.h"
#include "mutate_text.h"
#include "vx/train/error.hpp"

#include <cstdlib>
#include <set>
#include <string>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static void check(bool condition) {
  if (!condition)
    std::abort();
}

// A field between quotes, so that nothing in it has a meaning.
static std::string quoted(const std::string &field) {
  std::string text = "\"";
  for (const char letter : field)
    text += letter == '"' ? "\"\"" : std::string(1, letter);
  return text + '"';
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = seed % 3 ? vx::fuzz::mutateText(data, size, maxSize, seed / 3) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // At a place of its own, so that an access after its end is found.
  const std::string text(reinterpret_cast<const char *>(data), size);
  vx::train::CsvText table;
  try {
    table = vx::train::parseCsv(text, "t.csv");
  } catch (const vx::train::Error &error) {
    check(error.kind() == vx::train::Error::Kind::data && std::string(error.what()).starts_with("t.csv: "));
    return 0;
  }
  const size_t columns = table.names.size();
  check(columns > 0 && table.fields.size() == table.rows() * columns);
  check(std::set<std::string>(table.names.begin(), table.names.end()).size() == columns);
  for (size_t row = 1; row < table.rows(); ++row)
    check(table.lines[row] > table.lines[row - 1]);
  std::string written;
  for (size_t i = 0; i < columns + table.fields.size(); ++i)
    written += quoted(i < columns ? table.names[i] : table.fields[i - columns]) + ((i + 1) % columns ? "," : "\n");
  const vx::train::CsvText again = vx::train::parseCsv(written, "t.csv");
  check(again.names == table.names && again.fields == table.fields && again.rows() == table.rows());
  return 0;
}
