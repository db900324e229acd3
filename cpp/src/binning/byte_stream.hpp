// Numbers one after another in bytes, little-endian as every supported machine is.
#pragma once
#include <bit>
#include <cstring>

#include "committee/types.hpp"

namespace committee {

class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
    put_all(std::span<const T>(&value, 1));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size_bytes());
  }
  template <class T>
  void put_list(const std::vector<T>& values) {
    put<u64>(values.size());
    put_all(std::span<const T>(values));
  }
  std::vector<u8> take() { return std::move(bytes_); }

 private:
  std::vector<u8> bytes_;
};

// std::invalid_argument where the bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::span<const u8> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_list(std::size_t most) {
    const u64 size = get<u64>();
    if (size > most || size > bytes_.size() / sizeof(T)) throw damaged();
    std::vector<T> values(static_cast<std::size_t>(size));
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  bool get_flag() {
    const u8 value = get<u8>();
    if (value > 1) throw damaged();
    return value == 1;
  }
  void expect_end() const {
    if (!bytes_.empty()) throw damaged();
  }
  static std::invalid_argument damaged() {
    return std::invalid_argument("The bytes are no description of bins, or are damaged.");
  }

 private:
  void copy(void* to, std::size_t size) {
    if (bytes_.size() < size) throw damaged();
    if (size) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::span<const u8> bytes_;
};

}  // namespace committee
