// Calls of one instance, one after another, as a script on standard input tells them; run_state.py,
// run_derived.py, run_static_cache.py and test/gpu/pack_training.py write it.
//
//   run_calls MODULE.vxm DEVICE THREADS
//
//   call FUNCTION INPUT... [-> PLACE...]
//                            prints "done" with the report, or "failed" and why
//     INPUT                  a file with its bytes, of as many rows as it has; =NAME, a piece of memory; $NAME, a value
//     that is kept PLACE                  of each output: -, memory of its own; a file that it is written to; =NAME,
//     that memory;
//                            $NAME, the memory of that value, which it becomes; +NAME, a value to be kept
//   memory NAME FILE         makes a piece of memory with these bytes, at a multiple of 64
//   save NAME FILE           writes the bytes of =NAME or $NAME to FILE
//   results FILE             writes the bytes of all results of the last call that was done to FILE
//   race COUNT FILE FUNCTION FILE... , FUNCTION FILE...
//                            calls both functions COUNT times, side by side, and writes the bytes of all results of the
//                            second one to the first FILE; prints "raced"
//   read VARIABLE FILE       writes its bytes to FILE
//   write VARIABLE FILE
//   same VARIABLE FILE       ends the script where its bytes are not those of the file; * for all results of the last
//                            call that was done
//   near VARIABLE FILE SHARE SCALE
//                            ends it where one of its f32 is off that of the file by more than SHARE of the larger of
//                            its magnitude and SCALE
//   close VARIABLE FILE SHARE [MOST OTHER...]
//                            the same where SCALE is the largest magnitude in the file; of OTHERs, which have what is
//                            as good as in FILE, twice what one is off FILE is allowed on top, and ends the script
//                            where that alone is more than MOST of the largest magnitude
//   slope SHARE INPUT...     behind a call of `backward`, of SGD without momentum: takes steps along @grad by two
//   rates,
//                            and ends the script where what differences of the losses give with one of them is off the
//                            square of its length by more than SHARE of that
//   refused FILE FUNCTION INPUT...
//                            ends it where the call is done, or fails with a message that has not the text of the file
//
// Exit code: 0 the script was run to its end, 1 not.

#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static std::vector<char> bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Rows that no number says are as many as there are in the file.
static vx::Value valueOf(vx_element_type type, std::span<const int64_t> dims, const std::string &path) {
  std::vector<char> bytes = bytesOf(path);
  std::vector<int64_t> sizes(dims.begin(), dims.end());
  if (!sizes.empty() && sizes[0] < 0) {
    int64_t row = vx_element_type_bits(type) / 8;
    for (size_t d = 1; d < sizes.size(); ++d)
      row *= std::max<int64_t>(sizes[d], 1);
    sizes[0] = static_cast<int64_t>(bytes.size()) / row;
  }
  return vx::Value::raw(type, sizes, bytes.data(), bytes.size());
}

template <typename Info>
static const Info &find(std::span<const Info> all, const std::string &name) {
  for (const Info &info : all)
    if (info.name == name)
      return info;
  throw std::runtime_error("the module has no '" + name + "'");
}

static void writeBytes(const std::string &path, const void *bytes, size_t size) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char *>(bytes), static_cast<std::streamsize>(size));
}

namespace {

struct Memory {
  explicit Memory(const std::string &path) {
    const std::vector<char> bytes = bytesOf(path);
    size = bytes.size();
    data.reset(std::aligned_alloc(64, (size + 63) / 64 * 64));
    std::copy(bytes.begin(), bytes.end(), static_cast<char *>(data.get()));
  }
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> data;
  size_t size = 0;
};

class Calls {
public:
  Calls(vx::Module &module, vx::Instance &instance) : module(module), instance(instance) {}

  struct Inputs {
    vx::Call *call;
    std::vector<vx::Value> values;
    size_t outputCount;
  };

