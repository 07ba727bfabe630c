// A file with a line of JSON for each result, written as soon as it is there, so that a run that was cut off goes on
// where it was.
#ifndef VX_TOOLS_JOURNAL_H
#define VX_TOOLS_JOURNAL_H

#include "conformance_report.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace vx::tools {

class Journal {
public:
  // What the file has, in its order; what follows is added. A last line that was cut off is dropped. Throws a
  // ToolError: exit 3 that names the line which is none of a journal, exit 1 where the file cannot be written.
  std::vector<CaseResult> open(const std::string &path);

  // Nothing where none is open. Throws a ToolError (exit 1) when the disk is full.
  void add(const CaseResult &result);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file;
  std::string path;
};

} // namespace vx::tools

#endif
