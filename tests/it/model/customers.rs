//! Customers and their cards.

use http::Method;
use serde_json::{Value, json};

use super::cards::{CardRequest, CardState};
use super::world::{World, below, expect_record, fault, faulty, newest, one_in, pick, shown};
use crate::harness::random::Random;
use crate::harness::with;

pub struct Customer {
    pub token: Value,
    pub primary: usize,
    pub is_there: bool,
    /// All but the card.
    fields: Value,
}

impl Customer {
    pub fn email(&self) -> &Value {
        &self.fields["email"]
    }

    pub fn path(&self) -> String {
        format!("/1/customers/{}", self.token.as_str().unwrap())
    }
}

/// Which card a request names.
enum Named {
    Inline(Box<CardRequest>),
    Token(usize),
    Nothing,
}

const FIELDS: [&str; 5] = ["first_name", "last_name", "phone_number", "company", "notes"];

/// Some of a customer's texts.
fn texts(random: &mut Random) -> Value {
    let mut texts = json!({});
    for field in FIELDS {
        if one_in(random, 3) {
            texts[field] = ["Roland", "", "Żółw 🦀", "0491 570 156"][below(random, 4)].into();
        }
    }
    texts
}

impl World {
    pub fn customer(&self, customer: &Customer) -> Value {
        with(
            customer.fields.clone(),
            &json!({ "token": customer.token, "card": self.card(customer.primary) }),
        )
    }

    /// A customer that is there, or was.
    pub fn some_customer(&self, random: &mut Random) -> Option<usize> {
        let there: Vec<_> = (0..self.customers.len()).filter(|it| self.customers[*it].is_there).collect();
        if one_in(random, 15) {
            pick(random, self.customers.len())
        } else {
            Some(there[pick(random, there.len())?])
        }
    }

    pub fn cards_of(&self, customer: usize) -> Vec<usize> {
        (0..self.cards.len()).filter(|card| self.cards[*card].state == CardState::Owned(customer)).collect()
    }

    /// Why the token of a card cannot be attached to a customer; of its own cards, that is no question.
    fn unusable(&self, card: usize, param: &str, own: Option<usize>) -> Vec<(String, String)> {
        let name = if param == "card_token" { "Card token" } else { "Primary card token" };
        match self.cards[card].state {
            CardState::Unused => Vec::new(),
            CardState::Owned(owner) if Some(owner) == own => Vec::new(),
            CardState::Owned(_) | CardState::Spent | CardState::Reserved => {
                fault(param, &format!("{name} has already been used"))
            }
            CardState::Gone => fault(param, &format!("{name} is not valid")),
        }
    }

    fn some_card(&self, random: &mut Random) -> Named {
        match random.below(5) {
            0..=1 => pick(random, self.cards.len()).map_or(Named::Nothing, Named::Token),
            _ => Named::Inline(Box::new(CardRequest::any(random, self.now))),
        }
    }

    pub async fn adds_customer(&mut self, random: &mut Random) {
        let mut parameters = texts(random);
        let mut faults = match random.below(14) {
            0 => {
                parameters["email"] = "".into();
                [fault("email", "Email can't be blank"), fault("email", "Email is not formatted properly")]
                    .concat()
            }
            1 => {
                parameters["email"] = "roland".into();
                fault("email", "Email is not formatted properly")
            }
            _ => {
                parameters["email"] = format!("r{}@example.com", random.below(5)).into();
                Vec::new()
            }
        };
        let named = if one_in(random, 20) { Named::Nothing } else { self.some_card(random) };
        match &named {
            Named::Inline(sent) => {
                parameters["card"] = sent.parameters.clone();
                faults.extend(sent.faults("card"));
            }
            Named::Token(card) => {
                parameters["card_token"] = self.card_token(*card);
                faults.extend(self.unusable(*card, "card_token", None));
            }
            Named::Nothing => faults.extend(fault("card", "Card can't be blank")),
        }
        let answer = self.wire.change(random, Method::POST, "/1/customers", &[], &parameters).await;
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        let customer = self.customers.len();
        let card = match named {
            Named::Inline(sent) => self.keeps_card(sent.number, &sent.shown, CardState::Owned(customer)),
            Named::Token(card) => card,
            Named::Nothing => unreachable!(),
        };
        self.cards[card].state = CardState::Owned(customer);
        let mut fields = json!({ "email": parameters["email"], "created_at": shown(self.now) });
        for field in FIELDS {
            fields[field] = parameters.get(field).cloned().unwrap_or_default();
        }
        self.customers.push(Customer { token: "?cus_".into(), primary: card, is_there: true, fields });
        let mut expected = self.customer(&self.customers[customer]);
        // Only the server knows the customer's token, and that of a card that came with it.
        expected["card"]["customer_token"] = "?cus_".into();
        let record = expect_record(&answer, 201, expected);
        assert_eq!(record["card"]["customer_token"], record["token"]);
        self.customers[customer].token = record["token"].clone();
        self.learns_card(card, &record["card"]);
        self.happens("customer.created", record);
    }

