//! The names of the files: as processes find them, and as a power cut leaves them.

use std::collections::BTreeMap;

use crate::random::Random;

/// What a name stands for, whatever names it gets or loses.
pub type FileId = u64;

/// The names in the system's cache, and on the disk below it.
#[derive(Default)]
pub struct Folder {
    names: BTreeMap<String, FileId>,
    flushed: BTreeMap<String, FileId>,
    /// In their order: a name, and the file that it was given to, or none.
    unflushed: Vec<(String, Option<FileId>)>,
}

impl Folder {
    /// Finds a file.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    /// Returns the names and their files.
    pub fn names(&self) -> impl Iterator<Item = (&str, FileId)> {
        self.names.iter().map(|(name, file)| (name.as_str(), *file))
    }

    /// Gives a name to a file, or takes it away; the disk may see it at any time until it is flushed.
    pub fn set(&mut self, name: &str, file: Option<FileId>) {
        put(&mut self.names, name, file);
        self.unflushed.push((name.to_owned(), file));
    }

    /// Flushes every change since the last flush.
    pub fn flush(&mut self) {
        self.flushed.clone_from(&self.names);
        self.unflushed.clear();
    }

    /// Cuts the power: of the unflushed changes none, all, or any of them have reached the disk, those of one name in their order.
    pub fn cut_power(&mut self, random: &mut Random) {
        let how = random.below(4);
        let mut survives = |_: &(String, Option<FileId>)| match how {
            0 => false,
            1 => true,
            _ => random.below(2) == 0,
        };
        let mut lost = Vec::new();
        for change in self.unflushed.drain(..) {
            // Without the change before it, a change of the same name cannot be there.
            if lost.contains(&change.0) || !survives(&change) {
                lost.push(change.0);
            } else {
                put(&mut self.flushed, &change.0, change.1);
            }
        }
        self.names.clone_from(&self.flushed);
    }
}

fn put(names: &mut BTreeMap<String, FileId>, name: &str, file: Option<FileId>) {
    match file {
        Some(file) => names.insert(name.to_owned(), file),
        None => names.remove(name),
    };
}
