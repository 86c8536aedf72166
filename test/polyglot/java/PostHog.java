import com.posthog.server.PostHogCaptureOptions;
import com.posthog.server.PostHogConfig;
import com.posthog.server.PostHogInterface;
import java.util.Date;
import java.util.Map;

class PostHog implements Program.Client {
  final PostHogInterface client;

  PostHog(PostHogInterface client) {
    this.client = client;
  }

  void capture(String user, String event, Map<String, Object> properties, Date at) {
    PostHogCaptureOptions.Builder options = PostHogCaptureOptions.builder().properties(properties);
    client.capture(user, event, (at == null ? options : options.timestamp(at)).build());
  }

  public void sendCalls(String user) {
    client.identify(user, Map.of("name", "Zoë 🎈 שלום", "email", "ada@example.com"));
    capture(user, "Order Completed ✓", Program.properties(), Program.AT);
    capture(user, "$pageview", Map.of("$pathname", "/"), null);
    capture(user, "$screen", Map.of("$screen_name", "Start", "first", true), null);
    client.group(user, "company", user, Map.of("seats", 12));
    client.alias(user, "anon-1");
  }

  public void sendTrack(String user, Map<String, Object> properties) {
    capture(user, "Numbered", properties, null);
  }

  public void flush() {
    client.flush();
  }

  public void close() {
    client.flush();
    client.close();
  }

  public static void main(String[] arguments) {
    Program.run((url, key, isHelped, report) -> {
      // The default is 30 seconds.
      PostHogConfig.Builder config = PostHogConfig.builder(key).host(url).flushIntervalSeconds(5);
      if (isHelped) config.flushAt(15).maxBatchSize(15);
      return new PostHog(com.posthog.server.PostHog.with(config.build()));
    });
  }
}