  // FUNCTION INPUT...
  Inputs prepare(std::istream &words) {
    std::string name, path;
    words >> name;
    const vx_function_info &function = find(module.functions(), name);
    Inputs inputs;
    std::vector<int64_t> dims;
    for (uint32_t i = 0; i < function.input_count; ++i) {
      words >> path;
      const vx_argument_info &input = function.inputs[i];
      dims.clear();
      for (uint32_t d = 0; d < input.rank; ++d)
        dims.push_back(input.dims[d].size);
      inputs.values.push_back(inputOf(input.element_type, dims, path));
    }
    inputs.call = &calls.try_emplace(name, instance, function).first->second;
    inputs.outputCount = function.output_count;
    return inputs;
  }

  // [-> PLACE...]
  std::vector<vx::Value> run(Inputs &inputs, std::istream &words) {
    std::vector<std::string> outputs(inputs.outputCount, "-");
    std::vector<vx_result_place> places(inputs.outputCount);
    std::string arrow;
    if (words >> arrow)
      for (size_t i = 0; i < outputs.size(); ++i) {
        words >> outputs[i];
        places[i] = placeOf(outputs[i]);
      }
    std::vector<vx::Value> results = inputs.call->runInto(inputs.values, places);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const char kind = outputs[i][0];
      if (kind == '$' || kind == '+')
        values.insert_or_assign(outputs[i].substr(1), results[i]);
      else if (kind != '-' && kind != '=')
        writeBytes(outputs[i], results[i].bytes().data(), results[i].bytes().size());
    }
    // What keeps a value shares its memory.
    return arrow.empty() ? results : std::vector<vx::Value>();
  }

  void makeMemory(const std::string &name, const std::string &path) { memory.insert_or_assign(name, Memory(path)); }
  void save(const std::string &word, const std::string &path) const {
    if (word[0] == '=')
      return writeBytes(path, memory.at(word.substr(1)).data.get(), memory.at(word.substr(1)).size);
    const std::span<const std::byte> bytes = values.at(word.substr(1)).bytes();
    writeBytes(path, bytes.data(), bytes.size());
  }

private:
  vx::Value inputOf(vx_element_type type, std::span<const int64_t> dims, const std::string &word) const {
    if (word[0] == '$')
      return values.at(word.substr(1));
    if (word[0] != '=')
      return valueOf(type, dims, word);
    const Memory &piece = memory.at(word.substr(1));
    return vx::Value::wrap(type, dims, piece.data.get(), piece.size);
  }
  vx_result_place placeOf(const std::string &word) const {
    if (word[0] == '=')
      return {memory.at(word.substr(1)).data.get(), memory.at(word.substr(1)).size, nullptr};
    return {nullptr, 0, word[0] == '$' ? values.at(word.substr(1)).get() : nullptr};
  }

  vx::Module &module;
  vx::Instance &instance;
  std::map<std::string, vx::Call> calls;
  std::map<std::string, Memory> memory;
  std::map<std::string, vx::Value> values;
};

} // namespace

static void append(std::ostream &file, const std::vector<vx::Value> &results) {
  for (const vx::Value &result : results) {
    std::span<const std::byte> bytes = result.bytes();
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

// What `same` and `near` look at.
static std::vector<char> bytesOf(const std::string &name, vx::Instance &instance,
                                 const std::vector<vx::Value> &results) {
  std::vector<char> bytes;
  auto append = [&bytes](const vx::Value &value) {
    for (std::byte byte : value.bytes())
      bytes.push_back(static_cast<char>(byte));
  };
  if (name == "*")
    std::for_each(results.begin(), results.end(), append);
  else
    append(instance.readVariable(name));
  return bytes;
}

static void checkSame(const std::string &name, const std::vector<char> &got, const std::vector<char> &want) {
  if (got.size() != want.size())
    throw std::runtime_error(name + " has " + std::to_string(got.size()) + " bytes, expected " +
                             std::to_string(want.size()));
  const auto place = std::mismatch(got.begin(), got.end(), want.begin()).first;
  if (place != got.end())
    throw std::runtime_error(name + " differs at byte " + std::to_string(place - got.begin()));
}

static double largestOf(const std::vector<char> &bytes) {
  double largest = 0;
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, &bytes[i], sizeof(float));
    largest = std::max(largest, std::abs(double(value)));
  }
  return largest;
}

