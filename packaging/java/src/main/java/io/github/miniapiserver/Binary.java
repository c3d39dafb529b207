package io.github.miniapiserver;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/** Finds the program of the server. */
final class Binary {
  private Binary() {}

  /**
   * Returns what to start: the program that MINIAPISERVER_BINARY in the environment names, or the one in the jar for this
   * platform if that is on the class path, or the one in PATH.
   */
  static String find() throws IOException {
    String named = System.getenv("MINIAPISERVER_BINARY");
    if (named != null && !named.isEmpty()) {
      return named;
    }
    String platform = platform();
    String name = platform.startsWith("windows") ? "miniapiserver.exe" : "miniapiserver";
    try (InputStream sum = Binary.class.getResourceAsStream(platform + "/sha256")) {
      return sum == null ? name : extract(platform + "/" + name, new String(sum.readAllBytes(), StandardCharsets.US_ASCII), name);
    }
  }

  /** Returns the name of this platform as Go has it, such as linux-amd64. */
  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String os = system.startsWith("mac") ? "darwin" : system.startsWith("windows") ? "windows" : "linux";
    return os + "-" + (System.getProperty("os.arch").equals("aarch64") ? "arm64" : "amd64");
  }

  /** Returns the path of a program of the jar in the user's cache, where it is written once. */
  private static String extract(String resource, String sum, String name) throws IOException {
    String cache = System.getenv("XDG_CACHE_HOME");
    Path base = cache == null || cache.isEmpty() ? Paths.get(System.getProperty("user.home"), ".cache") : Paths.get(cache);
    Path dir = base.resolve("miniapiserver").resolve(sum);
    Path program = dir.resolve(name);
    if (Files.exists(program)) {
      return program.toString();
    }
    Files.createDirectories(dir);
    // Two processes may write it at the same time, and one of them may be killed.
    Path partial = Files.createTempFile(dir, name, null);
    try (InputStream in = Binary.class.getResourceAsStream(resource)) {
      Files.copy(in, partial, StandardCopyOption.REPLACE_EXISTING);
      if (!partial.toFile().setExecutable(true)) {
        throw new IOException(partial + " cannot be made executable");
      }
      Files.move(partial, program, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
    return program.toString();
  }
}
