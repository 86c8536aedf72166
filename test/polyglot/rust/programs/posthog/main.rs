//! Sends with PostHog's client.
#[path = "../program.rs"]
mod program;

use posthog_rs::{client, CaptureCompression, ClientOptionsBuilder, Event, PostHogError};
use program::{at, properties, report, Client};
use serde_json::{json, Value};

struct PostHog {
    client: posthog_rs::Client,
    is_helped: bool,
}

fn event(name: &str, user: &str, properties: Value) -> Event {
    let mut event = Event::new(name, user);
    for (name, value) in properties.as_object().unwrap() {
        event.insert_prop(name, value).unwrap();
    }
    event
}

impl Client for PostHog {
    fn send_calls(&self, user: &str) -> Result<(), String> {
        let traits = json!({"name": "Zoë 🎈 שלום", "email": "ada@example.com"});
        self.client.capture(event("$identify", user, json!({ "$set": traits })));
        let mut order = event("Order Completed ✓", user, properties());
        order.set_timestamp(at()).unwrap();
        self.client.capture(order);
        self.client.capture(event("$pageview", user, json!({"$pathname": "/"})));
        self.client.capture(event("$screen", user, json!({"$screen_name": "Start", "first": true})));
        self.client.group_identify("company", user, json!({"seats": 12})).map_err(|error| error.to_string())?;
        self.client.alias(user, "anon-1");
        Ok(())
    }

    fn send_many(&self, user: &str, count: u64, size: usize) -> Result<(), String> {
        for n in 0..count {
            self.client.capture(event("Numbered", user, json!({"n": n, "fill": "x".repeat(size)})));
        }
        Ok(())
    }

    fn close(self) {
        if self.is_helped {
            self.client.flush();
        }
        self.client.shutdown();
    }
}

fn open(name: &str, url: &str, key: &str, option: &str) -> PostHog {
    let mut options = ClientOptionsBuilder::default();
    options.api_key(key.to_owned()).host(url.to_owned());
    if option == "gzip" {
        options.capture_compression(CaptureCompression::Gzip);
    }
    if option == "helped" {
        options.max_batch_size(15_usize).max_capture_attempts(20_u32);
    }
    let name = name.to_owned();
    options.on_error(move |error| {
        if let PostHogError::Capture(failure) = error {
            report(&name, &format!("{:?}", failure.error()));
        }
    });
    PostHog { client: client(options.build().unwrap()), is_helped: option == "helped" }
}

fn main() {
    program::run(open);
}
