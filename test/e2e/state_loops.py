"""Variables, and what else loops carry, through loops and branches. run_state.py runs them."""
from run_models import np
from state_case import Failed, Program, case, tensor, whole


@case(2, 19)
def _loop(n):
    """A variable that a loop stores at each round, and one beside it that reads it afterwards."""
    t, random = tensor(n), np.random.default_rng(n)
    text = f"""vx.symbol data_dependent "i"
vx.variable @w : {t}
vx.variable @u : {t}
func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %x: {t} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  vx.loop "i" trip_count(%k) {{
    %w = vx.variable_load @w : {t}
    %w1 = vx.sub %x, %w : {t}, {t}
    vx.variable_store %w1, @w : {t}
    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true : tensor<i1>
  }}
  %w2 = vx.variable_load @w : {t}
  %u = vx.variable_load @u : {t}
  %u1 = vx.add %u, %w2 : {t}, {t}
  vx.variable_store %u1, @u : {t}
  %r = vx.reduce max %x axes = [0] : {t}
  return %r : tensor<f32>
}}"""

    def step(state, k, x):
        w = state["w"]
        for _ in range(int(k)):
            w = x - w
        return {"w": w, "u": state["u"] + w}

    return Program(text, {"w": whole(random, n), "u": whole(random, n)}, [("step", np.array(k), whole(random, n)) for k in (0, 3, 1, 2)], {"step": step}, in_place=("step",))


def looped(n, body, before="", after="", commits=False, more=""):
    """A function that reads @w and @x of n by 3, with `body` in a loop of k rounds."""
    t = tensor(n, 3)
    return f"""vx.symbol data_dependent "i"
vx.variable @w : {t}
vx.variable @u : {t}
func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %x: {t} {{vx.name = "x"}}{more}) -> ({t} {{vx.name = "r"}}) {{
{before}  vx.loop {"commits " if commits else ""}"i" trip_count(%k) {{
{body}    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true : tensor<i1>
  }}
{after}  return %r : {t}
}}"""


@case(2, 350)
def _loop_of_two(n):
    """Two variables that a loop updates in one kernel, and a third place that reads one behind it."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    text = looped(n, f"""    %w = vx.variable_load @w : {t}
    %u = vx.variable_load @u : {t}
    %w1 = vx.sub %x, %w : {t}, {t}
    %u1 = vx.add %u, %w1 : {t}, {t}
    vx.variable_store %w1, @w : {t}
    vx.variable_store %u1, @u : {t}
