#include "configuration_watcher.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {

namespace fs = std::filesystem;

std::atomic<bool> ConfigurationWatcher::isRequested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "handlers of signals may write it");

ConfigurationWatcher::ConfigurationWatcher(const std::vector<std::string> &files, std::string &error) {
  for (const std::string &file : files)
    states.emplace(file, stateOf(file));
  inotify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify < 0) {
    error = fmt::format("files cannot be watched: {}", std::strerror(errno));
    return;
  }
  watchFolders(error);
}

ConfigurationWatcher::~ConfigurationWatcher() {
  if (inotify >= 0)
    ::close(inotify);
}

ConfigurationWatcher::State ConfigurationWatcher::stateOf(const std::string &file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0)
    return {};
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

void ConfigurationWatcher::watchFolders(std::string &error) {
  for (const auto &[file, state] : states) {
    const std::string parent = fs::path(file).parent_path().string(), folder = parent.empty() ? "." : parent;
    if (folders.contains(folder))
      continue;
    // A file that is being written is whole when it is closed; one that is moved or linked here is whole already.
    const int watch = ::inotify_add_watch(inotify, folder.c_str(),
                                          IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE |
                                              IN_ATTRIB | IN_ONLYDIR);
    if (watch >= 0)
      folders.emplace(folder, watch);
    else if (error.empty())
      error = fmt::format("'{}' cannot be watched: {}", folder, std::strerror(errno));
  }
}

// Takes all events. Whether one was of more than a file that somebody has only begun to write.
bool ConfigurationWatcher::hasEvents() {
  bool isThere = false;
  alignas(inotify_event) char buffer[4096];
  while (true) {
    const ssize_t got = inotify < 0 ? 0 : ::read(inotify, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return isThere;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      const char *name = event.len ? buffer + at + sizeof(event) : "";
      const int of = event.wd;
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      if (event.mask & IN_IGNORED) { // the folder is gone
        std::erase_if(folders, [&](const auto &entry) { return entry.second == of; });
        isThere = true;
        continue;
      }
      if (event.mask & IN_CREATE)
        for (const auto &[folder, watch] : folders) {
          struct stat info;
          if (watch == of && ::lstat((folder + "/" + name).c_str(), &info) == 0)
            isThere |= S_ISLNK(info.st_mode) || info.st_nlink > 1;
        }
      else
        isThere = true;
    }
  }
}

bool ConfigurationWatcher::shallReload() {
  bool shall = isRequested.exchange(false);
  if (!hasEvents() && !shall)
    return false;
  if (inotify >= 0) {
    std::string unused;
    watchFolders(unused); // those that have come back
  }
  for (auto &[file, state] : states) {
    const State now = stateOf(file);
    shall |= !(now == state);
    state = now;
  }
  return shall;
}

void ConfigurationWatcher::requestReload() noexcept { isRequested = true; }

} // namespace vx::serve
