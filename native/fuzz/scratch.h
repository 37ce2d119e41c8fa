// A directory for one input, and what a target says of one that breaks a promise.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Ends the process where the condition does not hold. (assert() is not compiled into releases.)
inline void require(bool condition, const char *what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// An empty directory below $TMPDIR; removed at the end of its scope.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "cdb-fuzz-XXXXXX";
    require(mkdtemp(name.data()) != nullptr, "no directory can be made");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  const std::filesystem::path &path() const { return path_; }

  void put(const std::string &name, const std::vector<uint8_t> &bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    require(file.good(), "a file cannot be written");
  }

  std::vector<uint8_t> get(const std::string &name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path path_;
};
