#include "file_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace vx::serve {
namespace {

constexpr mode_t permissionBits = 07777;

std::string modeText(const FileAccess &access) {
  return fmt::format("mode {:04o}", static_cast<unsigned>(access.mode & permissionBits));
}

// Nobody may change it through this mount.
bool isSealed(const FileAccess &access) { return access.isOnVolume && access.isReadOnly; }

} // namespace

bool readFileAccess(int descriptor, FileAccess &access, std::string &error) {
  struct statx info = {}, root = {};
  struct statvfs mount = {};
  constexpr unsigned wanted = STATX_BASIC_STATS | STATX_MNT_ID;
  if (::statx(descriptor, "", AT_EMPTY_PATH, wanted, &info) != 0 || ::fstatvfs(descriptor, &mount) != 0) {
    error = fmt::format("cannot be examined: {}", std::strerror(errno));
    return false;
  }
  access = {info.stx_mode, info.stx_uid, info.stx_gid};
  access.isReadOnly = (mount.f_flag & ST_RDONLY) != 0;
  // A kernel that does not number mounts (before 5.8) has no volumes: what others may write is refused there.
  if ((info.stx_mask & STATX_MNT_ID) && ::statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &root) == 0 &&
      (root.stx_mask & STATX_MNT_ID))
    access.isOnVolume = info.stx_mnt_id != root.stx_mnt_id;
  access.isVolumeRoot = access.isOnVolume && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT);
  return true;
}

ProcessUser ProcessUser::current() {
  ProcessUser process = {::geteuid(), {::getegid()}};
  const int count = ::getgroups(0, nullptr);
  if (count > 0) {
    std::vector<gid_t> groups(static_cast<size_t>(count));
    groups.resize(static_cast<size_t>(std::max(0, ::getgroups(count, groups.data()))));
    process.groups.insert(process.groups.end(), groups.begin(), groups.end());
  }
  return process;
}

AccessVerdict judgeModelAccess(const FileAccess &access, const ProcessUser &process) {
  if ((access.mode & S_IWOTH) == 0)
    return {};
  const std::string found = fmt::format("others may write it ({})", modeText(access));
  if (isSealed(access))
    return {"", found + "; it is used, since its volume is mounted read-only"};
  const bool isTrusted = access.owner == 0 || access.owner == process.user;
  if (S_ISDIR(access.mode) && access.isVolumeRoot && isTrusted)
    return {"", found + "; it is used, since it is a volume of its own: mount it read-only where nothing writes it"};
  return {found + ": chmod o-w it, or mount its volume read-only", ""};
}

AccessVerdict judgeModelAccess(const std::string &path) {
  FileAccess access;
  std::string error;
  const int descriptor = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0)
    return {fmt::format("cannot be opened: {}", std::strerror(errno)), ""};
  const bool isRead = readFileAccess(descriptor, access, error);
  ::close(descriptor);
  return isRead ? judgeModelAccess(access, ProcessUser::current()) : AccessVerdict{error, ""};
}

AccessVerdict judgeKeyAccess(const FileAccess &access, const ProcessUser &process) {
  if (access.owner != 0 && access.owner != process.user)
    return {
        fmt::format("expected a file of user {} or of root, got one of user {}: chown it", process.user, access.owner),
        ""};
  // Root's group, as systemd gives credentials, and one of the process' own, as Kubernetes gives files of an fsGroup.
  const bool isOwnGroup = access.group == 0 ||
                          std::find(process.groups.begin(), process.groups.end(), access.group) != process.groups.end();
  std::string found;
  if (access.mode & S_IWOTH)
    found = "others may write it";
  else if (access.mode & S_IWGRP)
    found = fmt::format("group {} may write it", access.group);
  else if (access.mode & (S_IROTH | S_IXOTH))
    found = "others may read it";
  else if ((access.mode & (S_IRGRP | S_IXGRP)) && !isOwnGroup)
    found = fmt::format("group {} may read it, and the server is not in that group", access.group);
  if (found.empty())
    return {};
  if (isSealed(access))
    return {"", fmt::format("{} ({}); it is used, since its volume is mounted read-only: set defaultMode to 0400 and "
                            "fsGroup where it is a Secret",
                            found, modeText(access))};
  return {fmt::format("expected mode 0600, got {:04o}: {}; chmod 600 it",
                      static_cast<unsigned>(access.mode & permissionBits), found),
          ""};
}

} // namespace vx::serve
