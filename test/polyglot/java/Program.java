import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.OffsetDateTime;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/** Drives a client by commands on stdin, one a line. What the client reports goes to stdout. */
class Program {
  interface Client {
    void sendCalls(String user);

    void sendTrack(String user, Map<String, Object> properties);

    void flush();

    void close();
  }

  interface Factory {
    Client open(String url, String key, boolean isHelped, Consumer<Throwable> report);
  }

  /** The time of the calls that have one. Its zone is not the machine's. */
  static final Date AT = Date.from(OffsetDateTime.parse("2020-02-29T12:34:56.789+05:30").toInstant());

  /** A value of each kind. */
  static Map<String, Object> properties() {
    Map<String, Object> properties = new HashMap<>();
    properties.put("total", 129.95);
    properties.put("decimal", new BigDecimal("0.1"));
    properties.put("count", 3);
    properties.put("big", new BigInteger("18446744073709551615"));
    properties.put("negative", -9007199254740993L);
    properties.put("isPaid", true);
    properties.put("items", List.of("a", Map.of("sku", "b")));
    properties.put("text", "quotes \" \\ and \u2028 \u0001");
    properties.put("due", AT);
    return properties;
  }

  static synchronized void say(String... words) {
    System.out.println(String.join(" ", words).replace("\n", " "));
  }

  static void sendMany(Client client, String name, String user, int count, int size) {
    for (int n = 0; n < count; n++) {
      try {
        client.sendTrack(user, Map.of("n", n, "fill", "x".repeat(size)));
      } catch (RuntimeException error) {
        say("failed", name, error.toString());
      }
    }
    client.flush();
  }

  /** Calls one client. Some interrupt the thread that calls them, and this one stays so. */
  static class Worker extends Thread {
    final BlockingQueue<Runnable> jobs = new LinkedBlockingQueue<>();
    boolean isLast;

    public void run() {
      while (!isLast) next().run();
    }

    Runnable next() {
      boolean wasInterrupted = false;
      try {
        while (true) {
          try {
            return jobs.take();
          } catch (InterruptedException error) {
            wasInterrupted = true;
          }
        }
      } finally {
        if (wasInterrupted) interrupt();
      }
    }
  }

  static void run(Factory factory) {
    Map<String, Client> clients = new HashMap<>();
    Map<String, Worker> workers = new HashMap<>();
    Scanner lines = new Scanner(System.in, "UTF-8");
    while (lines.hasNextLine()) {
      String[] words = lines.nextLine().split(" ");
      String name = words[1];
      if (words[0].equals("open")) {
        Consumer<Throwable> report = error -> say("failed", name, error.toString());
        clients.put(name, factory.open(words[2], words[3], words[4].equals("helped"), report));
        workers.put(name, new Worker());
        workers.get(name).start();
        continue;
      }
      Client client = clients.get(name);
      Worker worker = workers.get(name);
      worker.jobs.add(() -> {
        switch (words[0]) {
          case "calls" -> client.sendCalls(words[2]);
          case "many" -> sendMany(client, name, words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]));
          case "close" -> {
            // By an interrupted thread, a client is closed only in part, and the program does not end.
            Thread.interrupted();
            client.close();
            say("closed", name);
            worker.isLast = true;
          }
        }
      });
    }
  }
}
