//! Drives a client by commands on stdin, one a line. What the client reports goes to stdout.
use chrono::{DateTime, Utc};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io::{stdin, BufRead};
use std::sync::mpsc::{channel, Sender};
use std::thread::{spawn, JoinHandle};

pub trait Client {
    fn send_calls(&self, user: &str) -> Result<(), String>;
    fn send_many(&self, user: &str, count: u64, size: usize) -> Result<(), String>;
    fn close(self);
}

/// The time of the calls that have one.
pub fn at() -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2020-02-29T12:34:56.789+05:30").unwrap().into()
}

/// A value of each kind.
pub fn properties() -> Value {
    json!({
        "total": 129.95,
        "decimal": 0.1,
        "count": 3,
        "big": u64::MAX,
        "negative": -9007199254740993_i64,
        "isPaid": true,
        "items": ["a", {"sku": "b"}],
        "text": "quotes \" \\ and \u{2028} \u{1}",
        "due": at(),
    })
}

pub fn report(name: &str, error: &str) {
    println!("failed {name} {}", error.replace('\n', " "));
}

enum Job {
    Calls(String),
    Many(String, u64, usize),
}

/// Some clients block, so each has a thread. It works through its jobs before it ends.
struct Thread {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

/// `open` gets the name, the collector's URL, the key and the options.
fn start<C: Client + 'static>(open: fn(&str, &str, &str, &str) -> C, words: &[&str]) -> Thread {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let (jobs, queue) = channel();
    let thread = spawn(move || {
        let name = &words[1];
        let client = open(name, &words[2], &words[3], &words[4]);
        for job in queue {
            let result = match job {
                Job::Calls(user) => client.send_calls(&user),
                Job::Many(user, count, size) => client.send_many(&user, count, size),
            };
            if let Err(error) = result {
                report(name, &error);
            }
        }
        client.close();
        println!("closed {name}");
    });
    Thread { jobs, thread }
}

pub fn run<C: Client + 'static>(open: fn(&str, &str, &str, &str) -> C) {
    let mut clients = HashMap::new();
    let mut closing = Vec::new();
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let name = words[1].to_owned();
        match words[0] {
            "open" => drop(clients.insert(name, start(open, &words))),
            "close" => closing.extend(clients.remove(&name).map(|client: Thread| client.thread)),
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
