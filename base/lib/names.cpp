#include "vx/base/names.h"

#include <algorithm>
#include <cstdint>

namespace vx {
namespace {

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

// How many letters are to be changed, left out, put in or swapped with the next one; `most` + 1 for more than `most`.
size_t slips(std::string_view a, std::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most)
    return most + 1;
  std::vector<size_t> beforeLast, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool isSame = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (isSame ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (least > most)
      return most + 1;
    beforeLast = last;
    last.swap(row);
  }
  return last[b.size()];
}

} // namespace

std::string joinWords(const std::vector<std::string> &words, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      text += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    text += words[i];
  }
  return text;
}

std::string firstNames(const std::vector<std::string> &names, size_t most) {
  const size_t shown = names.size() <= most + 1 ? names.size() : most;
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += (i ? ", " : "") + names[i];
  return shown == names.size() ? text : text + " and " + std::to_string(names.size() - shown) + " more";
}

std::string quoteNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string> &names) {
  static constexpr size_t longest = 256, atMost = 3;
  if (name.empty() || name.size() > longest)
    return {};
  const size_t most = std::max<size_t>(1, name.size() / 3);
  std::vector<std::pair<size_t, std::string>> found;
  static constexpr size_t shortestBeginning = 3;
  for (const std::string &other : names)
    // A name of which every letter would change is another name; one that is cut short may lack more than a slip does.
    if (const size_t count = slips(name, other, most); count <= most && count < std::max(name.size(), other.size()))
      found.emplace_back(count, other);
    else if (name.size() >= shortestBeginning && other.starts_with(name))
      found.emplace_back(most, other);
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (auto &[count, other] : found)
    if (count == found.front().first && result.size() < atMost && (result.empty() || result.back() != other))
      result.push_back(std::move(other));
  return result;
}

std::string didYouMean(std::string_view name, const std::vector<std::string> &names) {
  std::vector<std::string> near = nearNames(name, names);
  for (std::string &other : near)
    other = "'" + other + "'";
  return near.empty() ? "" : ", did you mean " + joinWords(near, "or");
}

const std::vector<std::string> &allTargets() {
  static const auto *names = new std::vector<std::string>{"cpu", "cuda", "rocm", "vulkan"};
  return *names;
}

std::string leftOutTarget(std::string_view name, const std::vector<std::string> &built) {
  auto has = [&](const std::vector<std::string> &names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!has(allTargets()) || has(built))
    return {};
  std::string text = "was built without the target '" + std::string(name) + "', it has: ";
  for (size_t i = 0; i < built.size(); ++i)
    text += (i ? ", " : "") + built[i];
  return text;
}

} // namespace vx
