package lethe;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/**
 * One OpenSearch node on loopback: {@code LocalNode HOME PORT}.
 *
 * <p>Plugins come from the class path, since what Maven serves of k-NN is no installable plugin. Indexes are never
 * made by a write, so that a missing mapping is an error and not a guess.
 */
public final class LocalNode extends Node {
  private static final List<String> PLUGINS =
      List.of(
          "org.opensearch.transport.Netty4Plugin",
          "org.opensearch.analysis.common.CommonAnalysisPlugin",
          "org.opensearch.index.reindex.ReindexPlugin",
          "org.opensearch.painless.PainlessPlugin",
          "org.opensearch.knn.plugin.KNNPlugin");

  private LocalNode(Environment environment, Collection<Class<? extends Plugin>> plugins) {
    super(environment, plugins, true);
  }

  public static void main(String[] arguments) throws Exception {
    Path home = Path.of(arguments[0]).toAbsolutePath();
    for (String folder : List.of("config", "data", "logs", "modules", "plugins")) {
      Files.createDirectories(home.resolve(folder));
    }
    Collection<Class<? extends Plugin>> plugins = new ArrayList<>();
    for (String name : PLUGINS) {
      plugins.add(Class.forName(name).asSubclass(Plugin.class));
    }
    LocalNode node = new LocalNode(environment(home, arguments[1]), plugins);
    node.start();
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node, stopped)));
    stopped.await();
  }

  private static Environment environment(Path home, String port) {
    Settings settings =
        Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "lethe")
            .put("node.name", "local")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", port)
            .put("transport.port", "0")
            .put("action.auto_create_index", false)
            // As on the managed domain: an index is named in the path alone, where a policy can confine it.
            .put("rest.action.multi.allow_explicit_index", false)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
    return InternalSettingsPreparer.prepareEnvironment(
        settings, Map.of(), home.resolve("config"), () -> "local");
  }

  private static void close(Node node, CountDownLatch stopped) {
    try {
      node.close();
    } catch (java.io.IOException failure) {
      System.err.println("closing the node: " + failure);
    } finally {
      stopped.countDown();
    }
  }
}
