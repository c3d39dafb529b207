package io.github.miniapiserver;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A Kubernetes API server for the tests of a Java project. It is empty at the start, listens on a free port of 127.0.0.1,
 * ends with {@link #close()} or with this process, and leaves nothing behind.
 */
public final class ApiServer implements AutoCloseable {
  private final Process process;
  private final Ready ready;
  private final HttpClient http;
  private final Lab lab = new Lab(this);

  private ApiServer(Process process, Ready ready) throws IOException {
    this.process = process;
    this.ready = ready;
    this.http = HttpClient.newBuilder().sslContext(sslContext()).build();
  }

  /**
   * Starts a server with the lab and waits until it is ready, which takes a fraction of a second.
   *
   * @param flags further flags of the server, such as {@code --emulated-version=1.36}
   */
  public static ApiServer start(String... flags) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(
        List.of(Binary.find(), "--ephemeral", "--secure-port=0", "--lab", "--output=json", "--stdin-lifetime"));
    command.addAll(List.of(flags));
    Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    if (line == null) {
      throw new IOException(command.get(0) + " ended with status " + process.waitFor() + " before it was ready");
    }
    return new ApiServer(process, new Ready(line));
  }

  /** Returns the address, such as {@code https://127.0.0.1:38417}. */
  public String url() {
    return ready.text("url");
  }

  /** Returns the PEM of the certificate authority of the address. */
  public String ca() {
    return ready.text("ca");
  }

  /** Returns the bearer token of the administrator. */
  public String token() {
    return ready.text("token");
  }

  /** Returns the path of a kubeconfig with the administrator's access. */
  public Path kubeconfig() {
    return Paths.get(ready.text("kubeconfig"));
  }

  /** Returns the address of the page of the lab, for a browser. */
  public String labPage() {
    return ready.text("labPage");
  }

  /** Returns the calls of the lab: checkpoints, faults and the clock. */
  public Lab lab() {
    return lab;
  }

  /** Returns a context that trusts the certificate authority of the server and no other. */
  public SSLContext sslContext() throws IOException {
    try {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      byte[] pem = ca().getBytes(StandardCharsets.US_ASCII);
      trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(pem)));
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException("the certificate authority of the server: " + e.getMessage(), e);
    }
  }

  /** Returns a client that trusts the server. Requests of {@link #newRequest} are those of the administrator. */
  public HttpClient httpClient() {
    return http;
  }

  /** Returns a request to a path of the server with the administrator's token. */
  public HttpRequest.Builder newRequest(String path) {
    return HttpRequest.newBuilder(URI.create(url() + path))
        .header("Authorization", "Bearer " + token())
        .header("Accept", "application/json");
  }

  /**
   * Sends a request as the administrator.
   *
   * @param body JSON, or null for a request without a body
   * @return the body of the response
   * @throws IOException with the status and the body of an answer of 400 or more
   */
  public String request(String method, String path, String body) throws IOException, InterruptedException {
    return request(method, path, body, "application/json");
  }

  String request(String method, String path, String body, String contentType) throws IOException, InterruptedException {
    HttpRequest request = newRequest(path)
        .header("Content-Type", contentType)
        .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body))
        .timeout(Duration.ofMinutes(1))
        .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() >= 400) {
      throw new IOException(method + " " + path + ": " + response.statusCode() + " " + response.body());
    }
    return response.body();
  }

  /** Stops the server and waits until it has ended. */
  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the server ends all the same
    }
  }
}