""", after=f"  %w2 = vx.variable_load @w : {t}\n  %r = vx.neg %w2 : {t}\n")

    def step(state, k, x):
        w, u = state["w"], state["u"]
        for _ in range(int(k)):
            w = x - w
            u = u + w
        return {"w": w, "u": u}

    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, [("step", np.array(k), whole(random, n, 3)) for k in (0, 3, 1, 2)], {"step": step},
                   results={"step": lambda state, k, x: [-step(state, k, x)["w"]]}, in_place=("step",))


@case(4, 129)
def _loop_that_swaps(n):
    """Each round gives one variable the other's old value, and the other one's transpose-like mix: neither may lie where it did."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    text = looped(n, f"""    %w = vx.variable_load @w : {t}
    %u = vx.variable_load @u : {t}
    %row = vx.slice %u starts [#vx.dim<{n - 1}>, #vx.dim<0>] strides [1, 1] : {t} -> {tensor(1, 3)}
    %flat = vx.reshape %row : {tensor(1, 3)} -> {tensor(3)}
    %rows = vx.broadcast %flat, [1] : {tensor(3)} -> {t}
    %u1 = vx.sub %u, %rows : {t}, {t}
    %u2 = vx.sub %u1, %w : {t}, {t}
    vx.variable_store %u, @w : {t}
    vx.variable_store %u2, @u : {t}
""", after=f"  %r = vx.variable_load @w : {t}\n")

    def step(state, k, x):
        w, u = state["w"], state["u"]
        for _ in range(int(k)):
            w, u = u, u - u[-1:] - w
        return {"w": w, "u": u}

    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, [("step", np.array(k), whole(random, n, 3)) for k in (0, 3, 1, 2)], {"step": step},
                   results={"step": lambda state, k, x: [step(state, k, x)["w"]]})


@case(4, 129)
def _loop_of_other_elements(n):
    """Each round makes all rows of the old value's first one, by a kernel that reads that one alone."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    text = looped(n, f"""    %w = vx.variable_load @w : {t}
    %row = vx.slice %w starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : {t} -> {tensor(1, 3)}
    %flat = vx.reshape %row : {tensor(1, 3)} -> {tensor(3)}
    %rows = vx.broadcast %flat, [1] : {tensor(3)} -> {t}
    %w1 = vx.sub %x, %rows : {t}, {t}
    vx.variable_store %w1, @w : {t}
""", after=f"  %r = vx.neg %x : {t}\n")

    def step(state, k, x):
        w = state["w"]
        for _ in range(int(k)):
            w = x - w[:1]
        return {"w": w, "u": state["u"]}

    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, [("step", np.array(k), whole(random, n, 3)) for k in (0, 3, 1, 2)], {"step": step})


@case(5, 65)
def _loop_carries(n):
    """A value that begins as a variable's and ends as its new one; rows of it are replaced where they lie. Rows are gathered before, by indices
    that may be wrong, and the loop is guarded then."""
    t, ids, random = tensor(n, 3), tensor(n, of="i64"), np.random.default_rng(n)
    text = f"""vx.symbol data_dependent "i"
vx.variable @w : {t}
vx.variable @u : {t}
func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %x: {t} {{vx.name = "x"}}, %at: {ids} {{vx.name = "at"}}, %s: {tensor(1, of="i64")} {{vx.name = "s"}}) -> ({t} {{vx.name = "r"}}) {{
  %rows = vx.gather %x, %at axis = 0 : {t}, {ids}
  %w = vx.variable_load @w : {t}
  %u = vx.variable_load @u : {t}
  %part = vx.slice %x starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : {t} -> {tensor(2, 3)}
  %w1, %u1 = vx.loop "i" trip_count(%k) inits(%w, %u : {t}, {t}) -> {t}, {t} {{
  ^bb0(%a: {t}, %b: {t}):
    %a1 = vx.sub %rows, %a : {t}, {t}
    %b1 = vx.update_slice %b, %s, %part axes = [0] : {t}, {tensor(1, of="i64")}, {tensor(2, 3)}
    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true, %a1, %b1 : tensor<i1>, {t}, {t}
  }}
  vx.variable_store %w1, @w : {t}
  vx.variable_store %u1, @u : {t}
  return %rows : {t}
}}"""

    def step(state, k, x, at, s):
        if at.max() >= n:
            return None
        w, u = state["w"], state["u"].copy()
        for _ in range(int(k)):
            w = x[at] - w
            if 0 <= s[0] <= n - 2:
                u[s[0] : s[0] + 2] = x[:2]
        return {"w": w, "u": u}

    good, bad = random.integers(-n, n, n), np.full(n, n)
    calls = [("step", np.array(k), whole(random, n, 3), at, np.array([s])) for k, at, s in ((2, good, 1), (3, bad, 0), (0, good, 0), (1, good, n - 2), (1, bad, 2))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, message="allowed is", in_place=("step",))


def faulty_loop(n, commits):
    """Rows are gathered by an index of each round's own: a bad one fails the call."""
    t, ids, random = tensor(n, 3), tensor(6, of="i64"), np.random.default_rng(n)
    text = looped(n, f"""    %one = vx.slice %at starts [#vx.dim<i>] strides [1] : {ids} -> {tensor(1, of="i64")}
    %row = vx.gather %x, %one axis = 0 : {t}, {tensor(1, of="i64")}
    %flat = vx.reshape %row : {tensor(1, 3)} -> {tensor(3)}
    %rows = vx.broadcast %flat, [1] : {tensor(3)} -> {t}
    %w = vx.variable_load @w : {t}
    %w1 = vx.sub %rows, %w : {t}, {t}
    vx.variable_store %w1, @w : {t}
    %u = vx.variable_load @u : {t}
    %u1 = vx.add %u, %old : {t}, {t}
    vx.variable_store %u1, @u : {t}
""", before=f"  %old = vx.variable_load @w : {t}\n", after=f"  %r = vx.neg %old : {t}\n", commits=commits, more=f', %at: {ids} {{vx.name = "at"}}')

    def step(state, k, x, at):
        w, u = state["w"], state["u"]
        for i in range(int(k)):
            if i >= len(at) or not -n <= at[i] < n:
                done = Failed({"w": w, "u": u}, f"{i} iteration{'' if i == 1 else 's'} of") if commits else None
                return done
            w, u = x[at[i]] - w, u + state["w"]
        return {"w": w, "u": u}

    good = random.integers(-n, n, 6)

    def bad(place):
        return np.where(np.arange(6) == place, n, good)

    calls = [("step", np.array(k), whole(random, n, 3), at) for k, at in ((3, good), (6, bad(2)), (2, bad(2)), (6, bad(0)), (0, good), (6, bad(5)), (7, good), (6, good), (2, bad(1)))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, message="",
                   results={"step": lambda state, k, x, at: [-state["w"]]})


