//! Passwords of merchants, stored as slow hashes (Argon2id), so a stolen database opens no login (`docs/decisions.md`,
//! 233).

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use base::secret::Secret;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::limits::PASSWORDS_HASHED_AT_ONCE;

/// Limits concurrent hashing, because each hash takes 19 MiB of memory.
static TURN: Semaphore = Semaphore::const_new(PASSWORDS_HASHED_AT_ONCE);

/// Hashes the password. Returns a PHC string, with salt and cost.
pub async fn hash(password: Secret) -> Result<String, Error> {
    let turn =
        TURN.acquire().await.map_err(|_| Error::internal("the semaphore of password hashes is closed"))?;
    let hashing = tokio::task::spawn_blocking(move || {
        // The permit moves into the work, which goes on if the client disconnects.
        let _turn = turn;
        let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.expose().as_bytes());
        hash.map(|hash| hash.to_string())
    });
    let hash = hashing.await.map_err(|_| Error::internal("the hashing of a password ended early"))?;
    hash.map_err(|_| Error::internal("a password cannot be hashed"))
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordVerifier;

    use super::*;

    #[tokio::test]
    async fn a_hash_opens_by_its_password_alone_and_never_comes_twice() {
        let [one, other] = [hash("p4ssw0rd".into()).await.unwrap(), hash("p4ssw0rd".into()).await.unwrap()];
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && one != other, "{one}");
        let parsed = PasswordHash::new(&one).unwrap();
        assert!(Argon2::default().verify_password(b"p4ssw0rd", &parsed).is_ok());
        assert!(Argon2::default().verify_password(b"P4ssw0rd", &parsed).is_err());
    }
}
