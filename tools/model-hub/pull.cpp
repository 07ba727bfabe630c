#include "pull.h"

#include "hub_client.h"
#include "hub_repository.h"
#include "tool_error.h"

#include "file_hash.h"
#include "file_text.h"
#include "vx/base/json_text.h"
#include "vx/base/partial_file.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::tools {
namespace {

namespace fs = std::filesystem;
using serve::FileHash;
using Clock = std::chrono::steady_clock;

constexpr const char *defaultHub = "https://huggingface.co";
constexpr const char *recordName = ".vx-pull.json";
constexpr size_t mostRecordBytes = size_t(16) << 20;
constexpr int mostTries = 5; // in sequence without a byte
constexpr std::chrono::milliseconds firstPause{250};
constexpr unsigned longestPause = 60; // seconds, that a hub may ask for

FileHash::Kind kindOf(const std::string &hash) {
  return hash.size() == 64 ? FileHash::Kind::sha256 : FileHash::Kind::git;
}

// "W/\"0123\"" is 0123.
std::string hashOfTag(std::string tag) {
  if (tag.starts_with("W/"))
    tag = tag.substr(2);
  if (tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"'))
    tag = tag.substr(1, tag.size() - 2);
  const bool isHash =
      (tag.size() == 64 || tag.size() == 40) && tag.find_first_not_of("0123456789abcdef") == std::string::npos;
  return isHash ? tag : "";
}

std::optional<uint64_t> parseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                   : std::nullopt;
}

std::string escapePath(std::string_view path) {
  std::string text;
  for (unsigned char c : path)
    if (std::isalnum(c) || std::strchr("/._-~", c))
      text += static_cast<char>(c);
    else
      text += fmt::format("%{:02X}", c);
  return text;
}

// The error of a status that is no success. `what` names the repository or the file.
ToolError statusError(const HubAnswer &answer, const std::string &what) {
  switch (answer.status) {
  case 401:
  case 403:
    return fileError("{}: the hub refuses it ({}): expected a token in HF_TOKEN that may read it, got {}", what,
                     answer.status, std::getenv("HF_TOKEN") ? "another one" : "none");
  case 404:
    return fileError("{}: the hub has no such repository, revision or file (404)", what);
  case 429:
    return workError("{}: the hub takes no more requests for now (429){}", what,
                     answer.header("retry-after").empty()
                         ? ""
                         : fmt::format(", retry after {} s", printableLine(answer.header("retry-after"))));
  default:
    return workError("{}: expected an answer of 200, got {}", what, answer.status);
  }
}

bool mayComeAgain(const HubAnswer &answer) {
  return answer.status == 0 || answer.status == 429 || answer.status >= 500 || !answer.failure.empty();
}

// Waits before another try. False: that was the last one.
bool pauseAfter(const HubAnswer &answer, int tries) {
  const std::optional<uint64_t> asked = parseNumber(answer.header("retry-after"));
  if (tries >= mostTries || asked.value_or(0) > longestPause)
    return false;
  std::this_thread::sleep_for(asked ? std::chrono::milliseconds(*asked * 1000) : firstPause * (1 << (tries - 1)));
  return true;
}

// The file that a download writes to, locked against another process.
class PartFile {
public:
  explicit PartFile(const std::string &path) : path(path) {
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    struct stat info;
    if (file < 0 || ::fstat(file, &info) != 0)
      throw workError("cannot write '{}': {}", path, std::strerror(errno));
    if (!S_ISREG(info.st_mode)) {
      ::close(file);
      throw fileError("'{}' is {}, expected a regular file", path, fileKind(info.st_mode));
    }
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      ::close(file);
      throw workError("'{}' is written by another process: wait until it is done", path);
    }
    size = static_cast<uint64_t>(info.st_size);
  }
  ~PartFile() {
    if (file >= 0)
      ::close(file);
  }
  PartFile(const PartFile &) = delete;
  PartFile &operator=(const PartFile &) = delete;