@case(4, 129)
def _loop_that_fails(n):
    """A fault in a round leaves all as it was."""
    return faulty_loop(n, False)


@case(4, 129)
def _loop_that_commits(n):
    """A fault in a round leaves what the rounds before it stored, and the error says how many those were."""
    return faulty_loop(n, True)


def repeated(name, count, body, carried=""):
    """A loop of `count` rounds, whose `body` may begin with the carried values that `carried` gives it."""
    return f"""vx.loop "{name}" trip_count({count}) {carried}{{
{body}  %true_{name} = vx.constant dense<true> : tensor<i1>
  vx.yield %true_{name} : tensor<i1>
}}
"""


def state_of_loops(n, body, more="", results="", after="  return\n"):
    """A function of @w and @u, of n by 3, and two counts."""
    t = tensor(n, 3)
    return f"""vx.symbol data_dependent "i"
vx.symbol data_dependent "j"
vx.variable @w : {t}
vx.variable @u : {t}
func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %l: tensor<i64> {{vx.name = "l"}}, %x: {t} {{vx.name = "x"}}{more}) -> ({results}) {{
{body}{after}}}"""


def update(n, op, variable, *others, mark=""):
    """@variable becomes `op` of it and another value, or of two values of which the name of one is its own."""
    t = tensor(n, 3)
    first, second = others if len(others) == 2 else (f"%{variable}{mark}", others[0])
    return f"""    %{variable}{mark} = vx.variable_load @{variable} : {t}
    %{variable}{mark}_new = vx.{op} {first}, {second} : {t}, {t}
    vx.variable_store %{variable}{mark}_new, @{variable} : {t}
"""


@case(3, 171)
def _loop_in_loop(n):
    """A variable goes through two loops, is updated in both, and is read between; the other one is the outer loop's alone. The loops begin behind
    a gather by indices that may be wrong."""
    t, ids, random = tensor(n, 3), tensor(n, of="i64"), np.random.default_rng(n)
    inner = repeated("j", "%l", update(n, "sub", "w", "%rows", "%w"))
    outer = inner + update(n, "add", "u", f"%w_between").replace("    %u =", f"    %w_between = vx.variable_load @w : {t}\n    %u =") + update(n, "sub", "w", "%w_last", "%x", mark="_last")
    text = state_of_loops(n, f"  %rows = vx.gather %x, %at axis = 0 : {t}, {ids}\n" + repeated("i", "%k", outer), more=f', %at: {ids} {{vx.name = "at"}}')

    def step(state, k, l, x, at):
        w, u = state["w"], state["u"]
        if at.max() >= n:
            return None
        for _ in range(int(k)):
            for _ in range(int(l)):
                w = x[at] - w
            u, w = u + w, w - x
        return {"w": w, "u": u}

    good, bad = random.integers(-n, n, n), np.full(n, n)
    calls = [("step", np.array(k), np.array(l), whole(random, n, 3), at) for k, l, at in ((2, 3, good), (0, 2, good), (2, 1, bad), (3, 0, good), (1, 2, good), (0, 0, bad))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, message="allowed is", in_place=("step",))


