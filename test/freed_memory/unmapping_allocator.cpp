// Linked into a program, it gives each larger block pages of its own and takes the pages away when the block is freed:
// an access to freed memory then ends the program by a signal, also inside of libraries that no sanitizer has
// instrumented.
//
//   VX_UNMAP_FROM=BYTES    blocks of this size and more are watched (default 64)
//
// At the exit of the process one line on stderr tells how many blocks were watched, and how many were not because the
// process had too many of them alive at once. Freed pages are never used again, so that a process may free at most 1
// TiB.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

// Entries of glibc, which need no symbol lookup.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
}

namespace {

constexpr size_t pageSize = 4096;
constexpr size_t reservedBytes = size_t(1) << 40;
// Linux allows a process 65,530 mappings. A block that is alive is two of them: its own, and the gap after it.
constexpr long mostAlive = 24000;

std::atomic<uintptr_t> begin{0}, next{0};
std::atomic<long> alive{0}, watched{0}, unwatched{0};
size_t smallestWatched = 64;

/// Before the first page of a block: what `free` and `realloc` must know.
struct Header {
  size_t mappedBytes;
  size_t size;
};

uintptr_t reserve() {
  void *start = mmap(nullptr, reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    _exit(97);
  if (const char *text = getenv("VX_UNMAP_FROM"))
    smallestWatched = strtoul(text, nullptr, 10);
  uintptr_t none = 0, made = reinterpret_cast<uintptr_t>(start);
  next.store(made);
  if (!begin.compare_exchange_strong(none, made)) {
    munmap(start, reservedBytes);
    return none;
  }
  return made;
}

bool isWatched(const void *block) {
  uintptr_t address = reinterpret_cast<uintptr_t>(block), first = begin.load(std::memory_order_relaxed);
  return first != 0 && address >= first && address < first + reservedBytes;
}

Header *headerOf(void *block) {
  uintptr_t page = reinterpret_cast<uintptr_t>(block) & ~(pageSize - 1);
  return reinterpret_cast<Header *>(page - pageSize);
}

/// The block ends near the end of its last page, so that most accesses after it fail too. Null where glibc is to
/// allocate it.
void *allocate(size_t size, size_t alignment) {
  if (begin.load(std::memory_order_acquire) == 0)
    reserve();
  if (size < smallestWatched || alignment > pageSize)
    return nullptr;
  if (alive.fetch_add(1) >= mostAlive) {
    alive.fetch_sub(1);
    unwatched.fetch_add(1);
    return nullptr;
  }
  size_t contents = (size + pageSize - 1) & ~(pageSize - 1);
  size_t mapped = pageSize + contents; // the header's page and the block's
  uintptr_t address = next.fetch_add(mapped + pageSize);
  if (address + mapped > begin.load() + reservedBytes ||
      mprotect(reinterpret_cast<void *>(address), mapped, PROT_READ | PROT_WRITE) != 0) {
    alive.fetch_sub(1);
    unwatched.fetch_add(1);
    return nullptr;
  }
  watched.fetch_add(1);
  size_t offset = (contents - size) & ~((alignment < 16 ? 16 : alignment) - 1);
  if (offset >= pageSize)
    offset = 0;
  *reinterpret_cast<Header *>(address) = {mapped, size};
  return reinterpret_cast<void *>(address + pageSize + offset);
}

void release(void *block) {
  Header *header = headerOf(block);
  size_t mapped = header->mappedBytes;
  // The pages go back to the system and the addresses stay reserved.
  if (mmap(header, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    _exit(98);
  alive.fetch_sub(1);
}

struct Summary {
  ~Summary() {
    char text[120];
    int length = snprintf(text, sizeof text, "unmapping allocator: %ld blocks watched, %ld not\n", watched.load(),
                          unwatched.load());
    if (write(2, text, static_cast<size_t>(length)) < 0)
      _exit(99);
  }
} summary;

} // namespace

extern "C" {

__attribute__((visibility("default"))) void *malloc(size_t size) {
  void *block = allocate(size, 16);
  return block ? block : __libc_malloc(size);
}

__attribute__((visibility("default"))) void free(void *block) {
  if (!block)
    return;
  int before = errno;
  isWatched(block) ? release(block) : __libc_free(block);
  errno = before;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes))
    return __libc_calloc(count, size); // which fails
  void *block = allocate(bytes, 16);
  return block ? block : __libc_calloc(count, size); // fresh pages are zero
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size) {
  if (!block)
    return malloc(size);
  if (!isWatched(block))
    return __libc_realloc(block, size);
  if (size == 0) {
    free(block);
    return nullptr;
  }
  void *moved = malloc(size);
  if (!moved)
    return nullptr;
  size_t old = headerOf(block)->size;
  memcpy(moved, block, old < size ? old : size);
  free(block);
  return moved;
}

__attribute__((visibility("default"))) void *memalign(size_t alignment, size_t size) {
  void *block = allocate(size, alignment);
  return block ? block : __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **result, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (!block)
    return ENOMEM;
  *result = block;
  return 0;
}
}