static double largestDifference(const std::vector<char> &a, const std::vector<char> &b) {
  if (a.size() != b.size())
    throw std::runtime_error("files have " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " bytes");
  double largest = 0;
  for (size_t i = 0; i + sizeof(float) <= a.size(); i += sizeof(float)) {
    float first = 0, second = 0;
    std::memcpy(&first, &a[i], sizeof(float));
    std::memcpy(&second, &b[i], sizeof(float));
    const double difference = std::abs(double(first) - double(second));
    largest = difference <= largest ? largest : difference; // no number is larger than any
  }
  return largest;
}

// What is allowed of `close` beside SHARE of `scale`, from the rest of its line.
static double allowedByOthers(std::istream &words, const std::string &name, const std::vector<char> &want,
                              double scale) {
  double most = 0, apart = 0;
  if (!(words >> most))
    return 0;
  for (std::string other; words >> other;)
    apart = std::max(apart, largestDifference(bytesOf(other), want));
  if (!(apart <= most * scale)) {
    std::ostringstream text;
    text << name << " is not measurable: what is to be alike is " << apart << " apart, expected at most "
         << most * scale;
    throw std::runtime_error(text.str());
  }
  return 2 * apart;
}

static void checkNear(const std::string &name, const std::vector<char> &got, const std::vector<char> &want,
                      double share, double scale, double more = 0) {
  if (got.size() != want.size() || got.size() % sizeof(float) != 0)
    throw std::runtime_error(name + " has " + std::to_string(got.size()) + " bytes, expected " +
                             std::to_string(want.size()));
  for (size_t i = 0; i < got.size(); i += sizeof(float)) {
    float is = 0, wanted = 0;
    std::memcpy(&is, &got[i], sizeof(float));
    std::memcpy(&wanted, &want[i], sizeof(float));
    // What is no number is not near to any.
    if (!(std::abs(double(is) - double(wanted)) <= share * std::max<double>(std::abs(wanted), scale) + more)) {
      std::ostringstream text;
      text << name << " at element " << i / sizeof(float) << " is " << is << ", expected " << wanted;
      throw std::runtime_error(text.str());
    }
  }
}

