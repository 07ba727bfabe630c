// Notices that files of the configuration have changed, or that somebody asks for them to be read again.
#ifndef VX_SERVE_CONFIGURATION_WATCHER_H
#define VX_SERVE_CONFIGURATION_WATCHER_H

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vx::serve {

// Watches the folders of files, since editors and mounted volumes put another file under the name. It has no thread:
// its user waits for the descriptor and asks. Used by one thread.
class ConfigurationWatcher {
public:
  // Files that are not there may come. Where the system has no more watches, `error` says so, and SIGHUP is left.
  ConfigurationWatcher(const std::vector<std::string> &files, std::string &error);
  ~ConfigurationWatcher();
  ConfigurationWatcher(const ConfigurationWatcher &) = delete;
  ConfigurationWatcher &operator=(const ConfigurationWatcher &) = delete;

  // Readable when there may be something; for poll. -1 where only SIGHUP is left.
  int descriptor() const { return inotify; }

  // Whether to read the configuration again. Each change is told once. Never blocks.
  bool shallReload();

  // What a handler of SIGHUP calls, also where nothing is watched: the next shallReload() of whichever watcher is true.
  static void requestReload() noexcept;

private:
  // What tells one state of a file from another.
  struct State {
    uint64_t device = 0, node = 0, size = 0;
    int64_t changedS = 0, changedNs = 0;
    bool operator==(const State &) const = default;
  };
  static State stateOf(const std::string &file);
  void watchFolders(std::string &error);
  bool hasEvents();

  int inotify = -1;
  std::map<std::string, State> states;
  std::map<std::string, int> folders; // their watches
  static std::atomic<bool> isRequested;
};

} // namespace vx::serve

#endif
