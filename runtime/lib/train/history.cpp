#include "vx/train/history.hpp"

#include "failure.h"
#include "json_text.h"
#include "written_file.h"

namespace vx::train {

double Scores::of(const std::string &name) const {
  if (name == "loss")
    return loss;
  std::vector<std::string> names{"loss"};
  for (const auto &[metric, value] : metrics) {
    if (metric == name)
      return value;
    names.push_back(metric);
  }
  throw argumentError("unknown metric '{}', the module has {}", name, quoteNames(names));
}

// The members of a JSON object.
static std::string membersOf(const Scores &scores) {
  std::string text = fmt::format("\"loss\":{},\"metrics\":{{", jsonNumber(scores.loss));
  for (const auto &[name, value] : scores.metrics)
    text += fmt::format("{}{}:{}", text.back() == '{' ? "" : ",", jsonString(name), jsonNumber(value));
  return text + '}';
}

std::string History::json() const {
  std::string text =
      fmt::format("{{\"version\":1,\"optimizer\":{},\"loss\":{},\"schedule\":{},\"seed\":{},\"stopped\":{},\"notes\":[",
                  jsonString(optimizer), jsonString(loss), jsonString(schedule), seed,
                  stopped.empty() ? "null" : jsonString(stopped));
  for (const std::string &note : notes)
    text += (text.back() == '[' ? "" : ",") + jsonString(note);
  text += "],";
  if (!data.empty())
    text += fmt::format("\"data\":{},", jsonString(data));
  if (!classes.empty()) {
    text += "\"classes\":[";
    for (const std::string &name : classes)
      text += (text.back() == '[' ? "" : ",") + jsonString(name);
    text += "],";
  }
  text += "\"epochs\":[";
  for (const Epoch &epoch : epochs) {
    text += fmt::format(
        "{}{{\"epoch\":{},\"step\":{},\"rate\":{},\"seconds\":{},{},\"validation\":", text.back() == '[' ? "" : ",",
        epoch.epoch, epoch.step, jsonNumber(epoch.rate), jsonNumber(epoch.seconds), membersOf(epoch.training));
    text += epoch.validation ? '{' + membersOf(*epoch.validation) + '}' : "null";
    if (epoch.loss_scale)
      text += fmt::format(",\"loss_scale\":{},\"skipped\":{}", jsonNumber(epoch.loss_scale->scale), epoch.skipped);
    text += '}';
  }
  return text + "]}";
}

void History::save(const std::string &path) const {
  const std::string text = json() + "\n";
  WrittenFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

} // namespace vx::train
