// The linker as a function: what it says when it fails.
#include "vx/Codegen/Linker.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <elf.h>
#include <unistd.h>

using namespace vx;

namespace {

/// Empty when the link succeeds.
std::string link(const std::vector<std::string> &options, llvm::ArrayRef<char> object) {
  std::vector<char> image;
  std::string error;
  std::vector<std::string> all = {"-shared", "-melf_x86_64"};
  all.insert(all.end(), options.begin(), options.end());
  bool isDone = succeeded(linkImage(all, {object}, {}, image, error));
  EXPECT_EQ(isDone, error.empty());
  EXPECT_EQ(isDone, !image.empty());
  return error;
}

const std::vector<char> text = {'t', 'e', 'x', 't'};

TEST(Linker, linksMoreThanOnce) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(link({"--format=binary"}, text), "");
}

TEST(Linker, saysWhatItDoesNotTake) {
  const std::string error = link({}, text);
  EXPECT_EQ(error.find("linker failed: ld.lld: error: "), 0u) << error;
  EXPECT_NE(error.find("0.o:1: unknown directive: text"), std::string::npos) << error;
  // An error is no reason to stop.
  EXPECT_EQ(link({"--format=binary"}, text), "");
}

TEST(Linker, saysWhereTheImageIsMissing) {
  EXPECT_EQ(link({"--format=binary", "-o", "/dev/null"}, text),
            "cannot read what the linker wrote: No such file or directory");
}

/// An object whose sections lie behind its end, which ends the linker in the middle of its work.
std::vector<char> brokenObject() {
  Elf64_Ehdr header = {};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_shoff = 1 << 20;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  const char *bytes = reinterpret_cast<const char *>(&header);
  return {bytes, bytes + sizeof(header)};
}

TEST(LinkerDeathTest, runsNoMoreAfterAFatalError) {
  EXPECT_EXIT(
      {
        const std::string first = link({}, brokenObject());
        const std::string second = link({"--format=binary"}, text);
        fprintf(stderr, "%s|%s\n", first.c_str(), second.c_str());
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "^linker failed: .*\\|the linker ended in the middle before, and cannot run again in this process");
}

} // namespace
