//! Blobs in an S3 bucket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::request_permits::release_permit;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::buffered::BufWriter;
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{ClientConfigKey, ClientOptions, Error, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use super::{BlobName, Blobs, Content, MARKS, Mark};
use crate::limits::{BUCKET_PART_BYTES, BUCKET_WRITES_MAX};
use crate::tls;

/// Longer than a part takes on a slow line, shorter than a request may.
const ANSWER: Duration = Duration::from_secs(30);
const TRIES: RetryConfig = RetryConfig {
    backoff: object_store::BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    },
    max_retries: 3,
    retry_timeout: ANSWER,
};

/// A bucket with one object for each blob.
#[derive(Debug)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    prefix: Path,
    /// Each write holds a part in memory.
    turns: Semaphore,
}

/// The reason why the bucket cannot be opened, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The text is not the address of a bucket.
    #[error("{0:?} is not s3://BUCKET or s3://BUCKET/PREFIX")]
    Address(String),
    /// An error of the S3 library.
    #[error(transparent)]
    Store(#[from] Error),
}

impl Bucket {
    /// Opens the bucket at `s3://BUCKET/PREFIX`. The environment gives region, credentials and endpoint, in the
    /// variables of AWS's own tools.
    pub fn at(address: &str) -> Result<Self, BucketError> {
        let place = address.strip_prefix("s3://").ok_or_else(|| BucketError::Address(address.into()))?;
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() {
            return Err(BucketError::Address(address.into()));
        }
        let mut builder = AmazonS3Builder::from_env();
        if builder.get_config_value(&AmazonS3ConfigKey::Checksum).is_none() {
            // A bucket that keeps objects for a time takes none without a checksum.
            builder = builder.with_checksum_algorithm(Checksum::SHA256);
        }
        let store =
            builder.with_bucket_name(bucket).with_http_connector(Connector).with_retry(TRIES).build()?;
        let prefix = Path::from(prefix);
        Ok(Self { store: Arc::new(store), prefix, turns: Semaphore::new(BUCKET_WRITES_MAX) })
    }

    fn path(&self, name: BlobName) -> Path {
        self.prefix.clone().join(name.to_string())
    }

    /// Writes a small object that is no blob, under a name of the caller's.
    pub async fn put_object(&self, name: &str, content: Bytes) -> io::Result<()> {
        // Each part by itself: a slash within one would be escaped.
        let path = name.split('/').fold(self.prefix.clone(), Path::join);
        self.store.put(&path, content.into()).await.map(drop).map_err(io::Error::other)
    }

    /// Returns the last small object whose name begins with `start` and is behind `after`, in the order of names.
    pub async fn last_object(&self, start: &str, after: &str) -> io::Result<Option<Bytes>> {
        let objects = self.store.list_with_offset(Some(&self.prefix), &self.prefix.clone().join(after));
        let last = objects.try_fold(None, async |last: Option<Path>, object| {
            let is_such = object.location.filename().is_some_and(|name| name.starts_with(start));
            Ok(last.max(is_such.then_some(object.location)))
        });
        let Some(last) = last.await.map_err(io::Error::other)? else { return Ok(None) };
        let found = self.store.get(&last).await.map_err(io::Error::other)?;
        found.bytes().await.map(Some).map_err(io::Error::other)
    }

    async fn write(&self, name: BlobName, mut content: File) -> io::Result<()> {
        // The request waits for another server now.
        release_permit();
        let _turn = self.turns.acquire().await.map_err(io::Error::other)?;
        content.rewind().await?;
        let store = Arc::clone(&self.store) as Arc<dyn ObjectStore>;
        let mut writer =
            BufWriter::with_capacity(store, self.path(name), BUCKET_PART_BYTES).with_max_concurrency(1);
        if let Err(error) = tokio::io::copy(&mut content, &mut writer).await {
            // Nothing would ever remove parts without an object.
            let _ = writer.abort().await;
            return Err(error);
        }
        writer.shutdown().await
    }
}

impl Blobs for Bucket {
    fn put(&self, name: BlobName, content: File) -> BoxFuture<'_, io::Result<()>> {
        self.write(name, content).boxed()
    }

    fn get(&self, name: BlobName) -> BoxFuture<'_, io::Result<Option<Content>>> {
        async move {
            release_permit();
            match self.store.get(&self.path(name)).await {
                Ok(found) => Ok(Some(found.into_stream().map_err(io::Error::other).boxed())),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(io::Error::other(error)),
            }
        }
        .boxed()
    }

    fn remove(&self, name: BlobName) -> BoxFuture<'_, io::Result<()>> {
        async move {
            match self.store.delete(&self.path(name)).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            }
        }
        .boxed()
    }

    fn put_mark(&self, mark: Mark) -> BoxFuture<'_, io::Result<()>> {
        async move { self.put_object(&format!("{MARKS}/{mark}"), Bytes::new()).await }.boxed()
    }

    fn marks(&self) -> BoxFuture<'_, io::Result<Vec<Mark>>> {
        let objects = self.store.list(Some(&self.prefix.clone().join(MARKS)));
        let marks =
            objects.try_filter_map(async |object| Ok(object.location.filename().and_then(Mark::parse)));
        async move { marks.try_collect().await.map_err(io::Error::other) }.boxed()
    }
}

/// Makes connections with our own TLS: the library's would need a provider that the process has installed.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http =
            options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::platform_config())
            .https_only(!allows_http)
            .connect_timeout(ANSWER)
            // Limits silence only: a client on a slow line may take its time.
            .read_timeout(ANSWER)
            .build()
            .map_err(|error| Error::Generic { store: "S3", source: error.into() })?;
        Ok(HttpClient::new(client))
    }
}
