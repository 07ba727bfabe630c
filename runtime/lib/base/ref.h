// Reference counting for the objects that the C interface hands out and for what they share.
#ifndef VX_RUNTIME_BASE_REF_H
#define VX_RUNTIME_BASE_REF_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace vx {

// Starts with one reference, which `makeRef` or `Ref::adopt` takes over. Counting is thread-safe.
class RefCounted {
public:
  RefCounted() = default;
  RefCounted(const RefCounted &) = delete;
  RefCounted &operator=(const RefCounted &) = delete;

  void retain() const { count.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  // Retains what nobody may hold any more, whose memory the caller keeps from going. False: it is on its way out.
  bool retainIfHeld() const {
    uint32_t before = count.load(std::memory_order_relaxed);
    while (before != 0)
      if (count.compare_exchange_weak(before, before + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }
  // True when the caller holds the only reference.
  bool unique() const { return count.load(std::memory_order_acquire) == 1; }

protected:
  virtual ~RefCounted() = default;

private:
  mutable std::atomic<uint32_t> count{1};
};

template <typename T>
class Ref {
public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  // Shares an object that somebody else holds.
  explicit Ref(T *shared) : object(shared) {
    if (object)
      object->retain();
  }
  static Ref adopt(T *owned) {
    Ref ref;
    ref.object = owned;
    return ref;
  }
  Ref(const Ref &other) : Ref(other.object) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  template <typename U>
  Ref(const Ref<U> &other) : Ref(static_cast<T *>(other.get())) {}
  template <typename U>
  Ref(Ref<U> &&other) noexcept : object(other.detach()) {}
  ~Ref() {
    if (object)
      object->release();
  }
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }

  T *get() const { return object; }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object != nullptr; }
  bool operator==(const Ref &other) const { return object == other.object; }
  // Hands the reference out; the caller must release it.
  T *detach() { return std::exchange(object, nullptr); }

private:
  T *object = nullptr;
};

template <typename T, typename... Args>
Ref<T> makeRef(Args &&...args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

} // namespace vx

#endif
