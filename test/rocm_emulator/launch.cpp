#include "launch.h"

#include "waits.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

namespace vx::rocm_emulator {

namespace {

// What registers and workgroup memory hold before they are written: a NaN, an index that leads nowhere.
constexpr uint32_t unwritten = 0xfffedcba;

class Grid {
public:
  Grid(const Kernel &kernel, Size3 grid, Size3 workgroup, uint64_t arguments, const Memory &memory)
      : kernel(kernel), grid(grid), workgroup(workgroup), arguments(arguments), memory(memory),
        uses(memoryUses(kernel.program)) {}

  // Takes workgroups until none is left.
  void work() {
    Workgroup group{memory, std::vector<uint8_t>(kernel.sharedBytes),
                    std::vector<Memory::Range>(kernel.program.instructions.size())};
    const unsigned threads = workgroup.x * workgroup.y * workgroup.z, lanes = kernel.registers.lanes;
    std::vector<Wave> waves;
    waves.reserve((threads + lanes - 1) / lanes);
    for (unsigned first = 0; first < threads; first += lanes)
      waves.emplace_back(group, kernel.generation, lanes, kernel.registers.vectors);
    const uint64_t count = uint64_t(grid.x) * grid.y * grid.z;
    for (uint64_t index = next++; index < count && !failed; index = next++) {
      try {
        std::vector<Waits> waits(waves.size(), Waits(kernel.generation));
        run(group, waves, waits, index);
      } catch (const Fault &fault) {
        std::lock_guard lock(mutex);
        if (!failed)
          problem = fault.what();
        failed = true;
      }
    }
  }

  void check() const {
    if (failed)
      throw Fault(problem);
  }

private:
  void run(Workgroup &group, std::vector<Wave> &waves, std::vector<Waits> &waits, uint64_t index) {
    std::fill(group.shared.begin(), group.shared.end(), 0xff);
    const unsigned threads = workgroup.x * workgroup.y * workgroup.z;
    for (size_t k = 0; k < waves.size(); ++k)
      start(waves[k], index, static_cast<unsigned>(k) * waves[k].lanes, threads);
    // From barrier to barrier, forwards and backwards: who needs another's result without a barrier shall not find it.
    for (bool isBackwards = false;; isBackwards = !isBackwards) {
      size_t done = 0, waiting = 0;
      for (size_t k = 0; k < waves.size(); ++k) {
        const size_t place = isBackwards ? waves.size() - 1 - k : k;
        Wave &wave = waves[place];
        if (!wave.isDone)
          run(wave, waits[place]);
        done += wave.isDone;
        waiting += wave.atBarrier;
      }
      if (done == waves.size())
        return;
      if (waiting + done < waves.size())
        throw Fault("kernel '" + kernel.name + "': a wavefront neither ends nor waits");
      for (Wave &wave : waves)
        wave.atBarrier = false;
    }
  }

  void start(Wave &wave, uint64_t index, unsigned firstThread, unsigned threads) const {
    for (Vector &vector : wave.v)
      vector.lane.fill(unwritten);
    wave.s.fill(unwritten);
    wave.scc = false;
    wave.mode = kernel.mode;
    wave.at = 0;
    wave.isDone = wave.atBarrier = false;
    wave.privateBytes = kernel.privateBytes;
    wave.privateMemory.assign(size_t(kernel.privateBytes) * wave.lanes, 0xff);
    const unsigned here = std::min(wave.lanes, threads - firstThread);
    wave.setPair(execRegister, 0);
    wave.setLaneMask(execRegister, here == 64 ? ~uint64_t(0) : (uint64_t(1) << here) - 1);
    if (kernel.argumentRegister >= 0)
      wave.setPair(static_cast<unsigned>(kernel.argumentRegister), arguments);
    unsigned next = kernel.userRegisters;
    const uint32_t place[3] = {static_cast<uint32_t>(index % grid.x), static_cast<uint32_t>(index / grid.x % grid.y),
                               static_cast<uint32_t>(index / grid.x / grid.y)};
    for (unsigned k = 0; k < 3; ++k)
      if (kernel.hasPlace[k])
        wave.s[next++] = place[k];
    // The thread's place, ten bits each.
    for (unsigned lane = 0; lane < here; ++lane) {
      const unsigned thread = firstThread + lane;
      wave.v[0][lane] = thread % workgroup.x | (thread / workgroup.x % workgroup.y) << 10 |
                        (thread / workgroup.x / workgroup.y) << 20;
    }
  }