  // Cuts the file to so many bytes, and goes on from there.
  void cut(uint64_t to) {
    if (::ftruncate(file, static_cast<off_t>(to)) != 0 || ::lseek(file, static_cast<off_t>(to), SEEK_SET) < 0)
      throw workError("cannot write '{}': {}", path, std::strerror(errno));
    size = to;
  }
  // Empty, or the reason.
  std::string write(const char *bytes, size_t count) {
    while (count > 0) {
      const ssize_t done = ::write(file, bytes, count);
      if (done < 0 && errno == EINTR)
        continue;
      if (done < 0)
        return fmt::format("cannot write '{}': {}", path, std::strerror(errno));
      bytes += done;
      count -= static_cast<size_t>(done);
      size += static_cast<uint64_t>(done);
    }
    return "";
  }
  void discard() { ::unlink(path.c_str()); }
  void commit(const std::string &name) {
    std::string error;
    if (::fsync(file) != 0 || ::rename(path.c_str(), name.c_str()) != 0)
      throw workError("cannot write '{}': {}", name, std::strerror(errno));
    if (!syncFolderOf(name, error))
      throw workError("{}", error);
  }

  const std::string path;
  uint64_t size = 0;

private:
  int file = -1;
};

class Download {
public:
  Download(const HubClient &hub, std::string target, HubFile wanted, std::string place, std::string shown)
      : hub(hub), target(std::move(target)), wanted(std::move(wanted)), place(std::move(place)),
        shown(std::move(shown)) {}

  // The file as it is now, with its size and hash.
  HubFile run() {
    makeFolder();
    PartFile part(place + ".part");
    bool isResumed = part.size > 0;
    for (;;) {
      fetch(part);
      std::string error;
      const std::string hash = serve::hashFile(part.path, error, kindOf(wanted.hash));
      if (hash.empty())
        throw workError("'{}' {}", part.path, error);
      if (hash == wanted.hash)
        break;
      if (!isResumed) {
        part.discard();
        throw fileError("{}: expected the hash {}, got {}: nothing is kept of it", shown, wanted.hash, hash);
      }
      // The bytes that were there were the beginning of another file.
      isResumed = false;
      part.cut(0);
    }
    part.commit(place);
    return wanted;
  }

private:
  void makeFolder() const {
    std::error_code error;
    fs::create_directories(fs::path(place).parent_path(), error);
    if (error)
      throw workError("cannot make the folder '{}': {}", fs::path(place).parent_path().string(), error.message());
  }

  // Takes the size and the hash of an answer. False if they differ from those that the hub has named before.
  bool learn(const HubAnswer &answer) {
    const std::string linked = hashOfTag(answer.header("x-linked-etag"));
    const std::string hash = linked.empty() ? hashOfTag(answer.header("etag")) : linked;
    if (!hash.empty() && hash.size() == wanted.hash.size() && hash != wanted.hash)
      return refuse(fmt::format("the hub has two hashes of it, expected {}, got {}", wanted.hash, hash));
    // SHA-256 where there are two kinds.
    if (hash.size() > wanted.hash.size())
      wanted.hash = hash;
    if (wanted.hash.empty())
      return refuse("expected a hash of the hub, SHA-256 or git's, got none: it cannot be checked");
    if (const std::string text = answer.header("x-linked-size"); !text.empty()) {
      const std::optional<uint64_t> size = parseNumber(text);
      if (!size || (wanted.size && *size != *wanted.size))
        return refuse(fmt::format("the hub has two sizes of it, expected {} bytes, got '{}'",
                                  wanted.size ? std::to_string(*wanted.size) : "a number of", printableLine(text)));
      wanted.size = size;
    }
    return true;
  }

  bool begin(const HubAnswer &answer, PartFile &part) {
    if (!learn(answer))
      return false;
    uint64_t from = 0;
    if (answer.status == 206) {
      // "bytes 100-199/200"
      const std::string range = answer.header("content-range");
      const size_t dash = range.find('-'), slash = range.find('/');
      const std::optional<uint64_t> first = range.starts_with("bytes ") && dash != range.npos
                                                ? parseNumber(std::string_view(range).substr(6, dash - 6))
                                                : std::nullopt;
      if (first != part.size)
        return refuse(fmt::format("expected bytes from {} on, got the range '{}'", part.size, printableLine(range)));
      const std::optional<uint64_t> whole =
          slash != range.npos ? parseNumber(std::string_view(range).substr(slash + 1)) : std::nullopt;
      if (whole && wanted.size && *whole != *wanted.size)
        return refuse(fmt::format("expected {} bytes, got a range of {}", *wanted.size, *whole));
      from = *first;
    }
    if (const std::optional<uint64_t> length = parseNumber(answer.header("content-length"));
        length && wanted.size && from + *length != *wanted.size)
      return refuse(fmt::format("expected {} bytes, got {}", *wanted.size, from + *length));
    part.cut(from);
    return true;
  }

