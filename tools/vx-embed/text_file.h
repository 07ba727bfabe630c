// The texts of a file.
#ifndef VX_EMBED_TEXT_FILE_H
#define VX_EMBED_TEXT_FILE_H

#include <string>
#include <vector>

namespace vx::tools {

// One for each line; a last line without a line break is one too, an empty line is an empty text, and the carriage
// return of a line break is no part of a text. In a file that ends in .jsonl a line is a JSON string, or an object with
// a string 'text'. "-" is standard input. Throws a ToolError (exit 3) that names the file and the line.
std::vector<std::string> readTexts(const std::string &path);

} // namespace vx::tools

#endif
