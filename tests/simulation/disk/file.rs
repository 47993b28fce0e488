//! The bytes of a file: as processes read them, and as a power cut leaves them.

use std::collections::{BTreeMap, VecDeque};

use crate::random::Random;

/// The size that a disk writes as a whole or not at all.
pub const SECTOR: usize = 512;

/// A change that has not been flushed.
enum Change {
    /// The sectors that a write touched, as they were after it, and the length of the file then.
    Write { first: usize, sectors: Vec<u8>, length: usize },
    /// The file got this length.
    Truncation(usize),
}

/// A file in the system's cache, and on the disk below it.
#[derive(Default)]
pub struct File {
    content: Vec<u8>,
    flushed: Vec<u8>,
    unflushed: VecDeque<Change>,
    /// How many changes the disk has seen, or lost.
    done: u64,
}

impl File {
    /// Creates a file that is on the disk.
    pub fn flushed(content: Vec<u8>) -> Self {
        Self { flushed: content.clone(), content, ..Self::default() }
    }

    /// Returns what processes read.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Writes; the disk may see it at any time until it is flushed.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.content.len() < end {
            self.content.resize(end, 0);
        }
        self.content[offset..end].copy_from_slice(bytes);
        let first = offset / SECTOR;
        let last = end.next_multiple_of(SECTOR).min(self.content.len());
        let sectors = self.content[first * SECTOR..last].to_vec();
        self.unflushed.push_back(Change::Write { first, sectors, length: self.content.len() });
    }

    /// Sets the length.
    pub fn truncate(&mut self, length: usize) {
        self.content.resize(length, 0);
        self.unflushed.push_back(Change::Truncation(length));
    }

    /// Returns how many changes there were.
    pub fn changes(&self) -> u64 {
        self.done + self.unflushed.len() as u64
    }

    /// Flushes the first so many changes, whatever became of earlier flushes.
    pub fn flush(&mut self, changes: u64) {
        while self.done < changes
            && let Some(change) = self.unflushed.pop_front()
        {
            self.done += 1;
            match change {
                Change::Write { first, sectors, length } => {
                    put(&mut self.flushed, first, &sectors, length);
                }
                Change::Truncation(length) => self.flushed.resize(length, 0),
            }
        }
        if self.unflushed.is_empty() {
            self.flushed.resize(self.content.len(), 0);
        }
    }

    /// Fails to flush, as Linux does: some changes have reached the disk, and none of the others will, because its pages count as
    /// clean from now on.
    pub fn fail_to_flush(&mut self, random: &mut Random) {
        self.flushed = self.survivors(random);
        self.done = self.changes();
        self.unflushed.clear();
    }

    /// Cuts the power.
    pub fn cut_power(&mut self, random: &mut Random) {
        self.fail_to_flush(random);
        self.content.clone_from(&self.flushed);
    }

    /// Returns what is on the disk at this moment: of the unflushed changes none, all, or any of them, sector by sector. Truncations
    /// reach the disk in their order, because a file system keeps a journal of them.
    fn survivors(&self, random: &mut Random) -> Vec<u8> {
        let how = random.below(4);
        let pick = |random: &mut Random, versions: usize| match how {
            0 => 0,
            1 => versions - 1,
            _ => usize::try_from(random.below(versions as u64)).expect("an index"),
        };
        let truncations = self.unflushed.iter().filter(|change| matches!(change, Change::Truncation(_)));
        let mut truncations = pick(random, truncations.count() + 1);
        let mut oldest = self.flushed.clone();
        // The sectors that were written, in all versions, the oldest first.
        let mut written = BTreeMap::<usize, Vec<&[u8]>>::new();
        let mut lengths = vec![oldest.len()];
        // Where the part begins that a truncation has cut off of which the disk does not know. What was written there later has a place
        // on the disk that is not the file's yet.
        let mut unknown = usize::MAX;
        for change in &self.unflushed {
            match change {
                Change::Truncation(length) if truncations > 0 => {
                    truncations -= 1;
                    oldest.truncate(*length);
                    written.split_off(&length.div_ceil(SECTOR));
                    lengths = vec![*length];
                }
                Change::Truncation(length) => unknown = unknown.min(length / SECTOR),
                Change::Write { first, sectors, length } => {
                    for (sector, bytes) in (*first..unknown).zip(sectors.chunks(SECTOR)) {
                        written.entry(sector).or_default().push(bytes);
                    }
                    if unknown == usize::MAX {
                        lengths.push(*length);
                    }
                }
            }
        }
        let length = lengths[pick(random, lengths.len())];
        let mut left = oldest;
        left.resize(length, 0);
        for (sector, versions) in written {
            if let Some(newer) = pick(random, versions.len() + 1).checked_sub(1) {
                put(&mut left, sector, versions[newer], length);
            }
        }
        left
    }
}

/// Puts sectors into a file, which gets the length if it is shorter; what lies beyond is lost.
fn put(file: &mut Vec<u8>, first: usize, sectors: &[u8], length: usize) {
    if file.len() < length {
        file.resize(length, 0);
    }
    let Some(target) = file.get_mut(first * SECTOR..) else { return };
    let both = target.len().min(sectors.len());
    target[..both].copy_from_slice(&sectors[..both]);
}
