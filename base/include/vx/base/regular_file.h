// What kind of thing a name stands for, decided before it is opened: to open a pipe may take for ever.
#ifndef VX_BASE_REGULAR_FILE_H
#define VX_BASE_REGULAR_FILE_H

#include <string>

#include <sys/types.h>

namespace vx {

// "a regular file", "a folder", "a pipe", "a socket" or "a device".
const char *fileKind(mode_t mode);

struct FileError {
  int number = 0;   // of errno; 0 where the file is of another kind
  std::string text; // "cannot be opened: No such file or directory", "is a pipe, expected a regular file"
};

// Opens a regular file for reading, and waits for nobody. Gives the descriptor, which the caller closes, or -1 and the
// reason.
int openRegularFile(const std::string &path, FileError &error);

} // namespace vx

#endif