  void run(Wave &wave, Waits &waits) const {
    const std::vector<Instruction> &instructions = kernel.program.instructions;
    const Instruction *now = nullptr;
    try {
      while (!wave.isDone && !wave.atBarrier) {
        if (wave.at >= instructions.size())
          throw Fault("it runs out of the kernel's code");
        now = &instructions[wave.at];
        waits.run(*now, uses[wave.at]);
        if (now->secondReadsFirst)
          waits.run(instructions[wave.at + 1], uses[wave.at + 1]);
        runNext(wave, kernel.program);
      }
    } catch (const Fault &fault) {
      char offset[24];
      std::snprintf(offset, sizeof offset, "0x%llx",
                    static_cast<unsigned long long>(now ? now->address - kernel.entry : 0));
      throw Fault("kernel '" + kernel.name + "' at " + offset + ": '" + (now ? now->text : "") + "': " + fault.what());
    }
  }

  const Kernel &kernel;
  const Size3 grid, workgroup;
  const uint64_t arguments;
  const Memory &memory;
  const std::vector<MemoryUse> uses;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::string problem;
};

} // namespace

void runNext(Wave &wave, const Program &program) {
  const Instruction &now = program.instructions[wave.at];
  if (!now.secondReadsFirst) {
    ++wave.at;
    now.run(wave, now);
    return;
  }
  // Both read before either writes.
  const Instruction &second = program.instructions[wave.at + 1];
  Vector &written = wave.v[now.operands[0].index];
  const Vector before = written;
  now.run(wave, now);
  const Vector after = written;
  written = before;
  second.run(wave, second);
  written = after;
  wave.at += 2;
}

void launch(const Kernel &kernel, Size3 grid, Size3 workgroup, std::span<const uint8_t> arguments, Memory &memory) {
  if (arguments.size() != kernel.argumentBytes)
    throw Fault("kernel '" + kernel.name + "' needs " + std::to_string(kernel.argumentBytes) +
                " bytes of arguments, got " + std::to_string(arguments.size()));
  const std::array<uint32_t, 3> sizes = {workgroup.x, workgroup.y, workgroup.z};
  if (kernel.workgroup[0] && kernel.workgroup != sizes)
    throw Fault("kernel '" + kernel.name + "' needs workgroups of " + std::to_string(kernel.workgroup[0]) + " x " +
                std::to_string(kernel.workgroup[1]) + " x " + std::to_string(kernel.workgroup[2]) + " threads");
  // A copy of their own, so that what lies beside them is not read.
  std::vector<uint64_t> copy((arguments.size() + 7) / 8 + 1);
  std::copy(arguments.begin(), arguments.end(), reinterpret_cast<uint8_t *>(copy.data()));
  const auto address = reinterpret_cast<uint64_t>(copy.data());
  memory.add(address, arguments.size());
  Grid work(kernel, grid, workgroup, address, memory);
  const uint64_t count = uint64_t(grid.x) * grid.y * grid.z;
  const auto helpers = std::min<uint64_t>(std::max(1u, std::thread::hardware_concurrency()), count) - 1;
  std::vector<std::thread> threads;
  for (uint64_t k = 0; k < helpers; ++k)
    threads.emplace_back([&] { work.work(); });
  work.work();
  for (std::thread &thread : threads)
    thread.join();
  memory.remove(address);
  work.check();
}

} // namespace vx::rocm_emulator