  bool receive(const char *bytes, size_t count, PartFile &part) {
    if (wanted.size && part.size + count > *wanted.size)
      return refuse(fmt::format("expected {} bytes, got more", *wanted.size));
    writeError = part.write(bytes, count);
    return writeError.empty();
  }

  bool refuse(std::string reason) {
    refusal = std::move(reason);
    return false;
  }

  // Until the file has all its bytes.
  void fetch(PartFile &part) {
    for (int tries = 0;;) {
      if (wanted.size && part.size > *wanted.size)
        part.cut(0);
      if (wanted.size && part.size == *wanted.size && !wanted.hash.empty())
        return;
      const uint64_t before = part.size;
      const HubClient::Receiver receiver{[&](const HubAnswer &answer) { return begin(answer, part); },
                                         [&](const char *bytes, size_t count) { return receive(bytes, count, part); }};
      const HubAnswer answer = hub.get(target, part.size, &receiver);
      if (!writeError.empty())
        throw workError("{}", writeError);
      if (!refusal.empty()) {
        part.discard();
        throw fileError("{}: {}", shown, refusal);
      }
      const bool isGood = answer.status == 200 || answer.status == 206;
      if (isGood && answer.failure.empty() && (!wanted.size || part.size == *wanted.size)) {
        wanted.size = part.size;
        return;
      }
      // The bytes that are there are no beginning of the file.
      if (answer.status == 416 && before > 0) {
        part.cut(0);
        continue;
      }
      tries = part.size > before ? 1 : tries + 1;
      if (!isGood && !mayComeAgain(answer))
        throw statusError(answer, shown);
      if (!pauseAfter(answer, tries)) {
        if (isGood || answer.status == 0)
          throw workError("{}: expected {} bytes, got {}: {}; pull it again to go on", shown,
                          wanted.size ? std::to_string(*wanted.size) : "all", part.size,
                          answer.failure.empty() ? "the connection has ended" : answer.failure);
        throw statusError(answer, shown);
      }
    }
  }

  const HubClient &hub;
  const std::string target; // of the request
  HubFile wanted;
  const std::string place, shown;
  std::string refusal, writeError;
};

// Whether the file is there as it is to be.
bool isThere(const std::string &place, const HubFile &file) {
  struct stat info;
  if (file.hash.empty() || ::stat(place.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      (file.size && static_cast<uint64_t>(info.st_size) != *file.size))
    return false;
  std::string unused;
  return serve::hashFile(place, unused, kindOf(file.hash)) == file.hash;
}

HubListing list(const HubClient &hub, const HubAddress &address, const std::string &revision) {
  const std::string what = fmt::format("{} at '{}'", address.repository(), revision);
  for (int tries = 1;; ++tries) {
    const HubAnswer answer =
        hub.get(fmt::format("/api/models/{}/revision/{}?blobs=true", address.repository(), escapePath(revision)));
    if (answer.status == 200 && answer.failure.empty())
      return parseListing(answer.body, address.repository());
    if (mayComeAgain(answer) && pauseAfter(answer, tries))
      continue;
    if (answer.status == 0 || answer.status == 200)
      throw workError("{}: {} cannot be asked: {}", what, hub.url(), answer.failure);
    throw statusError(answer, what);
  }
}

// The files that pulls have written, which a pull that is offline reads again.
struct Record {
  std::string revision, commit;
  std::vector<HubFile> files;
};

std::optional<Record> readRecord(const std::string &folder) {
  FileError reason;
  const int file = openRegularFile(folder + "/" + recordName, reason);
  if (file < 0)
    return std::nullopt;
  std::string text;
  const std::string error = serve::readText(file, mostRecordBytes, text);
  ::close(file);
  const HubJson json = error.empty() ? HubJson::parse(text, nullptr, false) : HubJson();
  if (!json.is_object() || json.value("version", 0) != 1 || !json.contains("files") || !json["files"].is_array())
    return std::nullopt;
  try {
    Record record{json.at("revision").get<std::string>(), json.at("commit").get<std::string>(), {}};
    for (const HubJson &one : json["files"]) {
      record.files.push_back({one.at("path").get<std::string>(), one.at("bytes").get<uint64_t>(),
                              hashOfTag(one.at("hash").get<std::string>())});
      if (!isSafePath(record.files.back().path) || record.files.back().hash.empty())
        return std::nullopt;
    }
    return record;
  } catch (const HubJson::exception &) {
    return std::nullopt;
  }
}

void writeRecord(const std::string &folder, const HubAddress &address, const Record &record) {
  HubJson files = HubJson::array();
  for (const HubFile &file : record.files)
    files.push_back({{"path", file.path}, {"bytes", file.size.value_or(0)}, {"hash", file.hash}});
  const std::string text = jsonText(HubJson{{"version", 1},
                                            {"repository", address.repository()},
                                            {"revision", record.revision},
                                            {"commit", record.commit},
                                            {"files", files}},
                                    1) +
                           "\n";
  PartialFile file;
  std::string error;
  int number = file.open(folder + "/" + recordName);
  number = number ? number : file.write(text.data(), text.size());
  if (number != 0)
    throw workError("cannot write '{}/{}': {}", folder, recordName, std::strerror(number));
  if (!file.commit(error))
    throw workError("{}", error);
}

} // namespace

