//! Drives RudderStack's client by commands on stdin, one a line. What the client reports goes to stdout.
use chrono::{DateTime, Utc};
use rudderanalytics::client::RudderAnalytics;
use rudderanalytics::message::{Alias, Batch, BatchMessage, Group, Identify, Message, Page, Screen, Track};
use serde_json::{json, Value};
use std::io::{stdin, BufRead};
use std::sync::mpsc::{channel, Sender};
use std::thread::{spawn, JoinHandle};

/// The client blocks, so each has a thread. It works through its jobs before it ends.
struct Client {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

enum Job {
    Calls(String),
    Many(String, u64, usize),
}

fn messages(user: &str) -> Vec<Message> {
    let at: DateTime<Utc> = DateTime::parse_from_rfc3339("2020-02-29T12:34:56.789+05:30").unwrap().into();
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
            original_timestamp: Some(at),
            properties: Some(json!({
                "total": 129.95,
                "decimal": 0.1,
                "count": 3,
                "big": u64::MAX,
                "negative": -9007199254740993_i64,
                "isPaid": true,
                "items": ["a", {"sku": "b"}],
                "text": "quotes \" \\ and \u{2028} \u{1}",
                "due": at,
            })),
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

fn send_many(client: &RudderAnalytics, user: &str, count: u64, size: usize) -> Result<(), String> {
    let track = |n: u64| numbered(user, json!({"n": n, "fill": "x".repeat(size)}));
    let send = |message: &Message| client.send(message).map_err(|error| error.to_string());
    if count == 1 {
        return send(&Message::Track(track(0)));
    }
    (0..count).step_by(BATCH as usize).try_for_each(|first| {
        let batch = (first..count.min(first + BATCH)).map(|n| BatchMessage::Track(track(n))).collect();
        send(&Message::Batch(Batch { batch, ..Default::default() }))
    })
}

fn open(name: String, url: String, key: String) -> Client {
    let (jobs, queue) = channel();
    let thread = spawn(move || {
        let client = RudderAnalytics::load(key, url);
        for job in queue {
            let result = match job {
                Job::Calls(user) => messages(&user)
                    .iter()
                    .try_for_each(|message| client.send(message).map_err(|error| error.to_string())),
                Job::Many(user, count, size) => send_many(&client, &user, count, size),
            };
            if let Err(error) = result {
                println!("failed {name} {error}");
            }
        }
        println!("closed {name}");
    });
    Client { jobs, thread }
}

fn main() {
    let mut clients = std::collections::HashMap::new();
    let mut closing = Vec::new();
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let name = words[1].to_owned();
        match words[0] {
            "open" => drop(clients.insert(name.clone(), open(name, words[2].to_owned(), words[3].to_owned()))),
            "close" => closing.extend(clients.remove(&name).map(|client: Client| client.thread)),
            "calls" => clients[&name].jobs.send(Job::Calls(words[2].to_owned())).unwrap(),
            _ => {
                let (count, size) = (words[3].parse().unwrap(), words[4].parse().unwrap());
                clients[&name].jobs.send(Job::Many(words[2].to_owned(), count, size)).unwrap();
            }
        }
    }
    for thread in closing {
        thread.join().unwrap();
    }
}
