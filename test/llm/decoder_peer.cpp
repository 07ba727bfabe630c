// The functions of a language model's module, for tests in Python and on machines that have none.
//
//   decoder_peer MODULE DEVICE CONTEXT LOGITS [EXPECTED SHARE]
//
// Each line of standard input is a call on one instance:
//
//   prefill ID...        embed ID...        extend PAST ID... [, PAST ID...]...        decode PAST ID
//
// Each part of `extend` is of another sequence: of at most four, and `decode` is of the first. Their pages lie in
// turns, the first page last.
//
// or "save PATH", which writes the instance's module and prints "saved", or "memory", which prints the bytes of
// constants that the device has for a step of decode.
//
// It prints "done ROWS" and appends the logits to the file LOGITS, f32, or prints "failed" and the reason. With
// EXPECTED, a file of logits, a call whose logits are apart from these by more than SHARE of their largest one has
// failed, and so has the run if a number is left over.
#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

// The file of expected logits, read from the front.
class Expected {
public:
  Expected(const std::string &path, double share) : file(path, std::ios::binary), share(share) {}

  // How far apart the next numbers are, as a text; empty: near enough.
  std::string compare(std::span<const float> got) {
    std::vector<float> next(got.size());
    const auto size = static_cast<std::streamsize>(got.size_bytes());
    if (file.read(reinterpret_cast<char *>(next.data()), size).gcount() != size)
      return "expected fewer numbers";
    double largest = 0, apart = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, std::abs(double(next[i])));
      const double distance = std::abs(double(got[i]) - next[i]);
      apart = distance <= apart ? apart : distance; // NaN stays
    }
    return apart <= share * largest ? "" : "apart by " + std::to_string(apart / largest) + " of the largest";
  }
  bool isAtEnd() { return file.peek() == std::ifstream::traits_type::eof(); }

private:
  std::ifstream file;
  const double share;
};

constexpr int64_t Places = 32, Sequences = 4;

static vx::Value listOf(const std::vector<int64_t> &numbers) {
  return vx::Value::tensor<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
}

// The inputs of a step, and the rows of its result in them.
static std::vector<vx::Value> placeTokens(std::istream &words, int64_t pages, bool isDecode) {
  std::vector<int64_t> ids, starts = {0}, lengths, rows;
  std::string word;
  for (bool isPast = true; words >> word;) {
    if (word == ",") {
      isPast = true;
      continue;
    }
    const int64_t number = std::stoll(word);
    if (isPast) {
      lengths.push_back(number);
      starts.push_back(starts.back());
    } else {
      ids.push_back(number);
      ++lengths.back();
      ++starts.back();
    }
    isPast = false;
  }
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const int64_t most = std::max<int64_t>((longest + Places - 1) / Places, 1);
  std::vector<int64_t> table;
  for (size_t s = 0; s < lengths.size(); ++s) {
    rows.push_back(starts[s + 1] - 1);
    for (int64_t page = 0; page < most; ++page)
      table.push_back(pages - 1 - page * Sequences - static_cast<int64_t>(s));
  }
  std::vector<vx::Value> inputs = {listOf(ids),
                                   vx::Value::tensor<int64_t>({static_cast<int64_t>(lengths.size()), most}, table)};
  if (!isDecode)
    inputs.push_back(listOf(starts));
  inputs.push_back(listOf(lengths));
  if (!isDecode)
    inputs.push_back(listOf(rows));
  return inputs;
}

/// The bytes of weights in a device's memory.
static int64_t getConstantBytes(const vx::Instance &instance, const std::string &path,
                                const vx::InstanceOptions &options) {
  const std::pair<std::string, int64_t> symbols[] = {{"most_pages", 1}};
  if (!options.device.starts_with("vulkan"))
    return static_cast<int64_t>(instance.estimateMemory("decode", symbols).constants);
  // A software device reads weights in the pages of a file, and copies those of a module in memory.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const size_t size = std::filesystem::file_size(path);
  std::vector<Line> lines((size + sizeof(Line) - 1) / sizeof(Line));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char *>(lines.data()), static_cast<std::streamsize>(size));
  const vx::Module module(std::as_bytes(std::span(lines)).first(size), path);
  return static_cast<int64_t>(vx::Instance(module, options).estimateMemory("decode", symbols).constants);
}

static int run(const std::string &path, const std::string &device, int64_t context, const std::string &logits,
               Expected *expected) {
  bool hasFailed = false;
  const vx::Module module(path);
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  const int64_t pages = (context + Places - 1) / Places * Sequences;
  options.symbols = {{"context", context}, {"pages", pages}};
  const vx::Instance instance(module, options);
  std::map<std::string, vx::Call> calls;
  for (const vx_function_info &function : module.functions())
    calls.emplace(function.name, vx::Call(instance, function));
  std::ofstream file(logits, std::ios::binary);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string function;
    words >> function;
    if (function == "save") {
      std::string saved;
      words >> saved;
      instance.saveModule(saved, {});
      std::cout << "saved\n";
      continue;
    }
    if (function == "memory") {
      std::cout << getConstantBytes(instance, path, options) << "\n";
      continue;
    }
    std::vector<vx::Value> inputs;
    if (function == "prefill" || function == "embed") {
      std::vector<int64_t> ids;
      for (int64_t number; words >> number;)
        ids.push_back(number);
      inputs.push_back(vx::Value::tensor<int64_t>({1, static_cast<int64_t>(ids.size())}, ids));
    } else {
      inputs = placeTokens(words, pages, function == "decode");
    }
    try {
      const std::vector<vx::Value> results = calls.at(function).run(inputs);
      const std::span<const std::byte> bytes = results[0].bytes();
      file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      if (const std::string apart = expected ? expected->compare(results[0].data<float>()) : ""; !apart.empty()) {
        std::cout << "failed " << apart << "\n";
        hasFailed = true;
        continue;
      }
      std::cout << "done " << results[0].dims()[results[0].dims().size() - 2] << "\n";
    } catch (const vx::Error &error) {
      std::cout << "failed " << error.what() << "\n";
      hasFailed = true;
    }
  }
  if (!expected)
    return 0; // the reader of the answers counts them
  if (!expected->isAtEnd()) {
    std::cout << "failed expected more numbers\n";
    hasFailed = true;
  }
  return hasFailed ? 1 : 0;
}

int main(int argc, char **argv) {
  try {
    if (argc == 5)
      return run(argv[1], argv[2], std::atoll(argv[3]), argv[4], nullptr);
    if (argc != 7)
      return 2;
    Expected expected(argv[5], std::atof(argv[6]));
    return run(argv[1], argv[2], std::atoll(argv[3]), argv[4], &expected);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
