//! A model of many machines, which nobody here has: the tables of `docs/scaling.md`, from figures that were measured on one.
//!
//! `cargo bench --bench scaling` prints them. Change a figure in `page/figures.rs`, and run `UPDATE_DOCUMENTS=1 cargo test --test it
//! documents::`, which writes them into the page.

mod page;

fn main() {
    for table in page::tables() {
        println!("{table}");
    }
}
