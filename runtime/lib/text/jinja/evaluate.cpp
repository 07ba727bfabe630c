#include "text/jinja/evaluate.h"

#include "text/jinja/arithmetic.h"

#include <algorithm>

namespace vx::text::jinja {

namespace {

enum class Flow : uint8_t { next, leave, proceed };

class Evaluator {
public:
  Evaluator(Run &run, const Value &variables) : run(run) {
    Scope &root = makeScope(nullptr);
    for (const auto &[name, value] : variables.dict->items)
      root.variables.insert_or_assign(name.text(), value);
    scope = &root;
  }

  Flow execute(const Body &body) {
    const Run::Level level(run);
    for (const auto &statement : body) {
      run.line = statement->line;
      run.step();
      const Flow flow = execute(*statement);
      if (flow != Flow::next)
        return flow;
    }
    return Flow::next;
  }

  Value callMacro(const Macro &macro, const Arguments &arguments) {
    const Run::Level level(run);
    const Statement &statement = *macro.statement;
    const size_t count = statement.parameters.size();
    if (arguments.positional.size() > count)
      run.fail("macro '" + statement.text + "' takes at most " + std::to_string(count) + " arguments, got " +
               std::to_string(arguments.positional.size()));
    for (const auto &[name, value] : arguments.named)
      if (std::ranges::find(statement.parameters, name, &Parameter::name) == statement.parameters.end())
        run.fail("macro '" + statement.text + "' has no parameter '" + std::string(name) + "'");
    const Inside inside(*this, macro.scope);
    const size_t line = run.line;
    for (size_t i = 0; i < count; ++i) {
      const Parameter &parameter = statement.parameters[i];
      const auto named =
          std::ranges::find(arguments.named, parameter.name, [](const auto &item) { return item.first; });
      if (i < arguments.positional.size() && named != arguments.named.end())
        run.fail("macro '" + statement.text + "' gets the argument '" + parameter.name + "' twice");
      Value value;
      if (i < arguments.positional.size())
        value = arguments.positional[i];
      else if (named != arguments.named.end())
        value = named->second;
      else if (parameter.otherwise)
        value = evaluate(*parameter.otherwise);
      else
        value = run.undefined("parameter '" + parameter.name + "' was not provided");
      set(parameter.name, value);
    }
    Run::Capture capture(run);
    execute(statement.body);
    run.line = line;
    return run.string(capture.take());
  }

  Value evaluate(const Expression &node);

private:
  Scope &makeScope(Scope *outer) {
    run.charge(sizeof(Scope));
    scopes.push_back({{}, outer});
    return scopes.back();
  }
  struct Inside {
    Inside(Evaluator &all, Scope *outer) : all(all), before(all.scope), macros(all.macros.size()) {
      all.scope = &all.makeScope(outer);
    }
    ~Inside() {
      // A macro that was defined inside may be called later, and reads this scope then.
      if (all.macros.size() == macros && all.scope == &all.scopes.back())
        all.scopes.pop_back();
      all.scope = before;
    }
    Evaluator &all;
    Scope *before;
    size_t macros;
  };

  void set(std::string_view name, const Value &value) { scope->variables.insert_or_assign(name, value); }
  Value lookUp(const Expression &node) {
    for (const Scope *in = scope; in; in = in->outer) {
      run.step();
      if (const auto found = in->variables.find(node.text); found != in->variables.end())
        return found->second;
    }
    const Value global = globalOf(run, node.text);
    return global.isUndefined() ? run.undefined("'" + node.text + "' is undefined") : global;
  }

  void assign(const Expression &target, const Value &value) {
    if (target.operation == Operation::name) {
      set(target.text, value);
    } else if (target.operation == Operation::attribute) {
      const Value owner = lookUp(*target.parts[0]);
      if (owner.kind != Kind::namespaced)
        run.fail("only attributes of a namespace can be set, got one of a value of '" + std::string(typeName(owner)) +
                 "'");
      run.charge(2 * sizeof(Value));
      owner.names->attributes.set(run.string(target.text), value);
    } else {
      const Run::Level level(run);
      const std::vector<Value> items = iterate(run, value);
      if (items.size() != target.parts.size())
        run.fail("expected " + std::to_string(target.parts.size()) + " values to unpack, got " +
                 std::to_string(items.size()));
      for (size_t i = 0; i < items.size(); ++i)
        assign(*target.parts[i], items[i]);
    }
  }

