//! What a request may look like (specification, Conventions; decisions 1 and 3).

mod anything;
mod encodings;
mod faults;
mod heads;
mod limits;
mod merging;
mod raw;
mod texts;
mod values;
