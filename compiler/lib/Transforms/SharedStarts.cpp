#include "SharedStarts.h"

#include "llvm/ADT/MapVector.h"
#include <numeric>
#include <set>

using namespace mlir;

namespace vx {

/// So many kernels of their own are cheaper than one that is told where it reads: constants fold into addresses.
static constexpr size_t kMostKernels = 4;
/// Of one kernel.
static constexpr size_t kMostStarts = 8;

static void setStart(SliceOp slice, unsigned dim, DimAttr start) {
  SmallVector<Attribute> starts(slice.getStarts().begin(), slice.getStarts().end());
  starts[dim] = start;
  slice.setStartsAttr(ArrayAttr::get(slice.getContext(), starts));
}

SharedStarts::SharedStarts(ModuleOp module, ArrayRef<FusionOp> fusions, function_ref<std::string(FusionOp)> getKey)
    : context(module.getContext()), prefix("start") {
  while (llvm::any_of(module.getOps<SymbolOp>(), [&](SymbolOp symbol) { return symbol.getName().starts_with(prefix); }))
    prefix += "_";
  llvm::MapVector<StringAttr, std::vector<Member>> groups;
  for (FusionOp fusion : fusions) {
    Member member{fusion, {}};
    fusion.walk([&](SliceOp slice) {
      for (auto [dim, start] : llvm::enumerate(slice.getStarts().getAsRange<DimAttr>()))
        if (std::optional<int64_t> value = start.asConstant())
          member.starts.push_back({slice, static_cast<unsigned>(dim), *value});
    });
    if (member.starts.empty())
      continue;
    for (auto [place, start] : llvm::enumerate(member.starts))
      setStart(start.slice, start.dim, DimAttr::symbolNamed(context, prefix + std::to_string(place)));
    StringAttr key = StringAttr::get(context, getKey(fusion));
    for (const Start &start : member.starts)
      setStart(start.slice, start.dim, DimAttr::constant(context, start.value));
    groups[key].push_back(std::move(member));
  }
  for (auto &[key, members] : groups)
    share(members);
}

void SharedStarts::share(MutableArrayRef<Member> members) {
  auto getColumn = [&](size_t place) {
    std::vector<int64_t> column;
    for (const Member &member : members)
      column.push_back(member.starts[place].value);
    return column;
  };
  std::set<std::vector<int64_t>> different;
  for (const Member &member : members) {
    std::vector<int64_t> own;
    for (const Start &start : member.starts)
      own.push_back(start.value);
    different.insert(std::move(own));
  }
  if (different.size() <= kMostKernels)
    return;
  // What is the same in all of them stays a constant; starts that go together have one symbol.
  std::map<std::vector<int64_t>, SmallVector<size_t>> columns;
  for (size_t place = 0; place < members.front().starts.size(); ++place)
    if (std::vector<int64_t> column = getColumn(place); llvm::any_of(column, [&](int64_t v) { return v != column[0]; }))
      columns[column].push_back(place);
  if (columns.size() > kMostStarts)
    return;
  for (auto &[column, places] : columns) {
    StringAttr symbol = makeSymbol();
    SymbolRange &range = ranges[symbol];
    range = {*llvm::min_element(column), *llvm::max_element(column), 0};
    for (int64_t value : column)
      range.multiple = std::gcd(range.multiple, value);
    for (auto [member, value] : llvm::zip(members, column)) {
      values[{member.fusion, symbol}] = DimAttr::constant(context, value);
      for (size_t place : places)
        setStart(member.starts[place].slice, member.starts[place].dim, DimAttr::symbolNamed(symbol));
    }
  }
}

StringAttr SharedStarts::makeSymbol() { return StringAttr::get(context, prefix + std::to_string(made++)); }

DimAttr SharedStarts::lookup(FusionOp fusion, StringAttr symbol) const {
  return values.lookup({fusion.getOperation(), symbol});
}

} // namespace vx
