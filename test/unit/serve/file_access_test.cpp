// Files and folders that are refused, and those that are a warning, by the users that can change them.
#include "file_access.h"

#include "../base/scratch_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

enum class Mount : uint8_t { none, sealed, volume, root, rootOfSealed, onlySealed };

// The server is user 1000 in the groups 1000 and 2000.
std::string judge(AccessVerdict (*rule)(const FileAccess &, const ProcessUser &), mode_t mode, Mount mount,
                  uid_t owner = 0, gid_t group = 0) {
  FileAccess access = {mode, owner, group};
  access.isOnVolume = mount != Mount::none && mount != Mount::onlySealed;
  access.isVolumeRoot = mount == Mount::root || mount == Mount::rootOfSealed;
  access.isReadOnly = mount == Mount::sealed || mount == Mount::rootOfSealed || mount == Mount::onlySealed;
  const AccessVerdict verdict = rule(access, {1000, {1000, 2000}});
  EXPECT_TRUE(verdict.refusal.empty() || verdict.warning.empty());
  return !verdict.refusal.empty() ? "refused" : verdict.warning.empty() ? "taken" : "warned";
}

constexpr mode_t folder = S_IFDIR, file = S_IFREG;

TEST(FileAccess, models) {
  const auto model = [](mode_t mode, Mount mount, uid_t owner = 0) {
    return judge(judgeModelAccess, mode, mount, owner);
  };
  for (Mount mount : {Mount::none, Mount::sealed, Mount::volume, Mount::root}) {
    EXPECT_EQ(model(folder | 0755, mount), "taken");
    EXPECT_EQ(model(folder | 02775, mount), "taken"); // a volume with an fsGroup
    EXPECT_EQ(model(file | 0664, mount), "taken");
  }
  // On a host, and below the root of a volume.
  for (mode_t mode : {folder | 0777, folder | 01777, folder | 0702, file | 0666}) {
    EXPECT_EQ(model(mode, Mount::none), "refused");
    EXPECT_EQ(model(mode, Mount::volume), "refused");
    EXPECT_EQ(model(mode, Mount::sealed), "warned");
    EXPECT_EQ(model(mode, Mount::rootOfSealed), "warned");
    // "/" is read-only for a service of systemd, and others write it.
    EXPECT_EQ(model(mode, Mount::onlySealed), "refused");
  }
  // An emptyDir.
  EXPECT_EQ(model(folder | 0777, Mount::root), "warned");
  EXPECT_EQ(model(folder | 01777, Mount::root, 1000), "warned");
  EXPECT_EQ(model(folder | 0777, Mount::root, 1001), "refused"); // another user mounted it
  EXPECT_EQ(model(file | 0666, Mount::root), "refused");
}

TEST(FileAccess, keys) {
  const auto key = [](mode_t mode, Mount mount, uid_t owner = 0, gid_t group = 0) {
    return judge(judgeKeyAccess, file | mode, mount, owner, group);
  };
  for (Mount mount : {Mount::none, Mount::sealed, Mount::volume, Mount::root}) {
    EXPECT_EQ(key(0600, mount), "taken");
    EXPECT_EQ(key(0400, mount, 1000), "taken");
    EXPECT_EQ(key(0440, mount, 0, 2000), "taken"); // a Secret with defaultMode 0400 and an fsGroup
    EXPECT_EQ(key(0440, mount, 0, 0), "taken");    // a credential of systemd, which an ACL lets the user read
    EXPECT_EQ(key(0600, mount, 1001), "refused");  // its owner may change it
    EXPECT_EQ(key(0400, mount, 1001), "refused");
  }
  for (Mount mount : {Mount::none, Mount::volume, Mount::root, Mount::onlySealed})
    for (mode_t mode : {0644, 0620, 0602, 0660, 0666, 0601, 0604})
      EXPECT_EQ(key(mode, mount, 0, 2000), "refused") << mode;
  EXPECT_EQ(key(0440, Mount::none, 0, 3000), "refused");
  // A Secret as it comes.
  EXPECT_EQ(key(0644, Mount::sealed), "warned");
  EXPECT_EQ(key(0666, Mount::sealed), "warned");
  EXPECT_EQ(key(0440, Mount::sealed, 0, 3000), "warned");
}

TEST(FileAccess, messages) {
  const auto text = [](const AccessVerdict &verdict) { return verdict.refusal + "|" + verdict.warning; };
  const ProcessUser user = {1000, {1000}};
  EXPECT_EQ(text(judgeModelAccess({folder | 0777, 0, 0}, user)),
            "others may write it (mode 0777): chmod o-w it, or mount its volume read-only|");
  EXPECT_EQ(text(judgeModelAccess({folder | 01777, 0, 0, true, true, true}, user)),
            "|others may write it (mode 1777); it is used, since its volume is mounted read-only");
  EXPECT_EQ(text(judgeModelAccess({folder | 0777, 0, 0, true, true, false}, user)),
            "|others may write it (mode 0777); it is used, since it is a volume of its own: mount it read-only where "
            "nothing writes it");
  EXPECT_EQ(text(judgeKeyAccess({file | 0440, 0, 7}, user)),
            "expected mode 0600, got 0440: group 7 may read it, and the server is not in that group; chmod 600 it|");
  EXPECT_EQ(text(judgeKeyAccess({file | 0620, 0, 7}, user)),
            "expected mode 0600, got 0620: group 7 may write it; chmod 600 it|");
  EXPECT_EQ(text(judgeKeyAccess({file | 0602, 0, 7}, user)),
            "expected mode 0600, got 0602: others may write it; chmod 600 it|");
  EXPECT_EQ(text(judgeKeyAccess({file | 0600, 5, 7}, user)),
            "expected a file of user 1000 or of root, got one of user 5: chown it|");
  EXPECT_EQ(text(judgeKeyAccess({file | 0644, 0, 0, true, false, true}, user)),
            "|others may read it (mode 0644); it is used, since its volume is mounted read-only: set defaultMode to "
            "0400 and fsGroup where it is a Secret");
}

class FileAccessOfFiles : public test::ScratchFolder {};

TEST_F(FileAccessOfFiles, isRead) {
  put(at("file"), "x");
  ASSERT_EQ(::chmod(at("file").c_str(), 0640), 0);
  const int descriptor = ::open(at("file").c_str(), O_PATH | O_CLOEXEC);
  FileAccess access;
  std::string error;
  ASSERT_TRUE(readFileAccess(descriptor, access, error)) << error;
  ::close(descriptor);
  EXPECT_EQ(access.mode, file | 0640);
  EXPECT_EQ(access.owner, ::geteuid());
  EXPECT_FALSE(access.isReadOnly);
  EXPECT_FALSE(readFileAccess(-1, access, error));
  EXPECT_EQ(error, "cannot be examined: Bad file descriptor");
  // The kernel's own mount.
  const int process = ::open("/proc", O_PATH | O_CLOEXEC);
  ASSERT_TRUE(readFileAccess(process, access, error)) << error;
  ::close(process);
  EXPECT_TRUE(access.isOnVolume && access.isVolumeRoot);
  EXPECT_EQ(judgeModelAccess(at("none")).refusal, "cannot be opened: No such file or directory");
  ASSERT_EQ(::chmod(at("file").c_str(), 0666), 0);
  ASSERT_EQ(::symlink("file", at("link").c_str()), 0);
  EXPECT_EQ(judgeModelAccess(at("link")).refusal,
            "others may write it (mode 0666): chmod o-w it, or mount its volume read-only");
}

} // namespace
} // namespace vx::serve
