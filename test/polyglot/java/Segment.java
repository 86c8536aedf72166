import com.segment.analytics.Analytics;
import com.segment.analytics.Callback;
import com.segment.analytics.messages.*;
import java.util.Map;

class Segment implements Program.Client {
  final Analytics client;

  Segment(Analytics client) {
    this.client = client;
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
  }

  public void flush() {
    client.flush();
  }

  public void close() {
    client.flush();
    client.shutdown();
  }

  public static void main(String[] arguments) {
    Program.run((url, key, isHelped, report) -> new Segment(Analytics.builder(key).endpoint(url).callback(new Callback() {
      public void success(Message message) {}

      public void failure(Message message, Throwable error) {
        report.accept(error);
      }
    }).build()));
  }
}