@case(4, 171)
def _loop_in_loop_of_other_rows(n):
    """The inner loop takes each row from another row of the old value: the new one cannot lie there. The outer one adds to it in place."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    inner = f"""    %w = vx.variable_load @w : {t}
    %turned = vx.slice %w starts [#vx.dim<{n - 1}>, #vx.dim<0>] strides [-1, 1] : {t} -> {t}
    %new = vx.sub %x, %turned : {t}, {t}
    vx.variable_store %new, @w : {t}
"""
    text = state_of_loops(n, repeated("i", "%k", repeated("j", "%l", inner) + update(n, "add", "w", "%x", mark="_last") + update(n, "sub", "u", "%x", "%u")))

    def step(state, k, l, x):
        w, u = state["w"], state["u"]
        for _ in range(int(k)):
            for _ in range(int(l)):
                w = x - w[::-1]
            w, u = w + x, x - u
        return {"w": w, "u": u}

    calls = [("step", np.array(k), np.array(l), whole(random, n, 3)) for k, l in ((2, 3), (1, 1), (0, 2), (3, 0), (2, 2))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step})


@case(3, 171)
def _loop_in_branch(n):
    """One variable is updated by a loop of one branch, both by kernels of the other branch; the branches stand in a loop, which reads before it chooses."""
    random = np.random.default_rng(n)
    body = f"""  %w0 = vx.variable_load @w : {tensor(n, 3)}
  %most = vx.reduce max %w0 axes = [0, 1] : {tensor(n, 3)}
  %zero = vx.constant dense<0.0> : tensor<f32>
  %flag = vx.compare lt %zero, %most : tensor<f32>, tensor<f32>
  vx.if %flag {{
{repeated("j", "%l", update(n, "sub", "w", "%x", "%w"))}    vx.yield
  }} else {{
{update(n, "sub", "u", "%x", "%u")}{update(n, "add", "w", "%x", mark="_other")}    vx.yield
  }}
"""
    text = state_of_loops(n, repeated("i", "%k", body))

    def step(state, k, l, x):
        w, u = state["w"], state["u"]
        for _ in range(int(k)):
            if w.max() > 0:
                for _ in range(int(l)):
                    w = x - w
            else:
                u, w = x - u, w + x
        return {"w": w, "u": u}

    calls = [("step", np.array(k), np.array(l), sign * np.abs(whole(random, n, 3))) for k, l, sign in ((4, 3, -1), (3, 1, 1), (2, 0, -1), (0, 2, 1), (5, 1, -1))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, in_place=("step",))


@case(3, 171)
def _branch_without_loop(n):
    """A branch adds to a variable, the other one leaves it; behind it the variable is read."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    text = f"""vx.variable @w : {t}
vx.variable @u : {t}
func.func @step(%c: tensor<i1> {{vx.name = "c"}}, %x: {t} {{vx.name = "x"}}) -> ({t} {{vx.name = "r"}}) {{
  vx.if %c {{
{update(n, "sub", "w", "%x", "%w")}    vx.yield
  }} else {{
    vx.yield
  }}
  %w2 = vx.variable_load @w : {t}
{update(n, "add", "u", "%w2")}  %r = vx.neg %w2 : {t}
  return %r : {t}
}}"""

    def step(state, c, x):
        w = x - state["w"] if c else state["w"]
        return {"w": w, "u": state["u"] + w}

    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, [("step", np.array(c), whole(random, n, 3)) for c in (True, False, True)], {"step": step},
                   results={"step": lambda state, c, x: [-step(state, c, x)["w"]]}, in_place=("step",))


def gathered(n, index):
    """A row of x at place `index` of the indices, as often as there are rows."""
    return f"""    %one = vx.slice %at starts [#vx.dim<{index}>] strides [1] : {tensor(6, of="i64")} -> {tensor(1, of="i64")}
    %row = vx.gather %x, %one axis = 0 : {tensor(n, 3)}, {tensor(1, of="i64")}
    %flat = vx.reshape %row : {tensor(1, 3)} -> {tensor(3)}
    %rows = vx.broadcast %flat, [1] : {tensor(3)} -> {tensor(n, 3)}
"""


def indices_with(n, random):
    """Six of them, all right or one wrong."""
    good = random.integers(-n, n, 6)
    return lambda place=6: np.where(np.arange(6) == place, n, good)


@case(4, 129)
def _loop_in_loop_that_fails(n):
    """The inner loop gathers by an index of each round's own: a bad one fails the call, which leaves all as it was; and no round copies."""
    random = np.random.default_rng(n)
    inner = gathered(n, "j") + update(n, "sub", "w", "%rows", "%w")
    text = state_of_loops(n, repeated("i", "%k", repeated("j", "%l", inner) + update(n, "add", "u", "%x")), more=f', %at: {tensor(6, of="i64")} {{vx.name = "at"}}')

    def step(state, k, l, x, at):
        w, u = state["w"], state["u"]
        for _ in range(int(k)):
            for j in range(int(l)):
                if at[j] >= n:
                    return None
                w = x[at[j]] - w
            u = u + x
        return {"w": w, "u": u}

    at = indices_with(n, random)
    calls = [("step", np.array(k), np.array(l), whole(random, n, 3), at(bad)) for k, l, bad in ((2, 3, 6), (2, 3, 2), (3, 0, 0), (0, 6, 1), (1, 6, 5), (2, 2, 2), (1, 1, 0))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, message="allowed is", rounds_in_place=("step",))


@case(4, 129)
def _loop_in_loop_that_commits(n):
    """Each iteration that commits has a loop of its own; a bad index in the second one leaves what the first one stored."""
    random = np.random.default_rng(n)
    body = gathered(n, "i") + repeated("j", "%l", update(n, "sub", "w", "%rows", "%w")) + update(n, "add", "u", "%x")
    text = state_of_loops(n, repeated("i", "%k", body).replace('vx.loop "i"', 'vx.loop commits "i"'), more=f', %at: {tensor(6, of="i64")} {{vx.name = "at"}}')

    def step(state, k, l, x, at):
        w, u = state["w"], state["u"]
        for i in range(int(k)):
            if at[i] >= n:
                return Failed({"w": w, "u": u}, f"{i} iteration{'' if i == 1 else 's'} of")
            for _ in range(int(l)):
                w = x[at[i]] - w
            u = u + x
        return {"w": w, "u": u}

    at = indices_with(n, random)
    calls = [("step", np.array(k), np.array(l), whole(random, n, 3), at(bad)) for k, l, bad in ((2, 3, 6), (4, 3, 1), (3, 0, 0), (0, 6, 1), (6, 1, 5), (2, 2, 2))]
    return Program(text, {"w": whole(random, n, 3), "u": whole(random, n, 3)}, calls, {"step": step}, rounds_in_place=("step",))


@case(5, 65)
def _loop_carries_no_variable(n):
    """Rows of a carried tensor are replaced in its own memory, round by round, and another one is added to; both begin as inputs, which stay, and the
    loop ends when its condition says so. An index of each round's own may be wrong."""
    t, one, random = tensor(n, 3), tensor(1, of="i64"), np.random.default_rng(n)
    flags = tensor(6, of="i1")
    text = f"""vx.symbol data_dependent "i"
vx.variable @w : {t}
func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %x: {t} {{vx.name = "x"}}, %y: {t} {{vx.name = "y"}}, %at: {tensor(6, of="i64")} {{vx.name = "at"}}, %go: {flags} {{vx.name = "go"}}) -> ({t} {{vx.name = "a"}}, {t} {{vx.name = "b"}}, {t} {{vx.name = "c"}}) {{
  %part = vx.slice %y starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : {t} -> {tensor(1, 3)}
  %a, %b = vx.loop "i" trip_count(%k) inits(%x, %y : {t}, {t}) -> {t}, {t} {{
  ^bb0(%a0: {t}, %b0: {t}):
{gathered(n, "i")}    %b1 = vx.sub %rows, %b0 : {t}, {t}
    %a1 = vx.update_slice %a0, %one, %part axes = [0] : {t}, {one}, {tensor(1, 3)}
    %flag = vx.slice %go starts [#vx.dim<i>] strides [1] : {flags} -> {tensor(1, of="i1")}
    %more = vx.reshape %flag : {tensor(1, of="i1")} -> {tensor(of="i1")}
    vx.yield %more, %a1, %b1 : tensor<i1>, {t}, {t}
  }}
  %c = vx.sub %x, %y : {t}, {t}
  vx.variable_store %b, @w : {t}
  return %a, %b, %c : {t}, {t}, {t}
}}"""

    def run(k, x, y, at, go):
        a, b = x.copy(), y
        for i in range(int(k)):
            if at[i] >= n:
                return None
            b = x[at[i]] - b
            if at[i] >= 0:
                a[at[i]] = y[0]
            if not go[i]:
                break
        return a, b, x - y

    def step(state, *inputs):
        done = run(*inputs)
        return done and {"w": done[1]}

    at = indices_with(n, random)
    stops = lambda place: np.arange(6) != place
    calls = [("step", np.array(k), whole(random, n, 3), whole(random, n, 3), at(bad), stops(last)) for k, bad, last in ((3, 6, 6), (6, 2, 6), (6, 4, 2), (0, 0, 0), (5, 6, 0), (6, 6, 3))]
    return Program(text, {"w": whole(random, n, 3)}, calls, {"step": step}, message="allowed is", results={"step": lambda state, *inputs: run(*inputs)}, rounds_in_place=("step",))
