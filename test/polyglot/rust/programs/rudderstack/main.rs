//! Sends with RudderStack's client.
#[path = "../program.rs"]
mod program;

use program::{at, properties, Client};
use rudderanalytics::client::RudderAnalytics;
use rudderanalytics::message::{Alias, Batch, BatchMessage, Group, Identify, Message, Page, Screen, Track};
use rudderanalytics::retry::RetryConfig;
use serde_json::{json, Value};

struct RudderStack(RudderAnalytics);

fn messages(user: &str) -> Vec<Message> {
    let user_id = Some(user.to_owned());
    vec![
        Message::Identify(Identify {
            user_id: user_id.clone(),
            traits: Some(json!({"name": "Zoë 🎈 שלום", "email": "ada@example.com"})),
            ..Default::default()
        }),
        Message::Track(Track {
            user_id: user_id.clone(),
            event: "Order Completed ✓".to_owned(),
            original_timestamp: Some(at()),
            properties: Some(properties()),
            ..Default::default()
        }),
        Message::Page(Page {
            user_id: user_id.clone(),
            name: "Home".to_owned(),
            properties: Some(json!({"path": "/"})),
            ..Default::default()
        }),
        Message::Screen(Screen {
            user_id: user_id.clone(),
            name: "Start".to_owned(),
            properties: Some(json!({"first": true})),
            ..Default::default()
        }),
        Message::Group(Group {
            user_id,
            group_id: "g1".to_owned(),
            traits: Some(json!({"seats": 12})),
            ..Default::default()
        }),
        Message::Alias(Alias {
            user_id: user.to_owned(),
            previous_id: "anon-1".to_owned(),
            ..Default::default()
        }),
    ]
}

fn numbered(user: &str, properties: Value) -> Track {
    Track {
        user_id: Some(user.to_owned()),
        event: "Numbered".to_owned(),
        properties: Some(properties),
        ..Default::default()
    }
}

/// One message goes alone. Several are put into batches of this size by the program: the client has no queue.
const BATCH: u64 = 10;

impl RudderStack {
    fn send(&self, message: &Message) -> Result<(), String> {
        self.0.send(message).map_err(|error| error.to_string())
    }
}

impl Client for RudderStack {
    fn send_calls(&self, user: &str) -> Result<(), String> {
        messages(user).iter().try_for_each(|message| self.send(message))
    }

    fn send_many(&self, user: &str, count: u64, size: usize) -> Result<(), String> {
        let track = |n: u64| numbered(user, json!({"n": n, "fill": "x".repeat(size)}));
        if count == 1 {
            return self.send(&Message::Track(track(0)));
        }
        (0..count).step_by(BATCH as usize).try_for_each(|first| {
            let batch = (first..count.min(first + BATCH)).map(|n| BatchMessage::Track(track(n))).collect();
            self.send(&Message::Batch(Batch { batch, ..Default::default() }))
        })
    }

    fn close(self) {}
}

fn open(_name: &str, url: &str, key: &str, option: &str) -> RudderStack {
    let (key, url) = (key.to_owned(), url.to_owned());
    let patient = RetryConfig { max_retries: 100, ..Default::default() };
    RudderStack(match option {
        "helped" => RudderAnalytics::load_with_retry_config(key, url, patient),
        _ => RudderAnalytics::load(key, url),
    })
}

fn main() {
    program::run(open);
}
