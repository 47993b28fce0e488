//! Blobs in a directory.

use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::fs::{self, File};
use tokio::io::AsyncSeekExt;
use tokio_util::io::ReaderStream;

use super::{BlobName, Blobs, Content};

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
        // Only the owner can read it, whatever the umask.
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished).await?;
        content.rewind().await?;
        tokio::io::copy(&mut content, &mut file).await?;
        file.sync_all().await?;
        fs::rename(&unfinished, self.path(name)).await?;
        // Flushes the name, too.
        File::open(&self.folder).await?.sync_all().await
    }
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
}
