#include "bench_record.h"

#include "source_commit.h"

#include "vx/base/printable.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sched.h>
#include <unistd.h>

namespace vx::tools {

static std::string hostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

// The model that the first processor of /proc/cpuinfo has.
static std::string cpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t at = line.find(": "); at != std::string::npos)
        return line.substr(at + 2);
  return "unknown";
}

static uint32_t usableCores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu ...": the word that is a version.
static std::string nvidiaDriver() {
  std::ifstream file("/proc/driver/nvidia/version");
  const auto isVersion = [](const std::string &word) {
    return word.find('.') != std::string::npos &&
           std::ranges::all_of(word, [](char letter) { return letter == '.' || (letter >= '0' && letter <= '9'); });
  };
  for (std::string word; file >> word;)
    if (isVersion(word))
      return word;
  return "";
}

// A word as a shell takes it.
static std::string quoted(const std::string &word) {
  const bool isPlain = !word.empty() && std::ranges::all_of(word, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) ||
           std::string_view("-_./=,:@%+").find(letter) != std::string_view::npos;
  });
  if (isPlain)
    return word;
  std::string text = "'";
  for (char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

static BenchRecord makeRecord(const char *tool, int argc, char **argv) {
  BenchRecord record;
  record.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  record.host = hostName();
  record.cpu = cpuModel();
  record.cores = usableCores();
  (void)::getloadavg(&record.load, 1);
  record.driver = nvidiaDriver();
  record.commit = sourceCommit();
  for (int i = 0; i < argc; ++i)
    record.command += (i ? " " : "") + (i ? quoted(argv[i]) : tool);
  return record;
}

const BenchRecord &benchRecord(const char *tool, int argc, char **argv) {
  static const BenchRecord record = makeRecord(tool, argc, argv);
  return record;
}

nlohmann::ordered_json BenchRecord::json(const std::vector<RecordedDevice> &devices) const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RecordedDevice &device : devices)
    list.push_back({{"device", device.device}, {"name", device.name}, {"details", device.details}});
  return {{"date", date},
          {"host", host},
          {"cpu", cpu},
          {"cores", cores},
          {"load", load},
          {"nvidia_driver", driver.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(driver)},
          {"devices", std::move(list)},
          {"commit", commit},
          {"command", command}};
}

std::string BenchRecord::text(const std::vector<RecordedDevice> &devices) const {
  std::string text = fmt::format("{}, commit {}\n{}: {}, {} core{}, load {:.2f}{}\n", date, commit, printableLine(host),
                                 printableLine(cpu), cores, cores == 1 ? "" : "s", load,
                                 driver.empty() ? "" : ", NVIDIA driver " + printableLine(driver));
  for (const RecordedDevice &device : devices)
    text += fmt::format("{}: {} ({})\n", printableLine(device.device), printableLine(device.name),
                        printableLine(device.details));
  return text + printableLine(command) + "\n";
}

} // namespace vx::tools
