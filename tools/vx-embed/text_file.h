// The texts of a file.
#ifndef VX_EMBED_TEXT_FILE_H
#define VX_EMBED_TEXT_FILE_H

#include "input_file.h"

#include <string>
#include <vector>

namespace vx::tools {

// One for each line; a last line without a line break is one too, an empty line is an empty text, and the carriage
// return of a line break is no part of a text, nor is a byte order mark at the beginning. In a file that ends in .jsonl
// a line is a JSON string, or an object with a string 'text'. "-" is standard input, which is read whole and kept; of a
// file only what is asked for is in memory.
class TextFile {
public:
  // Reads all of it once. Throws a ToolError (exit 3) that names the file and the line.
  explicit TextFile(const std::string &path);

  size_t count() const { return lines; }
  // The next texts: up to `most`, and no more than have some 16 MB together, but at least one while there are any.
  // Throws a ToolError (exit 3) where the file is no longer as it was.
  std::vector<std::string> next(size_t most);

private:
  // False at the end.
  bool readText(std::string &text);
  void rewind();

  const std::string path;
  std::vector<char> kept; // of standard input
  std::unique_ptr<std::FILE, CloseFile> file;
  size_t lines = 0, given = 0;
  size_t number = 0; // of the line that was read last, from 1 on
};

} // namespace vx::tools

#endif
