// A file of its own, since each commit compiles it again.
#include "source_commit.h"

#include "commit.h"

const char *sourceCommit() { return SourceCommit; }
