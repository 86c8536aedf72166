import com.rudderstack.sdk.java.analytics.RudderAnalytics;
import com.rudderstack.sdk.java.analytics.Callback;
import com.rudderstack.sdk.java.analytics.messages.*;
import java.util.Map;

class RudderStack implements Program.Client {
  final RudderAnalytics client;
  final boolean isHelped;

  RudderStack(RudderAnalytics client, boolean isHelped) {
    this.client = client;
    this.isHelped = isHelped;
  }

  public void sendCalls(String user) {
    client.enqueue(IdentifyMessage.builder().userId(user)
        .traits(Map.of("name", "Zoë 🎈 שלום", "email", "ada@example.com")));
    client.enqueue(TrackMessage.builder("Order Completed ✓").userId(user).timestamp(Program.AT)
        .properties(Program.properties()));
    client.enqueue(PageMessage.builder("Home").userId(user).category("Docs").properties(Map.of("path", "/")));
    client.enqueue(ScreenMessage.builder("Start").userId(user).properties(Map.of("first", true)));
    client.enqueue(GroupMessage.builder("g1").userId(user).traits(Map.of("seats", 12)));
    client.enqueue(AliasMessage.builder("anon-1").userId(user));
    client.flush();
  }

  public void sendTrack(String user, Map<String, Object> properties) {
    client.enqueue(TrackMessage.builder("Numbered").userId(user).properties(properties));
    if (isHelped) Thread.interrupted();
  }

  public void flush() {
    client.flush();
  }

  public void close() {
    client.flush();
    client.shutdown();
  }

  public static void main(String[] arguments) {
    Program.run((url, key, isHelped, report) -> new RudderStack(RudderAnalytics.builder(key).setDataPlaneUrl(url).callback(new Callback() {
      public void success(Message message) {}

      public void failure(Message message, Throwable error) {
        report.accept(error);
      }
    }).build(), isHelped));
  }
}
