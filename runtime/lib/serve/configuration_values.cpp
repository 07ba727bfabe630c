#include "configuration_values.h"

#include "http_url.h"

#include "vx/base/byte_count.h"
#include "vx/base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <arpa/inet.h>

namespace vx::serve {
namespace {

std::optional<uint64_t> wholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return number;
}

// What was given for a value, by a file or in words.
class Given {
public:
  explicit Given(const TomlValue &value) : toml(&value) {}
  explicit Given(std::string_view text) : words(text) {}

  std::string describe() const { return toml ? toml->describe() : fmt::format("'{}'", words); }

  std::optional<uint64_t> number() const {
    if (!toml)
      return wholeNumber(words);
    if (toml->kind == TomlValue::Kind::integer && toml->integer >= 0)
      return static_cast<uint64_t>(toml->integer);
    return std::nullopt;
  }
  std::optional<bool> truth() const {
    if (toml)
      return toml->kind == TomlValue::Kind::boolean ? std::optional(toml->boolean) : std::nullopt;
    if (words == "true" || words == "1")
      return true;
    return words == "false" || words == "0" ? std::optional(false) : std::nullopt;
  }
  std::optional<std::string> text() const {
    if (!toml)
      return std::string(words);
    return toml->kind == TomlValue::Kind::string ? std::optional(toml->text) : std::nullopt;
  }
  // False, with what is in the way, where it is no list of strings.
  bool list(std::vector<std::string> &names, std::string &inTheWay) const {
    inTheWay = describe();
    if (!toml) {
      for (std::string_view rest = words; !words.empty();) {
        const size_t comma = rest.find(',');
        names.emplace_back(rest.substr(0, comma));
        if (comma == std::string_view::npos)
          break;
        rest.remove_prefix(comma + 1);
      }
      return true;
    }
    if (toml->kind != TomlValue::Kind::array)
      return false;
    for (const TomlValue &element : toml->elements) {
      if (element.kind != TomlValue::Kind::string) {
        inTheWay = element.describe();
        return false;
      }
      names.push_back(element.text);
    }
    return true;
  }
  const TomlValue *table() const { return toml && toml->kind == TomlValue::Kind::table ? toml : nullptr; }

private:
  const TomlValue *toml = nullptr;
  std::string_view words;
};

bool hasControls(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string instead(std::string_view want, const Given &given) {
  return fmt::format("expected {}, got {}", want, given.describe());
}

std::string set(const KeyFacts &key, Setting<uint64_t> &setting, const Given &given, const PathContext &) {
  const std::optional<uint64_t> number = given.number();
  if (!number || *number < key.least || *number > key.most)
    return instead(key.least == key.most ? std::to_string(key.least) : fmt::format("{} to {}", key.least, key.most),
                   given);
  setting.value = *number;
  return "";
}

std::string set(const KeyFacts &, Setting<bool> &setting, const Given &given, const PathContext &) {
  const std::optional<bool> truth = given.truth();
  if (!truth)
    return instead("true or false", given);
  setting.value = *truth;
  return "";
}

std::string setPath(Setting<std::string> &setting, const std::string &text, const Given &given,
                    const PathContext &paths) {
  std::filesystem::path path = text;
  if (text == "~" || text.starts_with("~/")) {
    if (paths.home.empty())
      return fmt::format("{} needs the environment variable HOME, which is not set", given.describe());
    path = paths.home + text.substr(1);
  } else if (text.starts_with("~")) {
    return instead("a path without the name of a user", given);
  }
  path = std::filesystem::path(paths.folder) / path;
  setting.value = path.lexically_normal().string();
  while (setting.value.size() > 1 && setting.value.ends_with('/'))
    setting.value.pop_back();
  return "";
}

constexpr std::string_view backends[] = {"cuda", "rocm", "vulkan", "cpu"};

bool isBackend(std::string_view name) {
  return std::find(std::begin(backends), std::end(backends), name) != std::end(backends);
}

bool isNamed(std::string_view name) {
  const auto isOfNames = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:/+@-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 200 && std::all_of(name.begin(), name.end(), isOfNames) &&
         name.front() != '/' && name.front() != '-' && name.back() != '/' &&
         name.find("..") == std::string_view::npos && name.find("//") == std::string_view::npos;
}

constexpr std::string_view wantedName = "a name of letters, digits and ._:/+@- without '..'";

bool isOrigin(std::string_view text) {
  if (text == "*")
    return true;
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || (text.substr(0, scheme) != "http" && text.substr(0, scheme) != "https"))
    return false;
  const std::string_view host = text.substr(scheme + 3);
  return !host.empty() && host.find_first_of("/?#@ *,") == std::string_view::npos;
}

bool isHost(std::string_view text) {
  const auto isOfHosts = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == ':' ||
           c == '-' || c == '_' || c == '%';
  };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), isOfHosts);
}

