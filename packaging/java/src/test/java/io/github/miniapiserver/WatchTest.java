package io.github.miniapiserver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Writes, watches and rewinds over HTTPS, with the certificate authority of the server. */
class WatchTest {
  private static final String PATH = "/api/v1/namespaces/shop/configmaps";

  @RegisterExtension
  static final ApiServerExtension API = ApiServerExtension.filledBy(
      server -> server.request("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"shop\"}}"));

  @AfterEach
  void calm(ApiServer server) throws Exception {
    server.lab().calm();
  }

  private static void create(ApiServer server, String name) throws Exception {
    server.request("POST", PATH, "{\"metadata\":{\"name\":\"" + name + "\"}}");
  }

  @RepeatedTest(2) // the second one finds nothing of the first
  void aWatchSeesWritesAndTheRewind(ApiServer server) throws Exception {
    String selector = "?watch=1&fieldSelector=metadata.name%3Dbasket";
    HttpResponse<Stream<String>> watch = server.httpClient().send(
        server.newRequest(PATH + selector).build(), HttpResponse.BodyHandlers.ofLines());
    assertEquals(200, watch.statusCode());
    try (Stream<String> lines = watch.body()) {
      Iterator<String> events = lines.iterator();
      create(server, "basket");
      assertTrue(events.next().startsWith("{\"type\":\"ADDED\""));
      server.request("DELETE", PATH + "/basket", null);
      assertTrue(events.next().startsWith("{\"type\":\"DELETED\""));
      create(server, "basket");
      assertTrue(events.next().startsWith("{\"type\":\"ADDED\""));
      String rewind = server.lab().rewind("filled");
      assertTrue(rewind.contains("{\"action\":\"Removed\",\"object\":\"configmaps/shop/basket\"}"), rewind);
      assertTrue(events.next().startsWith("{\"type\":\"DELETED\""));
    }
  }

  @Test
  void aFaultHitsOneRequest(ApiServer server) throws Exception {
    server.lab().inject("{\"match\":{\"verbs\":[\"list\"]},\"when\":{\"times\":1},\"inject\":{\"error\":{\"code\":503}}}");
    IOException error = assertThrows(IOException.class, () -> server.request("GET", PATH, null));
    assertTrue(error.getMessage().startsWith("GET " + PATH + ": 503 "), error.getMessage());
    server.request("GET", PATH, null);
  }

  @Test
  void theClockGoesForward(ApiServer server) throws Exception {
    server.lab().setClockOffset(Duration.ofDays(1));
    String clock = server.request("GET", "/apis/lab.miniapiserver.io/v1alpha1/clocks/server", null);
    assertTrue(clock.contains("\"offset\":\"86400000ms\""), clock);
    server.lab().setClockOffset(Duration.ZERO);
  }

  @Test
  void theKubeconfigHasTheServer(ApiServer server) throws Exception {
    assertTrue(Files.readString(server.kubeconfig()).contains(server.url()));
    assertTrue(server.labPage().startsWith("http://127.0.0.1:"));
  }

  @Test
  void aServerThatCannotStartIsAnError() {
    IOException error = assertThrows(IOException.class, () -> ApiServer.start("--no-such-flag"));
    assertTrue(error.getMessage().endsWith("ended with status 1 before it was ready"), error.getMessage());
  }

  @Test
  void aServerLeavesNothingBehind() throws Exception {
    Path kubeconfig;
    try (ApiServer server = ApiServer.start()) {
      kubeconfig = server.kubeconfig();
      assertTrue(Files.exists(kubeconfig));
    }
    assertTrue(Files.notExists(kubeconfig.getParent()));
  }

  @Nested
  class Inside {
    @Test
    void hasTheServerOfTheOuterClass(ApiServer server) throws Exception {
      create(server, "basket"); // in the namespace that the filling made
    }
  }
}
