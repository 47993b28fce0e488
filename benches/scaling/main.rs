//! A model of many machines, from figures that were measured on one: the tables of `docs/scaling.md`.
//!
//! `cargo test --bench scaling` prints them. Change a figure in `page/figures.rs`, and run `UPDATE_DOCUMENTS=1 cargo test --test it
//! documents::`, which writes the tables into the page.

mod page;

fn main() {
    for table in page::tables() {
        println!("{table}");
    }
}