std::string set(const KeyFacts &key, Setting<std::string> &setting, const Given &given, const PathContext &paths) {
  const std::optional<std::string> text = given.text();
  if (key.form == ValueForm::word) {
    std::vector<std::string> words(key.words.begin(), key.words.end());
    if (!text || std::find(words.begin(), words.end(), *text) == words.end())
      return instead(joinWords(words, "or"), given);
  }
  if (!text)
    return instead(key.form == ValueForm::path ? "a path" : "a text", given);
  if (hasControls(*text))
    return "expected a text without control characters";
  switch (key.form) {
  case ValueForm::path:
    if (text->empty())
      return instead("a path", given);
    return setPath(setting, *text, given, paths);
  case ValueForm::host:
    if (!isHost(*text))
      return instead("a host's name or address", given);
    break;
  case ValueForm::url:
    if (!text->empty() && !parseHttpUrl(*text))
      return instead("a URL, e.g. 'http://localhost:4318/v1/traces'", given);
    break;
  case ValueForm::name:
    if (!isNamed(*text))
      return instead(wantedName, given);
    break;
  case ValueForm::order: {
    std::vector<std::string> names;
    std::string unused;
    Given(*text).list(names, unused);
    for (const std::string &name : names)
      if (!isBackend(name))
        return fmt::format("expected backends of cuda, rocm, vulkan and cpu between commas, got '{}' in {}{}", name,
                           given.describe(), didYouMean(name, {std::begin(backends), std::end(backends)}));
    break;
  }
  default:
    break;
  }
  setting.value = *text;
  return "";
}

// "cpu", "cuda", "cuda:1": one that a model can have.
bool isDevice(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (name.size() == text.size())
    return name == "null" || isBackend(name);
  const std::optional<uint64_t> index = wholeNumber(text.substr(name.size() + 1));
  return isBackend(name) && name != "cpu" && index && *index <= 255;
}

std::string setDevices(Setting<std::vector<std::string>> &setting, std::vector<std::string> list) {
  if (list != std::vector<std::string>{"all"})
    for (const std::string &device : list)
      if (!isDevice(device))
        return fmt::format("expected cpu, vulkan[:N], cuda[:N] or rocm[:N] in a list, or \"all\" alone, got '{}'",
                           device);
  if (list.size() > 64)
    return fmt::format("expected at most 64 devices, got {}", list.size());
  setting.value = std::move(list);
  return "";
}

std::string set(const KeyFacts &key, Setting<std::vector<std::string>> &setting, const Given &given,
                const PathContext &) {
  std::vector<std::string> list;
  std::string inTheWay;
  if (const std::optional<std::string> word = given.text(); word == "all" && key.form == ValueForm::devices)
    return setDevices(setting, {"all"});
  if (!given.list(list, inTheWay))
    return fmt::format("expected a list of texts, got {}", inTheWay);
  if (key.form == ValueForm::devices)
    return setDevices(setting, std::move(list));
  for (auto item = list.begin(); item != list.end(); ++item) {
    if (key.form == ValueForm::origins && !isOrigin(*item))
      return fmt::format("expected origins, e.g. 'https://example.org', got '{}'", *item);
    if (key.form == ValueForm::names && !isNamed(*item))
      return fmt::format("expected {}, got '{}'", wantedName, *item);
    if (std::find(list.begin(), item, *item) != item)
      return fmt::format("expected each once, got '{}' again", *item);
  }
  setting.value = std::move(list);
  return "";
}

// 8388608 or "8MiB".
std::optional<uint64_t> byteCountOf(const Given &given) {
  if (const std::optional<uint64_t> number = given.number())
    return number;
  const std::optional<std::string> text = given.text();
  return text ? parseByteCount(*text) : std::nullopt;
}

std::string set(const KeyFacts &key, Setting<ByteSize> &setting, const Given &given, const PathContext &) {
  const std::optional<uint64_t> bytes = byteCountOf(given);
  if (!bytes)
    return instead("a number of bytes, e.g. 4096 or \"8MiB\"", given);
  if (*bytes < key.least || *bytes > key.most)
    return instead(fmt::format("{} to {}", byteCountText(key.least), byteCountText(key.most)), given);
  setting.value.bytes = *bytes;
  return "";
}

std::string set(const KeyFacts &, Setting<Rate> &setting, const Given &given, const PathContext &) {
  const std::optional<std::string> text = given.text();
  const std::optional<Rate> rate = text ? parseRate(*text) : std::nullopt;
  if (!rate)
    return instead("a rate, e.g. \"60/min\", by s, min, h or day, or \"0\" for none", given);
  setting.value = *rate;
  return "";
}

