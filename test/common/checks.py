"""Checks that are counted, of all scripts of the tests: a line for each, and their numbers at the end."""


class Checks:
    """`is_quiet` prints failures alone."""
    passed = failed = 0
    is_quiet = False

    def check(self, title, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        if not good or not self.is_quiet:
            print(f"{'ok    ' if good else 'FAILED'} {title}{'' if good else f': {detail}'}", flush=True)

    def check_equal(self, title, expected, got):
        self.check(title, expected == got, f"expected {expected!r}, got {got!r}")

    def finish(self, where=""):
        """The script's exit code: 0 if something has passed and nothing has failed. Prints the numbers, and `where` after them."""
        print(f"{self.passed} passed, {self.failed} failed{where}")
        return 1 if self.failed or not self.passed else 0
