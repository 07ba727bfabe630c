"""Checks that the turns of each result of vx-bench alternate with rounds of the probe that judges it: check_turns.py RESULT.json"""
import json
import sys


def main():
    report = json.load(open(sys.argv[1], encoding="utf-8"))
    problems = []
    record = report["record"]
    problems += [f"the record has no {key}" for key in ("date", "host", "cpu", "commit", "command", "devices") if not record.get(key)]
    probes = {(probe["device"], probe["threads"]): probe for probe in report["probes"]}
    own = {key: 0 for key in probes}
    for result in report["results"]:
        name = f"{result['module']} on {result['device']} with {result['threads']} threads"
        turns, probe = result["turns_at_s"], result["probe"]
        times = [time for pair in zip(turns, probe["at_s"]) for time in pair]
        if len(turns) != 5 or len(probe["at_s"]) != 5 or probe["rounds"] != 5:
            problems.append(f"{name}: expected 5 turns and 5 rounds, got {len(turns)}, {len(probe['at_s'])} and {probe['rounds']}")
        if times != sorted(times):
            problems.append(f"{name}: expected a round after each turn, got turns at {turns} and rounds at {probe['at_s']}")
        whole = probes.get((result["device"], result["threads"]))
        if not whole:
            problems.append(f"{name}: expected a probe of the same device and threads, got {list(probes)}")
            continue
        own[result["device"], result["threads"]] += probe["rounds"]
        for peak in ("fma_gflops", "read_gbs"):
            if not whole[f"{peak}_min"] <= probe[f"{peak}_min"] <= probe[peak] <= probe[f"{peak}_max"] <= whole[f"{peak}_max"]:
                problems.append(f"{name}: {peak} of its rounds is not inside of that of all rounds: {probe}, {whole}")
    problems += [f"{key}: expected {count} rounds of its results, got {probes[key]['rounds']}" for key, count in own.items() if count != probes[key]["rounds"]]
    print("\n".join(problems) or f"{len(report['results'])} results, each with 5 turns and a round of its probe after each")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
