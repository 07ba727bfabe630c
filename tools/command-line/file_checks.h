// Checks the files of a command line before anything is written.
#ifndef VX_TOOLS_FILE_CHECKS_H
#define VX_TOOLS_FILE_CHECKS_H

#include "vx/base/command_files.h"

#include <string>
#include <vector>

namespace vx::tools {

using vx::CommandFiles;

// Throws a usage error when an output is an input or another output too, or is of a kind that cannot be written, and a
// work error when one cannot be made where it is to be.
void checkFiles(const CommandFiles &files);

// Throws a file error when a file that is to be a model is a module, which is compiled already. What cannot be read is
// for others to judge.
void refuseModuleFile(const std::string &path);

// The files of "--input NAME=@FILE" and "--output NAME=@FILE".
void addInputFiles(CommandFiles &files, const std::vector<std::string> &specifications);
void addOutputFiles(CommandFiles &files, const std::vector<std::string> &specifications);

// Whether a name stands for standard output: "-", or /dev/stdout by any spelling.
bool isStandardOutput(const std::string &path);

} // namespace vx::tools

#endif