std::string set(const KeyFacts &, Setting<MemoryShare> &setting, const Given &given, const PathContext &) {
  const std::optional<std::string> text = given.text();
  MemoryShare share;
  if (text && text->ends_with('%')) {
    const std::optional<uint64_t> percent = wholeNumber(std::string_view(*text).substr(0, text->size() - 1));
    share.percent = percent && *percent >= 1 && *percent <= 100 ? static_cast<uint32_t>(*percent) : 0;
  } else if (const std::optional<uint64_t> bytes = byteCountOf(given)) {
    share.bytes = *bytes;
  }
  if (share == MemoryShare{})
    return instead("\"1%\" to \"100%\", or a number of bytes, e.g. \"2GiB\"", given);
  setting.value = share;
  return "";
}

// { vulkan = { device_id = 0 } } and { cpu = { num_threads = 8 } }
std::string setDevice(DeviceWish &wish, const TomlValue &table) {
  if (table.entries.size() != 1)
    return fmt::format("expected one backend in the table, got {}", table.entries.size());
  const auto &[backend, at, options] = table.entries.front();
  if (!isBackend(backend))
    return fmt::format("expected a backend of cuda, rocm, vulkan and cpu, got '{}'{}", backend,
                       didYouMean(backend, {std::begin(backends), std::end(backends)}));
  if (options.kind != TomlValue::Kind::table)
    return fmt::format("expected a table for '{}', got {}", backend, options.describe());
  wish = {backend, 0};
  for (const auto &[name, place, value] : options.entries) {
    const std::string_view known = backend == "cpu" ? "num_threads" : "device_id";
    if (name != known)
      return fmt::format("'{}' is not a key of '{}', expected '{}'", name, backend, known);
    const int64_t most = backend == "cpu" ? 4096 : 255;
    if (value.kind != TomlValue::Kind::integer || value.integer < 0 || value.integer > most)
      return fmt::format("'{}': expected 0 to {}, got {}", name, most, value.describe());
    if (backend == "cpu")
      wish.threads = static_cast<uint32_t>(value.integer);
    else
      wish.device = fmt::format("{}:{}", backend, value.integer);
  }
  return "";
}

std::string set(const KeyFacts &, Setting<DeviceWish> &setting, const Given &given, const PathContext &) {
  if (const TomlValue *table = given.table())
    return setDevice(setting.value, *table);
  const std::optional<std::string> text = given.text();
  if (!text || (*text != "auto" && !isDevice(*text)))
    return instead("auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null", given);
  setting.value = {*text, 0};
  return "";
}

std::string setValue(const KeyFacts &key, SettingRef setting, const Given &given, const PathContext &paths) {
  return std::visit([&](auto *value) { return set(key, *value, given, paths); }, setting);
}

std::string write(uint64_t value) { return std::to_string(value); }
std::string write(bool value) { return value ? "true" : "false"; }
std::string write(const std::string &value) { return quoteToml(value); }
std::string write(const std::vector<std::string> &value) {
  std::string text;
  for (const std::string &item : value)
    text += (text.empty() ? "" : ", ") + quoteToml(item);
  return "[" + text + "]";
}
std::string write(const ByteSize &value) { return quoteToml(byteCountText(value.bytes)); }
std::string write(const Rate &value) { return quoteToml(rateText(value)); }
std::string write(const MemoryShare &value) {
  return quoteToml(value.percent ? fmt::format("{}%", value.percent) : byteCountText(value.bytes));
}
std::string write(const DeviceWish &value) {
  return value.threads ? fmt::format("{{ cpu = {{ num_threads = {} }} }}", value.threads) : quoteToml(value.device);
}

constexpr std::pair<std::string_view, uint32_t> spans[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};

} // namespace

std::string setFromToml(const KeyFacts &key, SettingRef setting, const TomlValue &value, const PathContext &paths) {
  return setValue(key, setting, Given(value), paths);
}

std::string setFromText(const KeyFacts &key, SettingRef setting, std::string_view text, const PathContext &paths) {
  return setValue(key, setting, Given(text), paths);
}

std::string valueText(SettingRef setting) {
  return std::visit([](const auto *value) { return write(value->value); }, setting);
}

std::optional<Rate> parseRate(std::string_view text) {
  if (text == "0")
    return Rate{};
  const size_t slash = text.find('/');
  const std::optional<uint64_t> count = wholeNumber(text.substr(0, slash));
  if (slash == std::string_view::npos || !count || *count == 0 || *count > 1000000000000)
    return std::nullopt;
  for (const auto &[name, seconds] : spans)
    if (text.substr(slash + 1) == name)
      return Rate{*count, seconds};
  return std::nullopt;
}

std::string rateText(const Rate &rate) {
  if (!rate.isLimited())
    return "0";
  for (const auto &[name, seconds] : spans)
    if (seconds == rate.seconds)
      return fmt::format("{}/{}", rate.count, name);
  return fmt::format("{}/{}s", rate.count, rate.seconds);
}

bool isLoopback(std::string_view host) {
  const std::string text(host);
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1)
    return ntohl(four.s_addr) >> 24 == 127;
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1)
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
  return text == "localhost";
}

} // namespace vx::serve
