package io.github.miniapiserver;

import java.io.IOException;
import java.time.Duration;

/**
 * What a server with the lab can do beyond the Kubernetes API: docs/lab.md of the project describes it. Names are those of
 * Kubernetes objects.
 */
public final class Lab {
  private static final String GROUP = "lab.miniapiserver.io/v1alpha1";

  private final ApiServer server;

  Lab(ApiServer server) {
    this.server = server;
  }

  /** Keeps the present state of all objects under a name. */
  public void checkpoint(String name) throws IOException, InterruptedException {
    create("checkpoints", "Checkpoint", "\"name\":\"" + name + "\"", "{}");
  }

  /**
   * Goes back to a checkpoint. Watches and informers see ordinary events.
   *
   * @return the JSON of the Rewind, whose status has what was restored, changed and removed
   */
  public String rewind(String checkpoint) throws IOException, InterruptedException {
    return create("rewinds", "Rewind", "\"generateName\":\"java-\"", "{\"checkpoint\":\"" + checkpoint + "\"}");
  }

  /**
   * Has requests misbehave until {@link #calm()}.
   *
   * @param spec JSON of the spec of a Fault, such as {@code {"match":{"verbs":["list"]},"inject":{"error":{"code":503}}}}
   */
  public void inject(String spec) throws IOException, InterruptedException {
    create("faults", "Fault", "\"generateName\":\"java-\"", spec);
  }

  /** Removes all faults. */
  public void calm() throws IOException, InterruptedException {
    server.request("DELETE", "/apis/" + GROUP + "/faults", null);
  }

  /**
   * Sets how far the clock of the server is ahead of the real time. What falls due has happened when this returns. The clock
   * goes forward only, except to an offset of zero, which is the real time.
   */
  public void setClockOffset(Duration offset) throws IOException, InterruptedException {
    String value = offset.isZero() ? "null" : "\"" + offset.toMillis() + "ms\"";
    server.request("PATCH", "/apis/" + GROUP + "/clocks/server", "{\"spec\":{\"offset\":" + value + "}}", "application/merge-patch+json");
  }

  private String create(String resource, String kind, String metadata, String spec) throws IOException, InterruptedException {
    String object = "{\"apiVersion\":\"" + GROUP + "\",\"kind\":\"" + kind + "\",\"metadata\":{" + metadata + "},\"spec\":" + spec + "}";
    return server.request("POST", "/apis/" + GROUP + "/" + resource, object);
  }
}