  Flow execute(const Statement &statement) {
    switch (statement.action) {
    case Action::data:
      run.write(statement.text);
      return Flow::next;
    case Action::output:
      run.write(toText(run, evaluate(*statement.value)));
      return Flow::next;
    case Action::branch:
      return execute(isTrue(evaluate(*statement.value)) ? statement.body : statement.other);
    case Action::loop:
      return loop(statement);
    case Action::set:
      assign(*statement.target, evaluate(*statement.value));
      return Flow::next;
    case Action::block:
    case Action::filter: {
      Run::Capture capture(run);
      const Flow flow = inScope(statement);
      Value text = run.string(capture.take());
      if (statement.value)
        text = applyFilters(*statement.value, text);
      if (statement.action == Action::block)
        assign(*statement.target, text);
      else
        run.write(toText(run, text));
      return flow;
    }
    case Action::macro: {
      macros.push_back({&statement, scope});
      run.charge(sizeof(Macro));
      Value value;
      value.kind = Kind::macro;
      value.macro = &macros.back();
      set(statement.text, value);
      return Flow::next;
    }
    case Action::scope: {
      std::vector<Value> values;
      for (const Parameter &parameter : statement.parameters)
        values.push_back(evaluate(*parameter.otherwise));
      const Inside inside(*this, scope);
      for (size_t i = 0; i < values.size(); ++i)
        set(statement.parameters[i].name, values[i]);
      return execute(statement.body);
    }
    case Action::part:
      return inScope(statement);
    case Action::leave:
      return Flow::leave;
    case Action::proceed:
      return Flow::proceed;
    }
    return Flow::next;
  }

  Flow inScope(const Statement &statement) {
    const Inside inside(*this, scope);
    return execute(statement.body);
  }

  Flow loop(const Statement &statement) {
    std::vector<Value> items = iterate(run, evaluate(*statement.value));
    if (statement.condition) {
      std::vector<Value> kept;
      for (const Value &item : items) {
        const Inside inside(*this, scope);
        assign(*statement.target, item);
        if (isTrue(evaluate(*statement.condition)))
          kept.push_back(item);
      }
      items = std::move(kept);
    }
    lists.push_back(std::move(items));
    Loop &state = loops.emplace_back();
    run.charge(sizeof(Loop));
    state.items = &lists.back();
    state.depth = 1;
    Value value;
    value.kind = Kind::loop;
    value.loop = &state;
    // As Jinja does: `else` also follows a loop of which no round came to its end, by break or continue.
    bool isComplete = false;
    for (state.index = 0; state.index < state.items->size(); ++state.index) {
      run.step();
      const Inside inside(*this, scope);
      set("loop", value);
      assign(*statement.target, (*state.items)[state.index]);
      const Flow flow = execute(statement.body);
      isComplete |= flow == Flow::next;
      if (flow == Flow::leave)
        break;
    }
    if (!isComplete) {
      const Inside inside(*this, scope);
      return execute(statement.other);
    }
    return Flow::next;
  }

  Arguments evaluateArguments(const std::vector<Argument> &nodes) {
    Arguments arguments;
    for (const Argument &node : nodes)
      if (node.name.empty())
        arguments.positional.push_back(evaluate(*node.value));
      else if (std::ranges::any_of(arguments.named, [&](const auto &item) { return item.first == node.name; }))
        run.fail("the argument '" + node.name + "' is given twice");
      else
        arguments.named.emplace_back(node.name, evaluate(*node.value));
    return arguments;
  }

  // The chain of filters of a block, whose innermost value is its text.
  Value applyFilters(const Expression &node, const Value &text) {
    const Run::Level level(run);
    const Value value = node.parts[0] ? applyFilters(*node.parts[0], text) : text;
    if (node.operation != Operation::filter)
      run.fail("a block takes filters only");
    return filter(node, value);
  }

  Value filter(const Expression &node, const Value &value) {
    const Arguments arguments = evaluateArguments(node.arguments);
    run.line = node.line;
    if (!node.filter)
      run.fail("the filter '" + node.text + "' is not supported");
    return node.filter(run, value, arguments);
  }

  Value call(const Expression &node) {
    const Value callee = evaluate(*node.parts[0]);
    const Arguments arguments = evaluateArguments(node.arguments);
    run.line = node.line;
    if (callee.kind == Kind::macro)
      return callMacro(*callee.macro, arguments);
    return callFunction(run, callee, arguments);
  }

