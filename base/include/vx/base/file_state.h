// Whether files are still what they were.
#ifndef VX_BASE_FILE_STATE_H
#define VX_BASE_FILE_STATE_H

#include <string>

namespace vx {

// A text that is another one when a file has changed, going by names, sizes and times as make does: of a file and of
// those beside it whose names begin as its own does, where a model's weights are; of all files of a folder, three
// folders deep. What cannot be read is left out. Inodes also tell a file from another one of its size and time; they
// differ from one mount to the next.
std::string stateOfFiles(const std::string &path, bool withInodes);

// The same of one file alone.
std::string stateOfFile(const std::string &path, bool withInodes);

} // namespace vx

#endif
