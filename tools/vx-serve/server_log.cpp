#include "server_log.h"

#include "vx/base/json_text.h"
#include "vx/base/printable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>

namespace vx::tools {

// The most important first.
static constexpr std::array<std::string_view, 4> logLevels = {"error", "warning", "info", "debug"};
static std::atomic<size_t> leastLogged = 2;
static std::atomic<bool> isJson = false, logsAccess = true;

static size_t logLevel(std::string_view name) {
  return static_cast<size_t>(std::find(logLevels.begin(), logLevels.end(), name) - logLevels.begin());
}

static std::string now() {
  timespec time = {};
  clock_gettime(CLOCK_REALTIME, &time);
  tm parts = {};
  gmtime_r(&time.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, time.tv_nsec / 1000000);
}

static void writeObject(const nlohmann::ordered_json &object) { printMessage("{}\n", jsonText(object)); }

void setLog(const serve::Configuration &configuration) {
  leastLogged = logLevel(*configuration.server.log);
  isJson = *configuration.server.logFormat == "json";
  logsAccess = *configuration.server.accessLog;
}

void logLine(std::string_view level, std::string_view text) {
  if (logLevel(level) > leastLogged)
    return;
  if (isJson)
    return writeObject({{"time", now()}, {"level", level}, {"message", std::string(text)}});
  printMessage("{} {} {}\n", now(), level, vx::printableLine(text));
}

void logAccess(const serve::AccessRecord &record) {
  if (!logsAccess || logLevel("info") > leastLogged)
    return;
  if (!isJson)
    return logLine("info", record.line());
  nlohmann::ordered_json object = {{"time", now()}, {"level", "info"}, {"message", "request"}};
  const std::pair<const char *, const std::string *> texts[] = {
      {"address", &record.address}, {"method", &record.method}, {"path", &record.path},
      {"key", &record.key},         {"model", &record.model},   {"request_id", &record.id}};
  for (const auto &[name, text] : texts)
    if (!text->empty())
      object[name] = *text;
  object["status"] = record.status;
  object["milliseconds"] = record.milliseconds;
  writeObject(object);
}

void tellLine(std::string_view text) {
  if (isJson)
    return logLine("info", text);
  printOut("{}\n", text);
  std::fflush(stdout);
}

} // namespace vx::tools
