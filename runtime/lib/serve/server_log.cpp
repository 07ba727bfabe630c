#include "server_log.h"

#include "json_append.h"
#include "log_writer.h"

#include "vx/base/printable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace vx::serve {

// The most important first.
static constexpr std::array<std::string_view, 4> logLevels = {"error", "warning", "info", "debug"};
static std::atomic<size_t> leastLogged = 2;
static std::atomic<bool> isJson = false, logsAccess = true;

static size_t logLevel(std::string_view name) {
  return static_cast<size_t>(std::find(logLevels.begin(), logLevels.end(), name) - logLevels.begin());
}

// On stderr, from the first line to the end of the process.
static LogWriter &writer() {
  static LogWriter all(STDERR_FILENO);
  return all;
}

// Of a number below 1000, and a character after them.
static void appendThreeDigits(std::string &line, unsigned number, char after) {
  const char text[] = {static_cast<char>('0' + number / 100), static_cast<char>('0' + number / 10 % 10),
                       static_cast<char>('0' + number % 10), after};
  line.append(text, sizeof(text));
}

// The date and time to a second change once a second, and requests end more often.
static void appendTime(std::string &line) {
  thread_local time_t second = -1;
  thread_local std::string text;
  timespec time = {};
  clock_gettime(CLOCK_REALTIME, &time);
  if (time.tv_sec != second) {
    tm parts = {};
    gmtime_r(&time.tv_sec, &parts);
    text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
    second = time.tv_sec;
  }
  line += text;
  appendThreeDigits(line, static_cast<unsigned>(time.tv_nsec / 1'000'000), 'Z');
}

static void appendPrintable(std::string &line, std::string_view text) {
  if (isPlain(text))
    line += text;
  else
    line += printableLine(text);
}

// `name` is `,"name":`.
static void appendField(std::string &line, std::string_view name, std::string_view text) {
  line += name;
  appendJson(line, text);
}

// "{"time":"2026-01-01T00:00:00.000Z","level":"info""
static void beginObject(std::string &line, std::string_view level) {
  line += "{\"time\":\"";
  appendTime(line);
  line += '"';
  appendField(line, ",\"level\":", level);
}

// With three digits after the point, and a character after them.
static void appendMilliseconds(std::string &line, std::chrono::nanoseconds time, char after) {
  const auto microseconds = std::chrono::round<std::chrono::microseconds>(time).count();
  appendNumber(line, microseconds / 1000);
  line += '.';
  appendThreeDigits(line, static_cast<unsigned>(microseconds % 1000), after);
}

void setLog(const Configuration &configuration) {
  leastLogged = logLevel(*configuration.server.log);
  isJson = *configuration.server.logFormat == "json";
  logsAccess = *configuration.server.accessLog;
}

void logLine(std::string_view level, std::string_view text) {
  if (logLevel(level) > leastLogged)
    return;
  std::string line;
  if (isJson) {
    beginObject(line, level);
    appendField(line, ",\"message\":", text);
    line += "}\n";
  } else {
    appendTime(line);
    line.append(" ").append(level).append(" ");
    appendPrintable(line, text);
    line += '\n';
  }
  writer().write(line);
}

void logAccess(const AccessRecord &record) {
  if (!logsAccess || logLevel("info") > leastLogged)
    return;
  thread_local std::string line;
  line.clear();
  const std::string_view path = record.path.empty() || isPlain(record.path) ? record.path : std::string_view();
  const std::string odd = path.empty() ? printableLine(record.path) : "";
  const std::string_view shown = path.empty() ? std::string_view(odd) : path;
  if (isJson) {
    line += "{\"time\":\"";
    appendTime(line);
    line += "\",\"level\":\"info\",\"message\":\"request\"";
    const std::pair<std::string_view, std::string_view> texts[] = {
        {",\"address\":", record.address}, {",\"method\":", record.method}, {",\"path\":", shown},
        {",\"key\":", record.key},         {",\"model\":", record.model},   {",\"request_id\":", record.id}};
    for (const auto &[name, text] : texts)
      if (!text.empty())
        appendField(line, name, text);
    line += ",\"status\":";
    appendNumber(line, record.status);
    line += ",\"milliseconds\":";
    appendMilliseconds(line, record.took, '}');
    line += '\n';
  } else {
    // "TIME info 127.0.0.1 GET /v2 200 0.123 ms key app 1f00-1"
    appendTime(line);
    line += " info ";
    const auto orNone = [](std::string_view text) { return text.empty() ? std::string_view("-") : text; };
    appendPrintable(line, record.address);
    line += ' ';
    appendPrintable(line, orNone(record.method));
    line.append(" ").append(orNone(shown)).append(" ");
    appendNumber(line, record.status);
    line += ' ';
    appendMilliseconds(line, record.took, ' ');
    line += "ms";
    for (const auto &[name, text] : {std::pair(" key ", record.key), std::pair(" model ", record.model)})
      if (!text.empty()) {
        line += name;
        appendPrintable(line, text);
      }
    line += ' ';
    appendPrintable(line, record.id);
    line += '\n';
  }
  writer().append(line);
}

void flushLog() { writer().flush(); }

void tellLine(std::string_view text) {
  if (isJson)
    return logLine("info", text);
  const std::string line = printableLine(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

} // namespace vx::serve