static std::vector<float> floatsOf(const std::vector<char> &bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// SHARE INPUT...
static void checkSlope(std::istream &words, Calls &calls, const vx::Module &module, vx::Instance &instance) {
  const std::string start = "slope.start", rateFile = "slope.rate";
  double share = 0;
  words >> share;
  std::string inputs;
  std::getline(words, inputs);
  auto run = [&](const std::string &call) {
    std::istringstream text(call);
    Calls::Inputs prepared = calls.prepare(text);
    return calls.run(prepared, text);
  };
  auto lossBehind = [&](float rate) {
    std::ofstream(rateFile, std::ios::binary).write(reinterpret_cast<const char *>(&rate), sizeof(rate));
    const vx_variable_info &parameters = find(module.variables(), "parameters");
    instance.writeVariable("parameters",
                           valueOf(parameters.element_type, std::span(parameters.dims, parameters.rank), start));
    if (rate != 0)
      run("train_step" + inputs + " " + rateFile);
    float loss = 0;
    std::memcpy(&loss, run("evaluate" + inputs).at(0).bytes().data(), sizeof(loss));
    return double(loss);
  };
  const std::vector<char> parameters = bytesOf("parameters", instance, {});
  std::ofstream(start, std::ios::binary).write(parameters.data(), static_cast<std::streamsize>(parameters.size()));
  double want = 0;
  for (float value : floatsOf(bytesOf("grad", instance, {})))
    want += double(value) * double(value);
  const double loss = lossBehind(0);
  // Rounding is seen less with a larger step, and where the network bends with a smaller one.
  for (double change : {0x1p-9, 0x1p-11}) {
    const float rate = static_cast<float>(change * std::abs(loss) / want);
    const double got = (8 * (lossBehind(-rate) - lossBehind(rate)) - (lossBehind(-2 * rate) - lossBehind(2 * rate))) /
                       (12 * double(rate));
    if (!(std::abs(got - want) <= share * want)) {
      std::ostringstream text;
      text << "along the gradients differences of the losses give " << got << ", expected " << want;
      throw std::runtime_error(text.str());
    }
  }
  lossBehind(0);
}

// FILE FUNCTION INPUT...
static void checkRefused(std::istream &words, Calls &calls) {
  std::string path;
  words >> path;
  const std::vector<char> text = bytesOf(path);
  const std::string want(text.begin(), text.end());
  Calls::Inputs inputs = calls.prepare(words);
  try {
    calls.run(inputs, words);
  } catch (const vx::Error &error) {
    if (std::string(error.what()).find(want) == std::string::npos)
      throw std::runtime_error("expected an error with '" + want + "', got '" + error.what() + "'");
    return;
  }
  throw std::runtime_error("expected an error with '" + want + "', the call was done");
}

static void race(std::istream &words, Calls &calls) {
  int count = 0;
  std::string path, comma;
  words >> count >> path;
  Calls::Inputs first = calls.prepare(words);
  words >> comma;
  Calls::Inputs second = calls.prepare(words);
  std::exception_ptr failed;
  std::thread thread([&] {
    try {
      for (int i = 0; i < count; ++i)
        first.call->run(first.values);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < count; ++i)
    append(file, second.call->run(second.values));
  thread.join();
  if (failed)
    std::rethrow_exception(failed);
  std::cout << "raced" << std::endl;
}

int main(int argc, char **argv) try {
  if (argc != 5)
    throw std::runtime_error("usage: run_calls MODULE.vxm DEVICE THREADS SEED");
  vx::Module module(argv[1]);
  vx::InstanceOptions options;
  options.device = argv[2];
  options.noFallback = true;
  options.threads = static_cast<uint32_t>(std::stoul(argv[3]));
  options.seed = std::stoull(argv[4]);
  vx::Instance instance(module, options);
  Calls calls(module, instance);
  std::vector<vx::Value> results;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, name, path;
    words >> verb;
    if (verb == "call") {
      Calls::Inputs inputs = calls.prepare(words);
      try {
        results = calls.run(inputs, words);
        std::cout << "done " << inputs.call->report() << std::endl;
      } catch (const vx::Error &error) {
        std::cout << "failed " << error.what() << std::endl;
      }
      continue;
    }
    if (verb == "race") {
      race(words, calls);
      continue;
    }
    if (verb == "refused") {
      checkRefused(words, calls);
      continue;
    }
    if (verb == "slope") {
      checkSlope(words, calls, module, instance);
      continue;
    }
    if (verb == "results") {
      words >> path;
      std::ofstream file(path, std::ios::binary);
      append(file, results);
      continue;
    }
    words >> name;
    words >> path;
    if (verb == "memory") {
      calls.makeMemory(name, path);
      continue;
    }
    if (verb == "save") {
      calls.save(name, path);
      continue;
    }
    if (verb == "same") {
      checkSame(name, bytesOf(name, instance, results), bytesOf(path));
      continue;
    }
    if (verb == "near" || verb == "close") {
      const std::vector<char> want = bytesOf(path);
      double share = 0, scale = largestOf(want), more = 0;
      words >> share;
      if (verb == "near")
        words >> scale;
      else
        more = allowedByOthers(words, name, want, scale);
      checkNear(name, bytesOf(name, instance, results), want, share, scale, more);
      continue;
    }
    const vx_variable_info &variable = find(module.variables(), name);
    if (verb == "write") {
      instance.writeVariable(name, valueOf(variable.element_type, std::span(variable.dims, variable.rank), path));
    } else {
      vx::Value value = instance.readVariable(name);
      std::span<const std::byte> bytes = value.bytes();
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  }
  return 0;
} catch (const std::exception &error) {
  std::cerr << "run_calls: " << error.what() << std::endl;
  return 1;
}
