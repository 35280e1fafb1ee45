// Checkpoints on disk. A file is written under a temporary name in the same folder and then renamed
// in one step. At any moment its name refers to the old file, to the new file or to none, never to
// half of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#endif

#include "../os_engine.hpp"
#include "state.hpp"

namespace dpsc {

struct checkpoint_file {
  bool is_public = false;
  std::vector<unsigned char> id;    // 16 random bytes that identify the state
  std::vector<unsigned char> meta;  // public record of the host
  std::vector<unsigned char> core;  // the state
};

constexpr char checkpoint_magic[] = "dpsc stream state 1\n";

inline std::vector<unsigned char> checkpoint_bytes(const checkpoint_file& file) {
  state_writer out;
  for (const char* c = checkpoint_magic; *c; ++c) out.put(*c);
  out.put(file.is_public);
  out.put(file.id);
  out.put(file.meta);
  out.put(file.core);
  std::vector<unsigned char> bytes = out.bytes();
  const std::uint64_t sum = checksum(bytes);
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<unsigned char>(sum >> (8 * i)));
  return bytes;
}

inline checkpoint_file parse_checkpoint(std::vector<unsigned char> bytes) {
  const std::string magic(checkpoint_magic);
  if (bytes.size() < magic.size() + 8 ||
      !std::equal(magic.begin(), magic.end(), bytes.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; }))
    throw state_error("not a checkpoint of a stream");
  std::uint64_t sum = 0;
  for (int i = 0; i < 8; ++i) {  // the last byte is the most significant
    sum = (sum << 8) | bytes.back();
    bytes.pop_back();
  }
  if (checksum(bytes) != sum) throw state_error("the checkpoint is damaged");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(magic.size()));
  state_reader in(bytes);
  checkpoint_file out;
  in.get(out.is_public);
  in.get(out.id);
  in.get(out.meta);
  in.get(out.core);
  if (!in.at_end() || out.id.size() != 16) throw state_error("the checkpoint is damaged");
  return out;
}

/// Writes `bytes` under a new name in the folder of `path`, flushes them to disk, and renames the
/// file to `path`. `secret` files can be read by their owner only, from their first byte on.
/// `at(k)` is called after the k-th step: tests crash there.
inline void write_whole(const std::string& path, const std::vector<unsigned char>& bytes,
                        bool secret, const std::function<void(int)>& at = {}) {
  const auto after = [&](int step) {
    if (at) at(step);
  };
  unsigned char random[8];
  os_random_bytes(random, sizeof random);
  std::string beside = path + ".";
  for (const unsigned char byte : random) {
    beside += "0123456789abcdef"[byte >> 4];
    beside += "0123456789abcdef"[byte & 15];
  }
  beside += ".part";
#if defined(_WIN32)
  std::FILE* file = std::fopen(beside.c_str(), "wbx");
  if (!file) throw state_error("the checkpoint cannot be written there");
  const bool ok = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  (void)secret;
  after(1);
  if (!ok || !closed ||
      !MoveFileExA(beside.c_str(), path.c_str(),
                   MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
    std::remove(beside.c_str());
    throw state_error("the checkpoint cannot be written there");
  }
  after(2);
#else
  const int file =
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, secret ? 0600 : 0644);
  if (file < 0) throw state_error("the checkpoint cannot be written there");
  const auto fail = [&]() {
    ::unlink(beside.c_str());
    throw state_error("the checkpoint cannot be written there");
  };
  after(1);
  std::size_t done = 0;
  bool halfway = false;
  while (done < bytes.size()) {
    std::size_t part = bytes.size() - done;
    if (at && !halfway) part = std::min(part, bytes.size() / 2 + 1);
    const ssize_t got = ::write(file, bytes.data() + done, part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      ::close(file);
      fail();
    }
    done += static_cast<std::size_t>(got);
    if (!halfway) {
      halfway = true;
      after(2);
    }
  }
  after(3);
  if (::fsync(file) != 0) {
    ::close(file);
    fail();
  }
  if (::close(file) != 0) fail();
  after(4);
  if (std::rename(beside.c_str(), path.c_str()) != 0) fail();
  after(5);
  const std::size_t slash = path.find_last_of('/');
  const int folder = ::open(slash == std::string::npos ? "." : path.substr(0, slash + 1).c_str(),
                            O_RDONLY | O_CLOEXEC);
  if (folder >= 0) {  // the move is durable, too
    ::fsync(folder);
    ::close(folder);
  }
  after(6);
#endif
}

inline std::vector<unsigned char> read_whole(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) throw state_error("the checkpoint cannot be read");
  std::vector<unsigned char> out;
  unsigned char buffer[65536];
  for (;;) {
    const std::size_t got = std::fread(buffer, 1, sizeof buffer, file);
    out.insert(out.end(), buffer, buffer + got);
    if (got < sizeof buffer) break;
  }
  const bool bad = std::ferror(file) != 0;
  std::fclose(file);
  if (bad) throw state_error("the checkpoint cannot be read");
  return out;
}

}  // namespace dpsc
