//! What a request may look like (specification, Conventions; `docs/decisions.md`, 1 to 10).

mod anything;
mod encodings;
mod faults;
mod heads;
mod limits;
mod merging;
mod raw;
mod texts;
mod values;
