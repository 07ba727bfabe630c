"""compare.py A B TOLERANCE: fails when two outputs of vx-interpret --print differ by more than TOLERANCE in a number."""
import re
import sys

NUMBER = re.compile(r"-?(?:nan|inf|\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def read(path):
    with open(path) as file:
        text = file.read()
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


def main():
    (left_text, left), (right_text, right) = read(sys.argv[1]), read(sys.argv[2])
    if left_text != right_text or len(left) == 0:
        sys.exit("the outputs differ in more than numbers")
    for a, b in zip(left, right):
        if not (a == b or abs(a - b) <= float(sys.argv[3]) * max(1, abs(a)) or (a != a and b != b)):
            sys.exit(f"expected {a}, got {b}")


main()
