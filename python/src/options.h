// The messages and options of a compilation, as Python gives them.
#ifndef VX_PYTHON_OPTIONS_H
#define VX_PYTHON_OPTIONS_H

#include "vx/compiler/vxc.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vx::python {

namespace nb = nanobind;

/// The messages of one compilation, with what they are: "error", "warning", "note".
using Messages = std::vector<std::pair<std::string, std::string>>;

inline void take(void *data, vxc_severity severity, const char *text) {
  if (severity != VXC_PROGRESS)
    static_cast<Messages *>(data)->emplace_back(severity == VXC_ERROR     ? "error"
                                                : severity == VXC_WARNING ? "warning"
                                                                          : "note",
                                                text);
}

/// The options of vx-compile whose values are texts, flags and numbers, by their names in vxc_options.
struct Options {
  vxc_options raw = {};
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<std::vector<const char *>> lists;

  explicit Options(const nb::dict &given) {
    raw.struct_size = sizeof(raw);
    const std::pair<const char *, const char *vxc_options::*> strings[] = {{"targets", &vxc_options::targets},
                                                                           {"cache_folder", &vxc_options::cache_folder},
                                                                           {"precision", &vxc_options::precision},
                                                                           {"data_folder", &vxc_options::data_folder},
                                                                           {"gradient", &vxc_options::gradient},
                                                                           {"train", &vxc_options::train},
                                                                           {"freeze", &vxc_options::freeze},
                                                                           {"loss", &vxc_options::loss},
                                                                           {"optimizer", &vxc_options::optimizer},
                                                                           {"batch_norm", &vxc_options::batch_norm},
                                                                           {"dropout", &vxc_options::dropout},
                                                                           {"onnx_export", &vxc_options::onnx_export},
                                                                           {"init", &vxc_options::init}};
    const std::pair<const char *, uint8_t vxc_options::*> flags[] = {{"strict_math", &vxc_options::strict_math},
                                                                     {"keep_gradients", &vxc_options::keep_gradients},
                                                                     {"strict", &vxc_options::strict}};
    const std::pair<const char *, double vxc_options::*> numbers[] = {{"clip_norm", &vxc_options::clip_norm},
                                                                      {"clip_value", &vxc_options::clip_value}};
    const std::pair<const char *, int64_t vxc_options::*> counts[] = {{"classes", &vxc_options::classes},
                                                                      {"memory", &vxc_options::memory},
                                                                      {"planned_batch", &vxc_options::planned_batch}};
    for (auto [key, value] : given) {
      const std::string name = nb::cast<std::string>(key);
      bool isKnown = false;
      try {
        for (auto [known, field] : strings)
          if (name == known)
            raw.*field = keep(nb::cast<std::string>(value)), isKnown = true;
        for (auto [known, field] : flags)
          if (name == known)
            raw.*field = nb::cast<bool>(value), isKnown = true;
        for (auto [known, field] : numbers)
          if (name == known)
            raw.*field = nb::cast<double>(value), isKnown = true;
        for (auto [known, field] : counts)
          if (name == known)
            raw.*field = nb::cast<int64_t>(value), isKnown = true;
        if (name == "weights")
          raw.weights = parseWeights(nb::cast<std::string>(value)), isKnown = true;
        if (name == "threads")
          raw.threads = nb::cast<uint32_t>(value), isKnown = true;
        if (name == "dims" || name == "variants") {
          std::vector<const char *> list;
          for (const std::string &one : nb::cast<std::vector<std::string>>(value))
            list.push_back(keep(one));
          lists.push_back(std::move(list));
          (name == "dims" ? raw.dims : raw.variants) = lists.back().data();
          (name == "dims" ? raw.num_dims : raw.num_variants) = lists.back().size();
          isKnown = true;
        }
      } catch (const std::bad_cast &) {
        throw nb::type_error(
            ("compile: option '" + name + "' does not take " + nb::cast<std::string>(nb::repr(value))).c_str());
      }
      if (!isKnown)
        throw nb::type_error(("compile has no option '" + name + "'").c_str());
    }
  }
  Options(const Options &) = delete;

private:
  static uint8_t parseWeights(const std::string &text) {
    for (auto [name, number] : {std::pair("inside", VXC_WEIGHTS_INSIDE), std::pair("external", VXC_WEIGHTS_EXTERNAL),
                                std::pair("reference", VXC_WEIGHTS_REFERENCE)})
      if (text == name)
        return number;
    throw nb::value_error(
        ("compile: option 'weights': expected inside, external or reference, got '" + text + "'").c_str());
  }
  const char *keep(const std::string &text) { return texts.emplace_back(std::make_unique<std::string>(text))->c_str(); }
};

} // namespace vx::python

#endif
