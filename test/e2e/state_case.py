"""What run_state.py runs: programs with variables, and what they are to hold after each call."""
from run_models import np

CASES = {}


def case(*sizes):
    """Registers the generator of one program at each of the sizes."""

    def register(function):
        for size in sizes:
            CASES[f"{function.__name__[1:]}_{size}"] = lambda size=size: function(size)
        return function

    return register


class Failed:
    """What a call leaves that fails with `message` after iterations that commit."""

    def __init__(self, state, message):
        self.state, self.message = state, message


class Program:
    """`text` has the function `step`, and others where `step` is a dictionary of functions: then a call begins with the name of one.
    `step(state, *inputs)` gives the next state, or None or a `Failed` where the call is to fail with `message`; `results(state, *inputs)`, where a function
    has an entry, what it returns. `members` are variables that lie in others: the name of the pool, the place of the first float, the shape.
    They may be written before the calls, too: `written`, by name. `work` are the dispatches and replays that functions are to take; `in_place` are functions that
    copy nothing and wait for nothing, `rounds_in_place` those whose loops copy nothing, and `without_arena` those that need no memory beside the variables. With a
    `seed` the program's variables start with random values, which are to be `state`; else that is written."""

    def __init__(self, text, state, calls, step, ulps=0, message="", replays=None, members=None, written=None, results=None, work=None, in_place=(), rounds_in_place=(),
                 without_arena=(), seed=None):
        self.text, self.state, self.ulps, self.message, self.seed = text, state, ulps, message, seed
        self.functions = step if isinstance(step, dict) else {"step": step}
        self.calls = calls if isinstance(step, dict) else [("step", *inputs) for inputs in calls]
        self.members, self.written, self.results = members or {}, written or {}, results or {}
        self.in_place, self.rounds_in_place, self.without_arena = in_place, rounds_in_place, without_arena
        self.work = work or ({"step": {"replays": replays}} if replays is not None else {})

    def add_members(self, state):
        """With the members' values beside the pools'."""
        views = {name: state[pool].reshape(-1)[start : start + int(np.prod(shape))].reshape(shape) for name, (pool, start, shape) in self.members.items()}
        return {**state, **views}

    def write(self, state):
        """The state once the members are written."""
        state = {name: value.copy() for name, value in state.items()}
        for name, value in self.written.items():
            self.add_members(state)[name][...] = value
        return state


def tensor(*dims, of="f32"):
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{of}>"


def whole(random, *dims, low=-8, high=8):
    return random.integers(low, high, dims, endpoint=True).astype(np.float32)