  Value compareAll(const Expression &node) {
    Value left = evaluate(*node.parts[0]);
    for (size_t i = 0; i < node.comparisons.size(); ++i) {
      const Value right = evaluate(*node.parts[i + 1]);
      run.line = node.line;
      bool holds = false;
      switch (node.comparisons[i]) {
      case Comparison::equal:
        holds = isEqual(run, left, right);
        break;
      case Comparison::unequal:
        holds = !isEqual(run, left, right);
        break;
      case Comparison::in:
      case Comparison::notIn:
        holds = contains(run, right, left) == (node.comparisons[i] == Comparison::in);
        break;
      default:
        holds = isOrdered(run, left, right, node.comparisons[i]);
      }
      if (!holds)
        return Value::of(false);
      left = right;
    }
    return Value::of(true);
  }

  Run &run;
  Scope *scope = nullptr;
  std::deque<Scope> scopes;
  std::deque<Macro> macros;
  std::deque<Loop> loops;
  std::deque<std::vector<Value>> lists;
};

Value Evaluator::evaluate(const Expression &node) {
  const Run::Level level(run);
  run.line = node.line;
  run.step();
  const auto part = [&](size_t i) { return evaluate(*node.parts[i]); };
  const auto optional = [&](size_t i) { return node.parts[i] ? evaluate(*node.parts[i]) : Value::none(); };
  switch (node.operation) {
  case Operation::literal:
    return node.isText ? run.string(node.text) : node.value;
  case Operation::name:
    return lookUp(node);
  case Operation::list:
  case Operation::tuple: {
    std::vector<Value> items;
    for (const ExpressionPointer &item : node.parts)
      items.push_back(evaluate(*item));
    return run.list(std::move(items), node.operation == Operation::list ? List::Form::list : List::Form::tuple);
  }
  case Operation::dict: {
    Dict dict;
    for (size_t i = 0; i < node.parts.size(); i += 2) {
      const Value key = part(i);
      if (key.kind >= Kind::list)
        run.fail(std::string("a value of '") + typeName(key) + "' is no key of a dict");
      dict.set(key, part(i + 1));
    }
    return run.dict(std::move(dict));
  }
  case Operation::attribute: {
    const Value value = part(0);
    run.line = node.line;
    return attributeOf(run, value, node.text);
  }
  case Operation::item: {
    const Value value = part(0), key = part(1);
    run.line = node.line;
    return subscript(run, value, key);
  }
  case Operation::slice: {
    const Value value = part(0), begin = optional(1), end = optional(2), step = optional(3);
    run.line = node.line;
    return sliceOf(run, value, begin, end, step);
  }
  case Operation::call:
    return call(node);
  case Operation::filter: {
    return filter(node, part(0));
  }
  case Operation::test: {
    const Value value = part(0);
    const Arguments arguments = evaluateArguments(node.arguments);
    run.line = node.line;
    if (!node.test)
      run.fail("the test '" + node.text + "' is not supported");
    return Value::of(node.test(run, value, arguments) != node.isNegated);
  }
  case Operation::logicalNot:
    return Value::of(!isTrue(part(0)));
  case Operation::logicalAnd: {
    const Value left = part(0);
    return isTrue(left) ? part(1) : left;
  }
  case Operation::logicalOr: {
    const Value left = part(0);
    return isTrue(left) ? left : part(1);
  }
  case Operation::conditional:
    if (isTrue(part(1)))
      return part(0);
    return node.parts[2] ? part(2)
                         : run.undefined("the inline if-expression evaluated to false and no else section was defined");
  case Operation::concatenate: {
    std::string text;
    for (const ExpressionPointer &item : node.parts)
      text += toText(run, evaluate(*item));
    return run.string(std::move(text));
  }
  case Operation::compare:
    return compareAll(node);
  case Operation::negative:
  case Operation::positive: {
    const Value value = part(0);
    return negate(run, value, node.operation == Operation::negative);
  }
  default: {
    const Value left = part(0), right = part(1);
    run.line = node.line;
    return compute(run, node.operation, left, right);
  }
  }
}

} // namespace

void evaluate(Run &run, const Syntax &syntax, const Value &variables) {
  Evaluator(run, variables).execute(syntax.body);
}

} // namespace vx::text::jinja
