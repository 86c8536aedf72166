import com.google.gson.Gson;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.stream.Collectors;

/** Reads deliveries from stdin, one a line, and says of each what the libraries say. */
class Verify {
  static class Delivery {
    String secret;
    boolean isRaw;
    String body;
    Map<String, String> headers;
  }

  interface Verifier {
    void verify() throws Exception;
  }

  static String verdict(Verifier verifier) {
    try {
      verifier.verify();
      return "valid";
    } catch (Exception error) {
      return "refused";
    }
  }

  public static void main(String[] arguments) {
    Scanner lines = new Scanner(System.in, "UTF-8").useDelimiter("\n");
    while (lines.hasNext()) {
      Delivery delivery = new Gson().fromJson(lines.next(), Delivery.class);
      Map<String, List<String>> named = delivery.headers.entrySet().stream()
          .collect(Collectors.toMap(Map.Entry::getKey, entry -> List.of(entry.getValue())));
      HttpHeaders headers = HttpHeaders.of(named, (name, value) -> true);
      System.out.println(String.join(" ",
          verdict(() -> standard(delivery).verify(delivery.body, named)),
          verdict(() -> svix(delivery).verify(delivery.body, headers)),
          verdict(() -> byHand(delivery))));
    }
  }

  static void byHand(Delivery delivery) throws Exception {
    byte[] body = delivery.body.getBytes(StandardCharsets.UTF_8);
    if (!Signature.isValid(body, delivery.headers.get("x-signature"), delivery.secret)) throw new Exception("401");
  }

  static com.standardwebhooks.Webhook standard(Delivery delivery) throws Exception {
    return delivery.isRaw
        ? new com.standardwebhooks.Webhook(delivery.secret.getBytes(StandardCharsets.UTF_8))
        : new com.standardwebhooks.Webhook(delivery.secret);
  }

  static com.svix.Webhook svix(Delivery delivery) throws Exception {
    return delivery.isRaw
        ? new com.svix.Webhook(delivery.secret.getBytes(StandardCharsets.UTF_8))
        : new com.svix.Webhook(delivery.secret);
  }
}