uint64_t PulledModel::bytes() const {
  uint64_t bytes = 0;
  for (const HubFile &file : files)
    bytes += file.size.value_or(0);
  return bytes;
}

PulledModel pull(const PullOptions &options, const std::function<void(const HubFile &file)> &onFetch) {
  const HubAddress address = parseHubAddress(options.address);
  if (options.folder.empty())
    throw usageError("pull: expected --model-dir, there is no HOME to write in");
  const std::string folder = (fs::path(options.folder) / address.organisation / address.name).string();
  std::optional<Record> known = readRecord(folder);
  if (options.isOffline) {
    if (!known)
      throw fileError("'{}' is not in '{}', and --offline asks nobody for it", address.repository(), options.folder);
    const bool hasFile =
        address.file.empty() || std::any_of(known->files.begin(), known->files.end(),
                                            [&](const HubFile &file) { return file.path == address.file; });
    if (!hasFile)
      throw fileError("'{}' of '{}' is not in '{}', and --offline asks nobody for it", address.file,
                      address.repository(), options.folder);
    for (const HubFile &file : known->files)
      if (!isThere(folder + "/" + file.path, file))
        throw fileError("'{}/{}': expected {} bytes with the hash {}, got another file or none; pull it without "
                        "--offline",
                        folder, file.path, file.size.value_or(0), file.hash);
    return {address.repository(), known->commit, folder, known->files, 0};
  }
  const char *hubUrl = std::getenv("VX_HUB_URL"), *token = std::getenv("HF_TOKEN");
  std::string url = hubUrl && *hubUrl ? hubUrl : defaultHub;
  while (url.ends_with('/'))
    url.pop_back();
  const HubClient hub(url, token ? token : "");
  const HubListing listing = list(hub, address, options.revision);
  Record record{options.revision, listing.commit, {}};
  size_t fetched = 0;
  for (const HubFile &file : chooseFiles(listing, address)) {
    const std::string place = folder + "/" + file.path;
    if (isThere(place, file)) {
      record.files.push_back(file);
      continue;
    }
    onFetch(file);
    const std::string target =
        fmt::format("/{}/resolve/{}/{}", address.repository(), listing.commit, escapePath(file.path));
    record.files.push_back(Download(hub, target, file, place, address.repository() + ": " + file.path).run());
    ++fetched;
  }
  // Files of other pulls of the repository stay.
  if (known)
    for (const HubFile &file : known->files)
      if (std::none_of(record.files.begin(), record.files.end(),
                       [&](const HubFile &one) { return one.path == file.path; }) &&
          isThere(folder + "/" + file.path, file))
        record.files.push_back(file);
  writeRecord(folder, address, record);
  return {address.repository(), record.commit, folder, record.files, fetched};
}

} // namespace vx::tools
