package io.github.miniapiserver;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives a class of tests a server. Tests and their lifecycle methods get it as a parameter of the type {@link ApiServer}.
 * With {@link #filledBy}, each test begins with the same state, whatever the one before it has done.
 */
public final class ApiServerExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(ApiServerExtension.class);
  private static final String FILLED = "filled";

  private final Filling filling;
  private final String[] flags;

  /** Writes what each test begins with. */
  @FunctionalInterface
  public interface Filling {
    void fill(ApiServer server) throws Exception;
  }

  /** Returns an extension without flags and filling, as {@code @ExtendWith} makes it. */
  public ApiServerExtension() {
    this(null);
  }

  private ApiServerExtension(Filling filling, String... flags) {
    this.filling = filling;
    this.flags = flags;
  }

  /** Returns an extension that fills the server once, and goes back to that state before each test. */
  public static ApiServerExtension filledBy(Filling filling, String... flags) {
    return new ApiServerExtension(filling, flags);
  }

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    if (running(context) != null) {
      return; // a class inside of another one has the server of that
    }
    ApiServer server = ApiServer.start(flags);
    ExtensionContext.Store.CloseableResource end = server::close;
    store(context).put("end", end); // before what may fail
    store(context).put(ApiServer.class, server);
    if (filling != null) {
      filling.fill(server);
      server.lab().checkpoint(FILLED);
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    if (filling != null) {
      running(context).lab().rewind(FILLED);
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == ApiServer.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return running(context);
  }

  private ExtensionContext.Store store(ExtensionContext context) {
    return context.getStore(NAMESPACE);
  }

  private ApiServer running(ExtensionContext context) {
    return store(context).get(ApiServer.class, ApiServer.class);
  }
}
