"""The variants of the CPU's code that this machine runs, the best first."""


def _cpu_variants():
    with open("/proc/cpuinfo") as file:
        return ["avx512", "x86-64-v3"] if "avx512vl" in file.read() else ["x86-64-v3"]


CPU_VARIANTS = _cpu_variants()
