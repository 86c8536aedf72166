//! Reads deliveries from stdin, one a line, and says of each what the libraries say.
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::io::{stdin, BufRead};

/// The block of the webhooks guide.
#[path = "../../target/guide.rs"]
mod guide;

fn headers(delivery: &Value) -> HeaderMap {
    let named = delivery["headers"].as_object().unwrap();
    let pair = |(name, value): (&String, &Value)| {
        let value = HeaderValue::from_str(value.as_str().unwrap()).unwrap();
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), value)
    };
    named.iter().map(pair).collect()
}

fn main() {
    for line in stdin().lock().lines() {
        let delivery: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (secret, body) = (delivery["secret"].as_str().unwrap(), delivery["body"].as_str().unwrap());
        let (standard, svix) = if delivery["isRaw"].as_bool().unwrap() {
            let bytes = secret.as_bytes().to_vec();
            (
                standardwebhooks::Webhook::from_bytes(bytes.clone()).unwrap(),
                svix::webhooks::Webhook::from_bytes(bytes).unwrap(),
            )
        } else {
            (standardwebhooks::Webhook::new(secret).unwrap(), svix::webhooks::Webhook::new(secret).unwrap())
        };
        let headers = headers(&delivery);
        let word = |is_valid: bool| if is_valid { "valid" } else { "refused" };
        let signature = delivery["headers"]["x-signature"].as_str().unwrap();
        println!(
            "{} {} {}",
            word(standard.verify(body.as_bytes(), &headers).is_ok()),
            word(svix.verify(body.as_bytes(), &headers).is_ok()),
            word(guide::is_valid(body.as_bytes(), signature, secret)),
        );
    }
}