    pub async fn changes_customer(&mut self, random: &mut Random) {
        let Some(customer) = self.some_customer(random) else { return };
        let path = self.customers[customer].path();
        let mut changes = texts(random);
        let mut faults = Vec::new();
        if one_in(random, 3) {
            changes["email"] = ["new@example.com", "nobody"][usize::from(one_in(random, 5))].into();
            if changes["email"] == "nobody" {
                faults = fault("email", "Email is not formatted properly");
            }
        }
        let replaces = one_in(random, 2);
        let named = if one_in(random, 2) { self.some_card(random) } else { Named::Nothing };
        match &named {
            Named::Inline(sent) => {
                changes["card"] = sent.parameters.clone();
                faults.extend(sent.faults("card"));
            }
            Named::Token(card) => {
                let param = if replaces { "card_token" } else { "primary_card_token" };
                changes[param] = self.card_token(*card);
                faults.extend(self.unusable(*card, param, Some(customer)));
            }
            Named::Nothing => {}
        }
        let too_many = one_in(random, 30);
        if too_many {
            changes = with(changes, &json!({ "card_token": "card_x", "primary_card_token": "card_y" }));
        }
        let answer = self.wire.change(random, Method::PUT, &path, &[], &changes).await;
        if !self.customers[customer].is_there {
            return answer.not_found();
        }
        if too_many {
            answer.refused(422, "too_many_card_parameters");
            return;
        }
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        for (field, value) in changes.as_object().unwrap() {
            if self.customers[customer].fields.get(field).is_some() {
                self.customers[customer].fields[field] = value.clone();
            }
        }
        let old = self.customers[customer].primary;
        let (new, removes) = match named {
            Named::Inline(sent) => {
                (self.keeps_card(sent.number, &sent.shown, CardState::Owned(customer)), true)
            }
            Named::Token(card) => (card, replaces),
            Named::Nothing => (old, false),
        };
        self.cards[new].state = CardState::Owned(customer);
        self.customers[customer].primary = new;
        if removes && new != old {
            self.removes_card(old);
        }
        let record = expect_record(&answer, 200, self.customer(&self.customers[customer]));
        self.learns_card(new, &record["card"]);
        self.happens("customer.updated", record);
    }

    pub async fn adds_card_to_customer(&mut self, random: &mut Random) {
        let Some(customer) = self.some_customer(random) else { return };
        let path = format!("{}/cards", self.customers[customer].path());
        let named = self.some_card(random);
        let (parameters, faults) = match &named {
            Named::Inline(sent) => (sent.parameters.clone(), sent.faults("")),
            Named::Token(card) => {
                let own = matches!(self.cards[*card].state, CardState::Owned(_));
                let faults = self.unusable(*card, "card_token", None);
                let name = [("card_token".to_owned(), "Card token has already been used".to_owned())];
                (json!({ "card_token": self.card_token(*card) }), if own { name.to_vec() } else { faults })
            }
            Named::Nothing => return,
        };
        let answer = self.wire.change(random, Method::POST, &path, &[], &parameters).await;
        if !self.customers[customer].is_there {
            return answer.not_found();
        }
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        let card = match named {
            Named::Inline(sent) => self.keeps_card(sent.number, &sent.shown, CardState::Owned(customer)),
            Named::Token(card) => card,
            Named::Nothing => unreachable!(),
        };
        self.cards[card].state = CardState::Owned(customer);
        let record = expect_record(&answer, 201, self.card(card));
        self.learns_card(card, &record);
    }

    pub async fn deletes_customer_card(&mut self, random: &mut Random) {
        let Some(customer) = self.some_customer(random) else { return };
        let cards = self.cards_of(customer);
        let Some(card) = pick(random, cards.len()).map(|n| cards[n]) else { return };
        let path =
            format!("{}/cards/{}", self.customers[customer].path(), self.card_token(card).as_str().unwrap());
        let answer = self.wire.change(random, Method::DELETE, &path, &[], &Value::Null).await;
        if self.customers[customer].primary == card {
            answer.refused(400, "cannot_delete_primary_card");
            return;
        }
        answer.ok(204);
        self.removes_card(card);
    }

    /// A card goes; what named it goes by the primary card from now on.
    fn removes_card(&mut self, card: usize) {
        self.cards[card].state = CardState::Gone;
        for subscription in &mut self.subscriptions {
            if subscription.card == Some(card) {
                subscription.card = None;
            }
        }
    }

    pub async fn deletes_customer(&mut self, random: &mut Random) {
        let Some(customer) = self.some_customer(random) else { return };
        let path = self.customers[customer].path();
        let answer = self.wire.change(random, Method::DELETE, &path, &[], &Value::Null).await;
        if !self.customers[customer].is_there {
            return answer.not_found();
        }
        answer.ok(204);
        let record = self.customer(&self.customers[customer]);
        self.happens("customer.deleted", record);
        self.customers[customer].is_there = false;
        for card in self.cards_of(customer) {
            self.removes_card(card);
        }
        self.cancels_subscriptions_of(customer);
    }

    /// The lists below a customer.
    pub async fn looks_at_customer(&mut self, customer: usize) {
        let path = self.customers[customer].path();
        if !self.customers[customer].is_there {
            self.wire.get(&path).await.not_found();
            self.wire.get(&format!("{path}/charges")).await.not_found();
            return;
        }
        expect_record(&self.wire.get(&path).await, 200, self.customer(&self.customers[customer]));
        let cards = newest(self.cards_of(customer).into_iter(), |card| self.card(card));
        super::world::are("cards", &self.wire.all(&format!("{path}/cards"), 2, true).await, &cards);
        let charges = self.listed_charges(|charge| charge.customer == Some(customer));
        super::world::are("charges", &self.wire.all(&format!("{path}/charges"), 7, true).await, &charges);
        let subscriptions = self.listed_subscriptions(|subscription| subscription.customer == customer);
        let found = self.wire.all(&format!("{path}/subscriptions"), 3, false).await;
        super::world::are("subscriptions", &found, &subscriptions);
    }
}
