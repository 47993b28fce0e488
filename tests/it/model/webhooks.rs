//! Endpoints, their webhooks (which are never delivered here), and the events.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::wire::learn;
use super::world::{TokenSource, World, below, expect_record, fault, faulty, one_in, pick, shown};
use crate::harness::random::Random;

pub struct Endpoint {
    pub shown: Value,
    pub is_there: bool,
}

impl World {
    pub async fn changes_endpoints(&mut self, random: &mut Random) {
        if let Some(n) = pick(random, self.endpoints.len()).filter(|_| one_in(random, 4)) {
            let path = format!("/1/webhook_endpoints/{}", self.endpoints[n].shown["token"].as_str().unwrap());
            let answer = self.wire.change(random, Method::DELETE, &path, &[], &Value::Null).await;
            if !self.endpoints[n].is_there {
                answer.refused(404, "resource_not_found");
                return;
            }
            answer.ok(204);
            self.endpoints[n].is_there = false;
            return self.webhooks.retain(|(_, endpoint)| *endpoint != n);
        }
        let url =
            ["http://127.0.0.1:9/a", "https://example.com/b?c=d", "ftp://example.com/"][below(random, 3)];
        let answer =
            self.wire.change(random, Method::POST, "/1/webhook_endpoints", &[], &json!({ "url": url })).await;
        if url.starts_with("ftp") {
            return faulty(&answer, &fault("url", "url is not a valid URL"));
        }
        if self.endpoints.iter().filter(|it| it.is_there).count() == 5 {
            answer.refused(403, "limit_reached");
            return;
        }
        let key = answer.json()["response"]["key"].clone();
        assert!(key.as_str().is_some_and(|key| key.starts_with("whsec_")), "{}", answer.text);
        let now = shown(self.now);
        let expected =
            json!({ "token": "?whe_", "key": key, "url": url, "created_at": now, "updated_at": now });
        let shown = expect_record(&answer, 201, expected);
        self.endpoints.push(Endpoint { shown, is_there: true });
    }

    /// What is pending already is not replayed.
    pub async fn replays(&mut self, random: &mut Random) {
        let found = self.wire.get("/1/webhooks?per_page=5").await.ok(200);
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), self.webhooks.len().min(5));
        let Some(n) = pick(random, found.len()) else { return };
        let path = format!("/1/webhooks/{}", found[n]["token"].as_str().unwrap());
        expect_record(&self.wire.get(&path).await, 200, found[n].clone());
        let answer = self.wire.change(random, Method::PUT, &format!("{path}/replay"), &[], &json!({})).await;
        answer.refused(400, "cannot_replay_webhook");
    }

    /// One webhook for each event and endpoint.
    pub async fn webhooks_agree(&mut self) {
        let found = self.wire.all("/1/webhooks", 500, false).await;
        let mut tokens = BTreeSet::new();
        let mut found: Vec<_> = found
            .into_iter()
            .map(|mut webhook| {
                tokens.insert(webhook["token"].to_string());
                webhook["token"] = Value::Null;
                webhook.to_string()
            })
            .collect();
        let mut expected: Vec<_> = self
            .webhooks
            .iter()
            .map(|(event, endpoint)| {
                let (event, endpoint) = (&self.events[*event], &self.endpoints[*endpoint].shown);
                json!({
                    "token": null, "status": "pending", "url": endpoint["url"], "event_token": event.token,
                    "webhook_endpoint_token": endpoint["token"], "created_at": shown(event.at), "accepted_at": null,
                    "next_run": null, "retries": 0, "errors": {},
                })
                .to_string()
            })
            .collect();
        assert_eq!(tokens.len(), found.len(), "webhooks that share their token");
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "webhooks");
    }

    /// The events since the last time are those that should have happened, in their order.
    pub async fn check_events(&mut self) {
        let fresh = self.events.len() - self.events_checked;
        let per_page = fresh.clamp(1, 500);
        let mut found = Vec::new();
        for page in 1..=fresh.div_ceil(per_page).max(1) {
            let answer = self.wire.get(&format!("/1/events?per_page={per_page}&page={page}")).await;
            let body = answer.json();
            found.extend(answer.ok(200).as_array().unwrap().iter().cloned());
            let short = json!({ "count": self.events.len(), "per_page": per_page, "current": page });
            if body["pagination"] != short {
                let kinds: Vec<_> = found.iter().map(|event| event["type"].clone()).collect();
                let expected: Vec<_> =
                    self.events[self.events_checked..].iter().map(|event| event.kind).collect();
                panic!("{} where {short} was expected: {kinds:?}, expected {expected:?}", body["pagination"]);
            }
        }
        found.truncate(fresh);
        found.reverse();
        for found in found {
            let event = &mut self.events[self.events_checked];
            let mut expected = json!({
                "token": "?evt_", "type": event.kind, "data": event.data, "created_at": shown(event.at),
                "sequence": self.events_checked + 1,
            });
            if let Some(fault) = learn(&mut expected, &found) {
                panic!("event no. {}: {fault}\nexpected {expected}\nfound {found}", self.events_checked);
            }
            event.token = expected["token"].as_str().unwrap().to_owned();
            event.data = Value::Null;
            match event.token_source {
                Some(TokenSource::Charge(charge)) => {
                    self.charges[charge].token = expected["data"]["token"].clone();
                }
                Some(TokenSource::Transfer(transfer)) => {
                    self.transfers[transfer].shown = expected["data"].clone();
                }
                None => {}
            }
            self.events_checked += 1;
        }
    }
}
