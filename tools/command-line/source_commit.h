#pragma once

// The commit of the sources that the tool is built of, in 12 digits: "e53a94d6c2b1". It ends with "-changed" if a file
// differed from it, and it is "unknown" if the sources were no checkout of git.
const char *sourceCommit();
