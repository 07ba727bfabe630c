#include "api_keys.h"

#include "../base/scratch_folder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

using Lines = std::vector<std::string>;

Lines said(const ApiKeysReading &reading) {
  Lines lines;
  for (const ConfigurationMessage &message : reading.messages)
    lines.push_back(message.line());
  return lines;
}

Lines mistakes(const std::string &text) { return said(parseApiKeys(text, "keys")); }

// Of "password" and "admin-key"; from outside of this tree.
const std::string password = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
const std::string adminKey = "69a5265506c94c77b787a7d7377b7685a0eff82e33920a71e7ee22cd6154953e";

TEST(ApiKeys, whoItIs) {
  const ApiKeysReading reading = parseApiKeys(
      "# keys\n\n" + password + " dashboard user # until May\r\n" + adminKey + "\toperator  admin", "keys");
  ASSERT_TRUE(reading.keys) << said(reading).at(0);
  ASSERT_NE(reading.keys->find("password"), nullptr);
  EXPECT_EQ(reading.keys->find("password")->name, "dashboard");
  EXPECT_EQ(reading.keys->find("password")->role, Role::user);
  ASSERT_NE(reading.keys->find("admin-key"), nullptr);
  EXPECT_EQ(reading.keys->find("admin-key")->role, Role::admin);
  EXPECT_TRUE(reading.keys->hasAdmin());
  for (const std::string &text :
       {std::string(), std::string("Password"), std::string("password "), password, std::string("password\0", 9)})
    EXPECT_EQ(reading.keys->find(text), nullptr) << text;
  EXPECT_FALSE(parseApiKeys(password + " a user\n", "keys").keys->hasAdmin());
}

TEST(ApiKeys, allMistakesAtOnce) {
  EXPECT_EQ(
      mistakes("secret a user\n" + password + " b\n" + password + " a/b usr\n" + adminKey + " a admin\n" + adminKey +
               " c user\n"),
      (Lines{"keys:1:1: error: expected the SHA-256 of a key, 64 hexadecimal digits, got a word of 6",
             "keys:2:66: error: expected a hash, a name and a role, got 2 words",
             "keys:3:66: error: expected a name of at most 64 letters, digits and ._-, got 'a/b'",
             "keys:3:70: error: expected the role user or admin, got 'usr', did you mean 'user'",
             "keys:4:66: error: 'a' is given twice, first in line 1", "keys:5:1: error: this is the key of 'a' too"}));
  EXPECT_EQ(mistakes("# none\n"), Lines{"keys: error: expected a key, got none"});
  EXPECT_EQ(mistakes(password.substr(1) + "g a user"),
            Lines{"keys:1:1: error: expected the SHA-256 of a key, 64 hexadecimal digits, got a word of 64"});
}

// What somebody has written in place of a hash is not told to the log.
TEST(ApiKeys, keysAreNotRepeated) {
  for (const std::string &line : mistakes("my-secret-key\nmy-secret-key a\n"))
    EXPECT_EQ(line.find("my-secret-key"), std::string::npos) << line;
}

class ApiKeysFile : public test::ScratchFolder {};

TEST_F(ApiKeysFile, access) {
  put(at("keys"), password + " a user\n");
  const auto withMode = [&](mode_t mode) {
    EXPECT_EQ(::chmod(at("keys").c_str(), mode), 0);
    return readApiKeys(at("keys"));
  };
  EXPECT_TRUE(withMode(0600).keys);
  EXPECT_TRUE(withMode(0400).keys);
  EXPECT_EQ(said(withMode(0644)),
            Lines{at("keys") + ": error: expected mode 0600, got 0644: others may read it; chmod 600 it"});
  EXPECT_EQ(said(withMode(0620)),
            Lines{at("keys") + fmt::format(": error: expected mode 0600, got 0620: group {} may write it; chmod 600 it",
                                           ::getegid())});
  withMode(0600);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(at("keys").c_str(), 12345, 0), 0);
    EXPECT_EQ(said(readApiKeys(at("keys"))),
              Lines{at("keys") + ": error: expected a file of user 0 or of root, got one of user 12345: chown it"});
  }
  EXPECT_EQ(said(readApiKeys(at("none"))), Lines{at("none") + ": error: cannot be opened: No such file or directory"});
  EXPECT_EQ(said(readApiKeys(folder.string())),
            Lines{folder.string() + ": error: is a folder, expected a regular file"});
  put(at("keys2"), std::string((1 << 20) + 1, '\n'));
  ASSERT_EQ(::chmod(at("keys2").c_str(), 0600), 0);
  EXPECT_EQ(said(readApiKeys(at("keys2"))), Lines{at("keys2") + ": error: expected at most 1048576 bytes, got more"});
}

} // namespace
} // namespace vx::serve
