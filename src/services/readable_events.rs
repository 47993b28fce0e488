//! The events that the key of a request may read (`docs/decisions.md`, 382).

use entity::JsonText;
use entity::event::{self, Column, EventType};
use entity::section::{Right, Section};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, Condition};

use crate::services::context::Account;

/// The position of the token in an event's data, which begins with it: the number of its first letter.
const TOKEN_STARTS_AT: usize = 11;

/// Returns the token of the record that an event is about.
pub(super) fn token_of(data: &JsonText) -> Option<&str> {
    data.as_str().get(TOKEN_STARTS_AT - 1..)?.split('"').next()
}

/// The beginning of the token of an authorisation. The events of an authorisation have types of charges, and show it instead of a charge.
const OF_AUTHORISATION: &str = "auth_";

/// The types of events that a key may read.
pub(super) struct ReadableEvents {
    of_authorisations: Vec<EventType>,
    others: Vec<EventType>,
}

impl ReadableEvents {
    /// Returns the events that the key of a request may read; `None` if it may read all.
    pub fn by(account: &Account) -> Option<Self> {
        let may = |section: &Section| account.may(*section, Right::Read);
        let of_charges = |what: &EventType| what.sections() == [Section::Charges];
        let all = || EventType::ALL.iter().copied();
        let others: Vec<_> = all().filter(|what| what.sections().iter().all(may)).collect();
        let is_all = others.len() == EventType::ALL.len() && may(&Section::Authorisations);
        let of_authorisations =
            all().filter(|what| of_charges(what) && may(&Section::Authorisations)).collect();
        (!is_all).then_some(Self { of_authorisations, others })
    }

    pub fn includes(&self, event: &event::Model) -> bool {
        let is_of_authorisation =
            token_of(&event.data).is_some_and(|token| token.starts_with(OF_AUTHORISATION));
        if is_of_authorisation { &self.of_authorisations } else { &self.others }.contains(&event.r#type)
    }

    /// Returns the types that at least one of these events has.
    pub fn types(&self) -> impl Iterator<Item = EventType> {
        self.of_authorisations.iter().chain(&self.others).copied()
    }

    /// Returns the condition that an event is one of them.
    pub fn condition(&self) -> Condition {
        let beginning = Expr::cust(format!("substr(data, {TOKEN_STARTS_AT}, {})", OF_AUTHORISATION.len()));
        let of = |types: &[EventType]| Column::Type.is_in(types.iter().copied());
        Condition::any()
            .add(of(&self.of_authorisations).and(beginning.clone().eq(OF_AUTHORISATION)))
            .add(of(&self.others).and(beginning.ne(OF_AUTHORISATION)))
    }
}
