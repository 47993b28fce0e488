//! Blobs in a directory.

use std::io;
use std::path::{Path, PathBuf};

use base::{durable_fs, platform};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncSeekExt;
use tokio::task::spawn_blocking;
use tokio_util::io::ReaderStream;

use super::{BlobName, Blobs, Content, MARKS, Mark};

/// A directory with one file for each blob.
#[derive(Debug, Clone)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Uses a directory that exists.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, name: BlobName) -> PathBuf {
        self.folder.join(name.to_string())
    }

    /// The path while the blob is being written.
    fn unfinished(&self, name: BlobName) -> PathBuf {
        self.folder.join(format!("{name}.part"))
    }

    async fn write(&self, name: BlobName, mut content: File) -> io::Result<()> {
        let unfinished = self.unfinished(name);
        let mut new = platform::private_file();
        new.truncate(true);
        let mut file = OpenOptions::from(new).open(&unfinished).await?;
        content.rewind().await?;
        tokio::io::copy(&mut content, &mut file).await?;
        file.sync_all().await?;
        fs::rename(&unfinished, self.path(name)).await?;
        flush_names(&self.folder).await
    }
}

/// Flushes the names of a folder's files.
async fn flush_names(folder: &Path) -> io::Result<()> {
    let folder = folder.to_owned();
    spawn_blocking(move || platform::flush_folder(&folder)).await?
}

impl Blobs for Disk {
    fn put(&self, name: BlobName, content: File) -> BoxFuture<'_, io::Result<()>> {
        self.write(name, content).boxed()
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, io::Result<Option<Content>>> {
        async move {
            match File::open(self.path(name)).await {
                Ok(file) => Ok(Some(ReaderStream::new(file).boxed())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }
        .boxed()
    }

    fn remove(&self, name: BlobName) -> BoxFuture<'_, io::Result<()>> {
        async move {
            for path in [self.unfinished(name), self.path(name)] {
                match fs::remove_file(path).await {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn put_mark(&self, mark: Mark) -> BoxFuture<'_, io::Result<()>> {
        async move {
            let marks = self.folder.join(MARKS);
            let folder = marks.clone();
            spawn_blocking(move || durable_fs::create_folder(&folder)).await??;
            let new = platform::private_file();
            OpenOptions::from(new).open(marks.join(mark.to_string())).await?;
            flush_names(&marks).await
        }
        .boxed()
    }

    fn marks(&self) -> BoxFuture<'_, io::Result<Vec<Mark>>> {
        async move {
            let mut names = match fs::read_dir(self.folder.join(MARKS)).await {
                Ok(names) => names,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            let mut marks = Vec::new();
            while let Some(name) = names.next_entry().await? {
                marks.extend(name.file_name().to_str().and_then(Mark::parse));
            }
            Ok(marks)
        }
        .boxed()
    }
}
