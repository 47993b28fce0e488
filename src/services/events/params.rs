//! Parameters of the list of events (`docs/decisions.md`, 374).

use entity::EventToken;
use entity::event::EventType;
use entity::token::is_token;
use serde::Deserialize;
use validator::{Validate, ValidationError};

use crate::params::rules::check;
use crate::params::{Paging, ParameterTree, Params, Waiting, non_blank};

/// Which events to show, and how many of them to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSearch {
    /// Only events of this type.
    pub r#type: Option<EventType>,
    /// Only events about the record with this token.
    pub about: Option<String>,
    /// Only events after this one, and the oldest of them first.
    pub after: Option<After>,
    /// How many events to wait for.
    pub waiting: Waiting,
    pub paging: Paging,
}

/// An event, by one of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Event(EventToken),
    /// Its number; 0 is before the first one.
    Number(i64),
}

#[derive(Deserialize, Validate)]
struct EventSearchParams {
    r#type: Option<EventType>,
    #[validate(custom(function = "token_form"))]
    about: Option<String>,
    #[validate(custom(function = "after_form"))]
    after: Option<String>,
}

impl EventSearch {
    /// Reads the parameters of GET /events.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value: params, mut faults } = tree.params::<EventSearchParams>();
        let (waiting, paging) = (Waiting::read(tree), Paging::read(tree));
        faults.append(waiting.faults);
        faults.append(paging.faults);
        let value = Self {
            r#type: params.r#type,
            about: non_blank(params.about.as_deref()).map(str::to_owned),
            after: non_blank(params.after.as_deref()).and_then(after),
            waiting: waiting.value,
            paging: paging.value,
        };
        Params { value, faults }
    }
}

fn after(text: &str) -> Option<After> {
    let number =
        || text.parse().ok().filter(|number| *number >= 0 && !text.starts_with('+')).map(After::Number);
    text.parse().ok().map(After::Event).or_else(number)
}

fn token_form(text: &str) -> Result<(), ValidationError> {
    check(non_blank(Some(text)).is_none_or(is_token), "is not formatted properly")
}

fn after_form(text: &str) -> Result<(), ValidationError> {
    check(non_blank(Some(text)).is_none_or(|text| after(text).is_some()), "is not formatted properly")
}
