// Where compiled kernels and models are kept between processes.
#ifndef VX_BASE_CACHE_FOLDER_H
#define VX_BASE_CACHE_FOLDER_H

#include <string>

namespace vx {

// VX_CACHE, or vx in XDG_CACHE_HOME, or .cache/vx in HOME: of the first of these variables that is not empty. Empty,
// for no cache, if none is set. Reads the environment.
std::string defaultCacheFolder();

} // namespace vx

#endif
