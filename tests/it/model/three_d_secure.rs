//! Charges with 3-D Secure.

use axum::body::Body;
use http::{Method, header};
use serde_json::json;

use super::cards::CardState;
use super::charges::{Charge, State};
use super::payments::{PaymentRequest, Verdict};
use super::wire::Time;
use super::world::{World, expect_record, one_in, pick};
use crate::harness::random::Random;

/// A session: what the cardholder was asked about, and where.
pub struct Session {
    pub charge: usize,
    pub made: Time,
    page: String,
    /// The single-use card that it holds.
    card: Option<usize>,
    enrolled: bool,
    /// What the cardholder's browser brought back, and what verify makes of it.
    came_back: Option<(String, Back)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    Approved,
    Failed,
    NotEnrolled,
}

const NOT_COMPLETED: &str = "The 3-D Secure verification was not completed";

impl World {
    /// A new challenge, or the next step of one.
    pub async fn create_challenge(&mut self, random: &mut Random) {
        match pick(random, self.sessions.len()).filter(|_| !one_in(random, 3)) {
            Some(session) => self.answers_challenge(random, session).await,
            None => self.challenges(random).await,
        }
    }

    async fn challenges(&mut self, random: &mut Random) {
        let mut request = PaymentRequest::any(random);
        let payer = self.some_payer(random);
        if !request.faults.is_empty() || !payer.faults.is_empty() {
            return;
        }
        request.parameters[payer.parameter] = payer.value.clone();
        request.parameters["three_d_secure"] =
            json!({ "enabled": "true", "callback_url": "https://shop.example.com/" });
        let answer = self.wire.change(random, Method::POST, "/1/charges", &[], &request.parameters).await;
        if payer.used {
            answer.refused(400, "token_already_used");
            return;
        }
        let made = answer.ok(201);
        let mut charge = Charge::new(self, &payer, &request);
        (charge.state, charge.token) = (State::Pending, made["token"].clone());
        assert_eq!(made["status_message"], "Pending");
        let url = made["redirect_url"].as_str().unwrap();
        let page = url[url.find("/3d-secure/").unwrap()..].to_owned();
        if let Some(card) = payer.uses {
            self.cards[card].state = CardState::Reserved;
        }
        let enrolled = payer.number.scheme() != "master";
        self.charges.push(charge);
        let charge = self.charges.len() - 1;
        let record =
            expect_record(&self.wire.get(&self.charges[charge].path()).await, 200, self.charge(charge));
        self.charges[charge].card = record["card"].clone();
        let card = payer.uses;
        self.sessions.push(Session { charge, made: self.now, page, card, enrolled, came_back: None });
    }

    async fn answers_challenge(&mut self, random: &mut Random, n: usize) {
        let session = &self.sessions[n];
        if let Some((token, back)) = session.came_back.clone() {
            return self.verifies(&token, back, session.charge).await;
        }
        let approves = !one_in(random, 3);
        let decision = if approves { "decision=approve" } else { "decision=fail" };
        let request = self.wire.client.request(Method::POST, &session.page);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = self.wire.client.send_unchecked(request.body(Body::from(decision)).unwrap()).await;
        let charge = session.charge;
        if self.charges[charge].state != State::Pending {
            // It has expired.
            assert_eq!(answer.status, 404, "{}", answer.text);
            return;
        }
        assert_eq!(answer.status, 303, "{}", answer.text);
        let location = answer.headers[header::LOCATION].to_str().unwrap();
        let token = location.strip_prefix("https://shop.example.com/?session_token=").unwrap().to_owned();
        let back = match (session.enrolled, approves) {
            (false, _) => Back::NotEnrolled,
            (true, true) => Back::Approved,
            (true, false) => Back::Failed,
        };
        let (card, verdict) = (session.card, Verdict::new(self.charges[charge].number, self.now));
        self.sessions[n].came_back = Some((token.clone(), back));
        if back == Back::Approved && verdict == Verdict::Approved {
            self.charges[charge].state = State::Captured;
            self.is_captured(charge);
            self.spends(card, verdict);
            self.happens("charge.captured", self.charge(charge));
        } else if back == Back::Approved {
            if let Some(card) = card {
                self.cards[card].state = CardState::Unused;
            }
            self.spends(card, verdict);
            self.ends_badly(charge, verdict.message().unwrap());
        } else {
            self.spends(card, Verdict::Approved);
            self.ends_badly(charge, NOT_COMPLETED);
        }
        self.verifies(&token, back, charge).await;
    }

    fn ends_badly(&mut self, charge: usize, message: &'static str) {
        self.charges[charge].state = State::Failed;
        self.charges[charge].error = Some(message);
        self.happens("charge.failed", self.charge(charge));
    }

    pub fn session_expires(&mut self, n: usize) {
        let (charge, card) = (self.sessions[n].charge, self.sessions[n].card);
        self.spends(card, Verdict::Approved);
        self.ends_badly(charge, NOT_COMPLETED);
    }

    async fn verifies(&mut self, token: &str, back: Back, charge: usize) {
        let answer = self.wire.get(&format!("/1/charges/verify?session_token={token}")).await;
        match back {
            Back::Failed => drop(answer.refused(403, "transaction_forbidden")),
            Back::NotEnrolled => drop(answer.refused(422, "three_d_secure_unavailable")),
            Back::Approved => {
                let mut expected = self.charge(charge);
                expected.as_object_mut().unwrap().remove("transfer");
                expect_record(&answer, 200, expected);
            }
        }
    }
}
