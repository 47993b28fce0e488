//! A small file system in memory, which can really be full. Only root can make one; elsewhere its tests have nothing to do.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// A small disk; it is removed with its files.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Makes one of this many megabytes. None where this user cannot mount it.
    pub fn mount(megabytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=1777"), "tmpfs"])
            .arg(folder.path());
        if mount.output().is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self { folder });
        }
        eprintln!("only root can mount a file system: nothing is tried on a full disk");
        None
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it to the last byte.
    pub fn fill(&self) {
        let mut ballast = File::create(self.path().join("ballast")).unwrap();
        let mut part = vec![0; 1 << 20];
        while !part.is_empty() {
            if ballast.write_all(&part).is_err() {
                part.truncate(part.len() / 2);
            }
        }
    }

    /// Makes room again.
    pub fn empty(&self) {
        fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.path()).status());
    }
}
