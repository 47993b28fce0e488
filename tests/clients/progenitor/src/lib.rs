//! Compiles what progenitor has made.
