// Where, when, of what and by which command a benchmark was run: each of its documents and texts begins with it.
#ifndef VX_BENCH_BENCH_RECORD_H
#define VX_BENCH_BENCH_RECORD_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace vx::tools {

// A device that something was measured on.
struct RecordedDevice {
  std::string device;  // "cuda:0"
  std::string name;    // "NVIDIA H100 80GB HBM3"
  std::string details; // the driver's version among them

  bool operator==(const RecordedDevice &) const = default;
};

struct BenchRecord {
  std::string date;    // of the start, UTC: "2026-11-28T07:40:12Z"
  std::string host;    // its name
  std::string cpu;     // "AMD EPYC 9B45"
  uint32_t cores = 0;  // that this process may use
  double load = 0;     // processes that ran at the start, an average of a minute
  std::string driver;  // NVIDIA's kernel driver, "570.86.15"; empty where there is none
  std::string commit;  // that the tool was built of: "e53a94d6c2b1", "e53a94d6c2b1-changed"
  std::string command; // as a shell takes it

  nlohmann::ordered_json json(const std::vector<RecordedDevice> &devices) const;
  // Lines, each with its end.
  std::string text(const std::vector<RecordedDevice> &devices) const;
};

// That of this process. The first call is at its start and has the tool's name and the command line.
const BenchRecord &benchRecord(const char *tool = nullptr, int argc = 0, char **argv = nullptr);

} // namespace vx::tools

#endif
