// Whether random outputs are what the texts of ONNX's operators say of them: in range, with the means and the spread
// that attributes and inputs state, the same again where they are to be, and not elsewhere.
#ifndef VX_TOOLS_DRAWN_VALUES_H
#define VX_TOOLS_DRAWN_VALUES_H

#include "case_folder.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// How one element is distributed.
struct Draw {
  double low, high;            // the least and the greatest value
  std::vector<double> allowed; // all values, where these are few
  double mean, variance;
  double spread; // the variance of the squared distance from the mean
};

class DrawnValues {
public:
  // How many calls judge a graph, and of them how many are of a second instance.
  static constexpr size_t calls = 32, callsAgain = 2;

  // Whether a node of the graph, or of a graph of its nodes, draws numbers.
  static bool draws(const CaseData &data);

  // The distributions follow from the graph of `data` and the inputs of `set`, which it borrows.
  DrawnValues(const CaseData &data, const CaseData::Set &set);

  // Takes the outputs of call number `call`, counted in each instance, and says what is wrong with them.
  std::optional<std::string> add(size_t instance, size_t call, const std::map<std::string, Value> &outputs);

  // What is wrong with all of them.
  std::optional<std::string> difference() const;

private:
  struct Sums {
    double count = 0, distance = 0, variance = 0, squares = 0, spread = 0;
  };
  using Draws = std::vector<Draw>; // of each element, or one for all

  void follow(const onnx::NodeProto &node);
  std::optional<Tensor> known(const std::string &name) const;
  std::optional<std::string> judge(const std::string &name, const Tensor &got);

  const CaseData::Set &set;
  bool hasSeeds = true, hasSeed = false; // all nodes that draw have a seed; one has
  std::map<std::string, Draws> values;
  std::map<std::string, Sums> sums;
  std::vector<std::map<std::string, Value>> first; // the outputs of the first calls of the first instance
  bool hasChanged = false;
};

} // namespace vx::tools

#endif
