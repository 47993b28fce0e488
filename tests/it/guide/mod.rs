//! The guides in the program, their search, and the page at the server's address.

mod explanations;
mod pages;
