#include "schedule_option.h"

#include "command_line.h"

#include <charconv>
#include <cmath>

namespace vx::tools {

using vx::train::Schedule;

std::vector<double> numbersOption(std::string_view flag, std::string_view text, size_t least, size_t most,
                                  std::string_view wanted) {
  std::vector<double> numbers;
  bool isGood = true;
  for (const std::string &piece : splitList(text)) {
    double number = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), number);
    isGood = isGood && error == std::errc() && end == piece.data() + piece.size() && std::isfinite(number);
    numbers.push_back(number);
  }
  if (!isGood || numbers.size() < least || numbers.size() > most)
    throw usageError("{}: expected {}, got '{}'", flag, wanted, text);
  return numbers;
}

static Schedule namedSchedule(const std::string &text, double rate) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  auto numbers = [&](size_t least, size_t most, std::string_view form) {
    if (colon != std::string::npos && rest.empty())
      throw usageError("--schedule: expected {}, got '{}'", form, text);
    return numbersOption("--schedule " + name, rest, least, most, form);
  };
  if (name == "constant" && colon == std::string::npos)
    return vx::train::constant(rate);
  if (name == "cosine") {
    const std::vector<double> given = numbers(0, 1, "cosine[:END]");
    return vx::train::cosine(rate, given.empty() ? 0 : given[0]);
  }
  if (name == "step") {
    const std::vector<double> given = numbers(1, 2, "step:EPOCHS[,FACTOR]");
    if (given[0] < 1 || given[0] != std::floor(given[0]) || given[0] > 1e15)
      throw usageError("--schedule step: expected a whole number of epochs of 1 or more, got '{}'", rest);
    return vx::train::step(rate, static_cast<uint64_t>(given[0]), given.size() > 1 ? given[1] : 0.1);
  }
  if (name == "exponential")
    return vx::train::exponential(rate, numbers(1, 1, "exponential:FACTOR")[0]);
  if (name == "one-cycle") {
    const std::vector<double> given = numbers(0, 1, "one-cycle[:PART]");
    return vx::train::one_cycle(rate, given.empty() ? 0.3 : given[0]);
  }
  throw usageError(
      "--schedule: expected constant, cosine[:END], step:EPOCHS[,FACTOR], exponential:FACTOR or one-cycle[:PART], "
      "got '{}'",
      text);
}

Schedule scheduleOption(const std::string &text, double rate, uint64_t warmup) {
  Schedule schedule = namedSchedule(text, rate);
  return warmup > 0 ? vx::train::warmup(warmup, std::move(schedule)) : schedule;
}

} // namespace vx::tools
