//! Passwords of merchants, stored as slow hashes (Argon2id), so a stolen database opens no login (`docs/decisions.md`,
//! 233).

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use base::permits::Permit;
use base::secret::Secret;

use crate::error::Error;

/// Hashes the password. Returns a PHC string, with salt and cost.
pub async fn hash(password: Secret, permit: Permit) -> Result<String, Error> {
    let hashing = tokio::task::spawn_blocking(move || {
        // The permit moves into the work, which goes on if the client disconnects.
        let _permit = permit;
        let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.expose().as_bytes());
        hash.map(|hash| hash.to_string())
    });
    let hash = hashing.await.map_err(|_| Error::internal("the hashing of a password ended early"))?;
    hash.map_err(|_| Error::internal("a password cannot be hashed"))
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordVerifier;
    use base::permits::{PermitPool, Share};

    use super::*;

    #[tokio::test]
    async fn a_hash_opens_by_its_password_alone_and_never_comes_twice() {
        let pool = PermitPool::new(2, Share { waiting: 0, leaves_half: false, of_a_lane: 2 });
        let hash = async || hash("p4ssw0rd".into(), pool.try_acquire(None, 1).unwrap()).await.unwrap();
        let [one, other] = [hash().await, hash().await];
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && one != other, "{one}");
        let parsed = PasswordHash::new(&one).unwrap();
        assert!(Argon2::default().verify_password(b"p4ssw0rd", &parsed).is_ok());
        assert!(Argon2::default().verify_password(b"P4ssw0rd", &parsed).is_err());
    }
}
